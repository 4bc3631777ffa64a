"""The model of estimates of Tsafrir, Etsion and Feitelson."""

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from thorough import examples

from workloads.tsafrir import TsafrirModel, distinct_estimates, estimate_values, tsafrir

HOUR = 3600


def made_run_times(jobs, seed):
    """As many jobs of a few seconds as of a few minutes or of hours, up to a day."""
    return np.exp(np.random.default_rng(seed).uniform(0, np.log(24 * HOUR), jobs))


def values(jobs=10_000, longest=18 * HOUR, seed=1, **change):
    return estimate_values(jobs, longest, np.random.default_rng(seed), TsafrirModel(**change))


# The values, and the number of jobs with each


@pytest.mark.parametrize(
    ("jobs", "distinct"),
    [(1, 1), (20, 10), (110, 15), (200, 20), (1000, 35), (40_000, 215), (250_000, 565), (10**7, 565)],
)
def test_more_jobs_have_more_distinct_estimates_between_those_that_the_authors_saw(jobs, distinct):
    assert distinct_estimates(jobs) == distinct


@given(st.integers(1, 30_000), st.integers(HOUR, 400 * HOUR), st.integers(0, 100))
def test_there_are_as_many_values_as_the_model_says_each_of_some_job(jobs, longest, seed):
    times, counts = values(jobs, longest, seed)
    assert counts.sum() == jobs
    assert counts.min() >= 1
    assert (np.diff(times) > 0).all()
    assert times[0] > 0
    assert times[-1] == longest
    assert times.size <= distinct_estimates(jobs)


@pytest.mark.parametrize("jobs", [500, 5000, 50_000])
def test_on_a_machine_with_long_jobs_no_value_has_to_give_way(jobs):
    assert values(jobs, 100 * HOUR)[0].size == distinct_estimates(jobs)


@pytest.mark.parametrize("seed", range(3))
def test_the_twenty_most_popular_values_hold_89_percent_of_the_jobs(seed):
    _, counts = values(70_000, seed=seed)
    assert np.sort(counts)[-20:].sum() / 70_000 == pytest.approx(0.89, abs=0.005)


def test_the_longest_estimate_is_the_most_popular_of_all():
    times, counts = values(100_000)
    assert times[counts.argmax()] == 18 * HOUR
    assert counts.max() / 100_000 == pytest.approx(0.2173, abs=0.002)


def test_the_shares_of_the_head_fall_exponentially():
    shares = TsafrirModel().head_shares(20)
    assert shares.sum() == pytest.approx(89)
    assert shares[1] == pytest.approx(14.0491 * np.exp(-0.177531 * 2) + 0.462513)
    assert (np.diff(shares) < 0).all()
    assert shares[0] == pytest.approx(21.73, abs=0.005)


def test_popular_values_are_those_of_four_machines_and_round_ones():
    times, counts = values(70_000)
    head = set(times[np.argsort(-counts)[:20]].tolist())
    minutes = {60 * each for each in (5, 10, 15, 20, 30)}
    hours = {HOUR * each for each in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)}
    # By multiples of 5 hours 15, of 2 hours 16 and 14, of 1 hour 17 and 13.
    assert head == minutes | hours | {HOUR * each for each in (13, 14, 15, 16, 17)}


def test_the_tail_is_on_whole_minutes_or_a_few_seconds_off():
    times, _ = values(70_000, 100 * HOUR)
    assert {int(each) % 60 for each in times} <= {0, 10, 20, 30, 40, 50}
    assert (times % 60 == 0).mean() > 0.8


def test_short_estimates_are_closer_together_than_long_ones():
    times, _ = values(70_000, 100 * HOUR)
    assert np.median(times) < 50 * HOUR


def test_a_machine_of_an_hour_has_the_round_values_up_to_it():
    times, counts = values(10_000, HOUR)
    assert set(range(300, 3601, 300)) <= set(times.tolist())
    assert times[counts.argmax()] == HOUR


def test_the_popularity_of_a_value_is_random_but_its_own():
    ranks = []
    for seed in range(200):
        times, counts = values(70_000, seed=seed)
        popular = times[np.argsort(-counts, kind="stable")]
        ranks.append([popular.tolist().index(each) for each in (300, 10 * HOUR)])
    short, long = np.array(ranks).T
    assert len(set(short.tolist())) > 2
    assert short.max() < 6  # among the first six on each of the four machines
    assert long.mean() > short.mean()


# Who gets which

run_times = st.lists(st.floats(0, 3 * HOUR) | st.integers(0, 600), min_size=1, max_size=300)


@examples(50)
@given(run_times, st.integers(0, 1000))
def test_no_estimate_is_below_its_run_time(seconds, seed):
    longest = 400 * HOUR  # all round values are far above most run times
    try:
        estimates = tsafrir(seconds, np.random.default_rng(seed), longest=longest)
    except ValueError:
        reject()  # too many long jobs for the model
    assert estimates.dtype == np.int64
    assert (estimates >= np.maximum(seconds, 1)).all()
    assert estimates.max() <= longest


@pytest.mark.parametrize("seed", range(4))
def test_the_estimates_are_the_values_of_the_model_each_as_often_as_it_says(seed):
    seconds = made_run_times(5000, seed)
    estimates = tsafrir(seconds, np.random.default_rng(7), longest=18 * HOUR)
    found, counts = np.unique(estimates, return_counts=True)
    times, jobs = estimate_values(5000, 18 * HOUR, np.random.default_rng(7))
    assert found.tolist() == times.tolist()
    assert counts.tolist() == jobs.tolist()
    assert (estimates >= np.minimum(seconds, 18 * HOUR)).all()


def test_a_job_longer_than_the_longest_estimate_gets_that():
    seconds = np.full(1000, 60.0)
    seconds[[3, 500]] = 30 * HOUR
    estimates = tsafrir(seconds, np.random.default_rng(1), longest=18 * HOUR)
    assert estimates[[3, 500]].tolist() == [18 * HOUR] * 2


def test_jobs_of_the_same_run_time_all_have_the_same_chances():
    estimates = tsafrir(np.full(20_000, 10.0), np.random.default_rng(1), longest=18 * HOUR)
    first, second = estimates[:10_000] == 18 * HOUR, estimates[10_000:] == 18 * HOUR
    assert abs(first.mean() - second.mean()) < 5 * np.sqrt(2 * 0.2 * 0.8 / 10_000)


def test_the_same_seed_gives_the_same_estimates():
    seconds = made_run_times(2000, 0)
    first, again, other = (tsafrir(seconds, np.random.default_rng(seed), longest=10**6) for seed in (5, 5, 6))
    assert (first == again).all()
    assert (first != other).any()


def test_a_log_without_jobs_gets_no_estimates():
    assert tsafrir([], np.random.default_rng(1), longest=HOUR).size == 0


# What the model cannot do


def test_more_long_jobs_than_long_estimates_are_refused():
    with pytest.raises(ValueError, match=r"900 jobs run for 64800 s or more .* has only \d+ estimates that long"):
        tsafrir([20 * HOUR] * 900 + [1] * 100, np.random.default_rng(1), longest=18 * HOUR)


def test_the_message_names_the_run_time_for_which_most_estimates_are_missing():
    with pytest.raises(ValueError, match=r"^990 jobs run for 7000 s or more .*; take another model"):
        tsafrir([8000] * 10 + [7000] * 980 + [10] * 10, np.random.default_rng(1), longest=18 * HOUR)


@pytest.mark.parametrize(
    ("seconds", "longest", "said"),
    [
        ([1], 3599, "longest estimate of 3599 s is outside"),
        ([1], float("nan"), "longest estimate of nan s"),
        ([-1], 7200, "run time -1.0 has no estimate"),
    ],
)
def test_what_has_no_such_estimate_is_refused(seconds, longest, said):
    with pytest.raises(ValueError, match=said):
        tsafrir(seconds, np.random.default_rng(1), longest=longest)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"head": 100}, "head 100"), ({"head": 50}, "leave the most popular value"), ({"bend_scale": 0}, "bend_scale 0")],
)
def test_constants_that_leave_no_model_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        TsafrirModel(**change)
