"""Whole real logs under every policy: the auditor, an independent implementation of the rules, finds nothing."""

from functools import cache

import pytest
from thorough import some

from gas.simulation.audit import audit
from gas.simulation.recorded import recorded
from gas.simulation.schedule import ORDERS
from gas.simulation.simulate import simulate
from workloads import read_swf, rigid_jobs

LOGS = {
    "KTH-SP2-1996-2.1-cln": 100,
    "CTC-SP2-1996-3.1-cln": 338,
    "SDSC-SP2-1998-4.2-cln": 128,
    "SDSC-Par-1996-3.1-cln": None,  # as the header says
    "LANL-CM5-1994-4.1-cln": None,
}
PROMISES = {"fcfs": "fcfs", "easy": "easy", "conservative": "conservative", "s3": "conservative"}


@cache
def read(path):
    return read_swf(path)


def assert_kept(traces, name, policy, order, overrun):
    """Raise if a schedule of a whole log breaks a rule."""
    log = read(traces / f"{name}.swf.gz")
    jobs = rigid_jobs(log, LOGS[name])
    schedule = simulate(jobs, policy, order=order, overrun=overrun)
    found = audit(recorded(schedule), processors=jobs.machine, promise=PROMISES[policy], log=log, overrun=overrun)
    assert found.jobs == len(jobs)
    assert [check for check in found.checks if not check.ok] == []


each_order = pytest.mark.parametrize("order", ORDERS)
each_policy = pytest.mark.parametrize("policy", PROMISES)
each_log = pytest.mark.parametrize("name", LOGS)


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("order", some(ORDERS, 1))
@each_policy
@each_log
def test_who_outlives_the_estimate_is_killed(traces, name, policy, order):
    assert_kept(traces, name, policy, order, "kill")


@pytest.mark.long
@each_order
@each_policy
@each_log
def test_who_outlives_the_estimate_is_given_time(traces, name, policy, order):
    assert_kept(traces, name, policy, order, "extend")
