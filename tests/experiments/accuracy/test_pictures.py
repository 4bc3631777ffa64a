"""The picture of Gas's gain against the error of its model."""

from experiments.accuracy import pictures
from experiments.accuracy.beliefs import ERRORS, VARIANTS
from gas.intervals import Interval

CURVES = {
    (measure, variant, trace, way): [Interval(80 - 10 * i, 5 if trace == "KTH" else None) for i in range(len(ERRORS))]
    for measure in ("mean", "geometric mean")
    for variant in VARIANTS
    for trace in ("KTH", "CTC")
    for way in ("gas", "cautious")
}


def test_a_panel_has_a_line_for_each_log_and_way_over_all_errors(as_figures):
    figure = as_figures(pictures).draw_gains(CURVES)
    assert [axes.get_title() for axes in figure.axes] == [
        f"{v}: {m}" for m in ("mean", "geometric mean") for v in VARIANTS
    ]
    for axes in figure.axes:
        lines = [line for line in axes.lines if line.get_marker() != "None"]
        assert [line.get_ydata().tolist()[:2] for line in lines] == [[80, 70]] * 4
    assert [text.get_text() for text in figure.axes[-1].get_xticklabels()] == [f"{error:,}" for error in ERRORS]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["KTH", "KTH, cautious", "CTC", "CTC, cautious"]
