from itertools import count

import numpy as np
import pytest
from made_up import NOW, past_of

from gas.errors import BadInput
from gas.prediction import LEAST_SAMPLES, NotPredicted
from gas.prediction.forecast import compile_forecasts, forecast, forecast_in_plain_python
from gas.prediction.snapshot import UNPLANNED, Snapshot

HOUR = 3600


def queue(waiting=3):
    """Return a machine of 10 processors that is full for up to an hour, with jobs of the whole machine queued."""
    count = 1 + waiting
    zero = np.zeros(count, np.int64)
    start = np.array([NOW - 60, *[UNPLANNED] * waiting])
    return Snapshot(NOW, 10, zero + 10, zero + HOUR, start, np.arange(count) == 0, zero)


def test_who_uses_a_tenth_lets_others_start_sooner():
    found = forecast(queue(), past_of(0.1), [10, 10], [HOUR, HOUR], [1000, 2000], samples=200)
    assert found.latest.tolist() == [NOW + 4 * HOUR - 60] * 2
    assert found.alone.all()
    assert (found.expected_start < NOW + 0.35 * 4 * HOUR).all()
    assert np.diff(found.expected_finish) == 1000


def test_everybody_who_uses_up_the_walltime_makes_the_promise_come_true():
    found = forecast(queue(), past_of(2.5, 500), [10], [HOUR], [1000], samples=200)
    assert (found.starts == found.latest).mean() > 0.9


def test_an_empty_machine_is_free_now_for_sure():
    nobody = np.zeros(0, np.int64)
    empty = Snapshot(NOW, 10, nobody, nobody, nobody, np.zeros(0, bool), nobody)
    found = forecast(empty, past_of(0.5), [1, 10], [60, HOUR], [50, 3000], samples=10)
    assert (found.starts == NOW).all()
    assert [part.tolist() for part in found.interval()] == [[NOW, NOW]] * 2


def test_an_interval_holds_its_share_of_the_samples_and_grows_with_it():
    found = forecast(queue(5), past_of(0.4), [10], [HOUR], [60], samples=400)
    widths = []
    for share in (0.5, 0.8, 0.9, 0.99):
        low, high = found.interval(share)
        inside = ((found.starts[:, 0] >= low[0]) & (found.starts[:, 0] <= high[0])).mean()
        assert inside >= share
        widths.append(high[0] - low[0])
    assert widths == sorted(widths)


def test_risk_asks_for_a_later_finish_than_the_mean():
    found = forecast(queue(5), past_of(0.4), [10], [HOUR], [60], samples=400)
    assert found.scores(0.1) < found.scores() < found.scores(0.95)


def test_same_seed_same_forecast_with_any_number_of_threads():
    told = [
        forecast(queue(5), past_of(0.3), [3, 10], [600, HOUR], [500, 3000], samples=50, seed=seed, threads=threads)
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    ]
    assert (told[0].starts == told[1].starts).all()
    assert (told[0].starts != told[2].starts).any()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (([0], [60], [50]), "processors 0: the machine has 10"),
        (([11], [60], [50]), "processors 11: the machine has 10"),
        (([1], [0], [50]), "walltime 0"),
        (([1], [2**40], [50]), "walltime 1099511627776: must be 1 to 4294967296"),
        (([1, 2], [60, 60], [50]), "2, 2, 1 processors, walltimes and execution times"),
    ],
)
def test_what_cannot_be_asked(arguments, problem):
    with pytest.raises(BadInput, match=problem):
        forecast(queue(), past_of(0.5), *arguments, samples=10)


def test_some_samples_and_a_share_are_needed():
    with pytest.raises(BadInput, match="samples 0: at least 1"):
        forecast(queue(), past_of(0.5), [1], [60], [50], samples=0)
    with pytest.raises(BadInput, match="samples 100000000: too many for 4 jobs; 12500000 at most"):
        forecast(queue(), past_of(0.5), [1], [60], [50], samples=10**8)
    with pytest.raises(BadInput, match="seed -1"):
        forecast(queue(), past_of(0.5), [1], [60], [50], seed=-1)
    found = forecast(queue(), past_of(0.5), [1], [60], [50], samples=5)
    for ask in (lambda: found.interval(1.0), lambda: found.scores(0.0)):
        with pytest.raises(BadInput, match="must be above 0 and below 1"):
            ask()


@pytest.mark.thorough
def test_of_many_candidates_those_that_seem_best_are_followed_by_themselves():
    sizes = np.arange(1, 11)
    lasts = 6000 // sizes
    told = {
        alone: forecast(queue(6), past_of(0.3), sizes, 2 * lasts, lasts, samples=40, alone=alone)
        for alone in (0, 3, 10)
    }
    assert [one.alone.sum() for one in told.values()] == [0, 3, 10]
    some = told[3]
    assert set(np.flatnonzero(some.alone)) == set(np.argsort(told[0].expected_finish, kind="stable")[:3])
    assert (some.starts[:, some.alone] == told[10].starts[:, some.alone]).all()
    assert (some.starts[:, ~some.alone] == told[0].starts[:, ~some.alone]).all()


def test_a_limit_of_visits_makes_fewer_samples_but_some():
    of_one = {"processors": [10], "walltimes": [HOUR], "execution_times": [60]}
    for visits, samples in ((1e9, 100), (3000, 17), (1, 4)):
        found = forecast(queue(3), past_of(0.4), **of_one, samples=100, visits=visits, least=4, alone=1)
        assert len(found.starts) == samples


def test_candidates_in_one_simulation_share_the_visits_that_it_takes():
    of_two = {"processors": [10, 5], "walltimes": [HOUR, HOUR], "execution_times": [60, 60]}
    for visits, samples in ((1e9, 100), (90_000, 17), (1, 4)):
        found = forecast(queue(3), past_of(0.4), **of_two, samples=100, visits=visits, least=4)
        assert len(found.starts) == samples


def in_plain_python(made, sizes, samples, seconds, clock):
    return forecast_in_plain_python(
        made, past_of(0.3), sizes, [HOUR] * len(sizes), [60] * len(sizes), not_before=None, samples=samples, seed=0,
        policy="s3", seconds=seconds, clock=clock,
    )  # fmt: skip


def test_while_compiling_samples_in_plain_python_are_the_same_if_there_is_time_for_all():
    found, remarks = in_plain_python(queue(), [10], 20, 10, lambda: 0.0)
    assert remarks == []
    assert (found.starts == forecast(queue(), past_of(0.3), [10], [HOUR], [60], samples=20).starts).all()


def test_while_compiling_there_are_as_many_samples_as_there_is_time_for():
    """Between two readings of this clock a second passes, in which ten samples are made."""
    found, remarks = in_plain_python(queue(), [10, 5], 500, 6.5, count().__next__)
    assert (len(found.starts), found.alone.any()) == (35, False)
    assert "simulated 35 times instead of 500, as its simulator is still being compiled" in remarks[0]
    assert (found.starts >= NOW).all()
    assert (found.starts <= found.latest).all()


def test_while_compiling_a_long_queue_is_not_predicted():
    found, _ = in_plain_python(queue(3), [10], 500, 0.0001, lambda: 0.0)
    assert isinstance(found, NotPredicted)
    assert (found.samples, found.soon) == (0, True)
    few, _ = in_plain_python(queue(3), [10], LEAST_SAMPLES + 5, 3.5, count().__next__)
    assert len(few.starts) == LEAST_SAMPLES


def test_all_code_for_forecasts_is_compiled_ahead(monkeypatch):
    made = []
    monkeypatch.setattr("gas.prediction.forecast.starts_of_all", lambda *a, **k: made.append("all") or np.zeros((1, 1)))
    monkeypatch.setattr("gas.prediction.forecast.starts_of_each", lambda *a, **k: made.append("each") or [[0]])
    compile_forecasts()
    assert made == ["all", "each"]
