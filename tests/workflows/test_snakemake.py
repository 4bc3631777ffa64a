"""Snakemake on S³: planned once, at job time; submitted once, followed and cancelled; with the real Snakemake."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gas import BadInput, read_application
from gas.endpoints import Request
from gas.workflows.memory import VARIABLE
from gas.workflows.snakemake import STARTUP, gas_resources, job_properties, main, request_of

EXAMPLE = Path(__file__).parents[1] / "examples" / "snakemake"
AMDAHL = '[speedup]\nmodel = "amdahl"\nsequential_time = 100\nserial_fraction = 0.1\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory outside any workflow."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.delenv("GAS_ENDPOINT", raising=False)
    (tmp_path / "app.toml").write_text(AMDAHL)
    return tmp_path


def evaluated(resources, **wildcards):
    """All resources of a job, as Snakemake evaluates them."""
    attempt = wildcards.pop("attempt", 1)
    return {name: value(wildcards, attempt=attempt, rulename="solve") for name, value in resources.items()}


class TestResources:
    def test_they_are_those_of_the_plan_with_the_time_that_snakemake_takes(self, here, recorder):
        found = evaluated(gas_resources("app.toml", recorder.url))
        app = read_application(here / "app.toml")
        seconds = 100 * (0.1 + 0.9 / 8) + STARTUP
        assert found["gas_processors"] == found["tasks"] == 8
        assert found["gas_walltime"] == app.walltimes(app.execution_times([8]) + STARTUP)[0] >= seconds
        assert found["runtime"] == -(-found["gas_walltime"] // 60)
        assert found["gas_scheduler"] == recorder.url

    def test_a_job_is_planned_once_however_often_and_wherever_they_are_evaluated(self, here, recorder):
        resources = gas_resources("app.toml", recorder.url)
        first = evaluated(resources, n="1")
        assert evaluated(resources, n="1") == evaluated(gas_resources("app.toml", recorder.url), n="1") == first
        program = (
            "import json; from gas.workflows.snakemake import gas_resources\n"
            "found = gas_resources('app.toml', 'http://127.0.0.1:9', patience=0)\n"
            "print(json.dumps({k: f({'n': '1'}, attempt=1, rulename='solve') for k, f in found.items()}))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == first
        assert recorder.count("GET", "/v1/availability") == 1

    def test_every_job_has_a_plan_of_its_own(self, here, recorder, service):
        resources = gas_resources("app.toml", recorder.url)
        assert evaluated(resources, n="1")["tasks"] == 8
        service.simulated(5, 10_000)
        assert evaluated(resources, n="2")["tasks"] == 3
        assert evaluated(resources, n="1")["tasks"] == 8
        assert recorder.count("GET", "/v1/availability") == 2

    def test_another_attempt_is_planned_anew_with_more_walltime(self, here, recorder):
        resources = gas_resources("app.toml", recorder.url)
        first, second = evaluated(resources), evaluated(resources, attempt=2)
        assert second["gas_walltime"] == pytest.approx(2 * first["gas_walltime"], abs=2)

    def test_the_application_may_depend_on_the_wildcards(self, here, recorder):
        (here / "small.toml").write_text(AMDAHL + "[processors]\nmax = 2\n")
        assert evaluated(gas_resources("{size}.toml", recorder.url), size="small")["tasks"] == 2

    def test_one_task_with_many_threads(self, here, recorder):
        found = evaluated(gas_resources("app.toml", recorder.url, threads=True))
        assert (found["tasks"], found["cpus_per_task"], found["gas_processors"]) == (1, 8, 8)


class TestRequests:
    def test_a_rule_without_a_plan_is_sized_by_what_snakemake_knows(self):
        assert request_of({"threads": 3, "resources": {"runtime": 5}}) == Request(3, 300)
        assert request_of({"threads": 1, "resources": {"runtime": 5, "tasks": 4, "cpus_per_task": 2}}) == Request(
            8, 300
        )

    def test_a_group_lasts_as_long_as_its_steps_one_after_the_other(self):
        properties = {
            "type": "group",
            "threads": 2,
            "resources": {"runtime": 7, "gas_processors": 6, "gas_walltime": 90},
        }
        assert request_of(properties) == Request(6, 420)

    def test_a_job_needs_a_walltime(self):
        with pytest.raises(BadInput, match="job merge:n=1: has no walltime; give its rule resources"):
            request_of({"rule": "merge", "wildcards": {"n": 1}, "threads": 1, "resources": {}})

    def test_what_is_not_the_script_of_a_job_is_refused(self, tmp_path):
        script = tmp_path / "script"
        with pytest.raises(BadInput, match="cannot be read as the script"):
            job_properties(script)
        script.write_text("#!/bin/sh\n")
        with pytest.raises(BadInput, match="is not the script of a Snakemake job"):
            job_properties(script)
        script.write_text("#!/bin/sh\n# properties = {\n")
        with pytest.raises(BadInput, match="cannot be read as the script"):
            job_properties(script)


class TestCommands:
    @pytest.fixture
    def script(self, here):
        def write(command, name="snakejob.solve.1.sh", **properties):
            path = here / name
            path.write_text(f"#!/bin/sh\n# properties = {json.dumps({'rule': 'solve', **properties})}\n{command}\n")
            return str(path)

        return write

    @pytest.fixture
    def call(self, capsys):
        def run(*arguments):
            code = main(arguments)
            captured = capsys.readouterr()
            return code, captured.out.strip(), captured.err.strip()

        return run

    def state(self, call, job, state):
        deadline = time.monotonic() + 20
        while (answer := call("status", job)[1]) == "running" and time.monotonic() < deadline:
            time.sleep(0.1)
        assert answer == state

    def test_a_job_is_submitted_once_whatever_happens_to_the_answer(self, recorder, script, call, service):
        path = script("sleep 60", resources={"gas_processors": 3, "gas_walltime": 77})
        recorder.lose = 1
        code, first, _ = call("submit", "-e", recorder.url, path)
        assert code == 0
        assert call("submit", "-e", recorder.url, path)[1] == first == f"{recorder.url}:1"
        (job,) = service.jobs()
        assert (job["name"], job["processors"], job["walltime"]) == ("solve", 3, 77)
        assert recorder.count("POST", "/v1/jobs") == 3

    def test_another_attempt_is_another_job(self, recorder, script, call):
        jobs = {
            call("submit", "-e", recorder.url, script(f"true --attempt {n}", resources={"runtime": 1}))[1]
            for n in (1, 2)
        }
        assert len(jobs) == 2

    def test_snakemake_is_told_what_has_become_of_it(self, recorder, script, call):
        good, bad, late = (
            call("submit", "-e", recorder.url, script(command, name, resources={"gas_walltime": walltime}))[1]
            for command, name, walltime in (("true", "good", 60), ("exit 3", "bad", 60), ("sleep 50", "late", 1))
        )
        self.state(call, good, "success")
        self.state(call, bad, "failed")
        self.state(call, late, "failed")
        assert call("status", f"{recorder.url}:99")[1] == "failed"

    @pytest.mark.process
    def test_a_scheduler_that_is_away_leaves_its_jobs_running(self, call, caplog):
        code, out, _ = call("status", "http://127.0.0.1:9:1")
        assert (code, out) == (0, "running")
        assert "cannot be reached" in caplog.text

    def test_jobs_are_cancelled_all_that_can_be(self, recorder, script, call):
        ids = [call("submit", "-e", recorder.url, script(f"sleep 6{n}", resources={"runtime": 2}))[1] for n in range(2)]
        code, _, err = call("cancel", ids[0], f"{recorder.url}:99", ids[1])
        assert code == 1
        assert "no job 99" in err
        for id in ids:
            self.state(call, id, "failed")

    def test_the_job_gets_path_and_what_it_was_given_and_no_token(self, recorder, script, call, here, monkeypatch):
        monkeypatch.setenv("GAS_TOKEN", "secret")
        monkeypatch.setenv("ONE", "1")
        monkeypatch.setenv("PATH", "/usr/bin:/bin:/nowhere")
        path = script(
            'pwd > out; echo "$PATH $GAS_PROCESSORS $ONE $TWO ${GAS_TOKEN-none}" >> out', resources={"runtime": 1}
        )
        self.state(call, call("submit", "-e", recorder.url, "--env", "ONE", "--env", "TWO=2", path)[1], "success")
        assert (here / "out").read_text() == f"{here}\n/usr/bin:/bin:/nowhere 1 1 2 none\n"

    @pytest.mark.process
    def test_what_is_wrong_is_one_line_and_an_exit_code(self, script, call):
        assert call("submit", script("true", resources={"runtime": 1}))[:2] == (2, "")
        code, _, err = call("submit", "-e", "http://127.0.0.1:9", script("true", resources={}))
        assert (code, len(err.splitlines())) == (2, 1)
        code, _, err = call("submit", "--env", "=x", script("true", resources={}))
        assert (code, err) == (2, "gas: --env '=x': write NAME=VALUE, or the NAME of a variable that is set")
        assert call("status", "nonsense")[0] == 2


@pytest.fixture
def workflow(installed, recorder, surroundings, tmp_path):
    """Run Snakemake in a directory, with the wheel's commands and the example's profile."""
    pytest.importorskip("snakemake", reason="needs snakemake")
    pytest.importorskip("snakemake_executor_plugin_cluster_generic", reason="needs the executor plugin cluster-generic")
    folder = tmp_path / "workflow"
    shutil.copytree(EXAMPLE, folder)
    environment = {
        **surroundings,
        "PATH": f"{installed}:{surroundings['PATH']}",
        "GAS_ENDPOINT": recorder.url,
        "PYTHONPATH": "",
    }

    def start(*options, snakefile=None):
        if snakefile is not None:
            (folder / "Snakefile").write_text(snakefile)
        command = [str(installed / "python"), "-m", "snakemake", "--profile", "profile", *options]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(process)
        return process

    started = []
    start.folder = folder
    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.thorough
def test_the_example_runs_each_job_once_and_sized_by_gas(workflow, recorder, service):
    recorder.lose = 1
    said, _ = workflow().communicate(timeout=120)
    assert "4 of 4 steps (100%) done" in said, said
    jobs = {job["name"]: job for job in service.jobs()}
    assert set(jobs) == {"solve:mesh=coarse", "solve:mesh=fine", "merge"}
    assert len(service.jobs()) == 3  # though the answer to one submission was lost
    assert {job["state"] for job in jobs.values()} == {"completed"}
    plans = list(workflow.folder.glob(".snakemake/gas/*/*.json"))
    assert len(plans) == 2 == recorder.count("GET", "/v1/availability")  # each job was planned, and once
    for path in plans:
        plan = json.loads(path.read_text())
        mesh, made = plan["job"]["wildcards"]["mesh"], plan["made"]
        job = jobs[f"solve:mesh={mesh}"]
        assert (job["processors"], job["walltime"]) == (made["gas_processors"], made["gas_walltime"])
        written = (workflow.folder / f"{mesh}.txt").read_text().splitlines()
        assert sorted(written) == [f"{mesh} part {n}" for n in range(1, job["processors"] + 1)]
    assert jobs["solve:mesh=fine"]["processors"] == 8
    assert (jobs["merge"]["processors"], jobs["merge"]["walltime"]) == (1, 300)
    merged = [(workflow.folder / f"{name}.txt").read_text() for name in ("coarse", "fine", "result")]
    assert merged[0] + merged[1] == merged[2]


RETRIES_AND_GROUPS = """
from gas.workflows.snakemake import gas_resources

rule all:
    input: "flaky.txt", "second.txt"

rule flaky:
    output: "flaky.txt"
    resources: attempt=lambda wildcards, attempt: attempt, **gas_resources("fine.toml")
    shell: "test {resources.attempt} = 2 && touch {output}"

rule first:
    output: "first.txt"
    group: "both"
    resources: **gas_resources("coarse.toml")
    shell: "echo {resources.gas_walltime} > {output}"

rule second:
    input: "first.txt"
    output: "second.txt"
    group: "both"
    resources: **gas_resources("fine.toml")
    shell: "echo {resources.gas_walltime} > {output}"
"""


@pytest.mark.thorough
def test_retries_are_planned_anew_and_a_group_is_one_job(workflow, recorder, service):
    said, _ = workflow("--retries", "1", snakefile=RETRIES_AND_GROUPS).communicate(timeout=120)
    assert "4 of 4 steps (100%) done" in said, said
    failed, completed = sorted((job for job in service.jobs() if job["name"] == "flaky"), key=lambda job: job["id"])
    assert (failed["state"], completed["state"]) == ("failed", "completed")
    assert completed["walltime"] == pytest.approx(2 * failed["walltime"], abs=2)
    (group,) = (job for job in service.jobs() if job["name"] != "flaky")
    walltimes = [int((workflow.folder / f"{name}.txt").read_text()) for name in ("first", "second")]
    assert group["walltime"] == sum(-(-walltime // 60) * 60 for walltime in walltimes)
    assert group["processors"] == 8
    assert recorder.count("GET", "/v1/availability") == 4


ENDLESS = """
from gas.workflows.snakemake import gas_resources

rule endless:
    output: "never.txt"
    resources: **gas_resources("fine.toml")
    shell: "touch started; sleep 1000"
"""


@pytest.mark.thorough
def test_a_workflow_that_is_interrupted_cancels_its_jobs(workflow, service):
    # If Snakemake is interrupted while it queries its jobs, it forgets them; so it must not be querying then.
    running = workflow("--seconds-between-status-checks", "10", snakefile=ENDLESS)
    service.until((workflow.folder / "started").exists, 60)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    assert running.returncode != 0
    service.until(lambda: service.jobs()[0]["state"] == "cancelled")
    assert "gas:" not in said
