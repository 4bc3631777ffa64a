"""The queue of S³: waiting jobs as arrays, those of higher priority first, each priority in submission order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.profile.blocks import LEVELS, STAMP, Blocks, level_of
from gas.profile.flat import ENDLESS

__all__ = [
    "COUNT",
    "FILTERED",
    "LOWEST",
    "NEXT",
    "NOT_LOOKED_AT",
    "PASS_MOST",
    "PASS_UNTIL",
    "Q_ANCHOR",
    "Q_EARLIEST",
    "Q_JOB",
    "Q_LEVEL",
    "Q_NOTICE",
    "Q_PRIORITY",
    "Q_PROCESSORS",
    "Q_SEEN",
    "Q_START",
    "Q_WALLTIME",
    "TOP",
    "UNFINISHED",
    "Queue",
    "append",
    "empty_queue",
    "insert",
    "remove",
    "with_queue_room",
]

NOT_LOOKED_AT = -1
"""`Queue.seen` of a job that may be able to start earlier."""

LOWEST = -(2**62)
"""A priority below all others."""

COUNT, UNFINISHED, NEXT, PASS_MOST, PASS_UNTIL, FILTERED, TOP = range(7)
"""Indices of `Queue.used`."""

Q_PROCESSORS, Q_WALLTIME, Q_EARLIEST, Q_START, Q_SEEN, Q_LEVEL, Q_JOB, Q_PRIORITY, Q_ANCHOR, Q_NOTICE = range(10)
"""The rows of `Queue.jobs`."""

ROWS = 10


class Queue(NamedTuple):
    """Waiting jobs in the first ``used[0]`` columns of `jobs`; the properties are its rows, each with its own meaning.

    The other words of `used` store a promotion that stopped because its patience ended: whether there is one, the next
    job to examine, and the state of the pass. Jobs from the next one on were examined longest ago, followed by those
    before it; `insert` and `remove` keep that order.
    """

    jobs: NDArray[np.int64]
    used: NDArray[np.int64]

    def _row(self, number: int) -> NDArray[np.int64]:
        row: NDArray[np.int64] = self.jobs[number]
        return row

    @property
    def processors(self) -> NDArray[np.int64]:
        """Processors of each job."""
        return self._row(Q_PROCESSORS)

    @property
    def walltime(self) -> NDArray[np.int64]:
        """Walltime of each job, in seconds."""
        return self._row(Q_WALLTIME)

    @property
    def earliest(self) -> NDArray[np.int64]:
        """The instant before which a job must not start (its submission, or the request of its user)."""
        return self._row(Q_EARLIEST)

    @property
    def start(self) -> NDArray[np.int64]:
        """Planned start of each job. Started jobs may remain in the queue, with a start in the past."""
        return self._row(Q_START)

    @property
    def seen(self) -> NDArray[np.int64]:
        """The stamp of the profile at which the job was last known to start as early as it could."""
        return self._row(Q_SEEN)

    @property
    def level(self) -> NDArray[np.int64]:
        """Level of its processors (`gas.profile.blocks.level_of`)."""
        return self._row(Q_LEVEL)

    @property
    def job(self) -> NDArray[np.int64]:
        """The caller's number of each job."""
        return self._row(Q_JOB)

    @property
    def priority(self) -> NDArray[np.int64]:
        """Priority of each job's class; higher ones come first."""
        return self._row(Q_PRIORITY)

    @property
    def anchor(self) -> NDArray[np.int64]:
        """The start of the slot that a job keeps besides an offered one; `ENDLESS` for a job that moves."""
        return self._row(Q_ANCHOR)

    @property
    def notice(self) -> NDArray[np.int64]:
        """Seconds that a job with an anchor has to answer an offer; 0 for a job that moves."""
        return self._row(Q_NOTICE)


@lean_kernel
def insert(
    queue: Queue,
    place: int,
    job: int,
    priority: int,
    processors: int,
    walltime: int,
    earliest: int,
    start: int,
    level: int,
    stamp: int,
) -> None:
    """Insert a job that was just placed, at a position in the queue. There must be room for it.

    Parameters
    ----------
    stamp
        Stamp of the profile. `Queue.seen` may be set to an older one: a job must not appear examined later than jobs
        that are examined after it.
    """
    jobs, used = queue.jobs, queue.used
    count = used[COUNT]
    in_a_pass = used[UNFINISHED] > 0 and used[NEXT] > 0
    if place < count or in_a_pass:
        stamp = min(stamp, jobs[Q_SEEN, place if place < count else 0])
    if in_a_pass and place < used[NEXT]:
        used[NEXT] += 1
    for i in range(count, place, -1):
        for row in range(jobs.shape[0]):
            jobs[row, i] = jobs[row, i - 1]
    jobs[Q_PROCESSORS, place] = processors
    jobs[Q_WALLTIME, place] = walltime
    jobs[Q_EARLIEST, place] = earliest
    jobs[Q_START, place] = start
    jobs[Q_SEEN, place] = stamp
    jobs[Q_LEVEL, place] = level
    jobs[Q_JOB, place] = job
    jobs[Q_PRIORITY, place] = priority
    jobs[Q_ANCHOR, place] = ENDLESS
    jobs[Q_NOTICE, place] = 0
    used[COUNT] = count + 1


@lean_kernel
def append(queue: Queue, blocks: Blocks, job: int, processors: int, walltime: int, earliest: int, start: int) -> None:
    """Append a job without a priority that was just placed. There must be room for it."""
    level, stamp = min(level_of(processors), blocks.numbers[LEVELS] - 1), blocks.numbers[STAMP]
    insert(queue, queue.used[COUNT], job, 0, processors, walltime, earliest, start, level, stamp)


def empty_queue(room: int = 16) -> Queue:
    """Return an empty queue with room for a number of jobs."""
    return Queue(np.zeros((ROWS, room), np.int64), np.zeros(7, np.int64))


def remove(queue: Queue, places: NDArray[np.int64]) -> None:
    """Remove the jobs at these positions, in ascending order."""
    if places.size == 0:
        return
    first, count = int(places[0]), int(queue.used[COUNT])
    if places.size == 1:  # a cancellation
        queue.jobs[:, first : count - 1] = queue.jobs[:, first + 1 : count]
    else:
        left = np.ones(count - first, np.bool_)
        left[places - first] = False
        queue.jobs[:, first : count - places.size] = queue.jobs[:, first:count][:, left]
    queue.used[NEXT] -= np.searchsorted(places, queue.used[NEXT])
    queue.used[COUNT] = count - places.size


def with_queue_room(queue: Queue) -> Queue:
    """Return the queue itself if it has room for another job, otherwise a copy of twice the size."""
    room = queue.jobs.shape[1]
    if queue.used[0] < room:
        return queue
    return Queue(np.concatenate([queue.jobs, np.zeros((ROWS, room), np.int64)], axis=1), queue.used)
