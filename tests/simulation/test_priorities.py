"""Priorities: which jobs move to earlier starts first. No promise gets later; no lower priority overtakes a higher."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, assert_equal, busy_log, disturbed_logs, logs, prioritized
from thorough import examples

from gas.errors import BadInput
from gas.simulation.schedule import NEVER_STARTED
from gas.simulation.simulate import simulate

PLANNING = ("conservative", "s3", "s3-1999", "conservative-replan", "conservative-static")


def starts(case, policy="s3"):
    return simulate(case.jobs, policy, machine_code=False, **case.beside).start.tolist()


def overtaken(schedule):
    """Return pairs of a job and a later one of lower priority and at least the same request that started first."""
    jobs, pairs = schedule.jobs, []
    for i in np.flatnonzero(schedule.started):
        below = schedule.started & (schedule.priority < schedule.priority[i]) & (schedule.start < schedule.start[i])
        below &= (jobs.processors >= jobs.processors[i]) & (jobs.estimate >= jobs.estimate[i])
        pairs += [(int(i), int(j)) for j in np.flatnonzero(below) if j > i]
    return pairs


# Two processors; the first job holds both and ends at 2 instead of 10. The others wait in turn, each for the machine.
ROWS = ((0, 2, 10, 2), (0, 2, 5, 5), (0, 2, 5, 5), (0, 2, 5, 5))


def test_a_job_of_higher_priority_is_moved_first_when_processors_come_free():
    assert starts(Case(2, ROWS)) == [0, 2, 7, 12]
    # It is planned for 20 as it arrives last: that hole is not longer, so it cannot pass those before it by 5 s ...
    assert starts(Case(2, (*ROWS[:3], (0, 2, 3, 3)), priorities=(0, 0, 0, 1))) == [0, 5, 10, 2]
    # ... and without priority it takes what they leave.
    assert starts(Case(2, (*ROWS[:3], (0, 2, 3, 3)))) == [0, 2, 7, 12]


def test_an_arriving_job_gets_the_first_slot_whatever_its_priority_as_planned_starts_are_promises():
    case = Case(2, ((0, 2, 10, 10), (1, 2, 5, 5), (2, 2, 5, 5)), priorities=(0, 0, 9))
    assert starts(case) == [0, 10, 15]


def test_what_a_job_of_lower_priority_leaves_goes_to_those_above_it_first():
    # When the first job ends at 3, the two small ones move there. Only then is there room at 4, which one pass over all
    # would give to the last job, as it comes after them.
    rows = ((0, 2, 4, 3), (0, 1, 1, 1), (0, 2, 1, 1), (0, 1, 1, 1), (0, 2, 1, 1))
    assert starts(Case(2, rows, priorities=(1, 1, 1, 1, 0))) == [0, 3, 4, 3, 5]
    assert starts(Case(2, rows, priorities=(1, 1, 1, 1, 1))) == [0, 3, 5, 3, 4]


def test_a_job_of_lower_priority_does_not_slide_after_its_like_into_what_a_higher_one_can_use():
    # The first job ends at 2 instead of 5, and the third slides from 3 to 2. What it leaves at 3 is for the fifth, of
    # higher priority, not for the fourth, which is like the third and next to it in the queue.
    rows = ((0, 1, 5, 2), (0, 2, 3, 3), (0, 2, 3, 3), (0, 2, 3, 1), (0, 2, 8, 7), (0, 1, 8, 8), (1, 1, 1, 1))
    case = Case(4, rows, priorities=(1, 0, 0, 0, 2, 1, 2))
    assert starts(case) == case.by_force("s3").start == [0, 0, 2, 5, 3, 6, 1]


@pytest.mark.parametrize("order", ["instant", "event"])
@pytest.mark.parametrize("policy", PLANNING)
@examples(80)
@given(case=prioritized(st.one_of(logs(), disturbed_logs())))
def test_each_job_starts_when_the_rules_say(policy, order, case):
    schedule = simulate(case.jobs, policy, order=order, machine_code=False, **case.beside)
    assert_equal(schedule, case.by_force(policy, order=order))


@pytest.mark.parametrize("policy", ["s3", "s3-1999"])
@examples(200)
@given(case=prioritized(st.one_of(logs(), disturbed_logs())))
def test_promises_hold_and_no_job_is_overtaken_by_a_later_job_below_it_that_asks_for_no_less(policy, case):
    schedule = simulate(case.jobs, policy, machine_code=False, **case.beside)
    went = schedule.started
    assert (schedule.start[went] <= schedule.promise[went]).all()
    assert overtaken(schedule) == []


@examples(60)
@given(case=logs())
def test_one_priority_for_all_is_none(case):
    same = simulate(case.jobs, "s3", machine_code=False, priorities=np.full(len(case.rows), -3))
    assert same.start.tolist() == starts(case)


@pytest.mark.parametrize("seed", range(4))
def test_long_queues_too_in_machine_code(seed):
    case = busy_log(seed, 400, load=2.0, disturbed=seed % 2 == 1)
    priorities = np.random.default_rng(seed).choice([0, 0, 0, 1, 5], 400)
    schedules = [
        simulate(case.jobs, policy, priorities=priorities, **case.beside)
        for policy in ("s3", "s3-1999", "conservative")
    ]
    for schedule in schedules[:2]:
        went = schedule.started
        assert (schedule.start[went] <= schedule.promise[went]).all()
        assert overtaken(schedule) == []
    waits = schedules[0].start - schedules[0].jobs.submit
    went = schedules[0].start != NEVER_STARTED
    assert waits[went & (priorities == 5)].mean() < waits[went & (priorities == 0)].mean()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_thousands_of_moves_are_those_of_brute_force(seed):
    case = busy_log(100 + seed, 120, load=2.0, disturbed=seed % 2 == 1)
    priorities = tuple(np.random.default_rng(seed).integers(0, 4, 120).tolist())
    prioritized_case = Case(case.machine, case.rows, case.cancellations, case.reservations, priorities)
    for policy in ("s3", "s3-1999"):
        schedule = simulate(case.jobs, policy, **prioritized_case.beside)
        assert_equal(schedule, prioritized_case.by_force(policy))


@pytest.mark.parametrize(
    ("policy", "priorities", "message"),
    [
        ("easy", [0, 1], 'apply to policies that plan every job, not to "easy"'),
        ("s3", [0], r"have the shape \(1,\); one for each of the 2 jobs"),
        ("s3", [0, 2**31], "priority 2147483648 of job 2: must be from -2147483647 to 2147483647"),
        ("s3", [0.5, 1], "whole numbers"),
    ],
)
def test_priorities_that_cannot_be_are_refused(policy, priorities, message):
    with pytest.raises(BadInput, match=message):
        simulate(Case(2, ROWS[:2]).jobs, policy, priorities=priorities, machine_code=False)
