"""What a job takes of the nodes that it gets, and what it misses still."""

from dataclasses import replace

import numpy as np
import pytest
from made_clusters import A100, cluster, job, machine_with_gpus

from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Gres
from gas.slurm.taking import (
    CPUS_STILL,
    LEAST_STILL,
    MOST_STILL,
    WANTED_STILL,
    Choice,
    begin,
    has_enough,
    has_least,
    take,
    work_of,
)


class Chosen:
    """The choice of nodes for one job on an idle cluster."""

    def __init__(self, made, **fields):
        state = Beginning.of(replace(made, jobs=(job(1, **fields),))).state
        rows, at, required = state.rows, len(state.rows.need) - 1, state.sets[state.rows.required[-1]]
        self.work, self.capacity = work_of(state.machine, 0), state.machine.cpus.copy()
        self.given = np.zeros(len(self.capacity), np.int64)
        self.choice = Choice(rows.need[at], rows.gres[at], required, state.machine, state.use, self.work, self.given)

    def begin(self):
        return begin(self.capacity, self.choice)

    def take(self, node):
        take(node, self.capacity, self.choice)
        return self.given.tolist()

    def still(self):
        return [int(self.work.still[at]) for at in (CPUS_STILL, LEAST_STILL, WANTED_STILL, MOST_STILL)]


def test_a_cpu_is_kept_for_each_further_node_that_a_job_must_have():
    choice = Chosen(cluster(nodes=4), cpus=5, least_nodes=3, most_nodes=3)
    assert choice.begin()
    assert choice.still() == [5, 3, 3, 3]
    assert choice.take(0) == [3, 0, 0, 0]
    assert choice.take(2) == [3, 0, 1, 0]
    assert (has_enough(choice.work), has_least(choice.work)) == (False, False)
    assert choice.take(1) == [3, 1, 1, 0]
    assert choice.still() == [0, 0, 0, 0]
    assert (has_enough(choice.work), has_least(choice.work)) == (True, True)


def test_a_job_has_what_it_must_have_before_it_has_what_it_wants():
    choice = Chosen(cluster(nodes=4), cpus=4, least_nodes=1, most_nodes=2)
    assert choice.begin()
    choice.take(0)
    assert (has_enough(choice.work), has_least(choice.work)) == (False, True)


@pytest.mark.parametrize(("most", "works"), [(2, True), (1, False)])
def test_required_nodes_are_given_first_if_they_can_all_be(most, works):
    choice = Chosen(cluster(nodes=4), cpus=6, least_nodes=1, most_nodes=most, required_nodes=("n1", "n3"))
    assert choice.begin() is works
    if works:
        assert choice.given.tolist() == [0, 4, 0, 2]
        choice.capacity[3] = 0
        assert not choice.begin()


def test_gpus_in_all_are_missed_until_the_nodes_have_them():
    choice = Chosen(machine_with_gpus(), cpus=2, tasks_asked=2, gres_per_job=(Gres("gpu", A100.type, 6),))
    assert choice.begin()
    choice.take(0)
    assert not has_least(choice.work)
    choice.take(1)
    assert has_least(choice.work)
