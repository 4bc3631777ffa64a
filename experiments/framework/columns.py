"""Tables by their columns: the title of each, and what it shows of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gas.report.blocks import Cell, Column, Table

__all__ = ["Shown", "numbered", "table_of"]

T = TypeVar("T")


@dataclass(frozen=True)
class Shown(Generic[T]):
    """A column, and what it shows of a row."""

    title: str
    value: Callable[[T], Cell | str]
    group: str = ""
    """A heading that it shares with its neighbours."""
    left: bool = False
    """Text stands left, numbers right."""


def table_of(rows: Iterable[T], columns: Sequence[Shown[T]], caption: str = "") -> Table:
    """Return a table of rows."""
    heads = tuple(Column(one.title, one.group, one.left) for one in columns)
    return Table(heads, tuple(tuple(one.value(row) for one in columns) for row in rows), caption)


def numbered(count: int | None) -> str:
    """Return a number of things as it is shown, "-" where it is not known."""
    return "-" if count is None else f"{count:,}"
