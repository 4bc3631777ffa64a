"""Tables defined by their columns: the title of each, and its value for a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gas.report.blocks import Cell, Column, Table

__all__ = ["Shown", "numbered", "table_of"]

T = TypeVar("T")


@dataclass(frozen=True)
class Shown(Generic[T]):
    """A column: title and value for a row."""

    title: str
    value: Callable[[T], Cell | str]
    group: str = ""
    """A heading shared with the neighbouring columns."""
    left: bool = False
    """Whether to align left, as text; numbers are aligned right."""


def table_of(rows: Iterable[T], columns: Sequence[Shown[T]], caption: str = "") -> Table:
    """Return a table of rows."""
    heads = tuple(Column(one.title, one.group, one.left) for one in columns)
    return Table(heads, tuple(tuple(one.value(row) for one in columns) for row in rows), caption)


def numbered(count: int | None) -> str:
    """Return a number as text, "-" if it is unknown."""
    return "-" if count is None else f"{count:,}"
