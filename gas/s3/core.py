"""S³, the space-shared scheduler: conservative backfilling with promotion until nothing moves (paper, section 4.3).

The core is pure: no clock, no file, no process. Whoever drives it says what time it is and which jobs have ended:

    submit, reserve, cancel      what users do; `submit` answers with the promised start
    step(now, ended)             one instant: jobs that ended, promotion, jobs to start now
    next_start()                 the next instant at which a start falls due
    availability(...)            the frames that the profile implies
    check()                      all invariants, or an AssertionError

A *promise* is the planned start of a waiting job: it moves earlier or stays. Only processors that are not there, a
job that cannot be killed or a start that an outage missed, can break one; `step` then repairs the schedule, keeps
every promise that can be kept and lists the others in `broken`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from gas.availability import AvailabilityList
from gas.compiled import compiled
from gas.errors import BadInput, Conflict, NotFound, StalePlan
from gas.profile import (
    NEVER,
    Profile,
    check,
    earliest_fit,
    empty_profile,
    fits,
    forget,
    give_back,
    take,
    with_room,
)
from gas.s3.entries import Broken, Entry, State, profile_left_by
from gas.s3.placing import Queue, empty_queue, place, promote, with_queue_room
from gas.s3.repair import outlast, repair
from gas.times import LATEST, LONGEST, duration_text

__all__ = ["S3", "warm_up"]


class S3:
    """The schedule of one machine.

    Parameters
    ----------
    processors
        The size of the machine.
    now
        The instant (integer seconds) at which it begins, idle.
    machine_code
        Use the compiled kernels (worth it from some hundred waiting jobs on).
    lead
        How many seconds ahead of now the soonest start is planned. Live, a second has begun when something happens
        in it: a job that were started in what is left of it would lose that part of its walltime. So live starts are
        planned for the next second, with lead 1; in a simulation nothing is lost, with lead 0.
    """

    def __init__(self, processors: int, now: int, *, machine_code: bool = False, lead: int = 0) -> None:
        self.processors = processors
        self.now = now
        self.lead = lead
        self.version = 0
        self.entries: dict[int, Entry] = {}
        self.in_use = 0
        self.broken: list[Broken] = []
        self._changed: set[int] = set()
        self._profile: Profile = empty_profile(processors, now)
        self._queue: Queue = empty_queue()
        self._queued: list[int] = []  # ids, as in the queue's arrays
        self._reserved: list[int] = []
        self._running: dict[int, Entry] = {}
        self._last_id = 0
        self._machine_code = machine_code
        self._earliest_fit = compiled(earliest_fit) if machine_code else earliest_fit
        self._place = compiled(place) if machine_code else place
        self._promote = compiled(promote) if machine_code else promote
        self._give_back = compiled(give_back) if machine_code else give_back
        self._forget = compiled(forget) if machine_code else forget

    # ------------------------------------------------------------------------------------------------- ask

    @property
    def soonest(self) -> int:
        """The soonest instant for which a start can be planned."""
        return self.now + self.lead

    @property
    def queued(self) -> list[Entry]:
        """The waiting jobs in submission order."""
        return [self.entries[i] for i in self._queued]

    @property
    def reserved(self) -> list[Entry]:
        """The reservations that have not begun."""
        return [self.entries[i] for i in self._reserved]

    @property
    def running(self) -> list[Entry]:
        """The jobs and reservations that hold processors now."""
        return list(self._running.values())

    def entry(self, id: int) -> Entry:
        """Return an entry, or raise `NotFound`."""
        try:
            return self.entries[id]
        except KeyError:
            raise NotFound(f"there is no job {id} in the schedule (it never was, or it has ended)") from None

    def next_start(self) -> int | None:
        """Return the next instant after now at which a start falls due; None if nothing waits for one."""
        count = int(self._queue.used[0])
        starts = self._queue.start[:count]
        later = starts[starts > self.now]
        candidates = [int(later.min())] if later.size else []
        candidates += [e.start for e in self.reserved if e.start > self.now]
        return min(candidates, default=None)

    def next_overrun(self) -> int | None:
        """Return the first instant at which a running job would have held its processors for too long."""
        return min((e.end for e in self._running.values()), default=None)

    def anchor(self, processors: int, walltime: int, not_before: int | None = None) -> int:
        """Return the start that a request of this size would be promised now; `NEVER` if it fits nowhere."""
        first = self.soonest if not_before is None else max(self.soonest, not_before)
        return int(self._earliest_fit(self._profile, processors, walltime, first))

    def availability(self, scheduler: str = "s3") -> AvailabilityList:
        """Return the availability list: what the profile leaves free, from the soonest possible start on."""
        profile = Profile(*(array.copy() for array in self._profile))
        self._forget(profile, self.soonest)
        count = int(profile.used[0])
        return AvailabilityList(
            scheduler=scheduler,
            kind="promise",
            now=self.soonest,
            processors=self.processors,
            version=str(self.version),
            starts=profile.starts[:count],
            free=profile.free[:count],
        )

    # ---------------------------------------------------------------------------------------------- change

    def submit(
        self, processors: int, walltime: int, *, not_before: int | None = None, start_by: int | None = None
    ) -> Entry:
        """Put a job into the first slot that it fits, from now (or `not_before`) on, and promise that start.

        Raises
        ------
        BadInput
            More processors than the machine has, or a size, walltime or instant out of range.
        StalePlan
            The first slot is later than `start_by`; nothing was queued.
        """
        self._verify_request(processors, walltime)
        earliest = self.soonest if not_before is None else max(self.soonest, not_before)
        self._verify_start("not_before", earliest)
        if start_by is not None and not_before is not None and start_by < not_before:
            raise BadInput(f"start_by {start_by}: is before not_before {not_before}")
        self._profile = with_room(self._profile, 2)
        if start_by is not None:
            anchor = self.anchor(processors, walltime, earliest)
            if anchor > start_by:
                raise StalePlan(
                    f"the first slot for {processors} processors and {walltime} s starts {anchor - start_by} s after "
                    f"start_by {start_by}; nothing was queued, plan again"
                )
        start = int(self._place(self._profile, processors, walltime, earliest))
        assert start != NEVER, "the last frame of the profile is the whole machine"
        entry = self._new(processors, walltime, start, "queued", earliest)
        self._enqueue(entry)
        return entry

    def reserve(self, processors: int, start: int, walltime: int, *, start_by: int | None = None) -> Entry:
        """Hold processors from an instant on; nothing moves a reservation.

        `start_by` allows a later start, the earliest that fits from `start` on.

        Raises
        ------
        BadInput
            As `submit`, or a start in the past.
        StalePlan
            The processors are not free then; nothing was reserved.
        """
        self._verify_request(processors, walltime)
        self._verify_start("start", start)
        latest = start if start_by is None else start_by
        if latest < start:
            raise BadInput(f"start_by {latest}: is before the reservation's start {start}")
        self._profile = with_room(self._profile, 2)
        anchor = self.anchor(processors, walltime, start)
        if anchor > latest:
            raise StalePlan(
                f"{processors} processors are not free for {walltime} s from {start}; the first such slot starts "
                f"{duration_text(anchor - start)} later, at {anchor}; nothing was reserved"
            )
        self._give_back(self._profile, anchor, anchor + walltime, -processors)
        entry = self._new(processors, walltime, anchor, "reserved", start)
        self._reserved.append(entry.id)
        return entry

    def cancel(self, id: int) -> Entry:
        """Take a waiting job or a reservation that has not begun out of the schedule, and promote the others.

        Raises
        ------
        NotFound
            There is no such entry.
        Conflict
            It runs; end it, and report it to `step` when its processors are free.
        """
        entry = self.entry(id)
        if entry.state == "running":
            raise Conflict(f"job {id} is running; it leaves the schedule when its processors are free")
        self._dequeue(entry)
        del self.entries[id]
        self._changed.discard(id)
        self._release(entry.start, entry.end, entry.processors)
        self._promote_queue()
        return entry

    def step(self, now: int, ended: Iterable[int] = ()) -> list[Entry]:
        """Handle one instant and return the entries that start in it, in submission order.

        First the processors of `ended` get free; if one of them ended early, the queue is promoted; then every due
        entry starts whose processors are really there. Instants must not go back; one may be handled several times.
        """
        assert now >= self.now, f"time went back from {self.now} to {now}"
        self.now = now
        self._forget(self._profile, now)
        early = False
        for id in ended:
            entry = self._running.pop(id)
            del self.entries[id]
            self._changed.discard(id)
            self.in_use -= entry.processors
            if entry.end > now:
                early = True
                self._release(now, entry.end, entry.processors)
        if self._impossible():
            self._repair()
        elif early:
            self._promote_queue()
        return self._start_due()

    def restore(self, entries: Iterable[Entry], *, version: int, last_id: int) -> None:
        """Take over the entries of an earlier life of this schedule.

        Starts that were missed since, and jobs that should have gone since, are repaired as in `step`.
        """
        assert not self.entries, "only a fresh schedule can be restored"
        self.version, self._last_id = version, last_id
        for given in sorted(entries, key=lambda e: e.id):
            entry = replace(given)
            self.entries[entry.id] = entry
            if entry.state == "running":
                self._running[entry.id] = entry
                self.in_use += entry.processors
            elif entry.state == "reserved":
                self._reserved.append(entry.id)
            else:
                self._enqueue(entry)
        if self._impossible():
            self._repair(after_outage=True)
        else:
            self._profile = profile_left_by(self.entries.values(), self.processors, self.now)

    def take_changed(self) -> list[Entry]:
        """Return the entries that changed since this was last asked (those that left the schedule apart)."""
        changed = [self.entries[id] for id in sorted(self._changed)]
        self._changed.clear()
        return changed

    def copy(self) -> S3:
        """Return an independent copy, to ask "what if"."""
        other = S3(self.processors, self.now, machine_code=self._machine_code, lead=self.lead)
        other.version, other.in_use, other._last_id = self.version, self.in_use, self._last_id
        other.entries = {id: replace(entry) for id, entry in self.entries.items()}
        other.broken = list(self.broken)
        other._profile = Profile(*(array.copy() for array in self._profile))
        other._queue = Queue(*(array.copy() for array in self._queue))
        other._queued, other._reserved = list(self._queued), list(self._reserved)
        other._running = {id: other.entries[id] for id in self._running}
        return other

    # ---------------------------------------------------------------------------------------------- verify

    def check(self) -> None:
        """Raise `AssertionError` if the schedule contradicts itself."""
        check(self._profile, self.processors)
        assert int(self._profile.starts[0]) == self.now, "the profile does not begin now"
        expected = profile_left_by([*self._running.values(), *self.reserved], self.processors, self.now)
        for e in self.queued:
            assert fits(expected, e.start, e.walltime, e.processors), f"job {e.id} overlaps others"
            expected = with_room(expected, 2)
            take(expected, e.start, e.end, e.processors)
        count, wanted = int(self._profile.used[0]), int(expected.used[0])
        assert self._profile.starts[:count].tolist() == expected.starts[:wanted].tolist(), "frames differ"
        assert self._profile.free[:count].tolist() == expected.free[:wanted].tolist(), "free processors differ"
        assert self.in_use == sum(e.processors for e in self._running.values()) <= self.processors
        assert len(self.entries) == len(self._queued) + len(self._reserved) + len(self._running)
        assert self._queued == sorted(self._queued), "the queue is not in submission order"
        for i, e in enumerate(self.queued):
            row = (int(self._queue.processors[i]), int(self._queue.walltime[i]), int(self._queue.start[i]))
            assert row == (e.processors, e.walltime, e.start), f"the queue's arrays differ from job {e.id}"
            assert e.start >= e.earliest, f"job {e.id} is planned before {e.earliest}"
            assert e.start <= e.promise, f"job {e.id} is planned later than promised"

    # ---------------------------------------------------------------------------------------------- inside

    def _verify_request(self, processors: int, walltime: int) -> None:
        if not 1 <= processors <= self.processors:
            raise BadInput(
                f"processors {processors}: the machine has {self.processors}; ask for 1 to {self.processors}"
            )
        if not 1 <= walltime <= LONGEST:
            raise BadInput(f"walltime {walltime}: must be 1 to {LONGEST} seconds")

    def _verify_start(self, what: str, instant: int) -> None:
        if not self.soonest <= instant <= LATEST - LONGEST:
            raise BadInput(
                f"{what} {instant}: must be between now ({self.soonest}) and {LATEST - LONGEST}, in epoch seconds"
            )

    def _new(self, processors: int, walltime: int, start: int, state: State, earliest: int) -> Entry:
        self._last_id += 1
        entry = Entry(self._last_id, processors, walltime, self.now, start, start, state, start + walltime, earliest)
        self.entries[entry.id] = entry
        self._changed.add(entry.id)
        self.version += 1
        return entry

    def _enqueue(self, entry: Entry) -> None:
        self._queue = queue = with_queue_room(self._queue)
        i = len(self._queued)
        queue.processors[i], queue.walltime[i] = entry.processors, entry.walltime
        queue.earliest[i], queue.start[i] = entry.earliest, entry.start
        queue.used[0] += 1
        self._queued.append(entry.id)

    def _dequeue(self, entry: Entry) -> None:
        if entry.state == "reserved":
            self._reserved.remove(entry.id)
            return
        i = self._queued.index(entry.id)
        del self._queued[i]
        count = int(self._queue.used[0])
        for column in self._queue[:4]:
            column[i : count - 1] = column[i + 1 : count]
        self._queue.used[0] -= 1

    def _release(self, start: int, end: int, processors: int) -> None:
        self._profile = with_room(self._profile, 2)
        self._give_back(self._profile, start, end, processors)
        self.version += 1

    def _promote_queue(self) -> None:
        # A job that is taken out and put back adds at most two frames to those that are there.
        self._profile = with_room(self._profile, 2 * len(self._queued) + 2)
        if self._promote(self._profile, self._queue, self.soonest):
            self._read_starts()

    def _read_starts(self) -> None:
        """Bring the entries up to date with the starts in the queue's arrays."""
        for id, start in zip(self._queued, self._queue.start[: len(self._queued)].tolist(), strict=True):
            entry = self.entries[id]
            if start != entry.start:
                entry.start, entry.end = start, start + entry.walltime
                entry.promise = min(entry.promise, start)
                self._changed.add(id)

    def _start_due(self) -> list[Entry]:
        count = int(self._queue.used[0])
        due = np.flatnonzero(self._queue.start[:count] <= self.now).tolist()
        entries = [self.entries[self._queued[i]] for i in due]
        entries += [e for e in self.reserved if e.start <= self.now]
        started = []
        for entry in sorted(entries, key=lambda e: e.id):
            # A job at the end of its walltime may need a moment to go; what is due waits for it, in this instant.
            if self.in_use + entry.processors <= self.processors:
                self._dequeue(entry)
                entry.state = "running"
                self._changed.add(entry.id)
                self._running[entry.id] = entry
                self.in_use += entry.processors
                started.append(entry)
        return started

    def _impossible(self) -> bool:
        """Return whether processors are held for too long, or a start was missed."""
        late = self._queue.start[: len(self._queued)] < self.now
        return (
            bool(late.any())
            or any(e.end < self.now for e in self._running.values())
            or any(e.start < self.now for e in self.reserved)
        )

    def _repair(self, *, after_outage: bool = False) -> None:
        """Plan again around processors that are not free when they should be (`gas.s3.repair`)."""
        self._changed |= outlast(self._running.values(), self.now)
        waiting = [*self.reserved, *self.queued]
        promised = {e.id: e.promise for e in waiting}
        self._profile, moved = repair(
            self._running.values(), waiting, self.processors, self.now, self.soonest, missed_first=after_outage
        )
        self._changed |= {e.id for e in moved}
        self._queue.start[: len(self._queued)] = [e.start for e in self.queued]
        self.version += 1
        self._promote_queue()
        for e in moved:
            if e.start > promised[e.id]:
                self.broken.append(Broken(e.id, promised[e.id], e.start, self.now))
            e.promise = min(e.promise, e.start)


def warm_up() -> None:
    """Have the compiled kernels ready, so that nobody's first request waits for the compiler."""
    schedule = S3(2, 0, machine_code=True)
    first = schedule.submit(2, 10)
    schedule.submit(2, 10, start_by=10)
    schedule.reserve(1, 30, 10)
    schedule.step(0)
    schedule.step(5, [first.id])
