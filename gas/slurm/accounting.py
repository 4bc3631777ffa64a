"""Who may have how much: the accounts and users of a cluster (associations), qualities of service, limits and use.

Limits have Slurm's meaning (sacctmgr(1), "SPECIFICATIONS FOR ASSOCIATIONS" and "FOR QOS"). Amounts of trackable
resources (TRES) are by name in small letters, memory in MB; those in minutes are amount times minutes, as Slurm counts
them, all other times are seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["Accounting", "Amounts", "Association", "Bounds", "Qos", "Use"]

Amounts = Mapping[str, float]
"""How much of each trackable resource."""


@dataclass(frozen=True)
class Bounds:
    """The limits of one association or QOS: empty or None where there is none.

    Attributes
    ----------
    group_...
        Of all who have it together: resources and jobs at one time, jobs that wait or run, resources times minutes of
        those that run until their limits, and of all that ran so far; seconds that they ran so far.
    job_tres, node_tres, job_tres_minutes, longest
        Of one job: resources, resources of a node on average, resources times minutes of its time limit, seconds.
    least_tres
        What a job must ask for at least (MinTRES).
    jobs, submitted
        Of one user association: jobs that run, and that wait or run.
    user_..., account_...
        Of a QOS: what each user, each account may have of it.
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
    """What is in use: jobs that run, jobs that wait or run, resources of those that run.

    Attributes
    ----------
    tres_minutes, wall
        Resources times minutes and seconds of all that ran so far, as they have decayed.
    run_minutes
        Resources times minutes that running jobs have until their limits.
    """

    jobs: int = 0
    submitted: int = 0
    tres: Amounts = field(default_factory=dict)
    tres_minutes: Amounts = field(default_factory=dict)
    run_minutes: Amounts = field(default_factory=dict)
    wall: float = 0.0


@dataclass(frozen=True)
class Association:
    """An account (without a user), or a user's place in one.

    Attributes
    ----------
    parent
        The account above; empty for root's, and None where that is not published.
    shares
        RawShares; None for those who share as their account does (``parent``).
    usage
        RawUsage: billing units times seconds, as they have decayed.
    level
        LevelFS of Fair Tree; infinite where nothing was used.
    fair_share
        The factor of the priority, 0 to 1; None where that is not published, as of accounts.
    priority
        What counts for the factor "association".
    bounds
        Those of a user include what it inherits from its accounts, except the limits of groups.
    use
        None where it is not published.
    used_minutes
        Resources times minutes of all that ran so far, where that alone is published of its use.
    qos
        The QOS that it may use; None where that is not published.
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
        In small letters; None where they are not published.
    usage_factor, limit_factor
        What use of it counts, and what limits of associations are multiplied with.
    usage_threshold
        The least fair share with which its jobs run.
    use
        Of all its jobs; None where it is not published.
    use_by_user, use_by_account
        Who is not named uses nothing.
    preempts
        Names of the QOS whose jobs its jobs may preempt.
    preempt_mode
        Empty for what the cluster has.
    exempt, grace
        Seconds that its jobs run before they may be preempted, and that they get to end.
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
    """What is published of accounts and QOS to one user.

    Attributes
    ----------
    user
        Who asks.
    associations
        The user's own, the accounts above them as far as they are shown, and others that are.
    qos
        By name.
    default_account
        Whose jobs name none; empty where that is not published.
    shares_complete
        Whether all associations are there with shares and use, so that fair share can be computed.
    remarks
        What could not be read and what that costs, in sentences.
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

    def association(self, account: str, partition: str = "", user: str | None = None) -> Association | None:
        """Return the association of a job: the one for the partition if there is one, else the one for all."""
        user = self.user if user is None else user
        found = self._by_name.get((account, user, partition))
        return self._by_name.get((account, user, "")) if found is None else found

    @cached_property
    def _by_name(self) -> dict[tuple[str, str, str], Association]:
        return {(one.account, one.user, one.partition): one for one in self.associations}

    def above(self, association: Association) -> Iterator[Association]:
        """Yield the accounts of an association from its own to root, as far as they are shown."""
        name: str | None = association.account if association.user else association.parent
        passed: set[str] = set()
        while name and (account := self._by_name.get((name, "", ""))) is not None and name not in passed:
            passed.add(name)
            yield account
            name = account.parent

    def reaches_root(self, association: Association) -> bool:
        """Whether all accounts above an association are shown."""
        *_, last = (association, *self.above(association))
        return last.account == "root"

    def default_qos(self, association: Association) -> str:
        """Return the QOS of a job that names none; empty if that cannot be known.

        The association's default (inherited ones are there), else the only one of its list, else root's, else
        ``normal`` (assoc_mgr.c, as the manual of sacctmgr has it under DefaultQOS).
        """
        if association.default_qos:
            return association.default_qos
        if association.qos is not None and len(association.qos) == 1:
            return association.qos[0]
        root = self._by_name.get(("root", "", ""))
        if root is not None and root.default_qos:
            return root.default_qos
        return "normal" if not self.qos or "normal" in self.qos else ""
