"""Placing, promoting and finding due jobs: what S³ does to its queue, as kernels on arrays.

The paper's section 4.3: an arriving job is put in the first slot that it fits; whenever processors get free before
they were due, the queue is walked in submission order and jobs are promoted into the hole, until nothing moves. The
live scheduler calls these functions as they stand or compiled, and a simulation compiles the same source.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.profile import NEVER, Profile, earliest_fit, give_back, take

__all__ = ["Queue", "empty_queue", "place", "promote", "revise", "with_queue_room"]


class Queue(NamedTuple):
    """Waiting jobs in submission order, in the first ``used[0]`` places; `start` is each one's planned start.

    `earliest` is the instant before which a job must not start (its submission, or what its user asked for).
    """

    processors: NDArray[np.int64]
    walltime: NDArray[np.int64]
    earliest: NDArray[np.int64]
    start: NDArray[np.int64]
    used: NDArray[np.int64]


@kernel
def place(profile: Profile, processors: int, walltime: int, not_before: int) -> int:
    """Take the first slot for a job and return its start, `NEVER` (and take nothing) if there is none."""
    start = earliest_fit(profile, processors, walltime, not_before)
    if start != NEVER:
        take(profile, start, start + walltime, processors)
    return start


@kernel
def revise(profile: Profile, queue: Queue, now: int) -> int:
    """Take every job not yet due out and put it back at its first slot, once, in submission order.

    Its own slot is free when it is looked for, so no job gets later. Return how many moved.
    """
    moved = 0
    for i in range(queue.used[0]):
        before = queue.start[i]
        if before > now:
            processors, walltime = queue.processors[i], queue.walltime[i]
            give_back(profile, before, before + walltime, processors)
            queue.start[i] = place(profile, processors, walltime, max(now, queue.earliest[i]))
            if queue.start[i] != before:
                moved += 1
    return moved


@kernel
def promote(profile: Profile, queue: Queue, now: int) -> int:
    """Revise until nothing moves (policy `s3`). Return how many moves that took."""
    moves = 0
    moved = revise(profile, queue, now)
    while moved > 0:
        moves += moved
        moved = revise(profile, queue, now)
    return moves


def empty_queue(room: int = 16) -> Queue:
    """Return a queue without jobs that has room for so many."""
    processors, walltime, earliest, start = np.zeros((4, room), np.int64)
    return Queue(processors, walltime, earliest, start, np.zeros(1, np.int64))


def with_queue_room(queue: Queue) -> Queue:
    """Return the queue itself if it has room for one job more, else a copy of twice the size."""
    room = len(queue.processors)
    if queue.used[0] < room:
        return queue
    grown = [np.concatenate([column, np.zeros(room, np.int64)]) for column in queue[:4]]
    return Queue(grown[0], grown[1], grown[2], grown[3], queue.used)
