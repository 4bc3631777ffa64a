"""A heap of events for kernels, ordered by instant, then by creation.

An array of three rows (instant, number of creation, job), of which the first ``count`` columns are in use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel

__all__ = ["CREATED", "JOB", "TIME", "empty_heap", "pop", "push"]

TIME, CREATED, JOB = 0, 1, 2


def empty_heap(room: int) -> NDArray[np.int64]:
    """Return an empty heap with room for `room` events."""
    return np.zeros((3, room), np.int64)


@lean_kernel
def push(heap: NDArray[np.int64], count: int, time: int, created: int, job: int) -> None:
    """Add an event to a heap of `count` events; there must be room."""
    i = count
    while i > 0:
        above = (i - 1) >> 1
        if heap[TIME, above] < time or (heap[TIME, above] == time and heap[CREATED, above] < created):
            break
        for row in range(3):
            heap[row, i] = heap[row, above]
        i = above
    heap[TIME, i], heap[CREATED, i], heap[JOB, i] = time, created, job


@lean_kernel
def pop(heap: NDArray[np.int64], count: int) -> int:
    """Remove the first event; return its job."""
    first = heap[JOB, 0]
    last = count - 1
    time, created, job = heap[TIME, last], heap[CREATED, last], heap[JOB, last]
    i = 0
    while True:
        below = 2 * i + 1
        if below >= last:
            break
        other = below + 1
        if other < last and (
            heap[TIME, other] < heap[TIME, below]
            or (heap[TIME, other] == heap[TIME, below] and heap[CREATED, other] < heap[CREATED, below])
        ):
            below = other
        if heap[TIME, below] > time or (heap[TIME, below] == time and heap[CREATED, below] > created):
            break
        for row in range(3):
            heap[row, i] = heap[row, below]
        i = below
    heap[TIME, i], heap[CREATED, i], heap[JOB, i] = time, created, job
    return first  # type: ignore[no-any-return]
