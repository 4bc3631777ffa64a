"""Redundant requests to two partitions of a real Slurm: a command or a job script runs once, where it starts first."""

import time

import pytest
from eventually import until
from private_slurm import RELEASES, PrivateSlurm

from gas import Agent, Application
from gas.agent.options import Run
from gas.endpoints import JobDescription
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from speedup_models import Table

pytestmark = pytest.mark.live

APP = Application(Table.of({1: 240.0, 2: 120.0}), safety=1.0, name="app")
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=app --ntasks=2
# it leaves a line
echo "$SLURM_JOB_PARTITION $SLURM_NTASKS" >> ran
"""


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    lines = ("PartitionName=p1 Nodes=n01 State=UP", "PartitionName=p2 Nodes=n02 State=UP")
    with PrivateSlurm(2, 2, *lines, release=request.param) as cluster:
        yield cluster


@pytest.fixture
def held(slurm):
    """Jobs of others that hold both partitions, that in p2 for longer."""
    found = [slurm.submit("-p", name, "-n", "2", "-t", minutes) for name, minutes in (("p1", "10"), ("p2", "20"))]
    until(lambda: slurm.run("squeue", "-h", "-t", "R", "-o", "%i").split() == [str(job) for job in found], every=0.2)
    yield found
    for job in found:
        slurm.cancel(job)


def partitions(slurm):
    transport = CommandTransport("private", folder=str(slurm.programs()))
    return [SlurmEndpoint(name, transport, partition=name) for name in ("p1", "p2")]


@pytest.mark.parametrize("kind", ["command", "script"])
def test_it_runs_once_and_the_other_job_is_withdrawn(slurm, held, tmp_path, kind):
    run, script = Run(JobDescription("app", directory=str(tmp_path))), None
    if kind == "command":
        line = 'echo "$SLURM_JOB_PARTITION $GAS_PROCESSORS" >> ran'
        run = Run(JobDescription("app", ("sh", "-c", line), directory=str(tmp_path)))
    else:
        script = Script.of(SCRIPT, str(tmp_path / "job.sh"))
    agent = Agent(APP, partitions(slurm), script=script, remark=pytest.fail)
    made = agent.submit_redundantly(run, shared=tmp_path / "shared")
    assert [one.scheduler for one in made.jobs] == ["p1", "p2"]
    slurm.cancel(held[1])
    withdrawn = []
    assert made.settle(lambda one, job: withdrawn.append((one.scheduler, job["state"])), pytest.fail).scheduler == "p2"
    assert withdrawn == [("p1", "cancelled")]
    until(lambda: (tmp_path / "ran").exists())
    time.sleep(0.2)
    assert (tmp_path / "ran").read_text() == "p2 2\n"


def test_nobody_has_to_withdraw_the_second_job(slurm, held, tmp_path):
    line = "echo $SLURM_JOB_PARTITION >> ran"
    odd = tmp_path / 'it\'s {gpus} {a} $HOME `id` "für"\nall'
    run = Run(JobDescription("app", ("sh", "-c", line), directory=str(tmp_path)))
    made = Agent(APP, partitions(slurm), remark=pytest.fail).submit_redundantly(run, shared=odd)
    for job in held:
        slurm.cancel(job)
    ids = {str(one.job["id"]) for one in made.jobs}
    until(lambda: not ids & set(slurm.run("squeue", "-h", "-o", "%i").split()), every=0.2)
    assert (tmp_path / "ran").read_text() in ("p1\n", "p2\n")


def test_the_same_key_finds_both_jobs_whatever_the_order_of_the_partitions(slurm, held, tmp_path):
    """Each partition of a Slurm also reports the jobs of the others."""
    run = Run(JobDescription("app", ("sh", "-c", "echo $SLURM_JOB_PARTITION >> ran"), directory=str(tmp_path)))
    first = Agent(APP, partitions(slurm), remark=pytest.fail)
    made = first.submit_redundantly(run, key=str(tmp_path), shared=tmp_path / "shared")
    again = Agent(APP, partitions(slurm)[::-1], remark=pytest.fail)
    found = again.submit_redundantly(run, key=str(tmp_path), shared=tmp_path / "shared")
    assert [(one.scheduler, one.job["id"]) for one in found.jobs] == [
        (one.scheduler, one.job["id"]) for one in made.jobs
    ]
    slurm.cancel(held[0])
    assert found.settle(lambda *_: None, pytest.fail).scheduler == "p1"


def test_the_tasks_of_an_array_run_on_one_machine(slurm, held, tmp_path):
    text = SCRIPT.replace("--ntasks=2", "--ntasks=1 --array=1-3 --chdir=" + str(tmp_path)).replace(
        "NTASKS", "ARRAY_TASK_ID"
    )
    agent = Agent(APP, partitions(slurm), script=Script.of(text, "job.sh"))
    made = agent.submit_redundantly(Run(JobDescription("app")), shared=tmp_path / "it's {shared} für $HOME")
    assert [one.scheduler for one in made.jobs] == ["p1", "p2"]
    for job in held:
        slurm.cancel(job)
    ids = {str(one.job["id"]) for one in made.jobs}
    until(lambda: not ids & set(slurm.run("squeue", "-h", "-o", "%A %F").split()), every=0.2)
    lines = sorted((tmp_path / "ran").read_text().splitlines())
    assert lines in ([f"{name} {task}" for task in range(1, 4)] for name in ("p1", "p2"))


def test_a_job_that_is_requeued_runs_again_and_the_other_one_never(slurm, held, tmp_path):
    line = "echo $SLURM_JOB_PARTITION $SLURM_RESTART_COUNT >> ran; sleep 30"
    run = Run(JobDescription("app", ("sh", "-c", line), directory=str(tmp_path)))
    made = Agent(APP, partitions(slurm), remark=pytest.fail).submit_redundantly(run, shared=tmp_path / "shared")
    slurm.cancel(held[0])
    until(lambda: (tmp_path / "ran").exists())
    slurm.run("scontrol", "requeue", str(made.jobs[0].job["id"]))
    slurm.cancel(held[1])
    until(lambda: str(made.jobs[1].job["id"]) not in slurm.run("squeue", "-h", "-o", "%i").split(), every=0.2)

    def allowed():  # Slurm holds it back for two minutes, and refuses another time while its first run ends
        slurm.tried("scontrol", "update", f"jobid={made.jobs[0].job['id']}", "StartTime=now")
        return slurm.run("squeue", "-h", "-j", str(made.jobs[0].job["id"]), "-o", "%r").strip() != "BeginTime"

    time.sleep(1.1)  # a node refuses a credential of the second in which it ended the job, and the job fails for it
    until(allowed, every=0.2)
    until(lambda: "p1 1" in (tmp_path / "ran").read_text(), every=0.2)
    assert (tmp_path / "ran").read_text() == "p1\np1 1\n"
    slurm.cancel(made.jobs[0].job["id"])
