"""Accounts, qualities of service, their limits and their use, from what an ordinary user may ask.

The controller prints limits with what is in use (``scontrol show assoc_mgr``), slurmdbd what is defined (sacctmgr),
and sshare the shares. Any of them may be hidden (PrivateData), fail or not be there: `read_accounting` says in a
sentence what that costs, and makes the best of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import TypeVar

from gas.endpoints.slurm.answer_records import whole
from gas.endpoints.slurm.notation import duration, words
from gas.endpoints.slurm.setting_answers import CONFIG, amounts, seconds
from gas.errors import BadInput
from gas.slurm.accounting import Accounting, Association, Bounds, Qos, Use

__all__ = ["QUESTIONS", "Question", "questions", "read_accounting"]

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """What to ask.

    Attributes
    ----------
    command
        To run.
    lifetime
        Seconds for which an answer is good enough, by how fast such things change.
    costs
        What is not known without it.
    """

    command: tuple[str, ...]
    lifetime: int
    costs: str


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


def questions(user: str) -> Mapping[str, Question]:
    """Return what to ask for a user, by the name of the answer."""
    limits = "limits of accounts and QOS and how much of them is in use"
    return {
        "config": Question(CONFIG, 600, "how priorities are calculated, and which limits count"),
        # with users= it shows their associations, all accounts and all QOS, which is little on large sites too
        "limits": Question(
            ("scontrol", "-o", "show", "assoc_mgr", "flags=users,assoc,qos", f"users={user}"), 60, limits
        ),
        "shares": Question(
            ("sshare", "-a", "-P", "-n", "-o", ",".join(_OF_SHARES)), 60, "the fair share of one's priority"
        ),
        "qos": Question(
            ("sacctmgr", "-nP", "show", "qos", f"format={','.join(_OF_QOS)}"),
            600,
            "flags and factors of QOS, and which may preempt which",
        ),
        "associations": Question(
            ("sacctmgr", "-nP", "show", "assoc", f"format={','.join(_OF_ASSOCIATIONS)}", "where", f"user={user}"),
            600,
            "which accounts and QOS one may use",
        ),
        "accounts": Question(
            ("sacctmgr", "-nP", "show", "assoc", f"format={','.join(_OF_ASSOCIATIONS)}", "where", "user="),
            600,
            "limits of accounts where scontrol hides them",
        ),
    }


QUESTIONS = tuple(questions("me"))
"""Names of the answers."""


def read_accounting(answers: Mapping[str, str], user: str, failures: Mapping[str, str] | None = None) -> Accounting:
    """Return what the answers to `questions` say together.

    Parameters
    ----------
    answers
        By name; each may be missing.
    user
        Who asked.
    failures
        Why others are missing, in words.
    """
    asked = questions(user)
    remarks = []
    for name in QUESTIONS[1:]:
        if name not in answers:
            why = (failures or {}).get(name)
            because = f" ({why})" if why else ""
            remarks.append(
                f"{' '.join(asked[name].command[:4])} gave no answer{because}: {asked[name].costs} are not known"
            )
    default, associations, qos = _limits(answers.get("limits", ""), remarks)
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


def _guarded(
    reader: Callable[[Mapping[str, str]], T], row: Mapping[str, str], remarks: list[str], what: str
) -> T | None:
    """Return what a reader makes of a row, or None and a remark."""
    try:
        return reader(row)
    except BadInput as error:
        remarks.append(f"{what} has a line that is not understood ({error}); it is left out")
        return None


# ------------------------------------------------------------------------------------ scontrol show assoc_mgr

_USER = re.compile(r"UserName=(?P<name>.*?)\((?P<uid>[0-9]+)\) DefAccount=(?P<account>.*?) DefWckey=")
_HEAD = re.compile(
    r"ClusterName=.*? Account=(?P<account>.*?) UserName=(?P<user>.*?)(?:\([0-9]+\))? Partition=(?P<partition>\S*) "
    r"Priority=(?P<priority>[0-9]+) ID=[0-9]+ SharesRaw/Norm/Level/Factor=(?P<shares>[0-9]+)/\S* "
    r"UsageRaw/Norm/Efctv=(?P<usage>[0-9.]+)/\S* ParentAccount=(?P<parent>.*?)(?:\([0-9]+\))? "
    r"(?=Lineage=|Lft|DefAssoc=)"
)
_QOS = re.compile(r"QOS=(?P<name>.*?)(?:\([0-9]+\))? UsageRaw=")
_UIDS = re.compile(r"UserName=([^ =]*?)\(([0-9]+)\) ")
_VALUE = re.compile(r"(?:^|\s)([A-Z]\w+)=(\S*)")
_PER = re.compile(r"(?P<name>[^\s{}=]+)=\{(?P<values>[^{}]*)\}")
_BOUND = re.compile(r"(?P<bound>N|[0-9]+(?:\.[0-9]+)?)(?:\((?P<use>-?[0-9]+(?:\.[0-9]+)?)\))?")
_LIKE_PARENT = 0x7FFFFFFF
"""RawShares of those that share as their account does (SLURMDB_FS_USE_PARENT)."""


def _limits(text: str, remarks: list[str]) -> tuple[dict[str, str], list[Association], dict[str, Qos]]:
    """Return users' default accounts, associations and QOS with limits and use."""
    names = {uid: name for name, uid in _UIDS.findall(text)}
    default: dict[str, str] = {}
    associations: list[Association] = []
    qos: dict[str, Qos] = {}
    for line in text.split("\n"):
        try:
            if (user := _USER.match(line)) is not None:
                default[user["name"]] = user["account"]
            elif (head := _HEAD.match(line)) is not None:
                associations.append(_association(head, line[head.end() :]))
                if " DefAssoc=Yes " in line and head["user"]:  # not all users may be listed
                    default.setdefault(head["user"], head["account"])
            elif (named := _QOS.match(line)) is not None:
                qos[named["name"]] = _qos(named["name"], line[named.end() :], names)
            elif line.startswith(("ClusterName=", "QOS=")):
                raise BadInput(f"{line[:60]!r}...")
        except BadInput as error:
            remarks.append(f"scontrol show assoc_mgr has a record that is not understood ({error}); it is left out")
    return default, associations, qos


def _association(head: re.Match[str], rest: str) -> Association:
    values = dict(_VALUE.findall(rest.partition(" Comment=")[0]))
    bounds, use = _bounds(values)
    shares = int(head["shares"])
    is_root = head["account"] == "root" and not head["user"]
    return Association(
        account=head["account"],
        user=head["user"],
        partition=head["partition"],
        parent="" if is_root else (head["parent"] or None if not head["user"] else head["account"]),
        shares=None if shares == _LIKE_PARENT else shares,
        usage=float(head["usage"]),
        priority=int(head["priority"]),
        bounds=bounds,
        use=use,
    )


def _qos(name: str, rest: str, names: Mapping[str, str]) -> Qos:
    general, _, of_accounts = rest.partition(" Account Limits=")
    of_accounts, _, of_users = of_accounts.partition(" User Limits=")
    values = dict(_VALUE.findall(general))
    bounds, use = _bounds(values)
    by_account, by_user = {}, {}
    for found, per in ((_PER.findall(of_accounts), "PA"), (_PER.findall(of_users), "PU")):
        for who, inside in found:
            part, used = _bounds(dict(_VALUE.findall(inside)), per)
            if per == "PA":
                by_account[who] = used
                bounds = replace(
                    bounds, account_tres=part.account_tres, account_run_minutes=part.account_run_minutes,
                    account_jobs=part.account_jobs, account_submitted=part.account_submitted,
                )  # fmt: skip
            else:
                uid = re.fullmatch(r"(.*)\(([0-9]+)\)", who)
                by_user[names.get(who, who) if uid is None else uid[1]] = used
                bounds = replace(
                    bounds, user_tres=part.user_tres, user_run_minutes=part.user_run_minutes,
                    user_jobs=part.user_jobs, user_submitted=part.user_submitted,
                )  # fmt: skip
    priority = values.get("Priority", "")
    return Qos(
        name, int(priority) if priority.isdecimal() else 0, bounds=bounds, use=use, use_by_user=by_user,
        use_by_account=by_account,
    )  # fmt: skip


def _bounds(values: Mapping[str, str], per: str = "") -> tuple[Bounds, Use]:
    """Return the limits of a record and what is in use; `per` user (PU) or account (PA) of a QOS."""

    def number(*keys: str) -> tuple[int | None, float]:
        text = next((values[key] for key in keys if key in values), "")
        found = _BOUND.fullmatch(text)
        if found is None:
            if text:
                raise BadInput(f"{keys[0]}={text} is no limit")
            return None, 0
        return None if found["bound"] == "N" else int(float(found["bound"])), float(found["use"] or 0)

    def tres(*keys: str) -> tuple[dict[str, float], dict[str, float]]:
        text = next((values[key] for key in keys if key in values), "")
        bounds: dict[str, float] = {}
        uses: dict[str, float] = {}
        for one in words(text):
            name, _, written = one.rpartition("=")
            found = _BOUND.fullmatch(written)
            if found is None:
                raise BadInput(f"{keys[0]}={text} has {one}, which is no limit")
            if found["bound"] != "N":
                bounds[name.lower()] = float(found["bound"])
            if found["use"] is not None and float(found["use"]):
                uses[name.lower()] = float(found["use"])
        return bounds, uses

    if per:
        jobs, running = number(f"MaxJobs{per}")
        submitted, there = number(f"MaxSubmitJobs{per}")
        most, used = tres(f"MaxTRES{per}")
        minutes, run = tres(f"MaxTRESRunMins{per}")
        use = Use(int(running), int(there), used, run_minutes=run)
        if per == "PU":
            return Bounds(user_jobs=jobs, user_submitted=submitted, user_tres=most, user_run_minutes=minutes), use
        return Bounds(
            account_jobs=jobs, account_submitted=submitted, account_tres=most, account_run_minutes=minutes
        ), use
    group_jobs, running = number("GrpJobs")
    group_submitted, there = number("GrpSubmitJobs")
    wall, elapsed = number("GrpWall")
    group_tres, used = tres("GrpTRES")
    group_minutes, used_minutes = tres("GrpTRESMins")
    group_run, run_minutes = tres("GrpTRESRunMins")
    longest = number("MaxWallPJ")[0]
    bounds = Bounds(
        group_tres=group_tres,
        group_tres_minutes=group_minutes,
        group_run_minutes=group_run,
        group_jobs=group_jobs,
        group_submitted=group_submitted,
        group_wall=None if wall is None else 60 * wall,
        job_tres=tres("MaxTRESPJ")[0],
        node_tres=tres("MaxTRESPN")[0],
        job_tres_minutes=tres("MaxTRESMinsPJ")[0],
        longest=None if longest is None else 60 * longest,
        least_tres=tres("MinTRESPJ")[0],
        jobs=number("MaxJobs")[0],
        submitted=number("MaxSubmitJobs")[0],
        least_priority=number("MinPrioThresh")[0],
    )
    return bounds, Use(int(running), int(there), used, used_minutes, run_minutes, 60 * elapsed)


# ------------------------------------------------------------------------------------ sacctmgr and sshare


def _lines(text: str, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield the lines of ``-P`` that have as many columns as were asked for."""
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
            raise BadInput(f"{key}={row[key]!r} is no number") from None

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
    """Return the QOS with what slurmdbd knows besides; the controller's limits count, as it is what decides."""
    found = dict(qos)
    for one in defined:
        if one is None:
            continue
        there = found.get(one.name)
        if there is None:
            found[one.name] = one
        else:
            # a user or an account without jobs has no entry of its limits there
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
    """Return who shares what, each below its account as the indentation says, and whether that is all of them."""
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
                    shares=None if row["RawShares"] == "parent" else _number(row, "RawShares"),
                    usage=_ratio(row["RawUsage"]),
                    level=_ratio(row["LevelFS"]),
                    fair_share=_ratio(row["FairShare"]) if user else None,
                )
            )
        except BadInput as error:
            remarks.append(f"sshare has a line that is not understood ({error}); it is left out")
    return found, bool(found) and found[0].account == "root" and not found[0].user


def _ratio(text: str) -> float | None:
    text = text.strip()
    if not text:
        return None
    try:
        return inf if text.lower() == "inf" else float(text)
    except ValueError:
        raise BadInput(f"{text!r} is no number") from None


def _merged(
    controlled: list[Association], defined: list[Association], shared: list[Association]
) -> tuple[Association, ...]:
    """Return each association once: the controller's limits and use, sshare's shares, slurmdbd's lists of QOS."""

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
