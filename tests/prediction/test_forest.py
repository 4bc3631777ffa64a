"""The forest picks past waits by the features of their jobs."""

import numpy as np
import pytest

from gas.prediction.forest import Forest, Picked

LEVELS = np.array([0.25, 0.5, 0.75])


def past(count=600, noise=4, seed=1):
    """Waits of an hour where the first feature is high and of a minute elsewhere; the other features tell nothing."""
    generator = np.random.default_rng(seed)
    seen = generator.random((count, 1 + noise)).astype(np.float32)
    return seen, np.where(seen[:, 0] > 0.5, 3600, 60) + generator.integers(0, 20, count)


def test_waits_are_those_of_jobs_that_looked_alike():
    forest = Forest(*past())
    for first, wait in ((0.1, 60), (0.9, 3600)):
        low, middle, high = forest.picked(np.full(5, first, np.float32)).quantiles(LEVELS)
        assert wait <= low <= middle <= high <= wait + 20


def test_where_nothing_tells_all_waits_are_likely():
    seen, waits = past()
    low, _, high = Forest(np.zeros_like(seen), waits).picked(seen[0]).quantiles(LEVELS)
    assert np.abs(np.array([low, high]) - np.quantile(waits, (0.25, 0.75))).max() <= 3


def test_machine_code_and_python_grow_the_same_trees():
    seen, waits = past(60)
    one, other = (Forest(seen, waits, machine_code=code) for code in (True, False))
    for row in seen[:5]:
        assert one.picked(row).quantiles(LEVELS).tolist() == other.picked(row).quantiles(LEVELS).tolist()


def test_the_same_seed_gives_the_same_forest():
    seen, waits = past(100)
    levels = np.linspace(0.1, 0.9, 9)
    found = [Forest(seen, waits, seed=seed).picked(seen[3]).quantiles(levels).tolist() for seed in (4, 4, 5)]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_among_jobs_that_looked_alike_the_last_ones_count_more():
    waits = np.repeat([60, 3600], 2000)
    picked = Forest(np.zeros((4000, 1), np.float32), waits).picked(np.zeros(1, np.float32))
    assert picked.level(60).through == pytest.approx(1 / 3, abs=0.01)  # half the weight, this many jobs earlier


def test_the_level_of_a_wait_is_the_share_of_shorter_ones():
    picked = Picked(np.array([0, 60, 60, 900]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert picked.level(60) == (pytest.approx(0.1), pytest.approx(0.6))
    assert picked.level(30) == (pytest.approx(0.1), pytest.approx(0.1))
    assert picked.level(-1) == (0, 0)
    assert picked.quantiles(np.array([0.0, 0.1, 0.11, 0.6, 0.61, 1.0])).tolist() == [0, 0, 60, 60, 900, 900]


def test_beyond_all_past_waits_a_level_goes_on_by_the_logarithm():
    picked = Picked(np.array([0, 940]), np.array([1.0, 1.0]))
    assert picked.level(1940) == (pytest.approx(1 + np.log(2)),) * 2
    assert picked.quantiles(np.array([0.5, 1.0, picked.level(1940).before])).tolist() == [0, 940, 1940]
