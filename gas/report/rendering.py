"""Reports as one HTML page, by the template ``report.html.jinja``, and as Markdown with GitHub's tables.

The page needs no other file and no network: it contains its pictures. Beside Markdown they are files. The same report
gives the same bytes: nothing here reads a clock.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from documents.extras import way_to_install
from documents.whole_file import whole_file
from gas.errors import BadInput, Missing
from gas.report.blocks import Block, Bullets, Column, Picture, Report, Table, Text

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["html", "markdown", "template", "write", "write_files"]


def html(report: Report) -> str:
    """Return a report as an HTML page."""
    return template().render(report=report)


@cache
def template() -> Template:
    """Return the template of the HTML page.

    Raises
    ------
    Missing
        Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup, escape
    except ImportError:
        raise Missing(f"reports need jinja2: {way_to_install('plot')}") from None

    def inline(text: str) -> Markup:
        """Show text in back-quotes as code; keep each option on one line, since browsers break lines after ``--``."""
        shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
        return Markup(re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"<span class=option>\g<0></span>", shown))

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= {
        "base64": lambda data: base64.b64encode(data).decode(),
        "groups": _groups,
        "inline": inline,
        "kind": lambda block: type(block).__name__,
    }
    return environment.from_string(files(__package__).joinpath("report.html.jinja").read_text(encoding="utf-8"))


def _groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return headings that neighbouring columns share, with their number of columns; empty if no column has one."""
    found = [(name, len(list(alike))) for name, alike in groupby(columns, lambda column: column.group)]
    return found if any(name for name, _ in found) else []


def markdown(report: Report) -> str:
    """Return a report as Markdown."""
    parts = [f"# {_plain(report.title)}", *([f"> {_plain(report.banner)}"] if report.banner else [])]
    parts.append(_plain(report.lead))
    for section in report.sections:
        parts.append(f"## {_plain(section.title)}")
        parts += [_markdown_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Return text with Markdown's characters escaped, except in back-quotes."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if i % 2 else re.sub(r"([\\*_<>\[\]|])", r"\\\1", part) for i, part in enumerate(parts))


def _markdown_block(block: Block) -> str:
    match block:
        case Text(text):
            return _plain(text)
        case Bullets(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Table():
            return _markdown_table(block)
        case Picture(name, _, caption):
            return f"![{_plain(caption)}]({name}.svg)\n\n{_plain(caption)}"


def _markdown_table(table: Table) -> str:
    titles = (f"{column.group}: {column.title}" if column.group else column.title for column in table.columns)
    rule = (":--" if column.left else "--:" for column in table.columns)
    rows = ((_plain(cell.text) for cell in row) for row in table.cells)
    lines = [_line(map(_plain, titles)), _line(rule), *map(_line, rows)]
    return "\n".join([*([_plain(table.caption), ""] if table.caption else []), *lines])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace(chr(10), ' ') for cell in cells)} |"


def write(report: Report, folder: Path, name: str) -> list[Path]:
    """Write ``name.html``, ``name.md`` and its pictures into a folder; return what was written.

    Raises
    ------
    BadInput
        The folder cannot be written to.
    """
    contents = {f"{name}.html": html(report).encode(), f"{name}.md": markdown(report).encode()}
    contents |= {f"{picture.name}.svg": picture.svg for picture in report.pictures}
    return write_files(folder, contents)


def write_files(folder: Path, contents: dict[str, bytes]) -> list[Path]:
    """Write files into a folder, which is created if needed, each completely or not at all; return their paths."""
    written = []
    for name, data in contents.items():
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(data)
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
        written.append(path)
    return written
