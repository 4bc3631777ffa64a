"""Jobs that the main scheduler starts at once, though the backfill scheduler keeps their nodes for others."""

from dataclasses import replace

import pytest
from made_clusters import NOW, cluster, job, outlook, running

from gas.slurm.cluster import Partition, Reservation, Scheduling

LONG = job(cpus=4, minutes=600)
BOTH = (Partition("p", ("n0", "n1", "n2", "n3")), Partition("q", ("n2", "n3")))


def site(*jobs, partitions=BOTH, **parameters):
    """Return a machine of which two nodes are free, with a job that waits for one node more in partition q."""
    there = (running(9, "n1", end=3600), running(8, "n2", end=7200), job(1, 8, partitions=("q",)), *jobs)
    return replace(cluster(*there, nodes=4, partitions=partitions), scheduling=Scheduling(parameters=parameters))


def test_behind_a_job_that_could_not_run_on_what_is_left_even_if_it_were_idle_another_starts():
    """Job 1 closes q with its nodes; job 2 needs more than the two others; as seen on a 24.11.5."""
    found = outlook(site(job(2, 12, minutes=60)), LONG)
    assert (found.planned, found.expected, found.nodes) == (NOW, NOW, ("n0",))


def test_behind_a_job_that_could_none_does():
    found = outlook(site(job(2, 8, minutes=60)), LONG)
    assert found.planned is not None
    assert found.planned > NOW


@pytest.mark.parametrize("reason", ["AssocGrpCpuLimit", "AssocGrpJobsLimit"])
def test_one_that_a_limit_holds_closes_no_partition_though_its_nodes_are_busy(reason):
    """Limits on amounts are tested where no nodes are found, too; as seen on a 24.11.5 and a 26.05.5."""
    held = job(3, 8, minutes=60, reason=reason)
    assert outlook(site(job(2, 12, minutes=60), held), LONG).planned == NOW


def test_where_all_wait_in_one_partition_none_does():
    one = (Partition("p", ("n0", "n1", "n2", "n3")),)
    there = (running(9, "n1", end=3600), running(8, "n2", end=7200), job(1, 12, minutes=60))
    assert outlook(cluster(*there, nodes=4, partitions=one), LONG).planned > NOW


def test_behind_one_that_a_reservation_keeps_from_starting_another_starts():
    """As seen on a 22.05.8 and a 24.11.5, within a second."""
    one = (Partition("p", ("n0", "n1", "n2", "n3")),)
    kept = Reservation("r", NOW + 600, NOW + 4200, ("n0", "n1"))
    there = (running(9, "n1", end=3600), job(1, 16, minutes=20))
    found = outlook(cluster(*there, nodes=4, partitions=one, reservations=(kept,)), LONG)
    assert (found.planned, found.nodes) == (NOW, ("n2",))


@pytest.mark.parametrize("parameter", [{"sched_interval": "-1"}, {"assoc_limit_stop": ""}])
def test_without_the_main_scheduler_none_does(parameter):
    assert outlook(site(job(2, 12, minutes=60), **parameter), LONG).planned > NOW


def test_the_queue_is_planned_as_it_was():
    made = site(job(2, 12, minutes=60))
    assert outlook(made, replace(LONG, partitions=("q",))).planned > NOW
