"""Jobs as rows of the store: the columns, the seal over them, and reading a row that may be damaged.

SQLite verifies the structure of its file, not its contents: a flipped bit inside a value goes unnoticed. So every row
carries a *seal*, a CRC-32 over its values: one over the request, which never changes, and one over the life of the job,
rewritten with each change.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from typing import Any, get_args

from gas.errors import StoreDamaged
from gas.service.changes import Answer, Change, Reshape
from gas.service.jobs import Actuator, Job, JobRequest, JobState, Kind, Shape

__all__ = [
    "ASKED",
    "CLASS",
    "HELD",
    "LIFE",
    "NOTICE",
    "OFFERED",
    "RESHAPED",
    "DamagedRow",
    "asked_row",
    "change_of",
    "change_row",
    "command_row",
    "job_of",
    "life_row",
    "seal",
]

ASKED = (
    "id", "identity", "user", "kind", "name", "processors", "walltime", "actuator", "directory", "run_time",
    "wished_start", "start_by", "client_key", "submitted", "first_promise",
)  # fmt: skip
"""The columns of the request, in the order in which they are sealed."""

CLASS = "class"
"""The column of a job's class, sealed after `ASKED`; NULL and not sealed for jobs without a class."""

NOTICE = "notice"
"""The column of the seconds to answer an offer, sealed after the class; NULL for jobs without offers."""

LIFE = ("state", "start", "promise", "due", "finished", "exit_status", "signal", "message", "broken_promise")
"""The columns that change, in the order in which they are sealed (after id and identity)."""

RESHAPED = ("reshaped", "shape_processors", "shape_walltime", "shape_run_time", "shape_promise")
"""The columns of a reshaped job, sealed after the others; NULL and not sealed for other jobs."""

OFFERED = ("offer", "answer_by", "offers_from")
"""The columns of a job with a notice, sealed last; NULL and not sealed for other jobs."""

HELD = "offers_held"
"""The column of the seconds for which offers were held, sealed after them; 0 is stored as NULL and not sealed."""

_NO_SHAPE: tuple[int | None, ...] = (None,) * len(RESHAPED)
_NO_OFFER: tuple[int | None, ...] = (None,) * (len(OFFERED) + 1)
_INTEGERS = ("id", "processors", "walltime", "submitted", "first_promise", "start", "promise", "due")
_OPTIONAL_INTEGERS = (
    "run_time", "wished_start", "start_by", "finished", "exit_status", "broken_promise", *RESHAPED, NOTICE, *OFFERED,
    HELD,
)  # fmt: skip
_OPTIONAL_TEXTS = ("directory", "client_key", "signal", "message", CLASS)
_CHOICES: dict[str, tuple[str, ...]] = {
    "state": get_args(JobState),
    "kind": get_args(Kind),
    "actuator": get_args(Actuator),
}


class DamagedRow(StoreDamaged, sqlite3.DatabaseError):
    """A row does not hold the values written to it."""


def seal(values: Iterable[object]) -> int:
    """Return the checksum of some values: integers, texts and None."""
    return zlib.crc32(json.dumps(list(values), default=repr).encode())  # damaged bytes give another value


def asked_row(job: Job) -> tuple[object, ...]:
    """Return the values of `ASKED`, `CLASS` and `NOTICE`, and their seal."""
    request, shape = job.request, job.submitted_shape or job.shape
    values = (
        job.id, job.identity, request.user, request.kind, request.name, shape.processors, shape.walltime,
        request.actuator, request.directory, shape.run_time, request.start, request.start_by, request.key,
        job.submitted, shape.promise,
    )  # fmt: skip
    later = request.job_class, request.notice
    return *values, *later, _asked_seal(values, later)


def _asked_seal(values: Iterable[object], later: tuple[object, ...]) -> int:
    """Return the seal over the request; columns unknown to earlier versions count from the last value on."""
    while later and later[-1] is None:
        later = later[:-1]
    return seal((*values, *later))


def life_row(job: Job) -> tuple[object, ...]:
    """Return the values of `LIFE`, `RESHAPED`, `OFFERED` and `HELD`, and their seal."""
    values = (
        job.state, job.start, job.promise, job.due, job.finished, job.exit_status, job.signal, job.message,
        job.broken_promise,
    )  # fmt: skip
    shape = _NO_SHAPE if job.reshaped is None else (job.reshaped, *astuple(job.shape))
    offer = _NO_OFFER
    if job.request.notice is not None:
        offer = job.offer, job.answer_by, job.offers_from, job.offers_held or None
    return *values, *shape, *offer, _life_seal(job.id, job.identity, values, shape, offer)


def _life_seal(
    id: int, identity: str, values: tuple[object, ...], shape: tuple[object, ...], offer: tuple[object, ...]
) -> int:
    if offer != _NO_OFFER:
        return seal((id, identity, *values, *shape, *(offer if offer[-1] is not None else offer[:-1])))
    return seal((id, identity, *values) if shape == _NO_SHAPE else (id, identity, *values, *shape))


def command_row(job: Job) -> tuple[object, ...]:
    """Return number, command, environment and their seal; both are JSON.

    A command with placeholders is an object with its words and `JobRequest.cpus_per_task`.
    """
    request = job.request
    words: object = request.command
    if request.cpus_per_task is not None:
        words = {"words": request.command, "cpus_per_task": request.cpus_per_task}
    command, environment = json.dumps(words), json.dumps(request.environment)
    return job.id, command, environment, seal((job.id, job.identity, command, environment))


def change_row(wanted: Change) -> tuple[object, ...]:
    """Return number, user, key, request (JSON) and their seal, for a request with a key."""
    if isinstance(wanted, Answer):
        what: object = {"accepts": wanted.accepts, "start": wanted.start, "not_before": wanted.not_before}
    else:
        what = [wanted.processors, wanted.walltime, wanted.run_time, wanted.start_by]
    values = wanted.id, wanted.user, wanted.key, json.dumps(what)
    return *values, seal(values)


def change_of(row: Mapping[str, Any] | sqlite3.Row) -> Change:
    """Return the request of a row of `change_row`, or raise `DamagedRow`."""
    values = tuple(row[name] for name in ("id", "user", "client_key", "changes"))
    if row["seal"] != seal(values):
        raise DamagedRow(f"job {row['id']!r}: a request for a change is damaged")
    id, user, key, what = row["id"], row["user"], row["client_key"], json.loads(row["changes"])
    if isinstance(what, dict):
        return Answer(id, what["accepts"], what["start"], what["not_before"], key, user)
    processors, walltime, run_time, start_by = what
    return Reshape(id, processors, walltime, run_time, start_by, key, user)


def job_of(row: Mapping[str, Any] | sqlite3.Row) -> Job:
    """Return the job of a row; `command`, `environment` and `command_seal` may be left out of it.

    Raises
    ------
    DamagedRow
        The row does not hold the values written.
    """
    present = set(row.keys())
    _check(row, present)
    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    cpus_per_task: int | None = None
    if "command_seal" in present and row["command_seal"] is not None:
        try:
            words, environment = json.loads(row["command"]), dict(json.loads(row["environment"]))
            if isinstance(words, dict):
                words, cpus_per_task = words["words"], int(words["cpus_per_task"])
            command = tuple(words)
        except (ValueError, TypeError, KeyError) as error:
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
        cpus_per_task=cpus_per_task,
        job_class=row[CLASS],
        notice=row[NOTICE],
    )
    life = {name: row[name] for name in ("id", "identity", "submitted", "first_promise", *LIFE)}
    job = Job(request=request, **life)
    if request.notice is not None:
        job.offer, job.answer_by, job.offers_from = row["offer"], row["answer_by"], row["offers_from"] or 0
        job.offers_held = row[HELD] or 0
    if row["reshaped"] is not None:
        job.reshape(Shape(*(row[name] for name in RESHAPED[1:])), row["reshaped"])
    return job


def _check(row: Mapping[str, Any] | sqlite3.Row, present: set[str]) -> None:
    """Raise `DamagedRow` if a row has changed since it was written."""
    called = f"job {row['id']!r}"
    if row["seal"] != _asked_seal((row[name] for name in ASKED), (row[CLASS], row[NOTICE])):
        raise DamagedRow(f"{called}: its request is damaged")
    values, shape, offer = (tuple(row[name] for name in names) for names in (LIFE, RESHAPED, (*OFFERED, HELD)))
    if row["life_seal"] != _life_seal(row["id"], row["identity"], values, shape, offer):
        raise DamagedRow(f"{called}: its outcome is damaged")
    if "command_seal" in present:
        if row["command_seal"] is None:
            if row["actuator"] == "process":
                raise DamagedRow(f"{called}: its command is missing")
        elif row["command_seal"] != seal((row["id"], row["identity"], row["command"], row["environment"])):
            raise DamagedRow(f"{called}: its command is damaged")
    # A sealed row was written by some version of Gas; this version may still be unable to use it.
    for name in _INTEGERS:
        if type(row[name]) is not int:
            raise DamagedRow(f"{called}: {name} {row[name]!r} is not a number")
    for name in _OPTIONAL_INTEGERS:
        if row[name] is not None and type(row[name]) is not int:
            raise DamagedRow(f"{called}: {name} {row[name]!r} is not a number")
    for name in _OPTIONAL_TEXTS:
        if row[name] is not None and type(row[name]) is not str:
            raise DamagedRow(f"{called}: {name} {row[name]!r} is not a string")
    for name, choices in _CHOICES.items():
        if row[name] not in choices:
            raise DamagedRow(f"{called}: {name} {row[name]!r} is not one of {', '.join(choices)}")
