"""Checks the guarantees of EASY, and of S³ with priorities (`overtakings`), from starts and ends alone.

EASY: no job delays the head of the queue.

The queue is in submission order. A job *becomes head* at the instant T when the last job before it has started or was
withdrawn, or when it is submitted, if that is later. If it does not start then, it is *blocked*, and its *shadow
time* is the earliest instant at which enough processors are free for it. Each running job counts until its start plus
its estimate (until its real end, if that is later: its processors cannot be given away). EASY lets other jobs start
early only if that does not move the shadow time (Mu'alem & Feitelson 2001, section 2.2). So a head that starts after
its shadow time at T has been delayed.

**Which jobs run when a job becomes head**, if several events happen in that second? A job that started earlier and ends
later runs in any case. The rest depends on the order in which a scheduler handles the events of the second, which a
schedule does not show. Take a head g that needs two completions of the second T. A scheduler that handles them one at a
time may backfill c in the pass between them; then c runs rightfully when g has started and h becomes head. If both
completions come first, c is considered after h has become head and must not delay it. Always counting c as running
would miss every wrong backfill of the second T; never counting it would accuse the first scheduler. Therefore the
second is replayed as EASY would handle it in each of these orders:

* all at once: completions, arrivals, one pass; only the jobs ahead of the head run;
* ``instant``: all completions, a pass, the arrivals with a pass each, then the jobs that ended within the second;
* ``event``: arrivals, then completions, one at a time with a pass each;
* completions, then arrivals, one at a time with a pass each.

The pass is EASY's own, but picks only jobs that the schedule starts in this second. The guarantee is broken if the head
starts after the latest of these shadow times.

*No false alarm.* Suppose that the schedule is EASY's under one of these orders. By induction over the events of the
second, the replay in this order has EASY's processors, queue and picks: a pass sees the same head and the same shadow
time, and EASY refused all jobs that the schedule does not start in this second. So the replay finds the shadow time
that EASY used, and EASY keeps it. (Completions of one second are in the order of the starts, and starts of one second
are in the order in which the same replay picks them.) *No further excuse.* If the schedule is not EASY's, a job besides
those ahead of the head counts as running only if EASY, in one of these orders, would have started it in this second
before the job became head; an order in which the jobs ahead cannot all be started excuses nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gas.simulation.schedule import NEVER_STARTED

__all__ = ["DelayedHead", "Overtaking", "delayed_heads", "overtakings", "view_of"]

_NEVER = 2**62
"""The shadow time of a job that is larger than the machine."""


class DelayedHead(NamedTuple):
    """A job that started, or was withdrawn, later than EASY guarantees."""

    job: int
    """Its index in the queue."""
    became: int
    """The instant when it became head of the queue."""
    shadow: int
    """The latest instant at which it should have started."""
    left: int
    """The instant when it left the queue."""


class _Jobs(NamedTuple):
    """The columns, as views by `view_of`."""

    submit: Sequence[int]
    processors: Sequence[int]
    start: Sequence[int]
    end: Sequence[int]
    leave: Sequence[int]
    """The instant when each job left the queue."""
    until: Sequence[int]
    """The instant until which a scheduler counts each job as running."""


def view_of(column: NDArray[np.int64]) -> Sequence[int]:
    """Return a column for access to single values: faster than an array, and without the memory of a list."""
    return memoryview(np.ascontiguousarray(column))  # type: ignore[arg-type]


def delayed_heads(
    submit: NDArray[np.int64],
    processors: NDArray[np.int64],
    estimate: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    machine: int,
) -> tuple[int, list[DelayedHead]]:
    """Return the number of blocked heads of the queue, and the delayed heads, in queue order.

    Parameters
    ----------
    submit, processors, estimate, start, end
        One value per job, in queue order, which is by submission. `start` is `NEVER_STARTED` for a job that left the
        queue at its `end` without starting.
    machine
        Number of processors.
    """
    started = start != NEVER_STARTED
    leave = np.where(started, start, np.maximum(end, submit))
    entered = np.minimum(submit, leave)  # another check finds starts before the submission
    before = np.maximum.accumulate(leave)
    became = entered.copy()
    became[1:] = np.maximum(entered[1:], before[:-1])
    blocked = np.flatnonzero(leave > became)
    until = np.where(started, start + np.maximum(estimate, end - start), _NEVER)
    jobs = _Jobs(*map(view_of, (entered, processors, start, end, leave, until)))

    head_at = dict(zip(became[blocked].tolist(), blocked.tolist(), strict=True))
    together = _equal_twice(start, end, started)
    sweep = _Sweep(jobs, view_of(np.flatnonzero(started)[np.argsort(start[started], kind="stable")]), machine)
    delayed = []
    for now in sorted({*head_at, *together}):
        sweep.advance(now)
        head = head_at.get(now)
        if now in together:
            sweep.order_starts()
        if head is None or jobs.leave[head] <= sweep.shadow_at_once(head):
            continue
        shadow = sweep.latest_shadow(head)
        if jobs.leave[head] > shadow:
            delayed.append(DelayedHead(head, now, shadow, jobs.leave[head]))
    return len(blocked), delayed


def _equal_twice(start: NDArray[np.int64], end: NDArray[np.int64], started: NDArray[np.bool_]) -> set[int]:
    """Return the instants at which two jobs start that also end at the same instant."""
    pairs = np.stack([start[started], end[started]])
    pairs = pairs[:, np.lexsort(pairs[::-1])]
    return set(pairs[0, 1:][(np.diff(pairs) == 0).all(axis=0)].tolist())


class _Sweep:
    """Moves forward through time and knows the running jobs; call `advance` first, then query that second."""

    def __init__(self, jobs: _Jobs, by_start: Sequence[int], machine: int) -> None:
        self.jobs = jobs
        self.by_start = by_start
        self.now = 0
        self.running: list[tuple[int, int, int]] = []  # (until, processors, job) of jobs that run beyond this second
        self.free = machine  # processors that these leave
        self.ending: list[int] = []  # jobs that end in it and began before
        self.starting: list[int] = []  # in queue order
        self._ends: list[tuple[int, int]] = []
        self._next = 0
        self._first_waiting = 0
        self._ranks: dict[_Order, dict[int, int]] = {_event: {}, _completions_first: {}}  # of starts in one second
        self._withdrawn: defaultdict[int, list[int]] = defaultdict(list)
        submit, start, leave = (np.asarray(column, np.int64) for column in (jobs.submit, jobs.start, jobs.leave))
        for job in np.flatnonzero((start == NEVER_STARTED) & (leave > submit)).tolist():
            self._withdrawn[jobs.leave[job]].append(job)

    def advance(self, now: int) -> None:
        jobs, order = self.jobs, self.by_start
        while self._next < len(order) and jobs.start[order[self._next]] < now:
            job = order[self._next]
            self._next += 1
            if jobs.end[job] >= now:
                insort(self.running, (jobs.until[job], jobs.processors[job], job))
                self.free -= jobs.processors[job]
                heappush(self._ends, (jobs.end[job], job))
        self.ending = []
        while self._ends and self._ends[0][0] <= now:
            end, job = heappop(self._ends)
            del self.running[bisect_left(self.running, (jobs.until[job], jobs.processors[job], job))]
            self.free += jobs.processors[job]
            if end == now:
                self.ending.append(job)
        stop = self._next
        while stop < len(order) and jobs.start[order[stop]] == now:
            stop += 1
        self.starting = list(order[self._next : stop])
        self.now = now

    def shadow_at_once(self, head: int) -> int:
        """Return the shadow time of a head if only the jobs ahead of it had started in this second."""
        jobs = self.jobs
        held, free = self.running, self.free
        ahead = [job for job in self.starting if job < head]
        if ahead:
            held = sorted([*held, *((jobs.until[job], jobs.processors[job], job) for job in ahead)])
            free -= sum(jobs.processors[job] for job in ahead)
        return _shadow(held, free, jobs.processors[head], self.now)[0]

    def latest_shadow(self, head: int) -> int:
        """Return the latest possible shadow time of a head at the time when it became head in this second."""
        shadows = [self.shadow_at_once(head)]
        for take in (_instant, _event, _completions_first):
            second = self._gone_through(take)
            if second.shadow is not None:
                shadows.append(second.shadow)
        return max(shadows)

    def order_starts(self) -> None:
        """Find the order in which the jobs of this second start if events are handled one at a time."""
        for take, ranks in self._ranks.items():
            ranks.update({job: number for number, job in enumerate(self._gone_through(take).picked)})

    def _gone_through(self, take: _Order) -> _Second:
        jobs, now = self.jobs, self.now
        while self._first_waiting < len(jobs.leave) and jobs.leave[self._first_waiting] <= now:
            self._first_waiting += 1
        head = self._first_waiting
        if head == len(jobs.leave) or jobs.submit[head] > now:
            head = -1
        arrivals = range(bisect_left(jobs.submit, now), bisect_left(jobs.submit, now + 1))
        ranks = self._ranks.get(take, {})
        ending = sorted(self.ending, key=lambda job: (jobs.start[job], ranks.get(job, len(jobs.leave)), job))
        second = _Second(self, head, arrivals, self._withdrawn.get(now, []), ending)
        take(second)
        return second


class _Second:
    """One second replayed as EASY would handle it, picking only jobs that the schedule starts in it."""

    def __init__(
        self, sweep: _Sweep, head: int, arrivals: Sequence[int], withdrawn: list[int], ending: list[int]
    ) -> None:
        self.jobs, self.now = sweep.jobs, sweep.now
        self.head = head
        self.arrivals, self.ending, self.withdrawn = arrivals, ending, withdrawn
        self.starting = set(sweep.starting)
        late = set(arrivals)
        members = sorted({*sweep.starting, *withdrawn, *([head] if head >= 0 else [])})
        self.queue = [job for job in members if job not in late]
        self.coming = {job for job in members if job in late}
        self.held, self.free = sweep.running.copy(), sweep.free
        for job in self.ending:
            self._take(job)
        self.picked: list[int] = []
        self.shadow: int | None = None
        """Shadow time of the head when it became head."""
        self._settled = False

    def arrive(self, job: int) -> None:
        if job in self.coming:
            self.queue.append(job)  # arrivals are in the order of the queue
            self._settled = False

    def withdraw(self, job: int) -> None:
        self.queue.remove(job)
        self._settled = False

    def complete(self, job: int) -> None:
        if self.jobs.until[job] > self.now:
            del self.held[bisect_left(self.held, self._entry(job))]
            self.free += self.jobs.processors[job]
            self._settled = False

    def go_through_queue(self) -> None:
        """One pass of EASY: heads while they fit, then jobs that do not delay the first head that does not fit."""
        if self._settled:
            return
        jobs, queue, picked = self.jobs, self.queue, len(self.picked)
        at = 0
        while at < len(queue) and queue[at] in self.starting and jobs.processors[queue[at]] <= self.free:
            self._pick(queue[at])
            at += 1
        left = []
        if at < len(queue):
            need = jobs.processors[queue[at]]
            shadow, gathered = _shadow(self.held, self.free, need, self.now)
            if queue[at] == self.head and self.shadow is None:
                self.shadow = shadow
            extra = gathered - need
            left.append(queue[at])
            for job in queue[at + 1 :]:
                size, by_shadow = jobs.processors[job], jobs.until[job] <= shadow
                if job in self.starting and size <= self.free and (by_shadow or size <= extra):
                    extra -= 0 if by_shadow else size
                    self._pick(job)
                else:
                    left.append(job)
        self.queue = left
        self._settled = len(self.picked) == picked

    def _pick(self, job: int) -> None:
        self.picked.append(job)
        self._take(job)

    def _take(self, job: int) -> None:
        if self.jobs.until[job] > self.now:
            insort(self.held, self._entry(job))
            self.free -= self.jobs.processors[job]

    def _entry(self, job: int) -> tuple[int, int, int]:
        return self.jobs.until[job], self.jobs.processors[job], job


_Order: TypeAlias = Callable[[_Second], None]
"""An order in which to handle the events of a second."""


def _instant(second: _Second) -> None:
    for job in second.ending:
        second.complete(job)
    for job in second.withdrawn:
        second.withdraw(job)
    if second.ending or second.withdrawn:
        second.go_through_queue()
    _one_at_a_time(second, second.arrivals, second.arrive)
    done = 0
    while ended := [job for job in second.picked[done:] if second.jobs.end[job] == second.now]:
        done = len(second.picked)
        for job in ended:
            second.complete(job)
        second.go_through_queue()


def _event(second: _Second) -> None:
    _one_at_a_time(second, second.arrivals, second.arrive)
    _one_at_a_time(second, second.withdrawn, second.withdraw)
    _one_at_a_time(second, second.ending, second.complete)
    _end_what_started(second)


def _completions_first(second: _Second) -> None:
    _one_at_a_time(second, second.withdrawn, second.withdraw)
    _one_at_a_time(second, second.ending, second.complete)
    _one_at_a_time(second, second.arrivals, second.arrive)
    _end_what_started(second)


def _one_at_a_time(second: _Second, jobs: Sequence[int], event: Callable[[int], None]) -> None:
    for job in jobs:
        event(job)
        second.go_through_queue()


def _end_what_started(second: _Second) -> None:
    for job in second.picked:  # grows in the loop
        if second.jobs.end[job] == second.now:
            second.complete(job)
            second.go_through_queue()


def _shadow(held: list[tuple[int, int, int]], free: int, need: int, now: int) -> tuple[int, int]:
    """Return the instant at which `need` processors are free, and how many are free then."""
    if free >= need:
        return now, free
    shadow = _NEVER
    for until, size, _ in held:
        if free >= need and until > shadow:
            break
        free += size
        shadow = until
    return (shadow, free) if free >= need else (_NEVER, free)


class Overtaking(NamedTuple):
    """A job that waited while a later one of lower priority started that requests at least as much."""

    job: int
    """Its index."""
    by: int
    """Index of the overtaking job."""


def overtakings(
    submit: NDArray[np.int64],
    processors: NDArray[np.int64],
    estimate: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    priority: NDArray[np.int64],
) -> list[Overtaking]:
    """Return the jobs overtaken by lower priorities, one per overtaking job, in submission order of the latter.

    Under S³ there are none: if there had been room for the later job before the start of the first, the first, which
    requests no more processors and no more time, would have been moved there earlier (`gas.s3.placing`).

    Parameters
    ----------
    submit, processors, estimate, start, end, priority
        One value per job, by submission. `start` is `NEVER_STARTED` for a job that left the queue at its `end` without
        starting.
    """
    started = start != NEVER_STARTED
    leave = np.where(started, start, end)
    found: list[Overtaking] = []
    waiting = np.empty(0, np.int64)  # earlier jobs that had not left when the present ones were submitted
    for first in range(0, len(submit), 64):
        present = np.arange(first, min(first + 64, len(submit)))
        waiting = np.concatenate([waiting[leave[waiting] > submit[first]], present])
        present = present[started[present]]
        overtaken = (
            (waiting < present[:, None])
            & (priority[waiting] > priority[present][:, None])
            & (processors[waiting] <= processors[present][:, None])
            & (estimate[waiting] <= estimate[present][:, None])
            & (leave[waiting] > start[present][:, None])
        )
        rows = np.flatnonzero(overtaken.any(axis=1)).tolist()
        found += [Overtaking(int(waiting[overtaken[row].argmax()]), int(present[row])) for row in rows]
    return found
