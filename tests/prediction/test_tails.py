"""The ends of intervals, by past outcomes."""

import pytest

from gas.prediction.calibration import Level
from gas.prediction.tails import LONG, Outcome, Tails


def tails(levels, wait=0):
    found = Tails()
    for level in levels:
        found.add(Outcome(Level(level, level), wait))
    return found


def even(count=400):
    return [(7 * k % count + 0.5) / count for k in range(count)]


def test_where_little_is_known_ends_are_where_they_are_by_themselves():
    assert tails(even(39)).levels(0.9) == Tails().levels(0.9) == pytest.approx((0.05, 0.96))


def test_where_predictions_are_right_about_nine_in_ten_are_inside():
    low, high = tails(even()).levels(0.9)
    assert high == pytest.approx(0.96)
    assert low == pytest.approx(0.035, abs=0.005)


def test_where_long_waits_come_as_a_surprise_the_upper_end_is_higher_and_the_lower_as_well():
    found = tails(even())
    for k in range(100):
        found.add(Outcome(Level(0.9 + k / 1000, 1.0), LONG + 1))
    low, high = found.levels(0.9)
    assert high == pytest.approx(0.988, abs=0.002)  # so that 88 of the 100 are inside
    assert low > tails(even()).levels(0.9)[0]


def test_short_waits_do_not_move_the_upper_end():
    assert tails([1.0] * 400, LONG).levels(0.9)[1] == pytest.approx(0.96)


def test_at_least_some_are_below_and_the_lower_end_is_never_in_the_middle():
    assert tails([1.0] * 400).levels(0.9)[0] == pytest.approx(0.2)
    assert tails([0.0] * 400).levels(0.9)[0] == 0.0


def test_what_is_long_ago_is_forgotten():
    found = tails([1.0] * 200, LONG + 1)
    for level in even():
        found.add(Outcome(Level(level, level), LONG + 1))
    assert found.levels(0.9) == tails(even(), LONG + 1).levels(0.9)


def test_who_still_waits_counts_by_what_it_has_waited_so_far():
    found, final = tails(even(300)), tails(even(300))
    late = [Outcome(Level(0.97, 0.97), 100) for _ in range(60)]
    for one in late:
        found.add(one)
    assert found.levels(0.9)[1] == pytest.approx(0.96)  # no long wait yet
    for one in late:
        found.goes_on(one, Level(1.2, 1.2), LONG + 1)
        final.add(Outcome(Level(1.2, 1.2), LONG + 1))
    assert found.levels(0.9) == final.levels(0.9)
    assert found.levels(0.9)[1] == 1.2
