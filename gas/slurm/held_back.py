"""Applies limits to all jobs: waiting ones by Slurm's reasons, and jobs that are not submitted yet by calculation."""

from __future__ import annotations

from gas.slurm.blocked import blocked
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.limits import limits
from gas.slurm.order import Limits
from gas.slurm.verdict import WAITS, Binding, Verdict

__all__ = ["limits_in"]


def limits_in(cluster: Cluster, *, groups: frozenset[str] | None = None) -> Limits:
    """Return a function that applies the limits to a job.

    Parameters
    ----------
    groups
        Names of the user's groups.
    """
    held = blocked(cluster)

    def said(job: Job, partition: Partition) -> Verdict | None:
        if job.id:
            reason = held.get(job.id)
            return None if reason is None else Verdict((Binding(WAITS, reason, reason),))
        return limits(cluster, job, partition, groups=groups)

    return said
