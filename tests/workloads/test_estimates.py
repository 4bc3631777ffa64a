"""Models of user estimates."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from workloads.estimates import uniform_factor

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
    assert stats.kstest((drawn / run_time - 1) / (factor - 1), "uniform").pvalue > 0.001


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
