"""A log as a table with a column for each field: CSV, or Parquet if pyarrow is installed.

Columns have the names of `workloads.log.FIELDS`, or one of their usual other names, in any order; others are ignored
with a remark. ``start`` and ``end`` may replace ``wait`` and ``run_time``. Required are the submissions of jobs, their
run times and their processors. An empty cell is -1, unknown. Text in a column of identities (a user's name) is numbered
from 0 in the order in which it appears.

Columns are separated by commas, semicolons or tabs. The header of a log is in lines after ``#`` above the table, in
Parquet in the metadata ``swf_header``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from documents.extras import way_to_install
from workloads.cells import Complaints, Malformed, number_of, quoted
from workloads.growing import GrowingColumns
from workloads.header import Header
from workloads.log import COLUMNS, FIELDS, LARGEST, Field, Log, LogError
from workloads.pages import Source, pages_of

__all__ = ["format_csv", "format_parquet", "is_table_header", "read_csv", "read_parquet"]

_NAMES: Mapping[str, tuple[str, ...]] = {
    "job": ("id", "job_id", "jobid"),
    "submit": ("submit_time", "subtime"),
    "wait": ("wait_time",),
    "run_time": ("runtime", "elapsed"),
    "requested_processors": ("processors", "procs", "cpus", "res"),
    "requested_time": ("walltime", "estimate", "time_limit"),
    "user": ("user_id",),
    "group": ("group_id", "account"),
}
_KNOWN = {name: name for name in COLUMNS} | {alias: name for name, all in _NAMES.items() for alias in all}
_OF_NAME: dict[str, Field] = {each.name: each for each in FIELDS}
_INSTANTS = ("start", "end")
_NAMED = ("user", "group", "executable", "queue", "partition")
_METADATA = b"swf_header"
_ROWS = 1 << 16
"""Rows of Parquet that are read at a time."""


def format_csv(log: Log) -> bytes:
    """Return a log as CSV: its header after ``#``, and the columns with known values."""
    text = io.StringIO()
    text.writelines(f"# {line}\n" for line in log.header.lines)
    columns = _known_columns(log)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_texts(column) for column in columns.values()), strict=True))
    return text.getvalue().encode()


def format_parquet(log: Log) -> bytes:
    """Return a log as Parquet, zstd-compressed, with its header in the metadata."""
    pyarrow, parquet = _pyarrow(log.name)
    table = pyarrow.table(_known_columns(log))
    table = table.replace_schema_metadata({_METADATA: "\n".join(log.header.lines).encode()})
    stream = io.BytesIO()
    parquet.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def is_table_header(line: str) -> bool:
    """Return whether a line names the columns of a log as a table."""
    names = _titles(line, _mark(line))
    found = {_KNOWN.get(name) for name in names}
    return "submit" in found and len(names) > 2 and bool(found & {"run_time"} or "end" in names)


def read_csv(stream: BinaryIO, *, name: str = "log", lenient: bool = False) -> Log:
    """Return the log in a table of text, plain or gzip.

    Parameters
    ----------
    lenient
        Leave out malformed lines and count them in `Log.skipped`, instead of raising.

    Raises
    ------
    LogError
        It lacks such columns; or, unless lenient, for the first malformed line.
    """
    comments: list[str] = []
    table: _Table | None = None
    mark, read = ",", 0
    complaints = Complaints(name, lenient)
    source = Source(stream, name)
    pages = pages_of(source)
    for page in pages:
        lines: list[tuple[int, str]] = []
        of_page = page.removesuffix("\n").split("\n")
        for number, line in enumerate(of_page, read + 1):
            text = line.strip()
            if text.startswith("#"):
                comments.append(line.lstrip()[1:].removeprefix(" "))
            elif text and table is None:
                mark = _mark(line)
                table = _Table(_titles(line, mark), name)
            elif text:
                lines.append((number, line))
        read += len(of_page)
        if table is None or not lines:
            continue
        try:
            table.append(_numbers(lines, table, mark) or _read_lines(lines, table, mark, complaints))
        except LogError:
            for _ in pages if source.packed else ():  # to report damage to the gzip file itself
                pass
            raise
    return (table or _Table([], name)).log(comments, complaints)


def read_parquet(stream: BinaryIO, *, name: str = "log") -> Log:
    """Return the log in a Parquet table, with one group of rows in memory at a time; see `read_csv`.

    Raises
    ------
    LogError
        It lacks such columns, a cell is invalid, or pyarrow is not installed.
    """
    pyarrow, parquet = _pyarrow(name)
    try:
        file = parquet.ParquetFile(stream, pre_buffer=False)
        schema = file.schema_arrow
        table = _Table([str(title).strip().lower() for title in schema.names], name)
        wanted = [schema.names[place] for place in table.places.values()]
        # Threads may outlive a short program, and abort it.
        for batch in file.iter_batches(batch_size=_ROWS, columns=wanted, use_threads=False):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            of_titles = zip(table.places, wanted, strict=True)
            table.append({title: _of_arrow(columns[own], title, table) for title, own in of_titles})
    except (pyarrow.ArrowException, OSError) as error:
        raise LogError(name, f"is not a readable Parquet file ({' '.join(str(error).split())[:200]})") from None
    text = ((schema.metadata or {}).get(_METADATA) or b"").decode("utf-8", "replace")
    return table.log(text.split("\n"), Complaints(name, lenient=False))


class _Table:
    """The columns of a table that belong to a log, during reading."""

    def __init__(self, titles: Sequence[str], name: str) -> None:
        _checked_titles(titles, name)
        self.name, self.titles = name, titles
        self.places = {title: place for place, title in enumerate(titles) if title in _KNOWN or title in _INSTANTS}
        self.named: dict[str, dict[str, int]] = {}
        """The number of each name, by column of identities."""
        self._columns = GrowingColumns()

    @property
    def rows(self) -> int:
        """Number of rows that have been read."""
        return self._columns.length

    def append(self, given: Mapping[str, NDArray[np.float64]]) -> None:
        """Add rows, by column titles."""
        columns = {_KNOWN.get(title, title): column for title, column in given.items()}
        start, end = columns.pop("start", None), columns.pop("end", None)
        if start is not None:
            known = start >= 0
            columns.setdefault("wait", np.where(known, start - columns["submit"], -1))
            if end is not None:
                columns.setdefault("run_time", np.where(known & (end >= 0), end - start, -1))
        self._columns.append(columns)

    def log(self, header: Iterable[str], complaints: Complaints) -> Log:
        """Return the rows so far as a log, in order of submission."""
        if not self.rows:
            raise LogError(self.name, "; ".join(["has no jobs", *complaints.summary]))
        warnings = list(complaints.summary)
        if self._columns.backwards() is not None:
            self._columns.sort()
            warnings.append("not sorted by submission: sorted, equal seconds in the file's order")
        columns = self._columns.taken()
        if "job" not in {_KNOWN.get(title) for title in self.titles}:
            del columns["job"]  # the log numbers them
        lines = Header(tuple(line for line in header if line.lstrip().startswith(";")))
        log = Log.from_columns(columns, header=lines, name=self.name, copy=False)
        ignored = [title for title in self.titles if title not in self.places]
        if ignored:
            warnings.append(f"unknown columns are ignored: {', '.join(ignored)}")
        return replace(log, warnings=tuple(warnings), skipped=dict(complaints.skipped))


def _known_columns(log: Log) -> dict[str, NDArray[Any]]:
    always = ("job", "submit")
    return {name: column for name, column in log.columns().items() if name in always or not (column == -1).all()}


def _texts(column: NDArray[Any]) -> Iterable[str]:
    if column.dtype.kind == "i":
        return map(str, column.tolist())
    return (str(int(value)) if value.is_integer() else repr(value) for value in column.tolist())


def _pyarrow(name: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise LogError(name, f"Parquet needs pyarrow: {way_to_install('data')}") from None
    return pyarrow, parquet


def _mark(header: str) -> str:
    """Return the separator of columns: spreadsheets write semicolons if fractions have commas."""
    return max(",;\t", key=header.count)


def _titles(line: str, mark: str) -> list[str]:
    try:
        return [title.strip().lower() for title in next(csv.reader([line], delimiter=mark), [])]
    except csv.Error:  # a cell beyond csv's limit: no title
        return []


def _checked_titles(titles: Sequence[str], name: str) -> None:
    """Raise for a table that lacks a column, or has one twice."""
    if {"job_id", "submission_time"} <= set(titles):
        raise LogError(name, "this is a schedule in CSV; gas audit reads it")
    found = [_KNOWN.get(title, title) for title in titles]
    for title in (*COLUMNS, *_INSTANTS):
        if found.count(title) > 1:
            raise LogError(name, f"has the column {title} twice")
    sizes = {"requested_processors", "allocated_processors"}
    for wanted, there in (
        ("submit", "submit" in found),
        ("run_time", "run_time" in found or {"start", "end"} <= set(found)),
        ("processors", bool(sizes & set(found))),
    ):
        if not there:
            shown = quoted(", ".join(titles))
            raise LogError(name, f"has no column {wanted}; its columns are {shown}; a log needs submit, run_time and "
                                 "processors")  # fmt: skip


def _numbers(lines: list[tuple[int, str]], table: _Table, mark: str) -> dict[str, NDArray[Any]] | None:
    """Return all columns as numbers at once, or None if any line is unusual."""
    try:
        found = np.loadtxt([line for _, line in lines], dtype=np.float64, delimiter=mark, comments=None, ndmin=2)
    except ValueError:
        return None
    if found.shape != (len(lines), len(table.titles)):
        return None
    columns = {title: found[:, place] for title, place in table.places.items()}
    return columns if all(_usual(column, title) for title, column in columns.items()) else None


def _usual(column: NDArray[np.float64], title: str) -> bool:
    """Return whether all numbers are usual, so that none has to be checked as text."""
    whole = _kind(title) != "identity" or np.array_equal(column, np.trunc(column))
    return bool(whole and (np.abs(column) < LARGEST).all())


def _read_lines(
    lines: Iterable[tuple[int, str]], table: _Table, mark: str, complaints: Complaints
) -> dict[str, NDArray[Any]]:
    rows: list[list[float]] = []
    for number, line in lines:
        try:
            cells = next(csv.reader([line], delimiter=mark))
            if len(cells) != len(table.titles):
                text = f"{len(cells)} cells where the titles are {len(table.titles)}: {quoted(line)}"
                raise Malformed("wrong number of cells", text)
            rows.append([_cell(cells[place].strip(), title, table.named) for title, place in table.places.items()])
        except csv.Error as error:
            complaints.add(number, Malformed("no CSV", f"{error}: {quoted(line)}"))
        except Malformed as problem:
            complaints.add(number, problem)
    found = np.array(rows, np.float64).reshape(-1, len(table.places))
    return {title: found[:, at] for at, title in enumerate(table.places)}


def _cell(cell: str, title: str, named: dict[str, dict[str, int]]) -> float:
    field = _OF_NAME[_KNOWN.get(title, "submit")]
    if cell == "" or cell.lower() in ("nan", "none", "null"):
        if field.name in ("job", "submit"):
            raise Malformed(f"no {field.label}", f"{field.label} is empty", field)
        return -1.0
    try:
        return number_of(cell, field)
    except Malformed:
        if field.name not in _NAMED or field.kind != "identity":
            raise
        known = named.setdefault(field.name, {})
        return known.setdefault(cell, len(known))


def _of_arrow(cells: Any, title: str, table: _Table) -> NDArray[np.float64]:
    """Return a column of the next rows, at once if all of them are usual numbers."""
    if not cells.null_count and str(cells.type).startswith(("int", "uint", "float", "double")):
        usual: NDArray[np.float64] = cells.to_numpy(zero_copy_only=False).astype(np.float64)
        if _usual(usual, title):
            return usual
    found = np.empty(len(cells))
    for row, cell in enumerate(cells.to_pylist()):
        try:
            found[row] = _cell("" if cell is None else str(cell), title, table.named)
        except Malformed as problem:
            raise LogError(table.name, f"row {table.rows + row + 1}: {problem.text}", at_field=problem.field) from None
    return found


def _kind(title: str) -> str:
    return _OF_NAME[_KNOWN.get(title, "submit")].kind
