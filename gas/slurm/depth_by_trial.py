"""How many jobs per user or partition Slurm plans, inferred by trial if the setting is not published.

A cycle is run for each possible number (slurm.conf(5), bf_max_job_user and bf_max_job_part), which is accepted if only
with it the cycle makes the published plans. This serves queues for which `gas.slurm.observed_depth` is not enough: jobs
without licences, array tasks, or a single job without a plan.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gas.slurm.cluster import Cluster, Job
from gas.slurm.forecast import Forecast, forecast
from gas.slurm.held_back import limits_in
from gas.slurm.order import Record

__all__ = ["depth_by_trial", "explained"]

MOST_JOBS = 100
"""Longer queues are not tried: each number needs a cycle."""

MOST_CYCLES = 60

MOST = 50_000
"""Largest product of waiting jobs and nodes: beyond it, so many cycles take too long."""


def depth_by_trial(cluster: Cluster) -> tuple[str, int] | None:
    """Return the parameter with which a cycle makes exactly the published plans, and its value.

    None if a cycle without it makes them, too, or no value does.
    """
    waiting = [job for job in cluster.jobs if job.pending]
    if not _may_tell(cluster, waiting):
        return None
    as_it_is = _cycle(cluster)
    if _explains(cluster, as_it_is):
        return None
    planned, users = Counter[str](), Counter[str]()
    for one in as_it_is.plans:
        planned[one.partition] += 1
        users[one.job.user] += 1
    tried = 0
    for key, most in (("bf_max_job_user", users), ("bf_max_job_part", planned)):
        for count in range(1, max(most.values(), default=0) + len(waiting)):
            tried += 1
            if tried > MOST_CYCLES:
                return None
            parameters = {**cluster.scheduling.parameters, key: str(count), "bf_node_space_size": "0"}
            supposed = replace(cluster, scheduling=replace(cluster.scheduling, parameters=parameters))
            if _explains(supposed, _cycle(supposed)):
                return key, count
    return None


def explained(cluster: Cluster) -> bool | None:
    """Return whether a cycle makes exactly the published plans; None if this is not tried."""
    waiting = [job for job in cluster.jobs if job.pending]
    return _explains(cluster, _cycle(cluster)) if _may_tell(cluster, waiting) else None


def _may_tell(cluster: Cluster, waiting: list[Job]) -> bool:
    few = len(waiting) <= MOST_JOBS and len(waiting) * len(cluster.nodes) <= MOST
    return few and any(job.start is not None for job in waiting)


def _cycle(cluster: Cluster) -> Forecast:
    return forecast(cluster, limits=limits_in(cluster), pinned=False, beyond=False)


def _explains(cluster: Cluster, cycle: Forecast) -> bool:
    """Return whether a cycle plans the jobs with a published plan, at the same starts, and no others."""
    starts: dict[int, list[int]] = {}
    for one in cycle.plans:
        starts.setdefault(one.job.id, []).append(one.start)
    return all(_agrees(cluster, cycle, record, starts.get(record.job.id, [])) for record in cycle.state.records)


def _agrees(cluster: Cluster, cycle: Forecast, record: Record, starts: list[int]) -> bool:
    job = record.job
    since = job.eligible or job.submitted or 0
    if record.blocked is not None or (cluster.planned is not None and since >= cluster.planned):
        return True
    if job.start is None or not starts:
        return job.start is None and not starts
    last = job.tasks is not None and not cycle.state.rules.first_task
    found = max(starts) if last else min(starts)
    return abs(found - max(job.start, cluster.now)) <= cluster.scheduling.resolution
