"""Accounts, QOS and shares, as slurmrestd publishes them.

``/slurmdb/vX/qos`` and ``/slurmdb/vX/associations`` have limits without usage; ``/slurm/vX/shares`` (v0.0.40 and later)
has the used minutes. Usage under other limits is counted from the jobs that are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Any, TypeVar

from gas.endpoints.slurm.json_entries import Entry
from gas.endpoints.slurm.limit_records import LIKE_PARENT
from gas.errors import Unreachable
from gas.json_text import parsed
from gas.slurm.accounting import Accounting, Association, Bounds, Qos

__all__ = ["QUERIES", "RestQuery", "read_accounting"]

T = TypeVar("T")


@dataclass(frozen=True)
class RestQuery:
    """An endpoint of slurmrestd to query.

    Attributes
    ----------
    service
        ``slurm`` or ``slurmdb``.
    lifetime
        Seconds for which an answer may be cached.
    unknown
        What is unknown without it.
    """

    service: str
    lifetime: int
    unknown: str


QUERIES: Mapping[str, RestQuery] = MappingProxyType(
    {
        "qos": RestQuery("slurmdb", 600, "limits of QOS"),
        "associations": RestQuery("slurmdb", 600, "the accounts and QOS that you may use, and their limits"),
        "shares": RestQuery("slurm", 60, "your fair share"),
    }
)
"""By the name of the endpoint; ``conf`` is read by `json_answers`."""

_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "PARTITION_MINIMUM_NODE": "PartitionMinNodes", "PARTITION_MAXIMUM_NODE": "PartitionMaxNodes",
        "PARTITION_TIME_LIMIT": "PartitionTimeLimit", "ENFORCE_USAGE_THRESHOLD": "EnforceUsageThreshold",
        "NO_RESERVE": "NoReserve", "REQUIRED_RESERVATION": "RequiresReservation", "DENY_LIMIT": "DenyOnLimit",
        "OVERRIDE_PARTITION_QOS": "OverPartQOS", "NO_DECAY": "NoDecay", "USAGE_FACTOR_SAFE": "UsageFactorSafe",
        "RELATIVE": "Relative",
    }
)  # fmt: skip
"""Flags of QOS by their names in sacctmgr."""

_UNLIMITED_LEVEL = 1e18
"""LevelFS from which on it means no usage: slurmrestd then publishes the largest number."""


def read_accounting(
    answers: Mapping[str, str | bytes], user: str, failures: Mapping[str, str] | None = None
) -> Accounting:
    """Return accounts and QOS from the answers to `QUERIES`; if one is missing, a remark says what is unknown."""
    remarks: list[str] = []
    for name, query in QUERIES.items():
        if name not in answers:
            why = (failures or {}).get(name)
            because = f" ({why})" if why else ""
            remarks.append(
                f"slurmrestd's {query.service}/{name} gave no answer{because}; what is missing: {query.unknown}"
            )
    qos = {one.name: one for one in _objects(answers, "qos", ("qos", "QOS"), _qos, remarks)}
    found = list(_objects(answers, "associations", ("associations",), _association, remarks))
    default = next((account for one, account in found if one.user == user and account), "")
    shared = list(_objects(answers, "shares", ("shares/shares",), _share, remarks))
    complete = any(one.account == "root" and not one.user for one in shared)
    return Accounting(
        user, _merged([one for one, _ in found], shared), qos, default, complete, tuple(dict.fromkeys(remarks))
    )


def _document(answer: str | bytes, name: str) -> Entry:
    text = answer if isinstance(answer, str) else answer.decode(errors="replace")
    try:
        return Entry(parsed(text, strict=False), name)
    except ValueError as error:
        raise Unreachable(f"{name}: the answer is not JSON, or cut off ({error})") from None


def _objects(
    answers: Mapping[str, str | bytes],
    name: str,
    paths: tuple[str, ...],
    reader: Callable[[Entry], T],
    remarks: list[str],
) -> Iterable[T]:
    """Yield the objects in an answer; unreadable ones are skipped, with a remark."""
    if name not in answers:
        return
    try:
        listed = _document(answers[name], name).find(*paths)
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            raise Unreachable(f"{name}: {paths[0]} is not a list")
    except Unreachable as error:
        remarks.append(f"slurmrestd's {name} cannot be parsed ({error})")
        return
    for number, value in enumerate(listed):
        try:
            yield reader(Entry(value, f"{name}[{number}]"))
        except Unreachable as error:
            remarks.append(f"slurmrestd's {name} has an object that cannot be parsed ({error}); it is left out")


def _amounts(entry: Entry, path: str) -> dict[str, float]:
    listed = entry.find(path, default=None) or ()
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise entry.fail(path, listed, "list of resources")
    found: dict[str, float] = {}
    for value in listed:
        one = Entry(value, f"{entry.where}, {path}")
        count, kind, name = one.number("count"), one.text("type"), one.text("name", default="")
        if count is not None:
            found[f"{kind}/{name}".lower() if name else kind.lower()] = float(count)
    return found


def _count(entry: Entry, *paths: str) -> int | None:
    return entry.number(*paths, default=None)


def _ratio(entry: Entry, path: str) -> float | None:
    value: Any = entry.find(path, default=None)
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise entry.fail(path, value, "number")
    return float(value)


def _seconds(entry: Entry, path: str) -> int | None:
    """Return a limit in minutes as seconds."""
    minutes = _count(entry, path)
    return None if minutes is None else 60 * minutes


def _qos(entry: Entry) -> Qos:
    most = "limits/max/"
    bounds = Bounds(
        group_tres=_amounts(entry, f"{most}tres/total"),
        group_tres_minutes=_amounts(entry, f"{most}tres/minutes/total"),
        group_run_minutes=_amounts(entry, f"{most}tres/minutes/per/qos"),
        group_jobs=_count(entry, f"{most}active_jobs/count"),
        group_submitted=_count(entry, f"{most}jobs/count"),
        group_wall=_seconds(entry, f"{most}wall_clock/per/qos"),
        job_tres=_amounts(entry, f"{most}tres/per/job"),
        node_tres=_amounts(entry, f"{most}tres/per/node"),
        job_tres_minutes=_amounts(entry, f"{most}tres/minutes/per/job"),
        longest=_seconds(entry, f"{most}wall_clock/per/job"),
        least_tres=_amounts(entry, "limits/min/tres/per/job"),
        user_tres=_amounts(entry, f"{most}tres/per/user"),
        user_run_minutes=_amounts(entry, f"{most}tres/minutes/per/user"),
        user_jobs=_count(entry, f"{most}jobs/active_jobs/per/user"),
        user_submitted=_count(entry, f"{most}jobs/per/user"),
        account_tres=_amounts(entry, f"{most}tres/per/account"),
        account_run_minutes=_amounts(entry, f"{most}tres/minutes/per/account"),
        account_jobs=_count(entry, f"{most}jobs/active_jobs/per/account"),
        account_submitted=_count(entry, f"{most}jobs/per/account"),
        least_priority=_count(entry, "limits/min/priority_threshold"),
    )
    factor, mode = _ratio(entry, "usage_factor"), entry.texts("preempt/mode", default=())
    return Qos(
        entry.text("name"),
        _count(entry, "priority") or 0,
        frozenset(_FLAGS.get(one, one).lower() for one in entry.texts("flags", default=())),
        1.0 if factor is None else factor,
        _ratio(entry, "limits/factor"),
        _ratio(entry, "usage_threshold"),
        bounds,
        preempts=entry.texts("preempt/list", default=()),
        preempt_mode=",".join(one for one in mode if one != "DISABLED").upper(),
        exempt=_count(entry, "preempt/exempt_time"),
        grace=_count(entry, "limits/grace_time") or 0,
    )


def _association(entry: Entry) -> tuple[Association, str]:
    """Return an association, and its account if that is the user's default."""
    user, account = entry.text("user", default=""), entry.text("account")
    shares = _count(entry, "shares_raw")
    bounds = Bounds(
        group_tres=_amounts(entry, "max/tres/total"),
        group_tres_minutes=_amounts(entry, "max/tres/group/minutes"),
        group_run_minutes=_amounts(entry, "max/tres/group/active"),
        group_jobs=_count(entry, "max/jobs/per/count"),
        group_submitted=_count(entry, "max/jobs/per/submitted"),
        group_wall=_seconds(entry, "max/per/account/wall_clock"),
        job_tres=_amounts(entry, "max/tres/per/job"),
        node_tres=_amounts(entry, "max/tres/per/node"),
        job_tres_minutes=_amounts(entry, "max/tres/minutes/per/job"),
        longest=_seconds(entry, "max/jobs/per/wall_clock"),
        jobs=_count(entry, "max/jobs/active"),
        submitted=_count(entry, "max/jobs/total"),
        least_priority=_count(entry, "min/priority_threshold"),
    )
    association = Association(
        account=account,
        user=user,
        partition=entry.text("partition", default=""),
        parent=account if user else entry.text("parent_account", default=""),
        shares=None if shares == LIKE_PARENT else shares,
        priority=_count(entry, "priority") or 0,
        bounds=bounds,
        qos=entry.texts("qos", default=()),
        default_qos=entry.text("default/qos", default=""),
    )
    return association, account if user and entry.find("is_default", default=False) else ""


def _share(entry: Entry) -> Association:
    user = "USER" in entry.texts("type")
    shares = entry.find("shares", default=None)
    raw = _ratio(entry, "shares")
    level = _ratio(entry, "fairshare/level")
    if level is not None and level > _UNLIMITED_LEVEL:
        level = inf
    unset = isinstance(shares, Mapping) and bool(shares.get("infinite"))
    return Association(
        account=entry.text("parent") if user else entry.text("name"),
        user=entry.text("name") if user else "",
        partition=entry.text("partition", default=""),
        parent=entry.text("parent", default=""),
        shares=None if unset or raw == LIKE_PARENT else int(1 if raw is None else raw),
        usage=_ratio(entry, "usage"),
        level=level,
        fair_share=_ratio(entry, "fairshare/factor") if user else None,
        used_minutes=_used_minutes(entry),
    )


def _used_minutes(entry: Entry) -> dict[str, float]:
    """Return the used TRES minutes, which are published in seconds."""
    found: dict[str, float] = {}
    for value in entry.find("tres/usage", default=None) or ():
        one = Entry(value, f"{entry.where}, tres/usage")
        seconds = _ratio(one, "value")
        if seconds:
            found[one.text("name").lower()] = seconds / 60
    return found


def _merged(defined: list[Association], shared: list[Association]) -> tuple[Association, ...]:
    def key(one: Association) -> tuple[str, str, str]:
        return one.account, one.user, one.partition

    found = {key(one): one for one in defined}
    for one in shared:
        there = found.get(key(one))
        found[key(one)] = one if there is None else replace(
            there, shares=one.shares, usage=one.usage, level=one.level, fair_share=one.fair_share,
            used_minutes=one.used_minutes,
        )  # fmt: skip
    return tuple(found.values())
