"""Predictions kept on a login node: learned from the machine's past at first, then from outcomes."""

import time
from dataclasses import replace

import numpy as np
import pytest
from made_up import busy_log

from gas import Agent, Application, PlanOptions
from gas.agent import ledgers
from gas.agent.ledgers import note_start
from gas.agent.options import Forecasting
from gas.endpoints import S3Endpoint
from gas.endpoints.ledger_file import ledger_of
from gas.prediction.history import History
from gas.simulation.simulate import simulate
from speedup_models import Table
from workloads import rigid_jobs
from workloads.header import Header

pytest.importorskip("numba")

APP = Application(Table.of({2: 18000.0, 10: 3600.0}), safety=1.0, name="app")
AUTO = PlanOptions(forecasting=Forecasting(samples=20))


@pytest.fixture
def remarks():
    return []


@pytest.fixture
def busy(s3, monkeypatch):
    """A machine with a record of its past, on a login node without time to learn from it."""
    s3.until(s3.simulated(8, 36000)["id"], "running")
    give_past(monkeypatch, 60)
    give_time(monkeypatch, -1.0)
    return S3Endpoint("s3", s3.url)


@pytest.fixture
def taught(busy, monkeypatch):
    """The same machine, with all the time that it needs."""
    give_time(monkeypatch, 3600.0)
    monkeypatch.setattr(ledgers, "REHEARSAL_SAMPLES", 5)
    return busy


def give_past(monkeypatch, jobs):
    past = history(jobs)
    monkeypatch.setattr(S3Endpoint, "history", lambda endpoint: past)


def give_time(monkeypatch, seconds):
    """Give a rehearsal a number of seconds from its first job on, for any speed of the machine."""
    monkeypatch.setattr(ledgers, "REHEARSAL_SECONDS", 0.0)
    monkeypatch.setattr(ledgers, "FIRST_SECONDS", seconds)


@pytest.fixture(autouse=True)
def compiled_first(monkeypatch):
    """Predict with machine code, also where none is in the cache: past jobs are predicted only then."""
    monkeypatch.setattr("gas.agent.prediction.compiled_beside", lambda endpoint: False)


def history(jobs):
    """Jobs that kept a machine of ten processors busy until a moment ago."""
    log = busy_log(jobs, 10, seed=5)
    made = rigid_jobs(log)
    wait = np.full(len(log), -1.0)
    wait[made.row] = simulate(made, "s3").start - made.submit
    last = float((log.submit + wait + log.run_time).max())
    header = Header.of([("MaxProcs", 10), ("UnixStartTime", int(time.time() - last) - 5)])
    return History.of_log(replace(log.with_columns(wait=wait), header=header), name="past")


def kept(endpoint):
    return ledger_of(endpoint.target, print).read()


@pytest.mark.thorough
def test_the_first_user_of_a_machine_has_what_its_past_teaches_and_the_next_one_too(taught, remarks, monkeypatch):
    give_past(monkeypatch, 400)
    first = Agent(APP, [taught], remark=remarks.append).plan(AUTO).plan
    coverage = first.ledgers["s3"].coverage()
    assert coverage.outcomes == coverage.afterwards == 200
    assert coverage.share == coverage.held / 200
    assert str(coverage).endswith("of the last 200 starts, all predicted afterwards from its history")
    assert first.to_wire()["prediction"]["coverage"]["s3"]["held"] == coverage.held
    assert kept(taught).outcomes == first.ledgers["s3"].outcomes
    give_time(monkeypatch, -1.0)
    assert Agent(APP, [taught], remark=remarks.append).plan(AUTO).plan.ledgers["s3"].coverage() == coverage


def test_a_scheduler_that_is_named_by_its_address_has_its_ledger_too(taught, remarks):
    by_address = S3Endpoint(taught.target, taught.target)
    found = Agent(APP, [by_address], remark=remarks.append).plan(AUTO).plan
    assert found.ledgers["s3"].coverage().outcomes == 40, "of all but the first, which had no past"
    assert found.ledgers["s3"].outcomes == kept(taught).outcomes


def test_a_machine_whose_clock_was_far_ahead_learns_from_its_past_all_the_same(taught, remarks):
    with ledger_of(taught.target, print).changing() as ledger:
        made = ledger.predict(2**33, np.zeros(5, np.int64), 60, afterwards=True)
        ledger.add([made.outcome(2**33)])
    found = Agent(APP, [taught], remark=remarks.append).plan(AUTO).plan
    assert found.ledgers["s3"].coverage().outcomes == 40
    assert max(one.start for one in kept(taught).outcomes) < 2**33


def test_no_past_waits_are_mixed_in_where_the_scheduler_follows_the_rule_that_is_simulated(busy, remarks):
    exact = Agent(APP, [busy], remark=remarks.append).plan(AUTO).plan
    assert all(one.made.similar.size == 0 for one in exact.predictions.values())


def test_a_rehearsal_ends_with_its_time(busy, remarks):
    none = Agent(APP, [busy], remark=remarks.append).plan(AUTO).plan.ledgers["s3"].coverage()
    assert (none.outcomes, none.share) == (0, None)


def test_what_was_predicted_for_a_job_that_is_submitted_has_its_outcome_once_that_has_started(taught, s3, remarks):
    agent = Agent(APP, [taught], remark=remarks.append)
    made = agent.submit(["true"], AUTO)
    found = kept(taught)
    likely = made.planned.plan.predictions[made.planned.best]
    assert list(found.open) == [str(made.job["id"])]
    assert found.open[str(made.job["id"])].now + found.open[str(made.job["id"])].high == likely.start_high
    before = len(found.outcomes)
    for job in taught.jobs(0):
        if job["id"] != made.job["id"]:
            taught.cancel(job["id"])
    s3.until(made.job["id"], "completed")
    job = taught.job(made.job["id"])
    after = Agent(APP, [taught], remark=remarks.append).plan(AUTO).plan.ledgers["s3"]
    assert dict(after.open) == {}
    assert [one.start for one in after.outcomes if not one.afterwards] == [job["start"]]
    assert len(after.outcomes) == before + 1


def test_of_a_job_that_was_cancelled_while_it_waited_nothing_is_learnt(busy, remarks):
    agent = Agent(APP, [busy], remark=remarks.append)
    made = agent.submit(["true"], AUTO)
    busy.cancel(made.job["id"])
    after = Agent(APP, [busy], remark=remarks.append).plan(AUTO).plan.ledgers["s3"]
    assert dict(after.open) == {}
    assert after.outcomes == []


def test_a_start_that_is_seen_is_noted_once_and_said(taught, remarks):
    made = Agent(APP, [taught], remark=remarks.append).submit(["true"], AUTO)
    likely = made.planned.plan.predictions[made.planned.best]
    job = {**made.job, "start": likely.start}
    said = note_start(taught, job, remarks.append)
    assert said.startswith("its start was in the predicted interval; 90% intervals contained ")
    assert note_start(taught, job, remarks.append) == ""


def test_where_jobs_of_others_are_hidden_that_is_said_and_intervals_are_as_wide_as_can_be(busy, remarks, monkeypatch):
    monkeypatch.setattr(S3Endpoint, "shows_all", False)
    found = Agent(APP, [busy], remark=remarks.append).plan(AUTO).plan
    assert [one for one in remarks if "jobs of other users are hidden" in one] == [
        "s3: jobs of other users are hidden: intervals are as wide as possible until 20 of your predicted "
        "jobs have started (0 so far)"
    ]
    for candidate, likely in found.predictions.items():
        assert (likely.start_low, likely.start_high) == (found.now, candidate.start)
    assert kept(busy).outcomes == []
