"""Whose place a waiting job may take (slurm.conf(5), PreemptType)."""

from dataclasses import replace

import pytest
from made_clusters import NOW, cluster, job, planned, running

from gas.slurm.accounting import Accounting, Qos
from gas.slurm.cluster import Partition
from gas.slurm.preemption import exempt, preempting
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


@pytest.mark.parametrize(
    ("exempts", "own", "of_partition", "flags", "still"),
    [
        (None, None, None, "", False), (600, None, None, "", True), (300, None, None, "", False),
        (600, 300, None, "", False), (None, 600, None, "", True), (600, 0, 700, "", True),
        (600, 0, 700, "OverPartQOS", False),
    ],
)  # fmt: skip
def test_nobody_may_before_a_job_has_run_for_its_exempt_time(exempts, own, of_partition, flags, still):
    qos = {"normal": Qos("normal", exempt=own, flags=frozenset({flags.lower()})), "p": Qos("p", exempt=of_partition)}
    made = replace(
        cluster(partitions=(replace(LOW, qos="p"), HIGH)), accounting=Accounting("me", qos=qos),
        settings=Settings(preempt_type="partition_prio", preempt_mode=frozenset({"CANCEL"}), preempt_exempt=exempts),
    )  # fmt: skip
    there = replace(running(1, "n0", end=900, partitions=("low",), qos="normal"), start=NOW - 500)
    assert exempt(made, there) is still
    assert preempting(made)(job(), HIGH, there) is not still


def test_a_plan_takes_the_place_of_those_only_that_are_not_exempt():
    """Seen on 22.05: urgent jobs wait for the ends of jobs that began a minute ago (PreemptExemptTime=01:00:00)."""
    both = (Partition("low", ("n0", "n1"), tier=1), Partition("high", ("n0", "n1"), tier=5))
    old, new = (
        replace(running(at + 1, f"n{at}", end=9000, partitions=("low",), qos="normal"), start=NOW - age)
        for at, age in enumerate((4000, 60))
    )
    made = replace(
        cluster(old, new, partitions=both),
        settings=Settings(preempt_type="partition_prio", preempt_mode=frozenset({"CANCEL"}), preempt_exempt=3600),
    )
    assert planned(made, job(0, 4, partitions=("high",))) == (0, [0])
    assert planned(made, job(0, 8, partitions=("high",))) == (9000, [0, 1])


@pytest.mark.parametrize("way", ["cluster", "qos"])
def test_within_a_qos_those_of_higher_priority_may(way):
    """Seen on 22.05, 24.11 and 26.05."""
    modes = {"cluster": ("REQUEUE", "WITHIN"), "qos": ("REQUEUE",)}[way]
    own = Qos("normal", preempt_mode="WITHIN,REQUEUE" if way == "qos" else "")
    low, high = (
        running(at + 1, f"n{at}", end=9000, qos="normal", priority=priority) for at, priority in enumerate((50, 70))
    )
    made = replace(
        cluster(low, high), accounting=Accounting("me", qos={"normal": own}),
        settings=Settings(preempt_type="qos", preempt_mode=frozenset(modes)),
    )  # fmt: skip
    assert planned(made, job(0, 4, qos="normal", priority=60)) == (0, [0])
    assert planned(made, job(0, 8, qos="normal", priority=60)) == (9000, [0, 1])
    assert planned(made, job(0, 8, qos="normal", priority=80)) == (0, [0, 1])
