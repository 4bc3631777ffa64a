"""Models of user estimates."""

import itertools
import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from workloads.estimates import accuracy, doubled, exact, mualem_feitelson, uniform_factor

FACTORS = (1, 2, 4, 11, 31, 101, 301)


@given(st.lists(st.integers(0, 10**7)), st.floats(1, 400), st.integers(0, 2**32))
def test_estimates_are_whole_seconds_from_the_run_time_to_factor_times_it(run_times, factor, seed):
    estimates = uniform_factor(run_times, factor, np.random.default_rng(seed))
    assert estimates.dtype == np.int64
    for run, estimate in zip(run_times, estimates.tolist(), strict=True):
        assert max(run, 1) <= estimate <= max(math.ceil(run * factor + 1e-6), 1)


def test_factor_one_is_perfect_knowledge_except_that_nothing_takes_no_time():
    assert uniform_factor([0, 1, 50], 1, np.random.default_rng(1)).tolist() == [1, 1, 50]


def test_estimates_of_fractional_run_times_are_rounded_up():
    assert uniform_factor([0.2, 50.5], 1, np.random.default_rng(1)).tolist() == [1, 51]


def test_a_larger_factor_never_makes_an_estimate_smaller_under_the_same_seed():
    run_times = np.arange(1000)
    series = [uniform_factor(run_times, factor, np.random.default_rng(7)) for factor in FACTORS]
    for smaller, larger in itertools.pairwise(series):
        assert (smaller <= larger).all()


def test_estimates_are_uniform_over_the_interval():
    run_time, factor = 100_000, 4
    drawn = uniform_factor(np.full(20_000, run_time), factor, np.random.default_rng(3))
    assert scipy.stats.kstest((drawn / run_time - 1) / (factor - 1), "uniform").pvalue > 0.001


@pytest.mark.parametrize(
    ("run_times", "factor", "said"),
    [
        ([1], 0.5, "factor 0.5"),
        ([1], float("nan"), "factor nan"),
        ([1], float("inf"), "factor inf"),
        ([1, -1], 2, "run time -1"),
        ([float("nan")], 2, "run time nan"),
        ([2**52], 100, r"beyond 2\*\*53"),
    ],
)
def test_what_has_no_estimate_is_refused(run_times, factor, said):
    with pytest.raises(ValueError, match=said):
        uniform_factor(run_times, factor, np.random.default_rng(1))


# The model of Mu'alem and Feitelson


def test_exact_estimates_are_the_run_times_rounded_up_and_at_least_a_second():
    assert exact([0, 1, 2.5, 70]).tolist() == [1, 1, 3, 70]


def test_a_tenth_of_the_estimates_are_a_hundredth_too_small():
    estimates = mualem_feitelson(np.full(20_000, 1000), np.random.default_rng(5))
    small = estimates < 1000
    assert set(estimates[small].tolist()) == {990}
    assert abs(small.mean() - 0.1) < 5 * math.sqrt(0.09 / estimates.size)


def test_for_the_others_the_ratio_of_run_time_to_estimate_is_uniform():
    run_time = 10**6
    estimates = mualem_feitelson(np.full(20_000, run_time), np.random.default_rng(6), longest=2**53)
    ratios = run_time / estimates[estimates >= run_time]
    assert scipy.stats.kstest(ratios, "uniform").pvalue > 0.001


def test_estimates_of_short_jobs_are_ten_times_as_large():
    short, long = (
        mualem_feitelson(np.full(5000, run), np.random.default_rng(7), longest=2**53) / run for run in (89, 90)
    )
    over = long > 1
    assert (over == (short > 1)).all()
    assert short[over] == pytest.approx(10 * long[over], rel=0.02)


@given(st.lists(st.integers(0, 10**6)), st.integers(1, 10**6), st.integers(0, 2**32))
def test_estimates_are_cut_at_the_longest_but_never_below_the_run_time(run_times, longest, seed):
    estimates = mualem_feitelson(run_times, np.random.default_rng(seed), longest=longest)
    assert estimates.dtype == np.int64
    for run, estimate in zip(run_times, estimates.tolist(), strict=True):
        too_small = max(1, 99 * run // 100)
        assert estimate == too_small or max(run, 1) <= estimate <= max(run, longest, 1)


def test_the_share_and_the_factors_can_be_changed():
    generator = np.random.default_rng(8)
    assert (mualem_feitelson([500] * 50, generator, underestimated=1) == 495).all()
    assert (mualem_feitelson([500] * 50, generator, underestimated=0) >= 500).all()
    long = mualem_feitelson([500] * 50, generator, underestimated=0, short=501, short_factor=100, longest=1e9)
    assert (long >= 50_000).all()


@pytest.mark.parametrize(
    ("run_times", "change", "said"),
    [
        ([-1], {}, "run time -1"),
        ([2**54], {}, r"beyond 2\*\*53"),
        ([1], {"underestimated": 2}, "2 is not a share"),
        ([1], {"longest": 0}, "longest estimate of 0 s"),
    ],
)
def test_what_has_no_such_estimate_is_refused(run_times, change, said):
    with pytest.raises(ValueError, match=said):
        mualem_feitelson(run_times, np.random.default_rng(1), **change)


# Doubling


@given(st.lists(st.integers(1, 10**7)), st.integers(1, 50))
def test_users_estimates_are_multiplied_by_a_factor(asked, factor):
    assert doubled(asked).tolist() == [2 * each for each in asked]
    assert doubled(asked, factor).tolist() == [factor * each for each in asked]


def test_multiplied_estimates_are_whole_seconds_rounded_up_and_at_least_1():
    assert doubled([100, 5, 1, 0.2], 1.1).tolist() == [110, 6, 2, 1]
    assert doubled([100, 1], 0.25).tolist() == [25, 1]


@pytest.mark.parametrize(
    ("asked", "factor", "said"),
    [
        ([0], 2, "estimate of 0.0 s"),
        ([-1], 2, "estimate of -1.0 s"),
        ([1], 0, "multiplied by 0"),
        ([1], math.inf, "multiplied by inf"),
        ([2**52], 4, r"beyond 2\*\*53"),
    ],
)
def test_what_cannot_be_multiplied_is_refused(asked, factor, said):
    with pytest.raises(ValueError, match=said):
        doubled(asked, factor)


# How good estimates are


def test_accuracy_is_the_smaller_over_the_larger_of_run_time_and_estimate():
    assert accuracy([50, 100, 100, 0, 0], [100, 50, 100, 10, 0]).tolist() == [0.5, 0.5, 1, 0, 1]
