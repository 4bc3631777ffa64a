"""A month of a log in which some jobs are asked: which ones, and that the result is the simulator's."""

import numpy as np
import pytest

from experiments.conditional.results import month_runs
from experiments.conditional.run import conditional_run
from experiments.framework.logs import find_logs, load_log
from experiments.framework.results import Seeded
from gas.simulation.conditional import simulate_conditional
from gas.simulation.simulate import simulate
from workloads import rigid_jobs
from workloads.selection import in_months


@pytest.fixture(scope="module")
def run(made_logs):
    """A month of a made-up log."""
    return month_runs(Seeded(), find_logs(made_logs)[0])[0][0]


@pytest.fixture(scope="module")
def result(run):
    return conditional_run(run.configuration, files={run.log.sha256: str(run.log.path)})


def test_the_jobs_with_a_notice_are_a_share_of_all_and_those_of_a_small_share_are_among_those_of_a_large(result):
    asked = {(one["percent"], one["notice"]): one["asked"]["jobs"] for one in result["settings"]}
    assert all(one["asked"]["jobs"] + one["others"]["jobs"] == result["jobs"] for one in result["settings"])
    assert 0 < asked[25, 600] == asked[25, 3600] < asked[50, 600] < asked[100, 600] == result["jobs"]
    few, half = ({name: of[name] for name in ("turnaround_before", "jobs")} for of in (
        next(one["asked"] for one in result["settings"] if one["percent"] == percent) for percent in (25, 50)
    ))  # fmt: skip
    assert few["turnaround_before"] < half["turnaround_before"]


def test_without_a_notice_the_schedule_is_that_of_the_simulator_and_with_one_for_all_that_of_this_notice(run, result):
    jobs = rigid_jobs(in_months(load_log(run.log.path, run.log.sha256), run.month), run.site.processors)
    plain = simulate(jobs, "s3", order="instant")
    every = simulate_conditional(jobs, np.full(len(jobs), 3600))
    of_all = next(one for one in result["settings"] if (one["percent"], one["notice"]) == (100, 3600))["asked"]
    assert of_all["turnaround_before"] == int((plain.end - jobs.submit).sum())
    assert of_all["turnaround"] == int((every.end - jobs.submit).sum())
    apart = every.end - plain.end
    assert (of_all["later"], of_all["sooner"]) == (int((apart > 60).sum()), int((apart < -60).sum()))
    assert of_all["later"] > 0


def test_no_promise_is_broken(result):
    assert result["broken"] == 0
    assert [one["broken"] for one in result["settings"]] == [0] * 6
