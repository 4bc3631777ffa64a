"""How much of each resource a job counts for: as it asks, and as it will be given."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NEW, OLD
from slurm_standing import MAIN, NODES, a_cluster, job, running

from gas.slurm.cluster import Gres, Node
from gas.slurm.demand import allocated, billing, held, minutes, requested

GPUS = tuple(replace(node, gres=(Gres("gpu", "a100", 4),)) for node in NODES)


def asked(wanted, partition=MAIN, **changes):
    return requested(a_cluster(partitions=[partition], **changes), wanted, partition).amounts


def given(wanted, partition=MAIN, chosen=None, nodes=NODES, release=MIDDLE, **changes):
    cluster = replace(a_cluster(partitions=[partition], **changes), nodes=nodes, version=release)
    return allocated(cluster, wanted, partition, chosen)


def test_cpus_nodes_and_the_default_memory():
    assert asked(job(6, least_nodes=2)) == {"cpu": 6, "node": 2, "mem": 300, "billing": 6}


@pytest.mark.parametrize(
    ("ways", "memory"),
    [
        ({"memory_per_cpu": 10}, 60), ({"memory_per_node": 70}, 140), ({"memory_per_node": 0}, 2000), ({}, 300),
        ({"memory_per_gpu": 9, "gres_per_job": (Gres("gpu", "", 3),)}, 27),
    ],
)  # fmt: skip
def test_memory_is_asked_for_in_several_ways(ways, memory):
    assert asked(job(6, least_nodes=2, **ways))["mem"] == memory


def test_the_partitions_default_comes_before_the_clusters():
    assert asked(job(4), replace(MAIN, memory_per_node=70))["mem"] == 70
    assert asked(job(4), replace(MAIN, memory_per_cpu=7))["mem"] == 28
    assert asked(job(4), memory_per_cpu=None)["mem"] == 1000


@pytest.mark.parametrize(
    ("ways", "gpus"),
    [
        ({"gres_per_job": (Gres("gpu", "a100", 3),)}, 3), ({"gres_per_node": (Gres("gpu", "a100", 2),)}, 4),
        ({"gres_per_task": (Gres("gpu", "a100", 1),), "tasks_asked": 5}, 5),
        ({"gres_per_job": (Gres("gpu", "a100", 3),), "gres_per_node": (Gres("gpu", "a100", 2),)}, 3),
    ],
)  # fmt: skip
def test_typed_gpus_count_with_and_without_their_type(ways, gpus):
    found = asked(job(6, least_nodes=2, **ways))
    assert (found["gres/gpu"], found["gres/gpu:a100"]) == (gpus, gpus)


def test_whole_nodes_have_all_of_their_cpus_and_gpus():
    found = given(job(6, exclusive=True), nodes=GPUS)
    assert (found.amounts["cpu"], found.amounts["node"], found.amounts["gres/gpu:a100"], found.whole) == (8, 2, 8, True)
    assert given(job(6), replace(MAIN, whole_nodes=True)).amounts["cpu"] == 8


THREADS = tuple(replace(node, cpus=8, cores=4, threads=2) for node in NODES)


@pytest.mark.parametrize(
    ("flags", "wanted", "counted"),
    [
        (("CR_CPU",), job(3), 3), (("CR_CPU_MEMORY",), job(2, tasks_per_core=1), 2), (("CR_CORE",), job(3), 4),
        (("CR_SOCKET",), job(3), 4), (("CR_CPU",), job(3, exclusive=True), 16), (("CR_CPU",), job(1), 2),
    ],
)  # fmt: skip
def test_of_whole_cores_only_the_requested_cpus_count_unless_cores_are_given_out(flags, wanted, counted):
    # The last one is a job of a range of nodes, of which the requested CPUs are the least: a CPU of each core counts.
    there = {"n1": 2, "n2": 2}
    found = given(wanted, nodes=THREADS, chosen=there, selection_parameters=frozenset(flags))
    assert (found.amounts["cpu"], found.amounts["billing"]) == (counted, counted)


def test_an_exclusive_job_whose_tasks_have_a_core_each_gets_the_nodes_for_them():
    flags = frozenset({"CR_CORE", "CR_ONE_TASK_PER_CORE"})
    found = given(job(5, tasks_asked=5, exclusive=True), nodes=THREADS, selection_parameters=flags)
    assert (found.amounts["node"], found.amounts["cpu"]) == (2, 16)
    assert given(job(4, tasks_asked=4, exclusive=True), nodes=THREADS, selection_parameters=flags).amounts["node"] == 1


def test_cores_are_given_whole_on_each_node():
    nodes = tuple(replace(node, cpus=8, cores=4, threads=2) for node in NODES)
    flags = frozenset({"CR_CORE_MEMORY"})
    assert given(job(3), nodes=nodes, selection_parameters=flags).amounts["cpu"] == 4
    assert given(job(3), nodes=nodes, selection_parameters=frozenset({"CR_CPU"})).amounts["cpu"] == 3
    assert given(job(6, least_nodes=2), nodes=nodes, selection_parameters=flags).amounts["cpu"] == 8


def test_chosen_nodes_say_what_they_give():
    found = given(job(3), chosen={"n1": 2, "n2": 2})
    assert (found.amounts["cpu"], found.amounts["node"], found.nodes) == (4, 2, {"n1", "n2"})


def test_a_running_job_has_what_is_shown_of_it():
    found = held(a_cluster(), running(1, 3, 60, memory_on={"n1": 77}, gres_on={"n1": (Gres("gpu", "", 2),)}))
    assert (found["cpu"], found["mem"], found["gres/gpu"], found["node"]) == (3, 77, 2, 1)
    assert held(a_cluster(), running(1, 3, 60))["mem"] == 150


def test_billing():
    weighted = replace(MAIN, billing_weights={"cpu": 1.0, "mem": 0.25, "gres/gpu": 10.0, "license/a": 3.0})
    amounts = {"cpu": 4, "mem": 40, "gres/gpu": 2, "license/a": 1}
    settings = a_cluster().settings
    assert billing(amounts, MAIN, settings) == 4
    assert billing(amounts, weighted, settings) == 4 + 10 + 20 + 3
    largest = replace(settings, priority_flags=frozenset({"MAX_TRES"}))
    assert billing(amounts, weighted, largest) == 20 + 3
    besides = replace(settings, priority_flags=frozenset({"MAX_TRES_GRES"}))
    assert billing(amounts, weighted, besides) == 10 + 20 + 3
    for flags in (frozenset(), frozenset({"MAX_TRES"})):  # whole units
        assert billing({"cpu": 3, "mem": 39}, weighted, replace(settings, priority_flags=flags)) in (12, 9)
        assert billing({"mem": 3}, weighted, replace(settings, priority_flags=flags)) == 0


def test_minutes_are_rounded_up_and_default_to_the_partitions():
    none = replace(job(), time_limit=None)
    assert minutes(replace(job(), time_limit=61), MAIN) == 2
    assert minutes(none, MAIN) == 60
    assert minutes(none, replace(MAIN, default_time=None)) == 1440
    assert minutes(none, replace(MAIN, default_time=None, longest=None)) is None


def test_a_cluster_without_nodes_gives_what_is_asked_for():
    assert given(job(3), nodes=(Node("else", 4),)).amounts["cpu"] == 3


@pytest.mark.parametrize(("release", "cpus", "in_cores"), [(OLD, 9, 12), (MIDDLE, 7, 8), (NEW, 9, 12)])
def test_tasks_per_node_count_as_many_as_each_node_gets(release, cpus, in_cores):
    """Seen: -n 7 --ntasks-per-node=3 on CPUs, and on cores of two threads."""
    wanted, cores = job(7, tasks_per_node=3, tasks_asked=7), tuple(replace(node, threads=2) for node in NODES)
    assert given(wanted, release=release).amounts["cpu"] == cpus
    assert given(job(1, tasks_per_node=3, tasks_asked=1), release=release).amounts["cpu"] == 1
    assert given(wanted, nodes=cores, release=release, selection_parameters=("CR_CORE",)).amounts["cpu"] == in_cores


def test_on_24_11_tasks_of_several_cpus_are_dealt_before_they_are_rounded_to_cores():
    """Seen: -n 5 -c 3 --ntasks-per-node=2 on cores of two threads has 6, 6 and 4 CPUs."""
    wanted = job(15, tasks_asked=5, tasks_per_node=2, cpus_per_task=3)
    cores = tuple(replace(node, cpus=8, threads=2) for node in NODES)
    assert given(wanted, nodes=cores, selection_parameters=("CR_CORE",)).amounts["cpu"] == 16


def test_a_partition_of_more_nodes_a_job_than_there_can_be_is_counted_without_listing_them():
    """As a damaged answer may say."""
    wide = replace(MAIN, least_nodes=2**40)
    assert given(job(4, exclusive=True), wide, nodes=GPUS).amounts["gres/gpu:a100"] == 4 * 2**40
