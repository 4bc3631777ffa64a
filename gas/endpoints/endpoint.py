"""Protocols of endpoints: schedulers that publish an availability list, and may accept jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from documents.fields import Fields
from gas.availability import Availability
from gas.errors import BadInput, Unreachable
from gas.planner import FASTEST, SLOWEST, Limits
from gas.times import LONGEST, parse_duration
from speedup_models.model import Layout

if TYPE_CHECKING:  # requires a simulator, which planning does not need
    from gas.prediction.history import History
    from gas.prediction.slurm import Queue
    from gas.prediction.snapshot import Snapshot
    from gas.simulation.schedule import Policy

__all__ = [
    "Choosing",
    "Endpoint",
    "InDoubt",
    "JobDescription",
    "JobEndpoint",
    "OfferingEndpoint",
    "PlacedEndpoint",
    "ProbingEndpoint",
    "QueueEndpoint",
    "RememberingEndpoint",
    "Request",
    "RequeueingEndpoint",
    "ReshapingEndpoint",
    "SchedulingEndpoint",
    "Standing",
    "limits_from",
]


class InDoubt(Unreachable):
    """A scheduler gave no definite answer to a job or a reservation, so it may or may not have accepted it.

    Attributes
    ----------
    key
        Finds the request (`JobEndpoint.job_by_key`) and repeats it safely.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Request:
    """A request to a scheduler: processors, walltime in seconds, and a range of start times in epoch seconds.

    Attributes
    ----------
    alternatives
        Other processor counts with their walltimes, for schedulers that choose among them.
    layout
        Its layout over nodes; None if the scheduler chooses.
    """

    processors: int
    walltime: int
    start_by: int | None = None
    not_before: int | None = None
    alternatives: tuple[tuple[int, int], ...] = ()
    layout: Layout | None = None


@dataclass(frozen=True)
class JobDescription:
    """A job to run: a command, or a simulated job of `run_time` seconds on a scheduler that supports it.

    Placeholders of the command, such as ``{processors}``, are replaced by values of the plan (`gas.placeholders`).

    Attributes
    ----------
    native
        Options in the scheduler's own syntax.
    job_class
        The class of S³ to which it is submitted; None for its default.
    notice
        Seconds to answer an offer of an earlier start (`OfferingEndpoint`); None if S³ may move the job at once.
    template
        The command before `sized` filled in its placeholders; for schedulers that fix the size only at the start.
    """

    name: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None
    run_time: int | None = None
    native: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    job_class: str | None = None
    notice: int | None = None

    def sized(
        self, processors: int, walltime: int, known: Mapping[str, int] | None = None, later: Collection[str] = ()
    ) -> JobDescription:
        """Return the job with a size: placeholders are replaced.

        Parameters
        ----------
        known
            Values of further placeholders, by name; by default the job has one task per processor.
        later
            Placeholders that the scheduler fills in when the job starts.
        """
        from gas.placeholders import filled, variable  # a plan alone has no command

        if known is None:
            known = {"processors": processors, "tasks": processors, "cpus_per_task": 1}
        values = {**known, "walltime": walltime}
        return JobDescription(
            self.name,
            tuple(filled(word, values, later) for word in self.command),
            {**self.environment, **{variable(name): str(value) for name, value in values.items()}},
            self.directory,
            self.run_time,
            self.native,
            self.template or self.command,
            self.job_class,
            self.notice,
        )


@runtime_checkable
class Endpoint(Protocol):
    """A scheduler that publishes its free processors. Endpoints derive from this class, which has their defaults.

    Attributes
    ----------
    name
        Its name in the configuration.
    address
        Its address.
    limits
        Limits of one request; after `availability`, with those of the scheduler.
    remarks
        Remarks for the user on the latest answer of `availability`, such as its age, or jobs that are not visible.
    timeout
        Seconds without an answer after which `availability` fails by itself. When several endpoints are queried, each
        is given up after twice that time (see `asking`). None if unknown.
    keeps_own_clock
        Whether its lists begin at the instant of the query, by a clock that may differ from ours.
    shows_all
        Whether the latest answer included the jobs of all users; if not, any start may be later.
    unit
        The unit of a request's processors.
    configured_as
        The configured name of an endpoint with several choices, each with a name of its own; else empty.
    named
        Whether the user named it; then it may be chosen despite `unasked`.
    unasked
        Why it is chosen only if the user names it or nothing else can run the job, by its latest answer; empty if it
        may be chosen freely.
    is_local
        Whether it shares this machine's file system.
    takes_classes
        Whether it accepts jobs of a class (`JobDescription.job_class`).
    moldable
        Whether it receives all shapes of a job and chooses one itself.
    settles
        Placeholders of commands whose values are known only when a job starts.
    credential
        The credential of the user: endpoints of one scheduler with different credentials may see different jobs.
    tell
        Called with a line for the user when the scheduler is slow or something is wrong.
    """

    name: str
    address: str
    limits: Limits
    remarks: tuple[str, ...] = ()
    timeout: float | None = None
    keeps_own_clock: bool = False
    shows_all: bool = True
    unit: Literal["cpus", "tasks", "nodes", "gpus"] = "cpus"
    configured_as: str = ""
    named: bool = False
    unasked: str = ""
    is_local: bool = False
    moldable: bool = False
    takes_classes: bool = False
    settles: frozenset[str] = frozenset()
    credential: Hashable = None
    tell: Callable[[str], None] = staticmethod(lambda text: None)

    @property
    def target(self) -> str:
        """Return the identity of the scheduler, equal for two endpoints of the same one."""
        return self.address

    def identity(self) -> str:
        """Return an identity that all addresses of the scheduler share; raise `GasError` if it cannot be queried."""
        return self.target

    def availability(self) -> Availability:
        """Return the availability list, or raise `Unreachable`."""

    def choices(self) -> Sequence[Endpoint]:
        """Return an endpoint for each account and QOS that jobs do not get by default; call `availability` first."""
        return ()

    def line(self, request: Request, name: str) -> str | None:
        """Return the command that submits a request by hand; None if there is none."""
        return None


@runtime_checkable
class JobEndpoint(Endpoint, Protocol):
    """A scheduler that accepts jobs; a job is described by the JSON object of ``GET /v1/jobs/{id}``.

    If starts are estimates, ``promise`` is null, and ``expected`` is the planned start, if there is one.

    All requests with the same key create at most one job.

    Attributes
    ----------
    noted
        Called with the number of a job as soon as it is known.
    """

    noted: Callable[[int], object] = staticmethod(lambda id: None)

    def suspect(self, key: str) -> None:
        """Assume that a request with this key may have been sent before."""
        return  # endpoints with keys query their scheduler

    def unused(self, key: str) -> None:
        """Assume that no request was sent with this key, so that no search for its job is needed."""
        return  # likewise

    def preview(self, request: Request, job: JobDescription) -> str | None:
        """Return the submission as text, without submitting; None if it cannot be shown."""
        return None

    def why(self, id: int) -> dict[str, Any]:
        """Return why a job waits, or raise `BadInput` if the scheduler does not show this."""
        raise BadInput(f"{self.name}: is not a Slurm scheduler; gas status {id} says when the job starts")

    def why_unchanged(self, id: int) -> str:
        """Return why a waiting job cannot be changed on this scheduler; raise `NotFound` if there is no such job."""
        return f"{self.name}: cannot change a job that waits; cancel it and submit another (gas submit)"

    def submit(self, request: Request, job: JobDescription, key: str | None = None) -> dict[str, Any]:
        """Submit a job, or raise `StalePlan` if it would start after `start_by`, `InDoubt` if no answer came."""

    def reserve(self, name: str, processors: int, start: int, walltime: int, key: str | None = None) -> dict[str, Any]:
        """Reserve processors from `start` on; errors as for `submit`."""

    def in_doubt(self, key: str) -> bool:
        """Return whether a request with this key may still be on its way."""

    def job_by_key(self, key: str) -> dict[str, Any] | None:
        """Return the job that the user submitted with this key; None if there is none."""

    def job(self, id: int) -> dict[str, Any]:
        """Return a job with its current state."""

    def jobs(self, ended: int) -> list[dict[str, Any]]:
        """Return the last `ended` jobs that have ended, then the jobs in the schedule."""

    def output(self, id: int, stream: Literal["stdout", "stderr"], limit: int, after: int | None = None) -> bytes:
        """Return the last `limit` bytes of a job's output, or at most `limit` bytes from an offset on."""

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job or a reservation."""


@runtime_checkable
class ProbingEndpoint(JobEndpoint, Protocol):
    """A scheduler that can be probed: real jobs, cancelled at once, show when it would start them."""

    def probe(self, requests: Sequence[Request]) -> list[int | None]:
        """Return the start of each request in epoch seconds, by probe jobs that are cancelled at once."""


@runtime_checkable
class QueueEndpoint(Endpoint, Protocol):
    """A scheduler that shows its running and waiting jobs, so that its queue can be simulated forward.

    Attributes
    ----------
    queue_remarks
        Remarks for the user on the latest `snapshot`.
    """

    queue_remarks: tuple[str, ...]

    @property
    def policy(self) -> Policy:
        """Return the policy of the simulator that is the same as the scheduler's own, or closest to it."""

    def snapshot(self, users: Mapping[str, int]) -> Snapshot:
        """Return running and waiting jobs; the given names of users become numbers, other users are -1."""


@runtime_checkable
class PlacedEndpoint(QueueEndpoint, Protocol):
    """A scheduler whose waiting jobs have a known place in the queue, which they keep in any shape."""

    def place(self, id: int, users: Mapping[str, int]) -> tuple[Snapshot, int]:
        """Return the `snapshot` without a waiting job, and the number of jobs ahead of it.

        Raises
        ------
        Conflict
            The job is not waiting.
        """


@runtime_checkable
class SchedulingEndpoint(Endpoint, Protocol):
    """A scheduler whose scheduling algorithm is known; its queue is simulated forward by that algorithm."""

    def queue(
        self, availability: Availability, requests: Sequence[tuple[int, int, Layout | None]], first: int
    ) -> Queue:
        """Return the queue to simulate forward to predict requests: size, walltime and layout of each.

        Parameters
        ----------
        availability
            The list with which they were planned.
        first
            The earliest start allowed.
        """


@runtime_checkable
class RequeueingEndpoint(SchedulingEndpoint, Protocol):
    """A scheduler whose algorithm is known, and the priority of a waiting job in any shape."""

    def queue_with(self, id: int, shapes: Sequence[tuple[int, int, Layout | None]], first: int) -> Queue:
        """Return the queue to simulate forward to predict a waiting job in some shapes; the first is its own.

        The job keeps its age; the part of its priority that depends on its size changes with the shape.

        Raises
        ------
        Conflict
            The job is not waiting.
        """


@runtime_checkable
class RememberingEndpoint(Endpoint, Protocol):
    """A scheduler that keeps a record of past jobs."""

    def history(self) -> History:
        """Return the scheduler's record of ended and unfinished jobs; the name of the result describes the record.

        Raises
        ------
        BadInput
            It keeps no record, or none that this endpoint can read.
        """


@dataclass(frozen=True)
class Standing:
    """State of a job, and the availability list for its place in the queue.

    Attributes
    ----------
    job
        The object of ``GET /v1/jobs/{id}``.
    availability
        Without the job itself and without the jobs behind it in the queue; None if it is not waiting.
    version
        Changes with the queue or the machine, never with the clock alone.
    """

    job: dict[str, Any]
    availability: Availability | None
    version: str


@runtime_checkable
class ReshapingEndpoint(JobEndpoint, Protocol):
    """A scheduler on which a waiting job can be changed without losing its place in the queue."""

    def standing(self, id: int) -> Standing:
        """Return the `Standing` of a job, or raise `NotFound`."""

    def reshape(
        self, id: int, processors: int, walltime: int, *, start_by: int | None = None, layout: Layout | None = None
    ) -> dict[str, Any]:
        """Change the processors and the walltime (seconds) of a waiting job, and return the job.

        Parameters
        ----------
        layout
            Layout over nodes, if the application determines it.

        Raises
        ------
        Conflict
            The job is not waiting any more.
        StalePlan
            The promised start would be after `start_by`; nothing was changed. Estimates are not checked.
        Unreachable
            The job may or may not have been changed.
        """


@runtime_checkable
class OfferingEndpoint(JobEndpoint, Protocol):
    """A scheduler that offers earlier starts to jobs with a notice; they keep their own start until they accept."""

    def answer(
        self, id: int, *, accepts: bool, start: int | None = None, not_before: int | None = None
    ) -> dict[str, Any]:
        """Accept or decline an offer to a waiting job, and return the job.

        `start` is the offered start in epoch seconds; it is required to accept. A job that declines is offered starts
        from `not_before` on; with None, no more.

        Raises
        ------
        Conflict
            There is no such offer (any more).
        Unreachable
            The answer may or may not have arrived.
        """


def limits_from(fields: Fields) -> Limits:
    """Read ``max_processors``, ``max_walltime`` ("12h") and ``speed`` of an endpoint's table."""
    most = fields.integer("max_processors", None, minimum=1)
    longest = fields.text("max_walltime", None)
    if longest is not None:
        longest = min(parse_duration(longest, fields.where("max_walltime")), LONGEST)
    return Limits(most, longest, fields.number("speed", 1.0, minimum=SLOWEST, maximum=FASTEST))


@runtime_checkable
class Choosing(Protocol):
    """A scheduler whose jobs have an account and a QOS."""

    def chosen(self, words: Sequence[str]) -> Endpoint:
        """Return the endpoint for jobs with an account and a QOS: ``["account=abc", "qos=high"]``."""
