"""Results of studies as tables for other programs: CSV, Parquet if pyarrow is installed, and descriptions of columns.

A column is defined once, by a `Field`. It yields the contents of the files, the data dictionary next to them, and the
section of the report that explains them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from experiments.framework.columns import Shown, table_of
from gas.report.blocks import Section

__all__ = ["Field", "Records", "Written", "as_csv", "as_parquet", "columns_section", "files_of"]

S = TypeVar("S")


@dataclass(frozen=True)
class Field:
    """A column of a table of results.

    Attributes
    ----------
    name
        May contain a word in braces, for example ``{log}_jobs`` for one column per log.
    meaning
        Description, including the word in braces.
    unit
        Empty for names, counts and truth values.
    value
        Function from a row to the value; or its path, for example ``run.log.name``, of attributes or items of mappings,
        which yields None if any of them is None. By default the name of the column.
    """

    name: str
    meaning: str
    unit: str = ""
    value: Callable[[Any], Any] | str = ""

    def of(self, row: Any) -> Any:
        """Return the value of the column for a row."""
        if callable(self.value):
            return self.value(row)
        for name in (self.value or self.name).split("."):
            if row is not None:
                row = row[name] if isinstance(row, Mapping) else getattr(row, name)
        return row

    def explains(self, column: str) -> str | None:
        """Return the meaning of a column by its name; None if it is not of this field."""
        parts = re.split(r"\{(\w+)\}", self.name)
        pattern = "".join(f"(?P<{part}>.+)" if i % 2 else re.escape(part) for i, part in enumerate(parts))
        match = re.fullmatch(pattern, column)
        return self.meaning.format(**match.groupdict()) if match else None


@dataclass(frozen=True)
class Records(Generic[S]):
    """A table of results.

    Attributes
    ----------
    about
        What a row is.
    rows
        Returns the rows: mappings from columns to values, or any objects in which the fields find values.
    fields
        Fields by heading; the heading may be empty.
    """

    about: str
    rows: Callable[[S], Iterable[Any]]
    fields: Mapping[str, Sequence[Field]]

    def of(self, name: str, study: S) -> Written:
        """Return the table under a name, ready to be written.

        Raises
        ------
        ValueError
            A row has a column without a field.
        """
        every = [field for group in self.fields.values() for field in group]
        rows = [
            dict(row) if isinstance(row, Mapping) else {field.name: field.of(row) for field in every}
            for row in self.rows(study)
        ]
        return Written(name, self.about, rows, tuple(self._explained(column) for column in _columns(rows)))

    def _explained(self, column: str) -> Explained:
        for group, fields in self.fields.items():
            for field in fields:
                if (meaning := field.explains(column)) is not None:
                    return Explained(group, column, field.unit, meaning)
        raise ValueError(f"{column}: no field says what this column means; define one next to the others of its table")


@dataclass(frozen=True)
class Explained:
    """The meaning of a column."""

    group: str
    column: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Written:
    """A table of results, ready to be written."""

    name: str
    about: str
    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[Explained]


def files_of(study: str, tables: Iterable[Written]) -> dict[str, bytes]:
    """Return the files of all tables, and the data dictionary of a study, by file name.

    The dictionary is ``STUDY-columns.csv``; a table is ``NAME.csv``, and ``NAME.parquet`` if pyarrow is installed.
    """
    files: dict[str, bytes] = {}
    dictionary: list[dict[str, str]] = []
    for table in tables:
        files[f"{table.name}.csv"] = as_csv(table.rows)
        if (parquet := as_parquet(table)) is not None:
            files[f"{table.name}.parquet"] = parquet
        dictionary += [{"table": table.name, **vars(one)} for one in table.columns]
    return files | {f"{study}-columns.csv": as_csv(dictionary)}


def columns_section(tables: Iterable[Written]) -> Section:
    """Return the data dictionary as a section of the report."""
    shown = (
        Shown[Explained]("group", lambda one: one.group, left=True),
        Shown[Explained]("column", lambda one: f"`{one.column}`", left=True),
        Shown[Explained]("unit", lambda one: one.unit, left=True),
        Shown[Explained]("meaning", lambda one: one.meaning, left=True),
    )
    blocks = tuple(table_of(table.columns, shown, f"`{table.name}.csv`: {table.about}") for table in tables)
    return Section("Columns of the results", blocks)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as CSV: a column per key in the order of first use; missing values are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)  # writes None as empty, floats with all digits
    return text.getvalue().encode()


def as_parquet(table: Written) -> bytes | None:
    """Return a table as Parquet, with unit and meaning of each column as metadata; None if pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return None
    found = pyarrow.table({one.column: [row.get(one.column) for row in table.rows] for one in table.columns})
    explained = zip(found.schema, table.columns, strict=True)
    fields = [field.with_metadata({"unit": one.unit, "meaning": one.meaning}) for field, one in explained]
    buffer = io.BytesIO()
    parquet.write_table(found.cast(pyarrow.schema(fields)), buffer)
    return buffer.getvalue()


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))
