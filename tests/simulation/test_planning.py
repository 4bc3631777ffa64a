"""The policies with a plan: long queues are handled like short ones."""

import pytest
from small_logs import assert_equal, busy_log

from gas.simulation.schedule import ORDERS, POLICIES
from gas.simulation.simulate import simulate

each_policy = pytest.mark.parametrize("policy", POLICIES)

each_order = pytest.mark.parametrize("order", ORDERS)


def check(case, policy, machine_code, **rules):
    got = simulate(case.jobs, policy, machine_code=machine_code, **case.beside, **rules)
    try:
        assert_equal(got, case.by_force(policy, **rules))
    except AssertionError:
        print(f"{policy} {rules} machine_code={machine_code}\n{case}")
        raise
    return got


@pytest.mark.thorough(but=4)
@each_order
@each_policy
@pytest.mark.parametrize(("seed", "disturbed"), [(1, False), (2, True)])
def test_a_long_queue_with_many_holes_before_it_is_kept_like_a_short_one(policy, order, seed, disturbed):
    case = busy_log(seed, 100, disturbed=disturbed)
    expected = case.by_force(policy, order=order)
    for machine_code in (True, False):
        assert_equal(simulate(case.jobs, policy, order=order, machine_code=machine_code, **case.beside), expected)


@pytest.mark.long
@each_order
@each_policy
@pytest.mark.parametrize("seed", range(100, 115))
def test_longer_queues_of_any_load_too(policy, order, seed):
    jobs = 120 if policy == "s3-1999" else 200  # the brute force is slow
    case = busy_log(seed, jobs, load=(1.2, 2, 3)[seed % 3], disturbed=seed % 2 == 0)
    check(case, policy, machine_code=True, order=order, overrun=("kill", "extend")[seed // 2 % 2])
