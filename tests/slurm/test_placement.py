"""Where a record fits, apart from what is planned."""

import numpy as np
import pytest
from made_clusters import cluster, job, running

from gas.slurm.beginning import Beginning
from gas.slurm.order import queue
from gas.slurm.placement import cpus_on
from gas.slurm.state import state_of


def state(*jobs, **options):
    made = cluster(*jobs, **options)
    return state_of(made, queue(made))


@pytest.mark.parametrize(("cpus", "nowhere"), [(8, False), (9, True)])
def test_what_is_too_large_for_the_partition_fits_nowhere_whatever_runs(cpus, nowhere):
    begin = Beginning.of(cluster(running(9, "n0", "n1", end=60), job(1, cpus)))
    assert begin.waiting.dropped.tolist() == [nowhere]


@pytest.mark.parametrize(
    ("cpus", "nodes", "given"),
    [
        (3, [0], [3, 0]),
        (5, [0, 1], [4, 1]),
        (2, [0, 1], [1, 1]),  # both are known, so each gives one
    ],
)
def test_known_nodes_give_at_least_one_cpu_each_and_no_more_than_are_needed(cpus, nodes, given):
    there = np.isin(np.arange(2), nodes)
    assert cpus_on(state(job(1, cpus)), 0, there).tolist() == given


def test_nodes_that_are_still_in_use_give_as_if_they_were_idle():
    assert cpus_on(state(running(9, "n0", end=60), job(1, 4)), 0, np.array([True, False])).tolist() == [4, 0]


def test_whole_nodes_give_all_that_their_tasks_need():
    found = cpus_on(state(job(1, 5, exclusive=True)), 0, np.array([True, True]))
    assert (found > 0).all()
