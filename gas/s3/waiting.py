"""Waiting entries: jobs in queue order, as objects and as arrays for the kernels, and reservations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from gas.compiled import compiled
from gas.profile.flat import ENDLESS
from gas.s3.entries import Entry
from gas.s3.queue import (
    NEXT,
    NOT_LOOKED_AT,
    Q_ANCHOR,
    Q_PRIORITY,
    Q_PROCESSORS,
    Q_START,
    Q_WALLTIME,
    UNFINISHED,
    Queue,
    empty_queue,
    insert,
    remove,
    with_queue_room,
)

__all__ = ["Waiting"]

_turn = attrgetter("turn")


class Waiting:
    """The entries of a schedule that have not started.

    Querying due entries, and adding, cost almost nothing for any number of entries; removing costs one pass over the
    arrays.

    Attributes
    ----------
    jobs
        The queue: by `Entry.turn`.
    queue
        The same jobs as arrays. After changing starts there, call `read_starts`.
    reserved
        Reservations by id.
    conditional
        Conditional jobs, by id. In the arrays, their start is that of the offer, if there is one.
    """

    def __init__(self, *, machine_code: bool = False) -> None:
        self._insert = compiled(insert) if machine_code else insert
        self.jobs: list[Entry] = []
        self.queue: Queue = empty_queue()
        self.reserved: dict[int, Entry] = {}
        self.conditional: dict[int, Entry] = {}
        # The first planned starts of jobs and of reservations; None: to be computed.
        self._first_job: int | None = ENDLESS
        self._first_reserved: int | None = ENDLESS
        self._first_answer: int | None = ENDLESS  # the first instant by which an offer must be answered, likewise

    @property
    def entries(self) -> list[Entry]:
        """Reservations and jobs, in that order."""
        return [*self.reserved.values(), *self.jobs]

    @property
    def starts(self) -> NDArray[np.int64]:
        """The planned starts of the jobs: part of the array itself."""
        return self.queue.start[: len(self.jobs)]

    @property
    def unfinished(self) -> bool:
        """Whether a promotion was left in the middle of a pass."""
        return bool(self.queue.used[UNFINISHED])

    # ------------------------------------------------------------------------------------------------- ask

    def first_start(self) -> int:
        """Return the first planned start, or an impossible one if no job waits."""
        if self._first_job is None:
            self._first_job = int(self.starts.min()) if self.jobs else ENDLESS
        if self._first_reserved is None:
            self._first_reserved = min((e.start for e in self.reserved.values()), default=ENDLESS)
        return min(self._first_job, self._first_reserved)

    def next_start(self, now: int) -> int | None:
        """Return the first planned start after an instant; None if there is none."""
        first = self.first_start()
        if first <= now:
            queued = self.starts
            later = queued[queued > now]
            first = min(
                int(later.min()) if later.size else ENDLESS,
                min((e.start for e in self.reserved.values() if e.start > now), default=ENDLESS),
            )
        return first if first < ENDLESS else None

    def first_answer(self) -> int | None:
        """Return the first instant by which an offer must be answered; None if there is no offer."""
        if self._first_answer is None:
            answers = (e.answer_by for e in self.conditional.values() if e.answer_by is not None)
            self._first_answer = min(answers, default=ENDLESS)
        return self._first_answer if self._first_answer < ENDLESS else None

    def unanswered(self, now: int) -> list[Entry]:
        """Return the jobs whose offers should have been answered by now, in submission order."""
        first = self.first_answer()
        if first is None or first > now:
            return []
        return [e for e in self.conditional.values() if e.answer_by is not None and e.answer_by <= now]

    def due(self, now: int) -> list[Entry]:
        """Return the entries that should start now, in queue order."""
        if self.first_start() > now:
            return []
        entries = [self.jobs[i] for i in np.flatnonzero(self.starts <= now).tolist()]
        entries += [e for e in self.reserved.values() if e.start <= now]
        return sorted(entries, key=_turn)

    # ---------------------------------------------------------------------------------------------- change

    def add(self, entry: Entry, seen: int = NOT_LOOKED_AT) -> None:
        """Add an entry that was submitted after all the others.

        `seen` is a stamp of the profile at which it starts as early as it can.
        """
        if entry.state == "reserved":
            self.reserved[entry.id] = entry
            if self._first_reserved is not None:
                self._first_reserved = min(self._first_reserved, entry.start)
            return
        if self._first_job is not None:
            self._first_job = min(self._first_job, entry.start)
        self.queue = with_queue_room(self.queue)
        i = self._place_of(entry)
        level = entry.processors.bit_length() - 1
        request = entry.priority, entry.processors, entry.walltime, entry.earliest
        self._insert(self.queue, i, entry.id, *request, entry.start, level, seen)
        self.jobs.insert(i, entry)
        if entry.notice is not None:
            self.conditional[entry.id] = entry
            self._anchor(i, entry)

    def update(self, entry: Entry) -> None:
        """Update the arrays for a job with a new shape.

        Its stamp of examination does not change, which keeps the queue's order; it starts as early as it can now.
        """
        queue, i = self.queue, self._place_of(entry)
        if self._first_job is not None:
            self._first_job = min(self._first_job, entry.start) if queue.start[i] != self._first_job else None
        queue.processors[i], queue.walltime[i], queue.start[i] = entry.processors, entry.walltime, entry.start
        queue.level[i] = entry.processors.bit_length() - 1
        if entry.notice is not None:
            self._anchor(i, entry)

    def leave_notice(self, soonest: int) -> None:
        """Prevent offers of starts that leave conditional jobs less than their notice to answer."""
        if self.conditional:
            queue, count = self.queue, len(self.jobs)
            earliest, notice = queue.earliest[:count], queue.notice[:count]
            np.maximum(earliest, np.where(notice > 0, soonest + notice, 0), out=earliest)

    def _anchor(self, i: int, entry: Entry) -> None:
        assert entry.notice is not None
        self.queue.anchor[i], self.queue.start[i], self.queue.notice[i] = entry.start, entry.first, entry.notice
        self.queue.earliest[i] = max(entry.earliest, entry.offers_from)
        self._first_answer = None
        if self._first_job is not None:
            self._first_job = min(self._first_job, entry.first)

    def remove(self, entries: Collection[Entry]) -> None:
        """Remove entries that start or leave the schedule."""
        gone = []
        for entry in entries:
            if entry.state == "reserved":
                del self.reserved[entry.id]
                if entry.start == self._first_reserved:
                    self._first_reserved = None
                continue
            gone.append(self._place_of(entry))
            if self.conditional.pop(entry.id, None) is not None:
                self._first_answer = None
            if self._first_job == entry.first:
                self._first_job = None
        gone.sort()
        remove(self.queue, np.array(gone, np.int64))
        for i in reversed(gone):
            del self.jobs[i]

    def read_starts(self, before: NDArray[np.int64]) -> list[Entry]:
        """Update the jobs whose start in the arrays differs from `before`, and return those that moved."""
        moved = []
        for i in np.flatnonzero(self.starts != before).tolist():
            entry = self.jobs[i]
            if entry.notice is None:
                entry.start = int(self.queue.start[i])
                entry.end = entry.start + entry.walltime
            else:
                entry.offer = int(self.queue.start[i])
                self._first_answer = None
            moved.append(entry)
        if moved:
            self._first_job = None
        return moved

    def write_starts(self) -> None:
        """Update the arrays with the starts and offers of the jobs."""
        self.queue.start[: len(self.jobs)] = [e.start for e in self.jobs]
        for entry in self.conditional.values():
            self._anchor(self._place_of(entry), entry)
        self._first_job = self._first_reserved = None

    def look_again(self) -> None:
        """Mark all jobs as possibly able to start earlier; the next pass begins at the head."""
        self.queue.seen[:] = NOT_LOOKED_AT
        self.queue.used[UNFINISHED] = 0

    def _place_of(self, entry: Entry) -> int:
        return bisect_left(self.jobs, entry.turn, key=_turn)

    def copy(self, entries: dict[int, Entry]) -> Waiting:
        """Return an independent copy that holds the entries given by id."""
        other = Waiting()
        other._insert = self._insert
        other.jobs = [entries[e.id] for e in self.jobs]
        other.reserved = {id: entries[id] for id in self.reserved}
        other.conditional = {id: entries[id] for id in self.conditional}
        other.queue = Queue(*(array.copy() for array in self.queue))
        other._first_job, other._first_reserved = self._first_job, self._first_reserved
        other._first_answer = self._first_answer
        return other

    # ---------------------------------------------------------------------------------------------- verify

    def check(self) -> None:
        """Raise `AssertionError` if the arrays are not those of the jobs."""
        ids = [e.id for e in self.jobs]
        assert self.jobs == sorted(self.jobs, key=_turn), "the queue is not in the order of priority and submission"
        assert int(self.queue.used[0]) == len(ids), "the queue's arrays are not as long as it"
        for i, e in enumerate(self.jobs):
            row = tuple(self.queue.jobs[[Q_PROCESSORS, Q_WALLTIME, Q_START, Q_PRIORITY, Q_ANCHOR], i].tolist())
            expected = e.processors, e.walltime, e.first, e.priority, ENDLESS if e.notice is None else e.start
            assert row == expected, f"the queue's arrays differ from job {e.id}"
            earliest, wanted = int(self.queue.earliest[i]), max(e.earliest, e.offers_from)
            assert earliest == wanted or (e.notice and earliest > wanted), f"job {e.id} may move to before {wanted}"
            assert (e.id in self.conditional) == bool(self.queue.notice[i]) == (e.notice is not None)
        next = int(self.queue.used[NEXT]) if self.unfinished else 0
        assert 0 <= next <= len(ids), "the pass goes on outside the queue"
        in_turn = np.roll(self.queue.seen[: len(ids)], -next)
        assert (np.diff(in_turn) >= 0).all(), "a job was looked at before one that is looked at before it"
        for known, waiting in ((self._first_job, self.jobs), (self._first_reserved, self.reserved.values())):
            first = min((e.first for e in waiting), default=ENDLESS)
            assert known in (None, first), "the first start is another"
