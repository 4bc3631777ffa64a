"""What a wrong model costs, and up to which error Gas gains."""

from dataclasses import replace

import numpy as np
import pytest
from made_accuracy import made_study

from experiments.accuracy.beliefs import ERRORS, PLANS, Plan
from experiments.accuracy.results import MEASURES, break_even, gain, killed, longer, loses


@pytest.fixture(scope="module")
def came():
    study = made_study(0, 1)
    return study.came[study.options.terms, "SDSC"]


def changed(came, plan, turnaround):
    every = came.turnaround.copy()
    every[:, PLANS.index(plan)] = turnaround
    return replace(came, turnaround=every)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_gain_is_by_how_much_the_turnaround_time_is_shorter(came, measure):
    plan = Plan("scalability", 50, "gas")
    halved = changed(came, plan, came.static // 2)
    assert gain(halved, plan, measure)(0.9).mean == pytest.approx(50, abs=0.1)
    assert loses(halved, plan)(0.9).mean == 0
    doubled = changed(came, plan, came.static * 2)
    assert gain(doubled, plan, measure)(0.9).mean == pytest.approx(-100)
    assert loses(doubled, plan)(0.9).mean == 100


def test_how_much_longer_it_is_than_with_an_exact_model(came):
    plan, exact = Plan("each size", 300, "gas"), Plan("each size", 0, "gas")
    third = changed(came, plan, came.turnaround[:, PLANS.index(exact)] * 3)
    assert longer(third, plan)(0.9).mean == pytest.approx(200)
    assert longer(third, exact)(0.9).mean == 0


def test_killed_counts_jobs_not_requests(came):
    plan = Plan("each size", 300, "gas")
    kills = came.killed.copy()
    kills[:, PLANS.index(plan)] = np.arange(len(kills)) % 4  # never, once, twice, three times
    assert killed(replace(came, killed=kills), plan)(0.9).mean == 75


@pytest.mark.parametrize("measure", ["mean", "geometric mean"])
def test_the_break_even_is_the_last_error_before_the_first_without_a_sure_gain(came, measure):
    assert break_even(came, "each size", "gas", measure) == ERRORS[-1]
    lost = changed(came, Plan("each size", 100, "gas"), came.static * 2)
    assert break_even(lost, "each size", "gas", measure) == 50
    assert break_even(lost, "each size", "cautious", measure) == ERRORS[-1]
    assert break_even(changed(came, Plan("each size", 0, "gas"), came.static), "each size", "gas", measure) is None


def test_of_fewer_than_four_months_there_is_no_break_even():
    study = made_study(0, 1)
    few = replace(study, runs=study.runs[:3], results=study.results[:3])
    assert break_even(few.came[few.options.terms, "SDSC"], "each size", "gas", "mean") is None
