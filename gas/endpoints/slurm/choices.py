"""The partitions, accounts and QOS among which a user may choose because they accept the user's jobs.

A partition is usable if the smallest possible job could ever start in it, judging by what is published: access lists
(AllowAccounts, AllowQOS, AllowGroups), and permanent limits (`gas.slurm.limits`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gas.endpoints.slurm.options import Options
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.limits import limits
from gas.slurm.verdict import NEVER, REJECTED, Binding

__all__ = ["MOST", "Choice", "choices", "usable", "why_not"]

MOST = 16
"""Largest number of choices that are planned; a user with more has to name an account or a QOS."""


PASSING = re.compile("Submit|^QOSMin")
"""Reasons that do not hold for a larger or later job."""


class Choice(NamedTuple):
    """The account and QOS of a submission; empty for the defaults."""

    account: str = ""
    qos: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """Return it as options of sbatch."""
        named = (("account", self.account), ("qos", self.qos))
        return tuple(f"--{name}={value}" for name, value in named if value)

    @property
    def shown(self) -> str:
        """Return it as part of a name; empty for the defaults."""
        return "".join(f"+{word.removeprefix('--')}" for word in self.words)


def why_not(
    cluster: Cluster,
    partition: Partition,
    user: str,
    *,
    account: str = "",
    qos: str = "",
    groups: frozenset[str] | None = None,
) -> Binding | None:
    """Return what permanently keeps even the smallest job of a user out of a partition; None if nothing does."""
    least = max(1, partition.least_nodes)
    job = Job(
        0, "", user, "PENDING", (partition.name,), least, 1, time_limit=60, least_nodes=least, tasks_asked=least,
        account=account, qos=qos,
    )  # fmt: skip
    found = limits(cluster, job, partition, groups=groups).bindings
    lasting = (one for one in found if one.outcome in (NEVER, REJECTED) and not PASSING.search(one.reason))
    return next(lasting, None)


def usable(cluster: Cluster, user: str, *, groups: frozenset[str] | None = None) -> list[Partition]:
    """Return the partitions that accept jobs of a user, with any of the user's accounts and QOS."""
    found = [one for one in cluster.partitions if one.state in ("", "UP")]
    return [one for one in found if next(_choices(cluster, one, Options(), user, groups), None) is not None]


def choices(
    cluster: Cluster, partitions: tuple[Partition, ...], options: Options, user: str, *,
    groups: frozenset[str] | None = None,
) -> list[Choice]:  # fmt: skip
    """Return the accounts and QOS with which jobs with these options can run in one of the partitions.

    The defaults come first, and are all that is returned if accounts are not published. An account or QOS that the
    options name is fixed.
    """
    found: dict[Choice, None] = {}
    for partition in partitions:
        found |= dict.fromkeys(_choices(cluster, partition, options, user, groups))
    return list(found) or [Choice()]


def _choices(
    cluster: Cluster, partition: Partition, options: Options, user: str, groups: frozenset[str] | None
) -> Iterator[Choice]:
    for account, qos, choice in _combinations(cluster, partition, options):
        if why_not(cluster, partition, user, account=account, qos=qos, groups=groups) is None:
            yield choice


def _combinations(cluster: Cluster, partition: Partition, options: Options) -> Iterator[tuple[str, str, Choice]]:
    """Yield accounts and QOS with the choice that selects them, the defaults first."""
    accounting = cluster.accounting
    if accounting is None or not accounting.own():
        yield options.account, options.qos, Choice()
        return
    usual = accounting.default_account
    for account in (options.account,) if options.account else accounting.accounts():
        named = "" if options.account or account == usual else account
        association = accounting.association(account, partition.name)
        if association is None:
            if options.account:
                yield account, options.qos, Choice()
            continue
        default = accounting.default_qos(association)
        others = dict.fromkeys((default, *(association.qos or ()))) if not options.qos else {options.qos: None}
        for qos in others:
            yield account, qos, Choice(named, "" if options.qos or qos == default else qos)
