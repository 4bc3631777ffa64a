"""Who waits: jobs in submission order, beside the arrays that the kernels work on, and reservations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from gas.s3.entries import Entry
from gas.s3.placing import NOT_LOOKED_AT, Queue, empty_queue, with_queue_room

__all__ = ["Waiting"]

_NOBODY = 2**62  # when the next start of nobody is due: later than any


class Waiting:
    """The entries of a schedule that have not started.

    Asking what is due, and adding, costs next to nothing however many wait; removing costs one pass over the arrays.

    Attributes
    ----------
    jobs
        The queue, in submission order.
    queue
        The same jobs as arrays. Whoever changes their starts there says so by `read_starts`.
    reserved
        Reservations by id.
    """

    def __init__(self) -> None:
        self.jobs: list[Entry] = []
        self.queue: Queue = empty_queue()
        self.reserved: dict[int, Entry] = {}
        self._first: int | None = _NOBODY  # the first planned start; None when it has to be looked up

    @property
    def entries(self) -> list[Entry]:
        """Reservations and jobs, in that order."""
        return [*self.reserved.values(), *self.jobs]

    @property
    def starts(self) -> NDArray[np.int64]:
        """The planned starts of the jobs: part of the array itself."""
        return self.queue.start[: len(self.jobs)]

    # ------------------------------------------------------------------------------------------------- ask

    def first_start(self) -> int:
        """Return the first planned start of all, one that cannot be if nobody waits."""
        if self._first is None:
            queued = self.starts
            self._first = min(
                int(queued.min()) if queued.size else _NOBODY,
                min((e.start for e in self.reserved.values()), default=_NOBODY),
            )
        return self._first

    def next_start(self, now: int) -> int | None:
        """Return the first planned start after an instant; None if there is none."""
        first = self.first_start()
        if first <= now:
            queued = self.starts
            later = queued[queued > now]
            first = min(
                int(later.min()) if later.size else _NOBODY,
                min((e.start for e in self.reserved.values() if e.start > now), default=_NOBODY),
            )
        return first if first < _NOBODY else None

    def due(self, now: int) -> list[Entry]:
        """Return who should start now, in submission order."""
        if self.first_start() > now:
            return []
        entries = [self.jobs[i] for i in np.flatnonzero(self.starts <= now).tolist()]
        entries += [e for e in self.reserved.values() if e.start <= now]
        return sorted(entries, key=lambda e: e.id)

    # ---------------------------------------------------------------------------------------------- change

    def add(self, entry: Entry, seen: int = NOT_LOOKED_AT) -> None:
        """Add an entry that was submitted after all the others.

        `seen` is the stamp of the profile at which it starts as early as it can.
        """
        if self._first is not None:
            self._first = min(self._first, entry.start)
        if entry.state == "reserved":
            self.reserved[entry.id] = entry
            return
        self.queue = queue = with_queue_room(self.queue)
        i = len(self.jobs)
        queue.processors[i], queue.walltime[i] = entry.processors, entry.walltime
        queue.earliest[i], queue.start[i] = entry.earliest, entry.start
        queue.seen[i], queue.level[i], queue.job[i] = seen, entry.processors.bit_length() - 1, entry.id
        queue.used[0] += 1
        self.jobs.append(entry)

    def remove(self, entries: Collection[Entry]) -> None:
        """Remove entries that start or leave the schedule."""
        gone = []
        for entry in entries:
            if entry.state == "reserved":
                del self.reserved[entry.id]
            else:
                gone.append(bisect_left(self.jobs, entry.id, key=lambda e: e.id))
            if entry.start == self._first:
                self._first = None
        if gone:
            first, count = min(gone), len(self.jobs)
            left = np.ones(count - first, np.bool_)
            left[np.array(gone) - first] = False
            self.queue.jobs[:, first : count - len(gone)] = self.queue.jobs[:, first:count][:, left]
            self.queue.used[0] = count - len(gone)
            for i in sorted(gone, reverse=True):
                del self.jobs[i]

    def read_starts(self, before: NDArray[np.int64]) -> list[Entry]:
        """Bring the jobs up to date with the arrays, where `before` says otherwise, and return those that moved."""
        moved = []
        for i in np.flatnonzero(self.starts != before).tolist():
            entry = self.jobs[i]
            entry.start = int(self.queue.start[i])
            entry.end = entry.start + entry.walltime
            moved.append(entry)
        if moved:
            self._first = None
        return moved

    def write_starts(self) -> None:
        """Bring the arrays up to date with the starts of the jobs."""
        self.queue.start[: len(self.jobs)] = [e.start for e in self.jobs]
        self._first = None

    def look_again(self) -> None:
        """Let nobody be known to start as early as it can."""
        self.queue.seen[:] = NOT_LOOKED_AT

    def copy(self, entries: dict[int, Entry]) -> Waiting:
        """Return an independent copy that holds the entries given by id."""
        other = Waiting()
        other.jobs = [entries[e.id] for e in self.jobs]
        other.reserved = {id: entries[id] for id in self.reserved}
        other.queue = Queue(*(array.copy() for array in self.queue))
        other._first = self._first
        return other

    # ---------------------------------------------------------------------------------------------- verify

    def check(self) -> None:
        """Raise `AssertionError` if the arrays are not those of the jobs."""
        ids = [e.id for e in self.jobs]
        assert ids == sorted(ids), "the queue is not in submission order"
        assert int(self.queue.used[0]) == len(ids), "the queue's arrays are not as long as it"
        for i, e in enumerate(self.jobs):
            row = tuple(self.queue.jobs[:4, i].tolist())
            assert row == (e.processors, e.walltime, e.earliest, e.start), f"the queue's arrays differ from job {e.id}"
        assert (np.diff(self.queue.seen[: len(ids)]) >= 0).all(), "somebody was looked at before those in front"
        starts = [e.start for e in self.entries]
        assert self._first is None or self._first == min(starts, default=_NOBODY), "the first start is another"
