"""The processors on which each job ran: schedules have only counts, but Gantt charts and some formats need processors.

In the order of their starts (then of the log), jobs take the lowest free block of processors that is large enough, or
the lowest free processors if there is no such block. So the result is deterministic, and always exists if the machine
is never oversubscribed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.simulation.schedule import Schedule

__all__ = ["Allocation", "Clash", "allocate", "clashes"]

_EVENTS = 1 << 14
"""Number of starts and ends handled at a time."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """Pieces of the machine, numbered from 0; row ``i`` has the pieces ``offsets[i]:offsets[i + 1]``.

    The rows are the schedule's jobs and then its reservations, or those of a file. A job that never started has no
    piece. The pieces of a row are in order and have no processor in common.
    """

    offsets: NDArray[np.int64]
    first: NDArray[np.int64]
    """The first processor of each piece."""
    behind: NDArray[np.int64]
    """The first processor after each piece."""

    @classmethod
    def of(cls, pieces: Iterable[Sequence[tuple[int, int]]]) -> Allocation:
        """Return the allocation with these half-open ranges, in order, for each row."""
        given = list(pieces)
        sizes = np.array([len(each) for each in given], dtype=np.int64)
        flat = np.array([piece for each in given for piece in each], dtype=np.int64).reshape(-1, 2)
        return cls(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), flat[:, 0].copy(), flat[:, 1].copy())

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def taken(self, rows: NDArray[np.int64]) -> Allocation:
        """Return these rows, in this order."""
        counts = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        which = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], counts)
        return Allocation(offsets, self.first[which], self.behind[which])

    def pieces(self, row: int) -> list[tuple[int, int]]:
        """Return the pieces of a job as half-open ranges, in order."""
        chosen = slice(int(self.offsets[row]), int(self.offsets[row + 1]))
        return list(zip(self.first[chosen].tolist(), self.behind[chosen].tolist(), strict=True))

    def texts(self, rows: slice) -> list[str]:
        """Return the processors of some jobs in the form of Batsim and evalys: ``0-3 7``."""
        begin, stop, _ = rows.indices(len(self))
        offsets = self.offsets[begin : stop + 1]
        chosen = slice(int(offsets[0]), int(offsets[-1]))
        pieces = [
            str(a) if b == a + 1 else f"{a}-{b - 1}"
            for a, b in zip(self.first[chosen].tolist(), self.behind[chosen].tolist(), strict=True)
        ]
        return [" ".join(pieces[i:j]) for i, j in pairwise((offsets - offsets[0]).tolist())]


def allocate(schedule: Schedule) -> Allocation:
    """Return the processors of each job and reservation.

    Jobs of zero length, which hold nothing, get the lowest processors, free or not. n log n steps for n jobs, times the
    number of pieces of the free part of the machine.

    Raises
    ------
    ValueError
        More processors are held than exist; the message names the first job that finds too few.
    """
    jobs = schedule.jobs
    start = np.concatenate([schedule.start, schedule.reserved])
    end = np.concatenate(
        [schedule.end, schedule.reserved + np.array([r.walltime for r in schedule.reservations], dtype=np.int64)]
    )
    count = np.concatenate([jobs.processors, np.array([r.processors for r in schedule.reservations], dtype=np.int64)])
    ran = np.concatenate([schedule.started, np.ones(len(schedule.reserved), dtype=bool)])
    lasts = ran & (end > start)
    taken = _Taken(count[ran & ~lasts], np.flatnonzero(ran & ~lasts))

    rows = np.flatnonzero(lasts)
    at = np.concatenate([end[rows], start[rows]])
    # At the same instant, ends make room for starts.
    order = np.lexsort((np.tile(rows, 2), np.repeat([False, True], len(rows)), at))
    begins, ends = [0], [jobs.machine]  # the free pieces
    held: dict[int, list[tuple[int, int]]] = {}
    for some in range(0, len(order), _EVENTS):
        events = order[some : some + _EVENTS]
        which = rows[events % len(rows)]
        for starts, row, needed in zip(
            (events >= len(rows)).tolist(), which.tolist(), count[which].tolist(), strict=True
        ):
            if starts:
                held[row] = pieces = _take(begins, ends, needed)
                if not pieces:
                    who = f"job {jobs.id[row]}" if row < len(jobs) else f"reservation {row - len(jobs)}"
                    free = sum(ends) - sum(begins)
                    raise ValueError(
                        f"second {start[row]}: {who} starts on {needed} processors, but {free} of {jobs.machine} are "
                        "free; audit the schedule"
                    )
                taken.add(row, pieces)
            else:
                for piece in held.pop(row):
                    _give_back(begins, ends, *piece)
    return taken.by_row(len(start))


class _Taken:
    """Pieces in the order in which they are taken, as arrays: as tuples, ten million jobs would need gigabytes."""

    def __init__(self, counts: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Begin with the jobs of zero length, given the processors of each."""
        self._rows, self._first, self._behind = (
            array("q", column.tobytes()) for column in (rows.astype(np.int64), np.zeros_like(counts), counts)
        )

    def add(self, row: int, pieces: list[tuple[int, int]]) -> None:
        for a, b in pieces:
            self._rows.append(row)
            self._first.append(a)
            self._behind.append(b)

    def by_row(self, rows: int) -> Allocation:
        """Return the allocation of `rows` rows."""
        of = np.frombuffer(self._rows, np.int64)
        order = np.argsort(of, kind="stable")
        offsets = np.zeros(rows + 1, np.int64)
        np.cumsum(np.bincount(of, minlength=rows), out=offsets[1:])
        first, behind = (np.frombuffer(column, np.int64)[order] for column in (self._first, self._behind))
        return Allocation(offsets, first, behind)


class Clash(NamedTuple):
    """A job that starts on a processor that another job still holds."""

    row: int
    other: int
    """The row of the job that holds it."""
    processor: int
    """The first such processor."""


def clashes(places: Allocation, rows: Sequence[int], start: Sequence[int], end: Sequence[int]) -> list[Clash]:
    """Return the jobs that start on a processor that another job still holds: one clash per row, in the given order.

    Parameters
    ----------
    rows
        In order of their starts.
    start, end
        For all rows of the allocation.

    Notes
    -----
    Pieces are compared as a whole, never processor by processor, so their size does not matter.
    """
    held: list[_Held] = []  # in order, no processor in two of them
    begins: list[int] = []
    behinds: list[int] = []
    found = []
    for row in rows:
        now, until = start[row], end[row]
        if until <= now:
            continue  # holds nothing
        clash: Clash | None = None
        for a, b in places.pieces(row):
            i, j = bisect_right(behinds, a), bisect_left(begins, b)
            new: list[_Held] = []
            at = a
            for old in held[i:j]:
                if old.until <= now:
                    continue  # free by now
                first, behind = max(a, old.first), min(b, old.behind)
                if clash is None:
                    clash = Clash(row, old.row, first)
                if old.first < a:
                    new.append(old._replace(behind=a))
                if at < first:
                    new.append(_Held(at, first, until, row))
                # Both hold it; the entry of the one that holds it longer covers both.
                new.append(_Held(first, behind, *((until, row) if until > old.until else (old.until, old.row))))
                at = behind
                if old.behind > b:
                    new.append(old._replace(first=b))
            if at < b:
                new.append(_Held(at, b, until, row))
            held[i:j] = new
            begins[i:j] = [each.first for each in new]
            behinds[i:j] = [each.behind for each in new]
        if clash is not None:
            found.append(clash)
    return found


class _Held(NamedTuple):
    """Processors, and the end of their use."""

    first: int
    behind: int
    until: int
    row: int


def _take(begins: list[int], ends: list[int], count: int) -> list[tuple[int, int]]:
    """Take processors from the free pieces; none if there are too few."""
    for k, (a, b) in enumerate(zip(begins, ends, strict=True)):
        if b - a >= count:
            if b - a == count:
                del begins[k], ends[k]
            else:
                begins[k] = a + count
            return [(a, a + count)]
    taken = []
    whole = 0
    for a, b in zip(begins, ends, strict=True):
        if b - a > count:
            taken.append((a, a + count))
            begins[whole] = a + count
            count = 0
        else:
            taken.append((a, b))
            count -= b - a
            whole += 1
        if count == 0:
            del begins[:whole], ends[:whole]
            return taken
    return []


def _give_back(begins: list[int], ends: list[int], a: int, b: int) -> None:
    """Return a piece to the free ones, joined with its neighbours."""
    k = bisect_left(begins, a)
    if k < len(begins) and begins[k] == b:
        b = ends[k]
        del begins[k], ends[k]
    if k > 0 and ends[k - 1] == a:
        ends[k - 1] = b
    else:
        begins.insert(k, a)
        ends.insert(k, b)
