"""Laws of interarrival times against their own definitions; fixed seeds, p-values of 1/1000."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from workloads.arrivals import Poisson, UniformLog, arrival_law, arrival_times, uniform_log


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.thorough
def test_poisson_interarrival_times_are_exponential():
    drawn = Poisson(120).draw(20_000, rng())
    assert scipy.stats.kstest(drawn, scipy.stats.expon(scale=120).cdf).pvalue > 0.001


def test_uniform_log_interarrival_times_are_uniform_in_the_logarithm():
    law = UniformLog(2, 5000)
    drawn = law.draw(20_000, rng())
    assert scipy.stats.kstest(drawn, scipy.stats.loguniform(2, 5000).cdf).pvalue > 0.001
    assert law.mean == pytest.approx(scipy.stats.loguniform(2, 5000).mean())


def test_a_uniform_log_law_can_be_given_by_the_line_of_its_cumulative_distribution():
    slope, intercept = 0.0692, 0.6279 - 0.6
    law = UniformLog.of_line(slope, intercept)
    for share in (0.1, 0.5, 0.9):
        seconds = 2 ** ((share - intercept) / slope)  # where the line reaches this share
        assert scipy.stats.loguniform(law.shortest, law.longest).cdf(seconds) == pytest.approx(share)


@given(st.floats(1e-3, 1e6), st.floats(1.01, 1e9))
def test_a_uniform_log_law_has_the_mean_and_ratio_asked_for(mean, ratio):
    law = UniformLog.of_mean(mean, ratio)
    assert law.mean == pytest.approx(mean)
    assert law.longest / law.shortest == pytest.approx(ratio)


@given(st.floats(1e-6, 1e6), st.floats(1, 1e9), st.integers(0, 2**32))
def test_uniform_log_numbers_stay_within_their_limits(low, ratio, seed):
    drawn = uniform_log(100, low, low * ratio, rng(seed))
    assert drawn.max() <= low * ratio
    assert drawn.min() >= low * (1 - 1e-12)


@pytest.mark.parametrize("kind", ["poisson", "uniform-log"])
def test_arrivals_by_name_come_in_order_and_at_their_rate(kind):
    law = arrival_law(kind, 60)
    times = arrival_times(law, 50_000, rng(3))
    assert (np.diff(times) >= 0).all()
    gaps = np.diff(times, prepend=0)
    assert abs(gaps.mean() - 60) < 5 * gaps.std() / math.sqrt(gaps.size)
    early, late = gaps[:-1], gaps[1:]
    assert abs(scipy.stats.spearmanr(early, late).statistic) < 5 / math.sqrt(early.size)  # drawn independently


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Poisson(0), "interarrival time 0"),
        (lambda: Poisson(math.inf), "interarrival time inf"),
        (lambda: UniformLog(0, 5), "0 < shortest"),
        (lambda: UniformLog(5, 5), "from 5 to 5"),
        (lambda: UniformLog.of_line(0, 0.5), "slope 0"),
        (lambda: UniformLog.of_mean(60, 1), "ratio 1"),
        (lambda: UniformLog.of_mean(-1), "interarrival time -1"),
        (lambda: arrival_law("weekly", 60), '"weekly" are not known; known: poisson, uniform-log'),
    ],
)
def test_what_is_no_law_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
