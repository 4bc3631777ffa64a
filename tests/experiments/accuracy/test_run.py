"""``gas experiment accuracy``: the outcomes of requests by a wrong model."""

import numpy as np
import pytest
from made_up import busy_jobs

from experiments.accuracy.beliefs import PLANS, Plan
from experiments.accuracy.run import came_of
from experiments.moldable.benchmarks import Form, application
from experiments.moldable.outcomes import Month, outcomes
from experiments.moldable.substitution import substitutes

FORM = Form()


@pytest.fixture(scope="module")
def jobs():
    return busy_jobs(400, 64, seed=3)


@pytest.fixture(scope="module")
def placed(jobs):
    return substitutes(jobs, 25, mix="thirds", form=FORM, opponent="uniform", generator=np.random.default_rng(2))


@pytest.fixture(scope="module")
def found(jobs, placed):
    return came_of(Month(jobs, 0, placed, FORM), "s3", [0])


def test_with_an_exact_model_gas_does_what_it_does_in_the_study_of_one_job(jobs, placed, found):
    expected = outcomes(Month(jobs, 0, placed, FORM))
    assert [row["submit"] for row in found] == [one.submit for one in expected]
    for row, one in zip(found, expected, strict=True):
        assert (row["static_size"], row["static"]) == (one.static_size, one.static)
        for plan, (size, _, turnaround, killed) in zip(PLANS, row["plans"], strict=True):
            if plan.error == 0 and plan.way == "gas":
                assert (size, turnaround, killed) == (one.gas_size, one.gas, 0)
            if plan.error == 0 and plan.way == "same model":
                assert (size, turnaround, killed) == (one.static_size, one.static, 0)


def test_who_is_killed_asked_for_less_than_the_job_needs_and_others_did_not(jobs, found):
    requests = {}
    for row in found:
        key = row["benchmark"], row["problem_class"]
        asked = requests.setdefault(key, application(*key, FORM).requests(jobs.machine))
        needed = dict(zip(asked.sizes.tolist(), asked.times.tolist(), strict=True))
        for size, walltime, turnaround, killed in row["plans"]:
            tries = 0
            while (
                min(walltime * 2**tries, int(asked.times.max())) < needed[size] and walltime * 2**tries < needed[size]
            ):
                tries += 1
            assert killed == tries
            assert turnaround >= needed[size] + sum(walltime * 2**k for k in range(tries))
    assert any(killed > 1 for row in found for *_, killed in row["plans"])


def test_the_draws_of_a_job_are_its_own_whatever_else_is_replaced(jobs, placed, found):
    fewer = sorted(placed, key=lambda one: one.place)[::3]
    assert came_of(Month(jobs, 0, fewer, FORM), "s3", [0]) == found[::3]
    assert came_of(Month(jobs, 0, fewer, FORM), "s3", [1]) != found[::3]


def test_the_cautious_ask_for_what_gas_does_or_for_what_the_user_does(found):
    changed = 0
    for row in found:
        plans = dict(zip(PLANS, row["plans"], strict=True))
        for plan, came in plans.items():
            if plan.way == "cautious":
                gas = plans[Plan(plan.variant, plan.error, "gas")]
                assert came == gas or (came[0], *came[2:]) == (row["static_size"], row["static"], 0)
                changed += came != gas
    assert changed
