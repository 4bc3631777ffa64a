"""The waiting jobs that limits hold back: they have no plan, and delay no other job."""

from __future__ import annotations

from collections.abc import Hashable

from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.limits import limits
from gas.slurm.reasons import of_limit
from gas.slurm.verdict import FREE

__all__ = ["blocked"]


def blocked(cluster: Cluster) -> dict[int, str]:
    """Return the waiting jobs that a limit holds back now, and its reason.

    Slurm's reason decides. Jobs with another reason and without a planned start are tested here if their account and
    QOS are shown; the limits of other users' associations are not. Either Slurm has not tested them yet, or a start is
    published without nodes: then a scheduler has replaced the reason, or something else keeps nodes from being held.
    """
    partitions = {one.name: one for one in cluster.partitions}
    known: dict[Hashable, str] = {}
    found: dict[int, str] = {}
    for job in cluster.jobs:
        if not job.pending or job.held:
            continue
        reason = job.reason.strip("()")
        if of_limit(reason):
            found[job.id] = reason
        elif (job.start is None or not job.planned_nodes) and job.account and cluster.accounting is not None:
            like = _like(job)  # long queues consist of similar jobs
            if like not in known:
                known[like] = _reason(cluster, job, [partitions[one] for one in job.partitions if one in partitions])
            if known[like]:
                found[job.id] = known[like]
    return found


def _like(job: Job) -> Hashable:
    return (
        job.user, job.account, job.qos, job.partitions, job.cpus, job.least_nodes, job.most_nodes, job.time_limit,
        job.exclusive, job.tasks_asked, job.tasks_stated, job.cpus_per_task, job.tasks_per_node, job.memory_per_node,
        job.memory_per_cpu, job.memory_per_gpu, job.gres_per_node, job.gres_per_socket, job.gres_per_task,
        job.gres_per_job, tuple(sorted(job.licences.items())),
    )  # fmt: skip


def _reason(cluster: Cluster, job: Job, partitions: list[Partition]) -> str:
    """Return the reason if the job is held back in all partitions, else nothing."""
    verdicts = [limits(cluster, job, partition, dated=False) for partition in partitions]
    if not verdicts or any(one.outcome == FREE for one in verdicts):
        return ""
    return verdicts[0].reason
