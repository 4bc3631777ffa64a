"""The records of ``scontrol show assoc_mgr``: users, associations and QOS, with limits and their usage.

A limit is printed as ``GrpTRES=cpu=40(32),mem=N(1600)``: the bound, N for none, and the usage. Limits in minutes have
their usage in minutes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gas.endpoints.slurm.notation import words
from gas.errors import BadInput
from gas.slurm.accounting import Association, Bounds, Qos, Use

__all__ = ["LIKE_PARENT", "read_limits"]

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
LIKE_PARENT = 0x7FFFFFFF
"""RawShares of associations with Fairshare=parent (SLURMDB_FS_USE_PARENT)."""


def read_limits(text: str, remarks: list[str]) -> tuple[dict[str, str], list[Association], dict[str, Qos]]:
    """Return users' default accounts, and associations and QOS with limits and usage."""
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
                if " DefAssoc=Yes " in line and head["user"]:  # some users may have no record
                    default.setdefault(head["user"], head["account"])
            elif (named := _QOS.match(line)) is not None:
                qos[named["name"]] = _qos(named["name"], line[named.end() :], names)
            elif line.startswith(("ClusterName=", "QOS=")):
                raise BadInput(f"{line[:60]!r}...")
        except BadInput as error:
            remarks.append(f"scontrol show assoc_mgr has a record that cannot be parsed ({error}); it is left out")
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
        shares=None if shares == LIKE_PARENT else shares,
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
    """Return the limits in a record and their usage; `per` is PU or PA for those of a QOS per user or account."""

    def number(*keys: str) -> tuple[int | None, float]:
        text = next((values[key] for key in keys if key in values), "")
        found = _BOUND.fullmatch(text)
        if found is None:
            if text:
                raise BadInput(f"{keys[0]}={text} is not a limit")
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
                raise BadInput(f"{keys[0]}={text} has {one}, which is not a limit")
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
