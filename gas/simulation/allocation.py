"""Which processors each job ran on: a schedule says only how many, a Gantt chart and some file formats need to know.

Jobs take, in the order of their starts (then of the log), the lowest processors that are free in one piece, and where
no piece is large enough the lowest that are free. So the answer is always the same, and always there if the machine
is never oversubscribed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.simulation.schedule import Schedule

__all__ = ["Allocation", "allocate"]


@dataclass(frozen=True, eq=False)
class Allocation:
    """Pieces of the machine, numbered from 0; row ``i`` has ``offsets[i]:offsets[i + 1]`` of them.

    The rows are the schedule's jobs and then its reservations. A job that never started has no piece.
    """

    offsets: NDArray[np.int64]
    first: NDArray[np.int64]
    """The first processor of each piece."""
    behind: NDArray[np.int64]
    """The first processor that is no longer in it."""

    def pieces(self, row: int) -> list[tuple[int, int]]:
        """Return the pieces of a job as half-open ranges, in order."""
        chosen = slice(int(self.offsets[row]), int(self.offsets[row + 1]))
        return list(zip(self.first[chosen].tolist(), self.behind[chosen].tolist(), strict=True))

    def text(self, row: int) -> str:
        """Return the processors of a job as Batsim and evalys write them: ``0-3 7``."""
        return " ".join(str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in self.pieces(row))


def allocate(schedule: Schedule) -> Allocation:
    """Return the processors of each job and reservation.

    A job of no length, which holds nothing, gets the lowest ones whoever has them. n log n steps for n jobs, times
    the number of pieces that the free part of the machine is in.

    Raises
    ------
    ValueError
        More processors are held than there are; the message names the first job that finds too few.
    """
    jobs = schedule.jobs
    start = np.concatenate([schedule.start, schedule.reserved])
    end = np.concatenate(
        [schedule.end, schedule.reserved + np.array([r.walltime for r in schedule.reservations], dtype=np.int64)]
    )
    count = np.concatenate([jobs.processors, np.array([r.processors for r in schedule.reservations], dtype=np.int64)])
    ran = np.concatenate([schedule.started, np.ones(len(schedule.reserved), dtype=bool)])
    given: list[list[tuple[int, int]]] = [[] for _ in range(len(start))]
    for row in np.flatnonzero(ran & (end == start)).tolist():
        given[row] = [(0, int(count[row]))]

    rows = np.flatnonzero(ran & (end > start))
    instant = np.concatenate([end[rows], start[rows]])
    is_start = np.repeat([False, True], len(rows))
    order = np.lexsort((np.tile(rows, 2), is_start, instant))  # at an instant, what ends makes room for what starts
    begins, ends = [0], [jobs.machine]  # the free pieces
    needed = count.tolist()
    for starts, row, at in zip(
        is_start[order].tolist(), np.tile(rows, 2)[order].tolist(), instant[order].tolist(), strict=True
    ):
        if starts:
            given[row] = _take(begins, ends, needed[row])
            if not given[row]:
                who = f"job {jobs.id[row]}" if row < len(jobs) else f"reservation {row - len(jobs)}"
                free = sum(ends) - sum(begins)
                raise ValueError(
                    f"second {at}: {who} starts on {needed[row]} processors, but {free} of {jobs.machine} are free; "
                    "audit the schedule"
                )
        else:
            for piece in given[row]:
                _give_back(begins, ends, *piece)

    sizes = np.array([len(pieces) for pieces in given], dtype=np.int64)
    flat = np.array([piece for pieces in given for piece in pieces], dtype=np.int64).reshape(-1, 2)
    return Allocation(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), flat[:, 0].copy(), flat[:, 1].copy())


def _take(begins: list[int], ends: list[int], count: int) -> list[tuple[int, int]]:
    """Take processors out of the free pieces; nothing if there are too few."""
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
    """Put a piece back among the free ones, joined with its neighbours."""
    k = bisect_left(begins, a)
    if k < len(begins) and begins[k] == b:
        b = ends[k]
        del begins[k], ends[k]
    if k > 0 and ends[k - 1] == a:
        ends[k - 1] = b
    else:
        begins.insert(k, a)
        ends.insert(k, b)
