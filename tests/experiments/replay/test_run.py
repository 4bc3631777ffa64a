"""One scenario: the record and simulations beside each other, and which users' jobs end later."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from made_policies import GOOD, LEAVING

from experiments.framework.logs import load_log
from experiments.replay.run import recorded_schedule, replay_run
from experiments.replay.scenarios import Asked, scenarios
from gas.simulation import simulate
from gas.simulation.metrics import metrics
from workloads import apply_overrun, read_swf, rigid_jobs, write_swf
from workloads.estimates import uniform_factor
from workloads.lublin import generate


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A log of 300 jobs with users, with a schedule by `fcfs` as its record; one job's start is unknown."""
    generator = np.random.default_rng(5)
    made = generate(300, 32, generator=generator, load=0.9)
    made = made.with_columns(requested_time=uniform_factor(made.run_time, 5, generator), user=np.arange(300) % 7)
    schedule = simulate(apply_overrun(rigid_jobs(made), "extend"), "fcfs", machine_code=False)
    wait = (schedule.start - schedule.jobs.submit).astype(float)
    wait[4] = -1
    path = tmp_path_factory.mktemp("logs") / "recorded.swf"
    write_swf(made.with_columns(wait=wait), path)
    return path


@pytest.fixture
def result(file):
    def result(find, **asked):
        options = Asked(**{"policy": "easy", "machine": "", "walltimes": "", "moldable": "", **asked}).options(file)
        run = next(run for run in scenarios(options, [options.log])[0] if find(run))
        return replay_run(run.configuration, files={run.log.sha256: str(file)})

    return result


def test_the_record_is_what_the_log_says(result, file):
    found = result(lambda run: run.policy is None)
    wait = read_swf(file).wait
    assert (found["jobs"], found["without_start"]) == (299, 1)
    assert found["figures"]["mean_wait"] == pytest.approx(wait[wait >= 0].mean())
    assert found["beside"]["recorded"]["later"] == 0


def test_a_policy_is_compared_with_the_record_job_by_job(result, file):
    found = result(lambda run: run.name == "easy")
    log = read_swf(file)
    jobs = apply_overrun(rigid_jobs(log), "extend")
    easy = simulate(jobs, "easy", machine_code=False)
    assert found["figures"] == vars(metrics(easy))
    known = log.wait >= 0
    change = (easy.start - jobs.submit - log.wait)[known]
    beside = found["beside"]["recorded"]
    assert beside["later"] == pytest.approx((change > 60).mean())
    assert beside["change"] == pytest.approx(change.mean())
    assert sum(part["jobs"] for part in beside["parts"].values()) == 299
    assert beside["users"]["users"] == 7
    assert found["beside"]["easy"]["change"] == 0
    assert found["beside"]["same"] is None


def test_a_smaller_machine_leaves_out_whom_it_cannot_run(result, file):
    found = result(lambda run: run.processors == 8, machine="25%")
    large = int((read_swf(file).requested_processors > 8).sum())
    assert found["left_out"] == {"more processors than the machine": large}
    assert found["beside"]["recorded"]["jobs"] in (299 - large, 300 - large)


@pytest.mark.parametrize("kind", ["perfect", "f=2", "corrected"])
def test_better_walltimes_change_no_work(result, kind):
    found = result(lambda run: run.walltimes == kind, walltimes=kind)
    plain = result(lambda run: run.name == "easy")
    assert found["jobs"] == plain["jobs"]
    assert sum(found["busy"]) == pytest.approx(sum(plain["busy"]), rel=0.3)
    if kind != "corrected":  # these few jobs are no history for it
        assert found["figures"]["mean_wait"] != plain["figures"]["mean_wait"]


def test_moldable_jobs_are_told_apart_from_the_others(result):
    found = result(lambda run: run.moldable == 20, moldable="20%")
    parts = found["beside"]["same"]["parts"]
    assert (found["moldable"], parts["use Gas"]["jobs"], parts["others"]["jobs"]) == (60, 60, 240)


@pytest.mark.thorough
def test_a_policy_that_fails_is_a_result_that_says_so(result, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(GOOD + LEAVING)
    found = result(lambda run: run.name == "Leaving", policy=f"{path}:Leaving")
    assert found["jobs"] == 0
    assert "policy Leaving: start at second" in found["error"]


def test_a_job_that_was_killed_late_lasted_as_recorded(file):
    log = load_log(file, hashlib.sha256(file.read_bytes()).hexdigest(), "cpus")
    jobs = apply_overrun(replace(rigid_jobs(log), estimate=np.ones(300, np.int64)), "kill")
    record = recorded_schedule(log, jobs)
    assert (record.end - record.start).tolist() == np.trunc(log.run_time[log.wait >= 0]).tolist()
