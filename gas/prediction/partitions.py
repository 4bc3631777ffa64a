"""The partitions of a machine that have processors of their own, as far as a log shows it by an instant.

A log does not say which partitions share nodes. If the largest numbers of processors that each has used so far add up
to at most the machine, nothing indicates sharing, and jobs of one partition do not wait for those of another. Then a
partition has the machine minus the largest use of all others. Queues that share nodes soon exceed that sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["room_of_each"]

_MOST = 200
"""With more partitions, none counts as having processors of its own."""


def room_of_each(
    submit: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    processors: NDArray[np.int64],
    partition: NDArray[np.int64],
    machine: int,
) -> NDArray[np.int64]:
    """Return the processors that the partition of each job has to itself at its submission; 0 if all share them."""
    numbers = np.unique(partition)
    room = np.zeros(len(submit), np.int64)
    if not 1 < len(numbers) <= _MOST:
        return room
    total, own = np.zeros(len(submit), np.int64), np.zeros(len(submit), np.int64)
    for number in numbers.tolist():
        of = partition == number
        used = most_before(submit, start[of], end[of], processors[of])
        total += used
        own[of] = used[of]
    left = machine - (total - own)
    apart = (total <= machine) & (processors <= left)
    room[apart] = left[apart]
    return room


def most_before(
    instants: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64], processors: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the largest number of processors in use at once before each instant."""
    lasts = end > start
    start, end, processors = start[lasts], end[lasts], processors[lasts]
    times = np.concatenate([end, start])  # at the same instant, ends come first
    change = np.concatenate([-processors, processors])
    order = np.argsort(times, kind="stable")
    most = np.maximum.accumulate(np.concatenate([[0], np.cumsum(change[order])]))
    found: NDArray[np.int64] = most[np.searchsorted(times[order], instants)]
    return found
