"""Checks limits again, with the nodes that a job would get if it started now.

What a job consumes may depend on its nodes: whole nodes differ in size, and its tasks may fill more or fewer nodes.
Slurm therefore checks limits on resources after it has selected nodes (acct_policy.c,
acct_policy_job_runnable_post_select), and Gas does the same for jobs that would start now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.demand import allocated
from gas.slurm.forecast import Forecast, forecast
from gas.slurm.limits import limits
from gas.slurm.order import Limits
from gas.slurm.outlook import Outlook
from gas.slurm.reasons import by_nodes
from gas.slurm.verdict import FREE, WAITS, Verdict
from gas.slurm.why import Why

__all__ = ["outlooks_at_start"]


def outlooks_at_start(
    cluster: Cluster,
    jobs: Sequence[Job],
    *,
    apply_limits: Limits | None,
    groups: frozenset[str] | None = None,
    unseen_until: int | None = None,
    known: Forecast | None = None,
) -> list[Outlook]:
    """Return the outlooks of jobs that are not submitted yet, with limits applied to the nodes that they get.

    Parameters
    ----------
    apply_limits
        Applies limits to a job before its nodes are known.
    groups
        Names of the user's groups.
    unseen_until
        Epoch second until which hidden jobs hold their CPUs; None if all jobs are shown.
    known
        The forecast of the queue without these jobs, if available.
    """
    made = forecast(cluster, jobs, unseen_until=unseen_until, limits=apply_limits, rest=False, known=known)
    found = list(made.outlooks)
    if apply_limits is None or cluster.accounting is None:
        return found
    partitions = {one.name: one for one in cluster.partitions}
    free: list[int] = []
    for number, (job, one) in enumerate(zip(jobs, found, strict=True)):
        partition = partitions.get(one.partition)
        if partition is not None and one.planned is not None and one.planned <= cluster.now:
            found[number] = _held(one, _with_nodes(cluster, job, partition, one, groups))
        elif one.why in (Why.LIMIT, Why.FORBIDDEN) and any(
            _by_nodes(job, there, apply_limits(job, there))
            for name in job.partitions
            if (there := partitions.get(name))
        ):
            free.append(number)
    if free:

        def of_others(job: Job, partition: Partition) -> Verdict | None:
            return apply_limits(job, partition) if job.id else None

        again = forecast(
            cluster,
            [jobs[number] for number in free],
            unseen_until=unseen_until,
            limits=of_others,
            beyond=False,
            rest=False,
        ).outlooks
        for number, one in zip(free, again, strict=True):
            partition = partitions.get(one.partition)
            if partition is None or one.planned is None or one.planned > cluster.now:
                continue
            if _with_nodes(cluster, jobs[number], partition, one, groups).outcome == FREE:
                found[number] = one
    return found


def _with_nodes(
    cluster: Cluster, job: Job, partition: Partition, one: Outlook, groups: frozenset[str] | None
) -> Verdict:
    given = allocated(cluster, job, partition, dict(zip(one.nodes, one.cpus, strict=True)))
    verdict = limits(cluster, job, partition, groups=groups, given=given)
    return replace(verdict, bindings=tuple(one for one in verdict.bindings if one.reason != "Licenses"))


def _by_nodes(job: Job, partition: Partition, verdict: Verdict | None) -> bool:
    """Return whether all limits that hold a job depend on its nodes."""
    if verdict is None or not verdict.bindings:
        return False
    whole = job.exclusive or partition.whole_nodes
    return all(whole or by_nodes(one.reason) for one in verdict.bindings)


def _held(one: Outlook, verdict: Verdict) -> Outlook:
    deciding = verdict.deciding
    if deciding is None or verdict.outcome == FREE:
        return one
    release = verdict.release if verdict.outcome == WAITS else None
    return Outlook(release, None, one.nodes, one.partition, Why.LIMIT, deciding.words)
