"""Pictures of walltime adjustment draw the results, and nothing where there are none."""

import numpy as np
import pytest

from experiments.walltime import pictures


@pytest.fixture
def drawn(as_figures):
    return as_figures(pictures)


@pytest.mark.thorough
def test_a_month_is_drawn_in_per_cent_of_the_one_without_adjustment(drawn, small_study):
    (log,) = small_study.logs
    regular, selective = drawn.draw_months(small_study, log, "wfp").axes[::3]
    for axes, percent in ((regular, 90), (selective, 80)):
        (line,) = [one for one in axes.lines if one.get_label() == "p85"]
        assert line.get_ydata().tolist() == [percent] * 3
        assert axes.get_title().endswith("mean wait")


def test_a_percentile_that_was_not_simulated_has_no_marks(drawn, small_study):
    (log,) = small_study.logs
    others = [one for one in drawn.draw_months(small_study, log, "wfp").axes[0].lines if one.get_label() != "p85"]
    assert all(np.isnan(one.get_ydata()).all() for one in others if one.get_label().startswith("p"))


def test_gains_are_bars_of_the_averaged_months(drawn, small_study):
    figure = drawn.draw_gains(small_study)
    heights = {axes.get_title(): [bar.get_height() for bar in axes.patches] for axes in figure.axes}
    assert heights["KTH, WFP, regular"][3] == pytest.approx(10.0)
    assert heights["KTH, WFP, selective"][3] == pytest.approx(20.0)
    assert np.isnan(heights["KTH, FCFS, regular"]).all()


@pytest.mark.parametrize(("months", "words"), [(None, "all"), (1, "1 month"), (6, "6 months")])
def test_a_window_is_named_by_its_length(months, words):
    assert pictures.window(months) == words
