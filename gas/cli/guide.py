"""``gas guide``: the pages of the guide, which are installed with the package (`gas/guide/*.md`)."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

import typer

from documents.fields import nearest
from gas.cli.tables import say
from gas.errors import NotFound

__all__ = ["guide_command", "pages"]


def pages() -> dict[str, str]:
    """Return the pages of the guide by name, in Markdown."""
    found = {each.name: each for each in files("gas").joinpath("guide").iterdir()}
    return {
        name.removesuffix(".md"): found[name].read_text(encoding="utf-8")
        for name in sorted(found)
        if name.endswith(".md")
    }


def guide_command(
    page: Annotated[
        str | None, typer.Argument(metavar="[PAGE]", help="Name of a page; without one, all pages are listed.")
    ] = None,
) -> None:
    """List or print the pages of the guide.

    gas guide operation
    """
    known = pages()
    if page is None:
        for name, text in known.items():
            say(f"{name:12} {text.splitlines()[0].lstrip('# ')}")
        return
    if page not in known:
        raise NotFound(f'there is no page "{page}" in the guide{nearest(page, known)}')
    say(known[page].rstrip("\n"))
