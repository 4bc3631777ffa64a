"""Estimates a new job's priority from those of waiting jobs, if weights are not published.

Slurm's multifactor priority is a weighted sum of factors (priority_multifactor.c). Each waiting job publishes its sum,
and most factors are known, so enough jobs determine the weights by least squares; the fit is trusted only if more jobs
agree than there are unknowns. If none of them has a factor of the new job, its priority stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.demand import minutes, requested
from gas.slurm.factors import Factors
from gas.slurm.order import HOLDING
from gas.slurm.settings import Settings

__all__ = ["Observed", "basic_priority", "observed"]

MOST_JOBS = 200
"""Largest number of waiting jobs used for weights, from all parts of the queue."""

BASIC = 4_000_000_000
"""Basic priorities count down from 4294901759 (priority_basic.c); multifactor sums are far below."""

EXACT = 1.5
"""Tolerated error of a sum: priorities are truncated to integers."""

AGREE = 0.8
"""The share of the jobs that must agree; others may have priorities set by administrators."""

FEWEST = 3
"""Number of jobs that must all have the same priority for a new one to be assumed to have it too."""

SHARES = 3
"""Number of users that must have the same share for another one to be assumed to have it too."""

MOMENT = 60
"""Run time up to which a job's usage is negligible, in seconds."""

_DAY = 86_400
_AGES = (7 * _DAY, 1 * _DAY, 14 * _DAY, 30 * _DAY, 3 * _DAY)
"""Tried values of PriorityMaxAge; the first is the default (slurm.conf(5))."""


@dataclass(frozen=True)
class Observed:
    """The estimate of a new job's priority.

    Attributes
    ----------
    value
        Its priority; None if waiting jobs do not determine it.
    comes_last
        Whether the job comes last, as priority is the order of submission.
    jobs
        Number of jobs that agree.
    share
        The assumption about the user's unpublished fair share: the ``same`` as all others, who have equal shares, or
        ``above`` the account's users with jobs, as the user has none; else empty.
    """

    value: int | None = None
    comes_last: bool = False
    jobs: int = 0
    share: str = ""


def observed(cluster: Cluster, job: Job, partition: Partition) -> Observed:
    """Return the estimate of a new job's priority in a partition."""
    there = _shown(cluster)
    if not there:
        return Observed()
    values = np.array([one.priority for one, _ in there], np.float64)
    alike = len(there) >= FEWEST and bool(np.all(values == values[0]))  # then they start in order of submission
    if values.min() > BASIC:
        value = basic_priority(cluster, job)
        return Observed(value, comes_last=value is None, jobs=len(there))
    if alike:
        return Observed(int(values[0]), comes_last=True, jobs=len(there))
    values = values + np.array([one.nice for one, _ in there], np.float64) + 0.5
    named = _named(cluster, job, partition)
    for columns in _models(cluster, [*there, (named, partition)]):
        found = _predicted(cluster, columns[:-1], values, columns[-1])
        if found is not None:
            return Observed(max(int(found[0] - named.nice), 1), False, found[1])
    if len({one.user for one, _ in there}) >= SHARES:
        for columns in _models(cluster, [*there, (named, partition)], alike=True):
            found = _predicted(cluster, columns[:-1], values, columns[-1])
            if found is not None:
                return Observed(max(int(found[0] - named.nice), 1), False, found[1], "same")
    if not any(one.user == named.user and (one.pending or _counts(one)) for one in cluster.jobs):
        return _above(cluster, there, values, named, partition)
    return Observed()


def basic_priority(cluster: Cluster, job: Job) -> int | None:
    """Return the basic priority of a new job; None if it comes last in the queue.

    Each job's is one less than its predecessor's, and less its own nice value, so new jobs overtake niced ones
    (priority_basic.c; seen on 22.05, 24.11 and 26.05). Jobs whose priority an administrator has set do not count.
    """
    without_nice = [one.priority + one.nice for one in cluster.jobs if one.priority + one.nice > BASIC]
    value = min(without_nice, default=0) - 1 - job.nice
    behind = any(one.pending and 0 < one.priority < value for one in cluster.jobs)
    return value if behind else None


def _above(
    cluster: Cluster, there: list[tuple[Job, Partition]], values: NDArray[np.float64], job: Job, partition: Partition
) -> Observed:
    """Return the estimate for a user whose share is above those of the account's users with jobs.

    Fair Tree ranks the users of an account one after another; a user without usage precedes all others (fair_tree.c).
    """
    users = list(dict.fromkeys((one.user, one.account) for one, _ in there))
    found: dict[tuple[str, str], float] = {}
    jobs = 0
    for user, account in users:
        for columns in _models(cluster, [*there, (replace(job, user=user, account=account), partition)]):
            one = _predicted(cluster, columns[:-1], values, columns[-1])
            if one is not None:
                found[user, account], jobs = one
                break
        else:
            return Observed()
    own = [(value, user) for (user, account), value in found.items() if account == job.account]
    if not own:
        return Observed()
    value, best = max(own)
    if any(one.user == best and _counts(one) for one in cluster.jobs):  # else that user has no usage either
        distinct = sorted({round(value) for value in found.values()})
        value += min((later - one for one, later in pairwise(distinct)), default=2) / 2
    return Observed(max(int(value - job.nice), 1), False, jobs, "above")


def _counts(job: Job) -> bool:
    """Return whether a job adds usage: it runs, or ran for longer than a moment."""
    return bool(job.nodes) and (job.state in HOLDING or (job.end or 0) - (job.start or 0) >= MOMENT)


def _shown(cluster: Cluster) -> list[tuple[Job, Partition]]:
    """Return waiting jobs with a priority and a known partition, from all parts of the queue."""
    key = "jobs whose priority is shown"
    known = cluster.worked_out.get(key)
    if isinstance(known, list):
        return known
    partitions = {one.name: one for one in cluster.partitions}
    found = [
        (job, partitions[job.partitions[0]])
        for job in cluster.jobs
        if job.pending and job.id and 0 < job.priority < 2**32 - 1 and job.leader is None
        and len(job.partitions) == 1 and job.partitions[0] in partitions
    ]  # fmt: skip
    some = found[:: max(len(found) // MOST_JOBS, 1)]
    cluster.worked_out[key] = some
    return some


def _named(cluster: Cluster, job: Job, partition: Partition) -> Job:
    """Return the job with its expected account and QOS, as far as known."""
    factors = Factors(cluster, Settings(), job, partition, "", "")
    account = job.account or (factors.association.account if factors.association is not None else "")
    return replace(job, account=account, qos=job.qos or factors.qos)


@dataclass(frozen=True)
class _Row:
    """The factors of a job: shares of the machine's nodes and CPUs, GB, minutes, seconds of waiting."""

    share: float | None
    qos: float | None
    nodes: float
    cpus: float
    memory: float
    limit: float
    waited: int

    @classmethod
    def of(cls, cluster: Cluster, job: Job, partition: Partition) -> _Row:
        """Return the factors of a job in a partition."""
        cpus = cluster.worked_out.get("CPUs")
        if not isinstance(cpus, int):
            cpus = cluster.worked_out["CPUs"] = max(sum(node.cpus for node in cluster.nodes), 1)
        factors = Factors(cluster, cluster.settings or Settings(), job, partition, "", "")
        wanted = requested(cluster, job, partition)
        return cls(
            factors.fair_share(), factors.qos_factor(), wanted.least_nodes / max(len(cluster.nodes), 1),
            wanted.amounts["cpu"] / cpus, wanted.amounts["mem"] / 1024,
            float(max(minutes(job, partition) or 2**32 - 1, 1)),
            max(cluster.now - (job.eligible or job.submitted or cluster.now), 0),
        )  # fmt: skip


def _known_row(cluster: Cluster, job: Job, partition: Partition) -> _Row:
    """Return the cached row of a job of the queue."""
    key = ("row of factors", job.id, partition.name)
    found = cluster.worked_out.get(key)
    if not isinstance(found, _Row):
        found = cluster.worked_out[key] = _Row.of(cluster, job, partition)
    return found


def _models(
    cluster: Cluster, jobs: list[tuple[Job, Partition]], *, alike: bool = False
) -> Iterator[NDArray[np.float64]]:
    """Yield tables of factors, a row for each job, the simplest first: variants of size factors, and ages.

    Parameters
    ----------
    alike
        All users have the same share.
    """
    rows = [*(_known_row(cluster, job, partition) for job, partition in jobs[:-1]), _Row.of(cluster, *jobs[-1])]
    shares = [one.share for one in rows]
    if alike:
        share = np.zeros((len(jobs), 1))
    elif None in shares:  # a number of its own for each user
        who = [(job.user, job.account) for job, _ in jobs]
        share = _indicators(who)
    else:
        share = np.array([[one] for one in shares], np.float64)
    known = [one.qos for one in rows]
    qos = _indicators([job.qos for job, _ in jobs]) if None in known else np.array([[one] for one in known], np.float64)
    places = _indicators([partition.name for _, partition in jobs])
    size = np.array([[one.nodes + one.cpus] for one in rows]) / 2
    relative = np.array([max(one.nodes, one.cpus) / one.limit for one in rows])
    of_cpus = np.array([[one.cpus] for one in rows])
    of_memory = np.array([[one.memory] for one in rows])
    waited = np.array([one.waited for one in rows])
    waited[-1] = 0  # the new job
    common = [np.ones((len(jobs), 1)), share, qos, places]
    ages = [np.minimum(waited, most)[:, None] / _DAY for most in _AGES]
    sizes = ([size], [relative[:, None]], [size, of_cpus, of_memory])
    for one in sizes:
        yield np.hstack([*common, *one])
    for one in sizes:
        for age in ages if waited.max() > min(_AGES) else ages[:1]:
            yield np.hstack([*common, *one, age])


def _indicators(values: list[object] | list[str] | list[tuple[str, str]]) -> NDArray[np.float64]:
    known = {value: at for at, value in enumerate(dict.fromkeys(values))}
    found = np.zeros((len(values), len(known)))
    found[np.arange(len(values)), [known[value] for value in values]] = 1
    return found


@dataclass(frozen=True)
class _Fit:
    """Weights of columns divided by `scale`; `basis` spans the rows that agree, whose number it has."""

    weights: NDArray[np.float64]
    scale: NDArray[np.float64]
    basis: NDArray[np.float64]
    agree: int


def _predicted(
    cluster: Cluster, table: NDArray[np.float64], values: NDArray[np.float64], new: NDArray[np.float64]
) -> tuple[float, int] | None:
    """Return the sum for a new row, and the number of rows that agree; None if they do not determine it."""
    shown = np.abs(table).max(axis=0) > 0
    if np.any(new[~shown] != 0):
        return None
    table, new = table[:, shown], new[shown]
    key = ("fit of factors", table.shape, table.tobytes(), values.tobytes())
    if key not in cluster.worked_out:  # the same rows for each new job
        cluster.worked_out[key] = _fit(table, values)
    fit = cluster.worked_out[key]
    if not isinstance(fit, _Fit):
        return None
    new = new / fit.scale
    outside = new - fit.basis.T @ (fit.basis @ new)
    if np.abs(outside).max() > 1e-6 * max(np.abs(new).max(), 1):
        return None
    return float(new @ fit.weights), fit.agree


def _fit(table: NDArray[np.float64], values: NDArray[np.float64]) -> _Fit | None:
    """Return the weights on which enough rows agree."""
    scale = np.abs(table).max(axis=0)
    table = table / scale
    kept = np.ones(len(table), np.bool_)
    while True:
        weights, _, rank, _ = np.linalg.lstsq(table[kept], values[kept], rcond=1e-9)
        missed = np.abs(table @ weights - values)
        if rank >= kept.sum():  # no rows are left to check the fit
            return None
        if missed[kept].max() <= EXACT:
            break
        most = max(len(table) // 50, 1)  # drop the rows with the largest errors, a few at a time
        worst = np.argsort(np.where(kept, missed, -1.0))[-most:]
        kept[worst] = False
        if kept.sum() < AGREE * len(table):
            return None
    rows = np.linalg.svd(table[kept], full_matrices=False)
    basis = rows[2][rows[1] > 1e-9 * rows[1].max()]
    return _Fit(weights.astype(np.float64), scale, basis, int(kept.sum()))
