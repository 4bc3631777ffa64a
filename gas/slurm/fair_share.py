"""Fair share: users who have used less than their share come first.

sshare publishes each user's factor, which `factor` uses if possible. It has six digits; Fair Tree's factors are ranks,
which can be restored exactly. `fair_tree` and `classic` calculate factors from shares and usage, also for future usage
(priority_multifactor.c and fair_tree.c, the same from 22.05 to 26.05).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp2, inf, log

from gas.slurm.accounting import Accounting, Association
from gas.slurm.settings import Settings

__all__ = ["classic", "factor", "fair_tree", "is_classic"]

Key = tuple[str, str, str]


def _key(one: Association) -> Key:
    return one.account, one.user, one.partition


def factor(accounting: Accounting, association: Association, settings: Settings) -> float | None:
    """Return the factor of an association, 0 to 1; None if it is not published and cannot be calculated."""
    if association.fair_share is not None:
        users = sum(bool(one.user) for one in accounting.associations)
        if accounting.shares_complete and not is_classic(settings) and users:
            rank = association.fair_share * users
            if abs(rank - round(rank)) < 1e-5 * users:  # the printed factor is a rank, to six digits
                return round(rank) / users
        return association.fair_share
    if not accounting.shares_complete:
        return None
    calculate = classic if is_classic(settings) else fair_tree
    return calculate(accounting.associations, settings).get(_key(association))


def is_classic(settings: Settings) -> bool:
    """Whether the factor is calculated without Fair Tree (slurm.conf(5), PriorityFlags)."""
    return bool(settings.priority_flags & {"NO_FAIR_TREE", "DEPTH_OBLIVIOUS"})


def _children(associations: Sequence[Association]) -> dict[str, list[Association]]:
    """Return the users and accounts below each account; those of accounts with Fairshare=parent move up."""
    parents = {one.account: one.parent or "" for one in associations if not one.user}
    likes = {one.account for one in associations if not one.user and one.shares is None}
    found: dict[str, list[Association]] = {}
    for one in associations:
        above = one.account if one.user else one.parent or ""
        passed = set()
        while above in likes and above not in passed:
            passed.add(above)
            above = parents.get(above, "")
        if not one.user and one.account in likes:
            continue
        found.setdefault(above, []).append(one)
    return found


def fair_tree(associations: Sequence[Association], settings: Settings | None = None) -> dict[Key, float]:
    """Return the factors of all users by Fair Tree's ranks: 1 for the first, and equal steps down.

    A published LevelFS is preferred to one from usage, which is published in whole numbers; for future usage, leave it
    out. Accounts that tie are not merged: the manual says so, but no release does it. Slurm orders them by an unstable
    sort, so factors below such ties are uncertain.
    """
    children = _children(associations)
    users = sum(bool(one.user) for one in associations)
    usages = {one.account: one.usage or 0.0 for one in associations if not one.user}
    ranks: dict[Key, float] = {}
    left = users

    def visit(account: str, tied_above: int | None) -> None:
        nonlocal left
        below = children.get(account, [])
        total = sum(one.shares or 0 for one in below)
        used = usages.get(account, 0.0)
        levels = [(one, _level(one, total, used)) for one in below]
        levels.sort(key=lambda pair: (-pair[1], not pair[0].user))
        previous: tuple[float, int] | None = None
        tie = tied_above
        for one, level in levels:
            same = previous is not None and previous[0] == level
            rank = previous[1] if same and previous is not None else left
            if tie is not None:
                rank, tie = tie, None
            previous = level, rank
            if one.user:
                ranks[_key(one)] = rank / users
                left -= 1
            else:
                visit(one.account, rank if same else None)

    visit("root", None)
    return ranks


def _level(one: Association, total: int, used: float) -> float:
    """Return LevelFS, the ratio of normalized shares to normalized usage; the published one if there is one."""
    if one.level is not None:
        return one.level
    if one.shares is None:
        return inf
    if one.shares == 0 or total == 0:
        return 0.0
    if not one.usage or not used:
        return inf
    return (one.shares / total) / (one.usage / used)


def classic(
    associations: Sequence[Association], settings: Settings, before: Mapping[Key, float] | None = None
) -> dict[Key, float]:
    """Return the factors of all users without Fair Tree: 2 ** -(usage / shares / dampening).

    Slurm uses the accounts' usage at the previous calculation, so published factors lag by PriorityCalcPeriod.

    Parameters
    ----------
    before
        Usage of accounts at the previous calculation, if known.
    """
    accounts = {one.account: one for one in associations if not one.user}
    siblings: dict[str, list[Association]] = {}
    for one in associations:
        siblings.setdefault(one.account if one.user else one.parent or "", []).append(one)
    root = (accounts["root"].usage or 0.0) if "root" in accounts else 0.0
    of_accounts = root if before is None else before.get(("root", "", ""), 0.0)
    oblivious = "DEPTH_OBLIVIOUS" in settings.priority_flags
    memory: dict[Key, tuple[float, float, float]] = {}

    def norms(one: Association) -> tuple[float, float, float]:
        """Return normalized shares, normalized usage, and effective usage."""
        key = _key(one)
        if key not in memory:
            memory[key] = calculated(one)
        return memory[key]

    def calculated(one: Association) -> tuple[float, float, float]:
        if one.account == "root" and not one.user:
            return 1.0, 1.0 if of_accounts else 0.0, 1.0 if of_accounts else 0.0
        above = accounts.get(one.account if one.user else one.parent or "")
        if above is None:
            return 0.0, 0.0, 0.0
        share_above, _, effective_above = norms(above)
        usage, whole = (
            (one.usage or 0.0, root) if one.user or before is None else (before.get(_key(one), 0.0), of_accounts)
        )
        used = min(usage / whole, 1.0) if whole else 0.0
        if one.shares is None:
            return share_above, used, effective_above
        beside = siblings[above.account]
        total = sum(other.shares or 0 for other in beside)
        part = one.shares / total if total else 0.0
        share = share_above * part
        if above.account == "root":
            return share, used, used
        if not oblivious:
            return share, used, used + (effective_above - used) * part if total else effective_above
        if not (share and share_above and effective_above and used):
            return share, used, used
        over = effective_above / share_above
        all_used = sum(min((other.usage or 0.0) / root, 1.0) for other in beside)
        ratio = (used / share) / (all_used / share_above)
        damp = 1.0 if log(over) * log(ratio) >= 0 else 1 / (1 + (5 * log(over)) ** 2)
        return share, used, over * ratio**damp * share

    found = {}
    for one in associations:
        if one.user:
            share, _, effective = norms(one)
            found[_key(one)] = exp2(-(effective / share) / (settings.dampening or 1)) if share else 0.0
    return found
