"""What follows from a cluster's state as published."""

from dataclasses import replace

import pytest

from gas.slurm.cluster import Cluster, Job, Node, Reservation, Tasks
from gas.slurm.settings import Settings

JOB = Job(1, "a", "u", "PENDING", ("p",), 4, 100)
RESERVATION = Reservation("r", 0, 60, ("n1",))
CLUSTER = Cluster("c", 0, "24.11.5", (), (), (), ())


@pytest.mark.parametrize(
    ("cpus", "sockets", "cores", "threads", "found"),
    [
        pytest.param(16, 2, 4, 2, 2, id="each thread is a CPU"),
        pytest.param(8, 2, 4, 2, 1, id="slurm.conf gives the cores as CPUs"),
        pytest.param(4, 2, 4, 2, 1, id="fewer CPUs than cores"),
        pytest.param(16, 2, None, 2, 2, id="cores not published"),
        pytest.param(8, 2, 4, 0, 1, id="threads not published"),
    ],
)
def test_cpus_of_a_core(cpus, sockets, cores, threads, found):
    assert Node("n", cpus, sockets=sockets, cores=cores, threads=threads).core_cpus == found


def test_a_node_is_usable_unless_a_state_keeps_jobs_away():
    assert Node("n", 4).usable
    assert not Node("n", 4, why_not=("DRAIN",)).usable


def test_only_a_waiting_job_of_priority_0_is_held():
    assert not JOB.held
    assert replace(JOB, priority=0).held
    running = replace(JOB, priority=0, state="RUNNING")
    assert not running.pending
    assert not running.held


def test_the_tasks_of_an_array_are_counted_over_its_ranges():
    assert len(Tasks((range(3), range(10, 20, 5)))) == 5


def test_a_reservation_is_known_by_its_flags():
    assert not RESERVATION.flexible
    assert not RESERVATION.floats
    assert replace(RESERVATION, flags=("FLEX",)).flexible
    assert replace(RESERVATION, flags=("MAINT", "TIME_FLOAT")).floats


def test_the_configuration_is_empty_where_it_is_not_published():
    assert CLUSTER.values == {}
    assert replace(CLUSTER, settings=Settings({"SelectType": "select/linear"})).values == {
        "SelectType": "select/linear"
    }


def test_derived_results_are_not_part_of_the_state():
    other = replace(CLUSTER)
    other.worked_out["x"] = 1
    assert other == CLUSTER
    assert replace(other).worked_out == {}
