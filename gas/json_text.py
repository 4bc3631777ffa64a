"""JSON that a server or a program wrote, read only if what it becomes has room in memory."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["MOST_MEMORY_BYTES", "parsed"]

MOST_MEMORY_BYTES = 700 * 2**20
"""What a document may take with all its values; a few bytes of text may be hundreds in memory, as ``[[],[]...``."""

_VALUE_BYTES = 64
"""A bracket, colon or comma brings no more than so much: an empty list with its place in another one."""


def parsed(document: str | bytes, *, strict: bool = True) -> Any:
    """Return what a document says.

    Parameters
    ----------
    strict
        Whether text may not hold control characters.

    Raises
    ------
    ValueError
        It is not JSON, not UTF-8, nested too deeply, or would take too much memory; so of a number of thousands of
        digits.
    """
    text = document if isinstance(document, str) else document.decode(json.detect_encoding(document), "surrogatepass")
    widest = 1 if text.isascii() else 5  # characters outside of ASCII make all of a text take up to four bytes each
    takes = len(text) * (1 + widest) + _VALUE_BYTES * sum(text.count(mark) for mark in "[{,:")
    if takes > MOST_MEMORY_BYTES:
        raise ValueError(f"it would take {takes / 2**20:,.0f} MiB of memory, above {MOST_MEMORY_BYTES >> 20} MiB")
    try:
        return json.loads(text, strict=strict)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
