"""The published figures, as the paper prints them."""

import pytest

from experiments.published import (
    FACTORS,
    HISTORY,
    MEASURES,
    POLICIES,
    TRACES,
    Difference,
    overall,
    table1,
    table2,
    table3,
)


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


def test_printed_percentages_of_jobs_agree_with_the_counts():
    whole = {(row.trace, row.parameter): row.jobs for row in table2()}
    assert len(whole) == 22  # eight parameters of three logs, zero-length jobs of KTH alone
    for row in table2():
        if row.parameter == "total jobs":
            assert row.percent is None
        else:
            of = whole[row.trace, "total jobs" if row.of == "total" else row.of]
            assert row.percent == pytest.approx(100 * row.jobs / of, abs=0.06)


def test_there_is_a_mean_for_every_factor_and_for_the_users_own_estimates():
    keys = {(row.trace, row.measure, row.policy, row.factor) for row in table3()}
    assert keys == {(t, m, p, f) for t in TRACES[:3] for m in MEASURES for p in POLICIES for f in (None, *FACTORS)}
    assert len(table3()) == len(keys) == 96


def test_both_tables_print_the_same_means_under_the_users_own_estimates():
    own = {(row.trace, row.measure, row.policy): row.mean for row in table3() if row.factor is None}
    for row in overall():
        assert own[row.trace, row.measure, row.policy] == pytest.approx(row.mean, abs=0.05)


def test_shares_of_section_4_4_are_those_of_the_jobs_that_were_not_killed():
    whole = HISTORY["not killed"]
    shares = [round(100 * HISTORY[name] / whole, 1) for name in list(HISTORY)[1:]]
    assert shares == [72.1, 19.2, 10.0]
    killed = {row.parameter: row.jobs for row in table2() if row.trace == "CTC"}
    assert whole == killed["total jobs"] - killed["killed jobs"] + 5  # text and table are five jobs apart
