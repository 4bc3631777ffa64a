"""The report on a fit: the front next to the parameters, unbounded intervals, errors at left-out sizes."""

import numpy as np

from gas.cli.fit_report import document, layout_document, show_curve, show_layouts, title
from speedup_models.fitting import fit
from tests.speedup_models.test_layout_fit import fitted, steps


def test_a_curve_is_named_after_what_is_written():
    report = fit([1, 2, 4, 8], [100, 52, 28, 16], bootstrap=0)
    assert title(report, None) == "Amdahl's law"
    assert title(report, "table") == "the measured times"
    assert document(report, "x", "table")["written"] == "table"


def test_the_front_has_time_cost_speed_up_and_efficiency(capsys):
    show_curve(fit([1, 2, 4, 8], [7200, 3600, 1800, 1000], bootstrap=0, unit="gpus"), "table")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["GPUs", "time", "GPU-h", "speed-up", "efficiency"] in rows
    assert ["8", "16m40s", "2.22", "7.20", "90%"] in rows


def test_layouts_show_the_error_of_each_size_left_out(capsys):
    report = fitted(steps(wild=4.0), steps=1000, batch=256)
    show_layouts(report, "layouts")
    printed = capsys.readouterr().out
    assert "GPUs left out" in printed
    assert "The goodput model does not fit" in printed
    found = layout_document(report, "train", "layouts")
    assert (found["fits"], found["written"]) == (False, "layouts")
    assert set(found["models"]["goodput"]["left_out"]) == {str(n) for n in np.unique(report.timings.processors)}
