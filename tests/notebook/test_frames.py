"""Frames have a row for each item; instants have a time zone."""

import builtins
import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from shown_things import ALL, FORECAST, IMPOSSIBLE, LIST, NOW, PLAN, PREDICTED, PREDICTION, SCHEDULE

from documents.extras import way_to_install
from gas import AvailabilityList
from gas.availability import NodeAvailability, Spans
from gas.errors import Missing
from gas.simulation.schedule import NEVER_STARTED
from gas.times import LATEST
from workloads import Header

pytestmark = pytest.mark.skipif(find_spec("pandas") is None, reason="needs pandas")


@pytest.fixture
def pandas():
    """Imported only by the worker that runs such a test, not by every worker that collects it."""
    import pandas

    return pandas


def seconds(column):
    return [int(one.timestamp()) if one == one else None for one in column]  # nothing equals pandas' NaT


@pytest.mark.parametrize("shown", ALL.values(), ids=ALL)
def test_all_instants_know_their_zone(shown):
    frame = shown.to_frame()
    for name in frame.columns:
        if name in ("start", "finish", "end", "submit", "promise") or name.startswith(("predicted", "start_")):
            assert frame[name].dt.tz is not None, name


def test_a_plan_has_a_row_for_each_candidate(pandas):
    frame = PLAN.to_frame()
    assert seconds(frame["start"]) == [one.start for one in PLAN.candidates]
    assert list(frame["finish"] - frame["start"]) == list(frame["execution_time"])
    assert list(frame["processors"]) == [one.processors for one in PLAN.candidates]
    assert list(frame[frame["best"]]["processors"]) == [PLAN.best.processors]
    assert frame["walltime"].iloc[0] == pandas.Timedelta(seconds=PLAN.best.walltime)


def test_a_plan_without_candidates_has_the_same_columns():
    frame = IMPOSSIBLE.to_frame()
    assert len(frame) == 0
    assert list(frame.dtypes) == list(PLAN.to_frame().dtypes)


def test_what_is_predicted_stands_beside_what_is_planned():
    frame = PREDICTED.to_frame()
    assert seconds(frame["predicted_start"]) == [NOW + 100] + [None] * (len(frame) - 1)
    assert seconds(frame["predicted_start_high"])[0] == NOW + 500
    assert seconds(PREDICTION.to_frame()["finish_at_risk"]) == [NOW + 1500]


def test_a_list_has_a_row_for_each_frame():
    frame = LIST.to_frame()
    assert seconds(frame["start"]) == LIST.starts.tolist()
    assert seconds(frame["end"]) == [*LIST.starts[1:].tolist(), None]
    assert list(frame["free"]) == LIST.free.tolist()


def test_a_list_of_nodes_shows_its_counts():
    nodes = NodeAvailability("ada", "estimate", NOW, "1", np.array([4, 4]), Spans.of([(0, NOW, NOW + 60, 4)]))
    assert list(nodes.to_frame()["free"]) == [4, 8]
    assert repr(nodes).startswith("<NodeAvailability of ada: 2 nodes, 8 units")


def test_the_last_instant_that_there_is_can_be_shown():
    assert seconds(AvailabilityList.of([0, LATEST], [1, 2]).to_frame()["start"]) == [0, LATEST]


def test_a_forecast_has_a_row_for_each_candidate():
    frame = FORECAST.to_frame()
    assert len(frame) == 3
    assert (frame["start_low"] <= frame["expected_start"]).all()
    assert (frame["expected_start"] <= frame["start_high"]).all()


def test_a_schedule_is_in_the_time_of_its_log():
    frame = SCHEDULE.to_frame()
    assert seconds(frame["start"]) == [1000, 1010, 1002, 1030]
    assert list(frame["wait"].dt.total_seconds()) == [0, 9, 0, 27]
    header = Header.of([("UnixStartTime", NOW), ("TimeZoneString", "Europe/Stockholm")])
    jobs = replace(SCHEDULE.jobs, header=header)
    there = replace(SCHEDULE, jobs=jobs).to_frame()
    assert str(there["start"].dt.tz) == "Europe/Stockholm"
    assert seconds(there["end"]) == [NOW + 10, NOW + 30, NOW + 8, NOW + 55]


def test_a_log_that_does_not_say_when_it_was_counts_from_its_second_0(pandas):
    frame = replace(SCHEDULE, jobs=replace(SCHEDULE.jobs, header=Header()), promise=None).to_frame()
    assert list(frame["start"]) == [pandas.Timedelta(seconds=at) for at in (0, 10, 2, 30)]
    assert "promise" not in frame


def test_a_job_that_never_started_has_no_start(pandas):
    start = SCHEDULE.start.copy()
    start[3] = NEVER_STARTED
    row = replace(SCHEDULE, start=start).to_frame().iloc[3]
    assert pandas.isna(row["start"])
    assert pandas.isna(row["wait"])


def test_without_pandas_it_says_what_to_install(monkeypatch):
    plain = builtins.__import__

    def without(name, *rest):
        if name == "pandas":
            raise ImportError
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Missing, match=re.escape(way_to_install("data"))):
        PLAN.to_frame()
