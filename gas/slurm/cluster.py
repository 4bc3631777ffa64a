"""What Slurm publishes of its nodes, jobs, reservations, licences and partitions, whatever the transport.

Times are epoch seconds, durations seconds, memory is in MB (2**20 bytes, as Slurm counts it); None is what is not
known, or a limit that there is not. A job that a user only considers submitting is a `Job` too, with number 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from gas.slurm.accounting import Accounting
from gas.slurm.settings import Settings

__all__ = [
    "ARRAY_DEPTH", "Cluster", "Gres", "Job", "Licence", "Node", "Partition", "Reservation", "Scheduling", "Tasks",
]  # fmt: skip

ARRAY_DEPTH = 20
"""How many tasks of an array are planned if nothing else is configured (slurm.conf, bf_max_job_array_resv)."""


@dataclass(frozen=True)
class Gres:
    """So many of a generic resource: GPUs, say. Without a type, of any."""

    name: str
    type: str = ""
    count: int = 1


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
    memory, memory_allocated
        MB that jobs can have (RealMemory less MemSpecLimit), and that they have.
    sockets, cores, threads
        Sockets, cores of a socket, threads of a core.
    features
        The active ones.
    gres, gres_used
        What it has, type by type, and what jobs have of it.
    weight
        Nodes of a low weight are given out first.
    completing, rebooting
        A job is leaving it; it boots, or will boot.
    """

    name: str
    cpus: int
    allocated: int | None = None
    why_not: tuple[str, ...] = ()
    reserved: bool = False
    partitions: tuple[str, ...] = ()
    memory: int | None = None
    memory_allocated: int | None = None
    sockets: int = 1
    cores: int | None = None
    threads: int = 1
    features: frozenset[str] = frozenset()
    gres: tuple[Gres, ...] = ()
    gres_used: tuple[Gres, ...] = ()
    weight: int = 1
    completing: bool = False
    rebooting: bool = False

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
        It has its nodes whole.
    shared_with
        Whose jobs alone share its nodes: "user", "mcs"; empty for all.
    reason
        Why it waits, as Slurm puts it.
    exit_status, signal
        How its script ended, where that is published; the number of the signal that ended it.
    stdout, stderr
        Files of its output, where they are published.
    unclear
        What it asks for in words that are not understood.
    account, qos
        On whose account, and with which quality of service; several, separated by commas, where it may have any.
    tasks_asked, cpus_per_task, tasks_per_node
        As asked for; None where that is not said.
    cpus_per_gpu, threads_per_core
        CPUs for each GPU; threads of each core that it uses, where it leaves some unused; None where that is not said.
    memory_per_node, memory_per_cpu, memory_per_gpu
        MB asked for in one of these ways; 0 a node is all of it; all None where the default of the partition holds.
        Of a node and of a GPU: the latter is a default, which holds if the former is all that a node has.
    gres_per_node, gres_per_socket, gres_per_task, gres_per_job
        Generic resources asked for in these ways.
    memory_on, gres_on
        What it has on each node, where that is published.
    features
        The expression of its constraint, as it was written.
    licences
        By name.
    shortest
        The least time that it takes (--time-min).
    priority_in
        Its priority by partition, where it differs.
    contiguous
        It wants neighbouring nodes only.
    reboot
        It boots its nodes first.
    leader
        The first part of the heterogeneous job that it is a part of.
    nice
        What its user takes off its priority.
    restarts
        How often it began anew, where that is published.
    preemptable
        From when on others may take its place; None if that is not published, or no job may.
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
    unclear: tuple[str, ...] = ()
    account: str = ""
    qos: str = ""
    tasks_asked: int | None = None
    cpus_per_task: int = 1
    tasks_per_node: int | None = None
    cpus_per_gpu: int | None = None
    threads_per_core: int | None = None
    memory_per_node: int | None = None
    memory_per_cpu: int | None = None
    memory_per_gpu: int | None = None
    gres_per_node: tuple[Gres, ...] = ()
    gres_per_socket: tuple[Gres, ...] = ()
    gres_per_task: tuple[Gres, ...] = ()
    gres_per_job: tuple[Gres, ...] = ()
    memory_on: Mapping[str, int] | None = None
    gres_on: Mapping[str, tuple[Gres, ...]] | None = None
    features: str = ""
    licences: Mapping[str, int] = field(default_factory=dict)
    shortest: int | None = None
    priority_in: Mapping[str, int] = field(default_factory=dict)
    contiguous: bool = False
    reboot: bool = False
    leader: int | None = None
    shared_with: str = ""
    nice: int = 0
    restarts: int = 0
    preemptable: int | None = None

    @property
    def pending(self) -> bool:
        """Whether it waits."""
        return self.state == "PENDING"

    @property
    def held(self) -> bool:
        """Whether it is held."""
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
    job_factor
        What it adds to priorities (PriorityJobFactor).
    qos
        The quality of service whose limits hold for all of its jobs; empty if there is none.
    allowed_accounts, denied_accounts, allowed_qos, denied_qos, allowed_groups
        Who may use it; None if all may.
    memory_per_cpu, memory_per_node, most_memory_per_cpu, most_memory_per_node
        MB that jobs get which ask for none, and that they may ask for at the most.
    memory_per_gpu, cpus_per_gpu
        MB and CPUs for each GPU of jobs that ask for none (JobDefaults).
    preempt_mode
        What becomes of its jobs when they are preempted; empty for what the cluster has.
    billing_weights, tres
        What a unit of each trackable resource counts for, and how much of each it has.
    selection
        SelectTypeParameters of its own; empty for the cluster's.
    overtime
        Seconds that its jobs may be over their limit; None for what the cluster has.
    shared_with
        Whose jobs alone share nodes with a job: "user", "mcs", "topo"; empty for all.
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
    job_factor: int = 0
    qos: str = ""
    allowed_accounts: tuple[str, ...] | None = None
    denied_accounts: tuple[str, ...] | None = None
    allowed_qos: tuple[str, ...] | None = None
    denied_qos: tuple[str, ...] | None = None
    allowed_groups: tuple[str, ...] | None = None
    memory_per_cpu: int | None = None
    memory_per_node: int | None = None
    most_memory_per_cpu: int | None = None
    most_memory_per_node: int | None = None
    preempt_mode: str = ""
    billing_weights: Mapping[str, float] = field(default_factory=dict)
    tres: Mapping[str, float] = field(default_factory=dict)
    selection: str = ""
    overtime: int | None = None
    shared_with: str = ""
    memory_per_gpu: int | None = None
    cpus_per_gpu: int | None = None


@dataclass(frozen=True)
class Licence:
    """Licences of one name: how many there are, how many jobs have, and how many are kept for others."""

    name: str
    total: int
    used: int = 0
    reserved: int = 0


@dataclass(frozen=True)
class Scheduling:
    """How the backfill scheduler plans (slurm.conf, SchedulerParameters); the defaults are those of its manual.

    Attributes
    ----------
    resolution, window
        Seconds to which plans are rounded, and for which there are plans.
    depth, array_depth
        How many jobs, and how many tasks of an array, it plans.
    parameters
        All of SchedulerParameters by name, as they are written; those without a value are empty.
    """

    resolution: int = 60
    window: int = 1440 * 60
    depth: int = 500
    array_depth: int = ARRAY_DEPTH
    parameters: Mapping[str, str] = field(default_factory=dict)


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
    licences
        None where they are not published.
    settings
        How it is configured; None where that is not published.
    accounting
        Accounts, QOS, their limits and use; None where nothing of them is published.
    worked_out
        What others have worked out of it and keep with it.
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
    licences: tuple[Licence, ...] | None = None
    settings: Settings | None = None
    accounting: Accounting | None = None
    worked_out: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False, compare=False)
