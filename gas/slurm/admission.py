"""Whether a partition is open to the jobs of an account or a QOS (AllowAccounts, DenyAccounts, AllowQos, DenyQos).

Since 24.11 at the latest, accounts below those in the lists count as well (slurm.conf(5); part_mgr.c).
"""

from __future__ import annotations

from collections.abc import Collection

from gas.slurm.cluster import Cluster, Partition
from gas.slurm.versions import Rules

__all__ = ["admits_account", "admits_qos"]


def admits_account(cluster: Cluster, partition: Partition, account: str) -> bool | None:
    """Return whether the partition is open to an account.

    None if this depends on accounts above it that are not shown, or on the account, which is empty if not known.
    """
    names: tuple[str, ...] = (account,) if account else ()
    complete = True
    if account and Rules.of(cluster.version).subaccounts:
        line = () if cluster.accounting is None else cluster.accounting.line(account)
        names, complete = (account, *line), bool(line) and line[-1] == "root"
    return _admits(partition.allowed_accounts, partition.denied_accounts, names, complete=complete)


def admits_qos(partition: Partition, qos: str) -> bool | None:
    """Return whether the partition is open to a QOS; None if it is not known (empty)."""
    return _admits(partition.allowed_qos, partition.denied_qos, (qos,) if qos else ())


def _admits(
    allowed: Collection[str] | None, denied: Collection[str] | None, names: Collection[str], *, complete: bool = True
) -> bool | None:
    """Return whether one of the names is allowed, or if nothing is restricted to the allowed ones, none is denied.

    Parameters
    ----------
    names, complete
        Those of one account or QOS, none if not known; and whether these are all.
    """
    listed = denied if allowed is None else allowed
    if listed is None:
        return True
    is_listed = not set(listed).isdisjoint(names)
    if not names or not (is_listed or complete):
        return None
    return is_listed is (allowed is not None)
