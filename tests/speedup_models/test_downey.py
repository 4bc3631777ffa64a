import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.fields import FieldError, Fields
from speedup_models.downey import Downey, speedup
from speedup_models.model import ModelError, execution_times
from speedup_models.registry import model_from_table

AVERAGES = st.floats(1, 500)
SIGMAS = st.floats(0, 1) | st.floats(1, 50) | st.sampled_from([0.0, 1.0, 2.0])


def profile(a, sigma):
    """The parallelism profile behind the model: (duration, parallelism) of each phase."""
    if sigma <= 1:
        return [(sigma / 2, 1.0), (1 - sigma, a), (sigma / 2, 2 * a - 1)]
    return [(sigma, 1.0), (1.0, a + a * sigma - sigma)]


def squeezed(phases, n):
    """The time of a profile on n processors: a phase of parallelism p is stretched by p/n if p exceeds n."""
    return math.fsum(duration * max(1.0, parallelism / n) for duration, parallelism in phases)


def literal(n, a, sigma):
    """The branches as printed."""
    if sigma <= 1:
        if n <= a:
            return a * n / (a + sigma / 2 * (n - 1))
        if n <= 2 * a - 1:
            return a * n / (sigma * (a - 0.5) + n * (1 - sigma / 2))
        return a
    if n <= a + a * sigma - sigma:
        return n * a * (sigma + 1) / (sigma * (n + a - 1) + a)
    return a


@given(AVERAGES, SIGMAS)
def test_the_profile_has_the_average_and_the_variance_that_name_the_parameters(a, sigma):
    phases = profile(a, sigma)
    total = math.fsum(d for d, _ in phases)
    average = math.fsum(d * p for d, p in phases) / total
    assert average == pytest.approx(a)
    variance = math.fsum(d * (p - average) ** 2 for d, p in phases) / total
    assert variance == pytest.approx(sigma * (a - 1) ** 2, rel=1e-6, abs=1e-6)


@given(st.floats(1, 2000), AVERAGES, SIGMAS)
def test_speedup_is_that_of_squeezing_the_parallelism_profile(n, a, sigma):
    phases = profile(a, sigma)
    assert speedup(n, a, sigma) == pytest.approx(squeezed(phases, 1) / squeezed(phases, n), rel=1e-9)


@given(st.floats(1, 2000), AVERAGES, SIGMAS)
def test_speedup_is_the_printed_formula(n, a, sigma):
    assert speedup(n, a, sigma) == pytest.approx(literal(n, a, sigma), rel=1e-9)


@pytest.mark.parametrize(
    ("n", "a", "sigma", "expected"),
    [
        (32, 64, 0, 32),
        (32, 64, 0.5, 28.543554),
        (100, 64, 0.5, 59.953162),
        (32, 64, 1, 25.761006),
        (64, 64, 1, 42.890052),
        (64, 64, 2, 38.641509),
        (200, 64, 2, 64),
    ],
)
def test_published_values(n, a, sigma, expected):
    assert speedup(n, a, sigma) == pytest.approx(expected, abs=5e-7)


@given(st.floats(1, 2000), st.floats(0, 1000), AVERAGES, SIGMAS)
def test_more_processors_never_hurt_and_never_gain_more_than_their_share(n, more, a, sigma):
    few, many = speedup([n, n + more], a, sigma)
    assert many >= few * (1 - 1e-12)
    assert many / (n + more) <= few / n * (1 + 1e-12)


@given(st.floats(1, 2000), AVERAGES, SIGMAS)
def test_speedup_lies_between_one_and_both_the_processors_and_the_parallelism(n, a, sigma):
    s = speedup(n, a, sigma)
    assert 1 - 1e-12 <= s <= min(n, a)


@pytest.mark.parametrize("a", [1, 1.5, 2, 10, 64.3, 430])
@pytest.mark.parametrize("sigma", [0, 0.3, 1 - 1e-12, 1, 1 + 1e-12, 2, 40])
def test_the_branches_meet_without_a_jump(a, sigma):
    for edge in (a, 2 * a - 1, a + a * sigma - sigma):
        around = np.maximum(np.array([edge * (1 - 1e-12), edge, edge * (1 + 1e-12)]), 1)
        values = speedup(around, a, sigma)
        assert np.ptp(values) <= 1e-9 * a


@given(st.floats(1, 2000), AVERAGES)
def test_both_families_agree_where_sigma_is_one(n, a):
    low, high = speedup(n, a, [1.0, np.nextafter(1.0, 2.0)])
    assert low == pytest.approx(high, rel=1e-12)
    if n <= 2 * a - 1:
        assert low == pytest.approx(2 * a * n / (2 * a + n - 1))


@given(AVERAGES, SIGMAS, st.floats(0, 100))
def test_beyond_the_last_bend_speedup_is_the_parallelism_to_the_last_digit(a, sigma, further):
    edge = max(a + (a - 1), a + sigma * (a - 1))
    assert speedup(edge + further, a, sigma) == a


def test_without_variance_speedup_is_perfect_up_to_the_parallelism():
    n = np.arange(1, 200)
    assert speedup(n, 64, 0).tolist() == np.minimum(n, 64).tolist()


def test_with_boundless_variance_it_tends_to_the_bound_of_eager_zahorjan_and_lazowska():
    n = np.arange(1, 1000)
    assert speedup(n, 64, 1e12) == pytest.approx(n * 64 / (n + 63), rel=1e-9)


@pytest.mark.parametrize("sigma", [0, 0.5, 1, 3])
def test_without_parallelism_nothing_is_gained(sigma):
    assert speedup([1, 2, 1000], 1, sigma).tolist() == [1, 1, 1]


def test_one_processor_gives_a_speedup_of_one():
    assert speedup(1, [1, 1.5, 64, 1e6], [[0], [0.5], [1], [7]]) == pytest.approx(np.ones((4, 4)))


def test_enormous_parameters_stay_finite():
    assert speedup(1000, 1e308, 1e308) == pytest.approx(1000)  # A is far out of reach
    assert speedup(2**31, 2.0, 1e308) == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, 64, 1), "processors = 0.5 is not a finite number of at least 1"),
        (([4, float("nan")], 64, 1), "processors = nan"),
        ((4, 0.9, 1), "A = 0.9"),
        ((4, float("inf"), 1), "A = inf"),
        ((4, 64, -0.1), "sigma = -0.1 is not a finite number of at least 0"),
    ],
)
def test_what_lies_outside_of_the_model_is_refused(arguments, message):
    with pytest.raises(ModelError, match=message):
        speedup(*arguments)


@given(AVERAGES, SIGMAS)
def test_the_largest_useful_size_is_the_first_count_that_runs_at_full_speed(a, sigma):
    size = Downey(1, a, sigma).largest_useful_size
    assert size >= 1
    assert speedup(size, a, sigma) == pytest.approx(a, rel=1e-6)
    if sigma > 0.01 and size > 1 and a > 1.01:
        assert speedup(max(1, size - 1 - 1e-5), a, sigma) < a


@pytest.mark.parametrize(
    ("a", "sigma", "expected"), [(64, 0, 127), (10.05, 0.5, 20), (64, 2, 190), (1.1, 9, 2), (1, 5, 1)]
)
def test_largest_useful_sizes_by_hand(a, sigma, expected):
    # 2A-1, or A + A sigma - sigma; 1.1 + 9.9 - 9 is 2 in real arithmetic, a little more in floating point
    assert Downey(1, a, sigma).largest_useful_size == expected


def test_the_largest_useful_size_of_enormous_parameters_is_capped():
    assert Downey(1, 1e200, 1e200).largest_useful_size == 2**53


def test_execution_time_is_work_over_speedup():
    assert Downey(6400, 64, 0).seconds(np.array([1, 32, 64, 500])).tolist() == [6400, 200, 100, 100]


def test_an_observed_time_is_reproduced_and_rounding_to_whole_work_follows_the_simulator():
    model = Downey.observed(32, 100.0, 64, 0.5)
    assert model.sequential_time == pytest.approx(2854.3554, abs=1e-4)
    assert execution_times(model, [32]).tolist() == [100]
    assert Downey.observed(32, 100.0, 64, 0.5, whole=True).sequential_time == 2855
    assert Downey.observed(1, 0.2, 64, 0.5, whole=True).sequential_time == 1


@given(st.integers(1, 500), st.integers(1, 100_000), AVERAGES, SIGMAS)
def test_an_observed_whole_time_survives_the_way_to_sequential_time_and_back(n, seconds, a, sigma):
    assert execution_times(Downey.observed(n, seconds, a, sigma), [n]).tolist() == [seconds]


@pytest.mark.parametrize(
    "values", [(0, 64, 1), (-1, 64, 1), (math.inf, 64, 1), (10, 0.5, 1), (10, 64, -1), (10, 64, math.nan)]
)
def test_impossible_applications_are_refused(values):
    with pytest.raises(ModelError, match="Downey's model"):
        Downey(*values)


def test_it_is_read_from_a_table():
    table = {"model": "downey", "sequential_time": 3600, "A": 64, "sigma": 0.5}
    model = model_from_table(Fields(table, "app.toml [speedup]"))
    assert model == Downey(3600, 64, 0.5)
    assert (model.constraint, model.sizes) == (None, None)
    assert model.name == "Downey A=64 sigma=0.5"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": 0.5}, "A: 0.5 is below 1"),
        ({"sigma": -1}, "sigma: -1 is below 0"),
        ({"sequential_time": 0}, "sequential_time: 0 must be more than 0"),
        ({"a": 3}, 'no key "a"; did you mean "A"'),
        ({"sequential_time": "1h"}, "is not a number"),
    ],
)
def test_values_outside_of_the_model_are_refused_by_their_key(change, message):
    table = {"model": "downey", "sequential_time": 3600, "A": 64, "sigma": 0.5} | change
    with pytest.raises(FieldError, match=message):
        model_from_table(Fields(table, "app.toml [speedup]"))
