"""Runs: figures of both schemes on the same jobs, computed from their configuration alone."""

import numpy as np
import pytest

from experiments.backfilling.models import CHANGES, PROCESSORS, generate, generate_changed
from experiments.backfilling.run import _error, changed_run, log_run, model_run
from experiments.framework.logs import find_logs, load_log
from gas.simulation.simulate import simulate
from workloads import offered_load, rigid_jobs


@pytest.fixture(scope="module")
def kth(made_logs):
    return next(log for log in find_logs(made_logs)[0] if log.source.trace == "KTH")


def run(log, **changes):
    configuration = {
        "sha256": log.sha256,
        "processors": 100,
        "estimates": "users",
        "order": "instant",
        "overrun": "kill",
    }
    return log_run(configuration | changes, files={log.sha256: str(log.path)})


def test_a_month_holds_the_means_of_the_jobs_submitted_in_it(kth):
    result = run(kth)
    jobs = rigid_jobs(load_log(kth.path, kth.sha256), 100)
    # The log begins at midnight, 25 September 1996, in Stockholm: October begins 6 days later.
    october = (jobs.submit >= 6 * 86400) & (jobs.submit < 37 * 86400 + 3600)  # summer time ended in it
    month = next(month for month in result["months"] if month["month"] == "1996-10")
    assert month["jobs"] == october.sum()
    for policy in ("easy", "conservative"):
        schedule = simulate(jobs, policy)
        response = (schedule.end - schedule.jobs.submit)[october]
        assert month[policy]["response"] == pytest.approx(response.mean())
        slowdown = response / np.maximum(schedule.jobs.run_time[october], 10)
        assert month[policy]["slowdown"] == pytest.approx(slowdown.mean())


def test_months_hold_every_job_once_however_they_are_divided(kth):
    result = run(kth)
    for months in (result["months"], result["by_end"]):
        assert sum(month["jobs"] for month in months) == result["jobs"] == 500


def test_a_run_depends_on_its_configuration_only(kth):
    assert run(kth) == run(kth)
    assert run(kth, processors=512)["overall"]["easy"]["wait"] < run(kth)["overall"]["easy"]["wait"]


def test_perfect_estimates_are_the_run_times(kth):
    killed, extended = (run(kth, estimates="perfect", overrun=rule) for rule in ("kill", "extend"))
    assert killed == extended
    assert killed != run(kth)


def test_a_log_that_has_no_job_for_the_machine_gives_an_empty_result(kth, monkeypatch):
    from experiments.backfilling import run as runs

    nothing = load_log(kth.path, kth.sha256).with_columns(run_time=np.full(500, -1.0))
    monkeypatch.setattr(runs, "load_log", lambda path, sha256: nothing)
    assert (run(kth)["jobs"], run(kth)["overall"], run(kth)["months"]) == (0, {}, [])


def test_the_error_of_independent_days_is_the_standard_error_of_the_mean():
    values = np.random.default_rng(3).normal(5, 2, 50)
    everything = np.ones(50, dtype=bool)
    assert _error(values, np.arange(50), everything) == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_values_that_repeat_within_a_day_make_the_error_no_smaller():
    values = np.random.default_rng(3).normal(5, 2, 50)
    once = _error(values, np.arange(50), np.ones(50, dtype=bool))
    ten_times = _error(np.repeat(values, 10), np.repeat(np.arange(50), 10), np.ones(500, dtype=bool))
    assert ten_times == pytest.approx(once)


def test_of_a_single_day_nothing_is_sure():
    values = np.array([4.0, -7.0])
    assert _error(values, np.zeros(2, dtype=np.int64), np.ones(2, dtype=bool)) == 7


@pytest.mark.parametrize("model", ["F", "J"])
def test_all_loads_of_a_model_are_the_same_jobs_at_another_pace(model):
    calm, busy = (rigid_jobs(generate(model, 500, load, 4)) for load in (0.5, 0.9))
    assert np.array_equal(calm.processors, busy.processors)
    assert np.array_equal(calm.run_time, busy.run_time)
    assert calm.machine == PROCESSORS[model]
    assert offered_load(calm) == pytest.approx(0.5, rel=1e-3)
    assert offered_load(busy) == pytest.approx(0.9, rel=1e-3)
    assert not np.array_equal(calm.run_time, rigid_jobs(generate(model, 500, 0.5, 5)).run_time)


@pytest.mark.parametrize("model", ["F", "J"])
def test_a_point_of_a_model_has_means_and_their_intervals(model):
    configuration = {
        "model": model,
        "load": 0.6,
        "jobs": 2100,
        "batch": 20,
        "seed": 1,
        "order": "instant",
        "overrun": "kill",
    }
    point = model_run(configuration)
    assert point == model_run(configuration)
    for figures in point.values():
        assert figures["reason"] in ("batches", "accuracy", "threshold", "exhausted")
        assert 10 <= figures["batches"] <= 100
        assert figures["response"] > 0
        assert figures["response_half_width"] > 0
        assert 0 <= figures["backfilled"] <= 1
    batches = min(figures["batches"] for figures in point.values())
    assert all(figures["together"]["batches"] == batches for figures in point.values())
    # The scheme that stopped first has no jobs beyond those that both have.
    first = min(point.values(), key=lambda figures: figures["batches"])
    assert first["together"]["response"] == pytest.approx(first["response"])
    assert first["together"]["slowdown"] == pytest.approx(first["slowdown"])
    assert first["together"]["response_half_width"] == pytest.approx(first["response_half_width"])
    assert first["together"]["slowdown_half_width"] == pytest.approx(first["slowdown_half_width"])


def test_doubled_estimates_are_those_of_the_same_jobs(kth):
    plain, doubled = run(kth), run(kth, estimates="doubled")
    assert (doubled["jobs"], doubled["load"]) == (plain["jobs"], plain["load"])  # no job is killed later
    assert doubled["overall"] != plain["overall"]


def test_jobs_that_outlive_their_estimate_or_have_none_are_counted(kth, monkeypatch):
    from experiments.backfilling import run as runs

    log = load_log(kth.path, kth.sha256)
    asked = np.full(500, 10.0**6)
    asked[:7] = -1
    asked[7:10] = 1
    changed = log.with_columns(requested_time=asked, run_time=np.full(500, 60.0))
    monkeypatch.setattr(runs, "load_log", lambda path, sha256: changed)
    assert (run(kth)["without_estimate"], run(kth)["overruns"]) == (7, 3)


def test_model_f_without_a_change_is_model_f():
    same, plain = generate_changed(CHANGES[0], 500, 0.7, 3), generate("F", 500, 0.7, 3)
    assert np.array_equal(same.submit, plain.submit)
    assert np.array_equal(same.run_time, plain.run_time)


@pytest.mark.parametrize("change", CHANGES[1:], ids=lambda change: change.name)
def test_every_change_changes_the_jobs_and_keeps_the_load(change):
    plain, jobs = (rigid_jobs(generate_changed(one, 2000, 0.7, 3)) for one in (CHANGES[0], change))
    columns = ("submit", "processors", "estimate", "run_time")
    assert any(not np.array_equal(getattr(plain, name), getattr(jobs, name)) for name in columns)
    assert (jobs.estimate >= jobs.run_time).all()
    assert offered_load(jobs) == pytest.approx(0.7, rel=0.01)


def test_both_schemes_see_the_same_jobs_of_a_changed_model():
    configuration = {"change": "sizes harmonic of order 2", "load": 0.75, "jobs": 2100, "seed": 1}
    point = changed_run(configuration)
    assert point == changed_run(configuration)
    jobs = rigid_jobs(generate_changed(next(c for c in CHANGES if c.name == configuration["change"]), 2100, 0.75, 1))
    for policy, figures in point.items():
        schedule = simulate(jobs, policy)
        assert figures["response"] == pytest.approx((schedule.end - jobs.submit)[21:].mean())
        assert figures["slowdown"] >= 0
        assert 0 <= figures["backfilled"] <= 1
