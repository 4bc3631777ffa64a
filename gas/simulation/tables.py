"""Schedules as tables of text: one line a job, in the columns of Batsim and evalys or in those that there are."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.simulation.allocation import Allocation
from gas.simulation.recorded import LARGEST_INSTANT, LONGEST, NOT_ENDED, UNKNOWN, Recorded, shortened
from gas.simulation.schedule import NEVER_STARTED

__all__ = ["recorded_table", "resolution_of", "sizes_of", "units_of"]

_MICRO = 1_000_000

_MACHINE = re.compile(r"machine=([1-9]\d{0,14})", re.ASCII)
"""What the column ``metadata`` of our own files says of the machine."""

_PRIORITY = re.compile(r"priority=(-?\d{1,10})", re.ASCII)

_BEYOND = 2**53
"""From here on a float is not every whole number."""


class _Table(NamedTuple):
    """The cells of a file by column, as text."""

    name: str
    columns: dict[str, Sequence[str]]
    lines: list[int]
    """Where each row stands in the file."""


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


def recorded_table(text: str, name: str) -> Recorded:
    """Return the schedule that a table holds: CSV with a header, or bare lines of ``id submit start end``.

    Raises
    ------
    BadInput
        Naming the line and the column of the first cell that cannot be used.
    """
    return _recorded(_table(text, name))


def _table(text: str, name: str) -> _Table:
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            rows.append(next(csv.reader([line])) if "," in line else line.split())
        except csv.Error as error:
            raise BadInput(f'{name}, line {number}: {error}: "{shortened(line)}"') from None
        lines.append(number)
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
        raise BadInput(f"{name}: has a header and no jobs")
    columns: dict[str, Sequence[str]] = {}
    for key, cells in zip(keys, zip(*rows, strict=True), strict=True):
        if key:
            columns.setdefault(key, cells)
    return _Table(name, columns, lines)


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


def _recorded(table: _Table) -> Recorded:
    count = len(table.lines)
    numbers = {
        key: _column(table, key, gaps=key not in ("submit",)) for key in (*_TIMES, "processors") if key in table.columns
    }
    times = {key: column for key, column in numbers.items() if key in _TIMES}
    resolution = resolution_of(list(times.values()))
    for key, column in times.items():
        _refuse_beyond(table, key, column, resolution)
    blank = np.full(count, np.nan)
    states = [cell.strip().upper() for cell in table.columns.get("state", [""] * count)]
    submit = numbers["submit"]
    start = numbers["start"] if "start" in numbers else submit + numbers["wait"]
    run_time = numbers.get("run_time", blank)
    end = numbers["end"] if "end" in numbers else start + run_time
    for key, column in (("start", start), ("end", end)):
        if key not in numbers:
            _refuse_beyond(table, key, column, resolution)
    if not {"start", "end"} <= numbers.keys():
        run_time = blank  # it is used up, and says nothing about the end
    rejected = np.array([state == "REJECTED" for state in states])
    killed = np.array([state == "COMPLETED_KILLED" for state in states])
    started = ~rejected & ~np.isnan(start) & ~np.isnan(end)
    open_ended = ~rejected & ~killed & ~np.isnan(start) & np.isnan(end)
    end = np.where(rejected, np.fmax(end, submit), end)

    size = numbers.get("processors", blank)
    allocated: Allocation | None = None
    allocation_remarks: tuple[str, ...] = ()
    machine, held, machine_remarks = _metadata(table)
    if "allocated" in table.columns:
        missing = ~(size > 0) & started
        allocated, allocation_remarks = _allocation(table, started, missing)
        counts = [sum(b - a for a, b in allocated.pieces(row)) for row in np.flatnonzero(missing).tolist()]
        size = size.copy()
        size[missing] = [each or np.nan for each in counts]
    ids, label = _ids(table)
    promise = numbers.get("promise")
    known = None if promise is None or np.isnan(promise).all() else promise
    whole = Recorded(
        id=ids,
        submit=units_of(submit, resolution),
        processors=sizes_of(size),
        estimate=np.where(
            numbers.get("estimate", blank) > 0,
            units_of(np.fmax(numbers.get("estimate", blank), 1), resolution),
            UNKNOWN,
        ),
        run_time=np.where(np.isnan(run_time), UNKNOWN, units_of(run_time, resolution)),
        start=np.where(started, units_of(start, resolution), NEVER_STARTED),
        end=units_of(np.where(np.isnan(end), submit, end), resolution),
        withdrawn=rejected | killed,
        promise=None if known is None else np.where(np.isnan(known), NEVER_STARTED, units_of(known, resolution)),
        reservation=held if held.any() else None,
        priority=_priorities(table),
        label=label,
        allocated=None if allocation_remarks else allocated,
        machine=machine,
        resolution=resolution,
        name=table.name,
        remarks=(*allocation_remarks, *machine_remarks),
    )
    if open_ended.any():
        left_out = int(np.count_nonzero(open_ended))
        remark = f"{left_out:,} job{'' if left_out == 1 else 's'} left out: {NOT_ENDED}"
        whole = replace(whole.taken(np.flatnonzero(~open_ended)), remarks=(*whole.remarks, remark))
        ids, label, held = whole.id, whole.label, whole.reserved
    if label is not None or (np.diff(whole.submit[~held]) >= 0).all():
        return whole
    return whole.taken(np.lexsort((ids, held)))  # by completion, as Batsim writes it; ties are by number


def _metadata(table: _Table) -> tuple[int | None, NDArray[np.bool_], tuple[str, ...]]:
    """Return what our own files say in this column: the machine's size, which rows are reservations; and remarks."""
    cells = table.columns.get("metadata", [""] * len(table.lines))
    texts = {text: text.split() for text in set(cells)}
    held = {text for text, words in texts.items() if "reservation" in words and any(map(_MACHINE.fullmatch, words))}
    sizes = {int(found[1]) for words in texts.values() for word in words if (found := _MACHINE.fullmatch(word))}
    of_rows = np.array([text in held for text in cells], np.bool_)
    if len(sizes) > 1:
        numbers = " and ".join(map(str, sorted(sizes)[:3]))
        return None, of_rows, (f"rows name machines of {numbers} processors; none of them is used",)
    return next(iter(sizes), None), of_rows, ()


def _priorities(table: _Table) -> NDArray[np.int64] | None:
    """Return the priorities that our own files state; None if there are none."""
    cells = table.columns.get("metadata", ())
    known = {text: [int(m[1]) for word in text.split() if (m := _PRIORITY.fullmatch(word))] for text in set(cells)}
    if not any(known.values()):
        return None
    return np.array([known[text][0] if known[text] else 0 for text in cells], np.int64)


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
    """Return what a cell says: NaN for an empty one, None if it is not a number, infinity for one like 1e400."""
    cell = cell.strip()
    if not cell or cell.lower() in ("nan", "-nan", "none"):
        return np.nan
    if "_" in cell or cell.lstrip("+-")[:1].isalpha():
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _refuse_beyond(table: _Table, key: str, seconds: NDArray[np.float64], resolution: int) -> None:
    """Refuse times that would not be exact: beyond 2**53 - 1, and far less with fractions of seconds."""
    if resolution == 1:
        limit, why = _BEYOND - 1, "2**53 - 1 s, the largest that is kept exactly"
    else:
        limit = LONGEST // _MICRO if key == "estimate" else LARGEST_INSTANT
        why = (
            f"{limit} s, up to where a file with fractions of seconds is kept exactly; write whole seconds, "
            "or count from a later second 0"
        )
    bad = np.flatnonzero(np.abs(seconds) > limit)
    if bad.size:
        row = int(bad[0])
        stated = key in table.columns
        value = shortened(table.columns[key][row]) if stated else f"{seconds[row]:.0f}"
        what = _titled(key) if stated else f"the job's {key}"
        raise BadInput(f"{table.name}, line {table.lines[row]}, {what}: {value} is beyond ±{why}")


def _allocation(
    table: _Table, started: NDArray[np.bool_], needed: NDArray[np.bool_]
) -> tuple[Allocation, tuple[str, ...]]:
    """Return the processors that each job had, and what could not be read; an error if a job's size depends on it."""
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
    return Allocation.of(pieces), remarks


def _pieces(cell: str) -> list[tuple[int, int]]:
    """Return the processors ``0-3 7`` as half-open ranges, in order, each processor once."""
    ranges = []
    for piece in cell.replace(",", " ").split():
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", piece, re.ASCII)
        if match is None:
            raise ValueError(f'"{shortened(cell)}" is not a set such as 0-3 7')
        if max(len(digits or "") for digits in match.groups()) > 15:
            raise ValueError(f'"{shortened(cell)}" has a processor beyond 999999999999999; number them from 0')
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f'"{shortened(cell)}" is not a set such as 0-3 7')
        ranges.append((first, last + 1))
    joined: list[tuple[int, int]] = []
    for a, b in sorted(ranges):
        if joined and a <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
        else:
            joined.append((a, b))
    return joined


def _ids(table: _Table) -> tuple[NDArray[np.int64], tuple[str, ...] | None]:
    """Return the jobs' numbers, and what they are called if that is something else."""
    names = [cell.strip() for cell in table.columns["id"]]
    workloads = [cell.strip() for cell in table.columns.get("workload", [""] * len(names))]
    empty = next((row for row, name in enumerate(names) if not name), None)
    if empty is not None:
        raise BadInput(f"{table.name}, line {table.lines[empty]}: the job has no number")
    if len(set(workloads)) > 1:  # a number is unique within its workload only
        names = [name if "!" in name else f"{load}!{name}" for load, name in zip(workloads, names, strict=True)]
    prefixes = {name.rpartition("!")[0] for name in names}
    numbers = [name.rpartition("!")[2] for name in names] if len(prefixes) == 1 else names
    if all(re.fullmatch(r"[+-]?\d{1,15}(\.0*)?", number, re.ASCII) for number in numbers):
        return np.array([int(number.partition(".")[0]) for number in numbers], dtype=np.int64), None
    return np.arange(1, len(names) + 1, dtype=np.int64), tuple(names)


def resolution_of(columns: Sequence[NDArray[Any]]) -> int:
    """Return how many units make a second, so that these times are whole numbers of them."""
    fractions = any(bool((np.abs(c[np.isfinite(c)] - np.rint(c[np.isfinite(c)])) > 5e-7).any()) for c in columns)
    return _MICRO if fractions else 1


def units_of(seconds: NDArray[Any], resolution: int) -> NDArray[np.int64]:
    """Return seconds in units of the file; whatever is not known becomes 0.

    What int64 does not hold is cut off at 2**60 units to either side, which `Recorded` then refuses.
    """
    known = np.nan_to_num(seconds, nan=0.0)
    if resolution == 1:
        units: NDArray[np.int64] = np.rint(known).astype(np.int64)
        return units
    most = LONGEST // resolution
    whole = np.floor(known)
    far = np.abs(whole) > most
    whole = np.where(far, 0, whole)
    # Apart, so that whole seconds stay exact however many they are.
    units = whole.astype(np.int64) * resolution + np.rint(np.where(far, 0, known - whole) * resolution).astype(np.int64)
    return np.where(far, np.where(known > 0, LONGEST, -LONGEST), units)


def sizes_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers of processors, `UNKNOWN` where there is none."""
    with np.errstate(invalid="ignore"):
        known: NDArray[np.int64] = np.where(sizes > 0, np.trunc(np.nan_to_num(sizes)), UNKNOWN).astype(np.int64)
    return known
