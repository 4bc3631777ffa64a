"""Which partitions of a machine have processors of their own, as far as a log shows it by an instant.

A log does not say which partitions share nodes. If the most processors that each had in use so far add up to no more
than the machine has, nothing speaks for sharing, and the jobs of one do not wait for those of another. A partition then
has what is left of the machine beside the others' most. Queues that share nodes soon use more than that together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["room_of_each"]

_MOST = 200
"""Where there are more partitions, they are none that have processors of their own."""


def room_of_each(
    submit: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    processors: NDArray[np.int64],
    partition: NDArray[np.int64],
    machine: int,
) -> NDArray[np.int64]:
    """Return how many processors the partition of each job has to itself at its submission; 0 where all share them."""
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
    """Return the most processors that were in use at once before each instant."""
    lasts = end > start
    start, end, processors = start[lasts], end[lasts], processors[lasts]
    times = np.concatenate([end, start])  # at one instant ends come first
    change = np.concatenate([-processors, processors])
    order = np.argsort(times, kind="stable")
    most = np.maximum.accumulate(np.concatenate([[0], np.cumsum(change[order])]))
    found: NDArray[np.int64] = most[np.searchsorted(times[order], instants)]
    return found
