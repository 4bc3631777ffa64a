"""The bake-off: scores, which method is first, and which months judge."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.framework.logs import find_logs
from experiments.prediction.bakeoff import COVERED, SCORES, Waits, judging_from, split, wait_runs

MONTHS = [f"1997-{month:02}" for month in range(1, 9)]


def result(name, rows, waits, months=None):
    months = [MONTHS[i * len(MONTHS) // len(waits)] for i in range(len(waits))] if months is None else months
    return {"jobs": len(waits), "month": months, "wait": list(waits), "predicted": {name: rows}}


@pytest.fixture
def compared():
    """Jobs that waited for 1,200 s; Gas is always 100 s late, boosting is right for half of them and else far off."""
    waits = [1200] * 80
    gas = [[1000, 1300, 1500]] * 80
    other = [[1200, 1200, 1200] if i % 2 else [0, 5000, 6000] for i in range(80)]
    return Waits([result("gas", gas, waits), result("boosting", other, waits)])


def test_scores_are_those_of_the_field(compared):
    gas = {name: score.of(compared, "gas").mean for name, score in SCORES.items()}
    assert (gas["minute"], gas["ten"], gas["factor"], gas["covered"]) == (0, 100, 100, 100)
    assert (gas["median"], gas["mean"], gas["width"]) == pytest.approx((100 / 60, 100 / 60, 500 / 60))
    assert gas["pinball"] == pytest.approx((200 * 0.05 + 100 * 0.5 + 300 * 0.05) / 3 / 60)
    boosting = {name: score.of(compared, "boosting").mean for name, score in SCORES.items()}
    assert (boosting["minute"], boosting["factor"], boosting["covered"]) == (50, 50, 100)


def test_the_first_is_best_and_the_others_are_worse_where_months_agree(compared):
    assert compared.first(SCORES["minute"]) == "boosting"
    assert SCORES["minute"].apart(compared, "gas", "boosting").mean == -50
    assert compared.first(SCORES["mean"]) == "gas"
    assert SCORES["mean"].apart(compared, "gas", "boosting").mean < 0


def test_an_interval_holds_between_its_ends_both_included():
    wait = np.array([9.0, 10.0, 15.0, 20.0, 21.0, 15.0])
    low, high = np.full(6, 10.0), np.full(6, 20.0)
    low[5] = np.nan  # no prediction
    held = COVERED.values(wait, low, np.full(6, 15.0), high)
    assert held[:5].tolist() == [0, 100, 100, 100, 0]
    assert np.isnan(held[5])


def test_a_method_that_says_nothing_is_not_scored():
    waits = Waits([result("promise", [[None, 60.0, None]] * 8, [0] * 8), result("bounds", [[None] * 3] * 8, [0] * 8)])
    assert SCORES["minute"].of(waits, "promise").mean == 100
    assert not np.isfinite(COVERED.values(waits.wait, *waits.predicted("promise"))).any()
    assert waits.first(SCORES["minute"]) == "promise"


def test_what_tunes_and_what_judges_is_fixed_and_no_month_does_both(made_logs):
    assert split()["date"].isoformat() == "2026-11-24"
    for log in find_logs(made_logs)[0]:
        assert judging_from(log) == split()["judging_from"][log.source.trace]
        assert judging_from(replace(log, own=True)) == ""  # nothing was tuned on a log of a user


def test_a_log_without_recorded_waits_is_compared_where_it_is_simulated(made_logs):
    runs, left_out = wait_runs(find_logs(made_logs)[0], 50, 10, 0)
    assert {run.truth for run in runs} == {"s3", "easy"}
    assert any("no recorded waits" in words for words in left_out)
