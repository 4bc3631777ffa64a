"""S³ on a machine with moving time: due jobs start, and simulated jobs end after their run time.

Pure like the core: `advance` gets the time and the real jobs that have ended, handles every instant until then in
order, and returns the events. The live service calls it by the clock, a replay of a log by its arrivals.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gas.s3.core import S3
from gas.s3.entries import Entry, Resized

__all__ = ["Event", "Machine"]


@dataclass(frozen=True, slots=True)
class Event:
    """A job or reservation started or ended at an instant."""

    time: int
    kind: Literal["started", "ended"]
    id: int


class Machine:
    """A schedule, and the run times of its simulated jobs.

    Attributes
    ----------
    schedule
        The `S3`. Call `advance` up to the present before changing anything.
    run_times
        Run time in seconds of each simulated job, by id; it is killed at its walltime at the latest. Any other job ends
        when `advance` gets its end.
    """

    def __init__(self, schedule: S3) -> None:
        self.schedule = schedule
        self.run_times: dict[int, int] = {}
        self._ends: list[tuple[int, int]] = []

    def next_instant(self) -> int | None:
        """Return the next known instant at which something is due; None if there is none."""
        known = [self._ends[0][0]] if self._ends else []
        known += [due for due in (self.schedule.next_start(), self.schedule.next_lapse()) if due is not None]
        return min(known, default=None)

    def advance(self, now: int, ended: Iterable[tuple[int, int]] = (), *, settle: bool = True) -> list[Event]:
        """Handle every instant up to `now`, and return the events in order.

        Parameters
        ----------
        ended
            (instant, id) of real jobs that have released their processors. An instant in the past or in the future
            counts as the nearest one that can still be handled.
        settle
            False handles only one round of `now` itself: a job of zero length that starts in it ends in the round after
            the submissions at `now` (`gas guide rules`, 3).
        """
        schedule = self.schedule
        events: list[Event] = []
        reported = sorted((min(max(time, schedule.now), now), id) for time, id in ended)
        while True:
            instants = [self.next_instant(), reported[0][0] if reported else None]
            instant = min((t for t in instants if t is not None and t <= now), default=now)
            instant = max(instant, schedule.now)
            gone = []
            while reported and reported[0][0] <= instant:
                gone.append(reported.pop(0)[1])
            while self._ends and self._ends[0][0] <= instant:
                gone.append(heapq.heappop(self._ends)[1])
            events += [Event(instant, "ended", id) for id in gone]
            for entry in schedule.step(instant, gone):
                events.append(Event(instant, "started", entry.id))
                self._begin(entry.id, instant)
            following = self.next_instant()
            if instant == now and not (settle and (reported or (following is not None and following <= now))):
                return events

    def submit(
        self,
        processors: int,
        walltime: int,
        run_time: int | None = None,
        *,
        not_before: int | None = None,
        start_by: int | None = None,
        priority: int = 0,
        notice: int | None = None,
    ) -> Entry:
        """Submit a job at the schedule's present instant; it starts at once if it can.

        `run_time` makes it a simulated job. `S3.submit` names the errors.
        """
        entry = self.schedule.submit(
            processors, walltime, not_before=not_before, start_by=start_by, priority=priority, notice=notice
        )
        if run_time is not None:
            self.run_times[entry.id] = run_time
        self._start_due()
        return entry

    def reserve(
        self, processors: int, start: int, walltime: int, *, start_by: int | None = None, lasts: int | None = None
    ) -> Entry:
        """Reserve processors; they are released automatically at the end. `S3.reserve` names the errors.

        A reservation can release them earlier, `lasts` seconds after its start; 0 keeps them free until then for a job.
        """
        entry = self.schedule.reserve(processors, start, walltime, start_by=start_by)
        self.run_times[entry.id] = walltime if lasts is None else lasts
        self._start_due()
        return entry

    def use(self, id: int, run_time: int | None = None) -> Entry:
        """Replace a reservation by a job; `run_time` makes it a simulated one. `S3.use` names the errors."""
        entry = self.schedule.use(id)
        del self.run_times[id]
        if run_time is not None:
            self.run_times[entry.id] = run_time
        return entry

    def reshape(
        self, id: int, processors: int, walltime: int, run_time: int | None = None, *, start_by: int | None = None
    ) -> tuple[Entry, list[Event]]:
        """Reshape a waiting job at the present instant; jobs that can start at once do so.

        `run_time` is that of a simulated job in its new shape. `S3.reshape` names the errors.
        """
        entry = self.schedule.reshape(id, processors, walltime, start_by=start_by)
        if run_time is not None:
            self.run_times[id] = run_time
        return entry, self.advance(self.schedule.now)

    def accept(self, id: int, start: int) -> list[Event]:
        """Move a job to its offered start (`S3.accept`); jobs that can start at once do so."""
        self.schedule.accept(id, start)
        return self.advance(self.schedule.now)

    def decline(self, id: int, start: int | None = None, *, not_before: int | None = None) -> list[Event]:
        """Release the offer to a job (`S3.decline`); jobs that can start at once do so."""
        self.schedule.decline(id, start, not_before=not_before)
        return self.advance(self.schedule.now)

    def go_on(self) -> list[Event]:
        """Continue promotion where patience ended (`S3.go_on`); jobs that can start at once do so."""
        self.schedule.go_on()
        return self.advance(self.schedule.now)

    def end(self, id: int) -> list[Event]:
        """End a running simulated job now, like a cancellation."""
        self._ends = [(time, other) for time, other in self._ends if other != id]
        heapq.heapify(self._ends)
        now = self.schedule.now
        return self.advance(now, [(now, id)])

    def resize(self, processors: int) -> Resized:
        """Resize the machine at the present instant (`S3.resize`); jobs that can start at once do so."""
        resized = self.schedule.resize(processors)
        for entry in resized.evicted:
            self.run_times.pop(entry.id, None)
        self._start_due()
        return resized

    def restore(
        self, entries: Iterable[Entry], run_times: dict[int, int], *, version: int, last_id: int
    ) -> list[Entry]:
        """Restore the entries of an earlier run, with the run times of simulated ones (`S3.restore`)."""
        given = list(entries)
        evicted = self.schedule.restore(given, version=version, last_id=last_id)
        gone = {entry.id for entry in evicted}
        self.run_times = {id: run_time for id, run_time in run_times.items() if id not in gone}
        for entry in given:
            if entry.state == "running":
                self._begin(entry.id, entry.start)
        return evicted

    def copy(self) -> Machine:
        """Return an independent copy, to ask "what if"."""
        other = Machine(self.schedule.copy())
        other.run_times = dict(self.run_times)
        other._ends = list(self._ends)
        return other

    def _start_due(self) -> None:
        for started in self.schedule.step(self.schedule.now):
            self._begin(started.id, self.schedule.now)

    def _begin(self, id: int, start: int) -> None:
        if id in self.run_times:
            lasts = min(self.run_times[id], self.schedule.entries[id].walltime)
            heapq.heappush(self._ends, (start + lasts, id))
