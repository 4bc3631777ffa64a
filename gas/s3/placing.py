"""Placing and promoting: what S³ does to its queue, as kernels on arrays.

The paper's section 4.3: an arriving job is put in the first slot that it fits; whenever processors get free before
they were due, the queue is walked in submission order and jobs are promoted into the hole, until nothing moves. The
live scheduler calls these functions as they stand or compiled, and a simulation compiles the same source.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.profile import NEVER
from gas.s3.blocks import BEGIN, GIVEN_MOST, GIVEN_UNTIL, LEVELS, STAMP, Blocks, give_back, level_of, take
from gas.s3.holes import earlier_start, first_fit

__all__ = [
    "AGAIN_FROM_THE_HEAD",
    "NOT_LOOKED_AT",
    "ONCE",
    "UNTIL_NOTHING_MOVES",
    "Queue",
    "append",
    "empty_queue",
    "place",
    "promote",
    "with_queue_room",
]

ONCE, UNTIL_NOTHING_MOVES, AGAIN_FROM_THE_HEAD = 0, 1, 2
"""How a promotion walks the queue: policies `conservative`, `s3` and `s3-1999` (DESIGN.md, simulation rule 5)."""

NOT_LOOKED_AT = -1
"""What `Queue.seen` says of a job that may start earlier for all that is known."""


class Queue(NamedTuple):
    """Waiting jobs in submission order, in the first ``used[0]`` places.

    Attributes
    ----------
    earliest
        The instant before which a job must not start (its submission, or what its user asked for).
    start
        Each one's planned start. Who has started already may stay, with a start in the past.
    seen
        The stamp of the profile when it was last known to start as early as it could.
    level
        That of its processors (`gas.s3.blocks.level_of`).
    job
        What whoever keeps the queue calls it.
    """

    processors: NDArray[np.int64]
    walltime: NDArray[np.int64]
    earliest: NDArray[np.int64]
    start: NDArray[np.int64]
    seen: NDArray[np.int64]
    level: NDArray[np.int64]
    job: NDArray[np.int64]
    used: NDArray[np.int64]


@lean_kernel
def place(blocks: Blocks, processors: int, walltime: int, not_before: int) -> int:
    """Take the first slot for a job and return its start, `NEVER` (and take nothing) if there is none."""
    start = first_fit(blocks, processors, walltime, not_before)
    if start != NEVER:
        take(blocks, start, start + walltime, processors)
    return start


@lean_kernel
def append(queue: Queue, blocks: Blocks, job: int, processors: int, walltime: int, earliest: int, start: int) -> None:
    """Add a job that was just placed. There must be room for it."""
    i = queue.used[0]
    queue.processors[i], queue.walltime[i], queue.earliest[i], queue.start[i] = processors, walltime, earliest, start
    queue.seen[i] = blocks.numbers[STAMP]
    queue.level[i] = min(level_of(processors), blocks.numbers[LEVELS] - 1)
    queue.job[i] = job
    queue.used[0] = i + 1


@lean_kernel
def promote(blocks: Blocks, queue: Queue, now: int, walk: int) -> int:
    """Move jobs that are not yet due to their earliest fit, in submission order; return how many moves that took.

    The starts are those of this pass, repeated as `walk` says: take each job out and put it back in the first slot
    that it fits, so that no job gets later. What is known to stay where it is, is only not taken out: a job can move
    only into a hole in which processors were given back since it was last looked at, so it needs no more of them than
    some frame got then, and either a hole that opens before the last of those instants or a start that such a frame
    leads up to. `gas.s3.holes` looks closer.

    Parameters
    ----------
    now
        The soonest instant that a job may move to; what is planned for it, or before, stays.
    walk
        `ONCE`, `UNTIL_NOTHING_MOVES` or `AGAIN_FROM_THE_HEAD`.
    """
    numbers = blocks.numbers
    moves = 0
    again = True
    while again:
        again = False
        # Everybody is looked at after what was given back up to here, not after what is given back from now on.
        most, until = numbers[GIVEN_MOST], numbers[GIVEN_UNTIL]
        numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = 0, numbers[BEGIN]
        for i in range(queue.used[0]):
            before = queue.start[i]
            if before <= now:
                continue
            seen = queue.seen[i]
            queue.seen[i] = numbers[STAMP]
            processors = queue.processors[i]
            if processors > most or seen == numbers[STAMP]:
                continue
            first = max(now, queue.earliest[i])
            if before <= first:
                continue
            walltime = queue.walltime[i]
            start = earlier_start(blocks, processors, queue.level[i], walltime, first, before, seen, until)
            if start == before:
                continue
            # Where the old span and the new one overlap, nothing changes.
            take(blocks, start, min(before, start + walltime), processors)
            give_back(blocks, max(before, start + walltime), before + walltime, processors)
            queue.start[i] = start
            queue.seen[i] = numbers[STAMP]
            most, until = max(most, numbers[GIVEN_MOST]), max(until, numbers[GIVEN_UNTIL])
            moves += 1
            again = walk != ONCE
            if walk == AGAIN_FROM_THE_HEAD:  # those behind have not been looked at yet
                numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = most, until
                break
    return moves


def empty_queue(room: int = 16) -> Queue:
    """Return a queue without jobs that has room for so many."""
    processors, walltime, earliest, start, seen, level, job = np.zeros((7, room), np.int64)
    return Queue(processors, walltime, earliest, start, seen, level, job, np.zeros(1, np.int64))


def with_queue_room(queue: Queue) -> Queue:
    """Return the queue itself if it has room for one job more, else a copy of twice the size."""
    room = len(queue.processors)
    if queue.used[0] < room:
        return queue
    grown = [np.concatenate([column, np.zeros(room, np.int64)]) for column in queue[:-1]]
    return Queue(*grown, queue.used)  # type: ignore[call-arg]
