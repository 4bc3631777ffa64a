"""Accounts, qualities of service, their limits and their usage, from queries that any user may make.

``scontrol show assoc_mgr`` prints limits with their usage, sacctmgr the definitions in slurmdbd, and sshare the shares.
Any of them may be hidden (PrivateData), fail or be missing: `read_accounting` uses the others, and says in a sentence
what is then unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import TypeVar

from gas.endpoints.slurm.answer_records import whole
from gas.endpoints.slurm.limit_records import read_limits
from gas.endpoints.slurm.notation import duration, words
from gas.endpoints.slurm.resources import amounts
from gas.endpoints.slurm.setting_answers import CONFIG, seconds
from gas.errors import BadInput
from gas.slurm.accounting import Accounting, Association, Bounds, Qos
from gas.slurm.cluster import Cluster

__all__ = ["QUERIES", "Query", "queries", "read_accounting", "with_accounting"]

T = TypeVar("T")


@dataclass(frozen=True)
class Query:
    """A query.

    Attributes
    ----------
    command
        The command to run.
    lifetime
        Seconds for which an answer may be cached.
    unknown
        What is unknown without it.
    """

    command: tuple[str, ...]
    lifetime: int
    unknown: str


_OF_QOS = (
    "Name", "Priority", "Flags", "UsageThres", "UsageFactor", "LimitFactor", "Preempt", "PreemptMode",
    "PreemptExemptTime", "GraceTime", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "GrpSubmit", "GrpWall",
    "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall", "MaxTRESPU", "MaxJobsPU", "MaxSubmitPU", "MaxTRESPA",
    "MaxJobsPA", "MaxSubmitPA", "MinTRES", "MinPrioThresh",
)  # fmt: skip
_OF_ASSOCIATIONS = (
    "Account", "User", "Partition", "ParentName", "Share", "Priority", "QOS", "DefaultQOS", "GrpTRES", "GrpTRESMins",
    "GrpTRESRunMins", "GrpJobs", "GrpSubmit", "GrpWall", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall",
    "MaxJobs", "MaxSubmit", "MinPrioThresh",
)  # fmt: skip
_OF_SHARES = ("Account", "User", "Partition", "RawShares", "RawUsage", "FairShare", "LevelFS")


def queries(user: str) -> Mapping[str, Query]:
    """Return the queries for a user, by the name of the answer."""
    limits = "limits of accounts and QOS, and their current use"
    return {
        "config": Query(CONFIG, 600, "how priorities are calculated, and which limits are enforced"),
        # users= shows this user's associations, all accounts and all QOS: little, even at large sites
        "limits": Query(("scontrol", "-o", "show", "assoc_mgr", "flags=users,assoc,qos", f"users={user}"), 15, limits),
        # some sites recalculate priorities every minute, with these shares
        "shares": Query(("sshare", "-a", "-P", "-n", "-o", ",".join(_OF_SHARES)), 15, "your fair share"),
        "qos": Query(
            ("sacctmgr", "-nP", "show", "qos", f"format={','.join(_OF_QOS)}"),
            600,
            "flags and factors of QOS, and which QOS may preempt others",
        ),
        "associations": Query(
            ("sacctmgr", "-nP", "show", "assoc", f"format={','.join(_OF_ASSOCIATIONS)}", "where", f"user={user}"),
            600,
            "the accounts and QOS that you may use",
        ),
        "accounts": Query(
            ("sacctmgr", "-nP", "show", "assoc", f"format={','.join(_OF_ASSOCIATIONS)}", "where", "user="),
            600,
            "limits of accounts that scontrol hides",
        ),
    }


QUERIES = tuple(queries("me"))
"""Names of the answers."""


def read_accounting(answers: Mapping[str, str], user: str, failures: Mapping[str, str] | None = None) -> Accounting:
    """Return accounts and QOS from the answers to `queries`.

    Parameters
    ----------
    answers
        By name; each may be missing.
    user
        The querying user.
    failures
        Why the others are missing, in words.
    """
    known = queries(user)
    remarks = []
    for name in QUERIES[1:]:
        if name not in answers:
            why = (failures or {}).get(name)
            because = f" ({why})" if why else ""
            what = " ".join(known[name].command[:4])
            remarks.append(f"{what} gave no answer{because}; what is missing: {known[name].unknown}")
    default, associations, qos = read_limits(answers.get("limits", ""), remarks)
    defined = _lines(answers.get("qos", ""), _OF_QOS)
    qos = _with_definitions(qos, [_guarded(_defined_qos, row, remarks, "sacctmgr show qos") for row in defined])
    rows = _lines(answers.get("accounts", "") + "\n" + answers.get("associations", ""), _OF_ASSOCIATIONS)
    own = [_guarded(_defined_association, row, remarks, "sacctmgr show assoc") for row in rows]
    shared, complete = _shares(answers.get("shares", ""), remarks)
    return Accounting(
        user,
        _merged(associations, [one for one in own if one is not None], shared),
        qos,
        default.get(user, ""),
        complete,
        tuple(remarks),
    )


def with_accounting(cluster: Cluster, accounting: Accounting) -> Cluster:
    """Return the cluster with its accounting; missing parts become cautions if they matter."""
    settings = cluster.settings
    counts = settings is None or settings.limits_enforced is not False or bool(settings.weights.get("fair share"))
    cautions = (*cluster.cautions, *accounting.remarks) if counts else cluster.cautions
    return replace(cluster, accounting=accounting, cautions=cautions)


def _guarded(
    reader: Callable[[Mapping[str, str]], T], row: Mapping[str, str], remarks: list[str], what: str
) -> T | None:
    """Return a row as parsed by a reader; None, with a remark, if it cannot be read."""
    try:
        return reader(row)
    except BadInput as error:
        remarks.append(f"{what} has a line that cannot be parsed ({error}); it is left out")
        return None


def _lines(text: str, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield the lines of a ``-P`` answer that have the requested number of columns."""
    for line in text.split("\n"):
        fields = line.split("|")
        if len(fields) == len(columns):
            yield dict(zip(columns, fields, strict=True))


def _number(row: Mapping[str, str], key: str) -> int | None:
    text = row[key].strip()
    return None if text in ("", "-1", "4294967295", "NONE") else whole(text)


def _time(row: Mapping[str, str], key: str) -> int | None:
    return duration(row[key]) if row[key].strip() else None


def _defined_bounds(row: Mapping[str, str]) -> Bounds:
    given = {key: row.get(key, "") for key in {*_OF_QOS, *_OF_ASSOCIATIONS}}
    return Bounds(
        group_tres=amounts(given["GrpTRES"]),
        group_tres_minutes=amounts(given["GrpTRESMins"]),
        group_run_minutes=amounts(given["GrpTRESRunMins"]),
        group_jobs=_number(given, "GrpJobs"),
        group_submitted=_number(given, "GrpSubmit"),
        group_wall=_time(given, "GrpWall"),
        job_tres=amounts(given["MaxTRES"]),
        node_tres=amounts(given["MaxTRESPerNode"]),
        job_tres_minutes=amounts(given["MaxTRESMins"]),
        longest=_time(given, "MaxWall"),
        least_tres=amounts(given["MinTRES"]),
        jobs=_number(given, "MaxJobs"),
        submitted=_number(given, "MaxSubmit"),
        user_tres=amounts(given["MaxTRESPU"]),
        user_jobs=_number(given, "MaxJobsPU"),
        user_submitted=_number(given, "MaxSubmitPU"),
        account_tres=amounts(given["MaxTRESPA"]),
        account_jobs=_number(given, "MaxJobsPA"),
        account_submitted=_number(given, "MaxSubmitPA"),
        least_priority=_number(given, "MinPrioThresh"),
    )


def _defined_qos(row: Mapping[str, str]) -> Qos:
    def ratio(key: str) -> float | None:
        try:
            return float(row[key]) if row[key].strip() else None
        except ValueError:
            raise BadInput(f"{key}={row[key]!r} is not a number") from None

    usage_factor, mode = ratio("UsageFactor"), row["PreemptMode"].strip()
    return Qos(
        row["Name"],
        _number(row, "Priority") or 0,
        frozenset(one.lower() for one in words(row["Flags"])),
        1.0 if usage_factor is None else usage_factor,
        ratio("LimitFactor"),
        ratio("UsageThres"),
        _defined_bounds(row),
        preempts=words(row["Preempt"]),
        preempt_mode="" if mode.lower() == "cluster" else mode.upper(),
        exempt=seconds(row["PreemptExemptTime"]) if row["PreemptExemptTime"].strip() else None,
        grace=seconds(row["GraceTime"]) or 0 if row["GraceTime"].strip() else 0,
    )


def _with_definitions(qos: Mapping[str, Qos], defined: Iterable[Qos | None]) -> dict[str, Qos]:
    """Return the QOS completed by slurmdbd's definitions; the limits of slurmctld, which decides, take precedence."""
    found = dict(qos)
    for one in defined:
        if one is None:
            continue
        there = found.get(one.name)
        if there is None:
            found[one.name] = one
        else:
            # slurmctld lists per-user and per-account limits only with users and accounts that have jobs
            bounds = replace(
                there.bounds, user_tres=one.bounds.user_tres, user_jobs=one.bounds.user_jobs,
                user_submitted=one.bounds.user_submitted, account_tres=one.bounds.account_tres,
                account_jobs=one.bounds.account_jobs, account_submitted=one.bounds.account_submitted,
            )  # fmt: skip
            found[one.name] = replace(
                one, bounds=bounds, use=there.use, use_by_user=there.use_by_user, use_by_account=there.use_by_account
            )
    return found


def _defined_association(row: Mapping[str, str]) -> Association:
    return Association(
        account=row["Account"].strip(),
        user=row["User"],
        partition=row["Partition"],
        parent=row["Account"].strip() if row["User"] else row["ParentName"],
        shares=None if row["Share"] == "parent" else _number(row, "Share"),
        priority=_number(row, "Priority") or 0,
        bounds=_defined_bounds(row),
        qos=words(row["QOS"]),
        default_qos=row["DefaultQOS"],
    )


def _shares(text: str, remarks: list[str]) -> tuple[list[Association], bool]:
    """Return the associations with their shares, nested as indented, and whether all associations are shown."""
    found: list[Association] = []
    path: list[str] = []
    for row in _lines(text, _OF_SHARES):
        name = row["Account"].strip()
        depth = len(row["Account"]) - len(row["Account"].lstrip())
        user = row["User"].strip()
        if not user:
            path[depth:] = [name]
        try:
            found.append(
                Association(
                    account=name,
                    user=user,
                    partition=row["Partition"].strip(),
                    parent=name if user else (path[depth - 1] if 0 < depth <= len(path) else ""),
                    shares=_raw_shares(row["RawShares"]),
                    usage=_ratio(row["RawUsage"]),
                    level=_ratio(row["LevelFS"]),
                    fair_share=_ratio(row["FairShare"]) if user else None,
                )
            )
        except BadInput as error:
            remarks.append(f"sshare has a line that cannot be parsed ({error}); it is left out")
    return found, bool(found) and found[0].account == "root" and not found[0].user


def _raw_shares(text: str) -> int | None:
    """Return the shares; None for the parent's. Root has none, and needs none."""
    text = text.strip()
    return None if text == "parent" else whole(text or "1")


def _ratio(text: str) -> float | None:
    text = text.strip()
    if not text:
        return None
    try:
        return inf if text.lower() == "inf" else float(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a number") from None


def _merged(
    controlled: list[Association], defined: list[Association], shared: list[Association]
) -> tuple[Association, ...]:
    """Return each association once: slurmctld's limits and usage, sshare's shares, slurmdbd's lists of QOS."""

    def key(one: Association) -> tuple[str, str, str]:
        return one.account, one.user, one.partition

    found = {key(one): one for one in defined}
    for one in controlled:
        there = found.get(key(one))
        found[key(one)] = one if there is None else replace(one, qos=there.qos, default_qos=there.default_qos)
    for one in shared:
        there = found.get(key(one))
        found[key(one)] = one if there is None else replace(
            there, shares=one.shares, usage=one.usage if there.usage is None else there.usage, level=one.level,
            fair_share=one.fair_share, parent=there.parent or one.parent,
        )  # fmt: skip
    return tuple(found.values())
