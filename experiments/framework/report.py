"""Reports of studies: the same content as one self-contained HTML page and as Markdown.

A `Report` is a title and sections of blocks (`Text`, `Bullets`, `Table`, `Picture`), plain values that say nothing of
how they look. `html` inlines pictures, so that the page needs no other file and no network; `markdown` refers to the
files that `write` puts beside it. Same report, same bytes: nothing here looks at a clock.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal, TypeAlias

from documents.whole_file import whole_file
from gas.errors import BadInput

__all__ = ["Block", "Bullets", "Cell", "Column", "Picture", "Report", "Section", "Table", "Text", "html", "markdown"]
__all__ += ["no", "not_the_full", "write", "write_files", "yes"]

Mark: TypeAlias = Literal["", "good", "bad", "quiet"]


@dataclass(frozen=True)
class Cell:
    """A cell of a table; a mark shows in HTML only, so the text must say it too."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True)
class Column:
    """A column: its heading, under a heading that it may share with its neighbours."""

    title: str
    group: str = ""
    left: bool = False
    """Text stands left, numbers right."""


@dataclass(frozen=True)
class Text:
    """A paragraph; `code` in back-quotes is shown as such."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of short texts."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(self.columns)} columns: {row}")


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG."""

    name: str
    """Of its file, without suffix."""
    svg: bytes
    caption: str
    """What is to be seen, also for those who do not see it."""


Block: TypeAlias = Text | Bullets | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Report:
    """What a study found."""

    title: str
    lead: str
    """The answer in a few sentences."""
    sections: tuple[Section, ...]
    banner: str = ""
    """What must be known before anything else is read, say that the study is not a full one."""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """All pictures in their order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Picture))


def yes(text: str = "yes") -> Cell:
    """Return a cell for what agrees."""
    return Cell(text, "good")


def no(text: str = "no") -> Cell:
    """Return a cell for what does not."""
    return Cell(text, "bad")


def not_the_full(less: Sequence[str]) -> str:
    """Return a banner that says in what a study is less than the full one; "" if it is not."""
    return f"Not the full study: {'; '.join(less)}." if less else ""


_STYLE = """
:root { color-scheme: light dark; --line: #d5d9de; --soft: rgb(120 140 160 / .08); --dim: #5b6570; }
:root { --good: #0a6b3d; --bad: #a63400; --shade: rgb(90 100 115 / .45); }
@media (prefers-color-scheme: dark) {
  :root { --line: #3b4148; --soft: rgb(150 165 180 / .1); --dim: #a0a9b3; --good: #62cf9a; --bad: #ff9b6a; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 96rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
p, li { max-width: 48rem; } .lead { font-size: 1.1rem; }
nav ul { columns: 2; column-gap: 2.5rem; padding-left: 1.2rem; }
p, li, h1, h2, figcaption { overflow-wrap: anywhere; }
.banner { border-left: .35rem solid var(--bad); padding: .4rem .8rem; background: var(--soft); }
.wide {
  overflow-x: auto; max-width: 100%; margin: 1.2rem 0;
  background: linear-gradient(to left, Canvas 40%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to right, Canvas 40%, transparent) left / 3rem 100% no-repeat local,
    linear-gradient(to left, var(--shade), transparent) right / .9rem 100% no-repeat scroll,
    linear-gradient(to right, var(--shade), transparent) left / .9rem 100% no-repeat scroll;
}
table { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; color: var(--dim); padding-bottom: .4rem; }
caption span { display: inline-block; position: sticky; left: 0; max-width: min(48rem, 100vw - 4rem); }
th, td { padding: .2rem .4rem; text-align: right; white-space: nowrap; vertical-align: top; }
td.left, th.left { text-align: left; } td.left { white-space: normal; min-width: 4.5rem; }
td.long { min-width: 15rem; }
thead th { border-bottom: 1px solid var(--line); white-space: normal; vertical-align: bottom; }
th.group { text-align: center; }
tbody tr:nth-child(even) { background: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } .quiet { color: var(--dim); }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; background: white; } figcaption { color: var(--dim); }
code { font-size: .92em; }
"""


def html(report: Report) -> str:
    """Return the report as a page that needs nothing from anywhere."""
    names = [(f"s{i}", section) for i, section in enumerate(report.sections, 1)]
    contents = "\n".join(f'<li><a href="#{name}">{escape(section.title)}</a></li>' for name, section in names)
    body = "\n".join(
        f'<section id="{name}">\n<h2>{escape(section.title)}</h2>\n'
        + "\n".join(_html_block(block) for block in section.blocks)
        + "\n</section>"
        for name, section in names
    )
    banner = f'<p class="banner" role="note">{_html_text(report.banner)}</p>\n' if report.banner else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(report.title)}</h1>\n{banner}"
        f'<p class="lead">{_html_text(report.lead)}</p>\n'
        f"<nav><ul>\n{contents}\n</ul></nav>\n{body}\n</body>\n</html>\n"
    )


def markdown(report: Report) -> str:
    """Return the report as Markdown (with the tables of GitHub); pictures are files beside it."""
    parts = [f"# {_plain(report.title)}", *([f"> {_plain(report.banner)}"] if report.banner else [])]
    parts.append(_plain(report.lead))
    for section in report.sections:
        parts.append(f"## {_plain(section.title)}")
        parts += [_markdown_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


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
    """Write files into a folder, which is made if need be, each whole or not at all; return their paths."""
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


def _html_text(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _html_block(block: Block) -> str:
    match block:
        case Text(text):
            return f"<p>{_html_text(text)}</p>"
        case Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{_html_text(item)}</li>" for item in items) + "\n</ul>"
        case Table():
            return _html_table(block)
        case Picture(name, svg, caption):
            source = base64.b64encode(svg).decode()
            image = f'<img alt="{escape(caption)}" src="data:image/svg+xml;base64,{source}">'
            return f'<figure id="{escape(name)}">\n{image}\n<figcaption>{_html_text(caption)}</figcaption>\n</figure>'


def _html_table(table: Table) -> str:
    lines = ['<div class="wide" tabindex="0"><table>']  # the keyboard scrolls only what it can reach
    if table.caption:
        lines.append(f"<caption><span>{_html_text(table.caption)}</span></caption>")
    lines.append("<thead>")
    if any(column.group for column in table.columns):
        spans = "".join(
            f'<th class="group" colspan="{count}">{escape(group)}</th>' for group, count in _groups(table.columns)
        )
        lines.append(f"<tr>{spans}</tr>")
    left = ' class="left"'
    titles = "".join(f"<th{left if c.left else ''}>{_html_text(c.title)}</th>" for c in table.columns)
    lines += [f"<tr>{titles}</tr>", "</thead>", "<tbody>"]
    for row in table.rows:
        lines.append("<tr>" + "".join(map(_html_cell, row, table.columns)) + "</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def _html_cell(cell: Cell | str, column: Column) -> str:
    text, mark = (cell.text, cell.mark) if isinstance(cell, Cell) else (cell, "")
    classes = [*(["left"] if column.left else []), *(["long"] if len(text) > 60 else []), *([mark] if mark else [])]
    named = " ".join(classes)
    attribute = f' class="{named}"' if classes else ""
    return f"<td{attribute}>{_html_text(text)}</td>"


def _groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for column in columns:
        if found and found[-1][0] == column.group:
            found[-1] = (column.group, found[-1][1] + 1)
        else:
            found.append((column.group, 1))
    return found


def _plain(text: str) -> str:
    """Return text in which nothing is Markdown but what stands in back-quotes."""
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
    rows = ((cell.text if isinstance(cell, Cell) else cell for cell in row) for row in table.rows)
    lines = [_line(map(_plain, titles)), _line(rule), *(_line(map(_plain, row)) for row in rows)]
    return "\n".join([*([_plain(table.caption), ""] if table.caption else []), *lines])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace(chr(10), ' ') for cell in cells)} |"
