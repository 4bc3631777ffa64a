"""What an endpoint is: something that publishes an availability list, and perhaps takes jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from gas.availability import AvailabilityList
from gas.errors import Unreachable
from gas.planner import Limits
from gas.times import LONGEST, parse_duration
from speedup_models.fields import Fields

__all__ = ["Endpoint", "InDoubt", "JobDescription", "JobEndpoint", "Request", "limits_from"]


class InDoubt(Unreachable):
    """A scheduler was sent a job or a reservation and gave no definite answer: it may or may not have taken it.

    Attributes
    ----------
    key
        What the request can be found by (`JobEndpoint.job_by_key`), and repeated with.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Request:
    """What a scheduler is asked for: so many processors for so many seconds, started between two epoch seconds."""

    processors: int
    walltime: int
    start_by: int | None = None
    not_before: int | None = None


@dataclass(frozen=True)
class JobDescription:
    """What is to run: a command, or nothing for `run_time` seconds on a scheduler that can simulate a job.

    In the command ``{processors}`` and ``{walltime}`` stand for what the plan chose.
    """

    name: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None
    run_time: int | None = None

    def sized(self, processors: int, walltime: int) -> JobDescription:
        """Return the job as it is run on so many processors: filled in, and told its size."""
        values = {"{processors}": str(processors), "{walltime}": str(walltime)}

        def fill(text: str) -> str:
            for mark, value in values.items():
                text = text.replace(mark, value)
            return text

        size = {"GAS_PROCESSORS": str(processors), "GAS_WALLTIME": str(walltime)}
        return JobDescription(
            self.name,
            tuple(fill(word) for word in self.command),
            {**self.environment, **size},
            self.directory,
            self.run_time,
        )


class Endpoint(Protocol):
    """A scheduler that says what it has free."""

    @property
    def name(self) -> str:
        """Return what the user calls it."""

    @property
    def address(self) -> str:
        """Return where it is."""

    @property
    def limits(self) -> Limits:
        """Return what it accepts from one request."""

    def availability(self) -> AvailabilityList:
        """Return its list, or raise `Unreachable`."""


@runtime_checkable
class JobEndpoint(Endpoint, Protocol):
    """A scheduler that takes jobs; a job is described by the JSON object of ``GET /v1/jobs/{id}``.

    Of all requests with one key, at most one makes a job.
    """

    def submit(self, request: Request, job: JobDescription, key: str | None = None) -> dict[str, Any]:
        """Submit a job, or raise `StalePlan` if it would start after `start_by`, `InDoubt` if no answer came."""

    def reserve(self, name: str, processors: int, start: int, walltime: int, key: str | None = None) -> dict[str, Any]:
        """Reserve processors from `start` on; errors as of `submit`."""

    def in_doubt(self, key: str) -> bool:
        """Return whether a request with this key may still be on its way."""

    def job_by_key(self, key: str) -> dict[str, Any] | None:
        """Return the job that the user submitted with this key, None if there is none."""

    def job(self, id: int) -> dict[str, Any]:
        """Return what has become of a job."""

    def jobs(self, ended: int) -> list[dict[str, Any]]:
        """Return the jobs in the schedule, after the latest `ended` ones that have ended."""

    def output(self, id: int, stream: Literal["stdout", "stderr"], limit: int) -> bytes:
        """Return the end of what a job has written."""

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job or a reservation."""


def limits_from(fields: Fields) -> Limits:
    """Read ``max_processors`` and ``max_walltime`` ("12h") of an endpoint's table."""
    most = fields.integer("max_processors", None, minimum=1)
    longest = fields.text("max_walltime", None)
    if longest is not None:
        longest = min(parse_duration(longest, fields.where("max_walltime")), LONGEST)
    return Limits(most, longest)
