"""``gas guide``: the pages of the guide, which are installed with the package (`gas/guide/*.md`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from documents.fields import nearest
from gas.cli.completion import guide_pages
from gas.cli.pager import show_markdown
from gas.cli.tables import say, write_text
from gas.errors import BadInput
from gas.guide.contents import files_of, for_terminal, grouped, pages, title_of

__all__ = ["guide_command"]


def guide_command(
    page: Annotated[
        str | None,
        typer.Argument(
            metavar="PAGE", autocompletion=guide_pages, help="Name of a page; without one, all pages are listed."
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print the Markdown text, without formatting or pager.")
    ] = False,
    into: Annotated[
        Path | None,
        typer.Option("--files", metavar="DIR", help="Write the example files of the page into this folder."),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option("--site", metavar="DIR", help="Write all pages, with pictures, as a web site into this folder."),
    ] = None,
) -> None:
    """List the pages of the guide, or show one.

    gas guide first-plan

    gas guide first-plan --files .

    On a terminal, Gas formats a page and shows it in $PAGER (default: less); elsewhere it prints the Markdown text.
    --site writes all pages and the reference of the Python interface; open DIR/index.html in a browser.
    """
    if site is not None:
        from gas.guide.site import build_site

        build_site(site)
        say(f"{site / 'index.html'}")
        return
    known = pages()
    if page is None:
        for number, (group, names) in enumerate(grouped(known).items()):
            say(f"\n{group}" if number else group)
            for name in names:
                say(f"  {name:12} {title_of(known[name])}")
        return
    if page not in known:
        hint = nearest(page, known, otherwise="; gas guide lists the pages, gas --help the commands")
        raise BadInput(f'there is no page "{page}" in the guide{hint}')
    if into is None:
        show_markdown(for_terminal(known[page]), plain=plain)
        return
    found = {into / name: text for name, text in files_of(known[page]).items()}
    if there := [path for path in found if path.exists()]:
        raise BadInput(f"--files {into}: {there[0]} exists already; give an empty folder")
    for path, text in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(str(path), text)
        say(str(path))
