"""What Slurm publishes of its nodes, jobs, reservations and partitions, whatever the transport.

Times are epoch seconds and durations seconds; None is what is not known, or a limit that there is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ARRAY_DEPTH", "Cluster", "Job", "Node", "Partition", "Reservation", "Scheduling", "Tasks"]

ARRAY_DEPTH = 20
"""How many tasks of an array are planned if nothing else is configured (slurm.conf, bf_max_job_array_resv)."""


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes
    ----------
    allocated
        CPUs that jobs have, also those that one may not see.
    why_not
        The states for which no job starts on it; empty if it can be used.
    reserved
        A reservation holds it now.
    """

    name: str
    cpus: int
    allocated: int | None = None
    why_not: tuple[str, ...] = ()
    reserved: bool = False
    partitions: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether jobs start on it."""
        return not self.why_not


@dataclass(frozen=True)
class Tasks:
    """The tasks of an array that one record stands for, and how many of them may run at once."""

    ranges: tuple[range, ...]
    at_once: int | None = None

    def __len__(self) -> int:
        return sum(len(one) for one in self.ranges)


@dataclass(frozen=True)
class Job:
    """A job, or tasks of an array that wait together.

    Attributes
    ----------
    state
        In capitals, as in RUNNING; of several the one that decides what the job holds.
    start, end
        When it started and by when it ends, or when it is planned to.
    time_limit
        None if it has none.
    cpus
        CPUs that it has, or asks for; what it gets may be more.
    least_nodes, most_nodes
        How many nodes it asks for.
    nodes
        Names of those that it holds.
    planned_nodes
        Names of those it is planned on.
    cpus_on
        CPUs that it has on each node, where that is published.
    exclusive
        It shares its nodes with nobody.
    reason
        Why it waits, as Slurm puts it.
    exit_status, signal
        How its script ended, where that is published; the number of the signal that ended it.
    stdout, stderr
        Files of its output, where they are published.
    besides
        What else than CPUs and nodes it asks for, of "features", "licences", "GRES" and "parts" (of a heterogeneous
        job), where that is published.
    """

    id: int
    name: str
    user: str
    state: str
    partitions: tuple[str, ...]
    cpus: int
    priority: int
    start: int | None = None
    end: int | None = None
    time_limit: int | None = None
    least_nodes: int = 1
    most_nodes: int | None = None
    nodes: tuple[str, ...] = ()
    planned_nodes: tuple[str, ...] = ()
    cpus_on: Mapping[str, int] | None = None
    exclusive: bool = False
    reason: str = ""
    submitted: int | None = None
    eligible: int | None = None
    dependency: str = ""
    required_nodes: tuple[str, ...] = ()
    excluded_nodes: tuple[str, ...] = ()
    reservation: str = ""
    comment: str = ""
    array: int | None = None
    tasks: Tasks | None = None
    exit_status: int | None = None
    signal: int | None = None
    stdout: str = ""
    stderr: str = ""
    besides: tuple[str, ...] = ()

    @property
    def pending(self) -> bool:
        """Whether it waits."""
        return self.state == "PENDING"

    @property
    def held(self) -> bool:
        """Whether somebody keeps it from starting."""
        return self.pending and self.priority == 0


@dataclass(frozen=True)
class Reservation:
    """Nodes kept for some from one moment to another.

    Attributes
    ----------
    partial
        Only some cores of the nodes are.
    """

    name: str
    start: int
    end: int
    nodes: tuple[str, ...]
    flags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True)
class Partition:
    """A queue and the nodes it gives.

    Attributes
    ----------
    default
        Whether jobs go to it that name none; None where that is not published.
    state
        UP, or why it takes or starts nothing; empty where that is not published.
    tier
        Jobs of a higher tier come first, whatever their priority.
    whole_nodes
        Jobs share no nodes.
    most_cpus
        How many CPUs of a node its jobs have together.
    sharing
        How many jobs may have the same CPU.
    """

    name: str
    nodes: tuple[str, ...]
    longest: int | None = None
    default_time: int | None = None
    least_nodes: int = 0
    most_nodes: int | None = None
    default: bool | None = None
    state: str = "UP"
    tier: int = 1
    whole_nodes: bool = False
    most_cpus: int | None = None
    sharing: int = 1


@dataclass(frozen=True)
class Scheduling:
    """How the backfill scheduler plans (slurm.conf, SchedulerParameters); the defaults are those of its manual.

    Attributes
    ----------
    resolution, window
        Seconds to which plans are rounded, and for which there are plans.
    depth, array_depth
        How many jobs, and how many tasks of an array, it plans.
    """

    resolution: int = 60
    window: int = 1440 * 60
    depth: int = 500
    array_depth: int = ARRAY_DEPTH


@dataclass(frozen=True)
class Cluster:
    """All of it.

    Attributes
    ----------
    planned
        When the plan of the pending jobs was made.
    others_visible
        Whether other users' jobs are shown (PrivateData); None where that is not published.
    cautions
        What the answers could not say, in words for a person.
    """

    name: str
    now: int
    version: str
    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
    reservations: tuple[Reservation, ...]
    partitions: tuple[Partition, ...]
    scheduling: Scheduling = field(default_factory=Scheduling)
    planned: int | None = None
    others_visible: bool | None = None
    cautions: tuple[str, ...] = ()
