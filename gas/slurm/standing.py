"""A job with all that its limits depend on: user, account, QOS, and amounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from documents.fields import quoted
from gas.slurm.accounting import Accounting, Association, Qos
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.demand import Demand, allocated, requested
from gas.slurm.release import Counted, subtree
from gas.slurm.settings import Settings

if TYPE_CHECKING:
    from gas.slurm.levels import Level

__all__ = ["Standing", "walltime_minutes"]


@dataclass
class Standing:
    """A job with all that its limits depend on.

    Attributes
    ----------
    association, chain
        Its association, None if there is none or it is not shown; and the association followed by the accounts above.
    qos
        The partition's and the job's, in order of precedence.
    asked, given
        Its minimum request, and its allocation.
    minutes
        The time limit with which limits are checked, in minutes; None if it has none.
    tasks
        Number of jobs that it counts as.
    dated
        Whether to determine when limits release it.
    counting
        Whether limits of QOS and associations are enforced; assumed if not published.
    strict
        Whether it is rejected if it exceeds a limit by itself (DenyOnLimit, or without any QOS).
    levels
        What `gas.slurm.levels` has found, which does not depend on running jobs.
    """

    cluster: Cluster
    job: Job
    partition: Partition
    settings: Settings
    accounting: Accounting
    account: str
    qos_name: str
    association: Association | None
    chain: tuple[Association, ...]
    qos: tuple[Qos, ...]
    asked: Demand
    given: Demand
    minutes: int | None
    tasks: int
    counting: bool
    strict: bool
    dated: bool = True
    unknown: list[str] = field(default_factory=list)
    levels: tuple[Level, ...] | None = None

    @classmethod
    def of(
        cls, cluster: Cluster, job: Job, partition: Partition, qos: str, account: str, given: Demand | None, tasks: int,
        *, dated: bool = True,
    ) -> Standing:  # fmt: skip
        """Return the standing of a job; its `unknown` lists what is not published."""
        unknown = []
        settings = cluster.settings or Settings()
        if cluster.settings is None:
            unknown.append("which limits are enforced (the configuration is not published)")
        accounting = cluster.accounting
        if accounting is None:
            accounting = Accounting(job.user)
            if settings.limits_enforced is not False:
                unknown.append("limits of accounts and QOS (not published)")
        user = job.user or accounting.user
        account = accounting.account_of(account or job.account, user)
        association = accounting.association(account, partition.name, user)
        name = qos or job.qos or (accounting.default_qos(association) if association is not None else "")
        own = accounting.qos.get(name)
        if name and own is None and accounting.qos:
            unknown.append(f"limits of QOS {quoted(name)} (not listed)")
        whole = accounting.qos.get(partition.qos) if partition.qos else None
        if partition.qos and whole is None:
            unknown.append(f"limits of QOS {quoted(partition.qos)} of the partition (not published)")
        pair = [one for one in (whole, own) if one is not None]
        if own is not None and own.has("OverPartQOS"):
            pair.reverse()
        if len(pair) == 2 and pair[0].name == pair[1].name:
            del pair[1]
        chain: tuple[Association, ...] = ()
        if association is not None:
            chain = (association, *accounting.above(association))
            if not accounting.reaches_root(association) and settings.limits_enforced is not False:
                unknown.append(f"limits of the accounts above {quoted(chain[-1].account)} (not shown)")
        case = cls(
            cluster, job, partition, settings, accounting, account, name, association, chain, tuple(pair),
            requested(cluster, job, partition), given or allocated(cluster, job, partition), None, tasks,
            settings.limits_enforced is not False, any(one.has("DenyOnLimit") for one in pair) or not pair, dated,
            unknown,
        )  # fmt: skip
        case.minutes = walltime_minutes(case)
        return case

    def with_running(self, cluster: Cluster, given: Demand | None = None) -> Standing:
        """Return the standing of the same job among other running jobs, and with its allocation if that is known."""
        other = copy(self)
        other.cluster, other.given, other.unknown = cluster, given or self.given, []
        return other

    @property
    def user(self) -> str:
        """The owner of the job."""
        return self.job.user or self.accounting.user

    def counted(self, counts: Callable[[Job], bool]) -> Counted:
        """Return the running jobs that count."""
        return Counted.of(self.cluster, counts, self._factors)

    def when(self, counts: Callable[[Job], bool], reached: Callable[[Counted], int | None]) -> int | None:
        """Return when the ends of counted running jobs release enough; None if not requested.

        If the job is not submitted yet, counted jobs that wait ahead of it start first.
        """
        if not self.dated:
            return None
        return reached(Counted.of(self.cluster, counts, self._factors, None if self.job.id else self.job))

    @property
    def _factors(self) -> dict[str, float]:
        """UsageFactor by QOS."""
        return {one.name: one.usage_factor for one in self.accounting.qos.values()}

    def of_qos(self, qos: Qos) -> Callable[[Job], bool]:
        """Return the test whether a job counts for a QOS: it has this QOS, or is in a partition with it."""
        through = {one.name for one in self.cluster.partitions if one.qos == qos.name}
        return lambda job: job.qos == qos.name or bool(through & set(job.partitions))

    def of_association(self, one: Association) -> Callable[[Job], bool]:
        """Return the test whether a job counts for a user's association, or for an account and all below it."""
        if one.user:
            return lambda job: (
                (job.user, job.account) == (one.user, one.account)
                and (not one.partition or one.partition in job.partitions)
            )
        parents = {other.account: other.parent or "" for other in self.accounting.associations if not other.user}
        below = set(subtree(parents, one.account))
        return lambda job: one.account == "root" or job.account in below


def walltime_minutes(case: Standing) -> int | None:
    """Return the time limit with which a job's limits are checked, in minutes; None if it has none.

    A job without a time limit gets the partition's default, else the longest that limits allow (acct_policy.c,
    acct_policy_validate), else the partition's maximum.
    """
    if case.job.time_limit is not None:
        return ceil(case.job.time_limit / 60)
    if case.partition.default_time is not None:
        return ceil(case.partition.default_time / 60)
    if case.counting and (allowed := list(_allowed_minutes(case))):
        return int(min(allowed))
    return None if case.partition.longest is None else ceil(case.partition.longest / 60)


def _allowed_minutes(case: Standing) -> Iterator[float]:
    """Yield the minutes that limits allow a job of its size; TRES minutes count only if they would reject it."""
    qos = [one.bounds for one in case.qos]
    longest = [one.longest for one in qos] + [one.bounds.longest for one in case.chain[:1]]
    first = next((one for one in longest if one is not None), None)
    if first is not None:
        yield first // 60
    walls = [one.group_wall for one in qos if one.group_wall is not None]
    walls = walls or [one.bounds.group_wall for one in case.chain if one.bounds.group_wall is not None]
    yield from (one // 60 for one in walls)
    if case.strict:
        for bounds in (*qos, *(one.bounds for one in case.chain)):
            for limit in (bounds.job_tres_minutes, bounds.group_tres_minutes, bounds.group_run_minutes):
                yield from (most // amount for name, most in limit.items() if (amount := case.asked.amounts.get(name)))
