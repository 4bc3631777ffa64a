"""The queue of an S³ and its past, from the data of jobs that all users see: sizes, walltimes, users, times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gas.errors import BadInput, Unreachable

if TYPE_CHECKING:  # imported where it is used: planning does not need it
    from gas.prediction.entries import Entry
    from gas.prediction.history import History
    from gas.prediction.snapshot import Snapshot

__all__ = ["HISTORY_FIELDS", "SNAPSHOT_FIELDS", "fields_of", "history_of", "in_turn", "snapshot_of"]

_SHOWN = ("kind", "state", "user", "processors", "walltime", "submitted", "start")

SNAPSHOT_FIELDS = (*_SHOWN, "not_before", "promise", "due")
"""The fields of each job that `snapshot_of` reads."""

HISTORY_FIELDS = (*_SHOWN, "finished")
"""The fields of each job that `history_of` reads."""

TEACHING = ("completed", "failed", "timeout")
"""The states of jobs that ended by themselves, or used their whole walltimes."""


def fields_of(machine: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields of a job that `snapshot_of` needs; services of earlier versions have no priority."""
    return (*SNAPSHOT_FIELDS, "priority") if machine.get("classes") else SNAPSHOT_FIELDS


def in_turn(jobs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return jobs, listed by number, in the order of the queue: higher priorities first."""
    return sorted(jobs, key=lambda job: -(job.get("priority") or 0))


def snapshot_of(
    name: str, machine: Mapping[str, Any], jobs: Sequence[Mapping[str, Any]], users: Mapping[str, int]
) -> Snapshot:
    """Return the snapshot of an S³. Reservations are fixed, and have their processors to their ends.

    Parameters
    ----------
    name
        Its name for the user.
    machine, jobs
        The answers to ``GET /v1/machine`` and, after it, ``GET /v1/jobs``, in queue order.
    users
        Numbers of known users.

    Raises
    ------
    Unreachable
        An answer is invalid.
    """
    from gas.prediction.entries import snapshot_from

    now = _integer(name, machine, "now")
    active = [job for job in jobs if job.get("state") in ("queued", "reserved", "running")]
    now = max([now, *(_integer(name, job, "start") for job in active if job["state"] == "running")])
    entries = [_entry(name, job, users) for job in active]
    return snapshot_from(now, _integer(name, machine, "processors"), entries)


def history_of(name: str, jobs: Sequence[Mapping[str, Any]]) -> History:
    """Return the history of an S³ from the answer to ``GET /v1/jobs?ended=N``.

    A cancelled job shows its user's decision, not how long it would have run, and a reservation holds its processors to
    its end: both are left out. A job that was ended at its walltime has used all of it.

    Raises
    ------
    BadInput
        No job has ended.
    Unreachable
        The answer is invalid.
    """
    from gas.prediction.history import History
    from workloads import Log
    from workloads.header import Header

    users: dict[str, int] = {}
    rows = []
    for job in jobs:
        state = job.get("state")
        if job.get("kind") == "reservation" or state not in (*TEACHING, "queued", "running"):
            continue
        submitted, walltime = _integer(name, job, "submitted"), _integer(name, job, "walltime")
        wait, run_time = -1, 0  # for a job that has not ended, whose end is unknown
        if state in TEACHING:
            start = _integer(name, job, "start")
            wait = start - submitted
            run_time = walltime if state == "timeout" else _integer(name, job, "finished") - start
        user = users.setdefault(str(job.get("user")), len(users))
        rows.append((submitted, wait, run_time, _integer(name, job, "processors"), walltime, user))
    if all(wait < 0 for _, wait, *_ in rows):
        raise BadInput(f"{name}: no job has ended there yet, so there is no history to learn from")
    rows.sort(key=lambda row: row[0])
    first = rows[0][0]
    submit, *known = zip(*rows, strict=True)
    names = ("wait", "run_time", "requested_processors", "requested_time", "user")
    columns = {"submit": [one - first for one in submit], **dict(zip(names, known, strict=True))}
    header = Header.of([("Version", "2.2"), ("UnixStartTime", first), ("TimeZoneString", "UTC")])
    return History.of_log(Log.from_columns(columns, header=header, name="own past"), users)


def _entry(name: str, job: Mapping[str, Any], users: Mapping[str, int]) -> Entry:
    from gas.prediction.entries import Entry

    running, reservation = job["state"] == "running", job.get("kind") == "reservation"
    start, walltime = _integer(name, job, "start" if running else "promise"), _integer(name, job, "walltime")
    if running and job.get("due") is not None:  # after its walltime if it could not be ended
        walltime = max(walltime, _integer(name, job, "due") - start)
    not_before = None if reservation or job.get("not_before") is None else _integer(name, job, "not_before")
    user = users.get(str(job.get("user")), -1)
    submit = None if job.get("submitted") is None else _integer(name, job, "submitted")
    return Entry(_integer(name, job, "processors"), walltime, start, running, user, reservation, not_before, submit)


def _integer(name: str, answer: Mapping[str, Any], key: str) -> int:
    value = answer.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreachable(f"{name}: returned {key} {value!r} instead of a whole number; is it an S³ service?")
    return value
