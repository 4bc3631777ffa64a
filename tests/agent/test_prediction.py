"""Each scheduler is queried for its past once, and each remark made once, for any number of plans."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from gas import Agent, Application, PlanOptions
from gas.agent import prediction
from gas.agent.options import Forecasting
from gas.endpoints import FileEndpoint, S3Endpoint
from gas.errors import BadInput, Conflict
from gas.prediction import NotPredicted
from gas.prediction.history import History
from speedup_models import Table
from workloads import read_swf

pytest.importorskip("numba")

APP = Application(Table.of({2: 18000.0, 10: 3600.0}), safety=1.0, name="app")


@pytest.fixture
def history(tmp_path):
    """Jobs that used a tenth of their ten hours."""
    lines = ["; MaxProcs: 10", "; UnixStartTime: 1700000000"]
    lines += [f"{n + 1} {n * 3600} 0 3600 1 -1 -1 1 36000 -1 1 1 -1 -1 -1 -1 -1 -1" for n in range(30)]
    (tmp_path / "past.swf").write_text("\n".join(lines) + "\n")
    return History.of_log(read_swf(tmp_path / "past.swf"), name="past")


@pytest.fixture
def remarks():
    return []


@pytest.fixture
def busy(s3):
    s3.until(s3.simulated(8, 36000)["id"], "running")
    return S3Endpoint("s3", s3.url)


def test_what_is_likely_chooses_and_remarks_are_made_once(busy, history, remarks):
    agent = Agent(APP, [busy], remark=remarks.append)
    options = PlanOptions(forecasting=Forecasting(history, samples=20))
    first, second = agent.plan(options), agent.plan(options)
    assert (first.best.processors, first.plan.planned.best.processors) == (10, 2)
    assert second.best.processors == 10
    assert sum("predictions from so few" in remark for remark in remarks) == 1
    assert first.to_wire()["prediction"]["history"] == "past"


def test_a_scheduler_is_asked_for_its_own_past_once(busy, history, remarks, monkeypatch):
    asked = []

    def own(endpoint):
        asked.append(endpoint.name)
        return replace(history, name="accounting")

    monkeypatch.setattr(S3Endpoint, "history", own)
    agent = Agent(APP, [busy], remark=remarks.append)
    options = PlanOptions(forecasting=Forecasting(samples=20))
    for _ in range(2):
        found = agent.plan(options).to_wire()["prediction"]
    assert asked == ["s3"]
    assert (found["history"], found["schedulers"][0]["history"]) == ("auto", "s3's accounting")
    agent.plan(PlanOptions(forecasting=Forecasting(samples=20, seed=1)))
    assert asked == ["s3", "s3"]  # other requests are learnt anew


def test_from_fewer_than_20_ended_jobs_of_its_own_nothing_is_predicted(busy, tmp_path, remarks, monkeypatch):
    def history(jobs):
        lines = [f"{n + 1} {n * 3600} 0 3600 1 -1 -1 1 36000 -1 1 1 -1 -1 -1 -1 -1 -1" for n in range(jobs)]
        (tmp_path / "past.swf").write_text("\n".join(["; MaxProcs: 10", "; UnixStartTime: 1700000000", *lines]) + "\n")
        return History.of_log(read_swf(tmp_path / "past.swf"), name="past")

    options = PlanOptions(forecasting=Forecasting(samples=20))
    monkeypatch.setattr(S3Endpoint, "history", lambda endpoint: history(19))
    with pytest.raises(BadInput, match="^19 jobs have ended on s3; predictions need 20: give a file"):
        Agent(APP, [busy], remark=remarks.append).plan(options)
    given = PlanOptions(forecasting=Forecasting(history(19), samples=20))  # the user of a file knows its accuracy
    assert Agent(APP, [busy], remark=remarks.append).plan(given).to_wire()["prediction"]["history"] == "past"
    monkeypatch.setattr(S3Endpoint, "history", lambda endpoint: history(20))
    assert Agent(APP, [busy], remark=remarks.append).plan(options).best.processors == 10


def test_a_list_alone_cannot_be_predicted(history, remarks):
    path = Path(__file__).parent.parent / "examples" / "cluster.json"
    agent = Agent(APP, [FileEndpoint("cluster", str(path))], remark=remarks.append)
    with pytest.raises(BadInput, match="cluster: has only a list of free processors and no queue"):
        agent.plan(PlanOptions(stale_ok=True, forecasting=Forecasting(history)))


def test_where_a_queue_is_simulated_too_seldom_the_plan_stands(busy, history, remarks, monkeypatch):
    monkeypatch.setattr(prediction, "forecast", lambda *arguments, **options: NotPredicted(4, "its queue is long"))
    made = Agent(APP, [busy], remark=remarks.append).plan(PlanOptions(forecasting=Forecasting(history, samples=20)))
    assert (made.best, made.plan.predictions) == (made.plan.planned.best, {})
    assert (
        "s3: planned start, not predicted: 4 simulations of the queue in time, 10 are needed (its queue is long)"
        in remarks
    )


def test_what_takes_long_is_said(busy, history, remarks, monkeypatch):
    forecast = prediction.forecast

    def slow(*arguments, **options):
        time.sleep(1.2)
        return forecast(*arguments, **options)

    monkeypatch.setattr(prediction, "forecast", slow)
    agent = Agent(APP, [busy], remark=remarks.append)
    agent.plan(PlanOptions(forecasting=Forecasting(history, samples=20)))
    assert "s3: simulating its queue 20 times" in remarks


def test_a_watch_waits_for_machine_code_and_then_reads_the_queue_anew(remarks, monkeypatch):
    monkeypatch.setattr(prediction, "compile_ahead", lambda: remarks.append("compiled"))
    with pytest.raises(Conflict, match="the queue is read again"):
        prediction.Predictor(Forecasting(), remarks.append)._compile_first()
    assert remarks == ["first use: compiling the predictor (up to two minutes)", "compiled"]
