"""The bodies of HTTP requests and their values, as in the OpenAPI document."""

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
from gas.s3 import MOST_NOTICE
from gas.service.changes import Answer, Reshape
from gas.service.classes import CLASS_NAME, CLASS_NAME_IN_WORDS
from gas.service.jobs import JobRequest
from gas.times import LATEST, LONGEST

__all__ = [
    "IN_WORDS",
    "AnswerBody",
    "Key",
    "MachineBody",
    "ReserveBody",
    "ReshapeBody",
    "SubmitBody",
    "few_keys",
]

Processors = Annotated[int, Field(strict=True, ge=1, le=MOST_PROCESSORS, description="Processors")]
_WALLTIME = "Seconds; a process gets TERM shortly before the end (1%, at most 5 s) and KILL at the end"
Walltime = Annotated[int, Field(strict=True, ge=1, le=LONGEST, description=_WALLTIME)]
Instant = Annotated[int, Field(strict=True, ge=0, le=LATEST, description="Epoch seconds")]
_TEXT, _KEY, _VARIABLE, _PATH = r"^[^\x00]*$", r"^[\x21-\x7e]+$", r"^[^\x00=]+$", r"^/[^\x00]*$"
IN_WORDS = {
    _TEXT: "text without NUL characters",
    _KEY: "printable ASCII characters, at least 1, without spaces",
    _VARIABLE: "a name of at least 1 character, without = and NUL characters",
    _PATH: "an absolute path, which begins with /, without NUL characters",
    CLASS_NAME: CLASS_NAME_IN_WORDS,
}
"""The description of each pattern, in messages."""

Text = Annotated[str, StringConstraints(strict=True, pattern=_TEXT, max_length=131_072)]


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
Key = Annotated[str, StringConstraints(strict=True, pattern=_KEY, max_length=200)]
ClassName = Annotated[str, StringConstraints(strict=True, pattern=CLASS_NAME, max_length=64)]
MOST_VARIABLES = 1000
Variable = Annotated[str, StringConstraints(strict=True, pattern=_VARIABLE, max_length=1000)]


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
        Field(pattern=_PATH, max_length=4096, description="Working directory (default: one created for the job)"),
    ] = None


class SimulatedActuator(_Body):
    """Hold the processors for a given time without running a command."""

    kind: Literal["simulated"]
    run_time: Annotated[int, Field(strict=True, ge=0, le=LONGEST, description="Seconds")]


_IN_RESERVATION = "Take the place of this reservation of yours: its processors, walltime and start (as not_before)"


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
    reservation: Annotated[int | None, Field(strict=True, ge=1, le=2**63 - 1, description=_IN_RESERVATION)] = None
    notice: Annotated[
        int | None,
        Field(
            strict=True,
            ge=1,
            le=MOST_NOTICE,
            description="Offer earlier starts instead of moving the job to them; seconds to answer an offer",
        ),
    ] = None
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
            reservation=self.reservation,
            notice=self.notice,
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
    lapses: Annotated[
        bool, Field(strict=True, description="End at its start, unless a job has been submitted into it by then")
    ] = False
    key: Annotated[Key | None, Field(description="Idempotency key: repeated, it returns the same reservation")] = None

    def request(self, user: str) -> JobRequest:
        """Return the request of this user for the scheduler."""
        return JobRequest(
            "reservation",
            self.name,
            self.processors,
            self.walltime,
            actuator="none",
            run_time=0 if self.lapses else None,
            start=self.start,
            start_by=self.start_by,
            key=self.key,
            user=user,
        )


_SHARE = "Of a simulated job; default: the same fraction of its walltime"


class ReshapeBody(_Body):
    """Another shape for a waiting job; fields that are left out do not change."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"processors": 32, "walltime": 4200}]})

    processors: Processors | None = None
    walltime: Walltime | None = None
    run_time: Annotated[int | None, Field(strict=True, ge=0, le=LONGEST, description=_SHARE)] = None
    start_by: Annotated[Instant | None, Field(description="Latest acceptable start, else nothing is changed")] = None
    key: Annotated[Key | None, Field(description="Idempotency key: repeating the request has no further effect")] = None

    @model_validator(mode="after")
    def _changes_something(self) -> ReshapeBody:
        if self.processors is None and self.walltime is None and self.run_time is None:
            raise ValueError("an object with processors or walltime")
        return self

    def request(self, id: int, user: str) -> Reshape:
        """Return the request of this user for the scheduler."""
        return Reshape(id, self.processors, self.walltime, self.run_time, self.start_by, self.key, user)


class AnswerBody(_Body):
    """An answer to the earlier start that a waiting job is offered."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"answer": "accept", "start": 1731000600},
                {"answer": "decline", "start": 1731000600, "not_before": 1731001200},
            ]
        },
    )

    answer: Annotated[
        Literal["accept", "decline"],
        Field(description="accept: the job moves to this start; decline: it keeps the start that it has"),
    ]
    start: Annotated[Instant | None, Field(description="The offered start that is meant; accept requires it")] = None
    not_before: Annotated[
        Instant | None,
        Field(description="With decline: starts from then on may still be offered; left out: none"),
    ] = None
    key: Annotated[Key | None, Field(description="Idempotency key: repeating the answer has no further effect")] = None

    @model_validator(mode="after")
    def _is_whole(self) -> AnswerBody:
        if self.answer == "accept" and (self.start is None or self.not_before is not None):
            raise ValueError("an object that accepts a start, without not_before")
        return self

    def request(self, id: int, user: str) -> Answer:
        """Return the answer of this user for the scheduler."""
        return Answer(id, self.answer == "accept", self.start, self.not_before, self.key, user)


class MachineBody(_Body):
    """A change of the machine; fields that are left out do not change."""

    processors: Annotated[Processors | None, Field(description="New size of the machine")] = None
    cancel_larger: Annotated[
        bool, Field(strict=True, description="Cancel waiting jobs and reservations that are larger than the new size")
    ] = False
    accepting: Annotated[bool | None, Field(strict=True, description="Accept new jobs")] = None
