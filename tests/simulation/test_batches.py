import numpy as np
import pytest
import scipy
from brute_force import simulate_by_force
from hypothesis import given
from hypothesis import strategies as st
from schedules import rigid, schedule_of
from small_logs import logs
from thorough import examples

from gas.simulation.batches import BATCH, batch_means, stopping, terminations
from gas.simulation.schedule import ORDERS, POLICIES, Schedule


def seeded(number=7):
    return np.random.default_rng(number)


# --------------------------------------------------------------------------------------------------- batch means


def test_the_papers_batches_are_of_3333_jobs():
    assert BATCH == 3333
    assert batch_means(np.arange(3333 * 4 + 3000)).batches == 3


def test_the_first_batch_is_warm_up_and_what_fills_no_batch_is_left_out():
    found = batch_means([1000, 1000, 1, 3, 5, 7, 10_000], 2)
    assert found.batches == 2
    assert found.mean == (2 + 6) / 2
    assert batch_means([1000, 1000, 1, 3, 5, 7], 2, discard=0).batches == 3


def test_the_interval_is_students_over_the_means_of_the_batches():
    # Means 2, 6 and 7: mean 5, standard deviation sqrt(7). Student's table: t(0.95, 2 degrees) = 2.920.
    found = batch_means([0, 0, 1, 3, 5, 7, 6, 8], 2)
    assert found.mean == 5
    assert found.half_width == pytest.approx(2.920 * np.sqrt(7 / 3), rel=1e-3)
    assert found.accuracy == pytest.approx(found.half_width / 5)


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.99])
def test_the_interval_is_that_of_a_t_test_on_the_batches(confidence):
    values = seeded().exponential(size=50 * 21)
    means = values.reshape(21, 50).mean(axis=1)[1:]
    low, high = scipy.stats.ttest_1samp(means, 0).confidence_interval(confidence)
    found = batch_means(values, 50, confidence=confidence)
    assert found.mean - found.half_width == pytest.approx(low)
    assert found.mean + found.half_width == pytest.approx(high)


@pytest.mark.parametrize("many", [0, 1, 9, 10, 19])
def test_without_a_batch_behind_the_warm_up_there_is_no_mean(many):
    found = batch_means(np.ones(many), 10)
    assert (found.mean, found.half_width, found.accuracy, found.batches) == (None, None, None, 0)


def test_one_batch_has_a_mean_and_no_interval():
    found = batch_means(np.ones(20), 10)
    assert (found.mean, found.half_width, found.accuracy, found.batches) == (1, None, None, 1)


def test_equal_values_are_certain():
    assert batch_means(np.full(100, 7), 10).half_width == 0


@pytest.mark.parametrize("draw", ["normal", "exponential"])
def test_90_percent_of_the_intervals_hold_the_mean(draw):
    rng = seeded(1)
    hits = 0
    for _ in range(2000):
        values = getattr(rng, draw)(1.0, size=40 * 12)  # both have mean 1
        found = batch_means(values, 40)
        hits += abs(found.mean - 1) <= found.half_width
    assert abs(hits / 2000 - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 2000)


@pytest.mark.thorough
def test_long_batches_cover_although_neighbours_resemble_each_other():
    # An autoregressive series, like response times; the plain interval of its values would be far too short.
    rng = seeded(2)
    hits = plain = 0
    for _ in range(300):
        noise = rng.normal(size=6300)
        values = np.empty_like(noise)
        last = 0.0
        for i, one in enumerate(noise):
            values[i] = last = 0.9 * last + one
        found = batch_means(values, 300)
        hits += abs(found.mean) <= found.half_width
        plain += abs(values.mean()) <= 1.645 * values.std() / np.sqrt(len(values))
    assert hits / 300 > 0.82
    assert plain / 300 < 0.5


@pytest.mark.parametrize(("size", "discard"), [(0, 1), (-3, 1), (10, -1)])
def test_sizes_that_mean_nothing_are_refused(size, discard):
    with pytest.raises(ValueError, match="give"):
        batch_means([1, 2, 3], size, discard=discard)


# ------------------------------------------------------------------------------------------------- stopping rule


def test_a_calm_run_stops_when_the_interval_is_narrow_but_not_before_ten_batches():
    found = stopping(np.full(5000, 100.0), 10)
    assert found.reason == "accuracy"
    assert found.means.batches == 10
    assert found.jobs == 110  # the warm-up's too


def test_a_restless_run_stops_after_a_hundred_batches_besides_the_warm_up():
    values = np.where(np.arange(3000) // 10 % 2, 1.0, 300.0)  # batch by batch up and down
    found = stopping(values, 10)
    assert found.reason == "batches"
    assert (found.means.batches, found.jobs) == (100, 1010)
    assert found.means.accuracy > 0.05


def test_an_overloaded_run_stops_at_the_threshold():
    values = np.arange(20_000) * 10.0  # ever longer
    found = stopping(values, 100)
    assert found.reason == "threshold"
    assert found.means.mean > 30_000
    before = batch_means(values[: found.jobs - 100], 100)
    assert before.mean <= 30_000


def test_the_threshold_does_not_look_before_ten_batches_either():
    assert stopping(np.full(5000, 40_000.0), 10).means.batches == 10


def test_a_run_that_is_too_short_says_so():
    found = stopping(np.full(105, 100.0), 10)
    assert found.reason == "exhausted"
    assert (found.means.batches, found.jobs) == (9, 100)
    assert stopping([], 10).means.mean is None


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.3), st.integers(2, 6))
@examples(30)
def test_it_stops_at_the_first_batch_at_which_a_rule_holds(seed, accuracy, least):
    values = np.random.default_rng(seed).exponential(100, size=1000)
    found = stopping(values, 20, most=30, accuracy=accuracy, least=least)
    assert found.means == batch_means(values[: found.jobs], 20)
    for count in range(least, found.means.batches):
        assert batch_means(values[: (count + 1) * 20], 20).accuracy >= accuracy
    assert (found.reason == "accuracy") == (found.means.accuracy < accuracy)


def test_the_rule_needs_two_batches():
    with pytest.raises(ValueError, match="least 1"):
        stopping([1, 2], 1, least=1)


# -------------------------------------------------------------------------------------------------- terminations


def test_response_times_come_in_the_order_of_the_ends_and_then_of_the_log():
    made = schedule_of([(0, 1, 0, 50), (1, 1, 1, 20), (2, 1, 2, 20), (3, 1, None, 9), (60, 1, 60, 70)], machine=4)
    assert terminations(made).tolist() == [19, 18, 50]
    assert terminations(made, drained=True).tolist() == [19, 18, 50, 10]


def by_force(rows, machine, policy, order):
    outcome = simulate_by_force(machine, rows, policy, order=order)
    submit, processors, estimate, run_time = zip(*rows, strict=True)
    jobs = rigid(submit, processors, estimate, np.minimum(run_time, estimate), machine=machine)
    return Schedule(jobs, np.array(outcome.start, np.int64), np.array(outcome.end, np.int64))


@pytest.mark.thorough(but=5)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", POLICIES)
@given(logs(most_jobs=10), st.data())
@examples(25)
def test_a_run_that_goes_on_has_the_same_ends_until_then(policy, order, log, data):
    if not log.rows:
        return
    cut = data.draw(st.integers(1, len(log.rows)))
    whole = terminations(by_force(log.rows, log.machine, policy, order), drained=True).tolist()
    part = terminations(by_force(log.rows[:cut], log.machine, policy, order)).tolist()
    assert whole[: len(part)] == part
