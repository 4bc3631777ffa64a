"""Placing and promoting: what S³ does to its queue, as kernels on arrays.

The paper's section 4.3: an arriving job is put in the first slot that it fits; whenever processors get free before
they were due, the queue is walked in submission order and jobs are promoted into the hole, until nothing moves. The
live scheduler calls these functions as they stand or compiled, and a simulation compiles the same source.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import inlined_kernel, lean_kernel
from gas.profile import NEVER
from gas.s3.blocks import (
    BEGIN,
    GIVEN_MOST,
    GIVEN_UNTIL,
    LEVELS,
    LONGEST_AT,
    RING,
    RING_AT,
    SHIFT,
    STAMP,
    Blocks,
    level_of,
)
from gas.s3.changes import give_back, take
from gas.s3.holes import earlier_start, first_fit
from gas.s3.lengths import note_longest, tear_down

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

MANY = 1000
"""A queue of more jobs than that is sifted in its second pass and later ones, where few move."""


Q_PROCESSORS, Q_WALLTIME, Q_EARLIEST, Q_START, Q_SEEN, Q_LEVEL, Q_JOB = range(7)
"""The rows of `Queue.jobs`."""


class Queue(NamedTuple):
    """Waiting jobs in submission order, in the first ``used[0]`` columns of `jobs`; the properties are its rows."""

    jobs: NDArray[np.int64]
    used: NDArray[np.int64]

    def _row(self, number: int) -> NDArray[np.int64]:
        row: NDArray[np.int64] = self.jobs[number]
        return row

    @property
    def processors(self) -> NDArray[np.int64]:
        """How many each asks for."""
        return self._row(Q_PROCESSORS)

    @property
    def walltime(self) -> NDArray[np.int64]:
        """For how many seconds."""
        return self._row(Q_WALLTIME)

    @property
    def earliest(self) -> NDArray[np.int64]:
        """The instant before which a job must not start (its submission, or what its user asked for)."""
        return self._row(Q_EARLIEST)

    @property
    def start(self) -> NDArray[np.int64]:
        """Each one's planned start. Who has started already may stay, with a start in the past."""
        return self._row(Q_START)

    @property
    def seen(self) -> NDArray[np.int64]:
        """The stamp of the profile when it was last known to start as early as it could."""
        return self._row(Q_SEEN)

    @property
    def level(self) -> NDArray[np.int64]:
        """That of its processors (`gas.s3.blocks.level_of`)."""
        return self._row(Q_LEVEL)

    @property
    def job(self) -> NDArray[np.int64]:
        """What whoever keeps the queue calls it."""
        return self._row(Q_JOB)


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
    queue.jobs[Q_PROCESSORS, i] = processors
    queue.jobs[Q_WALLTIME, i] = walltime
    queue.jobs[Q_EARLIEST, i] = earliest
    queue.jobs[Q_START, i] = start
    queue.jobs[Q_SEEN, i] = blocks.numbers[STAMP]
    queue.jobs[Q_LEVEL, i] = min(level_of(processors), blocks.numbers[LEVELS] - 1)
    queue.jobs[Q_JOB, i] = job
    queue.used[0] = i + 1


@lean_kernel
def promote(blocks: Blocks, queue: Queue, now: int, walk: int) -> int:
    """Move jobs that are not yet due to their earliest fit, in submission order; return how many moves that took.

    The starts are those of this pass, repeated as `walk` says: take each job out and put it back in the first slot
    that it fits, so that no job gets later. What is known to stay where it is, is only not taken out: a job can move
    only into a hole in which processors were given back since it was last looked at, so it needs no more of them than
    some frame got then, and either a hole that opens before the last of those instants or a start that such a frame
    leads up to. `gas.s3.holes` looks closer. A second pass over many jobs finds few of them, so they are sifted first.

    Parameters
    ----------
    now
        The soonest instant that a job may move to; what is planned for it, or before, stays.
    walk
        `ONCE`, `UNTIL_NOTHING_MOVES` or `AGAIN_FROM_THE_HEAD`.
    """
    numbers = blocks.numbers
    # Holes are measured for whoever is asked about, and must do for those who were looked at before that one. Where the
    # walk begins again at the head, those behind may not have been looked at for long.
    oldest = numbers[STAMP]
    if walk == AGAIN_FROM_THE_HEAD:
        for i in range(queue.used[0]):
            if queue.jobs[Q_START, i] > now:
                oldest = min(oldest, queue.jobs[Q_SEEN, i])
    tear_down(blocks)
    moves = 0
    again = True
    while again:
        again = False
        # Everybody is looked at after what was given back up to here, not after what is given back from now on.
        most, until = numbers[GIVEN_MOST], numbers[GIVEN_UNTIL]
        numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = 0, numbers[BEGIN]
        sift = moves > 0 and walk == UNTIL_NOTHING_MOVES and queue.used[0] > MANY
        oldest_look = queue.jobs[Q_SEEN, 0]
        if sift:
            numbers[LONGEST_AT : LONGEST_AT + numbers[LEVELS]] = 0
            note_longest(blocks, numbers[BEGIN], until, most, oldest_look)
        i = -1
        while True:
            i += 1
            if sift:
                i = next_candidate(blocks, queue, i, now)
            if i >= queue.used[0]:
                break
            before, seen = queue.jobs[Q_START, i], queue.jobs[Q_SEEN, i]
            # Of those who are due, too: nobody was looked at before those in front.
            queue.jobs[Q_SEEN, i] = numbers[STAMP]
            processors = queue.jobs[Q_PROCESSORS, i]
            if before <= now or processors > most or seen == numbers[STAMP]:
                continue
            first = max(now, queue.jobs[Q_EARLIEST, i])
            if before <= first:
                continue
            if walk == AGAIN_FROM_THE_HEAD:
                seen = oldest
            walltime = queue.jobs[Q_WALLTIME, i]
            start = earlier_start(blocks, processors, queue.jobs[Q_LEVEL, i], walltime, first, before, seen, until)
            if start == before:
                continue
            # Where the old span and the new one overlap, nothing changes.
            take(blocks, start, min(before, start + walltime), processors)
            give_back(blocks, max(before, start + walltime), before + walltime, processors)
            queue.jobs[Q_START, i] = start
            queue.jobs[Q_SEEN, i] = numbers[STAMP]
            most, until = max(most, numbers[GIVEN_MOST]), max(until, numbers[GIVEN_UNTIL])
            if sift:
                note_longest(blocks, max(before, start + walltime), before + walltime, most, oldest_look)
            moves += 1
            again = walk != ONCE
            if walk == AGAIN_FROM_THE_HEAD:  # those behind have not been looked at yet
                numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = most, until
                break
    return moves


@inlined_kernel
def next_candidate(blocks: Blocks, queue: Queue, i: int, now: int) -> int:
    """Return the first job from `i` on that may move, or the end of the queue; those before it have been looked at.

    A job stays for certain if nothing was given back just before its start, and no new hole of its level is as long as
    it: one glance at the ring of stamps, and one at what `note_longest` has noted.
    """
    jobs, numbers = queue.jobs, blocks.numbers
    shift, stamp = numbers[SHIFT], numbers[STAMP]
    while i < queue.used[0]:
        start = jobs[Q_START, i]
        if start > now and (
            numbers[RING_AT + (((start - 1) >> shift) & (RING - 1))] > jobs[Q_SEEN, i]
            or numbers[LONGEST_AT + jobs[Q_LEVEL, i]] >= jobs[Q_WALLTIME, i]
        ):
            return i
        jobs[Q_SEEN, i] = stamp
        i += 1
    return i


def empty_queue(room: int = 16) -> Queue:
    """Return a queue without jobs that has room for so many."""
    return Queue(np.zeros((7, room), np.int64), np.zeros(1, np.int64))


def with_queue_room(queue: Queue) -> Queue:
    """Return the queue itself if it has room for one job more, else a copy of twice the size."""
    room = queue.jobs.shape[1]
    if queue.used[0] < room:
        return queue
    return Queue(np.concatenate([queue.jobs, np.zeros((7, room), np.int64)], axis=1), queue.used)
