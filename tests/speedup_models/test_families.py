import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedup_models.amdahl import Amdahl
from speedup_models.downey import Downey, speedup
from speedup_models.families import FAMILIES, Groups, solve

AMDAHL, DOWNEY = FAMILIES["amdahl"], FAMILIES["downey"]
COUNTS = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256])


def squares(model, counts, log_time):
    """Sum of squared log residuals of a model at its best sequential time, computed from its seconds."""
    residuals = log_time - np.log(model.seconds(counts))
    return float(((residuals - residuals.mean()) ** 2).sum())


@given(st.floats(1, 300), st.floats(0, 20))
def test_a_familys_speedup_is_its_models(a, sigma):
    expected = np.log(Downey(1, a, sigma).seconds(COUNTS))
    assert -DOWNEY.log_speedup(COUNTS.astype(float), np.array([a, sigma])) == pytest.approx(expected)


@given(st.floats(0, 1))
def test_amdahls_too(f):
    expected = np.log(Amdahl(1, f).seconds(COUNTS))
    assert -AMDAHL.log_speedup(COUNTS.astype(float), np.array([f])) == pytest.approx(expected, abs=1e-12)


def test_points_reach_every_sigma_once_and_in_order():
    w = np.linspace(0, 100 / 101, 500)
    sigma = DOWNEY.shape(np.stack([np.zeros(500), w], axis=-1))[:, 1]
    assert sigma[0] == 0
    assert sigma[-1] == pytest.approx(100)
    assert (np.diff(sigma) > 0).all()
    assert DOWNEY.shape(np.array([0.0, 0.5])).tolist() == [1, 1]


def test_grouping_loses_nothing_that_least_squares_needs():
    counts = np.array([1, 1, 4, 4, 4, 16])
    log_time = np.log([100, 104, 30, 26, 28, 9.0])
    groups = Groups.of(counts, log_time)
    assert groups.n.tolist() == [1, 4, 16]
    assert groups.weight.tolist() == [2, 3, 1]
    within = sum(((log_time[counts == n] - log_time[counts == n].mean()) ** 2).sum() for n in (1, 4, 16))
    for f in (0.0, 0.01, 0.5):
        expected = squares(Amdahl(1, f), counts, log_time)
        assert float(AMDAHL.squares(groups, np.array([f]))) + within == pytest.approx(expected)


# 5, 9, 18 and 222 have shallow valleys beside the lowest
@pytest.mark.parametrize("seed", [0, 1, 2, 5, 9, 18, 222])
def test_no_point_of_a_fine_grid_is_better_than_the_solution(seed):
    rng = np.random.default_rng(seed)
    counts = np.unique(rng.integers(1, 300, size=rng.integers(4, 10)))
    truth = Downey(1000, np.exp(rng.uniform(0, 6)), rng.uniform(0, 2))
    log_time = np.log(truth.seconds(counts)) + rng.normal(0, 0.1, counts.size)
    groups = Groups.of(counts, log_time)
    best = float(DOWNEY.squares(groups, solve(DOWNEY, groups)))
    a = np.geomspace(1, 50 * counts[-1], 400)
    sigma = np.concatenate([np.linspace(0, 2, 201), np.geomspace(2, 90, 100)])
    n = counts[:, np.newaxis, np.newaxis].astype(float)
    residuals = log_time[:, np.newaxis, np.newaxis] + np.log(speedup(n, a[:, np.newaxis], sigma))
    grid = ((residuals - residuals.mean(axis=0)) ** 2).sum(axis=0)
    assert best <= grid.min() * (1 + 1e-6)

    best = float(AMDAHL.squares(groups, solve(AMDAHL, groups)))
    f = np.concatenate([[0], np.geomspace(1e-6, 1, 5000)])
    residuals = log_time[:, np.newaxis] + np.log(n[:, 0] / (1 + f * (n[:, 0] - 1)))
    assert best <= ((residuals - residuals.mean(axis=0)) ** 2).sum(axis=0).min() * (1 + 1e-6)


def test_of_points_that_fit_equally_well_the_one_with_the_largest_parallelism_is_taken():
    # With all n below A only w/A counts, here 0.01: A = 100 needs w = 1, an infinite sigma.
    groups = Groups.of(COUNTS[:6], np.log(Amdahl(1000, 0.01).seconds(COUNTS[:6])))
    a, sigma = DOWNEY.shape(solve(DOWNEY, groups))
    assert a > 90
    assert Downey(1000, a, sigma).seconds(COUNTS[:6]) == pytest.approx(Amdahl(1000, 0.01).seconds(COUNTS[:6]))


def test_parameters_on_the_edge_are_found_exactly():
    perfect = Groups.of(COUNTS, np.log(1000 / COUNTS))
    assert solve(AMDAHL, perfect).tolist() == [0.0]
    stubborn = Groups.of(COUNTS, np.full(COUNTS.size, np.log(1000.0)))
    assert solve(AMDAHL, stubborn).tolist() == [1.0]
    assert np.exp(solve(DOWNEY, stubborn)[0]) == pytest.approx(1)
