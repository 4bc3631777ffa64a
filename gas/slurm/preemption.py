"""The running jobs that a waiting job may preempt (slurm.conf(5), PreemptType; sacctmgr(1), Preempt)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gas.slurm.cluster import Cluster, Job, Partition

__all__ = ["Preempts", "exempt", "in_the_way", "kind_of", "preempting", "within_qos"]

Preempts = Callable[[Job, Partition, Job], bool]
"""Whether a waiting job in a partition may preempt a running one."""


def preempting(cluster: Cluster) -> Preempts | None:
    """Return the configured rule of preemption; None if no job may preempt, or the rule is not published.

    Grace times are ignored: a preempted job leaves at once.
    """
    settings = cluster.settings
    if settings is None or not settings.preempts:
        return None
    partitions = {one.name: one for one in cluster.partitions}

    def by_tier(waiting: Job, partition: Partition, running: Job) -> bool:
        other = partitions.get(running.partitions[0]) if running.partitions else None
        if exempt(cluster, running):
            return False
        return other is not None and other.tier < partition.tier and other.preempt_mode.upper() != "OFF"

    known = {} if cluster.accounting is None else dict(cluster.accounting.qos)

    def by_qos(waiting: Job, partition: Partition, running: Job) -> bool:
        own = known.get(waiting.qos)
        if own is None or exempt(cluster, running):
            return False
        if running.qos == waiting.qos and within_qos(cluster, waiting.qos):
            return waiting.priority > running.priority
        return running.qos in own.preempts

    return {"partition_prio": by_tier, "qos": by_qos}.get(settings.preempt_type or "")


def kind_of(cluster: Cluster, job: Job, partition: str) -> tuple[str, str, int]:
    """Return what decides which jobs it may preempt, and which may preempt it: includes priority if that counts."""
    return partition, job.qos, job.priority if within_qos(cluster, job.qos) else 0


def within_qos(cluster: Cluster, qos: str) -> bool:
    """Return whether jobs preempt lower-priority jobs of the same QOS (PreemptMode=WITHIN).

    Seen on 22.05, 24.11 and 26.05 with the cluster's PreemptMode.
    """
    settings = cluster.settings
    if settings is None or settings.preempt_type != "qos":
        return False
    own = None if cluster.accounting is None else cluster.accounting.qos.get(qos)
    return "WITHIN" in settings.preempt_mode or (own is not None and "WITHIN" in own.preempt_mode.split(","))


def exempt(cluster: Cluster, running: Job) -> bool:
    """Return whether a running job has not yet run long enough to be preempted (PreemptExemptTime).

    The time of its partition's QOS comes first, then that of its own (reversed by OverPartQOS), then the cluster's.
    """
    if running.pending or running.start is None:  # the order of the queue compares waiting jobs
        return False
    known = {} if cluster.accounting is None else cluster.accounting.qos
    of_partition = [one.qos for one in cluster.partitions if one.name in running.partitions[:1]]
    own = known.get(running.qos)
    names = [*of_partition, running.qos]
    if own is not None and own.has("OverPartQOS"):
        names.reverse()
    times = [known[name].exempt for name in names if name in known]
    given = None if cluster.settings is None else cluster.settings.preempt_exempt
    least = next((one for one in times if one is not None), given)
    return least is not None and cluster.now < running.start + least


def in_the_way(cluster: Cluster, job: Job, partition: Partition, nodes: Iterable[str]) -> tuple[Job, ...]:
    """Return the running jobs on these nodes that a waiting job may preempt."""
    may, there = preempting(cluster), frozenset(nodes)
    if may is None:
        return ()
    running = (one for one in cluster.jobs if one.state == "RUNNING" and not there.isdisjoint(one.nodes))
    return tuple(one for one in running if may(job, partition, one))
