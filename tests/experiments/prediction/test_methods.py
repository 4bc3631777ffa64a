"""What each method predicts for a wait, from what it was given."""

from importlib.util import find_spec

import numpy as np
import pytest

from experiments.prediction.methods import Bounds, Nearest, Quantiles
from experiments.prediction.waits import LEARNERS, METHODS
from gas.prediction.queue_state import FEATURES

WITHOUT = () if find_spec("sklearn") else LEARNERS


def seen(**numbers):
    return np.array([numbers.get(name.replace(" ", "_"), 0.0) for name in FEATURES], np.float32)


def test_similar_jobs_give_their_quantiles_and_their_mean():
    quantiles, mean = Quantiles(), Quantiles(np.mean)
    for wait in (0, 10, 20, 30, 140):
        for one in (quantiles, mean):
            one.learn(seen(processors=3, walltime=10), wait)
    assert quantiles.predict(seen(processors=3.5, walltime=10.9)) == (0, 20, 140)
    assert mean.predict(seen(processors=3, walltime=10)) == (0, 40, 140)
    assert mean.predict(seen(processors=4, walltime=10)) is None


@pytest.mark.thorough
def test_a_bound_takes_59_waits_and_is_above_the_quantile():
    bounds = Bounds()
    for wait in range(58):
        bounds.learn(seen(), wait)
    assert bounds.predict(seen()) is None
    bounds.learn(seen(), 58)
    assert bounds.predict(seen()) == (0, 29, 58)  # 0.95**59 < 0.05: the largest bounds the quantile, and no other does
    for wait in range(59, 1000):
        bounds.learn(seen(), wait % 59)
    assert bounds.predict(seen())[2] in (55, 56, 57)
    assert bounds.predict(seen(queue=2)) is None


@pytest.mark.thorough
def test_three_waits_in_a_row_above_the_bound_are_a_change():
    bounds = Bounds()
    for wait in [10] * 500 + [9_000] * 3:
        bounds.learn(seen(), wait)
    assert bounds.predict(seen())[2] == 9_000  # of the 59 that are left, including these three
    calm = Bounds()
    for wait in [10] * 500 + [9_000, 9_000, 10] * 2:
        calm.learn(seen(), wait)
    assert calm.predict(seen())[2] == 10


def test_the_nearest_are_those_at_whose_submission_as_many_waited():
    nearest = Nearest()
    for i in range(200):
        nearest.learn(seen(waiting=40.0 * (i % 2)), 3600 * (i % 2))
    assert nearest.predict(seen(waiting=39)) == (3600, 3600, 3600)
    assert nearest.predict(seen(waiting=1)) == (0, 0, 0)


@pytest.mark.thorough
@pytest.mark.skipif(bool(WITHOUT), reason="scikit-learn is not installed")
@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_learns_that_jobs_wait_where_others_do(name):
    method = METHODS[name]()
    generator = np.random.default_rng(1)
    for i in range(400):
        method.learn(seen(waiting=40.0 * (i % 2), hour=24 * generator.random()), 3600 * (i % 2))
    low, middle, high = method.predict(seen(waiting=40, hour=3))
    assert low <= middle <= high
    assert 1800 < middle < 7200
    assert method.predict(seen(waiting=0, hour=3))[1] < 60
