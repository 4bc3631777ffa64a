"""The start of a job if the queue were served in a given order, with or without backfilling: features for learning.

A log shows what a scheduler did, but not its rule: by submission, short or small jobs first, users with the least use
first. Each order is tried on the queue at a submission, with one guess of each run time and no further arrivals. None
of these starts is a prediction; which of them are informative is learned (`gas.prediction.forest`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel

__all__ = ["EASY", "GREEDY", "start_in_order"]

EASY, GREEDY = range(2)
"""Jobs may overtake the first one that has to wait if that does not delay it (EASY), or whenever they fit."""

_BEYOND = 30 * 86_400
_DEPTH = 100
"""Most jobs at the head of the queue that are tried at a time, as by schedulers."""

_INSTANTS = 300
"""After this many instants a job counts as started: later instants tell little, and long queues take long."""


@kernel
def start_in_order(
    free: int,
    running: NDArray[np.int64],
    first_ends: NDArray[np.int64],
    first_bounds: NDArray[np.int64],
    queue: NDArray[np.int64],
    order: NDArray[np.int64],
    rule: int,
) -> int:
    """Return after how many seconds the last job of a queue starts, at most 30 days.

    Parameters
    ----------
    free
        Free processors.
    running
        A column for each running job: its processors, its remaining run time, and its remaining walltime.
    first_ends, first_bounds
        Columns of the running jobs in ascending order of remaining run time, and of remaining walltime.
    queue
        A column for each waiting job: processors, walltime and run time. The last one is the job in question.
    order
        Columns of the queue, the first to be served first.
    rule
        `EASY` or `GREEDY`.
    """
    asked = queue.shape[1] - 1
    were, most = running.shape[1], running.shape[1] + len(order)
    run = np.empty((3, most), np.int64)  # jobs that run or ran: processors (0 once it has ended), end, latest end
    for row in range(3):
        for k in range(were):
            run[row, k] = running[row, k]
    # A started job is inserted among the started ones, which are few compared with those that ran at first.
    ends, bounds = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    waits, kept = order.copy(), np.empty(_DEPTH, np.int64)
    first = now = gone = new_gone = 0  # indices in `waits`, `first_ends` and `ends`
    count = were
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
                _insert(ends, new_gone, count - were, count, run, 1)
                _insert(bounds, 0, count - were, count, run, 2)
                count += 1
                continue
            if not blocked:
                blocked = True
                if rule == EASY:
                    shadow, extra = _shadow(run, first_bounds, bounds, count - were, free, size)
            kept[left_over] = job
            left_over += 1
        first = last - left_over
        for k in range(left_over):
            waits[first + k] = kept[k]
        next_end = _BEYOND
        if gone < were:
            next_end = run[1, first_ends[gone]]
        if new_gone < count - were:
            next_end = min(next_end, run[1, ends[new_gone]])
        now = max(now, next_end)
        if now >= _BEYOND:  # also if nothing runs: the job needs more processors than exist
            return _BEYOND
        while gone < were and run[1, first_ends[gone]] <= now:
            free += run[0, first_ends[gone]]
            run[0, first_ends[gone]] = 0
            gone += 1
        while new_gone < count - were and run[1, ends[new_gone]] <= now:
            free += run[0, ends[new_gone]]
            run[0, ends[new_gone]] = 0
            new_gone += 1
    return now


@kernel
def _insert(places: NDArray[np.int64], first: int, last: int, job: int, run: NDArray[np.int64], row: int) -> None:
    """Insert a job among those from `first` on and before `last`, which are sorted by a row of `run`."""
    at = last
    while at > first and run[row, places[at - 1]] > run[row, job]:
        places[at] = places[at - 1]
        at -= 1
    places[at] = job


@kernel
def _shadow(
    run: NDArray[np.int64], first: NDArray[np.int64], new: NDArray[np.int64], count: int, free: int, size: int
) -> tuple[int, int]:
    """Return the instant by which this many processors are free by walltimes, and how many more are free then.

    Jobs that ran at first, and the `count` jobs started since, are each sorted by their latest ends.
    """
    i = j = 0
    while i < len(first) or j < count:
        instant = run[2, first[i]] if i < len(first) else run[2, new[j]]
        if j < count:
            instant = min(instant, run[2, new[j]])
        while i < len(first) and run[2, first[i]] == instant:
            free += run[0, first[i]]
            i += 1
        while j < count and run[2, new[j]] == instant:
            free += run[0, new[j]]
            j += 1
        if free >= size:
            return instant, free - size
    return _BEYOND, 0


@kernel
def ascending(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices of values in ascending order, equal ones in the order of the array."""
    return np.argsort(values, kind="mergesort")
