"""What becomes of one job: where and when, and why never."""

import pytest
from made_clusters import NOW, cluster, job, outlook, running, with_nodes

from gas.slurm.cluster import Licence, Partition, Reservation
from gas.slurm.held_back import limits_in
from gas.slurm.why import Why


def test_a_probe_of_two_partitions_gets_the_earlier_start():
    partitions = (Partition("p", ("n0",)), Partition("q", ("n1",)))
    made = cluster(running(8, "n0", end=600), running(9, "n1", end=300), partitions=partitions)
    found = outlook(made, job(partitions=("p", "q")))
    assert (found.planned, found.partition, found.nodes) == (NOW + 300, "q", ("n1",))


def test_who_lacks_licences_is_expected_when_running_jobs_give_them_back():
    """Of a job that Slurm has no plan for at first; where it is not shown who has them, nothing is said."""
    made = cluster(running(9, "n0", end=3600, licences={"l": 2}), licences=(Licence("l", 2, used=2),))
    found = outlook(made, job(licences={"l": 1}), limits=limits_in(made))
    assert (found.planned, found.expected, found.why) == (None, NOW + 3600, Why.LICENCES)
    hidden = cluster(licences=(Licence("l", 2, used=2),))
    found = outlook(hidden, job(licences={"l": 1}), limits=limits_in(hidden))
    assert (found.planned, found.expected, found.never) == (None, None, False)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (job(cpus=4, features="fast"), "no node of partition p has the features fast"),
        (job(cpus=4, least_nodes=3), "partition p can never satisfy its request"),
        (job(cpus=4, least_nodes=1, memory_per_node=1 << 30), "no node of partition p has the CPUs, memory"),
        (job(partitions=("q",)), "there is no such partition"),
    ],
)  # fmt: skip
def test_what_never_starts_is_said_with_what_the_machine_lacks(asked, words):
    found = outlook(with_nodes(cluster(nodes=2), memory=[1 << 20] * 2), asked)
    assert (found.planned, found.expected, found.never) == (None, None, True)
    assert words in found.words


def test_a_plan_that_reaches_into_a_reservation_is_expected_after_it():
    """Slurm finds that when the job would start; its plan is published all the same."""
    kept = Reservation("r", NOW + 700, NOW + 5000, ("n0",))
    made = cluster(running(9, "n0", end=600), nodes=1, reservations=(kept,))
    found = outlook(made, job(minutes=60))
    assert found.expected >= NOW + 5000
    assert found.why is not Why.CONSTRAINT
