"""One run of the study of several machines: the gain by deviating, and which applications gain by hedging."""

import numpy as np
import pytest
from made_machines import machines_of, world_of_these

from experiments.supercomputers.run import outcome, trial


@pytest.fixture(scope="module")
def world():
    return world_of_these(machines_of(), percent=20)[0]


@pytest.fixture(scope="module")
def with_true_estimates():
    return world_of_these(machines_of(true=True), percent=20, accuracy=1.0)[0]


def no_application(world):
    return np.zeros(len(world.applications), np.bool_)


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(
    ("others", "some"),
    [
        ("choose", "everywhere"),
        ("choose", "hedge"),
        ("choose-static", "everywhere-static"),
        ("choose", "coallocate"),
    ],
)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_gain_by_deviating_is_that_in_a_world_where_only_this_application_deviates(world, others, some, share):
    does = np.random.default_rng(3).random(len(world.applications)) < share
    found = trial(world, others, some, does, deviating=True)
    differ = np.flatnonzero((found.end != found.other_end) | found.waits)
    assert len(differ) > 10
    for number in differ[:: max(1, len(differ) // 8)].tolist():
        changed = does.copy()
        changed[number] = not changed[number]
        there = trial(world, others, some, changed)
        assert there.end[number] == found.other_end[number]
        assert len(there.machines.submitted[number]) == found.other_submissions[number]


def test_following_deviations_changes_nothing(world):
    does = np.random.default_rng(3).random(len(world.applications)) < 0.5
    with_them = outcome(trial(world, "choose", "hedge", does, deviating=True))
    without = outcome(trial(world, "choose", "hedge", does))
    assert with_them.pop("gain") is not None
    assert without.pop("gain") is None
    assert with_them == without


@pytest.mark.thorough
def test_with_true_estimates_the_first_to_submit_everywhere_gains_nothing(with_true_estimates):
    world = with_true_estimates
    for others, some in (("choose", "hedge"), ("choose", "everywhere"), ("choose-static", "everywhere-static")):
        found = trial(world, others, some, no_application(world), deviating=True)
        assert found.waits.sum() > 10
        assert (found.other_end >= found.end).all()
        if some != "everywhere":  # with it, the first job to start may end later
            assert (found.other_end == found.end).all()


def test_with_wrong_estimates_the_first_to_hedge_is_sooner_sometimes(world):
    found = trial(world, "choose", "hedge", no_application(world), deviating=True)
    assert (found.other_end < found.end).any()
    gain = outcome(found)["gain"]
    assert gain["all"]["mean"] > 0
    extra = np.where(found.waits, found.other_submissions - 1, 0)  # a job that need not wait is submitted once
    assert gain["all"]["extra"] == pytest.approx(extra.mean())
    assert gain["waiting"]["extra"] == pytest.approx(extra[found.waits].mean())
    assert gain["waiting"]["sooner"] == (found.other_end < found.end)[found.waits].mean()
