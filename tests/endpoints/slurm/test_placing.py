"""Waiting jobs without a published plan, put where Slurm would plan them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gas.endpoints.slurm.interpretation import interpret
from gas.endpoints.slurm.placing import Placed, check, place
from gas.endpoints.slurm.selection import nodes_of, places_of
from gas.slurm.cluster import Cluster, Job, Node, Partition, Reservation, Scheduling, Tasks

NOW = 1_800_000_000  # a multiple of 60


def job(id, cpus=4, minutes=10, **fields):
    standard = {
        "name": "j", "user": "u", "state": "PENDING", "partitions": ("p",), "priority": 1000 - id,
        "time_limit": 60 * minutes,
    }  # fmt: skip
    return Job(id=id, cpus=cpus, **(standard | fields))


def running(id, *nodes, end, cpus_on=None):
    return job(id, 4, state="RUNNING", start=NOW - 60, end=NOW + end, nodes=nodes, cpus_on=cpus_on)


def planned(id, *nodes, start, **fields):
    return job(id, start=NOW + start, planned_nodes=nodes, **fields)


def machine(*jobs, nodes=2, cpus=4, now=NOW, **fields):
    names = tuple(f"n{n}" for n in range(nodes))
    standard = {
        "nodes": tuple(Node(name, cpus, partitions=("p",)) for name in names),
        "reservations": (), "partitions": (Partition("p", names),), "others_visible": True,
    }  # fmt: skip
    return Cluster(name="made", now=now, version="22.05.8", jobs=jobs, **(standard | fields))


def placed(cluster):
    """Return where Gas puts what has no published plan: id, start and places."""
    found = interpret(cluster, cluster.partitions[0].name)
    assert check(found.machine, found.plan.placed) == []
    since = cluster.now
    return [
        (one.job.id, one.start - since, list(places_of(one.nodes))) for one in found.plan.placed if not one.published
    ]


def test_jobs_are_placed_one_behind_the_other_in_the_order_of_the_queue():
    cluster = machine(running(9, "n0", "n1", end=600), job(3, 8), job(1, 8), job(2, 4, priority=2000))
    assert placed(cluster) == [(2, 600, [0]), (1, 1200, [0, 1]), (3, 1800, [0, 1])]


def test_published_plans_stay_and_what_fits_before_them_is_put_there():
    cluster = machine(running(9, "n0", end=600), planned(1, "n0", "n1", start=600), job(2, 4, 9), job(3, 4, 10))
    assert placed(cluster) == [(2, 0, [1]), (3, 1200, [1])]  # n1 rather than n0, which somebody has now


def test_hidden_tasks_are_where_a_real_slurm_planned_them():
    """From the log of a 22.05.8 (DebugFlags=Backfill): 8 nodes of 2 CPUs, and five tasks of 6 CPUs for 10 minutes.

    It shows the start and the nodes of the last task only. Job 4 came behind all of them.
    """
    now, end = 1795297663, 1795298861
    names = tuple(f"n0{n}" for n in range(1, 9))
    nodes = tuple(Node(name, 2) for name in names)
    queue = [
        job(1, 16, 20, state="RUNNING", start=end - 1200, end=end, nodes=names),
        job(2, 8, 30, start=end, planned_nodes=names[:4]),
        job(3, 6, 10, start=1795300620, planned_nodes=names[3:6], array=3, tasks=Tasks((range(5),))),
        job(4, 3, 15, start=1795300620, planned_nodes=names[6:]),
    ]
    cluster = machine(*queue, now=now, nodes=8, cpus=2, partitions=(Partition("p", names),))
    assert placed(replace(cluster, nodes=nodes)) == [
        (3, end - now, [4, 5, 6]),
        (3, 1795299420 - now, [4, 5, 6]),
        (3, 1795300020 - now, [4, 5, 6]),
        (3, 1795300620 - now, [0, 1, 2]),
    ]


def test_tasks_that_slurm_does_not_plan_yet_come_behind():
    tasks = planned(1, "n0", start=600, array=1, tasks=Tasks((range(4),)))
    cluster = machine(running(9, "n0", end=600), tasks, nodes=1, scheduling=Scheduling(array_depth=1))
    assert placed(cluster) == [(1, 1200, [0]), (1, 1800, [0]), (1, 2400, [0])]


def test_a_plan_without_nodes_is_put_on_some_that_are_free_then():
    assert placed(machine(planned(1, start=600), planned(2, "n0", start=600))) == [(1, 600, [1])]


def test_a_deferred_job_delays_nothing_that_starts_before_it_may():
    deferred = job(1, 8, 60, reason="BeginTime", eligible=NOW + 3600)
    found = interpret(machine(deferred, job(2, 8, 90), running(9, "n0", "n1", end=600))).availability
    assert placed(machine(deferred, job(2, 8, 90), running(9, "n0", "n1", end=600))) == [
        (2, 600, [0, 1]), (1, 6000, [0, 1]),
    ]  # fmt: skip
    assert found.placement(8, 600).start == NOW + 9600


def test_a_job_to_which_slurms_search_does_not_get_delays_what_starts_after_it_will_be_planned():
    """Nothing becomes free within 5 minutes of any start that is tried, so that job 5 has no plan yet."""
    names = tuple(f"n{n}" for n in range(4))
    queue = [
        planned(1, "n3", start=0, time_limit=5400), planned(2, "n2", start=1800, time_limit=3600),
        planned(3, "n0", "n1", start=3600, time_limit=1800),
    ]  # fmt: skip
    cluster = machine(*queue, job(5, 16, 5, reason="Resources"), nodes=4)
    found = interpret(cluster).availability
    assert found.names == names
    assert [one[:2] for one in placed(cluster)] == [(5, 5400)]
    assert found.slurms_plan(16, 6000).start == NOW + 5400  # Slurm plans this one in its place
    assert found.placement(16, 6000).start == NOW + 5700
    assert not found.slurms_plan(16, 300).listed


def test_a_job_of_two_partitions_keeps_nodes_in_both_as_slurm_has_it():
    """Seen with DebugFlags=Backfill: it is planned once for each of its partitions."""
    partitions = (Partition("p", ("n0",)), Partition("q", ("n1",)))
    both = planned(1, "n0", start=600, partitions=("p", "q"))
    first, second = running(8, "n0", end=600), running(9, "n1", end=900)
    found = interpret(machine(first, second, both, partitions=partitions), "q").availability
    assert found.slurms_plan(4, 600).start == NOW + 1500


def test_what_a_job_asks_of_its_nodes_is_kept():
    partitions = (Partition("p", ("n0", "n1", "n2"), longest=1200),)
    asks = [
        job(1, 1, required_nodes=("n2",)), job(2, 1, excluded_nodes=("n0", "n2")),
        job(3, 1, least_nodes=2, most_nodes=2), job(4, 1, 20, exclusive=True), job(5, 1, 1),
    ]  # fmt: skip
    cluster = machine(running(9, "n0", "n1", "n2", end=600), *asks, nodes=3, partitions=partitions)
    assert placed(cluster) == [(1, 600, [2]), (2, 600, [1]), (3, 1200, [0, 1]), (4, 1200, [2]), (5, 600, [0])]
    assert [one.walltime for one in interpret(cluster).plan.placed] == [600, 600, 600, 1200, 60]


def test_a_job_that_names_a_reservation_is_placed_in_it():
    kept = Reservation("r", NOW + 600, NOW + 1800, ("n1",), (), ("u",))
    queue = [job(1, 4, 10, reservation="r"), job(2, 4, 30, reservation="r"), job(3, 8, 5), job(4, 8, 20)]
    assert placed(machine(*queue, reservations=(kept,))) == [(1, 600, [1]), (3, 0, [0, 1]), (4, 1801, [0, 1])]


def test_only_so_many_are_placed_and_the_others_counted():
    found = interpret(machine(*(job(id) for id in range(1, 8)), nodes=1))
    plan = place(found.machine, [], most=3)
    assert plan.placed == ()
    turns = [one.job for one in found.unplanned]
    assert len(turns) == 7
    assert "left out" not in " ".join(found.remarks)


def test_a_check_says_what_is_wrong():
    found = interpret(machine(job(1), job(2)))
    right = list(found.plan.placed)
    assert check(found.machine, right) == []
    early, elsewhere = replace(right[0], start=NOW - 60), replace(right[0], nodes=nodes_of([0, 1]), start=NOW + 60)
    (wrong,) = check(found.machine, [early])
    assert "before it may" in wrong
    assert any("both on n1" in one for one in check(found.machine, [elsewhere, right[1]]))
    narrow = replace(right[0], asked=replace(right[0].asked, nodes=2, least=2, cpus=5))
    assert len(check(found.machine, [narrow])) == 3
    both = [Placed(job(id), NOW, 600, 1, True) for id in (1, 2)]
    assert check(found.machine, both) == []  # Slurm's own plans may overlap within its resolution


limits = st.integers(1, 120)


@st.composite
def clusters(draw):
    nodes = draw(st.integers(1, 6))
    names = tuple(f"n{n}" for n in range(nodes))
    half = names[: max(nodes // 2, 1)]
    partitions = (
        Partition("p", names),
        Partition("q", half, longest=3600, most_nodes=2),
        Partition("w", names, whole_nodes=True),
    )
    jobs = []
    for place_, end in enumerate(draw(st.lists(st.integers(0, 4000), max_size=nodes))):
        if end:
            jobs.append(running(place_ + 1, names[place_], end=end, cpus_on={names[place_]: draw(st.integers(1, 4))}))
    for number in range(draw(st.integers(0, 8))):
        fields = {
            "partitions": draw(st.sampled_from((("p",), ("q",), ("w",), ("p", "q")))),
            "exclusive": draw(st.booleans()),
            "least_nodes": draw(st.integers(1, 2)),
            "priority": draw(st.integers(1, 5)),
            "excluded_nodes": draw(st.sampled_from(((), ("n0",)))),
            "eligible": draw(st.sampled_from((None, NOW + 1000))),
        }
        if draw(st.booleans()):
            fields |= {"array": 100 + number, "tasks": Tasks((range(draw(st.integers(1, 4))),))}
        if draw(st.integers(0, 3)) == 0:
            fields |= {
                "start": NOW + draw(st.integers(1, 9000)),
                "planned_nodes": draw(st.sampled_from((names[:1], names))),
            }
        jobs.append(job(100 + number, draw(st.integers(1, 12)), draw(limits), **fields))
    kept = draw(st.sampled_from(((), (Reservation("r", NOW + 900, NOW + 5000, half),))))
    return machine(*jobs, nodes=nodes, partitions=partitions, reservations=kept)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(clusters(), st.integers(1, 20), limits)
def test_no_placed_job_is_in_anothers_way_or_breaks_what_it_asks_for(cluster, size, minutes):
    found = interpret(cluster, "p")
    assert check(found.machine, found.plan.placed) == []
    assert found.placed == sum(not one.published for one in found.plan.placed)
    own = sum(one.copies for one in found.unplanned if one.to_place)
    assert found.placed + found.plan.left == own
    start = found.availability.anchors(np.array([size]), np.array([60 * minutes]), 0)[0]
    plan = found.availability.slurms_plan(size, 60 * minutes)
    if plan is not None:
        assert plan.start <= start  # it is behind no fewer jobs than Slurm has it


@pytest.mark.parametrize("copies", [1, 40])
def test_a_queue_beyond_the_depth_fills_the_machine_without_gaps(copies):
    queue = [job(id, 4, 10) for id in range(1, copies + 1)]
    cluster = machine(running(99, "n0", "n1", end=600), *queue, scheduling=Scheduling(depth=0))
    assert [one[1] for one in placed(cluster)] == [600 + 600 * (k // 2) for k in range(copies)]
