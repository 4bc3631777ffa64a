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
from gas.profile import NEVER, Profile, earliest_fit, frame_at, take
from gas.s3.blocks import Blocks, change, earlier_start, gather, packed, roomy, spread

__all__ = ["Queue", "empty_queue", "place", "promote", "with_queue_room"]


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
def promote(profile: Profile, queue: Queue, now: int, freed: NDArray[np.int64]) -> int:
    """Move every job not yet due to its earliest fit, in submission order, until nothing moves (policy `s3`).

    The starts are those of this pass, repeated: take each job out and put it back in the first slot that it fits, so
    that no job gets later. What is known to stay where it is, is only not taken out.

    Parameters
    ----------
    now
        The soonest instant that a job may move to; what is planned for it, or before, stays.
    freed
        Spans (rows of start and end) in which processors were given back since each job was where a pass would leave
        it. All the future, if that is not known. The profile needs room for four frames a job.

    Returns
    -------
    int
        How many moves that took.
    """
    count = queue.used[0]
    if count == 0:
        return 0
    level = np.zeros(count, np.int64)
    for i in range(count):
        while queue.processors[i] >> (level[i] + 1):
            level[i] += 1
    blocks = _stamped(profile, freed, level.max() + 1, queue.walltime[:count].max())
    stamp = 1  # counts the times that processors were given back
    seen = np.zeros(count, np.int64)  # by job: the stamp at which it was last found to be in its place
    moves = 0
    moved = True
    while moved:
        moved = False
        for i in range(count):
            before = queue.start[i]
            first = max(now, queue.earliest[i])
            if before <= first or seen[i] == stamp:
                continue
            processors, walltime = queue.processors[i], queue.walltime[i]
            start = earlier_start(blocks, processors, level[i], walltime, first, before, seen[i])
            if start < before:
                if not roomy(blocks):
                    blocks = packed(blocks)
                stamp += 1
                # Where the old span and the new one overlap, nothing changes.
                change(blocks, start, min(before, start + walltime), -processors, stamp)
                change(blocks, max(before, start + walltime), before + walltime, processors, stamp)
                queue.start[i] = start
                moves += 1
                moved = True
            seen[i] = stamp
    if moves > 0:
        profile.used[0] = gather(blocks, profile.starts, profile.free, np.empty(len(profile.starts), np.int64))
    return moves


@kernel
def _stamped(profile: Profile, freed: NDArray[np.int64], levels: int, enough: int) -> Blocks:
    """Return the profile in blocks, with stamp 1 on the frames that meet one of the spans."""
    count = profile.used[0]
    stamps = np.zeros(count, np.int64)
    for span in range(len(freed)):
        i = frame_at(profile, freed[span, 0])
        while i < count and profile.starts[i] < freed[span, 1]:
            stamps[i] = 1
            i += 1
    return spread(profile.starts[:count], profile.free[:count], stamps, levels, enough)


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
