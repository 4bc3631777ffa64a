"""Whether a job fits on some nodes, and which of them it gets: one test for each rule."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NEW, OLD, cluster, job, planned, plans, running, with_nodes

from gas.slurm.cluster import Gres, Partition


def places(made, **fields):
    found = planned(made, job(**fields))
    return None if found is None or found[0] else found[1]


def test_of_runs_of_neighbours_the_tightest_is_taken():
    for busy, nodes in ((2, [0, 1]), (3, [0, 1]), (4, [5, 6])):
        assert places(cluster(running(1, f"n{busy}", end=9999), nodes=7, cpus=2), cpus=4) == nodes
    both = cluster(running(1, "n0", "n3", end=9999), nodes=7, cpus=2)
    assert places(both, cpus=8) == [1, 4, 5, 6]


def test_a_job_that_fits_a_node_gets_the_one_that_is_left_least():
    made = cluster(running(1, "n2", end=9999, cpus_on={"n2": 1}), nodes=4, cpus=2, version=OLD)
    assert places(made, cpus=1) == [2]


def test_on_26_05_a_job_of_one_node_gets_the_first_that_fits():
    made = cluster(running(1, "n2", end=9999, cpus_on={"n2": 1}), nodes=4, cpus=2, version=NEW)
    assert places(made, cpus=1) == [2]
    assert places(made, cpus=1, most_nodes=1) == [0]


def test_nodes_of_a_low_weight_come_first():
    made = with_nodes(cluster(nodes=4), weight=[9, 9, 1, 5])
    assert places(made, cpus=4) == [2]
    assert places(made, cpus=12) == [0, 2, 3]


def test_required_nodes_are_among_those_that_it_gets_and_excluded_ones_are_not():
    made = cluster(nodes=4)
    assert places(made, cpus=4, required_nodes=("n3",)) == [3]
    assert places(made, cpus=8, required_nodes=("n2",)) == [2, 3]
    assert places(made, cpus=8, excluded_nodes=("n0", "n1")) == [2, 3]


def test_the_numbers_of_nodes_are_kept():
    made = cluster(nodes=4)
    assert places(made, cpus=2, least_nodes=2) == [0, 1]
    assert places(made, cpus=2, tasks_asked=1, least_nodes=1, most_nodes=3) == [0, 1, 2]
    assert planned(made, job(cpus=8, most_nodes=1)) is None


def test_a_choice_that_fails_is_tried_again_without_weak_nodes():
    """-N 2 -n 8 finds the two nodes that are quite free."""
    busy = [running(n + 1, f"n{n}", end=9999, cpus_on={f"n{n}": 3}) for n in (0, 1)]
    for version in (OLD, MIDDLE, NEW):
        assert places(cluster(*busy, nodes=4, version=version), cpus=8, least_nodes=2, most_nodes=2) == [2, 3]


def test_contiguous_jobs_get_one_run():
    made = cluster(running(1, "n1", end=600), nodes=4)
    assert places(made, cpus=12) == [0, 2, 3]
    assert planned(made, job(cpus=12, contiguous=True)) == (600, [0, 1, 2])


def test_whole_node_jobs_want_nodes_that_are_quite_free():
    made = cluster(running(1, "n0", end=600, cpus_on={"n0": 1}), running(2, "n1", end=900, cpus_on={"n1": 1}))
    assert planned(made, job(cpus=6)) == (0, [0, 1])
    assert planned(made, job(cpus=4, exclusive=True)) == (600, [0])
    assert planned(made, job(cpus=5, exclusive=True)) == (900, [0, 1])


def test_tasks_of_a_node_are_kept():
    made = cluster(running(1, "n0", end=600, cpus_on={"n0": 3}), nodes=3)
    assert places(made, cpus=4, tasks_per_node=2) == [1, 2]
    assert planned(made, job(cpus=6, tasks_per_node=2, least_nodes=3)) == (600, [0, 1, 2])


def test_cpus_that_make_up_no_whole_task_count_on_22_05_only():
    """Seen: -n 5 -c 2 on nodes with 3, 3 and 4 free CPUs."""
    busy = [running(n + 1, f"n{n}", end=600, cpus_on={f"n{n}": 1}) for n in (0, 1)]
    asked = {"cpus": 10, "cpus_per_task": 2}
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


A100, V100 = Gres("gpu", "a100", 4), Gres("gpu", "v100", 2)


def machine_with_gpus(*jobs, version=MIDDLE):
    gres = [(A100,), (A100,), (V100,), (V100,), (), ()]
    return with_nodes(cluster(*jobs, nodes=6, version=version), gres=gres)


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


def test_of_nodes_for_tasks_with_gpus_those_with_more_free_ones_come_first():
    """Seen on 24.11: --gpus-per-task goes to nodes with more free GPUs, --gpus=1 does not care."""
    busy = running(1, "n0", end=9999, cpus_on={"n0": 1}, gres_on={"n0": (Gres("gpu", "a100", 2),)})
    made = with_nodes(cluster(busy, nodes=3), gres=[(A100,)] * 3)
    assert places(made, cpus=8, gres_per_task=(Gres("gpu"),)) == [1, 2]
    assert places(made, cpus=7, gres_per_job=(Gres("gpu"),)) == [0, 1]


def test_a_job_of_gpus_gets_more_nodes_than_tasks_from_24_11_on():
    asked = {"cpus": 1, "gres_per_job": (Gres("gpu", "v100", 3),)}
    assert places(machine_with_gpus(version=OLD), **asked) is None
    assert places(machine_with_gpus(version=MIDDLE), **asked) == [2, 3]


def test_cpus_of_a_node_are_limited_by_the_partition():
    """Its own jobs count (slurm.conf(5), MaxCPUsPerNode)."""
    busy = running(1, "n0", end=600, cpus_on={"n0": 1})
    partitions = (Partition("p", ("n0",), most_cpus=2), Partition("q", ("n0",)))
    made = cluster(busy, nodes=1, partitions=partitions)
    assert planned(made, job(cpus=2)) == (600, [0])
    assert planned(made, job(cpus=2, partitions=("q",))) == (0, [0])


def test_cores_are_given_as_wholes():
    made = with_nodes(cluster(running(1, "n0", end=600, cpus_on={"n0": 1}), nodes=1), threads=[2])
    assert planned(made, job(cpus=2)) == (0, [0])
    assert planned(made, job(cpus=3)) == (600, [0])


def test_one_node_at_the_most_must_have_all_gpus_of_the_job():
    """Seen on 26.05: ``-n 1 --gpus=8`` of nodes with four has no plan."""
    made = with_nodes(cluster(nodes=3, version=NEW), gres=[(Gres("gpu", "", count),) for count in (2, 2, 4)])
    assert places(made, cpus=1, most_nodes=1, gres_per_job=(Gres("gpu", "", 3),)) == [2]
    assert places(made, cpus=1, most_nodes=1, gres_per_job=(Gres("gpu", "", 8),)) is None


def test_gpus_in_all_without_a_number_of_tasks_may_be_on_several_nodes_on_all_releases():
    """Seen on 22.05: ``--gpus=8`` is planned on two nodes of four; with ``-n 1`` it is refused."""
    for version in (OLD, MIDDLE, NEW):
        made = with_nodes(cluster(nodes=3, version=version), gres=[(Gres("gpu", "", 4),)] * 3)
        assert places(made, cpus=1, tasks_asked=None, gres_per_job=(Gres("gpu", "", 8),)) == [0, 1]
        queued = job(5, 1, tasks_asked=1, gres_per_job=(Gres("gpu", "", 8),))
        assert planned(replace(made, jobs=(queued,)), job(cpus=4))[1] == [2]
    old = with_nodes(cluster(nodes=3, version=OLD), gres=[(Gres("gpu", "", 4),)] * 3)
    assert places(old, cpus=1, tasks_asked=1, gres_per_job=(Gres("gpu", "", 8),)) is None


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


@pytest.mark.parametrize(("version", "nodes"), [(OLD, [3]), (MIDDLE, [0])])
def test_before_23_11_weights_stay_as_a_job_with_gpus_left_them(version, nodes):
    """Seen on 22.05: jobs without GPUs go to nodes with GPUs behind one that asks for GPUs."""
    first = job(4, 4, tasks_asked=1, gres_per_node=(Gres("gpu", "", 1),))
    gpus = (Gres("gpu", "", 2),)
    made = with_nodes(cluster(nodes=5, version=version), gres=[(), (), gpus, gpus, ()])
    found = {one: nodes for one, _, nodes in plans(replace(made, jobs=(first, job(5, 4, 60))))}
    assert (found[4], found[5]) == ([2], nodes)


@pytest.mark.parametrize("version", [OLD, MIDDLE])
def test_the_main_scheduler_sets_weights_anew_with_the_first_job(version):
    """Seen on 22.05: jobs without GPUs before the first that asks for some are planned as if there were none."""
    behind = job(5, 4, tasks_asked=1, gres_per_node=(Gres("gpu", "", 1),))
    made = with_nodes(cluster(nodes=4, version=version), gres=[(), (), (Gres("gpu", "", 2),), ()])
    found = {one: nodes for one, _, nodes in plans(replace(made, jobs=(job(4, 4, 60), behind)))}
    assert (found[4], found[5]) == ([0], [2])


def test_a_job_of_whole_nodes_goes_where_most_gpus_are():
    """Seen on 24.11: -N 4 --gpus-per-node=2 --exclusive takes both nodes of four GPUs and two of those of two."""
    gpus = [(Gres("gpu", "", count),) if count else () for count in (4, 4, 0, 2, 2, 2)]
    made = with_nodes(cluster(nodes=6), gres=gpus)
    asked = {"cpus": 4, "tasks_asked": 4, "least_nodes": 4, "most_nodes": 4, "gres_per_node": (Gres("gpu", "", 2),)}
    assert places(made, **asked, exclusive=True) == [0, 1, 3, 4]
    assert places(made, **asked) == [0, 3, 4, 5]


def test_gpus_for_which_a_node_has_no_cpus_do_not_count():
    """Seen on 22.05: tasks with a GPU and two CPUs each go to the nodes that take most of them."""
    busy = running(9, "n0", end=3600, cpus=2, cpus_on={"n0": 2}, memory_on={}, gres_on={})
    made = with_nodes(cluster(busy, nodes=3), gres=[(Gres("gpu", "", 2),)] * 3)
    asked = {"cpus": 8, "tasks_asked": 4, "cpus_per_task": 2, "gres_per_task": (Gres("gpu", "", 1),)}
    assert places(made, **asked) == [1, 2]
