"""The forest: past waits are picked by what was seen."""

import numpy as np

from gas.prediction.forest import Forest

LEVELS = np.array([0.25, 0.5, 0.75])


def past(count=600, noise=4, seed=1):
    """Waits that are an hour where the first number is high and a minute elsewhere, and numbers that tell nothing."""
    generator = np.random.default_rng(seed)
    seen = generator.random((count, 1 + noise)).astype(np.float32)
    return seen, np.where(seen[:, 0] > 0.5, 3600, 60) + generator.integers(0, 20, count)


def test_waits_are_those_of_jobs_that_looked_alike():
    forest = Forest(*past())
    for first, wait in ((0.1, 60), (0.9, 3600)):
        low, middle, high = forest.quantiles(np.full(5, first, np.float32), LEVELS)
        assert wait <= low <= middle <= high <= wait + 20


def test_where_nothing_tells_all_waits_are_likely():
    seen, waits = past()
    low, _, high = Forest(np.zeros_like(seen), waits).quantiles(seen[0], LEVELS)
    assert (low, high) == tuple(np.quantile(waits, (0.25, 0.75), method="inverted_cdf"))


def test_machine_code_and_python_grow_the_same_trees():
    seen, waits = past(60)
    one, other = (Forest(seen, waits, machine_code=code) for code in (True, False))
    for row in seen[:5]:
        assert one.quantiles(row, LEVELS).tolist() == other.quantiles(row, LEVELS).tolist()


def test_the_same_seed_gives_the_same_forest():
    seen, waits = past(100)
    found = [Forest(seen, waits, seed=seed).quantiles(seen[3], np.linspace(0.1, 0.9, 9)).tolist() for seed in (4, 4, 5)]
    assert found[0] == found[1]
    assert found[0] != found[2]
