"""What the service knows of a job: what was asked for, and what became of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from gas.times import iso_time

__all__ = ["ACTIVE", "BEING", "LONG_COMMAND", "TEACHING", "Actuator", "Job", "JobState", "Kind", "Predicted", "Wish"]

JobState = Literal["queued", "reserved", "running", "completed", "failed", "timeout", "cancelled", "lost"]
Kind = Literal["job", "reservation"]
Actuator = Literal["process", "simulated", "none"]

BEING = "being "
"""What the message of a process that was told to stop begins with, until it has: ``being cancelled``."""

ACTIVE: frozenset[JobState] = frozenset({"queued", "reserved", "running"})
"""The states in which a job is in the schedule."""

TEACHING: tuple[JobState, ...] = ("completed", "failed", "timeout")
"""The states of a job that has ended by itself, or at its walltime, and so tells how long such jobs run."""


LONG_COMMAND = 4096
"""Bytes above which a command is left out of lists and events."""


@dataclass(frozen=True)
class Wish:
    """What a client asked for; seconds and epoch seconds.

    `actuator` says how a job is run: a `process` starts `command` on this machine, a `simulated` one lasts
    `run_time`, and a reservation has `none`. `start` is a reservation's, and the instant before
    which a job must not start. `key` makes the request idempotent; it is its `user`'s own.
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
        """The bytes of command, environment and directory, which are kept as long as the job is in the schedule."""
        return self.command_bytes + len(json.dumps(self.environment)) + len(self.directory or "")

    @cached_property
    def brief(self) -> Wish:
        """The same without what may be long: its environment, and a command of more than `LONG_COMMAND` bytes."""
        long = self.command_bytes > LONG_COMMAND
        if not long and not self.environment:
            return self
        return replace(self, environment={}, command=() if long else self.command).with_length(self.command_bytes)

    def with_length(self, command_bytes: int) -> Wish:
        """Return the same, knowing how long its command is although that may be left out."""
        vars(self)["command_bytes"] = command_bytes
        return self


@dataclass(frozen=True, slots=True)
class Predicted:
    """When a job that waits is likely to start: the mean, and instants between which it does in 9 of 10 cases."""

    start: int
    low: int
    high: int


@dataclass
class Job:
    """A job or reservation and its life so far; instants in epoch seconds of the scheduler.

    `first_promise` is the start that the client was told, `promise` the latest word on it, `start` what is planned or
    was done, `due` when the processors come back at the latest, `finished` when they did. `broken_promise` is the
    latest start that it was told and that could not be kept. `identity`, drawn at random when the job is accepted,
    tells it from another job of the same number (of a store that was restored or damaged); jobs of stores that are
    older than identities have none.
    """

    id: int
    wish: Wish
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
        """What it may use at most: processors × walltime."""
        return self.wish.processors * self.wish.walltime

    def snapshot(self) -> Job:
        """Return the job as it is now, without what may be long (`Wish.brief`)."""
        now = copy.copy(self)
        now.wish = self.wish.brief
        return now

    def facts(self, store: str) -> dict[str, Any]:
        """Return what its directory says of it, enough to know it again should the store lose its row.

        Parameters
        ----------
        store
            The identity of the store.
        """
        wish = self.wish
        facts = {
            "store": store,
            "id": self.id,
            "identity": self.identity,
            "user": wish.user,
            "name": wish.name,
            "processors": wish.processors,
            "walltime": wish.walltime,
            "declared": list(wish.environment),  # of the environment beside it, what its user asked for
            "directory": wish.directory,
            "not_before": wish.start,
            "start_by": wish.start_by,
            "key": wish.key,
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
            Whether its own user asks.
        hidden
            The keys that whoever asks is not told (`gas.service.rights.hidden_keys`); they are null.
        """
        wish = self.wish
        started = None if self.state in ("queued", "reserved") else self.start
        ran = self.exit_status is not None or self.signal is not None  # perhaps for less than a second
        if self.state == "cancelled" and self.finished is not None and self.start >= self.finished and not ran:
            started = None
        wire: dict[str, Any] = {
            "id": self.id,
            "kind": wish.kind,
            "user": wish.user,
            "mine": mine,
            "name": wish.name,
            "state": self.state,
            "processors": wish.processors,
            "walltime": wish.walltime,
            "actuator": wish.actuator,
            "command": None if wish.command_bytes > 2 and not wish.command else list(wish.command),
            "command_bytes": wish.command_bytes,
            "run_time": wish.run_time,
            "exit_status": self.exit_status,
            "signal": self.signal,
            "message": self.message,
        }
        for key in hidden:
            wire[key] = None
        instants = {
            "submitted": self.submitted,
            "not_before": wish.start if wish.kind == "job" else None,
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
        """Return what ``GET /v1/jobs/{id}`` adds; all null where nothing is predicted, or the job does not wait.

        Parameters
        ----------
        now
            The scheduler's present second. What was predicted a while ago lies between that and the promise by now.
        """
        known = predicted if self.state == "queued" else None
        wire: dict[str, Any] = {}
        for name in ("start", "low", "high"):
            instant = None if known is None else min(max(getattr(known, name), now), self.promise)
            wire[f"predicted_{name}"] = instant
            wire[f"predicted_{name}_iso"] = None if instant is None else iso_time(instant)
        return wire
