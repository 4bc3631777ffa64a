"""What OAR publishes of its resources and jobs, whatever the transport.

Times are epoch seconds and durations seconds; None is what is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ACTIVE", "HOLDING", "WAITING", "Event", "Job", "Machine", "Resource", "Usage", "Wanted"]

WAITING = frozenset({"Waiting", "Hold", "toLaunch", "toAckReservation"})
"""States of jobs that have not started."""

HOLDING = frozenset({"Launching", "Running", "Suspended", "Resuming", "Finishing"})
"""States of jobs that have resources."""

ACTIVE = WAITING | HOLDING


@dataclass(frozen=True)
class Resource:
    """What jobs are given: a core as a rule, whatever the site calls a resource.

    Attributes
    ----------
    host
        Its ``network_address``.
    state
        Alive, Absent, Suspected or Dead.
    kind
        Its type; jobs get those of type ``default`` unless they ask for others.
    draining
        Whether it takes no new jobs.
    desktop
        Whether it is a desktop computer, which only jobs that ask for one get.
    until
        Up to when it can be used, or woken if it is absent; None if for ever.
    never_halted
        Whether it is one that OAR does not switch off to save energy, as all are that a site has not set up for that.
    properties
        What requests can name, as text.
    """

    id: int
    host: str
    state: str
    kind: str = "default"
    draining: bool = False
    desktop: bool = False
    until: int | None = None
    never_halted: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """One shape that a job asks for, from the outer level to the inner: so many hosts, of each so many cores.

    A count is None where it is all or the best that there is.
    """

    levels: tuple[tuple[str, int | None], ...]
    walltime: int


@dataclass(frozen=True)
class Event:
    """Something that happened to a job."""

    kind: str
    date: int


@dataclass(frozen=True)
class Job:
    """A job.

    Attributes
    ----------
    expected
        When OAR plans to start it, if it waits and has a plan.
    resources
        Numbers of those that it has, or is planned on where that is published.
    wanted
        The shapes that it asks for; of several, OAR takes the one that ends first.
    reserved
        Whether it is an advance reservation, whose start is fixed.
    exit_code
        As wait(2) has it: the exit status times 256, or a signal.
    """

    id: int
    name: str
    user: str
    state: str
    queue: str = ""
    types: tuple[str, ...] = ()
    walltime: int | None = None
    start: int | None = None
    expected: int | None = None
    stop: int | None = None
    submitted: int | None = None
    resources: tuple[int, ...] = ()
    wanted: tuple[Wanted, ...] = ()
    message: str = ""
    project: str = ""
    reserved: bool = False
    exit_code: int | None = None
    events: tuple[Event, ...] = ()
    command: str = ""
    directory: str = ""
    stdout: str = ""
    stderr: str = ""

    @property
    def waiting(self) -> bool:
        """Whether it has not started."""
        return self.state in WAITING

    @property
    def active(self) -> bool:
        """Whether it has not ended."""
        return self.state in ACTIVE

    @property
    def besteffort(self) -> bool:
        """Whether it is killed as soon as another job wants its resources."""
        return "besteffort" in self.types


@dataclass(frozen=True)
class Usage:
    """What the users of a queue have used and asked for in the window of its fair share, in seconds of resources.

    Attributes
    ----------
    users
        Of each user; OAR's commands cut the names after `cut` characters.
    cut
        None where names are whole.
    """

    users: Mapping[str, tuple[int, int]]
    cut: int | None = None

    def of(self, user: str) -> tuple[int, int]:
        """Return what a user has used and asked for."""
        return self.users.get(user if self.cut is None else user[: self.cut], (0, 0))


@dataclass(frozen=True)
class Machine:
    """All of it, as it was at one moment.

    Attributes
    ----------
    user
        Who asks; empty if that is not known.
    usage
        Of the queue that is planned for; None if it could not be read.
    """

    name: str
    now: int
    resources: tuple[Resource, ...]
    jobs: tuple[Job, ...]
    user: str = ""
    usage: Usage | None = None
