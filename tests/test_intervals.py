"""Means over seeds, with their intervals."""

from math import comb

import numpy as np
import pytest

from gas.intervals import (
    Interval,
    by_months,
    interval,
    jackknife_by_months,
    jackknifed,
    points_by_months,
    ratio_by_months,
    share_by_months,
    share_of_sums,
    signed,
    sure,
)


def test_an_interval_over_seeds_is_students():
    assert interval([3.0]).half_width is None
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, round(found.half_width, 4)) == (2.0, round(2.919986 / np.sqrt(3), 4))


def test_it_is_written_with_as_many_digits_as_asked_for():
    assert str(interval([1000.0])) == "1,000"
    assert interval([1.0, 2.0, 3.0]).text(2) == "2.00 ± 1.69"


def test_months_weigh_by_their_values_and_fewer_than_four_give_no_interval():
    values, months = np.array([1.0, 1.0, 3.0, 5.0, 2.0]), ["a", "a", "b", "c", "d"]
    found = by_months(values, months)
    assert found.mean == values.mean()
    residuals = np.array([2 - 2 * 2.4, 3 - 2.4, 5 - 2.4, 2 - 2.4])
    assert found.half_width == pytest.approx(2.353363 * np.sqrt((residuals**2).sum() / 3) / (1.25 * 2), rel=1e-6)
    assert by_months(values[:4], months[:4]) == Interval(2.5, None)


def test_a_statistic_of_few_months_is_not_asked_without_one_of_them():
    found = jackknife_by_months(lambda kept: 1.0 / int(kept.sum()), ["a", "a"])
    assert found == Interval(0.5, None)


@pytest.mark.parametrize(("mean", "half_width", "is_sure"), [(-3.0, 1.0, True), (-3.0, 4.0, False), (3.0, 0.5, True)])
def test_a_difference_is_sure_where_its_interval_excludes_zero(mean, half_width, is_sure):
    assert sure(Interval(mean, half_width)) is is_sure
    assert not sure(Interval(mean, None))


def test_a_difference_has_a_sign():
    assert (signed(Interval(3.0, None)), signed(Interval(-3.0, 1.0), 1)) == ("+3", "-3.0 ± 1.0")


def test_a_share_is_the_mean_of_its_hits_and_misses():
    hits = np.random.default_rng(0).uniform(size=200) < np.repeat([0.99, 0.5, 0.9, 0.7, 0.8], 40)
    months = [i // 40 for i in range(200)]
    assert share_by_months(hits, months) == by_months(np.where(hits, 100.0, 0.0), months)  # the months differ


def test_months_that_agree_by_chance_leave_a_share_as_uncertain_as_so_few_trials():
    """Of the jobs of four months 3 of 30 each were killed: "10.0 ± 0.0%" was counted as certainly below 11%."""
    found = share_of_sums(np.full(4, 3), np.full(4, 30))
    assert found.mean == 10
    assert sum(comb(120, k) * 0.157**k * 0.843 ** (120 - k) for k in range(13)) == pytest.approx(0.05, abs=1e-3)
    assert found.half_width == pytest.approx(5.7, abs=0.03)
    assert share_of_sums(np.full(4, 27), np.full(4, 30)).half_width == pytest.approx(found.half_width)
    apart = share_of_sums(np.array([0, 20, 3, 5]), np.full(4, 30))
    assert apart.half_width / 100 == pytest.approx(ratio_by_months(np.array([0, 20, 3, 5]), np.full(4, 30)).half_width)


def test_months_that_agree_by_chance_leave_a_mean_as_uncertain_as_independent_values():
    values, months = np.tile([0.0, 10.0], 20), [i // 10 for i in range(40)]
    found = by_months(values, months)
    assert found.half_width == interval(values.tolist()).half_width == pytest.approx(1.35, abs=0.01)
    wider = by_months(np.repeat([0.0, 10.0], 20), months)
    assert wider.half_width > 2 * found.half_width  # as the months differ


def test_a_difference_of_shares_is_as_uncertain_as_each_of_them():
    """Where a job was never later and never sooner, "0.0 ± 0.0 points" was said to be certain."""
    months, none = [i // 25 for i in range(100)], np.zeros(100, bool)
    some = np.arange(100) % 10 == 0
    assert points_by_months(none, none, months) == share_by_months(none, months)
    found = points_by_months(some, none, months)
    assert (found.mean, found.half_width) == (10.0, pytest.approx(share_by_months(some, months).half_width))
    assert points_by_months(none, some, months) == Interval(-10.0, found.half_width)
    uneven = np.arange(100) < 25
    assert points_by_months(uneven, none, months) == by_months(np.where(uneven, 100.0, 0.0), months)
    assert points_by_months(some[:3], none[:3], [1, 2, 3]).half_width is None
    assert points_by_months(none[:0], none[:0], []) == Interval(0.0, None)


@pytest.mark.parametrize(
    ("count", "level", "known"), [(4, 0.9, False), (5, 0.9, True), (6, 0.98, False), (7, 0.98, True)]
)
def test_months_of_which_one_number_is_known_must_be_many_if_they_agree(count, level, known):
    """Of months drawn on both sides of a limit, so many would be on one side more rarely than the level allows."""
    assert (2 * 0.5**count <= 1 - level) is known
    half = 0.0 if known else None
    assert ratio_by_months(np.full(count, 0.1), np.full(count, 0.3), level=level).half_width == half
    assert jackknifed(3.3, [3.3] * count, level=level).half_width == half
    assert by_months(np.full(3 * count, 0.7), [i % count for i in range(3 * count)], level=level).half_width == half


def test_seeds_that_agree_by_chance_give_no_interval():
    assert interval([3.0, 3.0]) == Interval(3.0, None)
    assert interval([3.0] * 5) == Interval(3.0, 0.0)


@pytest.mark.parametrize(("hit", "mean"), [(True, 100.0), (False, 0.0)])
def test_a_share_of_all_or_none_is_as_certain_as_so_few_values_make_it(hit, mean):
    months = [i // 10 for i in range(50)]
    found = share_by_months(np.full(50, hit), months)
    assert found.mean == mean
    others = found.half_width / 100
    assert (1 - others) ** 50 == pytest.approx(0.05)  # so many values of one kind only
    assert share_by_months(np.full(50, hit), months, level=0.98).half_width > found.half_width
    assert share_by_months(np.full(5000, hit), [i // 100 for i in range(5000)]).half_width < 0.1
    assert share_by_months(np.full(3, hit), [1, 2, 3]) == Interval(mean, None)
    assert share_by_months(np.zeros(0, bool), []) == Interval(0.0, None)
