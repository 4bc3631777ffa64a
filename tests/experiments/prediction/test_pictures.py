"""Pictures of the study of predictions: every mark is within the frame, and nothing overlaps."""

import re

import numpy as np
import pytest

from experiments.prediction import pictures as prediction_pictures
from experiments.prediction.results import Predictions
from experiments.prediction.run import SHARES


def predicted(start):
    row = {"now": 0, "promise": 1000, "start": start, "processors": 10, "rank": 0.5, "mean": 150, "median": 150}
    return row | {f"{end}_{share:g}": at for share in SHARES for end, at in (("low", 100), ("high", 200))}


def of_months(*inside, starts=40):
    """Return predictions of months in which this percentage lies in all intervals."""
    rows, months = [], []
    for number, percent in enumerate(inside):
        count = starts * percent // 100
        rows += [predicted(150)] * count + [predicted(250)] * (starts - count)
        months += [("KTH", f"1997-{1 + number:02}")] * starts
    return Predictions(rows, months, [100] * len(rows))


@pytest.fixture
def drawn(as_figures):
    """The function that draws the figure."""
    return as_figures(prediction_pictures).draw_reliability


@pytest.mark.thorough
@pytest.mark.parametrize("inside", [(90, 90), (30, 35), (0, 0), (100, 100), (85, 90, 95, 90), (30, 60, 40, 50)])
def test_every_share_is_shown_however_small_it_is(drawn, inside):
    axes = drawn({"KTH": of_months(*inside)}).axes[0]
    low, high = axes.get_ylim()
    assert low < np.mean(inside) < high
    if len(inside) >= 4:
        (bars,) = axes.containers[0].lines[2]
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        assert (ends.min() > low) or low <= 0


def test_a_share_without_an_interval_has_no_error_bar(drawn):
    assert not drawn({"KTH": of_months(90, 90)}).axes[0].containers[0].has_yerr
    assert drawn({"KTH": of_months(85, 90, 95, 90)}).axes[0].containers[0].has_yerr


def test_the_legend_stands_outside_of_the_frame(drawn):
    logs = {name: of_months(85, 90, 95, 90, starts=1000) for name in ("SDSC", "CTC", "KTH")}
    figure = drawn(logs)
    frame, legend = figure.axes[0].get_window_extent(), figure.legends[0].get_window_extent()
    assert legend.y0 >= frame.y1
    assert 0 <= legend.x0 < legend.x1 <= figure.bbox.width
    assert [re.sub(":.*", "", text.get_text()) for text in figure.legends[0].get_texts()] == list(logs)
