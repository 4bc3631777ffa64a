"""The queue of S³: waiting jobs in submission order, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.profile.blocks import LEVELS, STAMP, Blocks, level_of

__all__ = [
    "COUNT",
    "FILTERED",
    "NEXT",
    "NOT_LOOKED_AT",
    "PASS_MOST",
    "PASS_UNTIL",
    "Q_EARLIEST",
    "Q_JOB",
    "Q_LEVEL",
    "Q_PROCESSORS",
    "Q_SEEN",
    "Q_START",
    "Q_WALLTIME",
    "UNFINISHED",
    "Queue",
    "append",
    "empty_queue",
    "remove",
    "seen_by_arrival",
    "with_queue_room",
]

NOT_LOOKED_AT = -1
"""What `Queue.seen` says of a job that may start earlier for all that is known."""

COUNT, UNFINISHED, NEXT, PASS_MOST, PASS_UNTIL, FILTERED = range(6)
"""The words of `Queue.used`."""

Q_PROCESSORS, Q_WALLTIME, Q_EARLIEST, Q_START, Q_SEEN, Q_LEVEL, Q_JOB = range(7)
"""The rows of `Queue.jobs`."""


class Queue(NamedTuple):
    """Waiting jobs in submission order, in the first ``used[0]`` columns of `jobs`; the properties are its rows.

    The other words of `used` are of the pass that a promotion was in when its patience ended: whether there is one,
    the next job to look at, and with what the pass goes on. Jobs from the next one on were looked at longest ago, then
    those in front of it. `remove` and `seen_by_arrival` keep that order.
    """

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
        """That of its processors (`gas.profile.blocks.level_of`)."""
        return self._row(Q_LEVEL)

    @property
    def job(self) -> NDArray[np.int64]:
        """The caller's name for it."""
        return self._row(Q_JOB)


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


def empty_queue(room: int = 16) -> Queue:
    """Return a queue without jobs that has room for so many."""
    return Queue(np.zeros((7, room), np.int64), np.zeros(6, np.int64))


def remove(queue: Queue, places: NDArray[np.int64]) -> None:
    """Take out the jobs at these places, in ascending order."""
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


def seen_by_arrival(queue: Queue, stamp: int) -> int:
    """Return what to note as `Queue.seen` of a job that was just placed and is about to be appended.

    In the middle of a pass it is looked at before those in front of the next job, so it must not have been seen later.
    """
    return min(stamp, int(queue.seen[0])) if queue.used[UNFINISHED] and queue.used[NEXT] > 0 else stamp


def with_queue_room(queue: Queue) -> Queue:
    """Return the queue itself if it has room for one job more, else a copy of twice the size."""
    room = queue.jobs.shape[1]
    if queue.used[0] < room:
        return queue
    return Queue(np.concatenate([queue.jobs, np.zeros((7, room), np.int64)], axis=1), queue.used)
