"""The application files that fits propose can be read, and state their origin."""

import tomllib

import numpy as np
import pytest

from gas.application import Application
from gas.resources import Resources
from speedup_models.fitting import fit
from speedup_models.goodput import Goodput
from speedup_models.layouts import LayoutTable
from speedup_models.proposal import application_text, better, curve_front, layout_text
from speedup_models.table import Table
from tests.speedup_models.test_layout_fit import fitted, steps


def read(text):
    return Application.from_tables(tomllib.loads(text), "app.toml")


def test_a_scientist_who_timed_powers_of_two_is_offered_those():
    sizes = [1, 4, 8, 16, 32, 64]
    report = fit(sizes, [20 + 1000 / size for size in sizes], bootstrap=0)
    assert 51 not in read(application_text(report, "lu")).sizes(100).tolist()
    assert {one.size for one in curve_front(report)} <= {1, 2, 4, 8, 16, 32, 64}


@pytest.mark.parametrize("sizes", [[4, 9, 16, 25], [6, 12, 18, 30], [1, 2, 3, 5], [1, 2, 3, 4]])
def test_other_kinds_of_sizes_are_kept_too(sizes):
    app = read(application_text(fit(sizes, [1000 / size + 5 for size in sizes], bootstrap=0), "lu"))
    assert set(sizes) <= set(app.sizes(100).tolist())
    assert app.constraint.permits(max(sizes))
    assert not app.constraint.permits(max(sizes) + 1)


@pytest.mark.thorough
def test_where_no_model_fits_the_times_themselves_are_written():
    sizes, seconds = [1, 2, 4, 8, 16, 32], [100, 30, 80, 20, 70, 90]
    report = fit(sizes, seconds, bootstrap=0)
    assert better(report) == "table"
    text = application_text(report, "odd")
    assert "No model fits well enough" in text
    app = read(text)
    assert isinstance(app.model, Table)
    assert app.model.seconds(np.array([8, 3])).tolist() == [pytest.approx(20), pytest.approx(float("nan"), nan_ok=True)]
    assert "amdahl" in application_text(report, "odd", "amdahl")
    assert "the measured times themselves (table) are proposed" in " ".join(
        line.lstrip("# ") for line in application_text(report, "odd", report.better).splitlines()
    )


def test_repeated_timings_are_one_time_of_the_table():
    report = fit([1, 1, 2, 4], [90, 110, 50, 30], bootstrap=0)
    assert read(application_text(report, "x", "table")).model.seconds(np.array([1]))[0] == pytest.approx(
        99.4987, rel=1e-4
    )


def test_the_goodput_model_is_written_and_read():
    report = fitted(steps(), steps=1000, batch=256)
    app = read(layout_text(report, "train"))
    assert isinstance(app.model, Goodput)
    assert (app.unit, app.model.samples, app.model.batch, app.model.largest_local) == ("gpus", 256_000, 256, 64)
    assert app.resources == Resources("gpus")
    assert app.sizes(100).tolist() == [1, 2, 4, 8, 16, 32]
    free = fitted(steps(), samples=1e6, batch=256, largest_batch=4096, noise=3000.0)
    assert read(layout_text(free, "train")).model.largest_batch == 4096
    weak = fitted(steps((32,)), samples=1e6)
    assert read(layout_text(weak, "train")).model.local_batch == 32


def test_links_that_were_not_measured_are_not_written():
    text = layout_text(fitted(steps(layouts=((1, 1), (1, 2), (1, 4))), steps=1000, batch=64), "train")
    assert "alpha_n" not in text
    assert "Warning: no step ran on several nodes" in text


def test_the_measured_layouts_are_written_where_nothing_fits():
    app = read(layout_text(fitted(steps(wild=4.0), steps=1000, batch=256), "train"))
    assert isinstance(app.model, LayoutTable)
    assert len(app.model.layouts) == 3
