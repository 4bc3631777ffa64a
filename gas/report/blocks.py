"""What a report consists of: a title and sections of blocks (`Text`, `Bullets`, `Table`, `Picture`).

These are plain values that say nothing of how they look.
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


def heads(*titles: str, group: str = "", left: bool = False) -> tuple[Column, ...]:
    """Return columns by their headings, which may share one."""
    return tuple(Column(title, group, left) for title in titles)


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

    @property
    def cells(self) -> list[list[Cell]]:
        """The cells of each row."""
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]


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


def agreed(holds: bool | None, unknown: str = "-") -> Cell | str:
    """Return a cell for what agrees, for what does not, or for what could not be compared."""
    return unknown if holds is None else yes() if holds else no()


def fewer(given: int, full: int, thing: str, rest: str = "") -> str:
    """Return that a study has fewer of a thing than the full one; "" if not."""
    return f"{many(given, thing)}{rest} instead of {full}" if given < full else ""


def not_the_full(less: Iterable[str]) -> str:
    """Return the banner of a study that is less than the full one; "" for the full one."""
    words = "; ".join(filter(None, less))
    return f"Not the full study: {words}." if words else ""
