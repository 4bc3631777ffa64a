"""Whether a partition is open to the jobs of an account (AllowAccounts, DenyAccounts).

Since 24.11 at the latest, accounts below those in the lists count as well (slurm.conf(5); part_mgr.c).
"""

from __future__ import annotations

from gas.slurm.cluster import Cluster, Partition
from gas.slurm.versions import Rules

__all__ = ["admits"]


def admits(cluster: Cluster, partition: Partition, account: str) -> bool | None:
    """Return whether the partition is open to an account.

    None if this depends on accounts above it that are not shown, or on the account, which is empty if not known.
    """
    listed = partition.allowed_accounts if partition.allowed_accounts is not None else partition.denied_accounts
    if listed is None:
        return True
    if not account:
        return None
    accounts: tuple[str, ...] = (account,)
    complete = True
    if Rules.of(cluster.version).subaccounts:
        accounts, complete = _and_above(cluster, account)
    is_listed = not set(listed).isdisjoint(accounts)
    if not is_listed and not complete:
        return None
    return is_listed is (partition.allowed_accounts is not None)


def _and_above(cluster: Cluster, account: str) -> tuple[tuple[str, ...], bool]:
    """Return an account and the accounts above it that are shown, and whether these are all."""
    accounting = cluster.accounting
    found = () if accounting is None else accounting.line(account)
    return (account, *found[1:]), bool(found) and found[-1] == "root"
