"""Node weights that a job with GPUs changes for later jobs: until Slurm 23.02 they outlast a test (job_test.c).

A cycle therefore begins with the weights that the last attempt to start a job left. For a new job, that is its own
submission, which resets the weights of its partition's nodes and tests whether it could run if they were idle
(job_mgr.c, job_allocate; node_scheduler.c, _sync_node_weight and _pick_best_nodes). So plans may change when it is
submitted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from gas.slurm.cluster import Cluster, Job
from gas.slurm.demand import asks_for_gres
from gas.slurm.fitting import capable, leave_weights
from gas.slurm.machine import idle_of
from gas.slurm.state import State
from gas.slurm.versions import Rules

__all__ = ["alike_at_submission", "set_weights", "weights_stay", "weights_unknown"]

MOST = 200_000
"""Largest product of nodes and waiting jobs for which all plans are recomputed for each requested size."""


def weights_stay(cluster: Cluster, probes: Sequence[Job]) -> bool:
    """Return whether plans must be recomputed for jobs, as they depend on the weights after their submission.

    At a very large site that takes too long, so the published plans are used (`weights_unknown`).
    """
    return _depends(cluster, probes) and not _too_large(cluster)


def weights_unknown(cluster: Cluster) -> bool:
    """Return whether plans depend on weights that Gas ignores because the site is too large."""
    return _too_large(cluster) and _depends(cluster)


def _depends(cluster: Cluster, probes: Sequence[Job] = ()) -> bool:
    if Rules.of(cluster.version).fresh_weights or not any(node.gres for node in cluster.nodes):
        return False
    return any(map(asks_for_gres, (*(job for job in cluster.jobs if job.pending), *probes)))


def _too_large(cluster: Cluster) -> bool:
    return len(cluster.nodes) * sum(job.pending for job in cluster.jobs) > MOST


def alike_at_submission(job: Job) -> Hashable:
    """Return a key that is equal for jobs whose submissions leave the same weights."""
    if not asks_for_gres(job):
        return job.partitions
    return (
        job.partitions, job.cpus, job.tasks_asked, job.tasks_stated, job.cpus_per_task, job.least_nodes,
        job.gres_per_node, job.gres_per_socket, job.gres_per_task, job.gres_per_job, job.memory_per_node,
        job.memory_per_cpu, job.memory_per_gpu, job.exclusive, job.features, job.excluded_nodes,
    )  # fmt: skip


def set_weights(state: State, *, submitted: bool = False) -> None:
    """Set the weights at the beginning of a cycle (`gas.slurm.machine.Machine.near`), if weights outlast a test.

    Parameters
    ----------
    submitted
        As the submission of the requested job leaves them; else as a pass of the main scheduler does, which tries the
        first job of each partition.
    """
    rows, machine, seen = state.rows, state.machine, set[int]()
    if not len(machine.near) or not rows.gres.any():
        return
    machine.near[:] = 0
    left = np.ones(len(state.names), np.bool_)
    able, idle = np.zeros(len(state.names), np.int64), idle_of(state.use)
    for at in np.flatnonzero(rows.probe if submitted else rows.considered & ~rows.probe).tolist():
        partition = int(rows.partition[at])
        if partition not in seen:
            seen.add(partition)
            nodes = state.sets[rows.nodes[at]] & left
            capable(nodes, rows.need[at], rows.gres[at], machine, idle, able)
            leave_weights(able, rows.need[at], rows.gres[at], machine, idle)
            left &= ~nodes
