"""Everything that can be shown can be drawn, into a new figure or into given axes."""

import re
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from shown_things import ALL, FORECAST, HOSTILE_PLAN, IMPOSSIBLE, LIST, PLAN, SCHEDULE

from documents.extras import way_to_install
from gas.errors import BadInput, Missing
from gas.notebook.plots import png_of
from gas.simulation.schedule import NEVER_STARTED
from workloads import Header

PANELS = {name: 3 if name == "schedule" else 1 for name in ALL}


@pytest.mark.parametrize("name", ALL)
def test_a_figure_of_its_own(name):
    settings = dict(matplotlib.rcParams)
    figure = ALL[name].plot()
    assert isinstance(figure, matplotlib.figure.Figure)
    assert len(figure.axes) == PANELS[name]
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("name", ALL)
def test_into_axes_that_are_given_and_no_others(name):
    from matplotlib.figure import Figure

    figure = Figure()
    *given, other = figure.subplots(PANELS[name] + 1, 1)
    assert ALL[name].plot(given if len(given) > 1 else given[0]) is figure
    assert all(ax.has_data() for ax in given)
    assert not other.has_data()
    assert figure.get_suptitle() == ""
    with pytest.raises(BadInput, match="axes for"):
        ALL[name].plot([*given, other])


def test_a_picture_is_png_and_the_same_each_time():
    first = png_of(PLAN)
    assert first.startswith(b"\x89PNG")
    assert png_of(PLAN) == first


def test_a_plan_shows_its_best_request_and_a_forecast_a_bar_a_candidate():
    texts = [text.get_text() for text in PLAN.plot().axes[0].texts]
    assert any(text.startswith("32 processors, starts in 27m36s") for text in texts)
    assert [label.get_text() for label in FORECAST.plot().axes[0].get_yticklabels()][2] == "candidate 2"


def test_a_picture_of_a_log_says_whom_to_thank():
    thanked = Header.of([("UnixStartTime", 1000), ("Acknowledge", "Ann Other $x$")])
    schedule = replace(SCHEDULE, jobs=replace(SCHEDULE.jobs, header=thanked))
    assert schedule.plot().get_supxlabel() == "log by courtesy of Ann Other $x$"
    assert SCHEDULE.plot().get_supxlabel() == ""


def test_what_others_named_is_no_mathematics():
    replace(HOSTILE_PLAN, lists=[replace(HOSTILE_PLAN.lists[0], scheduler="$\\frac$")], candidates=[]).plot()


def test_nothing_to_draw_is_said():
    assert IMPOSSIBLE.plot().get_suptitle().endswith("no request is possible")
    with pytest.raises(BadInput, match="availability list"):
        replace(PLAN, lists=()).plot()
    never = np.full(4, NEVER_STARTED)
    with pytest.raises(BadInput, match="no job started"):
        replace(SCHEDULE, start=never).plot()
    with pytest.raises(BadInput, match="stands before its end"):
        replace(SCHEDULE, end=never).plot()


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(Missing, match=re.escape(way_to_install("plot"))):
        LIST.plot()
