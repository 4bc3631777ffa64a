"""Schedules as tables of text: one line a job, in the columns of Batsim and evalys or in those that there are."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.simulation.recorded import UNKNOWN, Recorded
from gas.simulation.schedule import NEVER_STARTED

__all__ = ["recorded_table", "resolution_of", "sizes_of", "units_of"]

_MICRO = 1_000_000


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
}
_BARE = ("id", "submit", "start", "end")


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
        rows.append(next(csv.reader([line])) if "," in line else line.split())
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
        raise BadInput(f"{name}: the columns {' and '.join(twice)} mean the same; leave one")
    for needed in (("id",), ("submit",), ("start", "wait"), ("end", "run_time")):
        if not set(needed) & set(keys):
            names = " or ".join(_NAMES[key][0] for key in needed)
            raise BadInput(f'{name}: has no column "{names}"; its header has {", ".join(header[:20])}')
    return keys


def _recorded(table: _Table) -> Recorded:
    count = len(table.lines)
    numbers = {
        key: _column(table, key, gaps=key not in ("submit",))
        for key in ("submit", "processors", "estimate", "start", "end", "run_time", "wait", "promise")
        if key in table.columns
    }
    resolution = resolution_of(
        [numbers[key] for key in ("submit", "start", "end", "run_time", "wait") if key in numbers]
    )
    blank = np.full(count, np.nan)
    states = np.array([cell.strip().upper() for cell in table.columns.get("state", [""] * count)])
    submit = numbers["submit"]
    start = numbers["start"] if "start" in numbers else submit + numbers["wait"]
    run_time = numbers.get("run_time", blank)
    end = numbers["end"] if "end" in numbers else start + run_time
    if not {"start", "end"} <= numbers.keys():
        run_time = blank  # it is used up, and says nothing about the end
    rejected = states == "REJECTED"
    started = ~rejected & ~np.isnan(start) & ~np.isnan(end)
    end = np.where(rejected, np.fmax(end, submit), end)

    size = numbers.get("processors", blank)
    if "allocated" in table.columns:
        missing = ~(size > 0) & started
        size = size.copy()
        for row in np.flatnonzero(missing).tolist():
            size[row] = _interval_size(table, row)
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
        withdrawn=rejected | (states == "COMPLETED_KILLED"),
        promise=None if known is None else np.where(np.isnan(known), NEVER_STARTED, units_of(known, resolution)),
        label=label,
        resolution=resolution,
        name=table.name,
    )
    if label is not None or (np.diff(whole.submit) >= 0).all():
        return whole
    return whole.taken(np.argsort(ids, kind="stable"))  # by completion, as Batsim writes it; ties are by number


def _column(table: _Table, key: str, *, gaps: bool) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where it is empty."""
    cells = table.columns[key]
    try:
        usual = np.array(cells, dtype=np.float64)
    except ValueError:
        usual = np.array([np.nan])
    if (np.abs(usual) <= 2**53).all() and "_" not in "".join(cells):
        return usual
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        value = _number(cell)
        if value is None or (value != value and not gaps):
            label = f'column "{_NAMES[key][0]}"' if key != "id" else "the job's number"
            what = f'"{cell.strip()[:40]}" is not a number' if cell.strip() else "is empty"
            raise BadInput(f"{table.name}, line {table.lines[row]}, {label}: {what}")
        if abs(value) > 2**53:
            raise BadInput(f"{table.name}, line {table.lines[row]}: {cell.strip()} is beyond ±2**53")
        values[row] = value
    return values


def _number(cell: str) -> float | None:
    """Return what a cell says: NaN for an empty one, None if it is no number."""
    cell = cell.strip()
    if not cell or cell.lower() in ("nan", "-nan", "none"):
        return np.nan
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if "_" not in cell and abs(value) != float("inf") else None


def _interval_size(table: _Table, row: int) -> float:
    """Return how many processors ``0-3 7`` are."""
    cell = table.columns["allocated"][row].strip()
    total = 0
    for piece in cell.replace(",", " ").split():
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", piece, re.ASCII)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise BadInput(
                f'{table.name}, line {table.lines[row]}, column "allocated_resources": "{cell}" is no set 0-3 7'
            )
        total += int(match[2] or match[1]) - int(match[1]) + 1
    return total or np.nan


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
    """Return seconds in units of the file; whatever is not known becomes 0."""
    units: NDArray[np.int64] = np.rint(np.nan_to_num(seconds, nan=0.0) * resolution).astype(np.int64)
    return units


def sizes_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers of processors, `UNKNOWN` where there is none."""
    with np.errstate(invalid="ignore"):
        known: NDArray[np.int64] = np.where(sizes > 0, np.trunc(np.nan_to_num(sizes)), UNKNOWN).astype(np.int64)
    return known
