"""A month is simulated after the month before it, whose jobs only warm up the machine."""

import numpy as np
import pytest

from experiments.framework.groups import drawn_month, followed
from experiments.framework.logs import find_logs, load_log
from experiments.framework.months import jobs_of_month
from experiments.moldable.months import Options, month_runs
from experiments.moldable.outcomes import month_with_substitutes
from experiments.moldable.terms import BASE
from gas.simulation.simulate import simulate
from workloads import rigid_jobs
from workloads.selection import in_months


@pytest.fixture(scope="module")
def log(made_logs):
    (found,) = [log for log in find_logs(made_logs)[0] if log.source.trace == "KTH"]
    return found


def test_the_jobs_of_the_month_before_stand_first(log):
    whole = load_log(log.path, log.sha256)
    alone = rigid_jobs(in_months(whole, "1996-11"), 100)
    before = rigid_jobs(in_months(whole, "1996-10"), 100)
    jobs, first = jobs_of_month(whole, "1996-11", 100)
    assert first == len(before) > 0
    assert jobs.id[first:].tolist() == alone.id.tolist()
    assert jobs.id[:first].tolist() == before.id.tolist()
    assert (jobs.submit[first:] == alone.submit).all()


def test_with_an_empty_machine_or_in_the_first_month_of_a_log_there_are_none(log):
    whole = load_log(log.path, log.sha256)
    alone = rigid_jobs(in_months(whole, "1996-11"), 100)
    jobs, first = jobs_of_month(whole, "1996-11", 100, "empty")
    assert (first, jobs.id.tolist()) == (0, alone.id.tolist())
    assert jobs_of_month(whole, "1996-09", 100)[1] == 0


def test_benchmarks_replace_the_same_jobs_whatever_runs_before(log):
    runs, _ = month_runs(Options(seeds=1, runs=8, others=False), [log], (BASE,))
    (run,) = [run for run in runs if run.month == "1996-11"]
    files = {log.sha256: str(log.path)}
    warm, empty = (month_with_substitutes(run.configuration | {"begin": begin}, files) for begin in ("warm", "empty"))
    assert warm.first > 0
    assert min(one.place for one in warm.placed) >= warm.first
    assert [(warm.jobs.id[one.place], one.benchmark, one.static) for one in warm.placed] == [
        (empty.jobs.id[one.place], one.benchmark, one.static) for one in empty.placed
    ]


def test_at_another_load_jobs_arrive_faster_and_are_the_same(log):
    runs, _ = month_runs(Options(seeds=1, runs=8, others=False), [log], (BASE,))
    files = {log.sha256: str(log.path)}
    usual, faster = (month_with_substitutes(runs[-1].configuration | {"load": load}, files) for load in (1.0, 1.25))
    assert faster.placed == usual.placed
    assert np.ptp(faster.jobs.submit) == pytest.approx(np.ptp(usual.jobs.submit) / 1.25, abs=1)
    assert (faster.jobs.run_time == usual.jobs.run_time).all()


def test_groups_have_no_jobs_of_the_month_before(log):
    configuration = {"log": log.sha256, "processors": 100, "month": "1996-11", "seed": 0}
    jobs, drawn, first = drawn_month(configuration, {log.sha256: str(log.path)})
    assert len(drawn) == len(jobs) > first > 0
    schedule = simulate(jobs, "s3")
    found = followed(("some", "others"), drawn < 25, schedule, schedule, first)
    assert found["some"]["jobs"] + found["others"]["jobs"] == len(jobs) - first
    turnaround = (schedule.end - jobs.submit)[first:]
    assert found["some"]["turnaround"] == turnaround[drawn[first:] < 25].sum()
    assert found["others"]["later"] == 0
    assert np.all(drawn < 100)
