"""A real Slurm is asked, understood, and agreed with; skipped where there is none."""

from dataclasses import replace

import numpy as np
import pytest
from private_slurm import PrivateSlurm

from gas.endpoints.slurm.command_line import COMMANDS, DETAILS, ENVIRONMENT, read_cluster, with_details
from gas.endpoints.slurm.interpretation import interpret

pytestmark = pytest.mark.live

SHAPES = [(1, 5), (2, 9), (3, 30), (4, 15), (6, 10), (8, 8), (12, 20), (14, 60), (16, 5)]


@pytest.fixture(scope="module")
def slurm():
    with PrivateSlurm(8, 2, "PartitionName=debug Nodes=n01,n02 MaxNodes=2 MaxTime=30 State=UP") as cluster:
        for processors, minutes in ((4, 20), (3, 35), (6, 12), (10, 30), (16, 15), (5, 40), (12, 25)):
            cluster.submit("-n", str(processors), "-t", str(minutes))
        last = cluster.submit("-p", "debug", "-N", "2", "-t", "10", "-J", 'a | "name", é→Ω')
        assert cluster.planned_start(last) is not None
        yield cluster


def read(slurm):
    answers = {name: slurm.run(*command, **ENVIRONMENT) for name, command in COMMANDS.items()}
    cluster = read_cluster(answers, name="private")
    return replace(cluster, jobs=with_details(cluster.jobs, slurm.run(*DETAILS, **ENVIRONMENT)))


def test_its_answers_are_understood(slurm):
    cluster = read(slurm)
    assert [node.name for node in cluster.nodes] == slurm.nodes
    assert {node.cpus for node in cluster.nodes} == {2}
    assert [one.name for one in cluster.partitions] == ["main", "debug"]
    running = [job for job in cluster.jobs if job.state in ("RUNNING", "CONFIGURING")]
    assert sum(sum(job.cpus_on.values()) for job in running) == sum(node.allocated for node in cluster.nodes)
    assert cluster.jobs[-1].end is None or cluster.jobs[-1].end > cluster.now
    assert 'a | "name", é→Ω' in {job.name for job in cluster.jobs}


def test_earliest_starts_are_those_that_its_backfill_scheduler_plans(slurm):
    """Within its resolution, in at least 8 of 9: its search does not try every start."""
    misses = []
    for processors, minutes in SHAPES:
        found = interpret(read(slurm))
        expected = int(found.availability.anchors(np.array([processors]), np.array([60 * minutes]), 0)[0])
        planned = slurm.probe(processors, minutes)
        if planned is None or abs(planned - expected) > 60:
            misses.append((processors, minutes, expected, planned))
    assert len(misses) <= 1, misses
