"""Changes that would make a waiting job start sooner: a shorter time limit, a smaller size, another partition or QOS.

Each changed job is planned in place of the job, as a new submission. ``scontrol update`` keeps the job's age, so its
priority, and with it the actual start, can only be better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gas.slurm.cluster import Cluster, Gres, Job
from gas.slurm.forecast import forecast, outlooks
from gas.slurm.limits import limits as limits_of
from gas.slurm.order import Limits
from gas.slurm.outlook import Outlook
from gas.slurm.verdict import WAITS, Binding

__all__ = ["Change", "Sooner", "sooner"]

SHARES = ((7, 8), (3, 4), (5, 8), (1, 2), (3, 8), (1, 4), (1, 8))
"""Tried shares of a job's time limit."""

MOST_PLANS = 20
"""Number of planned starts of other jobs, the earliest, for which a time limit is tried that ends before them."""

WORTH_SECONDS = 600
"""Seconds that a change must gain to be reported."""


@dataclass(frozen=True)
class Change:
    """A change to a job: its kind, and the changed job."""

    kind: str
    job: Job


@dataclass(frozen=True)
class Sooner:
    """A change with which a job starts sooner, and its start in epoch seconds."""

    change: Change
    start: int


def sooner(
    cluster: Cluster,
    job: Job,
    *,
    limits: Limits | None = None,
    others: Sequence[Change] = (),
    unseen_until: int | None = None,
) -> tuple[Outlook, list[Sooner]]:
    """Return the outlook of a waiting job, and the changes that make it start sooner: for each kind, the smallest.

    Parameters
    ----------
    limits
        Finds the limit that keeps a job from starting.
    others
        Further changes to try: other partitions, QOS and accounts.
    unseen_until
        Epoch second until which hidden jobs hold their CPUs.
    """
    asked = _asked(job)
    without = replace(cluster, jobs=tuple(one for one in cluster.jobs if one.id != job.id))
    seen = forecast(without, limits=limits, unseen_until=unseen_until)
    planned = sorted({one.start for one in seen.plans})
    lasting = [_before(start, cluster) for start in planned[:MOST_PLANS]]
    bounds = list(_bounds(cluster, asked))
    lasting += [60 * int(one.bound or 0) for one in bounds if "Wall" in one.reason or "TimeLimit" in one.reason]
    changes = [*_shorter(cluster, asked, lasting), *_smaller(cluster, asked, bounds)]
    changes += [replace(one, job=_asked(one.job)) for one in others]
    probes = [asked, *(one.job for one in changes)]
    first, *found = outlooks(without, probes, limits=limits, unseen_until=unseen_until, known=seen)
    worth: dict[str, Sooner] = {}
    for change, outlook in zip(changes, found, strict=True):
        if outlook.expected is None:
            continue
        one = Sooner(change, outlook.expected)
        if first.expected is not None and one.start > first.expected - WORTH_SECONDS:
            continue
        worth.setdefault(change.kind, one)
    return first, list(worth.values())


def _asked(job: Job) -> Job:
    """Return a job as a new submission, without Slurm's plan for it."""
    return replace(job, id=0, start=None, end=None, planned_nodes=(), tasks=None, array=None, reason="")


def _before(start: int, cluster: Cluster) -> int:
    """Return the seconds that a job can run from now without delaying a planned start."""
    resolution = cluster.scheduling.resolution
    return start // resolution * resolution - cluster.now - 1


def _bounds(cluster: Cluster, job: Job) -> Iterator[Binding]:
    """Yield the limits that a job exceeds for ever, so that nothing but a change of the job helps."""
    for partition in cluster.partitions:
        if partition.name in job.partitions:
            for one in limits_of(cluster, job, partition).bindings:
                if one.outcome != WAITS and one.bound is not None:
                    yield one


def _shorter(cluster: Cluster, job: Job, lasting: Sequence[int]) -> Iterator[Change]:
    """Yield the job with shorter time limits, the longest first: shares of its own, bounds, and ends before plans.

    Time limits are whole minutes.
    """
    limits = [one.longest for one in cluster.partitions if one.name in job.partitions and one.longest is not None]
    present = job.time_limit if job.time_limit is not None else min(limits, default=None)
    if present is None:
        return
    shares = (present * part // whole for part, whole in SHARES)
    tried = {seconds // 60 * 60 for seconds in (*shares, *limits, *lasting)}
    for seconds in sorted(tried, reverse=True):
        if 60 <= seconds < present:
            yield Change("time", replace(job, time_limit=seconds, shortest=None))


def _smaller(cluster: Cluster, job: Job, bounds: Sequence[Binding]) -> Iterator[Change]:
    """Yield the job with fewer CPUs, the most first: what its partitions have, what limits allow, and parts of it."""
    most = [
        sum(node.cpus for node in cluster.nodes if node.usable and node.name in one.nodes)
        for one in cluster.partitions
        if one.name in job.partitions
    ]
    most += [int(one.bound or 0) for one in bounds if "Cpu" in one.reason]
    tried = [fewer for part in (2, 4, 8) if (fewer := _divided(job, part)) is not None]
    tried += [fewer for cpus in set(most) if (fewer := _of_cpus(job, cpus)) is not None]
    yield from (Change("size", one) for one in sorted(tried, key=lambda one: -one.cpus))


def _of_cpus(job: Job, most: int) -> Job | None:
    """Return a job of as many of its tasks as these CPUs can run; None if that is no change of its tasks alone."""
    tasks = job.tasks_asked
    if not tasks or job.cpus % tasks or job.gres_per_job or job.tasks_per_node:
        return None
    left = most // (job.cpus // tasks)
    if not 0 < left < tasks:
        return None
    return replace(
        job,
        cpus=job.cpus // tasks * left,
        tasks_asked=left,
        least_nodes=max(job.least_nodes * left // tasks, 1),
        most_nodes=None if job.most_nodes is None else max(job.most_nodes * left // tasks, 1),
    )


def _divided(job: Job, by: int) -> Job | None:
    """Return a job of a fraction of the size; None if it does not divide evenly."""
    tasks = job.tasks_asked or 1
    of_job = _each(job.gres_per_job, by)
    if of_job is None or job.cpus % by or (job.least_nodes % by and job.least_nodes > 1):
        return None
    if job.tasks_asked is not None and tasks % by and not job.gres_per_job:
        return None
    return replace(
        job,
        cpus=job.cpus // by,
        tasks_asked=None if job.tasks_asked is None else max(tasks // by, 1),
        least_nodes=max(job.least_nodes // by, 1),
        most_nodes=None if job.most_nodes is None else max(job.most_nodes // by, 1),
        gres_per_job=of_job,
    )


def _each(gres: tuple[Gres, ...], by: int) -> tuple[Gres, ...] | None:
    if any(one.count % by for one in gres):
        return None
    return tuple(replace(one, count=one.count // by) for one in gres)
