"""Which start the backfill scheduler finds: one test for each rule."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NOW, OLD, cluster, job, outlook, planned, plans, running, with_nodes

from gas.slurm.cluster import Partition, Reservation
from gas.slurm.why import Why


def behind(*jobs, minutes, cpus=4, version=OLD, nodes=1, **fields):
    return planned(cluster(*jobs, nodes=nodes, version=version, **fields), job(cpus=cpus, minutes=minutes))


def planned_at(id, start, minutes, *nodes):
    """Return a job with a published plan."""
    return job(id, 4 * len(nodes), minutes, start=NOW + start, planned_nodes=nodes)


def test_nodes_of_planned_jobs_are_free_before_and_after_but_not_for_what_ends_when_they_begin():
    plan = planned_at(1, 1800, 10, "n0")
    assert behind(plan, minutes=29) == (0, [0])
    assert behind(plan, minutes=30) == (2400, [0])


def test_planned_jobs_have_whole_nodes():
    plan = job(1, 1, 10, start=NOW, planned_nodes=("n0",))
    assert behind(plan, minutes=10, cpus=1) == (600, [0])


@pytest.mark.parametrize(("version", "start"), [(OLD, 600), (MIDDLE, 660)])
def test_ends_of_plans_are_rounded_down_before_24_11_and_up_since(version, start):
    assert behind(planned_at(1, 30, 10, "n0"), minutes=20, version=version) == (start, [0])


def test_a_start_at_the_end_of_a_running_job_may_overlap_a_plan_within_the_resolution():
    jobs = running(1, "n0", end=77), planned_at(2, 660, 10, "n0")
    assert behind(*jobs, minutes=10) == (77, [0])
    assert behind(*jobs, minutes=11) == (1260, [0])


def test_before_24_11_a_short_job_has_no_plan_where_nothing_becomes_free_until_it_would_end():
    ahead = planned_at(1, 0, 90, "n3"), planned_at(2, 1800, 60, "n2"), planned_at(3, 3600, 30, "n0", "n1")
    old, new = cluster(*ahead, nodes=4, version=OLD), cluster(*ahead, nodes=4, version=MIDDLE)
    short = outlook(old, job(cpus=16, minutes=5))
    assert (short.planned, short.why) == (None, Why.NOWHERE)
    assert short.expected == NOW + 5400
    assert planned(old, job(cpus=16, minutes=61)) == (5400, [0, 1, 2, 3])
    assert planned(new, job(cpus=16, minutes=5)) == (5400, [0, 1, 2, 3])


def test_a_start_beyond_the_window_is_no_plan_but_expected():
    made = cluster(running(1, "n0", end=90_000), nodes=1)
    found = outlook(made, job())
    assert (found.planned, found.why, found.expected) == (None, Why.WINDOW, NOW + 90_000)


@pytest.mark.parametrize(
    ("fields", "start", "expected"),
    [({}, 1201, 1201), ({"reservation": "kept"}, None, 300), ({"user": "me"}, 1201, 300)],
)
def test_a_reservation_is_open_to_those_who_name_it_and_a_magnetic_one_to_its_users(fields, start, expected):
    kept = Reservation("kept", NOW + 300, NOW + 1199, ("n0", "n1"), ("MAGNETIC",), ("me",))
    found = outlook(cluster(reservations=(kept,)), job(cpus=4, **fields))
    assert (found.planned, found.expected) == (None if start is None else NOW + start, NOW + expected)
    assert found.why is (Why.RESERVATION if start is None else None)


def test_a_reservation_is_kept_to_the_second():
    kept = Reservation("kept", NOW + 300, NOW + 1199, ("n0", "n1"))
    assert planned(cluster(reservations=(kept,)), job(minutes=5)) == (0, [0])


def test_after_a_reservation_of_all_nodes_it_is_tried_at_its_end():
    kept = Reservation("kept", NOW + 300, NOW + 1199, ("n0", "n1"), ("MAINT", "ALL_NODES"))
    assert planned(cluster(reservations=(kept,)), job(minutes=10)) == (1199, [0])


def test_what_is_expected_does_not_reach_into_a_reservation_as_slurms_plan_may():
    kept = Reservation("kept", NOW + 1000, NOW + 1790, ("n0",))
    made = cluster(running(1, "n0", end=900), reservations=(kept,), nodes=1)
    found = outlook(made, job(minutes=10))
    assert found.expected == NOW + 1801
    assert found.planned in (NOW + 900, NOW + 1801)


def test_plans_are_made_with_the_least_time_that_a_job_takes():
    """Seen: the job behind one with --time-min=5 -t 60 is planned after five minutes."""
    flexible = job(1, 4, 60, shortest=300)
    assert behind(flexible, minutes=5, version=MIDDLE)[0] == 300


def test_a_job_takes_the_limit_of_its_partition_where_that_is_less():
    short = Partition("p", ("n0",), longest=600)
    made = cluster(job(1, 4, 10, time_limit=None), nodes=1, partitions=(short,))
    assert planned(made, job(minutes=5))[0] == 600


def test_features_are_alternatives_of_which_the_earliest_counts():
    made = cluster(running(1, "n0", end=600), running(2, "n1", end=1200), nodes=3)
    nodes = [replace(node, features=frozenset(have)) for node, have in zip(made.nodes, ("a", "b", "c"), strict=True)]
    made = replace(made, nodes=tuple(nodes))
    assert planned(made, job(features="a")) == (600, [0])
    assert planned(made, job(features="[b|a]")) == (600, [0])
    assert planned(made, job(cpus=8, features="a|b")) == (1200, [0, 1])
    never = outlook(made, job(cpus=8, features="[a|b]"))
    assert never.never
    assert never.words


def test_what_is_planned_one_after_the_other_is_in_the_order_of_the_queue():
    made = cluster(running(9, "n0", "n1", end=600), job(3, 8), job(1, 8), job(2, 4, priority=2000))
    assert plans(made) == [(2, 600, [0]), (1, 1200, [0, 1]), (3, 1800, [0, 1])]


@pytest.mark.parametrize("version", [OLD, MIDDLE])
def test_jobs_on_nodes_that_are_too_small_as_configured_are_in_no_group(version):
    """Seen on 22.05 and 24.11: a job with --mem=8000 starts before jobs end on nodes of 4000 MB."""
    busy = running(8, "n0", end=640), running(9, "n1", end=600)
    made = with_nodes(cluster(*busy, version=version), memory=[4000, 16000])
    assert planned(made, job(cpus=2, memory_per_node=8000), memory_counts=True) == (600, [1])
    assert planned(made, job(cpus=2, memory_per_node=500), memory_counts=True)[0] == 640


def test_threads_per_core_need_nodes_whose_cores_have_as_many_cpus():
    """Seen on 22.05, 24.11 and 26.05; nodes with two threads a core of which only cores are CPUs do not count."""
    made = with_nodes(cluster(nodes=3), cores=[4, 2, 4], threads=[1, 2, 2])
    assert planned(made, job(cpus=2, threads_per_core=2)) == (0, [1])
    assert planned(made, job(cpus=2, threads_per_core=1))[0] == 0
    assert planned(made, job(cpus=6, threads_per_core=2)) is None
