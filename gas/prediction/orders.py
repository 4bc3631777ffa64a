"""When a job would start if the queue were served in a given order, backfilled or not: candidates for a recorded rule.

What a scheduler did is in its log, by what rule is not: by submission, the short or the small ones first, those of
users who have had least. Each order is tried on the queue of a submission, with one guess of each run time and nobody
else coming. None of these starts is a prediction; which of them tells something is learnt (`gas.prediction.forest`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel

__all__ = ["EASY", "GREEDY", "start_in_order"]

EASY, GREEDY = range(2)
"""Jobs may overtake the first one that has to wait if that does not delay it (EASY); or whenever they fit."""

_BEYOND = 30 * 86_400
_DEPTH = 100
"""So many jobs at the head of the queue are tried at a time, as schedulers do."""

_INSTANTS = 300
"""After so many instants a job counts as started: what is so far away tells little, and long queues take long."""


@kernel
def start_in_order(
    free: int,
    held: NDArray[np.int64],
    left: NDArray[np.int64],
    bound: NDArray[np.int64],
    queue: NDArray[np.int64],
    order: NDArray[np.int64],
    rule: int,
) -> int:
    """Return after how many seconds the last job of a queue starts, 30 days at most.

    Parameters
    ----------
    free
        Processors.
    held, left, bound
        Of each running job: its processors, how long it will run on, and how long it may.
    queue
        Of each waiting job, a column: processors, walltime and run time. The last one is asked about.
    order
        Columns of the queue, the first to be served first.
    rule
        `EASY` or `GREEDY`.
    """
    asked = queue.shape[1] - 1
    count = len(held)
    run = np.empty((3, count + asked + 1), np.int64)  # who runs: processors, end, latest end
    run[0, :count], run[1, :count], run[2, :count] = held, left, bound
    waits, kept = order.copy(), np.empty(_DEPTH, np.int64)
    first = now = 0
    for _ in range(_INSTANTS):
        last = min(first + _DEPTH, len(waits)) if free > 0 else first
        left_over, blocked, shadow, extra = 0, False, 0, 0
        for k in range(first, last):
            job = waits[k]
            size, walltime = queue[0, job], queue[1, job]
            fits = size <= free
            if fits and blocked and rule == EASY and now + walltime > shadow:
                fits = size <= extra
                extra -= size if fits else 0
            if fits:
                if job == asked:
                    return now
                free -= size
                run[0, count], run[1, count], run[2, count] = size, now + queue[2, job], now + walltime
                count += 1
                continue
            if not blocked:
                blocked = True
                shadow, extra = _shadow(run[:, :count], free, size)
            kept[left_over] = job
            left_over += 1
        first = last - left_over
        waits[first:last] = kept[:left_over]
        if count == 0:
            return _BEYOND  # it needs more than there is
        now = max(now, run[1, :count].min())
        if now >= _BEYOND:
            return _BEYOND
        still = 0
        for k in range(count):
            if run[1, k] <= now:
                free += run[0, k]
            else:
                for row in range(3):
                    run[row, still] = run[row, k]
                still += 1
        count = still
    return now


@kernel
def _shadow(run: NDArray[np.int64], free: int, size: int) -> tuple[int, int]:
    """Return by when so many processors are free by walltimes, and how many more are then."""
    last, k = 0, 0
    by_end = ascending(run[2].astype(np.float64))
    while k < len(by_end):
        last = run[2, by_end[k]]
        while k < len(by_end) and run[2, by_end[k]] == last:
            free += run[0, by_end[k]]
            k += 1
        if free >= size:
            return last, free - size
    return _BEYOND, 0


@kernel
def ascending(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of values in ascending order, of equal ones in that of the array."""
    return np.argsort(values, kind="mergesort")
