"""Jobs that may be submitted later: sizes and time limits are those of past jobs, requests those of the queue."""

from dataclasses import replace

import numpy as np
import pytest
from made_clusters import cluster, job, running

from gas.prediction.alike import Alike
from gas.slurm.cluster import Partition

P, URGENT, FAR = Partition("p", ("n0", "n1")), Partition("urgent", ("n1", "n2"), tier=2), Partition("far", ("n3",))


def made(*jobs, candidates=None, cpus=4):
    there = cluster(*jobs, nodes=4, partitions=(P, URGENT, FAR))
    alike = Alike(there, candidates or [job(0, 4)], np.random.default_rng(0))
    return [alike(100 + number, cpus, 600) for number in range(60)]


def test_they_go_to_all_partitions_that_share_nodes_with_the_candidate():
    """Those of a higher tier overtake it."""
    found = made(
        job(1), job(2, partitions=("urgent",)), running(3, "n3", end=60, partitions=("far",)),
        job(4, partitions=("far", "urgent")),
    )  # fmt: skip
    assert {one.partitions for one in found} == {("p",), ("urgent",)}
    assert all(set(one.priority_in) == set(one.partitions) for one in found)


def test_they_keep_what_jobs_of_the_queue_request_for_their_own_size():
    like = job(
        1, 8, cpus_per_task=2, least_nodes=2, most_nodes=4, memory_per_node=500, licences={"a": 1}, features="fast",
    )  # fmt: skip
    for cpus, least, most, per_task in ((8, 2, 4, 2), (4, 1, 2, 2), (16, 4, 8, 2), (3, 1, 2, 1)):
        one = made(like, cpus=cpus)[0]
        assert (one.cpus, one.least_nodes, one.most_nodes) == (cpus, least, most)
        assert (one.cpus_per_task, one.tasks_asked) == (per_task, cpus // per_task)
        assert (one.memory_per_node, one.licences, one.features) == (500, {"a": 1}, "fast")


def test_they_have_the_nodes_that_their_cpus_need():
    assert {one.least_nodes for one in made(replace(job(1, 2), most_nodes=1), cpus=12)} == {3}


@pytest.mark.parametrize("candidate", [None, job(0, 4, partitions=("gone",))])
def test_without_a_partition_there_are_none(candidate):
    assert made(job(1), candidates=[candidate]) == [None] * 60
