"""A simulator of schedulers by the letter of `gas guide rules`, for small logs: the oracle of the simulator's tests.

It shares no code with the package: plain numbers in, plain lists out, and no state except the list of jobs. Whenever it
needs the free processors over time it sums them up anew from running, planned and reserved jobs. Nothing is clever, so
that each rule can be read in the code.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

FOREVER = float("inf")
PLANNING = ("conservative", "s3", "s3-1999", "conservative-replan", "conservative-static")

SUBMISSION, COMPLETION, START = range(3)

Row = tuple[int, int, int, int]
"""A job: (submit, processors, estimate, run time). A reservation: (submit, processors, start, walltime)."""

Steps = list[tuple[int, int]]
"""(instant, free processors from it on), at every change."""


@dataclass(eq=False)
class Job:
    number: int
    submit: int
    processors: int
    estimate: int
    run_time: int
    cancelled: float = FOREVER
    earliest: int | None = None
    """Of a reservation: the earliest start; None for a job."""
    start: int | None = None
    """Planned while it waits, then actual."""
    promise: int | None = None
    begun: bool = False
    priority: int = 0

    @property
    def booked_until(self) -> int:
        """The instant until which the schedule keeps its processors for it."""
        return self.start + self.estimate

    @property
    def end(self) -> float:
        """The instant at which it releases them."""
        return min(self.start + self.run_time, max(self.cancelled, self.start))


Adjust = Callable[[int, int, list[Job]], int]


@dataclass
class Outcome:
    """The outcomes of the jobs; None is "never started" and "nothing promised"."""

    start: list[int | None]
    end: list[int]
    promise: list[int | None]
    reserved: list[int | None]
    seen: list[tuple[int, int, Steps]] = field(default_factory=list)
    """At each arrival, before it is handled: (job, now, free processors from now on besides all present jobs)."""


def simulate_by_force(
    machine: int,
    rows: Sequence[Row],
    policy: str,
    *,
    order: str = "instant",
    overrun: str = "kill",
    cancellations: Sequence[float] | None = None,
    reservations: Sequence[Row] = (),
    priorities: Sequence[int] | None = None,
    by_profile: bool = False,
    seeing: bool = False,
) -> Outcome:
    """Return the outcome of the rows, which are in order of submission.

    `by_profile`: `easy` and `fcfs` use the profile even where shadow time and extra would suffice.
    `seeing`: record the free processors at each arrival.
    """
    jobs = []
    for number, (submit, processors, estimate, run_time) in enumerate(rows):
        if overrun == "kill":
            run_time = min(run_time, estimate)
        else:
            estimate = max(run_time, estimate)
        cancelled = FOREVER if cancellations is None else cancellations[number]
        priority = 0 if priorities is None else priorities[number]
        jobs.append(Job(number, submit, processors, estimate, run_time, cancelled, priority=priority))
    booked = [
        Job(number, submit, processors, walltime, walltime, earliest=max(start, submit))
        for number, (submit, processors, start, walltime) in enumerate(reservations)
    ]
    simulation = (Rounds if order == "instant" else Events)(machine, policy, by_profile or bool(booked), seeing)
    # A reservation comes before the jobs of its second.
    simulation.run(sorted([*booked, *jobs], key=lambda job: (job.submit, job.earliest is None, job.number)))
    return Outcome(
        [job.start if job.begun else None for job in jobs],
        [job.end if job.begun else job.cancelled for job in jobs],
        [job.promise for job in jobs],
        [job.start for job in booked],
        simulation.seen,
    )


def simulate_adjusted_by_force(
    machine: int,
    rows: Sequence[Row],
    adjust: Adjust,
    *,
    adjustment: str | None = None,
    queue: str = "fcfs",
    cancellations: Sequence[float] | None = None,
) -> Outcome:
    """Return the outcome of the rows under EASY, with an order of the queue and the scheduler's own walltimes.

    `adjust` returns these at arrivals: given number and instant, and the ended jobs, in that order.
    """
    withdrawn = [FOREVER] * len(rows) if cancellations is None else cancellations
    jobs = [
        Job(number, submit, processors, estimate, min(run_time, estimate), withdrawn[number])
        for number, (submit, processors, estimate, run_time) in enumerate(rows)
    ]
    AdjustedRounds(machine, adjust, adjustment, queue).run(list(jobs))
    return Outcome(
        [job.start if job.begun else None for job in jobs],
        [job.end if job.begun else job.cancelled for job in jobs],
        [None] * len(jobs),
        [],
    )


# ------------------------------------------------------------------------------------------------- free processors


def steps(machine: int, taken: Sequence[Job], now: int) -> Steps:
    """Return the free processors from now on, given the jobs that take some."""
    changes = {now: 0}
    for job in taken:
        if (until := job.booked_until) > now:
            start = max(job.start, now)
            changes[start] = changes.get(start, 0) - job.processors
            changes[until] = changes.get(until, 0) + job.processors
    result, free = [], machine
    for instant in sorted(changes):
        free += changes[instant]
        assert 0 <= free <= machine, f"{free} of {machine} processors free at {instant}"
        if not result or result[-1][1] != free:
            result.append((instant, free))
    return result


def earliest_fit(profile: Steps, processors: int, walltime: int, not_before: int) -> int:
    """Return the first instant, `not_before` or later, from which processors are free for the duration."""
    start = not_before
    for (_, free), (until, _) in zip(profile, [*profile[1:], (FOREVER, 0)], strict=True):
        if until <= start:
            continue
        if free < processors:
            start = until
        elif until - start >= walltime:
            return start
    raise AssertionError("more processors than the machine has")


# -------------------------------------------------------------------------------------------------------- policies


class Scheduler:
    """Waiting and running jobs, and the steps of the policy."""

    def __init__(self, machine: int, policy: str, by_profile: bool, seeing: bool) -> None:
        self.machine, self.policy, self.by_profile, self.seeing = machine, policy, by_profile, seeing
        self.plans = policy in PLANNING
        self.queue: list[Job] = []  # by priority, then in submission order
        self.running: list[Job] = []
        self.booked: list[Job] = []  # reservations that have not started
        self.seen: list[tuple[int, int, Steps]] = []

    def free(self, now: int, *without: Job, also: Sequence[Job] = ()) -> Steps:
        """Return the free processors from now on, as if the jobs `without` did not exist."""
        planned = [job for job in self.queue if job.start is not None]
        taken = [job for job in [*self.running, *self.booked, *planned, *also] if job not in without]
        return steps(self.machine, taken, now)

    def fit(self, job: Job, now: int, **more: Sequence[Job]) -> int:
        not_before = now if job.earliest is None else max(now, job.earliest)
        return earliest_fit(self.free(now, job, **more), job.processors, job.estimate, not_before)

    def look_around(self, arriving: Job, now: int) -> None:
        """Record the free processors besides all jobs; without a plan, waiting jobs are at their earliest fits."""
        if not self.seeing:
            return
        places: list[Job] = []
        for job in [] if self.plans else self.queue:
            place = Job(-1, job.submit, job.processors, job.estimate, job.estimate)
            place.start = self.fit(job, now, also=places)
            places.append(place)
        self.seen.append((arriving.number, now, self.free(now, also=places)))

    # --- planning policies

    def place(self, job: Job, now: int) -> None:
        """Give an arriving job the earliest place that delays no other job."""
        job.start = job.promise = self.fit(job, now)
        self.queue.append(job)
        self.queue.sort(key=lambda each: -each.priority)  # stable: each priority in submission order

    def revise(self, now: int) -> None:
        """Change the plan after processors were released."""
        waiting = [job for job in self.queue if job.start > now]
        if self.policy == "conservative":
            self.one_pass(waiting, now)
        elif self.policy == "s3":
            while self.one_pass(waiting, now, by_priority=True):
                pass
        elif self.policy == "s3-1999":
            while self.move_first(waiting, now):
                pass
        elif self.policy == "conservative-replan":
            waiting = self.to_replan(now)
            for job in waiting:
                job.start = None
            for job in waiting:
                job.start = self.fit(job, now)

    def one_pass(self, waiting: list[Job], now: int, *, by_priority: bool = False) -> bool:
        """Take out and put back each job; return whether one moved.

        `by_priority`: as soon as one has moved, end the pass before jobs below the highest priority.
        """
        moved = False
        for job in waiting:
            if by_priority and moved and job.priority < waiting[0].priority:
                break
            start = self.fit(job, now)
            assert start <= job.start
            moved = moved or start < job.start
            job.start = start
        return moved

    def move_first(self, waiting: list[Job], now: int) -> bool:
        """Move the first job that can start earlier; return whether there was one."""
        for job in waiting:
            start = self.fit(job, now)
            if start < job.start:
                job.start = start
                return True
        return False

    def to_replan(self, now: int) -> list[Job]:
        raise NotImplementedError

    # --- fcfs and easy

    def one_look(self, now: int) -> list[Job]:
        """Take the jobs that a pass starts out of the queue, and return them; they hold their processors."""
        return self.look_at_profile(now) if self.by_profile else self.look_at_shadow(now)

    def look_at_shadow(self, now: int) -> list[Job]:
        """Rule 6 literally; there are no reservations."""
        before = list(self.queue)
        holding = [job for job in self.running if job.booked_until > now]
        free = self.machine - sum(job.processors for job in holding)
        while self.queue and self.queue[0].processors <= free:
            free -= self.queue[0].processors
            holding.append(self.queue[0])
            self.begin(self.queue[0], now)
        if self.queue and self.policy == "easy":
            need = self.queue[0].processors
            free_at = {
                end: free + sum(job.processors for job in holding if job.booked_until <= end)
                for end in {job.booked_until for job in holding}
            }
            shadow = min(end for end, there in free_at.items() if there >= need)
            extra = free_at[shadow] - need
            for job in self.queue[1:]:
                if job.processors > free:
                    continue
                if now + job.estimate > shadow:
                    if job.processors > extra:
                        continue
                    extra -= job.processors
                free -= job.processors
                self.begin(job, now)
        return [job for job in before if job not in self.queue]

    def look_at_profile(self, now: int) -> list[Job]:
        """Start jobs that fit now for the whole estimate besides running jobs, reservations and the head's place."""
        before = list(self.queue)
        while self.queue and self.fit(self.queue[0], now) == now:
            self.begin(self.queue[0], now)
        if self.policy == "easy":
            head = self.place_of_head(now)
            for job in self.queue[1:]:
                if self.fit(job, now, also=head) == now:
                    self.begin(job, now)
        return [job for job in before if job not in self.queue]

    def place_of_head(self, now: int) -> list[Job]:
        """Return a stand-in for the queue's head at its earliest fit; an empty one without a queue, or under fcfs."""
        if not self.queue or self.policy != "easy":
            return []
        head = self.queue[0]
        place = Job(-1, head.submit, head.processors, head.estimate, head.estimate)
        place.start = self.fit(head, now)
        return [place]

    # --- all

    def begin(self, job: Job, now: int) -> None:
        (self.queue if job.earliest is None else self.booked).remove(job)
        job.start, job.begun = now, True
        self.running.append(job)

    def book(self, job: Job, now: int) -> None:
        """Give a reservation its final place."""
        job.start = self.fit(job, now, also=[] if self.plans else self.place_of_head(now))
        self.booked.append(job)


# ---------------------------------------------------------------------------------------------------------- orders


class Rounds(Scheduler):
    """Rule 3, ``--order instant``."""

    def to_replan(self, now: int) -> list[Job]:
        return list(self.queue)

    def run(self, arrivals: list[Job]) -> None:
        while arrivals or self.queue or self.running or self.booked:
            instants = [job.end for job in self.running] + [job.submit for job in arrivals[:1]]
            instants += [job.cancelled for job in self.queue]
            instants += [job.start for job in [*self.queue, *self.booked] if job.start is not None]
            now = min(instants)
            # Completions due, cancellations (the first round's alone).
            withdrawn = [job for job in self.queue if job.cancelled <= now]
            self.queue = [job for job in self.queue if job not in withdrawn]
            self.completions_and_step(now, bool(withdrawn))
            # Arrivals, one by one.
            while arrivals and arrivals[0].submit == now:
                self.arrive(arrivals.pop(0), now)
            # Further rounds, as long as jobs without length end in this very instant.
            while any(job.end == now for job in self.running):
                self.completions_and_step(now, False)

    def completions_and_step(self, now: int, early: bool) -> None:
        for job in [job for job in self.running if job.end <= now]:
            assert job.end == now
            self.running.remove(job)
            early = early or job.end < job.booked_until
        if self.plans and early:
            self.revise(now)
        for job in [job for job in [*self.booked, *self.queue] if job.start is not None and job.start <= now]:
            assert job.start == now
            self.begin(job, now)
        if not self.plans:
            self.one_look(now)

    def arrive(self, job: Job, now: int) -> None:
        if job.earliest is not None:
            self.book(job, now)
            if job.start == now:
                self.begin(job, now)
            return
        self.look_around(job, now)
        if job.cancelled <= now:
            return
        if self.plans:
            self.place(job, now)
            if job.start == now:
                self.begin(job, now)
        else:
            self.queue.append(job)
            self.one_look(now)


class AdjustedRounds(Rounds):
    """EASY by rounds; `estimate` is the scheduler's present assumption for a job (Tang et al. 2013, sections 5, 6.1).

    While the job waits, it is the adjusted walltime; under "regular" adjustment also while it runs, until it exceeds
    that. From then on, and under "selective" from its start, it is the user's request.
    """

    def __init__(self, machine: int, adjust: Adjust, adjustment: str | None, queue: str) -> None:
        super().__init__(machine, "easy", by_profile=False, seeing=False)
        self.adjust, self.adjustment, self.queue_order = adjust, adjustment, queue
        self.asked_for: dict[Job, int] = {}
        self.ended: list[Job] = []

    def arrive(self, job: Job, now: int) -> None:
        self.asked_for[job] = job.estimate
        if self.adjustment is not None:
            job.estimate = self.adjust(job.number, now, list(self.ended))
        super().arrive(job, now)

    def completions_and_step(self, now: int, early: bool) -> None:
        self.ended += sorted((job for job in self.running if job.end <= now), key=lambda job: job.number)
        super().completions_and_step(now, early)

    def begin(self, job: Job, now: int) -> None:
        super().begin(job, now)
        if self.adjustment == "selective":
            job.estimate = self.asked_for[job]

    def one_look(self, now: int) -> list[Job]:
        for job in self.running:
            if job.booked_until <= now:
                job.estimate = self.asked_for[job]
        if self.queue_order == "wfp":
            self.queue.sort(key=lambda job: (-self.priority(job, now), job.number))
        return super().one_look(now)

    def priority(self, job: Job, now: int) -> Fraction:
        return Fraction(now - job.submit, job.estimate) ** 3 * job.processors


class Events(Scheduler):
    """Rule 4, ``--order event``."""

    def to_replan(self, now: int) -> list[Job]:
        return [job for job in self.queue if job.start > now]

    def run(self, arrivals: list[Job]) -> None:
        self.events: list[tuple[int, int, int, Callable[[Job, int], None], Job]] = []
        self.created = 0
        for job in arrivals:
            self.create(job.submit, SUBMISSION, self.submission, job)
        for job in sorted((job for job in arrivals if job.cancelled < FOREVER), key=lambda job: job.number):
            self.create(job.cancelled, COMPLETION, self.cancellation, job)
        while self.events:
            now, _, _, handle, job = heapq.heappop(self.events)
            handle(job, now)

    def create(self, when: int, kind: int, handle: Callable[[Job, int], None], job: Job) -> None:
        self.created += 1
        heapq.heappush(self.events, (when, kind, self.created, handle, job))

    def submission(self, job: Job, now: int) -> None:
        if job.earliest is not None:
            self.book(job, now)
            self.create(job.start, START, self.start, job)
            return
        self.look_around(job, now)
        if job.cancelled <= now:
            return
        if self.plans:
            self.place(job, now)
            self.create(job.start, START, self.start, job)
        else:
            self.queue.append(job)
            self.pass_over(now)

    def completion(self, job: Job, now: int) -> None:
        self.running.remove(job)
        self.pass_over(now)

    def cancellation(self, job: Job, now: int) -> None:
        if job in self.queue:
            self.queue.remove(job)
            self.pass_over(now)

    def start(self, job: Job, now: int) -> None:
        if self.plans or job.earliest is not None:
            if job not in [*self.queue, *self.booked] or job.start != now:
                return  # it was cancelled or has started, or a revision moved it
            self.begin(job, now)
        self.create(job.end, COMPLETION, self.completion, job)

    def pass_over(self, now: int) -> None:
        if self.plans:
            planned = {job: job.start for job in self.queue}
            self.revise(now)
            for job in self.queue:
                if job.start != planned[job]:
                    self.create(job.start, START, self.start, job)
        else:
            for job in self.one_look(now):
                self.create(now, START, self.start, job)
