"""Jobs of the service: the client's request, and the job's state."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from gas.placeholders import filled, variable
from gas.s3 import NO_OFFERS, Entry
from gas.times import LONGEST, iso_time

__all__ = [
    "ACTIVE",
    "BEING",
    "LONG_COMMAND",
    "TEACHING",
    "Actuator",
    "Job",
    "JobRequest",
    "JobState",
    "Kind",
    "Predicted",
    "Shape",
]

JobState = Literal["queued", "reserved", "running", "completed", "failed", "timeout", "cancelled", "lost"]
Kind = Literal["job", "reservation"]
Actuator = Literal["process", "simulated", "none"]

BEING = "being "
"""Beginning of the message of a process that is being terminated: ``being cancelled``."""

ACTIVE: frozenset[JobState] = frozenset({"queued", "reserved", "running"})
"""The states in which a job is in the schedule."""

TEACHING: tuple[JobState, ...] = ("completed", "failed", "timeout")
"""The states of jobs that ended by themselves or at their walltime: predictions learn from their run times."""


LONG_COMMAND = 4096
"""Bytes above which a command is left out of lists and events."""


@dataclass(frozen=True)
class JobRequest:
    """A job or reservation as requested by a client; seconds and epoch seconds.

    `actuator` is how the job runs: a `process` starts `command` on this machine, a `simulated` job lasts `run_time`, a
    reservation has `none`. `start` is the start of a reservation, and the earliest start of a job. `key` is the
    idempotency key; each `user` has separate keys. With `cpus_per_task`, placeholders in the command stand for the
    shape in which the job starts. `job_class` is one of `gas.service.classes`, None for the default. `reservation` is
    the number of the reservation that a job replaces; it is not stored. A job with a `notice` is offered earlier
    starts, and has that many seconds to answer (`gas.s3.offers`).
    """

    kind: Kind
    name: str
    processors: int
    walltime: int
    actuator: Actuator
    command: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    directory: str | None = None
    run_time: int | None = None
    start: int | None = None
    start_by: int | None = None
    key: str | None = None
    user: str = ""
    cpus_per_task: int | None = None
    job_class: str | None = None
    notice: int | None = None
    reservation: int | None = field(default=None, compare=False)

    @property
    def lapses(self) -> bool:
        """Whether it is a reservation for a job, which gives its processors back at its start."""
        return self.kind == "reservation" and self.run_time == 0

    @property
    def sizes(self) -> dict[str, int]:
        """The values for the placeholders in the command."""
        each = self.cpus_per_task or _number(self.environment.get(variable("cpus_per_task"), ""))
        tasks = max(1, self.processors // each)
        return {"processors": self.processors, "tasks": tasks, "cpus_per_task": each, "walltime": self.walltime}

    @property
    def words(self) -> tuple[str, ...]:
        """The command as it runs; raises `BadInput` for a placeholder without a value."""
        if self.cpus_per_task is None:
            return self.command
        sizes = self.sizes
        return tuple(filled(word, sizes) for word in self.command)

    @cached_property
    def command_bytes(self) -> int:
        """The length of the command in JSON, as it is stored."""
        return len(json.dumps(self.command))

    @cached_property
    def size(self) -> int:
        """The bytes of command, environment and directory, which count while the job is in the schedule."""
        return self.command_bytes + len(json.dumps(self.environment)) + len(self.directory or "")

    @cached_property
    def brief(self) -> JobRequest:
        """The same without the environment, and without a command of more than `LONG_COMMAND` bytes."""
        long = self.command_bytes > LONG_COMMAND
        if not long and not self.environment:
            return self
        return replace(self, environment={}, command=() if long else self.command).with_length(self.command_bytes)

    def with_length(self, command_bytes: int) -> JobRequest:
        """Return the same with the length of its command, which may have been left out."""
        vars(self)["command_bytes"] = command_bytes
        return self


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) else 1


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a waiting job: with `run_time` if it is simulated, and the `promise` given with this shape."""

    processors: int
    walltime: int
    run_time: int | None
    promise: int


def _in_shape(request: JobRequest, shape: Shape) -> JobRequest:
    return replace(request, processors=shape.processors, walltime=shape.walltime, run_time=shape.run_time)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predicted start of a waiting job: the mean, and the bounds of the 90% interval."""

    start: int
    low: int
    high: int


@dataclass
class Job:
    """A job or reservation and its life so far; instants in epoch seconds of the scheduler.

    `first_promise` is the start promised at submission or with its present shape, `promise` the present one, `start`
    the planned or actual start, `due` the latest instant at which the processors are free again, `finished` the actual
    one. `broken_promise` is the latest promise that could not be kept. `identity`, drawn at random when the job is
    accepted, distinguishes it from another job of the same number (after a store was restored or damaged); jobs of
    stores older than identities have none. The `request` of a reshaped job has its present shape, since
    the instant `reshaped`; `submitted_shape` is that of its submission. `priority` is that of its class in this run of
    the service. `offer`, `answer_by`, `offers_from` and `offers_held` are those of its `Entry`.
    """

    id: int
    request: JobRequest
    submitted: int
    state: JobState
    start: int
    promise: int
    first_promise: int
    due: int
    finished: int | None = None
    exit_status: int | None = None
    signal: str | None = None
    message: str | None = None
    broken_promise: int | None = None
    identity: str = ""
    reshaped: int | None = None
    submitted_shape: Shape | None = None
    priority: int = 0
    offer: int | None = None
    answer_by: int | None = None
    offers_from: int = 0
    offers_held: int = 0

    @property
    def shape(self) -> Shape:
        """The present shape."""
        request = self.request
        return Shape(request.processors, request.walltime, request.run_time, self.first_promise)

    def reshape(self, shape: Shape, instant: int) -> None:
        """Take another shape from an instant on."""
        self.submitted_shape, self.reshaped = self.submitted_shape or self.shape, instant
        request = self.request
        self.request = _in_shape(request, shape).with_length(request.command_bytes)
        self.first_promise = shape.promise

    def reshaped_run_time(self, walltime: int) -> int | None:
        """Return the run time of a simulated job at another walltime: the same part of it; None for other jobs.

        It is rounded up, so that a job that would have been killed at its walltime still is.
        """
        lasts = self.request.run_time
        return None if lasts is None else min(LONGEST, -(-lasts * walltime // self.request.walltime))

    def remark(self, text: str | None) -> None:
        """Add to its message, unless the message already contains it."""
        said = self.message.split("; ") if self.message else []
        self.message = "; ".join(said if not text or text in said else [*said, text]) or None

    @property
    def being_ended(self) -> bool:
        """Whether it is a process that is being terminated, as the beginning of its message says."""
        return self.message is not None and self.message.startswith(BEING)

    def no_longer(self) -> str | None:
        """Remove `BEING` from its message when it is no longer being terminated; return who cancelled it."""
        if not self.being_ended:
            return None
        by, _, rest = (self.message or "").removeprefix(BEING).partition("; ")
        self.message = rest or None
        return None if by == "cancelled" else by

    @property
    def submission(self) -> JobRequest:
        """The request as submitted."""
        first = self.submitted_shape
        return self.request if first is None else _in_shape(self.request, first)

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that pass its shape to its command, if it differs from the submitted one."""
        request = self.request
        if request.cpus_per_task is None and self.submitted_shape is None:
            return {}
        always = ("processors", "walltime")
        return {
            variable(name): str(value)
            for name, value in request.sizes.items()
            if request.cpus_per_task is not None or name in always or variable(name) in request.environment
        }

    @property
    def directory_name(self) -> str:
        """The name of its directory, which no other job ever has."""
        return f"{self.id}.{self.identity}" if self.identity else str(self.id)

    def follow(self, entry: Entry) -> None:
        """Copy the state from its entry in the schedule."""
        self.start, self.promise, self.due, self.state = entry.start, entry.promise, entry.end, entry.state
        self.offer, self.answer_by, self.offers_from = entry.offer, entry.answer_by, entry.offers_from
        self.offers_held = entry.held

    @property
    def asks_for_offers(self) -> bool:
        """Whether it waits and may be offered earlier starts."""
        return self.request.notice is not None and self.state == "queued" and self.offers_from < NO_OFFERS

    @property
    def active(self) -> bool:
        """Whether it holds processors now or in future."""
        return self.state in ACTIVE

    @property
    def started(self) -> int | None:
        """When it started; None if it has not, or was cancelled before that."""
        if self.state in ("queued", "reserved"):
            return None
        ran = self.exit_status is not None or self.signal is not None  # perhaps for less than a second
        if self.state == "cancelled" and self.finished is not None and self.start >= self.finished and not ran:
            return None
        return self.start

    @property
    def processor_seconds(self) -> int:
        """The largest possible use: processors × walltime."""
        return self.request.processors * self.request.walltime

    def copy(self) -> Job:
        """Return the job as it is now: an answer must not change before it is sent."""
        return copy.copy(self)

    def snapshot(self) -> Job:
        """Return a copy of the job as it is now, without long fields (`JobRequest.brief`)."""
        now = self.copy()
        now.request = self.request.brief
        return now

    def facts(self, store: str) -> dict[str, Any]:
        """Return what is written into its directory, enough to restore the job if the store loses its row.

        Parameters
        ----------
        store
            The identity of the store.
        """
        request = self.request
        facts = {
            "store": store,
            "id": self.id,
            "identity": self.identity,
            "user": request.user,
            "name": request.name,
            "processors": request.processors,
            "walltime": request.walltime,
            "declared": list(request.environment),  # names of the variables that its user set
            "directory": request.directory,
            "not_before": request.start,
            "start_by": request.start_by,
            "key": request.key,
            "submitted": self.submitted,
            "first_promise": self.first_promise,
            "start": self.start,
            "reshaped": self.reshaped,
            "submitted_shape": None if self.submitted_shape is None else astuple(self.submitted_shape),
            "cpus_per_task": request.cpus_per_task,
            "class": request.job_class,
            "notice": request.notice,
            "command": None if request.cpus_per_task is None else list(request.command),
        }
        return {name: value for name, value in facts.items() if value is not None}

    def to_wire(self, *, mine: bool = True, hidden: Collection[str] = ()) -> dict[str, Any]:
        """Return the job as the JSON object of ``GET /v1/jobs``; of a `snapshot`, a long command is null.

        Parameters
        ----------
        mine
            Whether the caller is its user.
        hidden
            The keys that are hidden from the caller (`gas.service.rights.hidden_keys`); they are null.
        """
        request = self.request
        wire: dict[str, Any] = {
            "id": self.id,
            "kind": request.kind,
            "user": request.user,
            "mine": mine,
            "name": request.name,
            "state": self.state,
            "processors": request.processors,
            "walltime": request.walltime,
            "class": request.job_class,
            "priority": self.priority if self.active and request.kind == "job" else None,
            "actuator": request.actuator,
            "command": None if request.command_bytes > 2 and not request.command else list(request.words),
            "command_bytes": request.command_bytes,
            "run_time": request.run_time,
            "notice": request.notice,
            "exit_status": self.exit_status,
            "signal": self.signal,
            "message": self.message,
        }
        for key in hidden:
            wire[key] = None
        instants = {
            "submitted": self.submitted,
            "reshaped": self.reshaped,
            "not_before": request.start if request.kind == "job" else None,
            "promise": self.promise,
            "offer": self.offer,
            "answer_by": self.answer_by,
            "offers_from": self.offers_from if self.asks_for_offers else None,
            "first_promise": self.first_promise,
            "broken_promise": self.broken_promise,
            "start": self.started,
            "due": self.due if self.active else None,
            "finished": self.finished,
        }
        for name, instant in instants.items():
            wire[name] = instant
            wire[f"{name}_iso"] = None if instant is None else iso_time(instant)
        return wire

    def predicted_to_wire(self, predicted: Predicted | None, now: int) -> dict[str, Any]:
        """Return the fields that ``GET /v1/jobs/{id}`` adds; null without a prediction, or if the job does not wait.

        Parameters
        ----------
        now
            The scheduler's present second. An earlier prediction is limited to the span from now to the promise.
        """
        known = predicted if self.state == "queued" else None
        wire: dict[str, Any] = {}
        for name in ("start", "low", "high"):
            instant = None if known is None else min(max(getattr(known, name), now), self.promise)
            wire[f"predicted_{name}"] = instant
            wire[f"predicted_{name}_iso"] = None if instant is None else iso_time(instant)
        return wire
