"""A report as one HTML page that needs no other file and no network; pictures stand in it."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING

from experiments.framework.report.model import Column, Report
from gas.errors import Missing

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["html", "template"]


def html(report: Report) -> str:
    """Return the report as a page."""
    return template().render(report=report)


@cache
def template() -> Template:
    """Return the template of pages.

    Raises
    ------
    Missing
        Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup, escape
    except ImportError:
        raise Missing("reports need jinja2; install it with: pip install 'apples-gas[plot]'") from None

    def inline(text: str) -> Markup:
        """Show what stands in back-quotes as code."""
        return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= {
        "base64": lambda data: base64.b64encode(data).decode(),
        "groups": _groups,
        "inline": inline,
        "kind": lambda block: type(block).__name__,
    }
    return environment.from_string(files(__package__).joinpath("page.html.jinja").read_text(encoding="utf-8"))


def _groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return the headings that neighbours share, and how many share each; none if no column has one."""
    found = [(name, len(list(alike))) for name, alike in groupby(columns, lambda column: column.group)]
    return found if any(name for name, _ in found) else []
