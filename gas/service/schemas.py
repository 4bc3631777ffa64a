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
from gas.printable import first_control
from gas.service.classes import CLASS_NAME
from gas.service.jobs import JobRequest, Reshape
from gas.times import LATEST, LONGEST

__all__ = [
    "JOB_FIELDS",
    "AvailabilityAnswer",
    "HealthAnswer",
    "JobAnswer",
    "JobsAnswer",
    "Key",
    "MachineAnswer",
    "MachineBody",
    "OneJobAnswer",
    "ReserveBody",
    "ReshapeBody",
    "SubmitBody",
    "few_keys",
]

Processors = Annotated[int, Field(strict=True, ge=1, le=MOST_PROCESSORS, description="Processors")]
_WALLTIME = "Seconds; a process gets TERM shortly before the end (1%, at most 5 s) and KILL at the end"
Walltime = Annotated[int, Field(strict=True, ge=1, le=LONGEST, description=_WALLTIME)]
Instant = Annotated[int, Field(strict=True, ge=0, le=LATEST, description="Epoch seconds")]
Text = Annotated[str, StringConstraints(strict=True, pattern=r"^[^\x00]*$", max_length=131_072)]


def _plain(name: str) -> str:
    """Return a name without characters that control a terminal or change the order of text."""
    if (found := first_control(name)) is not None:
        raise ValueError(f"one line without control and format characters; it contains {found}")
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
ClassName = Annotated[str, StringConstraints(strict=True, pattern=CLASS_NAME, max_length=64)]
MOST_VARIABLES = 1000
Variable = Annotated[str, StringConstraints(strict=True, pattern=r"^[^\x00=]+$", max_length=1000)]


MOST_KEYS = 64
"""Keys that an object of a request may have. Each unknown key is reported as an error, and a hundred thousand of them
would keep the service busy for seconds."""


def few_keys(given: Any) -> Any:
    """Return a value of a request unchanged, or raise `ValueError` if it is an object with too many keys."""
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
    cpus_per_task: Annotated[
        Processors | None,
        Field(
            description="If given, {processors}, {tasks}, {cpus_per_task} and {walltime} in the command are replaced "
            "by their values at the start of the job, like GAS_PROCESSORS and so on in its environment"
        ),
    ] = None
    environment: Annotated[dict[Variable, Text], BeforeValidator(_few_variables), Field(max_length=MOST_VARIABLES)] = (
        Field(default_factory=dict)
    )
    directory: Annotated[
        str | None,
        Field(
            pattern=r"^/[^\x00]*$", max_length=4096, description="Working directory (default: one created for the job)"
        ),
    ] = None


class SimulatedActuator(_Body):
    """Hold the processors for a given time without running a command."""

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
        Instant | None, Field(description="Latest acceptable start; if it cannot be promised, nothing is queued")
    ] = None
    job_class: Annotated[ClassName | None, Field(alias="class", description="See GET /v1/machine")] = None
    actuator: Annotated[ProcessActuator | SimulatedActuator, Field(discriminator="kind")]
    key: Annotated[Key | None, Field(description="Idempotency key: the same key again returns the same job")] = None

    def request(self, user: str) -> JobRequest:
        """Return the request of this user for the scheduler."""
        actuator = self.actuator
        how: dict[str, Any] = actuator.model_dump(exclude={"kind"})
        if isinstance(actuator, ProcessActuator):
            how["command"] = tuple(actuator.command)
        return JobRequest(
            "job",
            self.name,
            self.processors,
            self.walltime,
            actuator.kind,
            start=self.not_before,
            start_by=self.start_by,
            key=self.key,
            user=user,
            job_class=self.job_class,
            **how,
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
    start_by: Annotated[Instant | None, Field(description="Latest acceptable start (default: `start`)")] = None
    key: Annotated[Key | None, Field(description="Idempotency key: repeated, it returns the same reservation")] = None

    def request(self, user: str) -> JobRequest:
        """Return the request of this user for the scheduler."""
        return JobRequest(
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


_SHARE = "Of a simulated job; default: the same fraction of its walltime"


class ReshapeBody(_Body):
    """Another shape for a waiting job; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"processors": 32, "walltime": 4200}]})

    processors: Processors | None = None
    walltime: Walltime | None = None
    run_time: Annotated[int | None, Field(strict=True, ge=0, le=LONGEST, description=_SHARE)] = None
    start_by: Annotated[Instant | None, Field(description="Latest acceptable start, else nothing is changed")] = None
    key: Annotated[Key | None, Field(description="Idempotency key: repeating the request has no further effect")] = None

    @model_validator(mode="after")
    def _says_something(self) -> ReshapeBody:
        if self.processors is None and self.walltime is None and self.run_time is None:
            raise ValueError("an object with processors or walltime")
        return self

    def request(self, id: int, user: str) -> Reshape:
        """Return the request of this user for the scheduler."""
        return Reshape(id, self.processors, self.walltime, self.run_time, self.start_by, self.key, user)


class MachineBody(_Body):
    """A change of the machine; fields that are left out do not change."""

    processors: Annotated[Processors | None, Field(description="New size of the machine")] = None
    cancel_larger: Annotated[
        bool, Field(strict=True, description="Cancel waiting jobs and reservations that are larger than the new size")
    ] = False
    accepting: Annotated[bool | None, Field(strict=True, description="Accept new jobs")] = None


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
    mine: Annotated[bool, Field(description="Whether the caller owns it; if not, private fields are null")]
    name: str | None
    state: Literal["queued", "reserved", "running", "completed", "failed", "timeout", "cancelled", "lost"]
    processors: int
    walltime: int
    job_class: Annotated[str | None, Field(alias="class", description="Null for the default class")]
    priority: Annotated[int | None, Field(description="That of its class, see GET /v1/machine")]
    actuator: Literal["process", "simulated", "none"]
    command: Annotated[
        list[str] | None,
        Field(description="Null for other users' jobs and, except in GET /v1/jobs/{id}, if it is long"),
    ]
    command_bytes: Annotated[int | None, Field(description="Length of the command in JSON; from 4096 on it is long")]
    run_time: int | None
    exit_status: int | None
    signal: str | None
    message: Annotated[str | None, Field(description="Why a promise was broken, who cancelled it, why it failed")]
    submitted: int
    submitted_iso: str
    reshaped: Annotated[int | None, Field(description="When it was last reshaped; null if never")]
    reshaped_iso: str | None
    not_before: Annotated[int | None, Field(description="Earliest start requested by the user")]
    not_before_iso: str | None
    promise: Annotated[int, Field(description="Promised start; it never gets later unless its user reshapes the job")]
    promise_iso: str
    first_promise: Annotated[int, Field(description="Start promised at submission, or when it was last reshaped")]
    first_promise_iso: str
    broken_promise: Annotated[int | None, Field(description="The latest broken promise; null if there is none")]
    broken_promise_iso: str | None
    start: Annotated[int | None, Field(description="When it started")]
    start_iso: str | None
    due: Annotated[int | None, Field(description="Latest time at which its processors become free")]
    due_iso: str | None
    finished: Annotated[int | None, Field(description="Time at which its processors became free")]
    finished_iso: str | None


class CoverageAnswer(BaseModel):
    """How often the intervals of the last predictions held."""

    interval: Annotated[float, Field(description="The probability that they are meant to have")]
    outcomes: Annotated[int, Field(description="How many predicted jobs have started, of the last 400")]
    held: Annotated[int, Field(description="How many of these started in their interval")]
    share: Annotated[float | None, Field(description="held / outcomes; null for fewer than 20")]
    predicted_afterwards: int
    in_words: str


class OneJobAnswer(JobAnswer):
    """A job requested by its number; while it waits, with its predicted start.

    Null where nothing is predicted: too few jobs have ended here, the queue is too long, or it is not ready yet.
    """

    predicted_start: Annotated[
        int | None, Field(description="Mean of the predicted start, learned from jobs that have ended here")
    ]
    predicted_start_iso: str | None
    predicted_low: Annotated[
        int | None, Field(description="With 90% probability, the start is between this and predicted_high")
    ]
    predicted_low_iso: str | None
    predicted_high: Annotated[int | None, Field(description="Never later than the promise")]
    predicted_high_iso: str | None
    predicted_coverage: CoverageAnswer | None


class JobFieldsAnswer(BaseModel):
    """The requested fields of a job, with its number."""

    model_config = ConfigDict(extra="allow")

    id: int


class JobsAnswer(BaseModel):
    """A page of the list of jobs and reservations, in submission order."""

    jobs: list[JobAnswer | JobFieldsAnswer]
    next: Annotated[int | None, Field(description="Value of `after` for the next page; null on the last page")]


JOB_FIELDS = frozenset(field.alias or name for name, field in JobAnswer.model_fields.items())
"""Values of the query `fields`."""


class HealthAnswer(BaseModel):
    """The health of the service."""

    status: Annotated[
        Literal["ok", "degraded"],
        Field(description="degraded: see `problem`; the HTTP status is 503 only if changes cannot be made durable"),
    ]
    problem: Annotated[
        str | None,
        Field(
            description="The store cannot be written; the machine's clock was set; or the service is slow: the "
            "dispatcher is late, one operation takes long, or waiting jobs are still being moved to earlier starts"
        ),
    ]
    durable: Annotated[bool, Field(description="Whether changes can be written to disk; if not, all are refused")]
    remarks: Annotated[list[str], Field(description="Notices for the operator, for example a restored store")]
    scheduler: str
    processors: int
    accepting: bool
    in_use: int
    queued: int
    running: int
    promises_broken: int


class BrokenAnswer(BaseModel):
    """A broken promise; without a start, the job was cancelled."""

    id: int
    user: str
    promised: int
    start: int | None


class LimitsAnswer(BaseModel):
    """Limits per user; null means no limit."""

    max_queued: Annotated[int | None, Field(description="Jobs and reservations in the schedule")]
    max_processor_seconds: Annotated[int | None, Field(description="Sum of their processors × walltime")]
    max_queued_bytes: Annotated[int | None, Field(description="Bytes of their commands and environments in JSON")]
    max_request_bytes: int | None
    max_rate: Annotated[float | None, Field(description="Requests per second")]
    max_streams: Annotated[int | None, Field(description="Open event streams")]


class ClassAnswer(BaseModel):
    """A class of jobs."""

    name: str
    priority: Annotated[int, Field(description="Higher ones are moved to earlier starts first")]
    default: Annotated[bool, Field(description="Whether it is that of jobs that name none")]
    permitted: Annotated[bool, Field(description="Whether the caller may submit in it")]


class MachineAnswer(BaseModel):
    """The state of the machine, and the user and role of the caller."""

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
        Field(description="Scheduler's clock minus the machine's, in seconds; null with --clock-speed"),
    ]
    predicted_coverage: Annotated[
        CoverageAnswer | None, Field(description="Of the predicted starts of jobs here; null until it is known")
    ]
    user: str
    role: Literal["user", "operator"]
    access: Annotated[bool, Field(description="Whether tokens are required")]
    limits: LimitsAnswer
    classes: Annotated[list[ClassAnswer], Field(description="Classes of jobs, the highest first; none: all are alike")]
    broken: Annotated[list[BrokenAnswer] | None, Field(description="Promises broken by this change")] = None
