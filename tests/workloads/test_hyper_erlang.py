"""Fitting to moments, checked by quadrature, by samples and by recovering known distributions."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st

from workloads.hyper_erlang import LARGEST_ORDER, HyperErlang


def rng(seed=1):
    return np.random.default_rng(seed)


def moments(values):
    return [float(np.mean(np.asarray(values, dtype=float) ** k)) for k in (1, 2, 3)]


def density(law):
    """The density as a mixture of two scipy gammas."""
    first, second = (scipy.stats.gamma(law.order, scale=stage) for stage in (law.stage1, law.stage2))
    return lambda x: law.p * first.pdf(x) + (1 - law.p) * second.pdf(x)


@pytest.mark.thorough
def test_moments_are_those_of_the_density():
    law = HyperErlang(3, 0.8, 50, 900)
    for k in (0, 1, 2, 3):

        def power(x, k=k):
            return x**k * density(law)(x)

        by_parts = [scipy.integrate.quad(power, *part)[0] for part in ((0, 500), (500, 60_000))]
        assert sum(by_parts) == pytest.approx(law.moment(k), rel=1e-6)


samples = st.lists(st.integers(0, 200_000), min_size=3, max_size=60)


@given(samples)
def test_a_fit_has_the_first_three_moments_of_any_values(values):
    assume(len(set(values)) >= 3)
    law = HyperErlang.of_values(values)
    assume(law.matched == 3)
    for k, expected in enumerate(moments(values), 1):
        assert law.moment(k) == pytest.approx(expected, rel=1e-8)
    assert law.order >= 1
    assert 0 <= law.p <= 1
    assert min(law.stage1, law.stage2) > 0


@given(samples)
def test_fewer_moments_are_matched_only_where_no_order_can_match_three(values):
    law = HyperErlang.of_values(values, largest_order=20)
    m1, m2, m3 = moments(values)
    assume(m1 > 0)
    cv2 = m2 / m1**2 - 1
    ratio = m1 * m3 / m2**2
    if law.matched == 3:
        # Any real, positive solution needs these, by the inequalities of Cauchy and Schwarz.
        assert cv2 >= (1 / law.order) * (1 - 1e-6)
        assert ratio >= (law.order + 2) / (law.order + 1) * (1 - 1e-6)
    else:
        assert cv2 <= 1 / 20 * (1 + 1e-6) or ratio <= 22 / 21 * (1 + 1e-6)
        assert law.mean == pytest.approx(m1)
        if law.matched == 2:
            assert law.moment(2) == pytest.approx(m2)
            assert law.moment(3) == pytest.approx(m3, rel=1 / 20)


@given(samples)
def test_the_order_is_the_smallest_that_works(values):
    law = HyperErlang.of_values(values)
    m1, m2, m3 = moments(values)
    assume(law.matched == 3 and m1 > 0 and law.order > 1)
    n = law.order - 1
    variance = (n * (m2 / m1**2 - 1) - 1) / (n + 1)  # of the two stage means, that of a stage being 1
    # Both roots are quotients of differences by it: where it is small, rounding leaves no three moments of order n.
    assert variance <= 1e-2 or m1 * m3 / m2**2 <= (n + 2) / (n + 1) * (1 + 1e-6)


def test_where_rounding_spoils_the_third_moment_of_an_order_the_next_one_is_taken():
    values = [133979, 134274, 134370, 175299]
    m1, m2, m3 = moments(values)
    assert 66 * (m2 / m1**2 - 1) > 1.001  # so that the conditions would allow order 66
    law = HyperErlang.of_values(values)
    assert (law.order, law.matched) == (67, 3)
    assert law.moment(3) == pytest.approx(m3, rel=1e-9)


@given(
    st.integers(1, 20),
    st.floats(0.02, 0.98),
    st.floats(1, 1e4),
    st.floats(1.5, 1e3),
)
def test_a_known_distribution_is_recovered_from_its_moments(order, p, stage, ratio):
    known = HyperErlang(order, p, stage, stage * ratio)
    found = HyperErlang.of_moments(*(known.moment(k) for k in (1, 2, 3)))
    assert found.order <= order
    assert found.matched == 3
    for k in (1, 2, 3):
        assert found.moment(k) == pytest.approx(known.moment(k), rel=1e-8)
    if found.order == order:
        assert (found.p, found.stage1, found.stage2) == pytest.approx((p, stage, stage * ratio), rel=1e-4)


def test_a_known_distribution_of_one_stage_is_recovered_from_a_sample():
    known = HyperErlang(1, 0.9, 400, 8000)
    found = HyperErlang.of_values(known.draw(2_000_000, rng(2)))
    assert found.order == 1
    assert found.p == pytest.approx(0.9, abs=0.005)
    assert (found.stage1, found.stage2) == pytest.approx((400, 8000), rel=0.03)


@pytest.mark.parametrize("order", [1, 2, 7, 60])
def test_one_erlang_branch_is_recovered_as_that(order):
    known = HyperErlang(order, 1.0, 30, 30)
    found = HyperErlang.of_moments(*(known.moment(k) for k in (1, 2, 3)))
    assert (found.order, found.matched, found.mean) == (order, 3, pytest.approx(30 * order))
    assert (found.p, found.stage1) == (1, pytest.approx(30))


def test_the_published_examples_range_one_stage_where_values_vary_much_more_where_they_do_not():
    assert HyperErlang.of_moments(1, 3, 20).order == 1  # CV² = 2
    steady = HyperErlang.of_values(rng(4).normal(1000, 300, 5000).clip(1))
    assert 1 / 0.3**2 - 2 < steady.order < 40  # CV² = 0.09 needs n > 11


@pytest.mark.parametrize("values", [[700], [5, 5, 5], [1000, 1001]])
def test_values_that_hardly_vary_keep_their_mean_and_vary_as_little_as_the_order_allows(values):
    law = HyperErlang.of_values(values)
    assert (law.order, law.matched) == (LARGEST_ORDER, 1)
    assert law.mean == pytest.approx(np.mean(values))
    assert law.draw(20_000, rng()).std() == pytest.approx(law.mean / 10, rel=0.05)


def test_values_of_nothing_and_one_constant_keep_two_moments():
    values = [0] * 30 + [3600] * 10
    law = HyperErlang.of_values(values)
    assert law.matched == 2
    m1, m2, m3 = moments(values)
    assert (law.moment(1), law.moment(2)) == pytest.approx((m1, m2))
    assert m3 < law.moment(3) < m3 * 1.01
    assert np.mean(law.draw(50_000, rng()) == 0) == pytest.approx(0.75, abs=0.02)


def test_nothing_but_zeros_is_a_distribution_of_zeros():
    law = HyperErlang.of_values([0, 0])
    assert law.mean == 0
    assert law.draw(3, rng()).tolist() == [0, 0, 0]
    assert law.draw_residual(rng()) == 0


@pytest.mark.parametrize(
    "law", [HyperErlang(1, 0.93, 390, 7700), HyperErlang(4, 0.5, 99, 8380), HyperErlang(9, 0.2, 0, 12)], ids=str
)
def test_samples_follow_the_distribution(law):
    drawn = law.draw(40_000, rng(7))
    positive = drawn[drawn > 0]
    zero = law.cdf(0)
    assert np.mean(drawn == 0) == pytest.approx(float(zero), abs=5 * math.sqrt(0.25 / drawn.size))
    assert scipy.stats.kstest(positive, lambda x: (law.cdf(x) - zero) / (1 - zero)).pvalue > 0.001
    for k in (1, 2, 3):
        powers = drawn**k
        assert abs(powers.mean() - law.moment(k)) < 5 * math.sqrt((law.moment(2 * k) - law.moment(k) ** 2) / drawn.size)


def test_the_first_arrival_is_that_of_a_process_that_has_gone_on_for_ever():
    law = HyperErlang(2, 0.9, 100, 3000)
    generator = rng(8)
    residuals = np.array([law.draw_residual(generator) for _ in range(20_000)])
    # The residual time has the density (1 - F(x)) / mean.
    grid = np.concatenate([[0], np.geomspace(0.01, 1e6, 20_000)])
    cdf = scipy.integrate.cumulative_trapezoid(1 - law.cdf(grid), grid, initial=0) / law.mean
    assert cdf[-1] == pytest.approx(1, abs=1e-4)
    assert scipy.stats.kstest(residuals, lambda x: np.interp(x, grid, cdf)).pvalue > 0.001


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: HyperErlang(0, 0.5, 1, 2), "order 0"),
        (lambda: HyperErlang(1, 1.5, 1, 2), "p 1.5"),
        (lambda: HyperErlang(1, math.nan, 1, 2), "p nan"),
        (lambda: HyperErlang(1, 0.5, -1, 2), "stage1 -1"),
        (lambda: HyperErlang(1, 0.5, 1, math.inf), "stage2 inf"),
        (lambda: HyperErlang.of_moments(1, 0.5, 1), "no values have"),
        (lambda: HyperErlang.of_moments(1, 4, 2), "no values have"),
        (lambda: HyperErlang.of_moments(-1, 4, 2), "not negative"),
        (lambda: HyperErlang.of_values([]), "at least one value"),
        (lambda: HyperErlang.of_values([1, -1]), "not negative"),
        (lambda: HyperErlang.of_values([1, math.nan]), "finite"),
    ],
)
def test_what_is_no_distribution_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
