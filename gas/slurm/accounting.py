"""Accounts and users of a cluster (associations), qualities of service, their limits and usage.

Limits have Slurm's meaning (sacctmgr(1), "SPECIFICATIONS FOR ASSOCIATIONS" and "FOR QOS"). Trackable resources (TRES)
have lower-case names; memory is in MB. TRES minutes are in Slurm's units; all other times are seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["Accounting", "Amounts", "Association", "Bounds", "Qos", "Use"]

Amounts = Mapping[str, float]
"""Amounts of trackable resources by name."""


@dataclass(frozen=True)
class Bounds:
    """The limits of one association or QOS: empty or None if there is none.

    Attributes
    ----------
    group_...
        Of all members together: resources and jobs at one time, submitted jobs, TRES minutes of running jobs until
        their time limits, and TRES minutes and seconds of all past jobs.
    job_tres, node_tres, job_tres_minutes, longest
        Per job: resources, average resources per node, TRES minutes until its time limit, and seconds.
    least_tres
        The minimum request of a job (MinTRES).
    jobs, submitted
        Per user association: running jobs, and submitted jobs.
    user_..., account_...
        Of a QOS: limits per user and per account.
    least_priority
        Jobs of a lower priority are not planned (MinPrioThreshold).
    """

    group_tres: Amounts = field(default_factory=dict)
    group_tres_minutes: Amounts = field(default_factory=dict)
    group_run_minutes: Amounts = field(default_factory=dict)
    group_jobs: int | None = None
    group_submitted: int | None = None
    group_wall: int | None = None
    job_tres: Amounts = field(default_factory=dict)
    node_tres: Amounts = field(default_factory=dict)
    job_tres_minutes: Amounts = field(default_factory=dict)
    longest: int | None = None
    least_tres: Amounts = field(default_factory=dict)
    jobs: int | None = None
    submitted: int | None = None
    user_tres: Amounts = field(default_factory=dict)
    user_run_minutes: Amounts = field(default_factory=dict)
    user_jobs: int | None = None
    user_submitted: int | None = None
    account_tres: Amounts = field(default_factory=dict)
    account_run_minutes: Amounts = field(default_factory=dict)
    account_jobs: int | None = None
    account_submitted: int | None = None
    least_priority: int | None = None


@dataclass(frozen=True)
class Use:
    """Usage: running jobs, submitted jobs, resources of running jobs.

    Attributes
    ----------
    tres_minutes, wall
        TRES minutes, and seconds, of all past jobs, with decay.
    run_minutes
        TRES minutes of running jobs until their time limits.
    """

    jobs: int = 0
    submitted: int = 0
    tres: Amounts = field(default_factory=dict)
    tres_minutes: Amounts = field(default_factory=dict)
    run_minutes: Amounts = field(default_factory=dict)
    wall: float = 0.0


@dataclass(frozen=True)
class Association:
    """An account (without a user), or the association of a user with an account.

    Attributes
    ----------
    parent
        The parent account; empty for root, None if not published.
    shares
        RawShares; None for associations that use their account's shares (``parent``).
    usage
        RawUsage: billing units times seconds, with decay.
    level
        LevelFS of Fair Tree; infinite without usage.
    fair_share
        The priority factor, 0 to 1; None if not published, as for accounts.
    priority
        Its value for the association factor.
    bounds
        A user's include those inherited from accounts, except group limits.
    use
        None if not published.
    used_minutes
        TRES minutes of all past jobs, if no other usage is published.
    qos
        The QOS that it may use; None if not published.
    """

    account: str
    user: str = ""
    partition: str = ""
    parent: str | None = None
    shares: int | None = 1
    usage: float | None = None
    level: float | None = None
    fair_share: float | None = None
    priority: int = 0
    bounds: Bounds = field(default_factory=Bounds)
    use: Use | None = None
    used_minutes: Amounts | None = None
    qos: tuple[str, ...] | None = None
    default_qos: str = ""


@dataclass(frozen=True)
class Qos:
    """A quality of service.

    Attributes
    ----------
    flags
        In lower case; None if not published.
    usage_factor, limit_factor
        UsageFactor, and LimitFactor (on the limits of associations).
    usage_threshold
        The smallest fair share with which its jobs run.
    use
        Of all its jobs; None if not published.
    use_by_user, use_by_account
        Users and accounts that are not listed have no usage.
    preempts
        Names of the QOS that its jobs may preempt.
    preempt_mode
        Empty for the cluster's setting.
    exempt, grace
        PreemptExemptTime and GraceTime, in seconds.
    """

    name: str
    priority: int = 0
    flags: frozenset[str] | None = None
    usage_factor: float = 1.0
    limit_factor: float | None = None
    usage_threshold: float | None = None
    bounds: Bounds = field(default_factory=Bounds)
    use: Use | None = None
    use_by_user: Mapping[str, Use] = field(default_factory=dict)
    use_by_account: Mapping[str, Use] = field(default_factory=dict)
    preempts: tuple[str, ...] = ()
    preempt_mode: str = ""
    exempt: int | None = None
    grace: int = 0

    def has(self, flag: str) -> bool:
        """Whether it has a flag, as in sacctmgr(1), Flags."""
        return flag.lower() in (self.flags or frozenset())


@dataclass(frozen=True)
class Accounting:
    """The accounts and QOS that one user can see.

    Attributes
    ----------
    user
        The querying user.
    associations
        The user's own, the visible accounts above them, and other visible ones.
    qos
        By name.
    default_account
        The account of jobs that name none; empty if not published.
    shares_complete
        Whether all associations are present with shares and usage, so that fair share can be computed.
    remarks
        What could not be read, and the consequences, as sentences.
    """

    user: str
    associations: tuple[Association, ...] = ()
    qos: Mapping[str, Qos] = field(default_factory=dict)
    default_account: str = ""
    shares_complete: bool = False
    remarks: tuple[str, ...] = ()

    def own(self) -> tuple[Association, ...]:
        """Return the user's associations."""
        return tuple(one for one in self.associations if one.user == self.user)

    def accounts(self) -> tuple[str, ...]:
        """Return the accounts that the user may use, the default first."""
        names = dict.fromkeys(one.account for one in self.own())
        return tuple(sorted(names, key=lambda name: name != self.default_account))

    def account_of(self, account: str, user: str) -> str:
        """Return the account of a job: the one that it names, else its user's default; empty if not known."""
        return account or (self.default_account if user == self.user else "")

    def association(self, account: str, partition: str = "", user: str | None = None) -> Association | None:
        """Return the association of a job: the one for its partition, else the one for all partitions."""
        user = self.user if user is None else user
        found = self._by_name.get((account, user, partition))
        return self._by_name.get((account, user, "")) if found is None else found

    def qos_of(self, name: str, account: str) -> Qos | None:
        """Return the QOS of a job of the user, by default that of its account; None if unknown."""
        association = self.association(account or self.default_account)
        return self.qos.get(name or (self.default_qos(association) if association is not None else ""))

    @cached_property
    def _by_name(self) -> dict[tuple[str, str, str], Association]:
        return {(one.account, one.user, one.partition): one for one in self.associations}

    def above(self, association: Association) -> Iterator[Association]:
        """Yield the visible accounts of an association from its own to root."""
        name: str | None = association.account if association.user else association.parent
        passed: set[str] = set()
        while name and (account := self._by_name.get((name, "", ""))) is not None and name not in passed:
            passed.add(name)
            yield account
            name = account.parent

    def line(self, account: str) -> tuple[str, ...]:
        """Return an account and those above it, as far as they are shown; nothing if the account is not."""
        own = self._by_name.get((account, "", ""))
        return () if own is None else (account, *(one.account for one in self.above(own)))

    def reaches_root(self, association: Association) -> bool:
        """Whether all accounts above an association are visible."""
        *_, last = (association, *self.above(association))
        return last.account == "root"

    def default_qos(self, association: Association) -> str:
        """Return the QOS of a job that names none; empty if unknown.

        It is the association's default, possibly inherited, else the only QOS in its list, else root's default, else
        ``normal`` (assoc_mgr.c; sacctmgr(1), DefaultQOS).
        """
        if association.default_qos:
            return association.default_qos
        if association.qos is not None and len(association.qos) == 1:
            return association.qos[0]
        root = self._by_name.get(("root", "", ""))
        if root is not None and root.default_qos:
            return root.default_qos
        return "normal" if not self.qos or "normal" in self.qos else ""
