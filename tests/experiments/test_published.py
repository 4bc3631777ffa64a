"""The published figures, as the paper prints them."""

import pytest

from experiments.published import TRACES, Difference, overall, table1


def row(trace, month):
    return next(row for row in table1() if (row.trace, row.month) == (trace, month))


def test_every_row_of_the_table_is_there():
    assert [sum(row.trace == trace for row in table1()) for trace in TRACES] == [11, 10, 24, 24, 20]


def test_jobs_add_up_to_what_the_text_says_of_the_complete_trace():
    assert sum(row.jobs for row in table1() if row.trace == "SDSC") == 67665


@pytest.mark.parametrize(
    ("trace", "first", "last"),
    [("CTC", "1996-07", "1997-05"), ("KTH", "1996-10", "1997-07"), ("SDSC", "1998-05", "2000-04"),
     ("Par", "1995-01", "1996-12"), ("CM5", "1994-10", "1996-05")],
)  # fmt: skip
def test_months_follow_each_other_without_a_gap(trace, first, last):
    months = [row.month for row in table1() if row.trace == trace]
    assert (months[0], months[-1]) == (first, last)
    numbers = [int(month[:4]) * 12 + int(month[5:]) for month in months]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_printed_percentages_agree_with_printed_times():
    for one in table1():
        cell = one.cells["response"]
        assert cell.percent == pytest.approx((cell.conservative / cell.easy - 1) * 100, abs=0.06)


def test_the_sign_tells_which_scheme_is_better():
    assert row("KTH", "1996-10").cells["response"].sign == -1
    assert row("CTC", "1996-07").cells["slowdown"].sign == 1


def test_the_sign_survives_rounding_either_way():
    assert row("KTH", "1997-06").cells["response"].sign == -1  # 14,789 and 14,782, printed as -0.0%
    assert row("Par", "1995-09").cells["slowdown"].sign == 1  # 28.0 and 28.0, printed as +0.1%
    assert Difference(5.0, 5.0, 0.0).sign == 0


def test_overall_means_are_those_under_the_users_own_estimates():
    means = {(one.trace, one.measure, one.policy): one.mean for one in overall()}
    assert means["KTH", "response", "easy"] == 15568
    assert means["CTC", "response", "conservative"] == 12495
    assert means["SDSC", "slowdown", "easy"] == 84.2
    assert len(means) == 12


def test_what_doubling_the_estimates_changes_follows_from_the_means():
    for one in overall():
        digits = 0.05 if one.measure == "slowdown" else 0.5
        most = 100 * (2 * digits) / one.mean + 0.06
        assert one.percent == pytest.approx((one.doubled / one.mean - 1) * 100, abs=most)
