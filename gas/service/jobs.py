"""Jobs of the service: the client's request, and the job's state."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from gas.times import iso_time

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
]

JobState = Literal["queued", "reserved", "running", "completed", "failed", "timeout", "cancelled", "lost"]
Kind = Literal["job", "reservation"]
Actuator = Literal["process", "simulated", "none"]

BEING = "being "
"""Begin of the message of a process that is being terminated: ``being cancelled``."""

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
    idempotency key; each `user` has separate keys.
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

    @cached_property
    def command_bytes(self) -> int:
        """The length of the command in JSON, as it is stored."""
        return len(json.dumps(self.command))

    @cached_property
    def size(self) -> int:
        """The bytes of command, environment and directory, which count as long as the job is in the schedule."""
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


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predicted start of a waiting job: the mean, and the bounds of the 90% interval."""

    start: int
    low: int
    high: int


@dataclass
class Job:
    """A job or reservation and its life so far; instants in epoch seconds of the scheduler.

    `first_promise` is the start promised at submission, `promise` the present one, `start` the planned or actual start,
    `due` the latest instant at which the processors are free again, `finished` the actual one. `broken_promise` is the
    latest promise that could not be kept. `identity`, drawn at random when the job is accepted, distinguishes it from
    another job of the same number (after a store was restored or damaged); jobs of stores older than identities have
    none.
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

    @property
    def directory_name(self) -> str:
        """The name of its directory, which no other job ever has."""
        return f"{self.id}.{self.identity}" if self.identity else str(self.id)

    @property
    def active(self) -> bool:
        """Whether it holds processors now or in future."""
        return self.state in ACTIVE

    @property
    def processor_seconds(self) -> int:
        """The most that it can use: processors × walltime."""
        return self.request.processors * self.request.walltime

    def snapshot(self) -> Job:
        """Return a copy of the job as it is now, without long fields (`JobRequest.brief`)."""
        now = copy.copy(self)
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
            "declared": list(request.environment),  # the variables of its environment that its user set
            "directory": request.directory,
            "not_before": request.start,
            "start_by": request.start_by,
            "key": request.key,
            "submitted": self.submitted,
            "first_promise": self.first_promise,
            "start": self.start,
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
        started = None if self.state in ("queued", "reserved") else self.start
        ran = self.exit_status is not None or self.signal is not None  # perhaps for less than a second
        if self.state == "cancelled" and self.finished is not None and self.start >= self.finished and not ran:
            started = None
        wire: dict[str, Any] = {
            "id": self.id,
            "kind": request.kind,
            "user": request.user,
            "mine": mine,
            "name": request.name,
            "state": self.state,
            "processors": request.processors,
            "walltime": request.walltime,
            "actuator": request.actuator,
            "command": None if request.command_bytes > 2 and not request.command else list(request.command),
            "command_bytes": request.command_bytes,
            "run_time": request.run_time,
            "exit_status": self.exit_status,
            "signal": self.signal,
            "message": self.message,
        }
        for key in hidden:
            wire[key] = None
        instants = {
            "submitted": self.submitted,
            "not_before": request.start if request.kind == "job" else None,
            "promise": self.promise,
            "first_promise": self.first_promise,
            "broken_promise": self.broken_promise,
            "start": started,
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
