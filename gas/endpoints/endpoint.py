"""What an endpoint is: something that publishes an availability list, and perhaps takes jobs."""

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

if TYPE_CHECKING:  # a simulator hangs on it, which planning does not need
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
    """What a scheduler is asked for: so many processors for so many seconds, started between two epoch seconds.

    Attributes
    ----------
    alternatives
        Other numbers of processors, each with its walltime, that would do as well; for schedulers that choose.
    layout
        Over which nodes it is laid out; None where the scheduler chooses.
    """

    processors: int
    walltime: int
    start_by: int | None = None
    not_before: int | None = None
    alternatives: tuple[tuple[int, int], ...] = ()
    layout: Layout | None = None


@dataclass(frozen=True)
class JobDescription:
    """What is to run: a command, or nothing for `run_time` seconds on a scheduler that can simulate a job.

    In the command placeholders such as ``{processors}`` stand for what the plan chose (`gas.placeholders`).

    Attributes
    ----------
    native
        Options in the words of the scheduler itself, where it has any.
    job_class
        The class of an S³ in which to submit it; None for its default.
    notice
        Seconds to answer an offer of an earlier start (`OfferingEndpoint`); None if it is just moved to it.
    template
        The command as it was before `sized` filled it in; for schedulers that settle the size only at the start.
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
        """Return the job as it is run on so many processors: filled in, and given its size.

        Parameters
        ----------
        known
            What else is known of the job, by names of placeholders; by default it is of one task a processor.
        later
            Placeholders that the scheduler settles when the job starts.
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
    """A scheduler that says what it has free. One derives from this class, for what stands here of most of them.

    Attributes
    ----------
    name
        What the user calls it.
    address
        Where it is.
    limits
        What it accepts from one request; that may be known better after `availability`.
    remarks
        What a person should know of the latest answer of `availability`: how old it is, what could not be seen.
    timeout
        After how many seconds without an answer `availability` fails by itself; of several endpoints that are asked,
        it is given up at twice that (see `asking`). None if that is not known.
    keeps_own_clock
        Whether its lists are of the instant at which they are asked for, by a clock that may be another than ours.
    shows_all
        Whether the jobs of all users were seen when it was last asked; if not, any start may be later.
    unit
        What processors are.
    configured_as
        What the user calls it where it is one of several choices, which have names of their own; else empty.
    named
        Whether the user named it, so that it may be chosen whatever `unasked` says.
    unasked
        Why it is chosen only if the user names it, or nothing else can run the job, as known when it last answered;
        empty if it may be chosen freely.
    is_local
        Whether paths here mean the same there.
    takes_classes
        Whether it takes jobs of a class (`JobDescription.job_class`).
    moldable
        Whether it is given all shapes of a job and chooses by itself.
    settles
        Placeholders of commands that have their values only when a job starts.
    credential
        What names the user to it: two endpoints of one scheduler that differ in it may see different jobs.
    tell
        Is called with a line for the user when it has to be waited for, or something is not as it should be.
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
        """Return what two names of one scheduler have in common."""
        return self.address

    def availability(self) -> Availability:
        """Return what is free, or raise `Unreachable`."""

    def choices(self) -> Sequence[Endpoint]:
        """Return it with each account and QOS that jobs do not get anyway; after it has answered."""
        return ()

    def line(self, request: Request, name: str) -> str | None:
        """Return the command that submits a request by hand; None if there is none to tell."""
        return None


@runtime_checkable
class JobEndpoint(Endpoint, Protocol):
    """A scheduler that takes jobs; a job is described by the JSON object of ``GET /v1/jobs/{id}``.

    Where starts are estimates, ``promise`` is null, and ``expected`` says for when a start is planned, if it is.

    Of all requests with one key, at most one makes a job.

    Attributes
    ----------
    noted
        Is called with the number of a job as soon as it is known.
    """

    noted: Callable[[int], object] = staticmethod(lambda id: None)

    def suspect(self, key: str) -> None:
        """Take a request with this key for one that may have been sent before."""
        return  # one that knows keys asks its scheduler

    def unused(self, key: str) -> None:
        """Take this key for one that no request was sent with; it need not be looked for."""
        return  # likewise

    def preview(self, request: Request, job: JobDescription) -> str | None:
        """Return what would be submitted, as text; None if there is none to show."""
        return None

    def why(self, id: int) -> dict[str, Any]:
        """Return why a job waits, or raise `BadInput` if that is not known of jobs there."""
        raise BadInput(f"{self.name}: is not a Slurm scheduler; gas status {id} says when the job starts")

    def why_unchanged(self, id: int) -> str:
        """Return why a job that waits cannot be changed there; raise `NotFound` if there is no such job."""
        return f"{self.name}: cannot change a job that waits; cancel it and submit another (gas submit)"

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

    def output(self, id: int, stream: Literal["stdout", "stderr"], limit: int, after: int | None = None) -> bytes:
        """Return the end of what a job has written, at most `limit` bytes; or those after so many."""

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job or a reservation."""


@runtime_checkable
class ProbingEndpoint(JobEndpoint, Protocol):
    """A scheduler that can be asked by real jobs when it would start them."""

    def probe(self, requests: Sequence[Request]) -> list[int | None]:
        """Return when each of the requests would start, as epoch seconds, by jobs that are cancelled at once."""


@runtime_checkable
class QueueEndpoint(Endpoint, Protocol):
    """A scheduler that shows who runs and who waits, so that its queue can be simulated forward.

    Attributes
    ----------
    queue_remarks
        What a person should know of the latest `snapshot`.
    """

    queue_remarks: tuple[str, ...]

    @property
    def policy(self) -> Policy:
        """Return by which of the simulator's policies it plans its queue, or which of them comes nearest."""

    def snapshot(self, users: Mapping[str, int]) -> Snapshot:
        """Return who runs and who waits, with the numbers of users that these names have; -1 for others."""


@runtime_checkable
class PlacedEndpoint(QueueEndpoint, Protocol):
    """A scheduler that shows which place of its queue a waiting job has, and keeps, in whatever shape."""

    def place(self, id: int, users: Mapping[str, int]) -> tuple[Snapshot, int]:
        """Return the `snapshot` without a waiting job, and how many of it come before that.

        Raises
        ------
        Conflict
            The job does not wait.
        """


@runtime_checkable
class SchedulingEndpoint(Endpoint, Protocol):
    """A scheduler whose own way to schedule is known, so that its queue is run forward by that."""

    def queue(
        self, availability: Availability, requests: Sequence[tuple[int, int, Layout | None]], first: int
    ) -> Queue:
        """Return what is run forward to predict requests: size, walltime and layout of each.

        Parameters
        ----------
        availability
            With which they were planned.
        first
            The instant before which none may start.
        """


@runtime_checkable
class RequeueingEndpoint(SchedulingEndpoint, Protocol):
    """Such a one that says what priority a waiting job has, and would have in another shape."""

    def queue_with(self, id: int, shapes: Sequence[tuple[int, int, Layout | None]], first: int) -> Queue:
        """Return what is run forward to predict a waiting job in some shapes, of which the first is its own.

        It keeps what it has waited for; what its size adds to its priority changes with it.

        Raises
        ------
        Conflict
            The job does not wait.
        """


@runtime_checkable
class RememberingEndpoint(Endpoint, Protocol):
    """A scheduler that can be asked for its own past."""

    def history(self) -> History:
        """Return what it remembers of jobs that have ended, and of those that have not; its name says what that is.

        Raises
        ------
        BadInput
            It keeps none, or none that this way of asking reaches.
        """


@dataclass(frozen=True)
class Standing:
    """How a job stands, and what it could get.

    Attributes
    ----------
    job
        The object of ``GET /v1/jobs/{id}``.
    availability
        What it could get where it stands in the queue: without itself, and without those behind it; None if it waits
        no more.
    version
        What changes when the queue or the machine does, and not with the clock alone.
    """

    job: dict[str, Any]
    availability: Availability | None
    version: str


@runtime_checkable
class ReshapingEndpoint(JobEndpoint, Protocol):
    """A scheduler that lets a waiting job be changed without losing its place."""

    def standing(self, id: int) -> Standing:
        """Return how a job stands, or raise `NotFound`."""

    def reshape(
        self, id: int, processors: int, walltime: int, *, start_by: int | None = None, layout: Layout | None = None
    ) -> dict[str, Any]:
        """Have a waiting job ask for so many processors for so many seconds, and return it.

        Parameters
        ----------
        layout
            Over which nodes it is laid out, where its application says that.

        Raises
        ------
        Conflict
            It does not wait any more.
        StalePlan
            It would be promised a start after `start_by`; nothing was changed. Estimates are not held to that.
        Unreachable
            It may or may not have been changed.
        """


@runtime_checkable
class OfferingEndpoint(JobEndpoint, Protocol):
    """A scheduler that offers earlier starts to jobs with a notice, which keep their own until they have chosen."""

    def answer(
        self, id: int, *, accepts: bool, start: int | None = None, not_before: int | None = None
    ) -> dict[str, Any]:
        """Accept or decline what a waiting job is offered, and return the job.

        `start`, in epoch seconds, is the offered start that is meant; accepting needs it. A job that declines may be
        offered starts from `not_before` on, None for no more.

        Raises
        ------
        Conflict
            It is not offered that (any more).
        Unreachable
            It may or may not have been answered.
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
    """A scheduler whose jobs are on an account and have a QOS."""

    def chosen(self, words: Sequence[str]) -> Endpoint:
        """Return it as one of jobs with these: ``["account=abc", "qos=high"]``."""
