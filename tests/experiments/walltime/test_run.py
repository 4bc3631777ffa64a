"""One run of the study of walltimes: the simulator's means, month by month."""

import pytest

from experiments.framework.logs import load_log
from experiments.walltime.results import (
    LogRun,
    Terms,
    adjusted,
)
from experiments.walltime.run import walltime_run
from gas.simulation.adjusting import simulate_adjusted
from gas.simulation.metrics import metrics, weighted_wait
from gas.simulation.months import months
from gas.simulation.simulate import simulate
from workloads import rigid_jobs
from workloads.adjustment import Scheme
from workloads.selection import in_months, months_of


def content(log):
    return load_log(log.path, log.sha256)


def ran(log, terms, files):
    return walltime_run(LogRun(log, "simulation", terms=terms).configuration, files=files)


def test_a_month_has_the_means_of_the_simulator(study):
    log = study.logs[1]
    jobs = rigid_jobs(content(log), log.source.processors)
    schedule = simulate_adjusted(jobs, Scheme(percentile=70), adjustment="selective", queue="wfp").schedule
    result = study.simulation(log, adjusted("wfp", "selective", 70))
    labels, index = months_of(jobs.submit, content(log).epoch)
    expected = months(schedule, content(log).epoch)
    assert [month["month"] for month in result["months"]] == labels == [month.month for month in expected]
    for number, (ours, theirs) in enumerate(zip(result["months"], expected, strict=True)):
        assert ours["wait"] == pytest.approx(theirs.mean_wait)
        assert ours["slowdown"] == pytest.approx(theirs.mean_slowdown)
        assert ours["weighted"] == weighted_wait(schedule, "wfp", index == number)
        assert 1 <= (ours["alike"] or 1) <= ours["jobs"] + 1e-9
    assert result["all"]["wait"] == pytest.approx(metrics(schedule).mean_wait)
    assert sum(month["jobs"] for month in result["months"]) == result["jobs"] == len(jobs)


def test_months_apart_are_simulated_alone(study):
    log = study.logs[0]
    found = study.simulation(log, Terms("fcfs", apart=True))
    for month in found["months"]:
        alone = simulate(rigid_jobs(in_months(content(log), month["month"]), log.source.processors), "easy")
        assert month["wait"] == pytest.approx(metrics(alone).mean_wait)


def test_where_no_user_has_a_history_nothing_changes(study):
    log = study.logs[0]
    files = {log.sha256: str(log.path)}
    for terms in (adjusted("wfp", "regular", least=10_000), adjusted("fcfs", "selective", least=10_000, apart=True)):
        found, base = ran(log, terms, files), study.simulation(log, terms.baseline)
        for ours, without in zip(found["months"], base["months"], strict=True):
            assert ours == without


def test_exact_walltimes_are_never_outlived_nor_kill_a_job(study):
    log = study.logs[0]
    found = study.simulation(log, adjusted("fcfs", "regular", None))
    assert (found["all"]["UE"], found["all"]["BE"], found["all"]["beyond"]) == (0, 0, 0)
    assert found["all"]["accuracy"] > 0.99
    bold = study.simulation(log, adjusted("fcfs", "regular", 70))
    assert bold["all"]["UE"] + bold["all"]["BE"] > 0
    assert bold["all"]["beyond"] > 0


def test_adjusting_makes_walltimes_of_people_with_habits_more_accurate(study):
    for log in study.logs:
        original = study.use(log)["used"]["mean"]
        assert study.accuracy(log, "user+group", 1, 85, 0.0)["accuracy"] > original + 0.05
