"""Infers unpublished settings from plans, partitions and QOS (slurmrestd before Slurm 26.05).

Settings that cannot be inferred stay unknown: `gas.slurm.settings.Settings` has None for them.
"""

from __future__ import annotations

from dataclasses import replace

from gas.slurm.cluster import Cluster
from gas.slurm.depth_by_trial import depth_by_trial, explained
from gas.slurm.observed_depth import observed_depth
from gas.slurm.settings import Settings

__all__ = ["with_inferred_settings"]

_DEPTHS = {
    "bf_max_job_test": "Slurm seems to plan only {count:,} jobs in a cycle",
    "bf_max_job_user": "Slurm seems to plan only {count:,} jobs per user in a cycle",
    "bf_max_job_part": "Slurm seems to plan only {count:,} jobs per partition in a cycle",
}  # fmt: skip


def with_inferred_settings(cluster: Cluster, tested: int | None = None) -> Cluster:
    """Return a cluster without settings, completed by the inferred ones, with cautions about this.

    Parameters
    ----------
    tested
        Number of jobs that the last backfill cycle tested, if it stopped at this depth and this is published.
    """
    return _with_depth(_with_preemption(_with_owners(cluster)), tested)


def _with_owners(cluster: Cluster) -> Cluster:
    """Return the cluster with ExclusiveUser on partitions whose jobs all share nodes only between jobs of one user.

    One or two such jobs prove nothing: they may have requested it (--exclusive=user).
    """
    of: dict[str, list[bool]] = {}
    for job in cluster.jobs:
        if len(job.partitions) == 1:
            of.setdefault(job.partitions[0], []).append(job.shared_with == "user")
    owned = {name for name, shown in of.items() if len(shown) > 2 and all(shown)}
    partitions = tuple(replace(one, shared_with="user") if one.name in owned else one for one in cluster.partitions)
    return replace(cluster, partitions=partitions) if owned else cluster


def _with_depth(cluster: Cluster, tested: int | None) -> Cluster:
    if cluster.scheduling.parameters:
        return cluster
    found = observed_depth(cluster, tested) or depth_by_trial(cluster)
    if found is None:
        return cluster
    key, count = found
    scheduling = replace(cluster.scheduling, parameters={key: str(count), "bf_node_space_size": "0"})
    if key == "bf_max_job_test":
        scheduling = replace(scheduling, depth=count)
    said = f"{_DEPTHS[key].format(count=count)}, judging by which waiting jobs have a plan"
    return replace(cluster, scheduling=scheduling, cautions=(*cluster.cautions, said))


def _with_preemption(cluster: Cluster) -> Cluster:
    """Return the cluster with preemption if jobs show it: by QOS if one lists others, else by tier.

    From 24.11, running jobs show the time from which they are preemptable, if there is preemption at all (seen).
    Before, jobs that have been requeued or cancelled for others reveal it, and plans that a cycle makes only with it.
    """
    settings = cluster.settings or Settings(version=cluster.version)
    if settings.preempt_type is not None:
        return cluster
    known = () if cluster.accounting is None else tuple(cluster.accounting.qos.values())
    by_qos = any(one.preempts for one in known)
    published = any(job.preemptable for job in cluster.jobs)
    kind = "qos" if by_qos else "partition_prio"
    settings = replace(settings, preempt_type=kind, preempt_mode=frozenset({"REQUEUE"}))
    with_it = replace(cluster, settings=settings)
    if not published and not (by_qos or _pushed_aside(cluster)):
        if len({one.tier for one in cluster.partitions}) < 2:
            return cluster
        if explained(cluster) is not False or not explained(with_it):
            said = (
                "whether jobs of a higher tier preempt others is not known (PreemptType is not published): "
                "Gas lets them wait"
            )
            return replace(cluster, cautions=(*cluster.cautions, said))
    by = "QOS, as some list others that they may preempt" if by_qos else "partitions of a higher tier"
    said = f"Gas assumes preemption by {by}: PreemptType is not published"
    return replace(with_it, cautions=(*cluster.cautions, said))


def _pushed_aside(cluster: Cluster) -> bool:
    """Return whether a job was preempted, or restarted while jobs of a higher tier run on its partition's nodes."""
    partitions = {one.name: one for one in cluster.partitions}
    if len({one.tier for one in cluster.partitions}) < 2:
        return False
    running = {name for job in cluster.jobs if job.nodes and job.state == "RUNNING" for name in job.partitions[:1]}
    for job in cluster.jobs:
        if job.state == "PREEMPTED":
            return True
        own = partitions.get(job.partitions[0]) if job.pending and job.restarts and job.partitions else None
        if own is not None and any(
            partitions[name].tier > own.tier and set(partitions[name].nodes) & set(own.nodes)
            for name in running
            if name in partitions
        ):
            return True
    return False
