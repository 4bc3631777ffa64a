"""The queue of a Slurm as a snapshot to predict from."""

import pytest

from gas.endpoints import QueueEndpoint
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.interpretation import interpret, partition_of
from gas.endpoints.slurm.queue import snapshot_of
from gas.errors import BadInput
from gas.slurm.cluster import Cluster, Job, Node, Partition, Reservation

NOW = 1_800_000_000  # a multiple of 60
NAMES = ("n1", "n2", "n3", "n4")
USERS = {"ann": 1, "bob": 2}


def cluster_of(*jobs, reservations=(), partition=None, others_visible=None, allocated=None):
    nodes = tuple(Node(name, 8, allocated) for name in NAMES)
    main = partition or Partition("main", NAMES, default=True)
    return Cluster("c", NOW, "23.11", nodes, jobs, reservations, (main,), others_visible=others_visible)


def running(id, nodes, *, cpus=8, user="ann", minutes=60, since=600):
    on = dict.fromkeys(nodes, cpus)
    start = NOW - since
    return Job(
        id, "job", user, "RUNNING", ("main",), cpus * len(nodes), 1,
        start=start, end=start + 60 * minutes, time_limit=60 * minutes, nodes=nodes, cpus_on=on,
    )  # fmt: skip


def waiting(id, cpus, *, user="bob", minutes=30, priority=1, **more):
    return Job(id, "job", user, "PENDING", ("main",), cpus, priority, time_limit=60 * minutes, **more)


def snapshot(cluster, unit="cpus", **options):
    chosen = partition_of(cluster)
    return snapshot_of(cluster, chosen, interpret(cluster, unit=unit), USERS, **options)


def test_running_jobs_have_their_cpus_and_users():
    found = snapshot(cluster_of(running(1, ("n1", "n2")), running(2, ("n3",), cpus=3, user="eve")))
    assert (found.now, found.machine) == (NOW, 32)
    assert found.processors.tolist() == [16, 3]
    assert (found.start.tolist(), found.walltime.tolist()) == ([NOW - 600] * 2, [3600] * 2)
    assert (found.running.all(), found.user.tolist()) == (True, [1, -1])


def test_nodes_are_counted_where_they_are_the_unit():
    found = snapshot(cluster_of(running(1, ("n1", "n2")), running(2, ("n3",), cpus=3)), "nodes")
    assert (found.machine, found.processors.tolist()) == (4, [2, 1])


def test_waiting_jobs_stand_in_slurms_order_with_the_starts_that_are_expected():
    """Both need all nodes; the one of the higher priority comes first, an hour less ten minutes from now."""
    cluster = cluster_of(running(1, NAMES), waiting(2, 32, priority=5), waiting(3, 32, priority=9, user="ann"))
    found = snapshot(cluster)
    assert found.user.tolist() == [1, 1, 2]
    assert found.running.tolist() == [True, False, False]
    first, second = found.start.tolist()[1:]
    assert first == pytest.approx(NOW + 3000, abs=60)  # Slurm plans in whole minutes
    assert second == pytest.approx(first + 1800, abs=60)
    assert found.processors.tolist() == [32, 32, 32]


def test_a_published_plan_is_the_start():
    planned = waiting(2, 16, start=NOW + 7200, planned_nodes=("n1", "n2"))
    assert snapshot(cluster_of(planned)).start.tolist() == [NOW + 7200]


def test_held_jobs_are_left_out():
    assert len(snapshot(cluster_of(waiting(2, 8, priority=0), waiting(3, 8)))) == 1


def test_a_job_past_its_limit_goes_on_for_a_moment():
    found = snapshot(cluster_of(running(1, ("n1",), minutes=5, since=600)))
    assert (found.start + found.walltime > NOW).all()


def test_reservations_are_fixed_and_count_once_with_whoever_runs_in_them():
    now = Reservation("now", NOW - 60, NOW + 600, ("n1", "n2"))
    later = Reservation("later", NOW + 6000, NOW + 9600, ("n3",))
    found = snapshot(cluster_of(running(1, ("n1",)), running(2, ("n4",)), reservations=(now, later)))
    assert found.processors.tolist() == [8, 16, 8]
    assert found.fixed.tolist() == [False, True, True]
    assert found.running.tolist() == [True, True, False]
    assert (found.start + found.walltime).tolist() == [NOW + 3000, NOW + 600, NOW + 9600]


def test_a_magnetic_reservation_takes_nothing_from_its_own_users():
    own = Reservation("own", NOW - 60, NOW + 600, ("n1",), flags=("MAGNETIC",), users=("ann",))
    assert len(snapshot(cluster_of(reservations=(own,)), user="ann")) == 0
    assert len(snapshot(cluster_of(reservations=(own,)), user="bob")) == 1


def test_cpus_of_jobs_that_are_not_shown_are_taken_for_as_long_as_a_job_may_last():
    short = Partition("main", NAMES, default=True, longest=7200)
    found = snapshot(cluster_of(running(1, ("n1",)), partition=short, others_visible=False, allocated=8))
    assert sorted(found.processors.tolist()) == [8, 24]
    assert found.fixed.sum() == 1
    assert int((found.start + found.walltime)[found.fixed][0]) == NOW + 7200


def test_whole_nodes_are_counted_where_jobs_share_none():
    whole = Partition("main", NAMES, default=True, whole_nodes=True)
    found = snapshot(cluster_of(running(1, ("n1",), cpus=3), waiting(2, 10), partition=whole))
    assert found.processors.tolist() == [8, 16]


def test_the_recorded_queue_is_a_snapshot(cluster):
    seen = interpret(cluster)
    found = snapshot_of(cluster, partition_of(cluster), seen, {})
    assert found.machine == seen.availability.capacity.sum()
    assert found.waiting > 0
    assert int(found.processors[found.running].sum()) <= found.machine


def test_a_partition_shows_its_queue_but_not_that_of_a_reservation(slurm):
    transport = CommandTransport("fake", timeout=5, folder=str(slurm.folder))
    endpoint = SlurmEndpoint("fake", transport)
    assert isinstance(endpoint, QueueEndpoint)
    assert endpoint.policy == "conservative-replan"
    found = endpoint.snapshot({})
    assert len(found) > 0
    assert "predicted by counts of" in endpoint.queue_remarks[0]
    assert endpoint.plans_by_nodes
    with pytest.raises(BadInput, match="jobs of a reservation"):
        SlurmEndpoint("fake", transport, reservation="r").snapshot({})


def test_tasks_of_one_cpu_are_counted_as_cpus_are(slurm):
    def endpoint(*lines):
        of = SlurmEndpoint("fake", CommandTransport("fake", timeout=5, folder=str(slurm.folder)))
        return of.asking(script=Script.of("\n".join(["#!/bin/sh", *lines]), "job.sh"))

    tasks, cpus = endpoint("#SBATCH -n 4"), SlurmEndpoint("fake", CommandTransport("fake", folder=str(slurm.folder)))
    assert tasks.unit == "tasks"
    found, same = tasks.snapshot({}), cpus.snapshot({})
    assert (found.machine, found.processors.tolist()) == (same.machine, same.processors.tolist())
    for lines, words in ((("#SBATCH -n 4 -c 2",), "tasks of 2 CPUs"), (("#SBATCH -G 1",), "gpus")):
        with pytest.raises(BadInput, match=f"jobs counted in {words} are not predicted"):
            endpoint(*lines).snapshot({})
