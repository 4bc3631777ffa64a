"""Parts of a report: a title and sections of blocks (`Text`, `Bullets`, `Table`, `Picture`).

These are plain values without any layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gas.printable import many

__all__ = ["Block", "Bullets", "Cell", "Column", "Mark", "Picture", "Report", "Section", "Table", "Text", "agreed"]
__all__ += ["fewer", "heads", "no", "not_the_full", "yes"]

Mark: TypeAlias = Literal["", "good", "bad", "quiet"]


@dataclass(frozen=True)
class Cell:
    """A cell of a table; a mark shows in HTML only, so the text must be clear without it."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True)
class Column:
    """A column: its heading, optionally under a heading shared with its neighbours."""

    title: str
    group: str = ""
    left: bool = False
    """Whether text is aligned left; numbers are aligned right."""


def heads(*titles: str, group: str = "", left: bool = False) -> tuple[Column, ...]:
    """Return columns with these headings, optionally under a shared one."""
    return tuple(Column(title, group, left) for title in titles)


@dataclass(frozen=True)
class Text:
    """A paragraph; text in back-quotes is shown as code."""

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

    @property
    def cells(self) -> list[list[Cell]]:
        """The cells of each row."""
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG."""

    name: str
    """The name of its file, without suffix."""
    svg: bytes
    caption: str
    """Caption, also for readers who cannot see the picture."""


Block: TypeAlias = Text | Bullets | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading and its blocks."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Report:
    """The result of a study."""

    title: str
    lead: str
    """The answer in a few sentences."""
    sections: tuple[Section, ...]
    banner: str = ""
    """A warning at the top, for example that the study is restricted."""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """All pictures in their order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Picture))


def yes(text: str = "yes") -> Cell:
    """Return a cell for agreement."""
    return Cell(text, "good")


def no(text: str = "no") -> Cell:
    """Return a cell for disagreement."""
    return Cell(text, "bad")


def agreed(holds: bool | None, unknown: str = "-") -> Cell | str:
    """Return a cell for agreement or disagreement; `unknown` if there was no comparison."""
    return unknown if holds is None else yes() if holds else no()


def fewer(given: int, full: int, thing: str, rest: str = "") -> str:
    """Return in words how many fewer items a study has than the full study; empty if it has as many."""
    return f"{many(given, thing)}{rest} instead of {full}" if given < full else ""


def not_the_full(less: Iterable[str]) -> str:
    """Return the banner of a restricted study; empty for the full one."""
    words = "; ".join(filter(None, less))
    return f"Not the full study: {words}." if words else ""
