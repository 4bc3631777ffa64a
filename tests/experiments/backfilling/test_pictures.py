"""The pictures of the study: the main curves and the second marks."""

import re

import pytest

from experiments.backfilling import pictures
from experiments.backfilling.pictures import draw_backfilling, draw_models, unequal


def scheme(own, shared, *, batches, shared_batches, reason="batches"):
    def figures(mean):
        return {"response": mean, "slowdown": mean / 1000, "backfilled": mean / 1e5, "response_half_width": mean / 20}

    return {
        **figures(own),
        "batches": batches,
        "reason": reason,
        "together": figures(shared) | {"batches": shared_batches},
    }


ALIKE = (
    0.55,
    {
        "easy": scheme(11000, 11000, batches=100, shared_batches=100),
        "conservative": scheme(12000, 12000, batches=100, shared_batches=100),
    },
)
APART = (
    0.6,
    {
        "easy": scheme(12242, 12242, batches=27, shared_batches=27),
        "conservative": scheme(15826, 12400, batches=100, shared_batches=27),
    },
)


def new_figure():
    from matplotlib.figure import Figure  # not at collection: importing it takes longer than these tests

    return Figure()


def drawn(points, measure="response"):
    """What each line shows: label or marker, and values."""
    axes = new_figure().subplots()
    pictures._lines(axes, points, measure)
    return axes


def test_the_curves_are_the_means_over_the_batches_that_both_completed():
    curves = {c.get_label(): c.lines[0].get_ydata().tolist() for c in drawn([ALIKE, APART]).containers}
    assert curves == {"EASY": [11000, 12242], "conservative": [12000, 12400]}


@pytest.mark.parametrize("measure", ["response", "slowdown", "backfilled"])
def test_a_cross_shows_the_own_end_of_the_run_that_went_on_and_of_no_other(measure):
    crosses = [
        line for line in drawn([ALIKE, APART], measure).lines if line.get_marker() == "x" and len(line.get_ydata())
    ]
    (cross,) = crosses
    assert list(cross.get_ydata()) == [APART[1]["conservative"][measure]]
    assert cross.get_color() == pictures._COLOURS["conservative"]


def test_loads_at_which_the_runs_stopped_apart_are_marked():
    assert (unequal(ALIKE[1]), unequal(APART[1])) == (False, True)
    axes = new_figure().subplots()
    pictures._batches(axes, [ALIKE, APART], named=True)
    assert [text.get_text() for text in axes.texts] == ["100", "27†", "batches"]


@pytest.mark.parametrize("draw", [draw_models, lambda models: draw_backfilling(models, {})])
def test_crosses_are_explained_where_there_are_any(draw):
    def labels(points):
        # Letters are drawn as outlines; the comment before each says what they spell.
        return re.findall(rb"<!-- (.+?) -->", draw({"J": points}))

    assert b"conservative, run to its own end" in labels([ALIKE, APART])
    assert not any(b"its own" in label for label in labels([ALIKE]))


def test_means_at_own_ends_stay_in_the_picture():
    figure = new_figure()
    pictures._models(figure, {"J": [ALIKE, APART]})
    low, high = figure.axes[0].get_ylim()
    assert low < 11000
    assert high > 15826
