"""EASY's guarantee: every honest schedule keeps it, and the check excuses nothing else."""

from collections import namedtuple
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.simulation.guarantee import delayed_heads, overtakings
from gas.simulation.schedule import NEVER_STARTED

Job = namedtuple("Job", "submit size estimate run cancelled", defaults=(None,))

ORDERS = ("at once", "instant", "event", "completions first")


class Easy:
    """EASY second by second, in the plainest form: the shadow time is found by trying each later second."""

    def __init__(self, jobs, machine, order, *, careless=False):
        self.jobs, self.machine, self.careless = jobs, machine, careless
        self.queue, self.holding, self.start, self.end = [], {}, {}, {}
        self.running, self.handled = [], []
        for now in count(min(job.submit for job in jobs)):
            if len(self.end) == len(jobs):
                break
            self.now = now
            getattr(self, order.replace(" ", "_"))()

    def at_once(self):
        for job in self.ending() + self.leaving():
            self.finish(job)
        self.queue += self.arriving()
        self.start_jobs()
        while short := self.ending():  # no length
            for job in short:
                self.finish(job)
            self.start_jobs()

    def instant(self):
        first = True
        while (ended := self.ending()) or first:
            ended += self.leaving() if first else []
            for job in ended:
                self.finish(job)
            if ended:
                self.start_jobs()
            for job in self.arriving() if first else []:
                self.queue.append(job)
                self.start_jobs()
            first = False

    def event(self):
        for job in self.arriving():
            self.queue.append(job)
            self.start_jobs()
        self.one_at_a_time()

    def completions_first(self):
        ended = self.leaving() + self.ending()
        for job in ended:
            self.finish(job)
            self.start_jobs()
        for job in self.arriving():
            self.queue.append(job)
            self.start_jobs()
        self.one_at_a_time()

    def one_at_a_time(self):
        for job in self.leaving() + self.ending(started_before=True):
            self.finish(job)
            self.start_jobs()
        while starting := [job for job in self.running if job not in self.handled]:
            self.handled.append(starting[0])
            if self.jobs[starting[0]].run == 0:
                self.finish(starting[0])
                self.start_jobs()

    def arriving(self):
        return [
            number
            for number, job in enumerate(self.jobs)
            if job.submit == self.now and not self.withdrawn_at_once(number)
        ]

    def withdrawn_at_once(self, number):
        job = self.jobs[number]
        if job.cancelled is not None and job.cancelled <= job.submit:
            self.end[number] = job.submit
            return True
        return False

    def leaving(self):
        return [number for number in sorted(self.queue) if self.jobs[number].cancelled == self.now]

    def ending(self, started_before=False):
        return [
            job
            for job in self.running
            if self.start[job] + self.jobs[job].run == self.now and not (started_before and self.start[job] == self.now)
        ]

    def finish(self, job):
        self.end[job] = self.now
        if job in self.queue:
            self.queue.remove(job)
        else:
            self.running.remove(job)
            del self.holding[job]

    def free(self, at):
        return self.machine - sum(self.jobs[job].size for job, until in self.holding.items() if until > at)

    def take(self, job):
        self.queue.remove(job)
        self.running.append(job)
        self.start[job] = self.now
        self.holding[job] = self.now + self.jobs[job].estimate

    def start_jobs(self):
        while self.queue and self.jobs[self.queue[0]].size <= self.free(self.now):
            self.take(self.queue[0])
        if not self.queue:
            return
        head = self.jobs[self.queue[0]]
        for job in self.queue[1:]:
            if self.jobs[job].size > self.free(self.now):
                continue
            before = next(t for t in count(self.now) if self.free(t) >= head.size)
            self.holding[job] = self.now + self.jobs[job].estimate
            harmless = self.free(before) >= head.size
            del self.holding[job]
            if harmless or self.careless:
                self.take(job)


def delays(jobs, start, end, machine):
    """Return the delays that the audit finds, by job."""
    _, found = delayed_heads(
        np.array([job.submit for job in jobs]),
        np.array([job.size for job in jobs]),
        np.array([job.estimate for job in jobs]),
        np.array([start.get(number, NEVER_STARTED) for number in range(len(jobs))]),
        np.array([end[number] for number in range(len(jobs))]),
        machine,
    )
    return {one.job: one for one in found}


MACHINE = 6


@st.composite
def logs(draw, cancelled=False):
    """Logs in which several events happen in most seconds."""
    jobs = []
    for _ in range(draw(st.integers(2, 14))):
        estimate = draw(st.integers(1, 6))
        jobs.append(
            Job(
                draw(st.integers(0, 8)),
                draw(st.integers(1, MACHINE)),
                estimate,
                draw(st.integers(0, estimate)),
                draw(st.none() | st.integers(0, 20)) if cancelled else None,
            )
        )
    return sorted(jobs, key=lambda job: job.submit)


@pytest.mark.parametrize("order", ORDERS)
@given(jobs=logs())
def test_easy_keeps_it_in_whatever_order_a_seconds_events_are_taken(order, jobs):
    easy = Easy(jobs, MACHINE, order)
    assert delays(jobs, easy.start, easy.end, MACHINE) == {}


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("order", ORDERS)
@given(jobs=logs(cancelled=True))
def test_easy_keeps_it_when_waiting_jobs_are_cancelled(order, jobs):
    easy = Easy(jobs, MACHINE, order)
    assert delays(jobs, easy.start, easy.end, MACHINE) == {}


@given(jobs=logs(), by=st.integers(1, 50), which=st.integers(0, 20))
def test_a_blocked_head_that_is_made_to_start_later_is_found(jobs, by, which):
    easy = Easy(jobs, MACHINE, "at once")
    turn, heads = -1, []
    for number, job in enumerate(jobs):
        if easy.start[number] > max(turn, job.submit):
            heads.append(number)
        turn = max(turn, easy.start[number])
    if not heads:
        return
    head = heads[which % len(heads)]
    # From a second on in which nothing else runs, no estimate is an excuse.
    later = max(easy.start.values()) + max(job.estimate for job in jobs) + by
    start, end = {**easy.start, head: later}, {**easy.end, head: later + jobs[head].run}
    found = delays(jobs, start, end, MACHINE)
    assert found[head].left == later
    assert found[head].shadow >= easy.start[head]


@st.composite
def unhurried(draw):
    """Schedules in which no two events share a second, so their order is certain."""
    number = draw(st.integers(1, 10))
    seconds = draw(st.lists(st.integers(0, 300), min_size=3 * number, max_size=3 * number, unique=True))
    times = sorted(sorted(seconds[k : k + 3]) for k in range(0, 3 * number, 3))
    return [
        (Job(submit, draw(st.integers(1, 4)), draw(st.integers(1, 300)), end - start), start, end)
        for submit, start, end in times
    ]


@given(schedule=unhurried(), machine=st.integers(4, 12))
def test_where_seconds_are_not_shared_it_is_the_definition_second_by_second(schedule, machine):
    jobs = [job for job, _, _ in schedule]
    expected = {}
    for number, (job, started, _) in enumerate(schedule):
        turn = max([job.submit, *(start for _, start, _ in schedule[:number])])
        if started <= turn:
            continue
        running = [(other, start, end) for other, start, end in schedule if start <= turn < end]
        for second in range(turn, 1000):
            used = sum(o.size for o, start, end in running if max(start + o.estimate, end) > second)
            if used + job.size <= machine:
                break
        if started > second:
            expected[number] = (turn, second, started)
    start = {number: start for number, (_, start, _) in enumerate(schedule)}
    end = {number: end for number, (_, _, end) in enumerate(schedule)}
    found = delays(jobs, start, end, machine)
    assert {number: (one.became, one.shadow, one.left) for number, one in found.items()} == expected


ONLY_THIS_ORDER = {
    # Several jobs end in a second, some of them of no length and begun in it; each round has one pass.
    "instant": (6, [(1, 3, 5, 2), (2, 4, 4, 0), (2, 3, 4, 1), (2, 3, 3, 2), (2, 1, 2, 2), (3, 6, 1, 0), (3, 1, 5, 5),
                    (4, 5, 3, 1), (4, 4, 4, 3)]),
    # Job 2 becomes head when it is submitted, before job 1 ends early in that second.
    "event": (5, [(2, 5, 8, 2), (2, 2, 7, 1), (5, 5, 4, 4), (5, 2, 2, 2)]),
    # The same, with the completions of jobs that started together: they come in the order of their starts.
    "event, starts together": (5, [(1, 2, 5, 3), (2, 4, 7, 3), (4, 3, 3, 1), (4, 1, 3, 3), (5, 2, 4, 1), (5, 1, 5, 2)]),
    "completions first": (6, [(2, 2, 7, 3), (4, 5, 3, 1), (5, 1, 6, 1), (5, 2, 7, 1), (5, 4, 1, 1), (5, 3, 2, 2)]),
    "completions first, starts together": (6, [(1, 6, 6, 5), (2, 5, 2, 0), (3, 4, 6, 1), (3, 3, 4, 4), (3, 1, 1, 1),
                                               (3, 3, 6, 4), (5, 2, 4, 1)]),
}  # fmt: skip
"""Logs whose EASY schedule follows from no other order of events."""


@pytest.mark.parametrize("name", ONLY_THIS_ORDER)
def test_each_order_explains_schedules_that_no_other_does(name):
    machine, rows = ONLY_THIS_ORDER[name]
    jobs = [Job(*row) for row in rows]
    easy = Easy(jobs, machine, name.partition(",")[0])
    assert delays(jobs, easy.start, easy.end, machine) == {}


def test_backfilling_whatever_fits_delays_a_head():
    jobs = [Job(0, 3, 10, 10), Job(1, 4, 5, 5), Job(2, 1, 30, 30)]
    careless = Easy(jobs, 4, "instant", careless=True)
    assert careless.start == {0: 0, 1: 32, 2: 2}
    [delay] = delays(jobs, careless.start, careless.end, 4).values()
    assert (delay.job, delay.became, delay.shadow, delay.left) == (1, 1, 10, 32)


def test_a_wrong_backfill_in_the_very_second_in_which_the_job_becomes_head_is_found():
    # Job 0 ends at 10, job 2 starts, job 3 becomes head with shadow 20; job 4 starts in that second and holds it up.
    jobs = [Job(0, 4, 10, 10), Job(1, 2, 10, 10), Job(2, 3, 5, 5), Job(3, 2, 40, 40)]
    start = {0: 0, 1: 10, 2: 50, 3: 10}
    end = {number: start[number] + job.run for number, job in enumerate(jobs)}
    [delay] = delays(jobs, start, end, 4).values()
    assert (delay.job, delay.became, delay.shadow, delay.left) == (2, 10, 20, 50)


def test_a_backfill_between_two_completions_of_the_second_in_which_the_job_becomes_head_is_no_delay():
    # At 5, jobs 0 and 1 end ahead of their estimates. Taken one at a time: after the first, job 2 still needs the
    # other, and job 4 is backfilled, since it ends by job 2's shadow (10). Then job 2 starts and job 3 becomes head.
    jobs = [Job(0, 1, 10, 5), Job(0, 2, 10, 5), Job(1, 2, 4, 4), Job(2, 3, 4, 4), Job(3, 1, 5, 5)]
    easy = Easy(jobs, 3, "event")
    assert easy.start == {0: 0, 1: 0, 2: 5, 3: 10, 4: 5}
    assert delays(jobs, easy.start, easy.end, 3) == {}
    # Taken together, job 3 is head when job 4 is looked at, and would have had to start at 9.
    assert Easy(jobs, 3, "instant").start[3] == 9
    # A second later there is no such excuse.
    late = {**easy.start, 3: 11}
    assert delays(jobs, late, {**easy.end, 3: 15}, 3)[3].shadow == 10


def test_a_job_that_outlives_its_estimate_is_counted_until_it_ends():
    jobs = [Job(0, 2, 10, 25), Job(1, 2, 5, 5)]
    assert delays(jobs, {0: 0, 1: 25}, {0: 25, 1: 30}, 2) == {}
    assert delays(jobs, {0: 0, 1: 26}, {0: 25, 1: 31}, 2)[1].shadow == 25


def test_a_head_that_is_cancelled_after_its_shadow_time_was_delayed():
    jobs = [Job(0, 2, 10, 10), Job(1, 2, 5, 5)]
    assert delays(jobs, {0: 0}, {0: 10, 1: 10}, 2) == {}
    assert delays(jobs, {0: 0}, {0: 10, 1: 11}, 2)[1].left == 11


def test_a_job_larger_than_the_machine_has_no_shadow_time():
    jobs = [Job(0, 2, 10, 10), Job(1, 5, 5, 5)]
    assert delays(jobs, {0: 0, 1: 500}, {0: 10, 1: 505}, 4) == {}


def test_no_job_no_head():
    none = np.empty(0, np.int64)
    assert delayed_heads(none, none, none, none, none, 4) == (0, [])


# In the following, jobs 0, 1 and 2 end at 5 ahead of their estimates, one after the other, with a pass between; job 3
# is the head that starts in that second, job 4 the next one, which becomes head then, and the others are backfilled.


def starts_of(jobs, *starts):
    start = dict(enumerate(starts))
    return start, {number: begun + jobs[number].run for number, begun in start.items()}


def test_a_backfill_that_would_have_delayed_the_head_of_its_pass_is_no_excuse():
    # After job 0, job 3's shadow is 10 with nothing extra: job 5, until 45, may not start before job 4 is head.
    jobs = [Job(0, 1, 10, 5), Job(0, 2, 10, 5), Job(0, 2, 20, 5), Job(1, 3, 10, 10), Job(2, 5, 5, 5), Job(3, 1, 40, 40)]
    [delay] = delays(jobs, *starts_of(jobs, 0, 0, 0, 5, 45, 5), 5).values()
    assert (delay.job, delay.became, delay.shadow, delay.left) == (4, 5, 20, 45)


def test_backfills_of_one_pass_share_what_is_extra():
    # After job 0, one processor is extra: job 5 may have it, job 6 not too.
    jobs = [Job(0, 2, 10, 5), Job(0, 2, 10, 5), Job(0, 2, 20, 5), Job(1, 3, 10, 10), Job(2, 5, 5, 5)]
    jobs += [Job(3, 1, 40, 40), Job(4, 1, 40, 40)]
    [delay] = delays(jobs, *starts_of(jobs, 0, 0, 0, 5, 45, 5, 5), 6).values()
    assert (delay.job, delay.became, delay.shadow, delay.left) == (4, 5, 20, 45)


def test_a_backfill_may_end_in_the_very_second_of_the_shadow_time():
    jobs = [Job(0, 2, 10, 5), Job(0, 2, 50, 5), Job(0, 1, 60, 5), Job(1, 3, 5, 5), Job(2, 4, 5, 5), Job(3, 2, 45, 45)]
    easy = Easy(jobs, 5, "event")
    assert (easy.start[3], easy.start[4], easy.start[5]) == (5, 50, 5)
    assert delays(jobs, easy.start, easy.end, 5) == {}


def test_processors_of_all_jobs_that_end_at_the_shadow_time_are_extra():
    jobs = [Job(0, 2, 10, 5), Job(0, 2, 50, 5), Job(0, 1, 50, 5), Job(1, 3, 5, 5), Job(2, 4, 5, 5), Job(3, 2, 100, 100)]
    easy = Easy(jobs, 5, "event")
    assert (easy.start[3], easy.start[4], easy.start[5]) == (5, 105, 5)
    assert delays(jobs, easy.start, easy.end, 5) == {}


def test_a_head_that_is_cancelled_excuses_what_was_backfilled_behind_it_in_that_second():
    # Job 4 arrives at 5 and may run until job 2's shadow time, 20; then job 2 is cancelled and job 3 becomes head.
    jobs = [Job(0, 1, 8, 8), Job(0, 2, 20, 20), Job(1, 4, 5, 5, 5), Job(2, 2, 5, 5), Job(5, 1, 15, 15)]
    easy = Easy(jobs, 4, "event")
    assert easy.start == {0: 0, 1: 0, 3: 20, 4: 5}
    assert delays(jobs, easy.start, easy.end, 4) == {}


# -------------------------------------------------------------------------------------------------------- priorities


def overtaken(rows):
    """Return (job, by), given rows of submit, processors, estimate, start (None: cancelled), end, priority."""
    columns = [
        np.array([NEVER_STARTED if value is None else value for value in column]) for column in zip(*rows, strict=True)
    ]
    return [tuple(each) for each in overtakings(*columns)]


FIRST = (0, 2, 10, 50, 60, 1)


@pytest.mark.parametrize(
    ("first", "later", "found"),
    [
        (FIRST, (0, 2, 10, 49, 59, 0), True),
        (FIRST, (0, 2, 10, 50, 60, 0), False),  # they start together
        (FIRST, (0, 2, 10, 49, 59, 1), False),  # of the same priority
        (FIRST, (0, 1, 10, 49, 59, 0), False),  # it requests less
        (FIRST, (0, 2, 9, 49, 59, 0), False),
        ((0, 2, 10, None, 50, 1), (0, 3, 11, 49, 59, 0), True),  # it is cancelled, and waited until then
        ((0, 2, 10, None, 49, 1), (0, 3, 11, 49, 59, 0), False),
        (FIRST, (0, 2, 10, None, 40, 0), False),
    ],
)
def test_a_job_is_overtaken_by_a_later_one_of_lower_priority_that_asks_for_no_less(first, later, found):
    assert overtaken([first, later]) == ([(0, 1)] if found else [])
    assert overtaken([later, first]) == []


few = st.integers(1, 3)
requests = st.tuples(st.integers(0, 3), few, few, st.integers(0, 30), st.integers(0, 2), st.booleans())


@examples(100)
@given(st.lists(requests, max_size=150))
def test_overtakings_are_those_of_all_pairs(drawn):
    now, rows = 0, []
    for gap, processors, estimate, wait, priority, cancelled in drawn:
        now += gap
        rows.append((now, processors, estimate, None if cancelled else now + wait, now + wait, priority))
    pairs = {
        by: next(
            (
                job
                for job, one in enumerate(rows[:by])
                if one[5] > other[5] and one[1] <= other[1] and one[2] <= other[2]
                and (one[4] if one[3] is None else one[3]) > other[3]
            ),
            None,
        )
        for by, other in enumerate(rows)
        if other[3] is not None
    }  # fmt: skip
    expected = [(job, by) for by, job in pairs.items() if job is not None]
    assert (overtaken(rows) if rows else []) == expected
