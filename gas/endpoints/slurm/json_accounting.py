"""What slurmrestd says of slurmdbd's jobs, from v0.0.36 on, as sacct prints it: so that one reader does for both.

What is not as sacct has it:

- Up to v0.0.37, and in the first v0.0.39, ``start`` is when a job became eligible. When one that has ended did start,
  its end shows, and how long it ran.
- Jobs of all clusters of the slurmdbd are listed, and only from v0.0.40 on is the own cluster named.
- A job that was requeued is listed once for each time that it ran, where sacct lists the last time only.
- The job of a user without an account in the slurmdbd comes without its user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from documents.fields import shown
from gas.endpoints.slurm.json_entries import Entry
from gas.endpoints.slurm.transport import ACCOUNTED
from gas.errors import BadInput, Unreachable

__all__ = ["accounting_lines"]

FLAGGED = ("RESIZING", "REQUEUED")
"""Of several states of a job, those that sacct prints in place of the others."""


def accounting_lines(document: Mapping[str, Any]) -> bytes:
    """Return what sacct would print of the jobs in an answer.

    Raises
    ------
    BadInput
        It lists the jobs of several clusters, and does not name the own one.
    Unreachable
        It cannot be understood; the message names the job and the key.
    """
    jobs = _last_runs(_of_one_cluster(list(_jobs(document)), Entry(document, "jobs of the accounting")))
    return "\n".join([ACCOUNTED.replace(",", "|"), *map(_line, jobs), ""]).encode()


def _jobs(document: Mapping[str, Any]) -> Iterator[Entry]:
    found = document.get("jobs")
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise Unreachable(f"jobs of the accounting: {shown(found)} is not a list")
    for number, value in enumerate(found):
        entry = Entry(value, f"jobs[{number}] of the accounting")
        entry.where += f" ({shown(value.get('job_id'))})"
        yield entry


def _of_one_cluster(jobs: list[Entry], document: Entry) -> list[Entry]:
    clusters = {entry.text("cluster", default="") for entry in jobs}
    own = document.text("meta/slurm/cluster", "meta/Slurm/cluster", default="")
    if own:
        return [entry for entry in jobs if entry.text("cluster", default=own) == own]
    if len(clusters) > 1:
        raise BadInput(
            f"it lists the jobs of several clusters ({', '.join(sorted(clusters))}) and names this one only from "
            "v0.0.40 on; without the url in the endpoint's table, Gas uses sacct"
        )
    return jobs


def _last_runs(jobs: list[Entry]) -> list[Entry]:
    """Return the jobs without the earlier runs of those that were requeued; a job that was resized keeps its parts."""
    last = {entry.sure("job_id"): entry for entry in sorted(jobs, key=_submitted)}  # stable
    return [entry for entry in jobs if last[entry.sure("job_id")] is entry or _state(entry) == "RESIZING"]


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
    """Return how many CPUs a job had; like sacct, for one that had none, how many it asked for."""
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
