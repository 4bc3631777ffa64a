"""Schedules as tables of text: one line per job, in the columns of Batsim and evalys, or some of them."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.simulation.allocation import Allocation
from gas.simulation.job_names import JobNames
from gas.simulation.recorded import LARGEST_INSTANT, LONGEST, NOT_ENDED, UNKNOWN, Recorded, shortened
from gas.simulation.schedule import NEVER_STARTED

__all__ = ["recorded_table", "resolution_of", "sizes_of", "units_of"]

_MICRO = 1_000_000

_MACHINE = re.compile(r"machine=([1-9]\d{0,14})", re.ASCII)
"""The size of the machine in the column ``metadata`` of our own files."""

_PRIORITY = re.compile(r"priority=(-?\d{1,10})", re.ASCII)

_BEYOND = 2**53
"""From here on, not every whole number is a float."""


class _Table(NamedTuple):
    """The cells of a piece of a file by column, as text."""

    name: str
    columns: dict[str, Sequence[str]]
    lines: list[int]
    """The line of each row in the file."""


_NAMES = {
    "id": ("job_id", "jobid", "id", "job"),
    "workload": ("workload_name",),
    "submit": ("submission_time", "submit_time", "submit"),
    "processors": ("requested_number_of_resources", "processors", "procs", "res"),
    "allocated": ("allocated_resources", "allocated_processors"),
    "estimate": ("requested_time", "walltime", "estimate"),
    "start": ("starting_time", "start_time", "start"),
    "end": ("finish_time", "end_time", "end", "finish"),
    "run_time": ("execution_time", "run_time", "runtime"),
    "wait": ("waiting_time", "wait_time", "wait"),
    "state": ("final_state",),
    "promise": ("promised_start",),
    "metadata": ("metadata",),
}
_BARE = ("id", "submit", "start", "end")
_TIMES = ("submit", "start", "end", "run_time", "wait", "promise", "estimate")


_FARTHEST = {key: LONGEST // _MICRO if key == "estimate" else LARGEST_INSTANT for key in _TIMES}
"""Limit in seconds of times in files with fractions of seconds, by column."""


def recorded_table(pages: Iterable[str], name: str) -> Recorded:
    """Return the schedule that a table holds: CSV with a header, or bare lines of ``id submit start end``.

    Parameters
    ----------
    pages
        The text in pieces of whole lines; only their numbers are kept.

    Raises
    ------
    BadInput
        A cell cannot be used; the message names the line and column of the first one.
    """
    cells = _Cells(name)
    for table in _tables(pages, name):
        cells.add(table)
    return _recorded(cells)


def _tables(pages: Iterable[str], name: str) -> Iterator[_Table]:
    keys: list[str] = []
    expected, before, jobs = "", 0, 0
    for page in pages:
        texts = page.splitlines()
        rows: list[list[str]] = []
        lines: list[int] = []
        for number, line in enumerate(texts, before + 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                rows.append(_split(line))
            except csv.Error as error:
                raise BadInput(f'{name}, line {number}: {error}: "{shortened(line)}"') from None
            lines.append(number)
        before += len(texts)
        if rows and not keys:
            first = [cell.strip() for cell in rows[0]]
            if all(_number(cell) is None or not cell for cell in first):
                keys, rows, lines = _keys(first, name), rows[1:], lines[1:]
                expected = f"the header has {len(keys)}"
            else:
                keys = list(_BARE)
                expected = f"without a header they are {len(keys)}: {' '.join(_BARE)}"
        for number, row in zip(lines, rows, strict=True):
            if len(row) != len(keys):
                raise BadInput(f"{name}, line {number}: {len(row)} fields; {expected}")
        if not rows:
            continue
        jobs += len(rows)
        columns: dict[str, Sequence[str]] = {}
        for key, cells in zip(keys, zip(*rows, strict=True), strict=True):
            if key:
                columns.setdefault(key, cells)
        yield _Table(name, columns, lines)
    if not jobs:
        raise BadInput(f"{name}: has a header and no jobs")


def _split(line: str) -> list[str]:
    """Return the cells of a line."""
    if "," not in line:
        return line.split()
    if '"' not in line and len(line) <= csv.field_size_limit():
        return line.split(",")  # several times as fast
    return next(csv.reader([line]))


def _keys(header: list[str], name: str) -> list[str]:
    known = {alias: key for key, aliases in _NAMES.items() for alias in aliases}
    keys = [known.get(cell.lower(), "") for cell in header]
    twice = [cell for cell, key in zip(header, keys, strict=True) if key and keys.count(key) > 1]
    if twice:
        raise BadInput(f"{name}: the columns {' and '.join(twice)} mean the same; keep one")
    for needed in (("id",), ("submit",), ("start", "wait"), ("end", "run_time")):
        if not set(needed) & set(keys):
            names = " or ".join(_NAMES[key][0] for key in needed)
            raise BadInput(f'{name}: has no column "{names}"; its header has {shortened(", ".join(header))}')
    return keys


class _Cells:
    """The values of the cells, in arrays that grow: their texts would be ten times as large."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.far: dict[str, str] = {}
        """For each column, the first number beyond `_FARTHEST`, as written."""
        self.machines: set[int] = set()
        self.remarks: tuple[str, ...] = ()
        self.names = JobNames()
        self.keys: tuple[str, ...] = ()
        """The columns of numbers."""
        self.has_priorities = self.lacks_priorities = False
        self._columns: dict[str, array[Any]] = {}

    def add(self, table: _Table) -> None:
        """Read the cells of some rows."""
        count = len(table.lines)
        numbers = {
            key: _column(table, key, gaps=key != "submit") for key in (*_TIMES, "processors") if key in table.columns
        }
        for key in numbers.keys() & _FARTHEST.keys() - self.far.keys():
            far = np.flatnonzero(np.abs(numbers[key]) > _FARTHEST[key])
            if far.size:
                self.far[key] = table.columns[key][far[0]]
        states = [cell.strip().upper() for cell in table.columns.get("state", [""] * count)]
        rejected = np.array([state == "REJECTED" for state in states])
        if "allocated" in table.columns:
            started = ~rejected & ~np.isnan(np.add(*_start_and_end(numbers)))
            size = numbers.get("processors", np.full(count, np.nan))
            missing = ~(size > 0) & started
            pieces, remarks = _allocation(table, started, missing)
            self.remarks = self.remarks or remarks
            size[missing] = [sum(b - a for a, b in pieces[row]) or np.nan for row in np.flatnonzero(missing).tolist()]
            numbers["processors"] = size
            places = Allocation.of(pieces)
            self._grow("pieces", np.diff(places.offsets))
            self._grow("first", places.first)
            self._grow("behind", places.behind)
        self.keys = tuple(numbers)
        for key, column in numbers.items():
            self._grow(key, column)
        self._grow("line", np.array(table.lines, np.int64))
        self._grow("rejected", rejected)
        self._grow("killed", np.array([state == "COMPLETED_KILLED" for state in states]))
        self._add_metadata(table.columns.get("metadata", [""] * count))
        blank = [""] * count
        self.names.add(table.columns["id"], table.columns.get("workload", blank), (table.name, table.lines))

    def _add_metadata(self, cells: Sequence[str]) -> None:
        """Read what our own files write in this column: the machine's size, reservations, priorities."""
        held, priority = set(), {}
        for text in set(cells):
            words = text.split()
            sizes = {int(found[1]) for word in words if (found := _MACHINE.fullmatch(word))}
            self.machines |= sizes
            if sizes and "reservation" in words:
                held.add(text)
            stated = [int(found[1]) for word in words if (found := _PRIORITY.fullmatch(word))]
            self.has_priorities |= any(word.startswith("priority=") for word in words)
            self.lacks_priorities |= len(stated) != 1 and text not in held
            priority[text] = stated[0] if stated else 0
        self._grow("held", np.array([text in held for text in cells], np.bool_))
        self._grow("priority", np.array([priority[text] for text in cells], np.int64))

    def _grow(self, key: str, values: NDArray[Any]) -> None:
        kind = {"f": "d", "i": "q", "b": "B"}[values.dtype.kind]
        self._columns.setdefault(key, array(kind)).frombytes(values.tobytes())

    def column(self, key: str) -> NDArray[Any]:
        """Return a column, which can be requested only once."""
        values = np.asarray(memoryview(self._columns.pop(key)))
        return values.view(np.bool_) if values.dtype == np.uint8 else values

    def __contains__(self, key: str) -> bool:
        return key in self._columns

    def line(self, row: int) -> int:
        """Return the place of a row in the file."""
        return int(self._columns["line"][row])

    def machine(self) -> tuple[int | None, tuple[str, ...]]:
        """Return the machine's size, if the file states it, and remarks."""
        if len(self.machines) > 1:
            numbers = " and ".join(map(str, sorted(self.machines)[:3]))
            return None, (f"rows name machines of {numbers} processors; none of them is used",)
        return next(iter(self.machines), None), ()

    def on_priorities(self) -> tuple[str, ...]:
        """Return a remark if only some jobs state their priorities."""
        if not (self.has_priorities and self.lacks_priorities):
            return ()
        return ("not all jobs state one priority, a whole number; priorities are not checked",)

    def allocation(self) -> Allocation | None:
        """Return the processors of the jobs; None if the file does not list them for all jobs in a known form."""
        if "pieces" not in self or self.remarks:
            return None
        counts = self.column("pieces")
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        return Allocation(offsets, self.column("first"), self.column("behind"))


def _start_and_end(numbers: dict[str, NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return starts and ends as stated, or computed from waits and run times."""
    start = numbers["start"] if "start" in numbers else numbers["submit"] + numbers["wait"]
    return start, numbers["end"] if "end" in numbers else start + numbers["run_time"]


def _recorded(cells: _Cells) -> Recorded:
    numbers = {key: cells.column(key) for key in cells.keys}
    times = {key: column for key, column in numbers.items() if key in _TIMES}
    resolution = resolution_of(list(times.values()))
    for key, column in times.items():
        _refuse_beyond(cells, key, column, resolution, stated=True)
    submit = numbers["submit"]
    blank = np.broadcast_to(np.nan, submit.shape)
    start, end = _start_and_end(numbers)
    for key, column in (("start", start), ("end", end)):
        if key not in numbers:
            _refuse_beyond(cells, key, column, resolution)
    # If it was used for the end, it is not independent data.
    run_time = numbers.get("run_time", blank) if {"start", "end"} <= numbers.keys() else blank
    rejected, killed, held = (cells.column(key) for key in ("rejected", "killed", "held"))
    started = ~rejected & ~np.isnan(start) & ~np.isnan(end)
    open_ended = ~rejected & ~killed & ~np.isnan(start) & np.isnan(end)
    if rejected.any():
        end = np.where(rejected, np.fmax(end, submit), end)
    estimate = numbers.get("estimate", blank)
    ids, label = cells.names.taken()
    promise = numbers.get("promise")
    known = None if promise is None or np.isnan(promise).all() else promise
    machine, machine_remarks = cells.machine()
    whole = Recorded(
        id=ids,
        submit=units_of(submit, resolution),
        processors=sizes_of(numbers.get("processors", blank)),
        estimate=np.where(estimate > 0, units_of(np.fmax(estimate, 1), resolution), UNKNOWN),
        run_time=np.where(np.isnan(run_time), UNKNOWN, units_of(run_time, resolution)),
        start=np.where(started, units_of(start, resolution), NEVER_STARTED),
        end=units_of(np.where(np.isnan(end), submit, end), resolution),
        withdrawn=rejected | killed,
        promise=None if known is None else np.where(np.isnan(known), NEVER_STARTED, units_of(known, resolution)),
        reservation=held if held.any() else None,
        priority=cells.column("priority") if cells.has_priorities and not cells.lacks_priorities else None,
        label=label,
        allocated=cells.allocation(),
        machine=machine,
        resolution=resolution,
        name=cells.name,
        remarks=(*cells.remarks, *machine_remarks, *cells.on_priorities()),
    )
    if open_ended.any():
        left_out = int(np.count_nonzero(open_ended))
        remark = f"{left_out:,} job{'' if left_out == 1 else 's'} left out: {NOT_ENDED}"
        whole = replace(whole.taken(np.flatnonzero(~open_ended)), remarks=(*whole.remarks, remark))
        ids, label, held = whole.id, whole.label, whole.reserved
    if label is not None or (np.diff(whole.submit[~held]) >= 0).all():
        return whole
    return whole.taken(np.lexsort((ids, held)))  # by completion, as Batsim writes it; ties are by number


def _column(table: _Table, key: str, *, gaps: bool) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where it is empty."""
    cells = table.columns[key]
    try:
        usual = np.array(cells, dtype=np.float64)
    except ValueError:
        usual = np.array([np.nan])
    if (np.abs(usual) < _BEYOND).all() and "_" not in "".join(cells):
        return usual
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        value = _number(cell)
        if value is None or (value != value and not gaps):
            what = f'"{shortened(cell)}" is not a number' if cell.strip() else "is empty"
            raise BadInput(f"{table.name}, line {table.lines[row]}, {_titled(key)}: {what}")
        if abs(value) >= _BEYOND:
            raise BadInput(
                f"{table.name}, line {table.lines[row]}: {shortened(cell)} is beyond ±(2**53 - 1), the largest number "
                f"that is kept exactly ({_titled(key)}); write a smaller one, or leave the cell empty if it is unknown"
            )
        values[row] = value
    return values


def _titled(key: str) -> str:
    return f'column "{_NAMES[key][0]}"'


def _number(cell: str) -> float | None:
    """Return the value of a cell: NaN if empty, None if it is not a number, infinity for numbers like 1e400."""
    cell = cell.strip()
    if not cell or cell.lower() in ("nan", "-nan", "none"):
        return np.nan
    if "_" in cell or cell.lstrip("+-")[:1].isalpha():
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _refuse_beyond(
    cells: _Cells, key: str, seconds: NDArray[np.float64], resolution: int, *, stated: bool = False
) -> None:
    """Raise for times that would not be exact: beyond 2**53 - 1, or a much lower limit with fractions of seconds."""
    if resolution == 1:
        limit, why = _BEYOND - 1, "2**53 - 1 s, the largest that is kept exactly"
    else:
        limit = _FARTHEST[key]
        why = (
            f"{limit} s, the limit for exact times in a file with fractions of seconds; write whole seconds, "
            "or count from a later second 0"
        )
    bad = np.flatnonzero(np.abs(seconds) > limit)
    if bad.size:
        row = int(bad[0])
        value = shortened(cells.far[key]) if stated else f"{seconds[row]:.0f}"
        what = _titled(key) if stated else f"the job's {key}"
        raise BadInput(f"{cells.name}, line {cells.line(row)}, {what}: {value} is beyond ±{why}")


def _allocation(
    table: _Table, started: NDArray[np.bool_], needed: NDArray[np.bool_]
) -> tuple[list[list[tuple[int, int]]], tuple[str, ...]]:
    """Return the processors of each job, and remarks on what could not be read; raise if a job's size depends on it."""
    pieces: list[list[tuple[int, int]]] = []
    remarks: tuple[str, ...] = ()
    for row, (cell, ran, alone) in enumerate(
        zip(table.columns["allocated"], started.tolist(), needed.tolist(), strict=True)
    ):
        try:
            pieces.append(_pieces(cell) if ran else [])
        except ValueError as error:
            where = f'{table.name}, line {table.lines[row]}, column "allocated_resources": {error}'
            if alone:
                raise BadInput(where) from None
            if not remarks:
                remarks = (f"which processors the jobs had is not checked: {where.removeprefix(f'{table.name}, ')}",)
            pieces.append([])
    return pieces, remarks


def _pieces(cell: str) -> list[tuple[int, int]]:
    """Return the processors ``0-3 7`` as half-open ranges, in order, each processor once."""
    ranges = []
    for piece in cell.replace(",", " ").split():
        first, dash, last = piece.partition("-")
        last = last if dash else first
        if not (piece.isascii() and first.isdigit() and last.isdigit()):
            raise ValueError(f'"{shortened(cell)}" is not a set such as 0-3 7')
        if max(len(first), len(last)) > 15:
            raise ValueError(f'"{shortened(cell)}" has a processor beyond 999999999999999; number them from 0')
        begin, behind = int(first), int(last) + 1
        if behind <= begin:
            raise ValueError(f'"{shortened(cell)}" is not a set such as 0-3 7')
        ranges.append((begin, behind))
    joined: list[tuple[int, int]] = []
    for a, b in sorted(ranges):
        if joined and a <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
        else:
            joined.append((a, b))
    return joined


def resolution_of(columns: Sequence[NDArray[Any]]) -> int:
    """Return the units per second with which these times are whole numbers."""
    fractions = any(bool((np.abs(c[np.isfinite(c)] - np.rint(c[np.isfinite(c)])) > 5e-7).any()) for c in columns)
    return _MICRO if fractions else 1


def units_of(seconds: NDArray[Any], resolution: int) -> NDArray[np.int64]:
    """Return seconds in units of the file; unknown values become 0.

    Values beyond int64 are cut off at ±2**60 units, which `Recorded` then refuses.
    """
    known = np.nan_to_num(seconds, nan=0.0)
    if resolution == 1:
        units: NDArray[np.int64] = np.rint(known).astype(np.int64)
        return units
    most = LONGEST // resolution
    whole = np.floor(known)
    far = np.abs(whole) > most
    whole = np.where(far, 0, whole)
    # Separately, so that whole seconds of any size stay exact.
    units = whole.astype(np.int64) * resolution + np.rint(np.where(far, 0, known - whole) * resolution).astype(np.int64)
    return np.where(far, np.where(known > 0, LONGEST, -LONGEST), units)


def sizes_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers of processors, `UNKNOWN` where there is none."""
    with np.errstate(invalid="ignore"):
        known: NDArray[np.int64] = np.where(sizes > 0, np.trunc(np.nan_to_num(sizes)), UNKNOWN).astype(np.int64)
    return known
