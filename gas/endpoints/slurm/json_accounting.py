"""Converts slurmrestd's jobs from slurmdbd (v0.0.36 and later) to sacct's output, so that one reader serves both.

slurmrestd differs from sacct in these points:

- Up to v0.0.37, and in the first v0.0.39, ``start`` is when a job became eligible. The start of a job that has ended
  follows from its end and run time.
- It lists the jobs of all clusters of a slurmdbd, and names its own cluster only from v0.0.40.
- It lists a requeued job once for each run; sacct lists only the last run.
- It omits the user of a job if the user has no account in slurmdbd.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from documents.fields import shown
from gas.endpoints.slurm.json_entries import Entry
from gas.endpoints.slurm.transport import ACCOUNTED
from gas.errors import BadInput, Unreachable

__all__ = ["accounting_lines"]

FLAGGED = ("RESIZING", "REQUEUED")
"""States of a job that sacct prints instead of its other states."""


def accounting_lines(document: Mapping[str, Any]) -> bytes:
    """Return what sacct would print for the jobs in an answer.

    For a job that cannot be read, the line is the reason; the reader of sacct's lines skips and counts it.

    Raises
    ------
    BadInput
        It lists the jobs of several clusters, and does not name its own.
    Unreachable
        No job can be read; the message names the first and the key.
    """
    jobs = document.get("jobs")
    if not isinstance(jobs, Sequence) or isinstance(jobs, str):
        raise Unreachable(f"jobs of the accounting: {shown(jobs)} is not a list")
    read: list[_Job] = []
    odd: list[Unreachable] = []
    for number, value in enumerate(jobs):
        try:
            read.append(_job(number, value))
        except Unreachable as error:
            odd.append(error)
    if odd and not read:
        raise odd[0]
    kept = _last_runs(_of_one_cluster(read, Entry(document, "jobs of the accounting")))
    reasons = (re.sub(r"[|\s]+", " ", str(error)) for error in odd)
    return "\n".join([ACCOUNTED.replace(",", "|"), *(job.line for job in kept), *reasons, ""]).encode()


class _Job(NamedTuple):
    id: int
    cluster: str | None
    submitted: int
    resizing: bool
    line: str


def _job(number: int, value: Any) -> _Job:
    entry = Entry(value, f"jobs[{number}] of the accounting")
    entry.where += f" ({shown(value.get('job_id'))})"
    cluster = entry.text("cluster", default="") or None
    return _Job(entry.sure("job_id"), cluster, _submitted(entry), _state(entry) == "RESIZING", _line(entry))


def _of_one_cluster(jobs: list[_Job], document: Entry) -> list[_Job]:
    own = document.text("meta/slurm/cluster", "meta/Slurm/cluster", default="")
    if own:
        return [job for job in jobs if job.cluster in (None, own)]
    clusters = {job.cluster or "" for job in jobs}
    if len(clusters) > 1:
        raise BadInput(
            f"it lists the jobs of several clusters ({', '.join(sorted(clusters))}) and names this one only from "
            "v0.0.40 on; without the url in the endpoint's table, Gas uses sacct"
        )
    return jobs


def _last_runs(jobs: list[_Job]) -> list[_Job]:
    """Return the jobs without earlier runs of requeued ones; a resized job keeps its parts."""
    last = {job.id: job for job in sorted(jobs, key=lambda job: job.submitted)}  # stable
    return [job for job in jobs if last[job.id] is job or job.resizing]


def _submitted(entry: Entry) -> int:
    return entry.instant("time/submission") or 0


def _line(entry: Entry) -> str:
    start, end = entry.instant("time/start"), entry.instant("time/end")
    elapsed = entry.number("time/elapsed") or 0
    if start is not None and end is not None:
        start = end - elapsed - (entry.number("time/suspended", default=0) or 0)
    cells = (
        _id(entry),
        entry.text("user", default="") or entry.text("association/user", default=""),
        _limit(entry),
        elapsed,
        _submitted(entry) or "Unknown",
        entry.instant("time/eligible", default=None) or "Unknown",
        start or "Unknown",
        end or "Unknown",
        _cpus(entry),
        entry.number("allocation_nodes") or 0,
        _state(entry),
        entry.text("name", default="").replace("\n", " "),
    )
    return "|".join(map(str, cells))


def _id(entry: Entry) -> str:
    array = entry.number("array/job_id", default=None)
    if array:
        task = entry.number("array/task_id", default=None)
        return f"{array}_{task}" if task is not None else f"{array}_[{entry.text('array/task', default='')}]"
    parts = entry.number("het/job_id", default=None)
    if parts:
        return f"{parts}+{entry.number('het/job_offset', default=None) or 0}"
    return str(entry.sure("job_id"))


def _limit(entry: Entry) -> str:
    minutes = entry.number("time/limit")
    if minutes is None:
        return "UNLIMITED"
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:00"


def _cpus(entry: Entry) -> int:
    """Return the CPUs that a job had; like sacct, those requested if it had none."""
    found = entry.find("tres/allocated", default=None) or ()
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise entry.fail("tres/allocated", found, "list")
    for number, value in enumerate(found):
        one = Entry(value, f"{entry.where}, tres/allocated[{number}]")
        if one.text("type") == "cpu":
            return one.number("count") or 0
    return entry.number("required/CPUs", default=None) or 0


def _state(entry: Entry) -> str:
    states = [state.upper() for state in entry.texts("state/current")]
    if not states:
        raise Unreachable(f"{entry.where}, state/current is empty")
    return next((state for state in states if state in FLAGGED), states[0])
