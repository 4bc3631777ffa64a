"""Nodes that a job cannot get because of other users' running jobs: ExclusiveUser of partitions, --exclusive=user.

A job that shares nodes only with its user's jobs gets no node with another user's job, and other users' jobs get none
of its nodes (node_scheduler.c, filter_by_node_owner). From 24.11, such nodes are excluded until the last job on them
ends; before, from all tried starts, so a job has no plan if too few other nodes are left (seen on 22.05, 24.11 and
26.05). Plans hold whole nodes anyway.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.node_sets import BITS, Words
from gas.slurm.will_run import Running

__all__ = ["ANYBODY", "any_single_user", "exclude_kept", "is_single_user", "kept_until"]

ANYBODY = -1
"""The value if all jobs share nodes; else twice the user's number, plus 1 for a job that shares only with its user."""


def is_single_user(job: Job, partition: Partition | None) -> bool:
    """Return whether a job shares nodes only with jobs of its user."""
    return job.shared_with == "user" or (partition is not None and partition.shared_with == "user")


def any_single_user(cluster: Cluster) -> bool:
    """Return whether any job, or partition, shares nodes only between jobs of one user."""
    return any(one.shared_with == "user" for some in (cluster.partitions, cluster.jobs) for one in some)


@lean_kernel
def kept_until(sharing: int, now: int, running: Running, until: NDArray[np.int64]) -> bool:
    """Write by node when its last job ends if it is kept from a job, else 0; return whether any is kept."""
    found = False
    if sharing < 0:
        return found
    until[:] = 0
    for job in range(running.total[0]):
        other = running.sharing[job]
        if (other | sharing) & 1 and other >> 1 != sharing >> 1:
            found = True
            for share in range(running.first[job], running.first[job] + running.shares[job]):
                until[running.node[share]] = now + 1
    if found:
        for job in range(running.total[0]):
            for share in range(running.first[job], running.first[job] + running.shares[job]):
                node = running.node[share]
                if until[node] > 0:
                    until[node] = max(until[node], running.end[job])
    return found


@lean_kernel
def exclude_kept(until: NDArray[np.int64], start: int, nodes: Words) -> int:
    """Remove nodes that are kept beyond a start; return when the first of them becomes free, -1 if there is none."""
    first = -1
    for node in range(len(until)):
        if until[node] > start and (nodes[node >> 6] & BITS[node & 63]) != 0:
            nodes[node >> 6] ^= BITS[node & 63]
            if first < 0 or until[node] < first:
                first = until[node]
    return int(first)
