"""Bodies of requests and answers over HTTP, as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    StringConstraints,
    model_validator,
)

from gas.availability import MOST_PROCESSORS
from gas.printable import first_steering
from gas.service.jobs import Wish
from gas.times import LATEST, LONGEST

__all__ = [
    "JOB_FIELDS",
    "AvailabilityAnswer",
    "ErrorAnswer",
    "HealthAnswer",
    "JobAnswer",
    "JobsAnswer",
    "Key",
    "MachineAnswer",
    "MachineBody",
    "OneJobAnswer",
    "ReserveBody",
    "SubmitBody",
    "few_keys",
]

Processors = Annotated[int, Field(strict=True, ge=1, le=MOST_PROCESSORS, description="Processors")]
_WALLTIME = "Seconds; a process is told to end (TERM) a hundredth of them, at most 5 s, early, and killed at their end"
Walltime = Annotated[int, Field(strict=True, ge=1, le=LONGEST, description=_WALLTIME)]
Instant = Annotated[int, Field(strict=True, ge=0, le=LATEST, description="Epoch seconds")]
Text = Annotated[str, StringConstraints(strict=True, pattern=r"^[^\x00]*$", max_length=131_072)]


def _plain(name: str) -> str:
    """Return a name that steers no terminal and turns no order of letters in the lists of others."""
    if (found := first_steering(name)) is not None:
        raise ValueError(f"one line without control and format characters, and here is {found}")
    return name


_FORMAT = r"\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
_PLAIN = rf"^[^\u0000-\u001f\u007f-\u009f{_FORMAT}]*$"
Name = Annotated[
    str,
    StringConstraints(strict=True, min_length=1, max_length=200),
    AfterValidator(_plain),
    Field(json_schema_extra={"pattern": _PLAIN}),
]
Key = Annotated[str, StringConstraints(strict=True, pattern=r"^[\x21-\x7e]+$", max_length=200)]
MOST_VARIABLES = 1000
Variable = Annotated[str, StringConstraints(strict=True, pattern=r"^[^\x00=]+$", max_length=1000)]


MOST_KEYS = 64
"""How many keys an object of a request may have. Each that is not known would be an error of its own, and a hundred
thousand errors keep the service busy for seconds."""


def few_keys(given: Any) -> Any:
    """Return what a request holds in some place, or raise `ValueError` if that is an object of far too many keys."""
    if isinstance(given, dict) and len(given) > MOST_KEYS:
        raise ValueError(f"an object with at most {MOST_KEYS} keys, and this one has {len(given)}")
    return given


def _few_variables(given: Any) -> Any:
    if isinstance(given, dict) and len(given) > MOST_VARIABLES:
        raise ValueError(f"an object with at most {MOST_VARIABLES} variables, and this one has {len(given)}")
    return given


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    _few_keys = model_validator(mode="before")(few_keys)


class ProcessActuator(_Body):
    """Start a command on the machine of the service, without a shell."""

    kind: Literal["process"]
    command: Annotated[list[Text], FailFast(), Field(min_length=1, max_length=10_000)]
    environment: Annotated[dict[Variable, Text], BeforeValidator(_few_variables), Field(max_length=MOST_VARIABLES)] = (
        Field(default_factory=dict)
    )
    directory: Annotated[
        str | None,
        Field(
            pattern=r"^/[^\x00]*$", max_length=4096, description="Working directory; by default one of the job's own"
        ),
    ] = None


class SimulatedActuator(_Body):
    """Hold the processors for a given time and start nothing."""

    kind: Literal["simulated"]
    run_time: Annotated[int, Field(strict=True, ge=0, le=LONGEST, description="Seconds")]


class SubmitBody(_Body):
    """A job."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "lu.C",
                    "processors": 64,
                    "walltime": 17,
                    "start_by": 1731000600,
                    "actuator": {"kind": "process", "command": ["mpirun", "-n", "64", "./lu.C.64"]},
                },
                {"processors": 16, "walltime": 3600, "actuator": {"kind": "simulated", "run_time": 1800}},
            ]
        },
    )

    name: Name = "job"
    processors: Processors
    walltime: Walltime
    not_before: Annotated[Instant | None, Field(description="Do not start earlier than this")] = None
    start_by: Annotated[
        Instant | None, Field(description="Queue nothing if the promised start would be later than this")
    ] = None
    actuator: Annotated[ProcessActuator | SimulatedActuator, Field(discriminator="kind")]
    key: Annotated[Key | None, Field(description="The same key again returns the job that it submitted")] = None

    def wish(self, user: str) -> Wish:
        """Return the request as the scheduler takes it from a user."""
        actuator = self.actuator
        if isinstance(actuator, ProcessActuator):
            return Wish(
                "job",
                self.name,
                self.processors,
                self.walltime,
                actuator="process",
                command=tuple(actuator.command),
                environment=actuator.environment,
                directory=actuator.directory,
                start=self.not_before,
                start_by=self.start_by,
                key=self.key,
                user=user,
            )
        return Wish(
            "job",
            self.name,
            self.processors,
            self.walltime,
            actuator="simulated",
            run_time=actuator.run_time,
            start=self.not_before,
            start_by=self.start_by,
            key=self.key,
            user=user,
        )


class ReserveBody(_Body):
    """A reservation."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "demo", "processors": 32, "start": 1731003600, "walltime": 7200}]},
    )

    name: Name = "reservation"
    processors: Processors
    start: Instant
    walltime: Walltime
    start_by: Annotated[
        Instant | None, Field(description="The latest start that will do; by default `start` itself")
    ] = None
    key: Annotated[Key | None, Field(description="The same key again returns the reservation that it made")] = None

    def wish(self, user: str) -> Wish:
        """Return the request as the scheduler takes it from a user."""
        return Wish(
            "reservation",
            self.name,
            self.processors,
            self.walltime,
            actuator="none",
            start=self.start,
            start_by=self.start_by,
            key=self.key,
            user=user,
        )


class MachineBody(_Body):
    """What to change of the machine; what is left out stays."""

    processors: Annotated[Processors | None, Field(description="Its size from now on")] = None
    cancel_larger: Annotated[
        bool, Field(strict=True, description="Cancel waiting jobs and reservations that the new size has no room for")
    ] = False
    accepting: Annotated[bool | None, Field(strict=True, description="Whether jobs are accepted")] = None


class FrameAnswer(BaseModel):
    """One time frame, half-open; the last has no end."""

    start: int
    end: int | None
    free: int


class AvailabilityAnswer(BaseModel):
    """Free processors per future time frame."""

    model_config = ConfigDict(
        populate_by_name=True,
        json_schema_extra={
            "examples": [
                {
                    "schema": "gas.availability/1",
                    "scheduler": "kth",
                    "kind": "promise",
                    "now": 1731000000,
                    "processors": 100,
                    "version": "8127",
                    "frames": [
                        {"start": 1731000000, "end": 1731000600, "free": 12},
                        {"start": 1731000600, "end": None, "free": 100},
                    ],
                }
            ]
        },
    )

    schema_: Literal["gas.availability/1"] = Field(alias="schema")
    scheduler: str
    kind: Literal["promise", "estimate"]
    now: int
    processors: int
    version: str
    frames: list[FrameAnswer]


class JobAnswer(BaseModel):
    """A job or reservation; instants in epoch seconds and ISO 8601, durations in seconds."""

    id: int
    kind: Literal["job", "reservation"]
    user: str
    mine: Annotated[bool, Field(description="Whether it is the caller's own; if not, what is not shown is null")]
    name: str | None
    state: Literal["queued", "reserved", "running", "completed", "failed", "timeout", "cancelled", "lost"]
    processors: int
    walltime: int
    actuator: Literal["process", "simulated", "none"]
    command: Annotated[
        list[str] | None,
        Field(description="Null where it is not shown; also, other than in GET /v1/jobs/{id}, if it is long"),
    ]
    command_bytes: Annotated[int | None, Field(description="The length of the command in JSON; long from 4096 on")]
    run_time: int | None
    exit_status: int | None
    signal: str | None
    message: str | None
    submitted: int
    submitted_iso: str
    not_before: Annotated[int | None, Field(description="What its user asked for: no start earlier than this")]
    not_before_iso: str | None
    promise: Annotated[int, Field(description="The start that it is promised: it moves earlier or stays")]
    promise_iso: str
    first_promise: Annotated[int, Field(description="The start that its submission was answered with")]
    first_promise_iso: str
    broken_promise: Annotated[
        int | None, Field(description="The latest promise that could not be kept; null if all were")
    ]
    broken_promise_iso: str | None
    start: Annotated[int | None, Field(description="When it started")]
    start_iso: str | None
    due: Annotated[int | None, Field(description="When its processors are free again at the latest")]
    due_iso: str | None
    finished: Annotated[int | None, Field(description="When its processors were free again")]
    finished_iso: str | None


class OneJobAnswer(JobAnswer):
    """A job as it is told when asked for by its number: with its predicted start, while it waits.

    Null where nothing is predicted: too few jobs have ended here, the queue is too long, or it is not ready yet.
    """

    predicted_start: Annotated[
        int | None, Field(description="When it is likely to start, the mean; learnt from jobs that have ended here")
    ]
    predicted_start_iso: str | None
    predicted_low: Annotated[
        int | None, Field(description="It starts between this and predicted_high with a probability of 90%")
    ]
    predicted_low_iso: str | None
    predicted_high: Annotated[int | None, Field(description="Never later than the promise")]
    predicted_high_iso: str | None


class JobFieldsAnswer(BaseModel):
    """The fields of a job that were asked for, with its number."""

    model_config = ConfigDict(extra="allow")

    id: int


class JobsAnswer(BaseModel):
    """A page of the list of jobs and reservations, in submission order."""

    jobs: list[JobAnswer | JobFieldsAnswer]
    next: Annotated[int | None, Field(description="The `after` of the next page; null on the last one")]


JOB_FIELDS = frozenset(JobAnswer.model_fields)
"""What can be asked for of each job of a list."""


class HealthAnswer(BaseModel):
    """How the service is."""

    status: Annotated[
        Literal["ok", "degraded"],
        Field(description="degraded: see `problem`; answered with 503 only if nothing can be made durable"),
    ]
    problem: Annotated[
        str | None,
        Field(
            description="The store cannot be written; the machine's clock was set; or the service is slow: the "
            "dispatcher is late, one operation takes long, or waiting jobs are still being moved to earlier starts"
        ),
    ]
    durable: Annotated[bool, Field(description="Whether changes can be written to disk; without that, none is made")]
    remarks: Annotated[list[str], Field(description="What the operator has to know, such as a store that was restored")]
    scheduler: str
    processors: int
    accepting: bool
    in_use: int
    queued: int
    running: int
    promises_broken: int


class BrokenAnswer(BaseModel):
    """A promise that could not be kept; without a start, the job had to be cancelled."""

    id: int
    user: str
    promised: int
    start: int | None


class LimitsAnswer(BaseModel):
    """What one user may have and send; null is no limit."""

    max_queued: Annotated[int | None, Field(description="Jobs and reservations in the schedule")]
    max_processor_seconds: Annotated[int | None, Field(description="Processors × walltime summed over those")]
    max_queued_bytes: Annotated[
        int | None, Field(description="Bytes of the commands and environments of those, in JSON")
    ]
    max_request_bytes: int | None
    max_rate: Annotated[float | None, Field(description="Requests per second")]
    max_streams: Annotated[int | None, Field(description="Event streams that are open at the same time")]


class MachineAnswer(BaseModel):
    """How the machine stands, and as whom the caller is known."""

    scheduler: str
    processors: int
    accepting: bool
    now: Annotated[int, Field(description="The soonest possible start, epoch seconds of the scheduler's clock")]
    now_iso: str
    version: str
    in_use: int
    queued: int
    running: int
    reserved: int
    promises_broken: int
    clock_offset: Annotated[
        int | None,
        Field(description="Seconds by which the scheduler's clock is ahead of the machine's; null if it runs apart"),
    ]
    user: str
    role: Literal["user", "operator"]
    access: Annotated[bool, Field(description="Whether tokens are in force")]
    limits: LimitsAnswer
    broken: Annotated[
        list[BrokenAnswer] | None, Field(description="Promises that the change which this answers has broken")
    ] = None


class ErrorDetail(BaseModel):
    """What went wrong, for a person, and its kind, for a program."""

    kind: str
    message: str


class ErrorAnswer(BaseModel):
    """An error; a plan that went stale also carries the availability list to plan again with."""

    error: ErrorDetail
    availability: dict[str, Any] | None = None
