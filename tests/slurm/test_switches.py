"""Which nodes a job gets where nodes are chosen by their switches; what is taken on 22.05, 24.11 and 26.05 was seen."""

import random
from dataclasses import replace

import numpy as np
import pytest
from made_clusters import MIDDLE, NEW, OLD, cluster, job, outlook, places, planned, plans, running, with_nodes

from gas.slurm.cluster import Switch
from gas.slurm.machine import BOUNDLESS
from gas.slurm.switches import tree_of

VERSIONS = (OLD, MIDDLE, NEW)


def leaves(*sizes):
    """Return leaves of so many nodes, in the order of the nodes' names."""
    found, first = [], 0
    for number, size in enumerate(sizes):
        found.append(Switch(f"leaf{number}", tuple(f"n{n}" for n in range(first, first + size))))
        first += size
    return found


def above(name, *below):
    return Switch(name, switches=below)


THREE = (
    *leaves(2, 3, 1), above("middle0", "leaf0", "leaf1"), above("middle1", "leaf2"),
    above("root", "middle0", "middle1"),
)  # fmt: skip
"""Leaves of 2, 3 and 1 nodes, the first two below one switch."""

ISLANDS = (*leaves(2, 3), above("west", "leaf0"), above("east", "leaf1"))


@pytest.mark.parametrize(("version", "nodes"), [(OLD, [0, 1, 5]), (MIDDLE, [2, 3, 4]), (NEW, [2, 3, 4])], ids=VERSIONS)
def test_a_leaf_is_large_enough_by_its_cpus_too_from_24_11_on(version, nodes):
    assert places(cluster(nodes=6, switches=THREE, version=version), cpus=10) == nodes


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("fields", "nodes"),
    [
        ({"cpus": 3}, [5]),  # the leaf that is large enough and has fewest nodes
        ({"cpus": 4, "least_nodes": 2, "most_nodes": 2}, [0, 1]),
        ({"cpus": 4, "least_nodes": 4, "most_nodes": 4}, [0, 2, 3, 4]),  # the largest leaf, then one near to it
        ({"cpus": 22}, [0, 1, 2, 3, 4, 5]),
    ],
    ids=["one node", "one leaf", "two leaves", "all"],
)
def test_the_leaf_that_is_left_least_comes_first_then_those_near_to_the_largest(version, fields, nodes):
    assert places(cluster(nodes=6, switches=THREE, version=version), **fields) == nodes


@pytest.mark.parametrize("version", VERSIONS)
def test_free_nodes_count_and_not_those_that_there_are(version):
    made = cluster(running(1, "n2", "n3", end=9999), nodes=6, switches=THREE, version=version)
    assert places(made, cpus=8, least_nodes=2, most_nodes=2) == [0, 1]
    assert places(replace(made, jobs=(running(1, "n0", end=9999),)), cpus=8, least_nodes=2, most_nodes=2) == [2, 3]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_does_not_span_switches_that_are_not_connected(version):
    made = cluster(nodes=5, switches=ISLANDS, version=version)
    assert places(made, cpus=12, least_nodes=3, most_nodes=3) == [2, 3, 4]
    probe = job(cpus=16, least_nodes=4, most_nodes=4)
    assert planned(made, probe) is None
    assert outlook(made, probe).never
    assert places(replace(made, switches=None), cpus=16, least_nodes=4, most_nodes=4) == [0, 1, 2, 3]


def test_on_22_05_a_job_is_refused_if_the_island_that_is_tried_is_too_small_also_where_it_would_fit_now():
    made = cluster(
        running(1, "n2", end=9999), nodes=3, switches=(*leaves(2, 1), above("a", "leaf0"), above("b", "leaf1"))
    )
    probe = job(cpus=8)
    assert planned(replace(made, version=MIDDLE), probe) == (0, [0, 1])
    assert outlook(replace(made, version=OLD), probe).never


def test_on_22_05_the_island_that_is_tried_must_do_if_its_jobs_were_gone():
    """Idle nodes are tested first: without those of plans, and for a start without those that another job has whole."""
    later = job(12, cpus=1, minutes=300)
    taken = (running(1, "n2", end=9999, cpus_on={"n2": 4}), running(2, "n3", "n4", end=5000, exclusive=True))
    made = cluster(*taken, job(11, cpus=7), later, nodes=5, switches=ISLANDS, version=OLD)
    assert plans(made) == [(11, 0, [0, 1]), (12, 600, [0])]  # planned, but not started
    assert plans(replace(made, version=MIDDLE))[:2] == [(11, 0, [0, 1]), (12, 0, [1])]
    first = job(10, cpus=8, least_nodes=2, most_nodes=2, minutes=300, required_nodes=("n3", "n4"))
    made = cluster(*taken, first, job(11, cpus=7, minutes=300), nodes=5, switches=ISLANDS, version=OLD)
    assert plans(made) == [(10, 5000, [3, 4]), (11, 22980, [0, 1])]


@pytest.mark.parametrize("version", VERSIONS)
def test_required_nodes_are_on_connected_switches_and_their_leaves_are_filled_first(version):
    made = cluster(nodes=6, switches=THREE, version=version)
    assert places(made, cpus=8, least_nodes=2, most_nodes=2, required_nodes=("n4",)) == [2, 4]
    apart = cluster(nodes=5, switches=ISLANDS, version=version)
    assert places(apart, cpus=8, least_nodes=2, most_nodes=2, required_nodes=("n0", "n4")) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_nodes_of_a_low_weight_are_taken_first_wherever_they_are(version):
    made = with_nodes(cluster(nodes=6, switches=THREE, version=version), weight=[2, 1, 2, 2, 1, 2])
    assert places(made, cpus=8, least_nodes=2, most_nodes=2) == [1, 4]
    assert places(made, cpus=12, least_nodes=3, most_nodes=3) == [0, 1, 4]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_node_on_no_switch_gets_no_job_and_neighbours_are_neighbours_all_the_same(version):
    made = cluster(nodes=7, switches=THREE, version=version)
    assert places(made, cpus=28) is None
    assert places(made, cpus=12, least_nodes=3, most_nodes=3, contiguous=True) == [0, 1, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_whatever_is_free_a_job_gets_enough_below_one_switch(version):
    chance = random.Random(version)
    starts = 0
    for _ in range(60):
        switches = list(leaves(*(chance.randint(1, 4) for _ in range(6))))
        half = chance.randint(1, 5)
        switches += [above("a", *(f"leaf{n}" for n in range(half))), above("b", *(f"leaf{n}" for n in range(half, 6)))]
        switches += [above("root", "a", "b")] if chance.random() < 0.5 else []
        count = sum(len(one.nodes) for one in switches)
        used = {f"n{n}": chance.randint(1, 4) for n in chance.sample(range(count), chance.randint(0, count // 2))}
        jobs = [running(n, name, end=9999, cpus_on={name: cpus}) for n, (name, cpus) in enumerate(used.items(), 1)]
        made = cluster(*jobs, nodes=count, switches=tuple(switches), version=version)
        nodes = chance.randint(1, 4)
        asked = chance.randint(nodes, 4 * nodes)
        found = places(made, cpus=asked, tasks_asked=asked, least_nodes=nodes)
        if found is None:
            continue
        starts += 1
        assert sum(4 - used.get(f"n{n}", 0) for n in found) >= asked
        assert len(found) >= nodes
        tops = [{f"n{n}" for one in switches[:half] for n in map(int, (name[1:] for name in one.nodes))}]
        tops += [{f"n{n}" for n in range(count)} - tops[0]]
        names = {f"n{n}" for n in found}
        assert switches[-1].name == "root" or names <= tops[0] or names <= tops[1]
    assert starts > 30


def test_the_tree_of_switches_has_levels_and_links_between_them():
    tree = tree_of(THREE, {f"n{n}": n for n in range(7)}, by_cpus=True)
    assert tree.leaf.tolist() == [0, 0, 1, 1, 1, 2, -1]
    assert tree.parent.tolist() == [3, 3, 4, 5, 5, -1]
    assert tree.level.tolist() == [0, 0, 0, 1, 1, 2]
    assert tree.apart[:3, :3].tolist() == [[0, 2, 4], [2, 0, 4], [4, 4, 0]]
    assert [tree.members[tree.first[leaf] : tree.first[leaf + 1]].tolist() for leaf in range(3)] == [
        [0, 1], [2, 3, 4], [5],
    ]  # fmt: skip
    apart = tree_of(ISLANDS, {f"n{n}": n for n in range(5)}, by_cpus=True).apart
    assert np.all(apart[0, [1, 3]] == BOUNDLESS)


def test_switches_in_a_circle_or_named_twice_are_no_trouble():
    odd = [above("a", "b"), above("b", "a"), above("c", "c", "missing"), Switch("d", ("n0",)), Switch("e", ("n0",))]
    tree = tree_of(odd, {"n0": 0}, by_cpus=True)
    assert tree.leaf.tolist() == [3]
    assert tree.parent.tolist() == [-1, 0, -1, -1, -1]
