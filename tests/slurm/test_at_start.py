"""Limits, with the nodes that a job would get: how large these are is known when they are chosen."""

from dataclasses import replace

import pytest
from slurm_standing import MAIN, NOW, a_cluster, an_accounting, job, running

from gas.slurm.accounting import Bounds
from gas.slurm.at_start import outlooks_at_start
from gas.slurm.cluster import Node
from gas.slurm.held_back import limits_in
from gas.slurm.why import Why

LARGE = (*(Node(f"n{number}", 4, memory=1000, partitions=("main",)) for number in range(1, 3)),
         *(Node(f"n{number}", 8, memory=1000, partitions=("main",)) for number in range(3, 5)))  # fmt: skip
PARTITION = replace(MAIN, nodes=tuple(node.name for node in LARGE))


def outlook(asked, *jobs, **bounds):
    accounting = an_accounting(**bounds)
    made = replace(a_cluster(accounting, jobs=list(jobs)), nodes=LARGE, partitions=(PARTITION,))
    (found,) = outlooks_at_start(made, [replace(asked, tasks_asked=asked.cpus)], apply_limits=limits_in(made))
    return found


BUSY = running(1, 8, 600, nodes=("n1", "n2"), user="other", qos="high")
"""It leaves the large nodes only."""


def test_whole_nodes_count_with_all_their_cpus():
    """A job that takes a node whole counts for 4 CPUs or for 8."""
    whole = job(2, exclusive=True)
    assert outlook(whole, normal=Bounds(user_tres={"cpu": 4.0})).planned == NOW
    found = outlook(whole, BUSY, normal=Bounds(user_tres={"cpu": 4.0}))
    assert (found.planned, found.why) == (None, Why.LIMIT)
    assert "MaxTRESPU" in found.words


def test_as_many_nodes_count_as_its_tasks_fill():
    """16 tasks fill two nodes of 8 CPUs, though most nodes have 4."""
    bounds = {"normal": Bounds(group_tres={"node": 2.0})}
    assert outlook(job(16), BUSY, **bounds).planned == NOW
    assert outlook(job(16), BUSY, normal=Bounds(group_tres={"node": 1.0})).planned is None


def test_what_a_job_has_of_each_node_depends_on_how_many_there_are():
    """12 tasks would have 4 CPUs of each of three nodes as most are; of the two that are free they get 6 each."""
    assert outlook(job(10), BUSY, normal=Bounds(node_tres={"cpu": 5.0})).planned == NOW
    assert outlook(job(12), BUSY, normal=Bounds(node_tres={"cpu": 5.0})).planned is None


@pytest.mark.parametrize("bound", [15.0, 16.0])
def test_other_limits_hold_as_before(bound):
    found = outlook(job(16), BUSY, normal=Bounds(group_tres={"cpu": bound}))
    assert (found.planned is None) == (bound < 16)


def test_nothing_is_looked_at_again_of_what_starts_later():
    found = outlook(job(20), BUSY, normal=Bounds(group_tres={"cpu": 40.0}))
    assert found.planned == NOW + 600
