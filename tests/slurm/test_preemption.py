"""Whose place a waiting job may take (slurm.conf(5), PreemptType)."""

from dataclasses import replace

import pytest
from made_clusters import cluster, job, running

from gas.slurm.accounting import Accounting, Qos
from gas.slurm.cluster import Partition
from gas.slurm.preemption import preempting
from gas.slurm.settings import Settings

LOW, HIGH = Partition("low", ("n0",), tier=1), Partition("high", ("n0",), tier=5)
QOS = {"urgent": Qos("urgent", preempts=("normal",)), "normal": Qos("normal")}


def may(kind, waiting, partition, other, mode=("REQUEUE",), low=LOW):
    made = replace(
        cluster(partitions=(low, HIGH)), accounting=Accounting("me", qos=QOS),
        settings=Settings(preempt_type=kind, preempt_mode=frozenset(mode)),
    )  # fmt: skip
    found = preempting(made)
    return None if found is None else found(waiting, partition, other)


@pytest.mark.parametrize(("kind", "mode"), [("none", ("REQUEUE",)), (None, ("REQUEUE",)), ("qos", ("OFF",))])
def test_without_a_type_or_a_mode_nobody_may(kind, mode):
    assert may(kind, job(), HIGH, running(1, "n0", end=9), mode) is None
    assert preempting(replace(cluster(), settings=None)) is None


def test_by_tier_those_of_higher_partitions_may_unless_the_lower_one_forbids_it():
    there = running(1, "n0", end=9, partitions=("low",))
    assert may("partition_prio", job(), HIGH, there)
    assert not may("partition_prio", job(), LOW, there)
    assert not may("partition_prio", job(), HIGH, replace(there, partitions=("high",)))
    assert not may("partition_prio", job(), HIGH, there, low=replace(LOW, preempt_mode="OFF"))


def test_by_qos_those_of_one_that_lists_the_others():
    there = running(1, "n0", end=9, partitions=("low",), qos="normal")
    assert may("qos", job(qos="urgent"), LOW, there)
    assert not may("qos", job(qos="normal"), HIGH, there)
    assert not may("qos", job(qos="urgent"), LOW, replace(there, qos="urgent"))
    assert not may("qos", job(qos="unknown"), LOW, there)
