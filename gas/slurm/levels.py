"""The QOS, association and accounts whose limits apply to a job, in order, and their usage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from documents.fields import quoted as quoted_text
from gas.slurm.accounting import Amounts, Bounds, Qos, Use
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.standing import Standing

__all__ = ["Level", "least_priority", "levels", "most_nodes", "usage_of", "usage_per"]

quoted = lru_cache(4096)(quoted_text)  # few names, quoted often


@dataclass(frozen=True)
class Level:
    """A QOS or an association: its limits, usage and jobs."""

    name: str
    bounds: Bounds
    use: Use | None
    counts: Callable[[Job], bool]
    prefix: str
    is_user: bool = False
    qos: Qos | None = None
    used_minutes: Amounts | None = None


def levels(case: Standing) -> tuple[Level, ...]:
    """Return the levels in the order in which Slurm checks them."""
    if case.levels is None:
        case.levels = tuple(_levels(case))
    return case.levels


def _levels(case: Standing) -> Iterator[Level]:
    for one in case.qos:
        yield Level(f"QOS {quoted(one.name)}", one.bounds, one.use, case.of_qos(one), "QOS", qos=one)
    for association in case.chain:
        own = f"your association with account {quoted(association.account)}"
        own += f" in partition {quoted(association.partition)}" if association.partition else ""
        name = own if association.user else f"account {quoted(association.account)}"
        counts = case.of_association(association)
        yield Level(
            name, association.bounds, association.use, counts, "Assoc", bool(association.user),
            used_minutes=association.used_minutes,
        )  # fmt: skip


def most_nodes(cluster: Cluster, job: Job, partition: Partition) -> int | None:
    """Return the largest number of nodes that limits allow one job; None for no limit.

    Slurm chooses at most that many nodes, regardless of usage, so possibly fewer and larger ones than without the limit
    (acct_policy.c, acct_policy_get_max_nodes; seen on 26.05 with GrpTRES=node=3).
    """

    def limits_nodes(bounds: Bounds) -> bool:
        every = (bounds.group_tres, bounds.job_tres, bounds.user_tres, bounds.account_tres)
        return any("node" in one for one in every)

    return _of_levels(cluster, job, partition, "most nodes", limits_nodes, _most_nodes)


def _most_nodes(found: Sequence[Level]) -> int | None:
    """Return the smallest of the per-job and group limits on nodes: a QOS's, else those of associations."""
    own: list[list[float]] = []
    for level in found:
        if level.qos is not None or level.is_user:
            bounds = level.bounds
            every = (bounds.job_tres, bounds.user_tres, bounds.account_tres)
            own.append([one["node"] for one in every if "node" in one])
    first = next((limits for limits in own if limits), [])
    together = [(level.qos, level.bounds.group_tres["node"]) for level in found if "node" in level.bounds.group_tres]
    of_qos = [most for qos, most in together if qos is not None]
    return min((int(one) for one in (*first, *(of_qos[:1] or [most for _, most in together]))), default=None)


def least_priority(cluster: Cluster, job: Job, partition: Partition) -> int | None:
    """Return the priority below which a job gets no plan (MinPrioThreshold); None if nothing sets it.

    A QOS comes before the user's association, and both before bf_min_prio_reserve (acct_policy.c,
    acct_policy_get_prio_thresh; seen on 24.11 and 26.05 with a QOS).
    """
    return _of_levels(
        cluster, job, partition, "least priority", lambda bounds: bounds.least_priority is not None, _least_priority
    )


def _least_priority(found: Sequence[Level]) -> int | None:
    own = (one.bounds.least_priority for one in found if one.qos is not None or one.is_user)
    return next((one for one in own if one is not None), None)


def _of_levels(
    cluster: Cluster, job: Job, partition: Partition, what: str,
    sets: Callable[[Bounds], bool], find: Callable[[Sequence[Level]], int | None],
) -> int | None:  # fmt: skip
    """Return what limits of a kind mean for a job; jobs of one user, account, QOS and partition share the result."""
    settings, accounting = cluster.settings, cluster.accounting
    if settings is None or accounting is None or not settings.limits_enforced:
        return None
    if what not in cluster.worked_out:
        every = [*(one.bounds for one in accounting.associations), *(one.bounds for one in accounting.qos.values())]
        cluster.worked_out[what] = any(map(sets, every))
    if not cluster.worked_out[what]:
        return None
    key = what, job.user, job.account, job.qos, partition.name
    if key not in cluster.worked_out:
        cluster.worked_out[key] = find(levels(Standing.of(cluster, job, partition, "", "", None, 1, dated=False)))
    found = cluster.worked_out[key]
    return found if isinstance(found, int) else None


def usage_of(case: Standing, level: Level) -> Use:
    """Return the usage of a level: as published, else counted from the jobs that are shown."""
    if level.use is not None:
        return level.use
    bounds = level.bounds
    if not _of_several_jobs(bounds):
        return Use()
    found = _counted_use(case, ("use", level.name, case.user if level.is_user else ""), level.counts)
    if bounds.group_wall is not None or (bounds.group_tres_minutes and level.used_minutes is None):
        case.unknown.append(f"how many of its minutes {level.name} has used (not published)")
    return found if level.used_minutes is None else replace(found, tres_minutes=level.used_minutes)


def _of_several_jobs(bounds: Bounds) -> bool:
    """Return whether any of the limits applies to several jobs together, and so depends on usage."""
    if bounds.group_tres or bounds.group_tres_minutes or bounds.group_run_minutes:
        return True
    counts = bounds.group_jobs, bounds.group_submitted, bounds.group_wall, bounds.jobs, bounds.submitted
    return counts != (None,) * len(counts)


def _counted_use(case: Standing, key: tuple[str, ...], counts: Callable[[Job], bool]) -> Use:
    """Return usage counted from the jobs that are shown; cached per cluster."""
    if case.cluster.others_visible is False:
        case.unknown.append("the usage of other users (their jobs are hidden)")
    known = case.cluster.worked_out.get(key)
    if isinstance(known, Use):
        return known
    counted = case.counted(counts)
    resources = {name for _, amounts in counted.jobs for name in amounts}
    waiting = sum((len(job.tasks) if job.tasks else 1) for job in case.cluster.jobs if job.pending and counts(job))
    found = case.cluster.worked_out[key] = Use(
        counted.number(),
        counted.number() + waiting,
        {name: counted.amount(name) for name in resources},
        run_minutes={name: counted.remaining(name, case.cluster.now) for name in resources},
    )
    return found


def usage_per(case: Standing, qos: Qos, *, user: bool) -> tuple[Use, Callable[[Job], bool], str]:
    """Return the usage of a QOS by a user or an account, the jobs that count, and their name in messages."""
    base = case.of_qos(qos)
    if user:
        counts: Callable[[Job], bool] = lambda job: base(job) and job.user == case.user  # noqa: E731
        whose, known = "you", qos.use_by_user.get(case.user)
    else:
        counts = lambda job: base(job) and job.account == case.account  # noqa: E731
        whose, known = f"account {quoted(case.account)}", qos.use_by_account.get(case.account)
    if known is None and qos.use is not None:
        known = Use()  # users not listed there have no jobs
    if known is None:
        who = case.user if user else case.account
        known = _counted_use(case, ("part", qos.name, "user" if user else "account", who), counts)
    return known, counts, whose
