"""One pass of the main scheduler, seen by what starts at the first instant, where the backfill scheduler is off."""

from dataclasses import replace

import pytest
from made_clusters import NEW, NOW, OLD, cluster, job, running, with_nodes

from gas.slurm.cluster import Licence, Partition, Reservation, Scheduling, Tasks
from gas.slurm.forward import run_forward


def started(made, **parameters):
    """Return the jobs that one pass starts, with the numbers of their nodes."""
    given = {"bf_interval": "-1"} | parameters
    made = replace(made, scheduling=Scheduling(parameters=given))
    found = run_forward(made, {}, until=NOW)
    return [(one.job, [int(name[1:]) for name in one.nodes]) for one in found.starts]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_jobs_start_in_their_order_until_one_does_not_fit(version):
    made = cluster(job(1, 4), job(2, 8), job(3, 4, minutes=1), version=version)
    assert started(made) == [(1, [0])]


def test_a_closed_partition_keeps_its_nodes_from_others_of_lower_rank():
    """The second partition has a node of its own: its jobs start there, also behind one for which it is too small."""
    both = (Partition("p", ("n0", "n1")), Partition("q", ("n1", "n2")))
    jobs = (running(9, "n0", end=600), job(1, 8), job(2, 8, partitions=("q",)), job(3, 4, partitions=("q",)))
    assert started(cluster(*jobs, partitions=both, nodes=3)) == [(3, [2])]
    jobs = (running(9, "n0", end=600), job(1, 8), job(3, 4, partitions=("q",)))
    assert started(cluster(*jobs, partitions=both, nodes=3)) == [(3, [2])]


def test_a_job_that_names_its_nodes_closes_only_these():
    made = cluster(running(9, "n0", end=600), job(1, 4, required_nodes=("n0",)), job(2, 4))
    assert started(made) == [(2, [1])]


def test_a_job_starts_in_one_of_its_partitions_only():
    both = (Partition("p", ("n0", "n1")), Partition("q", ("n1", "n0")))
    assert started(cluster(job(1, 4, partitions=("p", "q")), partitions=both)) == [(1, [0])]


def test_too_few_licences_close_nothing_unless_the_backfill_scheduler_plans_them():
    made = cluster(job(1, 4, licences={"m": 2}), job(2, 4), licences=(Licence("m", 1),))
    assert started(made) == [(2, [0])]
    assert started(made, bf_licenses="") == []


def test_a_reservation_closes_nothing():
    kept = Reservation("kept", NOW + 60, NOW + 1000, ("n0", "n1"), users=("x",))
    made = cluster(job(1, 8), job(2, 8, minutes=1), reservations=(kept,))
    assert started(made) == [(2, [0, 1])]


@pytest.mark.parametrize(("cpus", "found"), [(8, [(2, [0])]), (4, [])])
def test_one_that_would_start_beside_the_reservation_if_nothing_ran_closes_its_partition(cpus, found):
    """Seen on 22.05, 24.11 and 26.05: it waits for nodes then, not for the reservation."""
    kept = Reservation("kept", NOW + 60, NOW + 1000, ("n0",), users=("x",))
    made = cluster(running(9, "n1", end=600), job(1, cpus + 4), job(2, 4, minutes=1), nodes=3, reservations=(kept,))
    assert started(made) == found


def test_only_so_many_are_tried():
    jobs = [job(n, 1) for n in range(1, 5)]
    assert [one[0] for one in started(cluster(*jobs), partition_job_depth="2")] == [1, 2]


def test_an_array_goes_on_with_its_next_task_within_its_limit():
    made = cluster(job(1, 4, tasks=Tasks((range(4),), at_once=1), array=1), job(2, 4))
    assert started(made) == [(1, [0]), (2, [1])]
    made = cluster(job(1, 4, tasks=Tasks((range(4),)), array=1), job(2, 4))
    assert started(made) == [(1, [0]), (1, [1])]


def test_nothing_starts_where_a_job_leaves_or_a_node_boots():
    assert started(with_nodes(cluster(job(1, 4)), completing=[True, False])) == [(1, [1])]


def test_parts_of_a_heterogeneous_job_are_left_to_the_backfill_scheduler():
    assert started(cluster(job(1, 4, leader=1), job(2, 4))) == []


@pytest.mark.parametrize(("first", "second", "closes"), [({}, {}, False), ({"exclusive": True}, {}, True),
                                                         ({}, {"exclusive": True}, True)])  # fmt: skip
def test_one_for_which_too_few_nodes_are_left_closes_its_partition_while_one_of_them_is_not_open_to_it(
    first, second, closes
):
    """Seen on 22.05, 24.11 and 26.05: another has it whole, or has some of it and the job wants whole nodes."""
    kept = Reservation("kept", NOW, NOW + 1000, ("n2",), users=("x",))
    there = (running(9, "n0", end=600, **first), job(1, 12, least_nodes=3, **second), job(2, 1))
    assert started(cluster(*there, nodes=3, reservations=(kept,))) == ([] if closes else [(2, [1])])
