"""Resources and jobs of an OAR as published, for any transport.

Times are epoch seconds and durations seconds; None means unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ACTIVE", "HOLDING", "WAITING", "Event", "Job", "Machine", "Resource", "Usage", "Wanted"]

WAITING = frozenset({"Waiting", "Hold", "toLaunch", "toAckReservation"})
"""States of jobs that have not started."""

HOLDING = frozenset({"Launching", "Running", "Suspended", "Resuming", "Finishing"})
"""States of jobs with resources."""

ACTIVE = WAITING | HOLDING


@dataclass(frozen=True)
class Resource:
    """The unit of allocation: usually a core, whatever the site calls a resource.

    Attributes
    ----------
    host
        Its ``network_address``.
    state
        Alive, Absent, Suspected or Dead.
    kind
        Its type; jobs get resources of type ``default`` unless they request others.
    draining
        Whether it accepts no new jobs.
    desktop
        Whether it is a desktop computer, allocated only on request.
    until
        The instant until which it can be used, or woken if absent; None if there is no limit.
    never_halted
        Whether OAR never switches it off to save energy; true for all resources of a site without that feature.
    properties
        Properties that requests can name, as text.
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
    """One shape that a job requests, from the outer level to the inner: hosts, and cores per host.

    A count is None for all, or for the best available.
    """

    levels: tuple[tuple[str, int | None], ...]
    walltime: int


@dataclass(frozen=True)
class Event:
    """An event of a job."""

    kind: str
    date: int


@dataclass(frozen=True)
class Job:
    """A job.

    Attributes
    ----------
    expected
        The planned start of a waiting job, if it has a plan.
    resources
        Numbers of its resources, or of the planned ones if published.
    wanted
        The requested shapes; of several, OAR takes the one that ends first.
    reserved
        Whether it is an advance reservation, whose start is fixed.
    exit_code
        In the format of wait(2): the exit status times 256, or a signal.
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
        """Whether it is killed as soon as another job needs its resources."""
        return "besteffort" in self.types


@dataclass(frozen=True)
class Usage:
    """Resource-seconds that users of a queue have used and requested in the window of its fair share.

    Attributes
    ----------
    users
        By user; OAR's commands cut names after `cut` characters.
    cut
        None if names are complete.
    """

    users: Mapping[str, tuple[int, int]]
    cut: int | None = None

    def of(self, user: str) -> tuple[int, int]:
        """Return the resource-seconds that a user has used and requested."""
        return self.users.get(user if self.cut is None else user[: self.cut], (0, 0))


@dataclass(frozen=True)
class Machine:
    """The state of the machine at one instant.

    Attributes
    ----------
    user
        The querying user; empty if unknown.
    usage
        Of the planned queue; None if it could not be read.
    """

    name: str
    now: int
    resources: tuple[Resource, ...]
    jobs: tuple[Job, ...]
    user: str = ""
    usage: Usage | None = None
