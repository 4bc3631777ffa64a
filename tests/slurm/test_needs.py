"""What a job asks of a partition: nodes, CPUs, memory, GPUs, as Slurm reads what was asked."""

from dataclasses import replace

import numpy as np
import pytest
from made_clusters import MIDDLE, NEW, NOW, OLD, cluster, job, with_nodes

from gas.slurm import fitting
from gas.slurm.builder import Builder
from gas.slurm.cluster import Gres, Partition
from gas.slurm.forward import run_forward
from gas.slurm.machine import BOUNDLESS

GPUS = [(Gres("gpu", "a100", 4),), (Gres("gpu", "", 2),)]


def needs(asked, partition=None, version=MIDDLE, **given):
    made = with_nodes(cluster(nodes=2, version=version), gres=GPUS, memory=[8000, 16000])
    build = Builder(made, memory_counts=True)
    row = np.zeros(len(fitting.COLUMNS), np.int64)
    gres = np.zeros((3, len(build.resources)), np.int64)
    build.needs.write(asked, partition or Partition("p", ("n0", "n1"), **given), row, gres)
    return row, gres, build


def test_cpus_are_those_of_all_tasks_and_one_of_each_node_at_least():
    assert needs(job(cpus=3, tasks_asked=3, cpus_per_task=2))[0][fitting.CPUS] == 6
    assert needs(job(cpus=1, tasks_asked=1, least_nodes=4))[0][fitting.CPUS] == 4


def test_without_a_number_of_tasks_each_node_gives_those_of_one():
    """Seen on 24.11: -N 4-8 -c 2 shows NumCPUs=2 and NumTasks=4, and gets 2 CPUs of each node."""
    asked = job(1, 2, tasks_asked=4, cpus_per_task=2, least_nodes=4, most_nodes=8)
    assert needs(asked)[0][fitting.CPUS] == 4
    beside = job(2, 16)
    ran = run_forward(cluster(asked, beside, nodes=8), {}, until=NOW).starts
    assert [(one.job, len(one.nodes)) for one in ran] == [(1, 8), (2, 8)]


@pytest.mark.parametrize(
    ("version", "range_of", "per_node", "nodes"),
    [(OLD, (1, 4), 2, 2), (OLD, (2, 4), 3, 4), (OLD, (2, 5), 1, 2), (MIDDLE, (1, 4), 2, 4), (MIDDLE, (2, 4), 3, 4),
     (MIDDLE, (2, 5), 1, 5), (NEW, (1, 4), 2, 4), (NEW, (2, 4), 3, 4), (NEW, (2, 5), 1, 5)],
)  # fmt: skip
def test_of_a_range_of_nodes_each_has_all_tasks_of_a_node_where_no_number_of_tasks_was_asked_for(
    version, range_of, per_node, nodes
):
    """Seen, also which number of nodes: on 22.05 there are no more of them than tasks are shown."""
    least, most = range_of
    asked = job(1, least * per_node, tasks_per_node=per_node, least_nodes=least, most_nodes=most)
    left = 48 - nodes * per_node
    ran = run_forward(cluster(asked, job(2, left), job(3, 1), nodes=12, version=version), {}, until=NOW).starts
    assert [one.job for one in ran] == [1, 2]
    assert len(ran[0].nodes) == nodes


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ({"least_nodes": 2, "most_nodes": 6, "tasks_asked": 2}, (2, 6, 6)),
        ({"tasks_asked": 5, "tasks_per_node": 2}, (3, 3, BOUNDLESS)),
        ({"tasks_asked": 5, "tasks_per_node": 2, "least_nodes": 1, "most_nodes": 4}, (3, 4, 4)),
        ({"tasks_asked": 12}, (1, 1, BOUNDLESS)),
    ],
)
def test_a_range_of_nodes_is_wanted_as_large_as_it_may_be(fields, numbers):
    _, _, build = needs(job())
    assert build.needs.numbers_of_nodes(job(cpus=5, **fields), Partition("p", ("n0",))) == numbers


@pytest.mark.parametrize(("version", "most"), [(OLD, BOUNDLESS), (MIDDLE, BOUNDLESS), (NEW, 3)])
def test_on_26_05_tasks_per_node_without_nodes_are_on_no_more_than_they_need(version, most):
    """Seen: of -n 5 --ntasks-per-node=2 it shows NumNodes=3-3."""
    _, _, build = needs(job(), version=version)
    asked = job(cpus=5, tasks_asked=5, tasks_per_node=2)
    assert build.needs.numbers_of_nodes(asked, Partition("p", ("n0",))) == (3, 3, most)


@pytest.mark.parametrize(("least", "numbers"), [(4, (4, 5, 5)), (1, (1, 1, BOUNDLESS))])
def test_on_26_05_as_many_nodes_as_tasks_are_wanted_where_a_number_of_nodes_was_asked_for(least, numbers):
    """Seen: -n 5 -N 4-8 gets five nodes, and -n 5 may show NumNodes=5-5 as well."""
    _, _, build = needs(job(), version=NEW)
    asked = job(7, 5, tasks_asked=5, least_nodes=least, most_nodes=5)
    assert build.needs.numbers_of_nodes(asked, Partition("p", ("n0",))) == numbers


@pytest.mark.parametrize(("version", "most"), [(OLD, 3), (MIDDLE, BOUNDLESS), (NEW, 3)])
def test_on_24_11_a_job_that_was_held_shows_the_nodes_that_its_cpus_fill_and_takes_more(version, most):
    """Seen: -n 11 --hold shows NumNodes=3-3 on nodes of 4 CPUs, and gets seven."""
    _, _, build = needs(job(), version=version)
    asked, partition = job(7, 11, most_nodes=3), Partition("p", ("n0", "n1"))
    assert build.needs.numbers_of_nodes(asked, partition)[2] == most
    assert build.needs.numbers_of_nodes(replace(asked, most_nodes=2), partition)[2] == 2
    assert build.needs.numbers_of_nodes(job(7, 4, most_nodes=1), partition)[2] == 1


def test_a_partition_bounds_the_number_of_nodes():
    _, _, build = needs(job())
    partition = Partition("p", ("n0",), least_nodes=2, most_nodes=3)
    assert build.needs.numbers_of_nodes(job(cpus=1, tasks_asked=1, most_nodes=8), partition) == (2, 3, 3)


@pytest.mark.parametrize(("version", "most"), [(OLD, 2), (MIDDLE, BOUNDLESS), (NEW, 2)])
def test_on_22_05_and_26_05_gpus_in_all_are_on_no_more_nodes_than_there_are_tasks(version, most):
    asked = job(cpus=2, tasks_asked=2, gres_per_job=(Gres("gpu", "", 4),))
    assert needs(asked, version=version)[0][fitting.MOST] == most
    assert needs(job(7, 1, tasks_asked=1, gres_per_job=(Gres("gpu", "", 8),)), version=version)[0][fitting.MOST] > 8


def test_typed_gpus_count_among_all_and_what_there_is_not_is_more_than_any_node_has():
    _, gres, build = needs(job(gres_per_node=(Gres("gpu", "a100", 2),)))
    assert gres[fitting.OF_NODE].tolist() == [2, 2]
    assert build.resources.columns == {("gpu", ""): 0, ("gpu", "a100"): 1}
    assert needs(job(gres_per_node=(Gres("fpga", "", 1),)))[1][fitting.OF_NODE, 0] == BOUNDLESS


TASKS = {"cpus": 2, "tasks_asked": 2, "gres_per_task": (Gres("gpu", "", 1),)}


@pytest.mark.parametrize(
    ("fields", "given", "of_node", "of_task"),
    [
        ({"memory_per_node": 500}, {}, 500, 0),
        ({"memory_per_cpu": 100, "cpus_per_task": 3}, {}, 0, 300),
        ({}, {"memory_per_cpu": 50}, 0, 50),
        ({}, {"memory_per_node": 700}, 700, 0),
        (TASKS | {"memory_per_gpu": 900}, {}, 0, 900),
        (TASKS, {"memory_per_gpu": 600, "memory_per_cpu": 50}, 0, 600),
        (TASKS | {"memory_per_gpu": 900, "memory_per_node": 3000}, {}, 3000, 0),
        (TASKS | {"memory_per_gpu": 900, "memory_per_node": 1800}, {}, 0, 900),
        (TASKS | {"memory_per_gpu": 900, "memory_per_node": 8000}, {}, 0, 900),
    ],
)
def test_memory_is_what_was_asked_for_else_the_default_for_gpus_else_that_of_the_partition(
    fields, given, of_node, of_task
):
    row, _, _ = needs(job(**{"cpus": 1, "tasks_asked": 1} | fields), **given)
    assert (row[fitting.MEMORY], row[fitting.TASK_MEMORY], row[fitting.ALL_MEMORY]) == (of_node, of_task, 0)


def test_without_any_it_is_all_of_the_node():
    assert needs(job())[0][fitting.ALL_MEMORY] == 1


def test_cpus_for_each_gpu_are_the_partitions_unless_the_job_says():
    row, _, _ = needs(job(**TASKS), cpus_per_gpu=3)
    assert (row[fitting.TASK_CPUS], row[fitting.CPUS]) == (3, 6)
    assert needs(job(**TASKS | {"cpus_per_gpu": 1}), cpus_per_gpu=3)[0][fitting.TASK_CPUS] == 1


def test_cpus_for_each_gpu_of_a_task_are_those_of_the_task():
    row, _, _ = needs(job(9, 2, tasks_asked=2, cpus_per_gpu=3, gres_per_task=(Gres("gpu", "", 1),)))
    assert (row[fitting.CPUS], row[fitting.TASK_CPUS]) == (6, 3)
    # 22.05 shows them of a task too, but not of the job (seen: NumCPUs=9 CPUs/Task=3 of -n 9)
    row, _, _ = needs(job(9, 9, tasks_asked=9, cpus_per_task=3, cpus_per_gpu=3, gres_per_task=(Gres("gpu", "", 1),)))
    assert (row[fitting.CPUS], row[fitting.TASK_CPUS]) == (27, 3)


ON_NODE = {"gres_per_node": (Gres("gpu", "", 2),)}


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize(
    ("fields", "given"),
    [({"cpus_per_gpu": 3}, {}), ({}, {"cpus_per_gpu": 3}), ({"tasks_per_node": 2}, {"cpus_per_gpu": 3})],
)  # fmt: skip
def test_cpus_for_the_gpus_of_a_node_are_of_the_node_however_many_tasks_it_has(version, fields, given):
    """Seen on 22.05, 24.11 and 26.05: ``-n 4 --gpus-per-node=2 --cpus-per-gpu=3`` has six CPUs of one node."""
    row, _, _ = needs(job(9, 4, tasks_asked=4, **ON_NODE, **fields), version=version, **given)
    assert (row[fitting.CPUS], row[fitting.TASK_CPUS], row[fitting.NODE_CPUS]) == (4, 1, 6)


def test_no_default_of_cpus_for_each_gpu_counts_where_those_of_a_task_are_asked_for():
    """Seen: with DefCpuPerGPU=3, ``-n 2 -c 1 --gpus-per-task=2`` has two CPUs, and ``-c 2 --gpus-per-node=2`` four."""
    row, _, _ = needs(job(9, 2, tasks_asked=2, cpus_per_gpu=0, gres_per_task=(Gres("gpu", "", 2),)), cpus_per_gpu=3)
    assert (row[fitting.CPUS], row[fitting.TASK_CPUS]) == (2, 1)
    row, _, _ = needs(job(9, 4, tasks_asked=2, cpus_per_task=2, **ON_NODE), cpus_per_gpu=3)
    assert (row[fitting.CPUS], row[fitting.TASK_CPUS], row[fitting.NODE_CPUS]) == (4, 2, 0)


@pytest.mark.parametrize(
    ("version", "fields", "bound"),
    [
        (OLD, {}, 0),  # -n 8 --gpus-per-node=1 --cpus-per-gpu=2 has eight CPUs of one node,
        (MIDDLE, {}, 6),  # and from 24.11 on two of each of four nodes
        (NEW, {"tasks_per_node": 4}, 0),
        (NEW, {"most_nodes": 1, "tasks_asked": 7}, 7),  # -N 1 -n 6 --gpus-per-node=1 --cpus-per-gpu=4 has six
    ],
)
def test_from_24_11_on_a_node_gives_no_more_cpus_than_those_of_its_gpus(version, fields, bound):
    row, _, _ = needs(job(9, 4, **{"tasks_asked": 4, "cpus_per_gpu": 3} | ON_NODE | fields), version=version)
    assert row[fitting.BOUND] == bound


@pytest.mark.parametrize(
    ("version", "fields", "bound"),
    [
        (MIDDLE, {}, 1),  # -n 1 --gres=gpu:2 goes to the first node, --gres=gpu:2 alone to the tightest
        (MIDDLE, {"tasks_stated": False}, 0),
        (NEW, {}, 0),  # shows a maximum of nodes with a stated number of tasks
        (MIDDLE, {"most_nodes": 1}, 0),  # as of -N 1
        (MIDDLE, {"most_nodes": 1, "tasks_stated": True}, 1),
        (MIDDLE, {"most_nodes": 1, "cpus": 3, "tasks_asked": 3}, 3),
        (MIDDLE, {"most_nodes": 2, "least_nodes": 2, "cpus": 4, "tasks_asked": 2, "tasks_stated": True}, 2),
        (MIDDLE, {"most_nodes": 2, "cpus": 2, "tasks_asked": 2}, 0),
        (NEW, {"most_nodes": 2, "cpus": 2, "tasks_asked": 2}, 2),
        (MIDDLE, {"cpus_per_gpu": 3}, 6),
    ],
)
def test_where_a_number_of_tasks_is_stated_a_node_counts_with_their_cpus(version, fields, bound):
    """Seen; on 22.05 and 24.11 it is shown like the number that a job has without one."""
    row, _, _ = needs(job(9, **{"cpus": 1, "tasks_asked": 1} | ON_NODE | fields), version=version)
    assert row[fitting.BOUND] == bound


def test_of_tasks_with_gpus_only_whole_ones_count_on_22_05_too():
    """Seen on 22.05: -n 2 -c 2 --gpus-per-task=1 fits a node with five free CPUs as tightly as one with four."""
    gpu = (Gres("gpu", "", 1),)
    assert needs(job(9, 4, tasks_asked=2, cpus_per_task=2, gres_per_task=gpu), version=OLD)[0][fitting.MULTIPLES]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_gpus_in_all_with_cpus_each_may_be_on_several_nodes_whatever_the_tasks(version):
    """Seen on 22.05, 24.11 and 26.05: --gpus=8 --cpus-per-gpu=2 runs on two nodes of 8 CPUs, as one task shown."""
    eight = (Gres("gpu", "", 8),)
    row, gres, _ = needs(job(9, 16, tasks_asked=1, cpus_per_gpu=2, gres_per_job=eight), version=version)
    assert (row[fitting.CPUS], row[fitting.TASK_CPUS]) == (16, 2)
    assert (gres[fitting.OF_TASK].max(), gres[fitting.OF_JOB].max()) == (1, 0)


def test_gpus_in_all_have_their_cpus_also_where_those_are_not_published():
    eight = (Gres("gpu", "", 8),)
    row, gres, _ = needs(job(9, 8, tasks_asked=8, cpus_per_gpu=3, gres_per_job=eight), version=OLD)
    assert (row[fitting.TASK_CPUS], row[fitting.CPUS]) == (3, 24)
    assert (gres[fitting.OF_TASK].max(), gres[fitting.OF_JOB].max()) == (1, 0)


def test_a_waiting_job_that_22_05_shows_without_the_cpus_of_its_gpus_in_all_needs_them():
    """Seen: -n 6 --gpus=12 --cpus-per-gpu=2 has NumCPUs=6 and gets 24 CPUs on four nodes."""
    row, _, _ = needs(job(9, 6, tasks_asked=6, cpus_per_gpu=2, gres_per_job=(Gres("gpu", "", 12),)), version=OLD)
    assert (row[fitting.CPUS], row[fitting.TASK_CPUS]) == (24, 2)


@pytest.mark.parametrize(
    ("version", "memory", "counts"), [(OLD, {}, 0), (OLD, {"memory_per_cpu": 100}, 1), (NEW, {}, 1)]
)
def test_with_memory_for_each_cpu_only_whole_tasks_count_on_22_05_too(version, memory, counts):
    """Seen on 22.05: -n 8 -c 3 --mem-per-cpu=1000 takes eight nodes of four CPUs."""
    row, _, _ = needs(job(9, 24, tasks_asked=8, cpus_per_task=3, **memory or {"memory_per_node": 500}), version=version)
    assert row[fitting.MULTIPLES] == counts


def test_of_gpus_in_all_memory_keeps_no_tasks_apart():
    """Seen on 26.05: ``-n 4 --gpus=12 --mem-per-gpu=1500`` is planned on three nodes of 8000 MB."""
    row, _, _ = needs(job(cpus=4, tasks_asked=4, gres_per_job=(Gres("gpu", "", 12),), memory_per_gpu=1500))
    assert row[fitting.TASK_MEMORY] == 1500
