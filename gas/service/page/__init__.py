"""The web page at ``/``: one static file, `index.html`, which shows the answers of the service's own routes.

The file contains no data, sends requests only to its own service, and needs no build step. `page` reads it and gives
the script and the style that it may use (Content-Security-Policy).
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import NamedTuple

__all__ = ["Page", "page"]


class Page(NamedTuple):
    """What is sent at ``/``: the bytes of the document, and the headers to send with it."""

    html: bytes
    headers: dict[str, str]


@cache
def page() -> Page:
    """Return the page; its policy names the one script and the one style in it by their hash, and nothing else."""
    html = resources.files(__name__).joinpath("index.html").read_bytes()
    policy = [
        "default-src 'none'",
        f"script-src {_hash(html, b'script')}",
        f"style-src {_hash(html, b'style')}",
        "connect-src 'self'",
        "img-src data:",  # its icon
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": "; ".join(policy),
        "Cache-Control": "no-cache",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Page(html, headers)


def _hash(html: bytes, tag: bytes) -> str:
    found = re.findall(rb"<%b>(.*?)</%b>" % (tag, tag), html, re.DOTALL)
    assert len(found) == 1, f"the page has one {tag.decode()}, not {len(found)}"
    return f"'sha256-{base64.b64encode(hashlib.sha256(found[0]).digest()).decode()}'"
