"""Details of jobs from scontrol, beyond those of squeue; this answer may contain arbitrary text from users.

scontrol prints names and comments verbatim, including line ends and text that looks like other keys or records. Both
are known from squeue, whose answer cannot be forged, and are skipped. Other text from users (directories, files) may
still look like a record of another job: if a job has two different records, only squeue's data are used.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from types import MappingProxyType
from typing import Any

from documents.fields import quoted
from gas.endpoints.slurm.answer_records import Record, count, ended
from gas.endpoints.slurm.notation import duration, node_names, tasks
from gas.endpoints.slurm.resources import (
    amounts,
    gres,
    is_default_per_gpu,
    licences,
    megabytes,
    memory_per_gpu,
    most_nodes,
)
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Cluster, Gres, Job

__all__ = ["DETAILS", "detailed", "unclear_shares", "with_details"]

DETAILS = ("scontrol", "-a", "-o", "-d", "show", "jobs")
"""The further query for jobs found by `unclear_shares`."""

_HEAD = re.compile(r"^JobId=([0-9]{1,10}) ", re.MULTILINE)
_NAME = re.compile(r"JobId=[0-9]+ (?P<parts>(?:(?:Array|HetJob)\w+=\S* )*)JobName=")
_OWNER = re.compile(
    r"(?P<unique> SLUID=\w+)?(?P<parts> HetJobIdSet=\S*)? UserId=[^=\n]*?\(\d+\) GroupId=[^=\n]*?\(\d+\) "
)
_COMMENT = " Comment="
_COMMAND = " Command="  # text from users follows
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:&]*)=(\S*)")
_SHARE = re.compile(r" Nodes=(\S+) CPU_IDs=(\S+)(?: Mem=(\d+))?(?: GRES=(\S*))?(?=\s)")
_LEADER = re.compile(r"HetJobId=(\d{1,10})")
_TAIL = re.compile(r" ((?:TresPer(?:Job|Node|Socket|Task)|MemPerTres|CpusPerTres|GresEnforceBind|Switches))=(\S*)")
"""Keys after the file names; if one also occurs in the last file name, its last occurrence counts."""

_NUMBERS = {"tasks_asked": "NumTasks", "cpus_per_task": "CPUs/Task", "cpus_per_node": "MinCPUsNode"}
_GRES = {
    "gres_per_node": "TresPerNode", "gres_per_socket": "TresPerSocket", "gres_per_task": "TresPerTask",
    "gres_per_job": "TresPerJob",
}  # fmt: skip
_BEHIND = "Power|SubmitLine|Switches|TresBind|TresFreq|CpusPerTres|MemPerTres|TresPer(?:Job|Node|Socket|Task)|MailUser"
_BEHIND += r"|Gres[A-Z]\w+"
_FILES = re.compile(rf" StdErr=(.*?) StdIn=.*? StdOut=(.*?)(?: (?:{_BEHIND})=.*)?$", re.DOTALL)


def unclear_shares(cluster: Cluster) -> tuple[int, ...]:
    """Return the jobs whose shares of nodes squeue does not show; `DETAILS` does.

    A job with all CPUs of its nodes is not among them, as no other job can use the rest of these nodes.
    """
    nodes = {node.name: node for node in cluster.nodes}
    found = []
    for job in cluster.jobs:
        its = [nodes[name] for name in job.nodes if name in nodes]
        if its and sum(node.cpus for node in its) != job.cpus:
            counted = any(node.memory_allocated or node.gres for node in its)
            if job.cpus_on is None or (counted and job.memory_on is None):
                found.append(job.id)
    return tuple(found)


def detailed(cluster: Cluster, answer: str, zone: tzinfo | None = None) -> Cluster:
    """Return the cluster with details of its jobs from the answer to `DETAILS`, and a caution if it cannot be read.

    Jobs are in the order of the answer, as in slurmctld's list: in this order, Slurm ends jobs that end in the same
    second. squeue sorts them.
    """
    threads = {node.name: node.threads // node.core_cpus for node in cluster.nodes}
    jobs, unread = _joined(cluster.jobs, answer, zone, threads)
    order: dict[int, int] = {}
    for head in _HEAD.finditer(answer):
        order.setdefault(int(head[1]), len(order))
    jobs = tuple(sorted(jobs, key=lambda job: order.get(job.id, len(order))))
    if not unread:
        return replace(cluster, jobs=jobs)
    what = "1 job" if len(unread) == 1 else f"{len(unread):,} jobs"
    numbers = ", ".join(map(str, unread[:3])) + (", ..." if len(unread) > 3 else "")
    caution = f"details of {what} could not be read ({numbers}): the plan uses what squeue shows"
    return replace(cluster, jobs=jobs, cautions=(*cluster.cautions, caution))


def with_details(jobs: tuple[Job, ...], answer: str, zone: tzinfo | None = None) -> tuple[Job, ...]:
    """Return the jobs with details from the answer to `DETAILS`.

    Details are requests, shares of each node, node ranges, the time of eligibility, exit codes and output files. Jobs
    without a single clear record are returned unchanged; they may have started or ended in between.
    """
    return _joined(jobs, answer, zone)[0]


def _joined(
    jobs: tuple[Job, ...], answer: str, zone: tzinfo | None, threads: Mapping[str, int] = MappingProxyType({})
) -> tuple[tuple[Job, ...], list[int]]:
    """Return the jobs with their details, and those without reliable details.

    CPU_IDs counts threads even if only cores count as CPUs (seen on 22.05, 24.11 and 26.05); `threads` has the threads
    per CPU of such nodes.
    """
    found: dict[int, dict[str, Any]] = {}
    unread: set[int] = set()
    nameless: set[int] = set()
    for job, owned, details in _read({job.id: job for job in jobs}, answer, zone):
        if details and "cpus_on" in details:
            details["cpus_on"] = {name: -(-ids // threads.get(name, 1)) for name, ids in details["cpus_on"].items()}
        if not owned:  # does not count if the job has another record
            nameless.add(job.id)
        elif details is None or found.setdefault(job.id, details) != details:
            unread.add(job.id)
    unread |= nameless - found.keys()
    return tuple(
        replace(job, **found[job.id]) if job.id in found and job.id not in unread else job for job in jobs
    ), sorted(unread)


def _read(
    jobs: Mapping[int, Job], answer: str, zone: tzinfo | None
) -> Iterator[tuple[Job, bool, dict[str, Any] | None]]:
    """Yield each record of the jobs: the job, whether its name and an owner are in their places, and its details."""
    start = len(answer) - len(answer.lstrip("\n"))
    if not answer.strip() or answer.startswith("No jobs in the system"):
        return
    starts = [one.start() for one in _HEAD.finditer(answer)]
    if not starts or starts[0] != start:
        line = answer.strip().partition("\n")[0]
        raise Unreachable(f"{' '.join(DETAILS)}, line 1: {quoted(line[:80])} is not a job")
    while start < len(answer):
        head = _HEAD.match(answer, start)
        job = None if head is None else jobs.get(int(head[1]))
        name = _NAME.match(answer, start)
        owner = None
        if job is not None and name is not None and answer.startswith(job.name, name.end()):
            owner = _OWNER.match(answer, name.end() + len(job.name))
        inside = start + 1 if owner is None else owner.end()
        end = _next(starts, inside, len(answer))
        last = inside
        if job is not None and owner is not None and job.comment:
            written = _COMMENT + job.comment
            at = answer.find(written, inside, end + len(written))
            if 0 <= at < end:
                last = at + len(written)
                end = _next(starts, last, len(answer))
        if job is not None:
            parts = "" if name is None or owner is None else name["parts"] + (owner["parts"] or "")
            text = answer[inside:end]
            files_last = owner is not None and owner["unique"] is not None
            found = None if owner is None else _details(job, parts, text, last - inside, zone, files_last=files_last)
            yield job, owner is not None, found
        start = end


def _next(starts: list[int], after: int, last: int) -> int:
    """Return where the next record starts."""
    at = bisect_left(starts, after)
    return starts[at] if at < len(starts) else last


def _details(
    job: Job, parts: str, text: str, files_from: int, zone: tzinfo | None, *, files_last: bool
) -> dict[str, Any] | None:
    """Return the fields of a record after the owner, by attributes of the job; None if the record is incomplete.

    Slurm 26.05 prints the command line of the submission before the file names, not after them (`files_last`).
    """
    rest = text.partition(_COMMAND)[0]
    last = max(text.rfind(" StdOut=", files_from), files_from or text.rfind(" WorkDir="), 0)
    values = dict(_TAIL.findall(text, last)) | dict(reversed(_PAIR.findall(rest)))
    record = Record(f"job {job.id}", values, zone)
    if files_last:
        files_from = max(files_from, text.rfind(" StdErr="))
    files = _FILES.search(text.rstrip(), files_from)
    stdout, stderr = ("", "") if files is None else (files[2], files[1])
    if files_last:
        stderr = stderr or stdout  # printed once if both are the same file
    try:
        least, most = _nodes(job, record)
        status, signal = record.read("ExitCode", ended)
        found: dict[str, Any] = {
            "least_nodes": max(least, 1), "most_nodes": most, "eligible": record.instant("EligibleTime"),
            "exit_status": status, "signal": signal or None, "stdout": stdout, "stderr": stderr,
        }  # fmt: skip
        found |= _request(record, rest)
        found |= _shares(job, rest)
    except Unreachable:
        return None
    leader = _LEADER.search(parts)
    found["leader"] = None if leader is None else int(leader[1])
    return found


def _nodes(job: Job, record: Record) -> tuple[int, int | None]:
    """Return the minimum and maximum number of nodes that a job requests.

    For a waiting job, NumNodes is an estimate of the minimum, or the requested maximum written as a range (6-6); the
    minimum is in its TRES.
    """
    least, most = record.read("NumNodes", count)
    key = "ReqTRES" if "ReqTRES" in record.values else "TRES"
    requested = record.read(key, amounts).get("node") if job.pending and key in record.values else None
    if requested:
        of = record.values.get("NumTasks", "")
        return int(requested), most_nodes(int(requested), least, most, int(of) if of.isdecimal() else None)
    return least, most


def _shares(job: Job, rest: str) -> dict[str, Any]:
    """Return the share of a job on each node; None if not published."""
    cpus_on: dict[str, int] = {}
    memory_on: dict[str, int] = {}
    gres_on: dict[str, tuple[Gres, ...]] = {}
    for names, numbers, memory, has in _SHARE.findall(rest):
        share = Record(f"job {job.id}", {"Nodes": names, "CPU_IDs": numbers, "Mem": memory, "GRES": has}, None)
        cpus, had = share.read("CPU_IDs", tasks), share.read("GRES", gres)
        for name in share.read("Nodes", node_names):
            if name in job.nodes:
                cpus_on[name], gres_on[name] = len(cpus) if cpus else 0, had
                if memory:
                    memory_on[name] = share.read("Mem", megabytes)
    if not cpus_on:
        return {}
    return {"cpus_on": cpus_on, "memory_on": memory_on or None, "gres_on": gres_on}


def _request(record: Record, rest: str) -> dict[str, Any]:
    """Return the request of a job."""
    values = record.values
    found: dict[str, Any] = {}
    for attribute, key in (("account", "Account"), ("qos", "QOS")):
        if key in values:
            found[attribute] = record.text(key)
    for attribute, key in (("nice", "Nice"), ("restarts", "Restarts")):
        if re.fullmatch(r"-?[0-9]{1,10}", values.get(key, "")):
            found[attribute] = int(values[key])
    for attribute, key in _NUMBERS.items():
        if values.get(key, "").isdecimal():
            found[attribute] = record.number(key)
    found["cpus_per_task"] = max(found.get("cpus_per_task", 1), 1)
    if (requested := values.get("NtasksPerN:B:S:C", "0").partition(":")[0]) not in ("0", "*"):
        found["tasks_per_node"] = Record(record.where, {"tasks": requested}, None).number("tasks")
    if (requested := values.get("ReqB:S:C:T", "").rpartition(":")[2]).isdecimal():
        found["threads_per_core"] = int(requested) or None
    if (requested := values.get("NtasksPerN:B:S:C", "").rpartition(":")[2]).isdecimal():
        found["tasks_per_core"] = int(requested) or None
    for attribute, key in _GRES.items():
        if key in values:
            found[attribute] = record.read(key, gres)
    if "CpusPerTres" in values:
        found["cpus_per_gpu"] = sum(one.count for one in record.read("CpusPerTres", gres) if one.name == "gpu") or None
    found |= _memory(record)
    written = rest.partition(" Features=")[2].partition(" DelayBoot=")[0]  # may contain blanks
    found["features"] = "" if written == "(null)" else written
    try:
        found["licences"] = licences(values.get("Licenses", ""))
    except BadInput:  # alternatives
        found["unclear"] = (f"licences {values['Licenses']}",)
    if re.match(r"[1-9]", values.get("Switches", "")):
        found["unclear"] = (*found.get("unclear", ()), f"switches={values['Switches']}")
    if values.get("GresEnforceBind") == "Yes":
        found["unclear"] = (*found.get("unclear", ()), "gres-flags=enforce-binding")
    if "TimeMin" in values:
        found["shortest"] = record.read("TimeMin", duration) or None
    found["contiguous"], found["reboot"] = values.get("Contiguous") == "1", values.get("Reboot") == "1"
    return found | _sharing(record)


def _memory(record: Record) -> dict[str, int | None]:
    """Return the memory that a job requests, in one of three forms."""
    values = record.values
    requested = record.read("MemPerTres", memory_per_gpu) if "MemPerTres" in values else None
    if requested is not None and not is_default_per_gpu(values["MemPerTres"]):
        return {"memory_per_gpu": requested}
    if requested is not None and "MinMemoryTRES" in values:  # from 23.02 on, instead of the other two
        amount = record.read("ReqTRES", amounts) if "ReqTRES" in values else {}
        node = int(amount.get("mem", 0)) // max(int(amount.get("node", 1)), 1)
        return {"memory_per_gpu": requested, "memory_per_node": node or None}
    if requested is not None and values.get("MinMemoryNode", "0") in ("0", "0M") and "MinMemoryCPU" not in values:
        return {"memory_per_gpu": requested}
    for attribute, key in (("memory_per_cpu", "MinMemoryCPU"), ("memory_per_node", "MinMemoryNode")):
        if key in values:
            return {attribute: record.read(key, megabytes)}
    return {}


def _sharing(record: Record) -> dict[str, Any]:
    """Return who may share nodes with a job, which Exclusive= shows from some release after 24.11."""
    sharing = record.text("Exclusive", "") or record.text("OverSubscribe", "")
    alone = sharing == "NODE" or (sharing == "NO" and "Exclusive" not in record.values)
    return {"exclusive": alone, "shared_with": sharing.lower() if sharing in ("USER", "MCS", "TOPO") else ""}
