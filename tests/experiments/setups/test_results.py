"""How many printed means a set-up meets, counted by hand; the months that are best left out; the order of set-ups."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.moldable.benchmarks import GROUPS
from experiments.setups.results import Options, Results, met_means, printed

PAPER = printed()


def month(setup, log, name, factor=1.0):
    """Return a run in which each class has one outcome: the printed means of its log, times a factor."""
    gas, static = factor * PAPER[log]
    rows = [{"benchmark": of[0], "gas": gas, "static": static} for of in GROUPS.values()]
    run = SimpleNamespace(setup=setup, site=SimpleNamespace(trace=log), month=name)
    return run, {"outcomes": rows}


def results(*pairs):
    return Results(Options(), *map(list, zip(*pairs, strict=True)))


def test_a_mean_is_met_within_a_quarter_of_the_printed_one():
    assert met_means(np.array([75.0, 74.9, 125.0, 125.1]), np.array([100.0] * 4)).tolist() == [True, False, True, False]


def test_means_are_those_of_logs_and_of_classes_over_all_logs():
    study = results(month((), "KTH", "1996-10"), month((), "CTC", "1996-10"))
    means = study.means(())
    assert means["KTH"] == pytest.approx(PAPER["KTH"])
    assert all(means[group] == pytest.approx((PAPER["KTH"] + PAPER["CTC"]) / 2) for group in GROUPS)
    assert study.cells(()) == 10
    by_hand = sum(int(met_means(mean, PAPER[name]).sum()) for name, mean in means.items())
    assert study.met(()) == by_hand >= 4


def test_months_beyond_those_that_the_paper_used_are_left_out_where_that_suits():
    good = [month((), "KTH", f"1997-{number:02}") for number in range(1, 10)]
    study = results(*good, month((), "KTH", "1997-10", 40.0), month((), "KTH", "1997-11", 40.0))
    assert study.met(()) < study.met_at_best(()) == results(*good).met(())


def test_no_month_is_left_out_of_as_many_as_the_paper_used():
    study = results(month((), "KTH", "1996-10"), month((), "KTH", "1996-11", 40.0))
    assert study.met_at_best(()) == study.met(())


def test_set_ups_that_meet_most_come_first_and_those_that_miss_a_month_not_at_all():
    far, close, short = (("times", "4"),), (("times", "2"),), (("static", "own"),)
    empty = month(short, "KTH", "1996-10")[0], {"outcomes": []}
    study = results(month(far, "KTH", "1996-10", 9.0), empty, month(close, "KTH", "1996-10"))
    assert study.setups == [close, far]
    assert study.error(close) < study.error(far)
    assert study.loses(close) == 0
