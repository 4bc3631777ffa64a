"""Jobs as rows of the store: what each column holds, the seal over it, and reading a row that may be damaged.

SQLite verifies how its file hangs together, not what stands in it: a flipped bit inside a value goes unnoticed. So
every row carries a *seal*, a CRC-32 over its values: one over what was asked for, which never changes, and one over the
life of the job, written anew with each change.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from gas.errors import StoreDamaged
from gas.service.jobs import Actuator, Job, JobRequest, JobState, Kind

__all__ = ["ASKED", "LIFE", "DamagedRow", "asked_row", "command_row", "job_of", "life_row", "seal"]

ASKED = (
    "id", "identity", "user", "kind", "name", "processors", "walltime", "actuator", "directory", "run_time",
    "wished_start", "start_by", "client_key", "submitted", "first_promise",
)  # fmt: skip
"""The columns of what was asked for, in the order in which they are sealed."""

LIFE = ("state", "start", "promise", "due", "finished", "exit_status", "signal", "message", "broken_promise")
"""The columns that change, in the order in which they are sealed (after id and identity)."""

_INTEGERS = ("id", "processors", "walltime", "submitted", "first_promise", "start", "promise", "due")
_OPTIONAL_INTEGERS = ("run_time", "wished_start", "start_by", "finished", "exit_status", "broken_promise")
_OPTIONAL_TEXTS = ("directory", "client_key", "signal", "message")
_CHOICES: dict[str, tuple[str, ...]] = {
    "state": get_args(JobState),
    "kind": get_args(Kind),
    "actuator": get_args(Actuator),
}


class DamagedRow(StoreDamaged, sqlite3.DatabaseError):
    """A row does not hold what was written to it."""


def seal(values: Iterable[object]) -> int:
    """Return the checksum of some values: integers, texts and None."""
    return zlib.crc32(json.dumps(list(values)).encode())


def asked_row(job: Job) -> tuple[object, ...]:
    """Return the values of `ASKED`, and their seal."""
    request = job.request
    values = (
        job.id, job.identity, request.user, request.kind, request.name, request.processors, request.walltime,
        request.actuator, request.directory, request.run_time, request.start, request.start_by, request.key,
        job.submitted, job.first_promise,
    )  # fmt: skip
    return *values, seal(values)


def life_row(job: Job) -> tuple[object, ...]:
    """Return the values of `LIFE`, and their seal."""
    values = (
        job.state, job.start, job.promise, job.due, job.finished, job.exit_status, job.signal, job.message,
        job.broken_promise,
    )  # fmt: skip
    return *values, seal((job.id, job.identity, *values))


def command_row(job: Job) -> tuple[object, ...]:
    """Return number, command, environment and their seal; both are JSON."""
    command, environment = json.dumps(job.request.command), json.dumps(job.request.environment)
    return job.id, command, environment, seal((job.id, job.identity, command, environment))


def job_of(row: Mapping[str, Any] | sqlite3.Row) -> Job:
    """Return the job of a row; `command`, `environment` and `command_seal` may be left out of it.

    Raises
    ------
    DamagedRow
        The row does not hold what was written.
    """
    present = set(row.keys())
    _check(row, present)
    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    if "command_seal" in present and row["command_seal"] is not None:
        try:
            command, environment = tuple(json.loads(row["command"])), dict(json.loads(row["environment"]))
        except (ValueError, TypeError) as error:
            raise DamagedRow(f"job {row['id']}: its command is damaged ({error})") from None
    request = JobRequest(
        kind=row["kind"],
        name=row["name"],
        processors=row["processors"],
        walltime=row["walltime"],
        actuator=row["actuator"],
        command=command,
        environment=environment,
        directory=row["directory"],
        run_time=row["run_time"],
        start=row["wished_start"],
        start_by=row["start_by"],
        key=row["client_key"],
        user=row["user"],
    )
    life = {name: row[name] for name in ("id", "identity", "submitted", "first_promise", *LIFE)}
    return Job(request=request, **life)


def _check(row: Mapping[str, Any] | sqlite3.Row, present: set[str]) -> None:
    """Raise `DamagedRow` unless a row is as it was written."""
    called = f"job {row['id']!r}"
    if row["seal"] != seal(row[name] for name in ASKED):
        raise DamagedRow(f"{called}: what was asked for is damaged")
    if row["life_seal"] != seal((row["id"], row["identity"], *(row[name] for name in LIFE))):
        raise DamagedRow(f"{called}: what became of it is damaged")
    if "command_seal" in present:
        if row["command_seal"] is None:
            if row["actuator"] == "process":
                raise DamagedRow(f"{called}: its command is missing")
        elif row["command_seal"] != seal((row["id"], row["identity"], row["command"], row["environment"])):
            raise DamagedRow(f"{called}: its command is damaged")
    # A sealed row is what some version of Gas wrote; that it can be used by this one is another matter.
    for name in _INTEGERS:
        if type(row[name]) is not int:
            raise DamagedRow(f"{called}: {name} {row[name]!r} is not a number")
    for name in _OPTIONAL_INTEGERS:
        if row[name] is not None and type(row[name]) is not int:
            raise DamagedRow(f"{called}: {name} {row[name]!r} is not a number")
    for name in _OPTIONAL_TEXTS:
        if row[name] is not None and type(row[name]) is not str:
            raise DamagedRow(f"{called}: {name} {row[name]!r} is not a text")
    for name, choices in _CHOICES.items():
        if row[name] not in choices:
            raise DamagedRow(f"{called}: {name} {row[name]!r} is none of {', '.join(choices)}")
