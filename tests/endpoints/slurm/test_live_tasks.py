"""Where tasks per node are asked for, the engine gives nodes the CPUs that a real Slurm gives them."""

import re
import time
from dataclasses import replace

import pytest
from private_slurm import RELEASES, Nodes, PrivateSlurm

from gas.endpoints.slurm.commands import CommandTransport
from gas.slurm.beginning import Beginning
from gas.slurm.demand import allocated
from gas.slurm.forward import Forward

pytestmark = pytest.mark.live

CASES = (
    "-n7 --ntasks-per-node=3",
    "-n5 --ntasks-per-node=2 -c2",
    "-n2 --ntasks-per-node=3",
    "-n7 -N4 --ntasks-per-node=2",
)


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    with PrivateSlurm([Nodes(4, 8)], 4, release=request.param) as cluster:
        full = [cluster.submit(f"-n{8 - free}", "-w", f"n{n:02}") for n, free in ((2, 4), (4, 6))]
        for id in full:
            running(cluster, id)
        yield cluster


def running(slurm, id, patience=20):
    """Wait until a job runs; return the CPUs that it has of each node."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        text = slurm.run("scontrol", "-d", "-o", "show", "job", str(id))
        if " JobState=RUNNING " in text:
            ids = re.findall(r" Nodes=(\S+) CPU_IDs=(\S+)", text)
            names = [slurm.run("scontrol", "show", "hostnames", nodes).split() for nodes, _ in ids]
            return {name: counted(of) for listed, (_, of) in zip(names, ids, strict=True) for name in listed}
        time.sleep(0.2)
    raise AssertionError(f"job {id} does not run after {patience} s")


def counted(ids):
    """Return how many CPUs ``0-2,5`` are."""
    ends = [part.partition("-") for part in ids.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


@pytest.mark.parametrize("words", CASES)
def test_nodes_give_the_tasks_per_node_that_a_real_slurm_gives(slurm, words):
    while "COMPLETING" in slurm.run("scontrol", "-o", "show", "nodes"):
        time.sleep(0.1)
    slurm.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    try:
        id = slurm.submit(*words.split())  # on 24.11, one that is held and released gets other tasks
        cluster = CommandTransport("private", folder=str(slurm.programs())).cluster("private")
    finally:
        slurm.run("scontrol", "update", "PartitionName=main", "State=UP")
    theirs = running(slurm, id)
    slurm.run("scancel", str(id))
    asked = next(job for job in cluster.jobs if job.id == id)
    made = replace(cluster, partitions=tuple(replace(one, state="UP") for one in cluster.partitions))
    forward = Forward(Beginning.of(made, ()), {})
    forward.run(made.now)
    assert forward.jobs[id, None].cpus_on == theirs
    assert allocated(made, asked, made.partitions[0]).amounts["cpu"] == sum(theirs.values())
