"""Means over seeds, with their intervals."""

import numpy as np
import pytest

from gas.intervals import Interval, by_months, interval, jackknife_by_months, share_by_months, signed, sure


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
    hits = np.random.default_rng(0).uniform(size=200) < 0.9
    months = [i // 40 for i in range(200)]
    assert share_by_months(hits, months) == by_months(np.where(hits, 100.0, 0.0), months)


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
