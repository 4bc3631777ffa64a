"""How much of its nodes a job can have: one test for each rule."""

from dataclasses import replace

import pytest
from made_clusters import (
    MIDDLE,
    NEW,
    NOW,
    OLD,
    cluster,
    job,
    machine_with_gpus,
    outlook,
    places,
    planned,
    running,
    with_nodes,
)

from gas.slurm.cluster import Gres, Partition


def test_whole_node_jobs_want_nodes_that_are_quite_free():
    made = cluster(running(1, "n0", end=600, cpus_on={"n0": 1}), running(2, "n1", end=900, cpus_on={"n1": 1}))
    assert planned(made, job(cpus=6)) == (0, [0, 1])
    assert planned(made, job(cpus=4, exclusive=True)) == (600, [0])
    assert planned(made, job(cpus=5, exclusive=True)) == (900, [0, 1])


def test_tasks_of_a_node_are_kept():
    made = cluster(running(1, "n0", end=600, cpus_on={"n0": 3}), nodes=3)
    assert places(made, cpus=4, tasks_per_node=2) == [1, 2]
    assert planned(made, job(cpus=6, tasks_per_node=2, least_nodes=3)) == (600, [0, 1, 2])


@pytest.mark.parametrize("of_gpus", [None, 0])
def test_cpus_that_make_up_no_whole_task_count_on_22_05_only(of_gpus):
    """Seen: -n 5 -c 2 on nodes with 3, 3 and 4 free CPUs."""
    busy = [running(n + 1, f"n{n}", end=600, cpus_on={f"n{n}": 1}) for n in (0, 1)]
    asked = {"cpus": 10, "cpus_per_task": 2, "cpus_per_gpu": of_gpus}
    assert planned(cluster(*busy, nodes=3, version=OLD), job(**asked)) == (0, [0, 1, 2])
    assert planned(cluster(*busy, nodes=3, version=NEW), job(**asked)) == (600, [0, 1, 2])


@pytest.mark.parametrize(
    ("asked", "start"),
    [
        ({"memory_per_node": 1000}, 0), ({"memory_per_node": 2000}, 600), ({"memory_per_node": 0}, 600),
        ({"memory_per_cpu": 500}, 0), ({"memory_per_cpu": 501}, 600), ({}, 0),
    ],
)  # fmt: skip
def test_memory_is_given_out_where_it_counts(asked, start):
    busy = running(1, "n0", end=600, cpus_on={"n0": 1}, memory_on={"n0": 3000})
    partitions = (Partition("p", ("n0",), memory_per_cpu=100, selection="CR_CPU_MEMORY"),)
    made = with_nodes(cluster(busy, nodes=1, partitions=partitions), memory=[4000])
    assert planned(made, job(cpus=2, **asked)) == (start, [0])


@pytest.mark.parametrize(("allocated", "start"), [(3000, 600), (0, 0)])
def test_without_a_published_configuration_allocated_memory_tells_whether_it_is_given_out(allocated, start):
    busy = running(1, "n0", end=600, cpus_on={"n0": 1}, memory_on={"n0": 3000})
    made = with_nodes(cluster(busy, nodes=1, settings=None), memory=[4000], memory_allocated=[allocated])
    assert planned(made, job(cpus=1, memory_per_node=2000)) == (start, [0])


def test_where_memory_is_not_given_out_a_node_must_have_it():
    busy = running(1, "n0", end=600, cpus_on={"n0": 1}, memory_on={"n0": 3000})
    made = with_nodes(cluster(busy, nodes=1), memory=[4000])
    assert planned(made, job(cpus=2, memory_per_node=4000)) == (0, [0])
    assert planned(made, job(cpus=2, memory_per_node=4001)) is None


@pytest.mark.parametrize(
    ("asked", "nodes"),
    [
        ({"cpus": 1, "gres_per_node": (Gres("gpu", "", 4),)}, [0]),
        ({"cpus": 1, "gres_per_node": (Gres("gpu", "v100", 2),)}, [2]),
        ({"cpus": 4, "gres_per_task": (Gres("gpu"),)}, [0]),
        ({"cpus": 4, "gres_per_task": (Gres("gpu", "v100"),)}, [2, 3]),
        ({"cpus": 4, "gres_per_job": (Gres("gpu", "", 8),)}, [0, 1]),
        ({"cpus": 1, "gres_per_job": (Gres("gpu", "v100", 3),)}, [2, 3]),
        ({"cpus": 1, "gres_per_node": (Gres("gpu", "", 5),)}, None),
        ({"cpus": 1, "gres_per_node": (Gres("gpu", "h100", 1),)}, None),
        ({"cpus": 1, "gres_per_job": (Gres("gpu", "", 13),)}, None),
    ],
)  # fmt: skip
def test_gpus_are_asked_for_by_node_task_and_job(asked, nodes):
    assert places(machine_with_gpus(), **asked) == nodes


def test_gpus_that_run_are_taken():
    busy = running(1, "n0", end=600, cpus_on={"n0": 1}, gres_on={"n0": (Gres("gpu", "a100", 3),)})
    made = machine_with_gpus(busy)
    assert places(made, cpus=1, gres_per_node=(Gres("gpu", "a100", 2),)) == [1]
    assert planned(made, job(cpus=2, gres_per_job=(Gres("gpu", "a100", 8),))) == (600, [0, 1])


def test_cpus_of_a_node_are_limited_by_the_partition():
    """Its own jobs count (slurm.conf(5), MaxCPUsPerNode)."""
    busy = running(1, "n0", end=600, cpus_on={"n0": 1})
    partitions = (Partition("p", ("n0",), most_cpus=2), Partition("q", ("n0",)))
    made = cluster(busy, nodes=1, partitions=partitions)
    assert planned(made, job(cpus=2)) == (600, [0])
    assert planned(made, job(cpus=2, partitions=("q",))) == (0, [0])


def test_the_limit_of_a_partition_counts_cpus_and_not_tasks_which_must_all_have_a_place():
    """Seen on 24.11 and 26.05: with one of six CPUs of each node in use, -n 5 -c 2 waits where there are two nodes."""
    busy = [running(at + 1, f"n{at}", end=600, cpus_on={f"n{at}": 1}) for at in range(2)]
    names = tuple(f"n{n}" for n in range(3))
    made = cluster(*busy, nodes=3, cpus=8, partitions=(Partition("p", names, most_cpus=6),))
    assert planned(made, job(cpus=10, cpus_per_task=2)) == (600, [0, 1])
    assert planned(made, job(cpus=14, cpus_per_task=2)) == (600, [0, 1, 2])
    assert planned(made, job(cpus=6, cpus_per_task=2)) == (0, [2])
    assert planned(made, job(cpus=10)) == (0, [0, 1])


def test_tasks_of_a_node_need_memory_for_themselves_and_not_for_all_of_their_last_core():
    """Seen on 24.11 (CR_Core_Memory, two threads a core, 900 MB left): --ntasks-per-node=3 with 300 MB for each CPU."""
    other = running(1, "n0", end=600, cpus_on={"n0": 2}, memory_on={"n0": 1100})
    partition = Partition("p", ("n0",), selection="CR_CORE_MEMORY")
    made = with_nodes(cluster(other, nodes=1, cpus=8, partitions=(partition,)), threads=[2], memory=[2000])
    assert places(made, cpus=3, tasks_per_node=3, memory_per_cpu=300) == [0]
    assert places(made, cpus=3, tasks_per_node=3, memory_per_cpu=301) is None
    assert places(made, cpus=3, memory_per_cpu=300) is None


def test_memory_of_a_cpu_that_is_not_given_out_must_be_there_for_a_task_and_no_more():
    """Seen on 22.05, 24.11 and 26.05 under CR_CPU: -n 2 -c 2 --mem-per-cpu=400 starts on one node of 1,000 MB."""
    made = with_nodes(cluster(nodes=2), memory=[1000] * 2)
    assert places(made, cpus=4, cpus_per_task=2, memory_per_cpu=400) == [0]
    assert places(made, cpus=4, memory_per_cpu=400, exclusive=True) == [0]
    assert places(made, cpus=3, cpus_per_task=3, memory_per_cpu=400) is None
    assert places(made, cpus=1, memory_per_node=1001) is None


def test_a_job_gets_nodes_with_as_many_free_cpus_as_it_asks_for_of_each():
    made = cluster(running(1, "n0", end=600, cpus_on={"n0": 2}), running(2, "n1", end=900, cpus_on={"n1": 3}), nodes=2)
    assert planned(made, job(cpus=3)) == (0, [0, 1])
    assert planned(made, job(cpus=3, cpus_per_node=2)) == (600, [0])
    assert planned(made, job(cpus=3, cpus_per_node=2, least_nodes=2)) == (900, [0, 1])


def test_cores_are_given_as_wholes():
    made = with_nodes(cluster(running(1, "n0", end=600, cpus_on={"n0": 1}), nodes=1), threads=[2])
    assert planned(made, job(cpus=2)) == (0, [0])
    assert planned(made, job(cpus=3)) == (600, [0])


def test_memory_and_cpus_for_each_gpu_are_the_partitions_if_the_job_asks_for_none():
    names = tuple(f"n{n}" for n in range(2))
    partition = Partition("p", names, memory_per_gpu=600, selection="CR_CPU_MEMORY")
    made = cluster(
        running(1, "n0", end=9999, cpus_on={"n0": 1}, memory_on={"n0": 500}), nodes=2, partitions=(partition,)
    )
    made = with_nodes(made, gres=[(Gres("gpu", "", 2),)] * 2, memory=[1000] * 2)
    two = {"cpus": 2, "tasks_asked": 2, "gres_per_task": (Gres("gpu", "", 1),)}
    assert places(made, cpus=1, gres_per_task=(Gres("gpu", "", 1),), tasks_asked=1) == [1]
    assert places(made, **two) is None  # each node has memory for one
    # a default for each GPU does not count where memory was asked for
    assert places(made, **two, memory_per_node=400, memory_per_gpu=600) in ([0], [1])
    more = replace(made, partitions=(replace(partition, memory_per_gpu=None, cpus_per_gpu=2),))
    assert places(more, cpus=1, gres_per_task=(Gres("gpu", "", 1),), tasks_asked=1, memory_per_node=100) == [0]
    assert places(more, **two, memory_per_node=100) == [1]


TWO_EACH = {"gres_per_node": (Gres("gpu", "", 2),), "cpus_per_gpu": 2}


@pytest.mark.parametrize(
    ("version", "asked", "nodes"),
    [
        (OLD, {"cpus": 4}, [0]),
        (OLD, {"cpus": 5}, [0, 1]),
        (NEW, {"cpus": 4}, [0]),
        (NEW, {"cpus": 2, "least_nodes": 2}, [0, 1]),
        (NEW, {"cpus": 1, "exclusive": True}, None),  # whole nodes bring four GPUs along, which want eight CPUs
    ],
)
def test_a_node_gives_the_cpus_of_its_gpus_at_the_least(version, asked, nodes):
    """Seen on 22.05, 24.11 and 26.05 with nodes of 8 CPUs and four GPUs."""
    made = with_nodes(cluster(nodes=2, version=version), gres=[(Gres("gpu", "", 4),)] * 2)
    found = planned(made, job(tasks_asked=asked["cpus"], **asked, **TWO_EACH))
    assert found == (None if nodes is None else (0, nodes))


def test_a_node_without_the_cpus_of_its_gpus_waits():
    made = with_nodes(cluster(running(1, "n0", end=600, cpus_on={"n0": 1}), nodes=1), gres=[(Gres("gpu", "", 4),)])
    assert planned(made, job(cpus=1, tasks_asked=1, **TWO_EACH)) == (600, [0])


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"memory_per_cpu": 500}, [0]), ({"memory_per_cpu": 501}, [1]), ({"memory_per_cpu": 2001}, None),
        ({"memory_per_node": 4000}, [0]), ({"memory_per_cpu": 2000, "tasks_per_node": 2}, [0]),
    ],
)  # fmt: skip
def test_a_whole_node_has_memory_for_all_of_its_cpus(asked, found):
    """Seen on 24.11 and 26.05: one CPU with 900 MB, exclusive, never starts on nodes of 8 CPUs and 4,000 MB."""
    partitions = (Partition("p", ("n0", "n1"), selection="CR_CPU_MEMORY"),)
    made = with_nodes(cluster(nodes=2, cpus=8, partitions=partitions), memory=[4000, 16000])
    assert places(made, cpus=asked.get("tasks_per_node", 1), exclusive=True, **asked) == found


# ------------------------------------------------------------------------------------------------ threads of cores


def with_threads(*jobs, cpus=8, cores=4, threads=2, version=MIDDLE, selection="CR_CORE", **fields):
    """Return three nodes of four cores with two threads each, all of them CPUs unless `cpus` says otherwise."""
    partitions = (Partition("p", ("n0", "n1", "n2"), selection=selection),)
    made = cluster(*jobs, nodes=3, cpus=cpus, version=version, partitions=partitions, **fields)
    return with_nodes(made, cores=[cores] * 3, threads=[threads] * 3)


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize("selection", ["CR_CPU", "CR_CORE"])
@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ({"cpus": 3}, [4]), ({"cpus": 5}, [6]), ({"cpus": 9, "cpus_per_task": 3}, [6, 4]),
        ({"cpus": 3, "threads_per_core": 1}, [6]), ({"cpus": 5, "threads_per_core": 1}, [8, 2]),
        ({"cpus": 5, "tasks_per_core": 1}, [8, 2]), ({"cpus": 6, "tasks_per_node": 2}, [2, 2, 2]),
        ({"cpus": 9, "cpus_per_task": 3, "threads_per_core": 1}, [6, 6, 6]),
        ({"cpus": 9, "cpus_per_task": 3, "tasks_per_core": 1}, [8, 4]),
        ({"cpus": 6, "tasks_per_node": 2, "threads_per_core": 1}, [4, 4, 4]),
        ({"cpus": 10, "exclusive": True}, [8, 8]), ({"cpus": 10, "exclusive": True, "threads_per_core": 1}, [8, 8, 8]),
        ({"cpus": 4, "cpus_per_task": 4, "threads_per_core": 1}, [8]),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else "",
)  # fmt: skip
def test_jobs_hold_whole_cores_and_use_as_many_of_their_threads_as_they_may(version, selection, asked, held):
    """Seen on 22.05, 24.11 and 26.05 in CPU_IDs of each node, the same under CR_CPU and CR_Core."""
    tasks = asked["cpus"] // asked.get("cpus_per_task", 1)
    found = outlook(with_threads(version=version, selection=selection), job(tasks_asked=tasks, **asked))
    assert (found.planned, list(found.cpus)) == (NOW, held)


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize(
    ("asked", "start", "held"),
    [
        ({"cpus": 3}, 0, [2, 2]), ({"cpus": 2}, 0, [2]), ({"cpus": 3, "threads_per_core": 1}, 0, [6]),
        ({"cpus": 3, "cpus_per_task": 3, "threads_per_core": 1}, 0, [6]), ({"cpus": 3, "tasks_per_core": 1}, 0, [6]),
        ({"cpus": 3, "most_nodes": 1}, None, []), ({"cpus": 3, "cpus_per_task": 3}, None, []),
    ],
    ids=str,
)  # fmt: skip
def test_memory_of_cpus_is_that_of_all_which_a_job_can_use_of_its_cores(version, asked, start, held):
    """Seen on 22.05, 24.11 and 26.05: -n 3 --mem-per-cpu=300 has two nodes of 1,000 MB, 600 MB of each."""
    made = with_nodes(with_threads(version=version, selection="CR_CORE_MEMORY"), memory=[1000] * 3)
    tasks = asked["cpus"] // asked.get("cpus_per_task", 1)
    found = outlook(made, job(memory_per_cpu=300, tasks_asked=tasks, **asked))
    assert (found.planned, list(found.cpus)) == (None if start is None else NOW + start, held)


def test_a_job_that_starts_takes_the_memory_of_its_cores():
    """Seen: -n 1 --mem-per-cpu=300 has 600 MB, so that of 1,000 MB another does not fit beside it."""
    first = job(3, cpus=1, tasks_asked=1, memory_per_cpu=300, least_nodes=1)
    made = with_nodes(with_threads(first, selection="CR_CORE_MEMORY"), memory=[1000] * 3)
    assert places(made, cpus=1, memory_per_cpu=300) == [1]
    assert places(made, cpus=1, memory_per_node=400) == [0]


def test_under_cr_cpu_memory_of_cpus_is_that_of_those_which_it_has():
    """Seen on 26.05: jobs of 900 MB a CPU take one CPU of a node with 1,050 MB."""
    made = with_nodes(with_threads(selection="CR_CPU_MEMORY"), memory=[1050] * 3)
    assert places(made, cpus=3, memory_per_cpu=900, tasks_asked=3) == [0, 1, 2]
    assert places(with_nodes(with_threads(selection="CR_CORE_MEMORY"), memory=[1050] * 3), cpus=3, memory_per_cpu=900,
                  tasks_asked=3) is None  # fmt: skip


ONE_GPU, THREE = (Gres("gpu", "", 1),), (Gres("gpu", "", 3),)


@pytest.mark.parametrize(
    ("version", "selection", "asked", "found"),
    [
        (MIDDLE, "CR_CORE", {"cpus": 3, "gres_per_task": ONE_GPU}, None),
        (MIDDLE, "CR_CORE_MEMORY", {"cpus": 3, "gres_per_task": ONE_GPU, "exclusive": True}, None),
        (MIDDLE, "CR_CORE", {"cpus": 3, "gres_per_task": ONE_GPU, "least_nodes": 3}, [0, 1, 2]),
        (MIDDLE, "CR_CORE", {"cpus": 2, "gres_per_task": THREE}, [0, 1]),
        (MIDDLE, "CR_CORE", {"cpus": 3, "gres_per_node": THREE}, [0]),
        (MIDDLE, "CR_CORE", {"cpus": 3, "gres_per_job": THREE}, [0]),
        (MIDDLE, "CR_CPU", {"cpus": 3, "gres_per_task": ONE_GPU}, [0]),
        (OLD, "CR_CORE", {"cpus": 3, "gres_per_task": ONE_GPU}, [0]),
        (NEW, "CR_CORE", {"cpus": 3, "gres_per_task": ONE_GPU}, [0]),
        (OLD, "CR_CORE", {"cpus": 1, "gres_per_node": ONE_GPU, "cpus_per_gpu": 2}, None),
        (OLD, "CR_CORE", {"cpus": 1, "gres_per_job": THREE, "cpus_per_gpu": 1}, None),
        (OLD, "CR_CORE", {"cpus": 1, "gres_per_node": ONE_GPU, "cpus_per_gpu": 1}, [0]),
        (OLD, "CR_CORE", {"cpus": 2, "gres_per_node": ONE_GPU, "cpus_per_gpu": 4}, [0]),
        (OLD, "CR_CORE", {"cpus": 1, "gres_per_node": THREE, "cpus_per_gpu": 1, "exclusive": True}, [0]),
        (OLD, "CR_CPU", {"cpus": 1, "gres_per_node": ONE_GPU, "cpus_per_gpu": 2}, [0]),
        (MIDDLE, "CR_CORE", {"cpus": 2, "gres_per_node": ONE_GPU, "cpus_per_gpu": 2, "tasks_asked": 1}, [0]),
    ],
)  # fmt: skip
def test_some_jobs_with_gpus_that_leave_threads_unused_never_start(version, selection, asked, found):
    """Seen on idle nodes, on 22.05 (JobHeldAdmin) and 24.11 (Resources) with --hint=nomultithread; not on 26.05."""
    made = with_nodes(with_threads(version=version, selection=selection), gres=[(Gres("gpu", "", 4),)] * 3)
    there = {"tasks_asked": asked["cpus"], "threads_per_core": 1}
    assert places(made, **(there | asked)) == found


def test_tasks_with_gpus_that_leave_threads_unused_start_on_24_11_where_each_has_a_node():
    has = {"cpus_on": {f"n{n}": 2 for n in range(3)}, "gres_on": {f"n{n}": THREE for n in range(3)}}
    busy = running(1, "n0", "n1", "n2", end=600, **has)
    made = with_nodes(with_threads(busy), gres=[(Gres("gpu", "", 4),)] * 3)
    assert planned(made, job(cpus=3, tasks_asked=3, threads_per_core=1, gres_per_task=ONE_GPU)) == (0, [0, 1, 2])


@pytest.mark.parametrize(("tasks", "found"), [(2, [0]), (3, None)])
def test_tasks_with_gpus_that_leave_threads_unused_start_on_24_11_where_each_has_a_socket(tasks, found):
    made = with_nodes(with_threads(cores=2), gres=[(Gres("gpu", "", 4),)] * 3, sockets=[2] * 3)
    assert places(made, cpus=tasks, tasks_asked=tasks, threads_per_core=1, gres_per_task=ONE_GPU) == found


def test_a_task_has_a_core_alone_where_the_site_says_so():
    made = with_threads(selection="CR_CORE,CR_ONE_TASK_PER_CORE")
    assert list(outlook(made, job(cpus=5, tasks_asked=5)).cpus) == [8, 2]
    assert list(outlook(made, job(cpus=5, tasks_asked=5, tasks_per_core=2)).cpus) == [6]


def test_only_cores_are_cpus_where_a_node_has_no_more():
    made = with_threads(cpus=4)
    assert [node.core_cpus for node in made.nodes] == [1, 1, 1]
    assert list(outlook(made, job(cpus=5)).cpus) == [4, 1]
    assert list(outlook(made, job(cpus=5, threads_per_core=1)).cpus) == [4, 1]
    assert with_nodes(made, cores=[None] * 3).nodes[0].core_cpus == 2


def test_what_runs_holds_whole_cores_too():
    """Under CR_CPU squeue shows as many CPUs as were asked for; of each core only one job has some."""
    made = with_threads(
        running(1, "n0", end=600, cpus_on={"n0": 3}), running(2, "n1", "n2", end=900), selection="CR_CPU"
    )
    assert planned(made, job(cpus=4)) == (0, [0])
    assert planned(made, job(cpus=5)) == (600, [0])
    queue = with_threads(running(1, "n1", "n2", end=900), job(3, cpus=3), job(4, cpus=3), selection="CR_CPU")
    assert planned(queue, job(cpus=1)) == (600, [0])
