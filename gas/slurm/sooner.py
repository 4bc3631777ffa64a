"""Changes that would make a waiting job start sooner, all planned: less time, smaller size, another partition or QOS.

A changed job is planned in place of the job, as a new submission: a change by ``scontrol update`` keeps its age, so the
real start is no later by priority.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gas.slurm.cluster import Cluster, Gres, Job
from gas.slurm.forecast import forecast, outlooks
from gas.slurm.order import Limits
from gas.slurm.outlook import Outlook

__all__ = ["Change", "Sooner", "sooner"]

SHARES = ((7, 8), (3, 4), (5, 8), (1, 2), (3, 8), (1, 4), (1, 8))
"""Tried shares of a job's time limit."""

MOST_PLANS = 20
"""Number of starts of other jobs, the first ones, before which the job is tried to end."""

WORTH_SECONDS = 600
"""Seconds by which it must start sooner to be reported."""


@dataclass(frozen=True)
class Change:
    """A replacement of a job: the kind of change, and its new request."""

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
        The instant until which jobs that are not shown hold their CPUs.
    """
    asked = _asked(job)
    without = replace(cluster, jobs=tuple(one for one in cluster.jobs if one.id != job.id))
    seen = forecast(without, limits=limits, unseen_until=unseen_until)
    planned = sorted({one.start for one in seen.plans})
    lasting = [_before(start, cluster) for start in planned[:MOST_PLANS]]
    changes = [*_shorter(cluster, asked, lasting), *_smaller(asked)]
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
    """Return the seconds that a job can run from now on until the start of a plan that it must not delay."""
    resolution = cluster.scheduling.resolution
    return start // resolution * resolution - cluster.now - 1


def _shorter(cluster: Cluster, job: Job, lasting: Sequence[int]) -> Iterator[Change]:
    """Return the job with less time, the longest first: shares of its own limit, and times to end before other starts.

    Time limits are whole minutes.
    """
    limits = [one.longest for one in cluster.partitions if one.name in job.partitions and one.longest is not None]
    present = job.time_limit if job.time_limit is not None else min(limits, default=None)
    if present is None:
        return
    tried = {seconds // 60 * 60 for seconds in (*(present * part // whole for part, whole in SHARES), *lasting)}
    for seconds in sorted(tried, reverse=True):
        if 60 <= seconds < present:
            yield Change("time", replace(job, time_limit=seconds, shortest=None))


def _smaller(job: Job) -> Iterator[Change]:
    """Return the job with a half, a quarter and an eighth of its size."""
    for part in (2, 4, 8):
        fewer = _divided(job, part)
        if fewer is not None:
            yield Change("size", fewer)


def _divided(job: Job, by: int) -> Job | None:
    """Return a job of a fraction of the size; None if that is not a whole number."""
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
