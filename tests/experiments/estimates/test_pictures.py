"""Pictures of estimates: shares of jobs are stacked, and the paper's means are next to ours."""

import numpy as np
import pytest

from experiments.estimates import pictures
from experiments.estimates.cells import Mean
from experiments.estimates.use import CELL, LAST, LONGEST
from gas.intervals import interval


@pytest.fixture
def drawn(as_figures):
    return as_figures(pictures)


def used(**jobs):
    """Return what is drawn of jobs that all used half of their estimates, by the class of the jobs."""
    counts = {name: np.zeros(LAST + 1, int) for name in ("killed", "short", "others")}
    for name, number in jobs.items():
        counts[name][50] = number
    cells = LONGEST // CELL
    return {"jobs": sum(jobs.values()), "histogram": counts, "cells": np.zeros((cells, cells + 1), int).tolist()}


def test_classes_of_jobs_lie_on_each_other_and_add_up(drawn):
    left, *_ = drawn.draw_use({"KTH": used(others=6, short=3, killed=1)}, "estimates").axes
    tops = {patch.get_label(): patch.get_data().values[50] for patch in left.patches}
    assert tops == pytest.approx({"other jobs": 60, "below 90 s": 90, "killed": 100})
    assert left.get_title() == "KTH: 10 jobs"


def test_a_class_without_jobs_is_not_in_the_legend(drawn):
    left, *_ = drawn.draw_use({"KTH": used(others=1)}, "estimates").axes
    assert [patch.get_label() for patch in left.patches] == ["other jobs"]


def test_ours_is_a_line_and_the_papers_means_are_hollow_marks(drawn):
    ours = {factor: interval([1000.0 * factor] * 5) for factor in (1, 2)}
    cells = [Mean("KTH", "easy", "response", factor, 900.0 * factor, 900.0, ours[factor], None) for factor in ours]
    axes = drawn.draw_means(cells).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["EASY, paper"].get_ydata().tolist() == [900, 1800]
    assert lines["EASY, paper"].get_markerfacecolor() == "none"
    assert any(line.get_ydata().tolist() == [1000, 2000] for line in axes.lines)
