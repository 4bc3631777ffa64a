"""Whole nodes that select/linear gives out: as planned by Slurm 22.05, 24.11 and 26.05."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NEW, OLD, cluster, job, places, planned, plans, running, with_nodes

from gas.slurm.settings import Settings

VERSIONS = (OLD, MIDDLE, NEW)


def linear(*jobs, nodes=8, cpus=4, version=MIDDLE):
    made = cluster(*jobs, nodes=nodes, cpus=cpus, version=version)
    partitions = tuple(replace(one, whole_nodes=True) for one in made.partitions)
    return replace(made, partitions=partitions, settings=Settings(selection="linear"))


@pytest.mark.parametrize("version", VERSIONS)
def test_of_runs_of_neighbours_the_tightest_is_taken_whatever_the_weights_and_all_of_each_node(version):
    taken = [running(1, "n2", end=9999), running(2, "n7", end=9999)]
    made = linear(*taken, version=version)
    assert [places(made, cpus=cpus) for cpus in (1, 8, 9, 16)] == [[0], [0, 1], [3, 4, 5], [3, 4, 5, 6]]
    assert places(made, cpus=17) == [0, 3, 4, 5, 6]
    assert places(made, cpus=9, cpus_per_task=3) == [3, 4, 5]  # 12 CPUs, as each node gives four
    assert places(made, cpus=1, required_nodes=("n5",)) == [5]
    assert places(made, cpus=12, required_nodes=("n5",)) == [4, 5, 6]
    assert places(made, cpus=2, least_nodes=2, most_nodes=2, required_nodes=("n0",)) == [0, 1]
    # what starts gets the nodes of low weights, as long as they suffice
    heavy = with_nodes(made, weight=[9, 9, 1, 1, 1, 9, 9, 9])
    assert [places(heavy, cpus=cpus) for cpus in (1, 8, 9)] == [[3], [3, 4], [3, 4, 5]]


@pytest.mark.parametrize("version", [MIDDLE, NEW])
def test_of_nodes_of_several_sizes_the_largest_ones_come_first_and_of_these_the_last(version):
    made = with_nodes(linear(nodes=6, version=version), cpus=[4, 4, 4, 8, 8, 4])
    assert [places(made, cpus=cpus) for cpus in (1, 9, 17, 24)] == [[4], [3, 4], [3, 4, 5], [2, 3, 4, 5]]
    same = replace(made, jobs=(running(1, "n3", "n4", end=9999),))
    assert places(same, cpus=5) == [0, 1]


@pytest.mark.parametrize("version", VERSIONS)
def test_running_jobs_are_taken_away_one_by_one_from_now_on_whatever_start_is_tried(version):
    ends = (100, 149, 151, 209, 211)
    made = linear(*(running(n + 1, f"n{n}", end=end) for n, end in enumerate(ends)), nodes=5, version=version)
    assert [planned(made, job(cpus=cpus)) for cpus in (4, 8, 12)] == [(100, [0]), (149, [0, 1]), (151, [0, 1, 2])]
    busy = (running(1, "n0", end=600), running(2, "n1", "n2", "n3", end=1200))
    queue = (job(11, cpus=16, minutes=10), job(12, cpus=4, minutes=30))
    # job 12 starts behind job 11, and on n0, which is the first to be free from now on
    assert plans(linear(*busy, *queue, nodes=4, version=version)) == [(11, 1200, [0, 1, 2, 3]), (12, 1800, [0])]


def test_a_node_is_needed_for_each_number_of_tasks_and_memory_for_all_of_its_cpus():
    made = with_nodes(linear(nodes=3), memory=[1000, 1000, 4000])
    assert places(made, cpus=6, tasks_per_node=2) == [0, 1, 2]
    counts = replace(made, settings=Settings(selection="linear", selection_parameters=frozenset({"CR_MEMORY"})))
    assert places(counts, cpus=2, memory_per_cpu=300) == [2]
    assert places(made, cpus=2, memory_per_cpu=300) == [0]
