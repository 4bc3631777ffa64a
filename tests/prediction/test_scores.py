import pytest

from gas.prediction.backtest import Outcome
from gas.prediction.scores import WAITS, by_wait, scores_of


def outcome(wait, median=0.0, similar=None):
    return Outcome(
        0,
        0,
        wait,
        median,
        0,
        10_000,
        0,
        10_000,
        weight=0.5,
        simulated=median,
        learnt=None,
        planned=10_000,
        similar=similar,
        waiting=0,
        samples=100,
        held_from=0.9,
        raw_held_from=0.9,
    )


def test_scores_are_those_of_the_field():
    found = scores_of([outcome(0, 0), outcome(600, 660), outcome(1200, 700), outcome(1200, 500)], "median")
    assert found.jobs == 4
    assert found.median_error == pytest.approx(280)
    assert found.mean_error == pytest.approx((0 + 60 + 500 + 700) / 4)
    assert (found.within_1_minute, found.within_10_minutes) == (0.5, 0.75)
    assert found.within_factor_2 == 0.5  # of the two that waited for more than ten minutes


def test_jobs_without_a_prediction_of_a_kind_are_not_scored():
    found = scores_of([outcome(0), outcome(60, similar=60.0)], "similar")
    assert (found.jobs, found.median_error, found.within_factor_2) == (1, 0.0, None)
    nothing = scores_of([], "median")
    assert (nothing.jobs, nothing.mean_error) == (0, None)


def test_classes_of_waits_hold_every_outcome_once():
    waits = [0, 59, 60, 599, 600, 3599, 3600, 14_399, 14_400, 10**7]
    found = by_wait([outcome(wait) for wait in waits])
    assert [[one.wait for one in part] for _, part in found] == [waits[i : i + 2] for i in range(0, 10, 2)]
    assert [bounds for bounds, _ in found] == list(WAITS)
    assert [bounds for bounds, _ in by_wait([outcome(60)])] == [(60, 600)]
