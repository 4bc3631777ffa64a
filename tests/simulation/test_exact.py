"""The simulator is exact: job by job it equals the brute force, which follows `gas guide rules` to the letter."""

import os

import numpy as np
import pytest
from hypothesis import given
from small_logs import Case, assert_equal, disturbed_logs, logs, random_log
from thorough import examples, rounds

from gas.simulation.schedule import ORDERS, POLICIES
from gas.simulation.simulate import simulate
from workloads import read_swf, rigid_jobs

each_policy = pytest.mark.parametrize("policy", POLICIES)
each_order = pytest.mark.parametrize("order", ORDERS)
PROMISING = [p for p in POLICIES if p not in ("fcfs", "easy", "conservative-replan")]

each_overrun = pytest.mark.parametrize("overrun", ["kill", "extend"])


def check(case, policy, machine_code, **rules):
    got = simulate(case.jobs, policy, machine_code=machine_code, **case.beside, **rules)
    try:
        assert_equal(got, case.by_force(policy, **rules))
    except AssertionError:
        print(f"{policy} {rules} machine_code={machine_code}\n{case}")
        raise
    return got


# ----------------------------------------------------------------------------------- small logs, shrunk on a failure


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@examples(60)
@given(case=logs())
def test_plain_source_starts_each_job_when_the_rules_say(policy, order, case):
    for overrun in ("kill", "extend"):
        check(case, policy, machine_code=False, order=order, overrun=overrun)


@pytest.mark.thorough(but=6)
@each_order
@each_policy
@examples(60)
@given(case=disturbed_logs())
def test_so_it_does_beside_cancellations_and_reservations_and_nothing_is_there_twice(policy, order, case):
    check(case, policy, machine_code=False, order=order, overrun="extend")
    schedule = check(case, policy, machine_code=False, order=order, overrun="kill")
    ran = schedule.started
    if policy in PROMISING:
        assert (schedule.start <= schedule.promise)[ran].all()
    assert (schedule.start >= schedule.jobs.submit)[ran].all()
    booked = np.array(case.reservations, np.int64).reshape(-1, 4)
    start = np.concatenate([schedule.start[ran], schedule.reserved])
    end = np.concatenate([schedule.end[ran], schedule.reserved + booked[:, 3]])
    size = np.concatenate([schedule.jobs.processors[ran], booked[:, 1]])
    for instant in set(start.tolist()):
        assert size[(start <= instant) & (instant < end)].sum() <= case.machine


# ------------------------------------------------------------------------------------------------- thousands of logs


def thousands(policy, order, overrun, count, first):
    """Check this many seeded logs, compiled; a tenth of them have more jobs."""
    for seed in range(first, first + count):
        disturbed = seed % 3 == 0
        check(random_log(seed, disturbed=disturbed), policy, machine_code=True, order=order, overrun=overrun)
        if seed % 10 == 0:
            case = random_log(seed, jobs=(20, 60), disturbed=disturbed)
            check(case, policy, machine_code=True, order=order, overrun=overrun)


@pytest.mark.thorough(but=5)
@each_overrun
@each_order
@each_policy
def test_machine_code_does_the_same_on_many_logs(policy, order, overrun):
    thousands(policy, order, overrun, count=rounds(150), first=0)


@pytest.mark.long
@each_overrun
@each_order
@each_policy
def test_machine_code_does_the_same_on_thousands_of_logs(policy, order, overrun):
    first = int(os.environ.get("GAS_SEED", "1000000"))
    thousands(policy, order, overrun, count=3_000, first=first)


@pytest.mark.long
@each_order
@each_policy
def test_the_whole_kth_log(traces, policy, order):
    jobs = rigid_jobs(read_swf(traces / "KTH-SP2-1996-2.1-cln.swf.gz"), 100)
    columns = (jobs.submit, jobs.processors, jobs.estimate, jobs.run_time)
    case = Case(100, tuple(zip(*(column.tolist() for column in columns), strict=True)))
    assert_equal(simulate(jobs, policy, order=order), case.by_force(policy, order=order))


@pytest.mark.thorough(but=4)
@each_order
@each_policy
def test_plain_and_compiled_source_give_the_same_schedule(policy, order):
    case = random_log(11, jobs=(600, 600), most_processors=64, disturbed=True)
    plain, fast = (simulate(case.jobs, policy, order=order, machine_code=code, **case.beside) for code in (False, True))
    for name in ("start", "end", "promise", "reserved"):
        assert np.array_equal(getattr(plain, name), getattr(fast, name))


def test_the_input_is_left_unchanged():
    case = random_log(5, disturbed=True)
    jobs, beside = case.jobs, case.beside
    simulate(jobs, "s3", machine_code=True, **beside)
    assert np.array_equal(jobs.run_time, case.jobs.run_time)
    assert np.array_equal(beside["cancellations"], case.beside["cancellations"])
