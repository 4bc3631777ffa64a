"""Which nodes a job gets, of those on which it fits: one test for each rule."""

from dataclasses import replace

import numpy as np
import pytest
from made_clusters import (
    A100,
    MIDDLE,
    NEW,
    NOW,
    OLD,
    cluster,
    job,
    machine_with_gpus,
    places,
    planned,
    plans,
    running,
    with_nodes,
)

from gas.slurm import fitting
from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Gres
from gas.slurm.forward import Forward, run_forward
from gas.slurm.settings import Settings
from gas.slurm.taking import Choice, work_of
from gas.slurm.task_distribution import distribute_tasks


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
    assert places(made, cpus=1, tasks_stated=True) == [0]  # -n 1 shows NumNodes=1-1


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_where_the_least_loaded_nodes_come_first_those_are_taken_with_most_of_their_cpus_free(version):
    made = cluster(
        running(1, "n0", end=9999, cpus_on={"n0": 1}), running(2, "n1", end=9999, cpus_on={"n1": 3}),
        nodes=4, cpus=4, version=version,
    )  # fmt: skip
    by_partition = replace(made, partitions=tuple(replace(one, least_loaded=True) for one in made.partitions))
    of_all = replace(made, settings=Settings(selection_parameters=frozenset({"CR_CPU", "CR_LLN"})))
    for one in (by_partition, of_all):
        assert [places(one, cpus=cpus) for cpus in (1, 5, 9)] == [[2], [2, 3], [0, 2, 3]]
        assert places(with_nodes(one, weight=[9, 1, 9, 9]), cpus=1) == [1]


def test_on_26_05_a_least_loaded_node_counts_for_what_the_last_node_gives():
    busy = [running(at + 1, f"n{at}", end=9999, cpus_on={f"n{at}": cpus}) for at, cpus in ((0, 2), (3, 3))]
    for version, nodes in ((MIDDLE, [0, 1, 2, 3]), (NEW, None)):
        made = cluster(*busy, nodes=4, cpus=4, version=version)  # 2, 4, 4 and 1 free
        made = replace(made, partitions=tuple(replace(one, least_loaded=True) for one in made.partitions))
        assert places(made, cpus=11) == nodes
        assert places(made, cpus=9) == [0, 1, 2]  # tried again without n3, whose look is the last


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_where_serial_jobs_are_packed_at_the_end_a_single_cpu_is_of_the_last_node(version):
    made = cluster(running(1, "n3", end=9999), nodes=4, cpus=4, version=version)
    packed = replace(made.scheduling, parameters={"pack_serial_at_end": ""})
    assert [places(replace(made, scheduling=packed), cpus=cpus) for cpus in (1, 2)] == [[2], [0]]


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


def test_of_nodes_for_tasks_with_gpus_those_with_more_free_ones_come_first():
    """Seen on 24.11: --gpus-per-task goes to nodes with more free GPUs, --gpus=1 does not care."""
    busy = running(1, "n0", end=9999, cpus_on={"n0": 1}, gres_on={"n0": (Gres("gpu", "a100", 2),)})
    made = with_nodes(cluster(busy, nodes=3), gres=[(A100,)] * 3)
    assert places(made, cpus=8, gres_per_task=(Gres("gpu"),)) == [1, 2]
    assert places(made, cpus=7, gres_per_job=(Gres("gpu"),)) == [0, 1]


GPU = (Gres("gpu", "", 1),)


@pytest.mark.parametrize(
    ("asked", "nodes"),
    [
        ({}, {OLD: 1, MIDDLE: 1, NEW: 0}),
        ({"gres_per_node": GPU}, {OLD: 0, MIDDLE: 0, NEW: 0}),
        ({"gres_per_job": GPU}, {OLD: 0, MIDDLE: 0, NEW: 0}),
        ({"gres_per_node": GPU, "tasks_stated": False}, {OLD: 1, MIDDLE: 1, NEW: 1}),
        ({"gres_per_node": GPU, "cpus": 2}, {OLD: 1, MIDDLE: 1, NEW: 0}),
        ({"gres_per_node": GPU, "cpus": 2, "most_nodes": 1}, {OLD: 0, MIDDLE: 0, NEW: 0}),
        ({"gres_per_node": GPU, "cpus": 2, "tasks_per_node": 2}, {OLD: 0, MIDDLE: 0, NEW: 0}),
        ({"gres_per_job": GPU, "cpus": 2}, {OLD: 1, MIDDLE: 0, NEW: 0}),
    ],
)  # fmt: skip
def test_for_the_tasks_of_a_job_with_gpus_nodes_with_enough_cpus_are_equal(asked, nodes):
    """Seen, also in the log of select/cons_tres: -n 1 --gpus=1 gets the first of three nodes, and -n 1 the tightest."""
    others = [running(1, "n0", end=9999, cpus_on={"n0": 1}), running(2, "n1", end=9999, cpus_on={"n1": 5})]
    for version, node in nodes.items():
        made = with_nodes(cluster(*others, nodes=3, cpus=8, version=version), gres=[(A100,)] * 3)
        assert places(made, **{"cpus": 1, "tasks_stated": True} | asked) == [node]


def test_a_job_of_gpus_gets_more_nodes_than_tasks_from_24_11_on():
    asked = {"cpus": 1, "gres_per_job": (Gres("gpu", "v100", 3),)}
    assert places(machine_with_gpus(version=OLD), **asked) is None
    assert places(machine_with_gpus(version=MIDDLE), **asked) == [2, 3]


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
    """With CPUs per GPU, tasks go to the nodes that take most of them; seen on all releases, also without them."""
    busy = running(9, "n0", end=3600, cpus=2, cpus_on={"n0": 2}, memory_on={}, gres_on={})
    made = with_nodes(cluster(busy, nodes=3), gres=[(Gres("gpu", "", 2),)] * 3)
    asked = {"cpus": 8, "tasks_asked": 4, "cpus_per_task": 2, "gres_per_task": (Gres("gpu", "", 1),)}
    assert places(made, **asked, cpus_per_gpu=2) == [1, 2]
    assert places(made, **asked) == [0, 1, 2]


@pytest.mark.parametrize(
    ("version", "asked", "cpus"),
    [
        (OLD, {"gres_per_job": 7}, [6, 1, 0, 0]), (MIDDLE, {"gres_per_job": 7}, [4, 1, 2, 0]),
        (NEW, {"gres_per_job": 7}, [4, 1, 2, 0]), (NEW, {"gres_per_job": 5}, [6, 1, 0, 0]),
        (OLD, {"gres_per_task": 1}, [4, 1, 2, 0]), (NEW, {"gres_per_task": 1}, [4, 1, 2, 0]),
    ],
)  # fmt: skip
def test_as_many_gpus_as_tasks_are_one_for_each_task(version, asked, cpus):
    """Seen on all releases with -n 7 on nodes of 8 CPUs and 4 GPUs, of which the second has one CPU free."""
    fields = {name: (Gres("gpu", "", count),) for name, count in asked.items()}
    assert distributed(7, version, (8, 1, 8, 8), 4, **fields) == cpus


def distributed(asked, version, free=(8, 8, 8, 8, 8, 8), gpus=0, **fields):
    """Return how many CPUs each node, with so many GPUs, gives to a job that starts now."""
    busy = [running(9 + n, f"n{n}", end=999, cpus_on={f"n{n}": 8 - has}) for n, has in enumerate(free) if has < 8]
    made = cluster(*busy, job(1, asked, **fields), nodes=len(free), cpus=8, version=version)
    made = with_nodes(made, gres=[(Gres("gpu", "a100", gpus),) if gpus else ()] * len(free))
    forward = Forward(Beginning.of(made, ()), {})
    forward.run(NOW)
    return [forward.jobs[1, None].cpus_on.get(node.name, 0) for node in made.nodes]


@pytest.mark.parametrize(
    ("version", "found"), [(OLD, [3, 3, 3, 0, 0, 0]), (MIDDLE, [3, 2, 2, 0, 0, 0]), (NEW, [3, 3, 3, 0, 0, 0])]
)
def test_each_node_gets_as_many_tasks_as_are_asked_for_per_node_but_on_24_11(version, found):
    """Seen: -n 7 --ntasks-per-node=3, also with -c 2."""
    assert distributed(7, version, tasks_per_node=3) == found
    assert distributed(14, version, tasks_per_node=3, cpus_per_task=2) == [2 * cpus for cpus in found]


@pytest.mark.parametrize(("version", "found"), [(OLD, [4, 4]), (MIDDLE, [3, 2]), (NEW, [4, 4])])
def test_tasks_of_a_node_are_dealt_one_after_the_other(version, found):
    """Seen: -n 5 --ntasks-per-node=4."""
    assert distributed(5, version, (3, 3, 3, 8, 8, 8), tasks_per_node=4) == [0, 0, 0, *found, 0]


@pytest.mark.parametrize(
    ("version", "two", "seven"),
    [
        (OLD, [0, 0, 0, 0, 0, 3], [2, 2, 0, 2, 2, 0]),
        (MIDDLE, [2, 0, 0, 0, 0, 0], [2, 0, 0, 2, 2, 1]),
        (NEW, [3, 0, 0, 0, 0, 0], [2, 0, 0, 2, 2, 2]),
    ],
)
def test_on_22_05_nodes_for_tasks_per_node_are_chosen_by_all_that_they_could_give(version, two, seven):
    """Seen: -n 2 --ntasks-per-node=3 and -n 7 --ntasks-per-node=2 on nodes with so many free CPUs."""
    free = (8, 4, 1, 2, 6, 3)
    assert distributed(2, version, free, tasks_per_node=3) == two
    assert distributed(7, version, free, tasks_per_node=2) == seven


def test_on_22_05_a_single_task_needs_a_node_for_as_many_and_gets_its_own():
    """Seen: -n 1 --ntasks-per-node=4 beside nodes of two and five free CPUs, also what it counts for."""
    assert distributed(1, OLD, (0, 2, 5, 8, 8, 8), tasks_per_node=4) == [0, 0, 1, 0, 0, 0]


def test_on_26_05_a_range_of_nodes_with_tasks_per_node_is_used_up():
    """Seen: -N 2-4 --ntasks-per-node=2, which shows four tasks."""
    assert distributed(4, NEW, tasks_per_node=2, least_nodes=2, most_nodes=4) == [2, 2, 2, 2, 0, 0]


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_a_range_of_nodes_gives_no_more_cpus_than_tasks_need(version):
    """Seen on 26.05: of 3, 4, 4 and 3 free CPUs -n 11 -N 2-5 has 3, 4, 3 and 1, so that 1 and 2 are left."""
    busy = [running(8 + at, name, end=900, cpus=1, cpus_on={name: 1}) for at, name in enumerate(("n0", "n3"))]
    made = cluster(*busy, job(1, 11, least_nodes=2, most_nodes=5), job(2, 3), nodes=4, version=version)
    assert [(one.job, one.nodes) for one in run_forward(made, {}, until=NOW).starts] == [
        (1, ("n0", "n1", "n2", "n3")), (2, ("n2", "n3")),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cpus", "tasks", "nodes", "given", "found"),
    [
        (1, 11, 2, [3, 4, 4, 1], [3, 4, 3, 1]), (1, 10, 1, [8, 2, 1, 0], [7, 2, 1, 0]),
        (1, 6, 1, [6, 1, 0, 0], [5, 1, 0, 0]), (2, 1, 1, [2, 2, 2, 2], [2, 2, 2, 2]),
        (2, 5, 1, [8, 0, 4, 0], [6, 0, 4, 0]), (1, 8, 1, [4, 4, 0, 0], [4, 4, 0, 0]),
    ],
)  # fmt: skip
def test_tasks_are_distributed_in_turn_where_nodes_were_given_more_than_they_need(cpus, tasks, nodes, given, found):
    """Seen: the first on 26.05, the second and the third on 22.05 with --gpus; each node has one in any case."""
    need = np.zeros(len(fitting.COLUMNS), np.int64)
    need[fitting.CPUS], need[fitting.TASK_CPUS], need[fitting.LEAST] = cpus * tasks, cpus, nodes
    made = np.array(given, np.int64)
    state = Beginning.of(cluster(nodes=4, cpus=8)).state
    required, gres = np.zeros(4, np.bool_), np.zeros((3, 1), np.int64)
    choice = Choice(need, gres, required, state.machine, state.use, work_of(state.machine, 0), made)
    assert distribute_tasks(choice)
    assert made.tolist() == found


@pytest.mark.parametrize(
    ("version", "tasks", "gpus", "given"),
    [(OLD, 6, 6, {"n0": 5, "n1": 1}), (MIDDLE, 6, 6, {"n0": 4, "n1": 2}), (NEW, 6, 6, {"n0": 4, "n1": 2}),
     (OLD, 10, 10, {"n0": 7, "n1": 2, "n2": 1}), (NEW, 10, 10, {"n0": 4, "n1": 4, "n2": 2}),
     (NEW, 8, 5, {"n0": 7, "n1": 1}), (NEW, 12, 6, {"n0": 8, "n1": 4}), (NEW, 3, 6, {"n0": 2, "n1": 1})],
)  # fmt: skip
def test_tasks_of_a_job_with_gpus_in_all_are_where_slurm_has_them(version, tasks, gpus, given):
    """Seen, on nodes of 8 CPUs and 4 GPUs: as many tasks as GPUs go where the GPUs are, from 24.11 on."""
    made = with_nodes(cluster(nodes=12, cpus=8, version=version), gres=[(Gres("gpu", "", 4),)] * 12)
    asked = job(1, tasks, gres_per_job=(Gres("gpu", "", gpus),))
    forward = Forward(Beginning.of(replace(made, jobs=(asked,))), {})
    forward.run(NOW)
    assert forward.jobs[1, None].cpus_on == given


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_powered_down_nodes_come_last_and_only_the_main_scheduler_starts_jobs_on_them(version):
    """Seen on all three: with such nodes free, a job behind one that waits is planned on those that are on."""
    made = with_nodes(cluster(nodes=3, version=version), powered_down=[True, False, False], weight=[1, 5, 5])
    assert planned(made, job(cpus=4)) == (0, [1])
    assert planned(made, job(cpus=12)) == (0, [0, 1, 2])
    busy = replace(made, jobs=(running(1, "n1", end=600), job(2, cpus=12)))
    assert plans(busy) == []
    assert planned(busy, job(cpus=4, time_limit=300)) == (0, [2])
    full = replace(made, jobs=(running(1, "n1", "n2", end=600), job(2, cpus=12)))
    assert planned(full, job(cpus=4, time_limit=300)) == (600, [1])
