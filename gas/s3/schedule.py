"""The schedule of one machine: running and planned entries, and the profile of free processors.

`gas.s3.core` has the operations of users and of time. This module has the queries, and the steps of these
operations; each step keeps entries, arrays and profile consistent, and `check` verifies this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from gas.availability import AvailabilityList
from gas.compiled import compiled
from gas.errors import Conflict, NotFound
from gas.profile.blocks import Blocks, blocks_of, empty_blocks, profile_in, with_rows
from gas.profile.blocks import check as check_blocks
from gas.profile.changes import forget, give_back, take
from gas.profile.flat import Profile, with_room
from gas.profile.flat import forget as forget_past
from gas.profile.flat import give_back as give_back_span
from gas.profile.holes import first_fit
from gas.s3.entries import Broken, Entry, State, profile_left_by
from gas.s3.invariants import check_schedule
from gas.s3.placing import NO_LIMIT, UNTIL_NOTHING_MOVES, place, promote
from gas.s3.running import Running
from gas.s3.waiting import Waiting

__all__ = ["Schedule"]


class Schedule:
    """The schedule of one machine.

    Parameters
    ----------
    processors
        The size of the machine.
    now
        The instant (integer seconds) at which it begins, idle.
    machine_code
        Use the compiled kernels (worth it from some hundred waiting jobs on).
    patience
        The most work that one operation puts into promotion: examined jobs, with each move counted as a few
        (`gas.s3.placing.promote`). If work is left, the promotion is `unfinished`, and `go_on` continues it; until then
        no other operation promotes. None: promote until nothing moves.
    lead
        The soonest start is planned this many seconds after now. In the live service the present second has already
        begun: a job started in the rest of it would lose part of its walltime. So live starts are planned for the next
        second, with lead 1; a simulation loses nothing, with lead 0.
    """

    def __init__(
        self, processors: int, now: int, *, machine_code: bool = False, lead: int = 0, patience: int | None = None
    ) -> None:
        assert patience is None or patience > 0, "an operation looks at one job at least"
        self.processors = processors
        self.now = now
        self.lead = lead
        self.patience = patience
        self.version = 0
        self.entries: dict[int, Entry] = {}
        self.broken: list[Broken] = []
        self._changed: set[int] = set()
        self._profile: Blocks = empty_blocks(processors, now)
        self._waiting = Waiting(machine_code=machine_code)
        self._running = Running()
        self._most_in_use = processors  # more than the machine has if it was larger when entries started
        self._last_id = 0
        self._machine_code = machine_code
        self._first_fit = compiled(first_fit) if machine_code else first_fit
        self._place = compiled(place) if machine_code else place
        self._promote = compiled(promote) if machine_code else promote
        self._take = compiled(take) if machine_code else take
        self._give_back = compiled(give_back) if machine_code else give_back
        self._forget = compiled(forget) if machine_code else forget

    # ------------------------------------------------------------------------------------------------ ask

    @property
    def soonest(self) -> int:
        """The soonest instant for which a start can be planned."""
        return self.now + self.lead

    @property
    def queued(self) -> list[Entry]:
        """The waiting jobs in the order of the queue: higher priorities first, each in submission order."""
        return list(self._waiting.jobs)

    @property
    def reserved(self) -> list[Entry]:
        """The reservations that have not begun yet."""
        return list(self._waiting.reserved.values())

    @property
    def running(self) -> list[Entry]:
        """The jobs and reservations that hold processors now."""
        return list(self._running.entries.values())

    @property
    def in_use(self) -> int:
        """Number of processors that are held now."""
        return self._running.in_use

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of queued, reserved and running entries."""
        return len(self._waiting.jobs), len(self._waiting.reserved), len(self._running.entries)

    @property
    def has_changed(self) -> bool:
        """Whether `take_changed` has something to return."""
        return bool(self._changed)

    @property
    def unfinished(self) -> bool:
        """Whether promotion stopped because patience ended; until it is finished, a job may still move earlier."""
        return self._waiting.unfinished

    def entry(self, id: int) -> Entry:
        """Return an entry, or raise `NotFound`."""
        try:
            return self.entries[id]
        except KeyError:
            raise NotFound(f"there is no job {id} in the schedule (it never existed, or it has ended)") from None

    def waiting(self, id: int) -> Entry:
        """Return a waiting job; raise `NotFound`, or `Conflict` if it is running or a reservation."""
        entry = self.entry(id)
        if entry.state != "queued":
            what = "is running" if entry.state == "running" else "is a reservation"
            raise Conflict(f"job {id} {what}; only waiting jobs can be reshaped")
        return entry

    def next_start(self) -> int | None:
        """Return the next instant after now at which a start is due; None if nothing waits."""
        return self._waiting.next_start(self.now)

    def next_lapse(self) -> int | None:
        """Return the first instant by which an offer must be answered (`gas.s3.offers`); None without offers."""
        return self._waiting.first_answer()

    def first_start(self) -> int:
        """Return the first planned start of all waiting entries, including due ones; a far future if nothing waits."""
        return self._waiting.first_start()

    def next_overrun(self) -> int | None:
        """Return the first instant at which a running job would exceed its walltime."""
        return self._running.first_end()

    def anchor(self, processors: int, walltime: int, not_before: int | None = None) -> int:
        """Return the start that would be promised to such a request now; `NEVER` if it fits nowhere."""
        first = self.soonest if not_before is None else max(self.soonest, not_before)
        return int(self._first_fit(self._profile, processors, walltime, first))

    def availability(self, scheduler: str = "s3", *, without: int | None = None) -> AvailabilityList:
        """Return the availability list: the free processors of the profile, from the soonest possible start on.

        `without` is a waiting job that is left out: the list then shows what it could get at its place in the queue.
        """
        profile = profile_in(self._profile, machine_code=self._machine_code)
        if without is not None:
            entry = self.waiting(without)
            profile = with_room(profile, 2)
            give_back_flat = compiled(give_back_span) if self._machine_code else give_back_span
            give_back_flat(profile, entry.start, entry.end, entry.processors)
            if entry.offer is not None:
                profile = with_room(profile, 2)
                give_back_flat(profile, *entry.offered, entry.processors)
        forget_past(profile, self.soonest)
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

    def take_changed(self) -> list[Entry]:
        """Return the entries that changed since the last call, without those that left the schedule."""
        changed = [self.entries[id] for id in sorted(self._changed)]
        self._changed.clear()
        return changed

    def copy(self) -> Self:
        """Return an independent copy, for hypothetical requests."""
        other = type(self)(
            self.processors, self.now, machine_code=self._machine_code, lead=self.lead, patience=self.patience
        )
        other.version, other._last_id = self.version, self._last_id
        other.entries = {id: replace(entry) for id, entry in self.entries.items()}
        other.broken = list(self.broken)
        other._profile = Blocks(*(array.copy() for array in self._profile))
        other._waiting = self._waiting.copy(other.entries)
        other._running = self._running.copy(other.entries)
        other._most_in_use = self._most_in_use
        return other

    def check(self) -> None:
        """Raise `AssertionError` if the schedule contradicts itself."""
        check_blocks(self._profile, self.processors)
        check_schedule(
            profile_in(self._profile),
            self._waiting,
            self._running,
            self.entries,
            processors=self.processors,
            most_in_use=self._most_in_use,
            now=self.now,
        )

    # --------------------------------------------------------------------------------------------- inside

    def _new(self, processors: int, walltime: int, start: int, state: State, earliest: int, priority: int = 0) -> Entry:
        self._last_id += 1
        end = start + walltime
        entry = Entry(self._last_id, processors, walltime, self.now, start, start, state, end, earliest, priority)
        self.entries[entry.id] = entry
        self._changed.add(entry.id)
        self.version += 1
        return entry

    def _withdraw(self, entries: list[Entry]) -> None:
        self._waiting.remove(entries)
        for entry in entries:
            del self.entries[entry.id]
            self._changed.discard(entry.id)

    def _release(self, start: int, end: int, processors: int) -> None:
        self._make_room(2)
        self._give_back(self._profile, start, end, processors)
        self.version += 1

    def _indexed(self, profile: Profile) -> Blocks:
        """Return a rebuilt profile; no waiting job is known to start as early as it can."""
        self._waiting.look_again()
        count = int(profile.used[0])
        return blocks_of(profile.starts[:count], profile.free[:count], self.processors)

    def _rebuild(self) -> None:
        self._profile = self._indexed(profile_left_by(self.entries.values(), self.processors, self.now))
        self.version += 1

    def _promote_queue(self) -> None:
        """Promote, unless `go_on` still has to finish an earlier promotion, which then includes the new holes."""
        if not self.unfinished:
            self._move_earlier()

    def _move_earlier(self) -> bool:
        """Move waiting jobs to earlier starts until patience ends; return whether any has moved."""
        waiting = self._waiting
        waiting.leave_notice(self.soonest)
        patience = NO_LIMIT if self.patience is None else self.patience
        # Taking a slot out may expose two ends of other spans that it had hidden; putting one back adds two. A job may
        # have its slot and an offered one.
        self._make_room(4 * min(len(waiting.jobs) + len(waiting.conditional), patience) + 4)
        before = waiting.starts.copy()
        moves = self._promote(self._profile, waiting.queue, self.soonest, UNTIL_NOTHING_MOVES, patience)
        for entry in waiting.read_starts(before) if moves else []:
            if entry.notice is None:
                entry.promise = min(entry.promise, entry.start)
            else:
                entry.hold_offer(self.now, self.soonest)
            self._changed.add(entry.id)
        return bool(moves)

    def _make_room(self, frames: int) -> None:
        self._profile = with_rows(self._profile, frames, machine_code=self._machine_code)

    def _start_due(self) -> list[Entry]:
        started = []
        for entry in self._waiting.due(self.now):
            # A job at the end of its walltime may need a moment to end; due entries wait for it within this instant.
            if self.in_use + entry.processors <= self.processors:
                self._changed.add(entry.id)
                self._running.add(entry)
                started.append(entry)
        if started:
            self._waiting.remove(started)
        for entry in started:
            entry.state = "running"
        return started
