import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.errors import BadInput
from gas.prediction.calibration import PRIOR, UNTRIED, WINDOW, Calibration, Level, ends_of, level_of

NOW = 1_000_000
HOUR = 3600


def samples(*starts):
    return np.sort(np.array(starts, np.int64))


def outcomes(truths, predicted, latest):
    return [level_of(truth, predicted, NOW, latest) for truth in truths]


def test_before_anything_came_true_an_interval_has_its_share_of_the_samples():
    for share in (0.5, 0.8, 0.9):
        low, high = UNTRIED.levels(share)
        assert low == pytest.approx(1 - high)
        assert 0 <= high - low - share <= 1 / (PRIOR + 1)  # the parts into which the prior divides it
    assert Calibration().levels(0.99) == (0.0, 1.0)  # twenty outcomes are no evidence on one in two hundred


def test_where_samples_are_right_the_first_intervals_hold_as_often_as_requested():
    """An interval is neither too narrow nor too wide before calibration can know it."""
    generator = np.random.default_rng(5)
    inside = []
    for _ in range(100):
        known = Calibration()
        for _ in range(20):
            predicted, truth = np.sort(generator.exponential(1e5, 200)).astype(np.int64), generator.exponential(1e5)
            latest = int(predicted[-1])
            low, high = ends_of(known.levels(0.9), predicted, 0, latest)
            inside.append(low <= truth <= high)
            known.came_true(level_of(int(truth), predicted, 0, latest))
    assert 0.89 <= np.mean(inside) <= 0.92


def test_an_interval_grows_with_its_share():
    known = Calibration(outcomes(range(NOW, NOW + HOUR, 60), samples(*range(NOW, NOW + HOUR, 30)), NOW + HOUR))
    levels = [known.levels(share) for share in (0.5, 0.8, 0.9, 0.95, 0.99)]
    assert levels == sorted(levels, reverse=True)
    assert [high for _, high in levels] == sorted(high for _, high in levels)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 90.0, float("nan")])
def test_a_share_lies_between_0_and_1(share):
    with pytest.raises(BadInput, match="must be above 0 and below 1"):
        UNTRIED.levels(share)


def test_only_the_last_outcomes_count():
    late, right = Level(1.0, 1.0), Level(0.5, 0.5)
    changed = Calibration([late] * WINDOW)
    assert changed.levels(0.9)[1] == 1.0
    for _ in range(WINDOW):
        changed.came_true(right)
    assert len(changed) == WINDOW
    assert changed.levels(0.9) == (0.5, 0.5)


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("factor", [0.2, 0.6, 1.0, 1.8, 4.0])
def test_whatever_is_wrong_with_samples_nine_of_ten_intervals_hold_in_the_end(factor):
    """Waits are exponential; their predictions are too short or too long, and some of the samples far too narrow."""
    generator = np.random.default_rng(3)
    known, inside, late = Calibration(), [], []
    for _ in range(2000):
        mean = generator.uniform(60, 4 * HOUR)
        predicted = np.sort(NOW + generator.exponential(mean, 100).astype(np.int64))
        truth = NOW + int(generator.exponential(factor * mean))
        latest = NOW + round(5 * mean)
        low, high = ends_of(known.levels(0.9), predicted, NOW, latest)
        inside.append(low <= truth <= high)
        late.append(truth > high)
        known.came_true(level_of(truth, predicted, NOW, latest))
    assert 0.88 <= np.mean(inside[400:]) <= 0.93
    assert np.mean(late[400:]) <= 0.065  # at either end


def test_at_once_is_in_the_interval_where_it_was_right():
    at_once = np.full(50, NOW)
    known = Calibration(outcomes([NOW] * 60, at_once, NOW + HOUR))
    low, high = ends_of(known.levels(0.9), at_once, NOW, NOW + HOUR)
    assert low == NOW
    assert high <= NOW + HOUR


def test_a_start_that_is_sure_has_no_width():
    assert ends_of(UNTRIED.levels(0.9), np.full(10, NOW), NOW, NOW) == (NOW, NOW)


def test_what_comes_after_the_latest_plan_makes_the_next_interval_reach_beyond_it():
    predicted, latest = samples(*range(NOW, NOW + HOUR, 60)), NOW + HOUR
    known = Calibration(outcomes([latest + HOUR] * 100, predicted, latest))
    low, high = ends_of(known.levels(0.9), predicted, NOW, latest)
    assert low > NOW
    assert high == pytest.approx(latest + HOUR, abs=1)


@examples(200)
@given(
    st.lists(st.integers(0, 10_000), min_size=1, max_size=30),
    st.integers(0, 5_000),
    st.integers(-100, 30_000),
    st.lists(st.integers(-100, 30_000), max_size=30),
)
def test_an_end_is_where_its_level_says(starts, more, truth, before):
    """A start at an end of an interval has the level of that end, within a second."""
    predicted = samples(*starts)
    latest = int(predicted[-1]) + more
    known = Calibration(level_of(one, predicted, 0, latest) for one in before)
    levels = known.levels(0.8)
    low, high = ends_of(levels, predicted, 0, latest)
    assert low <= high
    assert level_of(low - 1, predicted, 0, latest).before <= levels[0]
    assert level_of(low + 1, predicted, 0, latest).through >= min(levels[0], 1) - 1e-9 or low >= latest
    assert level_of(high - 1, predicted, 0, latest).before <= levels[1] + 1e-9
    level = level_of(truth, predicted, 0, latest)
    assert 0 <= level.before <= level.through
    assert (level.before > 1) == (truth > latest)


def test_outcomes_that_count_are_as_many_as_there_were():
    assert len(Calibration()) == 0
    assert len(Calibration([Level(0.1, 0.2)] * 3)) == 3
    assert PRIOR < WINDOW
