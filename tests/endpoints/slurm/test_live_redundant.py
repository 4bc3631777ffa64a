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
    run = Run(JobDescription("app", ("sh", "-c", line), directory=str(tmp_path)))
    made = Agent(APP, partitions(slurm), remark=pytest.fail).submit_redundantly(run, shared=tmp_path / "shared")
    for job in held:
        slurm.cancel(job)
    ids = {str(one.job["id"]) for one in made.jobs}
    until(lambda: not ids & set(slurm.run("squeue", "-h", "-o", "%i").split()), every=0.2)
    assert (tmp_path / "ran").read_text() in ("p1\n", "p2\n")
