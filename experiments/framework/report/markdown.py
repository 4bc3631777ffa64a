"""A report as Markdown, with the tables of GitHub; pictures are files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from experiments.framework.report.model import Block, Bullets, Picture, Report, Table, Text

__all__ = ["markdown"]


def markdown(report: Report) -> str:
    """Return the report as Markdown."""
    parts = [f"# {_plain(report.title)}", *([f"> {_plain(report.banner)}"] if report.banner else [])]
    parts.append(_plain(report.lead))
    for section in report.sections:
        parts.append(f"## {_plain(section.title)}")
        parts += [_markdown_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


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
    rows = ((_plain(cell.text) for cell in row) for row in table.cells)
    lines = [_line(map(_plain, titles)), _line(rule), *map(_line, rows)]
    return "\n".join([*([_plain(table.caption), ""] if table.caption else []), *lines])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace(chr(10), ' ') for cell in cells)} |"
