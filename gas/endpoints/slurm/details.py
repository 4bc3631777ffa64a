"""What scontrol says of each job besides squeue, in an answer into which users may have written anything.

Names and comments are printed as they are, with line ends and what looks like other keys or records. Both are known
from squeue, whose answer cannot be forged, and are stepped over. Other texts that users write (directories, files) may
still look like a record of another job: a job of which there are two that differ keeps what squeue says of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo

from gas.endpoints.slurm.answer_records import Record, count, ended
from gas.endpoints.slurm.notation import node_names, tasks
from gas.errors import Unreachable
from gas.slurm.cluster import Cluster, Job
from speedup_models.fields import quoted

__all__ = ["DETAILS", "detailed", "unclear_shares", "with_details"]

DETAILS = ("scontrol", "-a", "-o", "-d", "show", "jobs")
"""What to ask besides where `unclear_shares` finds jobs."""

_HEAD = re.compile(r"^JobId=([0-9]{1,10}) ", re.MULTILINE)
_NAME = re.compile(r"JobId=[0-9]+ (?P<parts>(?:(?:Array|HetJob)\w+=\S* )*)JobName=")
_OWNER = re.compile(
    r"(?P<unique> SLUID=\w+)?(?P<parts> HetJobIdSet=\S*)? UserId=[^=\n]*?\(\d+\) GroupId=[^=\n]*?\(\d+\) "
)
_COMMENT = " Comment="
_REST = re.compile(r".*?(?= Command=|\Z)", re.DOTALL)  # what comes after is written by users
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:&]*)=(\S*)")
_SHARE = re.compile(r" Nodes=(\S+) CPU_IDs=(\S+) ")
_FILES = re.compile(r" StdErr=(.*?) StdIn=.*? StdOut=(.*?)(?: (?:Power|TresPerTask|SubmitLine)=.*)?$", re.DOTALL)
_BESIDES = {"Features": "features", "Licenses": "licences"}


@dataclass(frozen=True)
class _Details:
    """What is said of one job."""

    least: int
    most: int | None
    eligible: int | None
    shares: Mapping[str, int]
    status: int
    signal: int
    stdout: str
    stderr: str
    besides: tuple[str, ...]


def unclear_shares(cluster: Cluster) -> tuple[int, ...]:
    """Return the jobs of which squeue does not say how many CPUs they have on which node: `DETAILS` does."""
    cpus = {node.name: node.cpus for node in cluster.nodes}
    return tuple(
        job.id
        for job in cluster.jobs
        if job.nodes and job.cpus_on is None and sum(cpus.get(name, 0) for name in job.nodes) != job.cpus
    )


def detailed(cluster: Cluster, answer: str, zone: tzinfo | None = None) -> Cluster:
    """Return the cluster with what the answer to `DETAILS` adds to its jobs, and a caution where it cannot be read."""
    jobs, unread = _joined(cluster.jobs, answer, zone)
    if not unread:
        return replace(cluster, jobs=jobs)
    what = "1 job" if len(unread) == 1 else f"{len(unread):,} jobs"
    numbers = ", ".join(map(str, unread[:3])) + (", ..." if len(unread) > 3 else "")
    caution = f"details of {what} could not be read ({numbers}): the plan has them as squeue gives them"
    return replace(cluster, jobs=jobs, cautions=(*cluster.cautions, caution))


def with_details(jobs: tuple[Job, ...], answer: str, zone: tzinfo | None = None) -> tuple[Job, ...]:
    """Return the jobs with what the answer to `DETAILS` adds.

    That is CPUs on each node, node ranges, when they are eligible, how they ended and where their output is.

    Jobs that it does not name, or not clearly, are returned as they are; they came or went in between.
    """
    return _joined(jobs, answer, zone)[0]


def _joined(jobs: tuple[Job, ...], answer: str, zone: tzinfo | None) -> tuple[tuple[Job, ...], list[int]]:
    """Return the jobs with their details, and those of which there are none that can be relied on."""
    found: dict[int, _Details] = {}
    unread: set[int] = set()
    nameless: set[int] = set()
    for job, owned, details in _read({job.id: job for job in jobs}, answer, zone):
        if not owned:  # no record of it, if there is one elsewhere
            nameless.add(job.id)
        elif details is None or found.setdefault(job.id, details) != details:
            unread.add(job.id)
    unread |= nameless - found.keys()
    known = [found.get(job.id) if job.id not in unread else None for job in jobs]
    return tuple(
        job if one is None else replace(
            job, least_nodes=max(one.least, 1), most_nodes=one.most, eligible=one.eligible,
            cpus_on=one.shares or job.cpus_on, exit_status=one.status, signal=one.signal or None,
            stdout=one.stdout, stderr=one.stderr, besides=one.besides,
        )
        for job, one in zip(jobs, known, strict=True)
    ), sorted(unread)  # fmt: skip


def _read(jobs: Mapping[int, Job], answer: str, zone: tzinfo | None) -> Iterator[tuple[Job, bool, _Details | None]]:
    """Return each record of the jobs: whether the job's name and an owner are where they should be, and its details."""
    start = len(answer) - len(answer.lstrip("\n"))
    if not answer.strip() or answer.startswith("No jobs in the system"):
        return
    starts = [one.start() for one in _HEAD.finditer(answer)]
    if not starts or starts[0] != start:
        line = answer.strip().partition("\n")[0]
        raise Unreachable(f"{' '.join(DETAILS)}, line 1: {quoted(line[:80])} is no job")
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
) -> _Details | None:
    """Return what a record says after its owner, or None if that is not all of it.

    Slurm 26.05 prints the line that submitted the job before the names of its files, not after them (`files_last`).
    """
    found = _REST.match(text)
    rest = text if found is None else found[0]
    values = dict(reversed(_PAIR.findall(rest)))
    record = Record(f"job {job.id}", values, zone)
    if files_last:
        files_from = max(files_from, text.rfind(" StdErr="))
    files = _FILES.search(text.rstrip(), files_from)
    shares: dict[str, int] = {}
    try:
        least, most = record.read("NumNodes", count)
        status, signal = record.read("ExitCode", ended)
        eligible = record.instant("EligibleTime")
        for names, numbers in _SHARE.findall(rest):
            listed = Record(record.where, {"Nodes": names, "CPU_IDs": numbers}, zone)
            cpus = listed.read("CPU_IDs", tasks)
            there = (name for name in listed.read("Nodes", node_names) if name in job.nodes)
            shares |= dict.fromkeys(there, len(cpus) if cpus else 0)
    except Unreachable:
        return None
    besides = [word for key, word in _BESIDES.items() if values.get(key, "(null)") not in ("(null)", "")]
    besides += ["GRES"] if any(key.startswith("TresPer") and "gres" in one for key, one in values.items()) else []
    besides += ["parts"] if "HetJob" in parts else []
    stdout, stderr = ("", "") if files is None else (files[2], files[1])
    if files_last:
        stderr = stderr or stdout  # it names that file once where both are one
    return _Details(least, most, eligible, shares, status, signal, stdout, stderr, tuple(besides))
