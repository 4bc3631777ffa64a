"""The queue while time goes on: who may start, how far arrays are, whom limits hold back."""

from dataclasses import replace

import numpy as np
from made_clusters import NOW, cluster, job, running
from slurm_standing import a_cluster, an_accounting
from slurm_standing import running as of_lab

from gas.slurm.accounting import Bounds
from gas.slurm.cluster import Partition, Reservation, Tasks
from gas.slurm.waiting import Waiting


def ids(queue, now=NOW, **options):
    return [queue.records[at].job.id for at in queue.order(now, **options)]


def test_jobs_come_in_the_order_of_priority_then_of_submission_then_of_numbers():
    queue = Waiting(cluster(
        job(3, priority=5, submitted=NOW), job(2, priority=5, submitted=NOW), job(4, priority=5, submitted=NOW - 9),
        job(1, priority=4),
    ), [])  # fmt: skip
    assert ids(queue) == [4, 2, 3, 1]


def test_a_higher_tier_comes_first():
    both = (Partition("p", ("n0",)), Partition("q", ("n0",), tier=9))
    assert ids(Waiting(cluster(job(1), job(2, partitions=("q",)), partitions=both), [])) == [2, 1]


def test_who_is_held_or_has_not_come_or_may_not_begin_is_left_out():
    queue = Waiting(cluster(job(1, priority=0), job(2, eligible=NOW + 5), job(3)), [(NOW + 9, job(4))])
    assert ids(queue) == [3]
    assert ids(queue, NOW + 5) == [2, 3]
    assert queue.next_event(NOW) == NOW + 5
    assert list(queue.arriving(NOW + 9)) == [3]
    assert ids(queue, NOW + 9) == [2, 3, 4]


def test_who_waits_for_others_may_start_when_they_have_started_or_ended():
    queue = Waiting(cluster(job(1), job(2, dependency="after:1"), job(3, dependency="afterok:1")), [])
    assert ids(queue) == [1]
    queue.started(0, running(1, "n0", end=60), NOW + 1)
    assert ids(queue, NOW + 1) == [2]
    queue.ended((1, None), NOW + 7)
    assert ids(queue, NOW + 7) == [2, 3]


def test_an_array_has_failed_with_one_of_its_tasks():
    array = job(5, array=5, tasks=Tasks((range(2),)))
    queue = Waiting(cluster(array, job(6, dependency="afterok:5"), job(7, dependency="afternotok:5_0")), [])
    for task, well in ((0, True), (1, False)):
        queue.started(0, running(5, "n0", end=60), NOW)
        queue.ended((5, task), NOW, well=well)
    assert ids(queue) == []
    queue.failed.add((5, 0))
    assert ids(queue) == [7]
    assert ids(queue.copied()) == [7]


def test_a_singleton_waits_for_jobs_of_the_same_name():
    queue = Waiting(cluster(job(1), job(2, dependency="singleton")), [])
    assert ids(queue) == [1]
    queue.started(0, running(1, "n0", end=60), NOW)
    assert ids(queue) == []
    queue.ended((1, None), NOW)
    assert ids(queue) == [2]


def test_tasks_of_an_array_start_one_after_the_other_within_their_limit():
    queue = Waiting(cluster(job(5, array=5, tasks=Tasks((range(2, 5),), at_once=2))), [])
    for task in (2, 3):
        assert queue.next_task(0) == (5, task)
        queue.started(0, running(5, "n0", end=60), NOW)
    assert ids(queue) == []
    queue.ended((5, 2), NOW + 1)
    assert ids(queue) == [5]
    assert queue.rooms(np.array([0])).tolist() == [1]
    queue.started(0, running(5, "n0", end=60), NOW)
    assert not queue.any()
    assert queue.left() == []


def test_who_has_started_in_one_partition_does_not_wait_in_the_others():
    both = (Partition("p", ("n0",)), Partition("q", ("n0",)))
    queue = Waiting(cluster(job(1, partitions=("p", "q")), partitions=both), [])
    assert ids(queue) == [1, 1]
    queue.started(1, running(1, "n0", end=60), NOW)
    assert ids(queue) == []


def test_a_job_of_a_reservation_waits_for_it():
    kept = Reservation("kept", NOW + 60, NOW + 90, ("n0",))
    queue = Waiting(cluster(job(1, reservation="kept"), reservations=(kept,)), [])
    assert ids(queue) == []
    assert ids(queue, NOW + 60) == [1]
    assert ids(queue, NOW + 90) == []


def test_limits_hold_back_whom_those_that_run_leave_no_room():
    made = a_cluster(an_accounting(mine=Bounds(jobs=1)))
    own = {"user": "me", "account": "lab", "qos": "normal", "partitions": ("main",), "submitted": made.now}
    made = replace(made, jobs=(job(1, 1, **own), job(2, 1, **own | {"user": "other"})))
    queue = Waiting(made, [])
    everybody = queue.order(made.now)
    assert queue.restraints.limited(everybody, made.now, {}).tolist() == [0, 0]
    queue.ended((8, None), made.now)
    assert queue.restraints.limited(everybody, made.now, {(9, None): of_lab(9, 1, 60)}).tolist() == [1, 0]


def of_me(made, *cpus, **more):
    own = {"user": "me", "account": "lab", "qos": "normal", "partitions": ("main",), "submitted": made.now} | more
    return Waiting(replace(made, jobs=tuple(job(at + 1, one, **own) for at, one in enumerate(cpus))), [])


def test_limits_of_amounts_are_those_that_are_tested_when_nodes_are_known():
    made = a_cluster(an_accounting(mine=Bounds(group_tres={"cpu": 8.0})))
    queue = of_me(made, 4, 5)
    assert queue.restraints.limited(queue.order(made.now), made.now, {(9, None): of_lab(9, 4, 60)}).tolist() == [0, 2]


def test_how_many_nodes_a_job_adds_to_a_limit_is_known_when_they_are():
    """Two of three nodes are in use: a job of two nodes may start if it has one of these."""
    made = a_cluster(an_accounting(mine=Bounds(group_tres={"node": 3.0})))
    queue = of_me(made, 8)
    there = {(9, None): of_lab(9, 6, 60, nodes=("n1", "n2"), cpus_on={"n1": 4, "n2": 2})}
    assert queue.restraints.limited(queue.order(made.now), made.now, there).tolist() == [3]
    assert queue.restraints.exceeds(0, {"n3": 4, "n4": 4}, made.now, there)
    assert not queue.restraints.exceeds(0, {"n1": 4, "n4": 4}, made.now, there)


def test_whole_nodes_count_with_all_they_have():
    made = a_cluster(an_accounting(mine=Bounds(group_tres={"cpu": 6.0})))
    queue = of_me(made, 2, exclusive=True)
    assert not queue.restraints.exceeds(0, {"n1": 4}, made.now, {})
    assert queue.restraints.exceeds(0, {"n1": 4}, made.now, {(9, None): of_lab(9, 4, 60)})


def test_what_is_not_looked_at_is_said():
    made = cluster(job(1, dependency="aftercorr:7"), job(2, leader=2))
    assert Waiting(made, []).remarks == [
        "job 1 waits for aftercorr: not understood", "heterogeneous jobs are planned but never start",
    ]  # fmt: skip
