"""The bodies of HTTP answers, as in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "JOB_FIELDS",
    "AvailabilityAnswer",
    "HealthAnswer",
    "JobAnswer",
    "JobsAnswer",
    "MachineAnswer",
    "OneJobAnswer",
]


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
    priority: Annotated[int | None, Field(description="Priority of its class, see GET /v1/machine")]
    actuator: Literal["process", "simulated", "none"]
    command: Annotated[
        list[str] | None,
        Field(description="Null for other users' jobs and, except in GET /v1/jobs/{id}, if it is long"),
    ]
    command_bytes: Annotated[int | None, Field(description="Length of the command in JSON; 4096 or more is long")]
    run_time: int | None
    notice: Annotated[
        int | None, Field(description="Seconds to answer an offer of an earlier start; null: moved without an offer")
    ]
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
    offer: Annotated[
        int | None, Field(description="Earlier start that is held for it as well: POST /v1/jobs/{id}/offer answers")
    ]
    offer_iso: str | None
    answer_by: Annotated[int | None, Field(description="When the offer is withdrawn if it is not answered")]
    answer_by_iso: str | None
    offers_from: Annotated[int | None, Field(description="It may be offered starts from then on; null: none")]
    offers_from_iso: str | None
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

    interval: Annotated[float, Field(description="Nominal probability of the intervals")]
    outcomes: Annotated[int, Field(description="Number of predicted jobs that have started, of the last 400")]
    held: Annotated[int, Field(description="Number of these that started in their interval")]
    share: Annotated[float | None, Field(description="held / outcomes; null for fewer than 20")]
    predicted_afterwards: int
    in_words: str


class OneJobAnswer(JobAnswer):
    """A job requested by its number; while it waits, with its predicted start.

    Null without a prediction: too few jobs have ended here, the queue is too long, or predictions are not ready yet.
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
    remarks: Annotated[list[str], Field(description="Notices for the operator, for example after a restored backup")]
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
    priority: Annotated[int, Field(description="Jobs of higher priority move to earlier starts first")]
    default: Annotated[bool, Field(description="Whether jobs submitted without a class get this one")]
    permitted: Annotated[bool, Field(description="Whether the caller may submit to this class")]


class MachineAnswer(BaseModel):
    """The state of the machine, and the user and role of the caller."""

    scheduler: str
    identity: Annotated[str, Field(description="Of this scheduler: the same under all of its addresses")]
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
        CoverageAnswer | None, Field(description="Coverage of predicted starts on this machine; null until known")
    ]
    user: str
    role: Literal["user", "operator"]
    access: Annotated[bool, Field(description="Whether tokens are required")]
    limits: LimitsAnswer
    classes: Annotated[list[ClassAnswer], Field(description="Job classes, highest first; empty: all jobs are equal")]
    broken: Annotated[list[BrokenAnswer] | None, Field(description="Promises broken by this change")] = None
