import numpy as np
import pytest

from gas.prediction.blend import LEAST, POINTS, WEIGHTS, Blend, mixture
from gas.prediction.calibration import Level
from gas.prediction.ledger import LONGER, Ledger, Outcome


def waits(*seconds):
    return np.sort(np.array(seconds, np.int64))


def test_a_mixture_has_its_share_of_each():
    found = mixture(0.3, waits(1), waits(1000))
    assert found.size == POINTS
    assert (found == 1).sum() == 30
    assert (found == 1000).sum() == 70


def test_without_similar_jobs_all_is_simulated():
    assert (mixture(0.1, waits(5, 5), waits()) == 5).all()


def test_a_part_keeps_its_quantiles():
    whole = mixture(1.0, waits(*range(1000)), waits(7))
    assert np.abs(whole - np.arange(5, 1000, 10)).max() <= 1


@pytest.mark.parametrize(("truth", "weight"), [(60, 1.0), (7200, 0.0)])
def test_who_is_right_counts(truth, weight):
    blend = Blend()
    assert blend.weight == 0.5
    for _ in range(LEAST):
        assert blend.weight == 0.5
        blend.came_true(truth, waits(50, 60, 70), waits(7000, 7200, 7400))
    assert len(blend) == LEAST
    assert blend.weight == weight


def test_where_one_is_known_to_be_better_it_counts_more_until_there_are_outcomes():
    assert Blend(before=0.9).weight == 0.9
    assert Ledger(weight=0.9).weight(LONGER) == 0.9
    ledger = Ledger([Outcome(k, LONGER, Level(0.5, 0.5), True, tuple(WEIGHTS)) for k in range(LEAST)], weight=0.9)
    assert ledger.weight(LONGER) == 0.0


def test_where_each_is_right_at_times_both_count():
    blend = Blend()
    for i in range(100):
        blend.came_true(60 if i % 2 else 7200, waits(50, 60, 70), waits(7000, 7200, 7400))
    assert 0.3 <= blend.weight <= 0.7


def test_habits_that_have_changed_are_forgotten():
    blend = Blend()
    for truth in (*[60] * 500, *[7200] * 400):
        blend.came_true(truth, waits(60), waits(7200))
    assert blend.weight == WEIGHTS[0]


def test_a_simulation_helps_until_it_is_known_not_to():
    near, far = np.arange(0, 100), np.arange(3600, 3700)
    for simulated, similar, helps in ((near, far, True), (far, near, False), (near, near, False)):
        found = Blend()
        for wait in range(LEAST):
            assert found.helps
            found.came_true(wait, simulated, similar)
        assert found.helps is helps
