"""The state of a Slurm cluster as published: nodes, jobs, reservations, licences and partitions, for any transport.

Times are epoch seconds, durations seconds, memory is in MB (2**20 bytes, as in Slurm); None means unknown, or no limit.
A request that is only planned is a `Job` too, with number 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from gas.slurm.accounting import Accounting
from gas.slurm.settings import Settings

__all__ = [
    "ARRAY_DEPTH", "Cluster", "Gres", "Job", "Licence", "Node", "Partition", "Reservation", "Scheduling", "Switch",
    "Tasks",
]  # fmt: skip

ARRAY_DEPTH = 20
"""Default number of array tasks that are planned (slurm.conf, bf_max_job_array_resv)."""


@dataclass(frozen=True)
class Gres:
    """An amount of a generic resource, such as GPUs; without a type, of any type."""

    name: str
    type: str = ""
    count: int = 1


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes
    ----------
    allocated
        CPUs allocated to jobs, including jobs that the user may not see.
    why_not
        The states that keep jobs from starting on it; empty if it is usable.
    reserved
        It is in an active reservation.
    memory, memory_allocated
        MB available to jobs (RealMemory less MemSpecLimit), and MB allocated.
    sockets, cores, threads
        Sockets, cores per socket, threads per core.
    features
        The active features.
    gres, gres_used
        Its generic resources by type, and those allocated.
    weight
        Nodes of low weight are allocated first.
    completing, rebooting, powered_down
        A job is completing on it; it is rebooting, or about to; it is powered down, and boots for a job.
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
    powered_down: bool = False

    @property
    def usable(self) -> bool:
        """Whether jobs can start on it."""
        return not self.why_not

    @property
    def core_cpus(self) -> int:
        """CPUs per core: its threads, or 1 if each core is one CPU (slurm.conf(5), CPUs)."""
        only_cores = self.cores is not None and self.cpus <= self.sockets * self.cores
        return 1 if only_cores else max(self.threads, 1)


@dataclass(frozen=True)
class Tasks:
    """The waiting tasks of an array, and the number that may run at once."""

    ranges: tuple[range, ...]
    at_once: int | None = None

    def __len__(self) -> int:
        return sum(len(one) for one in self.ranges)


@dataclass(frozen=True)
class Job:
    """A job, or the waiting tasks of an array.

    Attributes
    ----------
    state
        In capitals, as in RUNNING; of several states, the one that decides whether it holds resources.
    start, end
        Actual start and latest end, or the planned ones.
    time_limit
        None if it has none.
    cpus
        CPUs that it has or requests; it may get more.
    least_nodes, most_nodes
        Node counts that it requests.
    nodes
        Names of its nodes.
    planned_nodes
        Names of the nodes on which it is planned.
    cpus_on
        Its CPUs on each node, if published.
    exclusive
        It gets whole nodes.
    shared_with
        The only jobs that may share its nodes: "user", "mcs"; empty for all jobs.
    reason
        Slurm's reason why it waits.
    exit_status, signal
        Exit status of its script, if published; number of the signal that ended it.
    stdout, stderr
        Output files, if published.
    unclear
        Parts of its request that are not understood.
    account, qos
        Account and quality of service; a list with commas if it may use any of several.
    tasks_asked, tasks_stated, cpus_per_task, tasks_per_node
        As requested, and whether a number of tasks was stated or is Slurm's default; None if not published.
    cpus_per_node
        Least CPUs that it needs on each node (--mincpus, also raised for memory); None if not published.
    cpus_per_gpu, threads_per_core, tasks_per_core
        CPUs per GPU; most threads and tasks per core; None if not requested, or not published.
    memory_per_node, memory_per_cpu, memory_per_gpu
        MB requested in one of these ways; 0 per node means all of it; all None for the partition's default. If both the
        values per node and per GPU are set, the latter is a default that applies if the former is all memory of the
        node.
    gres_per_node, gres_per_socket, gres_per_task, gres_per_job
        Generic resources requested in these ways.
    memory_on, gres_on
        Its memory and generic resources on each node, if published.
    features
        Its constraint (--constraint), as written.
    licences
        Number by name.
    shortest
        The shortest walltime that it accepts, in seconds (--time-min).
    priority_in
        Its priority by partition, if it differs.
    contiguous
        It requires contiguous nodes.
    reboot
        Its nodes are rebooted first.
    leader
        Number of the first component of its heterogeneous job.
    nice
        By how much its user has lowered its priority (--nice).
    restarts
        Number of restarts, if published.
    preemptable
        Epoch second at which it becomes preemptable; None if not published, or never.
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
    tasks_stated: bool | None = None
    cpus_per_task: int = 1
    tasks_per_node: int | None = None
    cpus_per_node: int | None = None
    cpus_per_gpu: int | None = None
    threads_per_core: int | None = None
    tasks_per_core: int | None = None
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
    """Nodes reserved for some users or jobs, for a span of time.

    Attributes
    ----------
    users, accounts, partitions, qos
        Which jobs may use it: an empty list admits all; a minus sign excludes a name.
    groups
        Their members may use it, instead of users.
    licences
        Number that it reserves, by name.
    cores
        Number of cores that it reserves; None for all cores of its nodes.
    """

    name: str
    start: int
    end: int
    nodes: tuple[str, ...]
    flags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    cores: int | None = None
    groups: tuple[str, ...] = ()
    licences: Mapping[str, int] = field(default_factory=dict)
    partitions: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()

    @property
    def flexible(self) -> bool:
        """Whether its jobs may use other nodes too, and run before it begins and after it ends."""
        return "FLEX" in self.flags

    @property
    def floats(self) -> bool:
        """Whether its start moves ahead with time, so that it never begins (TIME_FLOAT)."""
        return "TIME_FLOAT" in self.flags


@dataclass(frozen=True)
class Partition:
    """A queue and its nodes.

    Attributes
    ----------
    default
        Whether it is the default of jobs; None if not published.
    state
        UP, or the state in which it accepts or starts no jobs; empty if not published.
    tier
        Jobs of a higher tier precede others, whatever their priority.
    whole_nodes
        Jobs do not share nodes.
    most_cpus, most_cpus_of_socket
        Most CPUs of a node, and of a socket, that its jobs may use together; plans ignore the latter.
    sharing
        Number of jobs that may share a CPU.
    job_factor
        Its PriorityJobFactor.
    qos
        The QOS whose limits apply to all of its jobs; empty if there is none.
    allowed_accounts, denied_accounts, allowed_qos, denied_qos, allowed_groups
        Who may use it; None means everybody.
    closed_by
        What else keeps jobs out, as in its line: ``RootOnly=YES``, ``ReqResv=YES``, ``AllocNodes=...``.
    memory_per_cpu, memory_per_node, most_memory_per_cpu, most_memory_per_node
        Default and largest MB that jobs may request.
    memory_per_gpu, cpus_per_gpu
        Default MB and CPUs per GPU (JobDefaults).
    preempt_mode
        What happens to its jobs when preempted; empty for the cluster's setting.
    billing_weights, tres
        Weight of a unit of each trackable resource, and its total amount.
    selection
        Its own SelectTypeParameters; empty for the cluster's.
    overtime
        Seconds by which its jobs may exceed their limit; None for the cluster's setting.
    least_loaded
        Its jobs get the least loaded nodes (LLN).
    shared_with
        The only jobs that may share nodes with a job: "user", "mcs", "topo"; empty for all jobs.
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
    least_loaded: bool = False
    memory_per_gpu: int | None = None
    cpus_per_gpu: int | None = None
    most_cpus_of_socket: int | None = None
    closed_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Licence:
    """Licences of one name: total, in use, and reserved."""

    name: str
    total: int
    used: int = 0
    reserved: int = 0


@dataclass(frozen=True)
class Switch:
    """A switch: the names of its nodes, or of the switches below it."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scheduling:
    """Settings of the backfill scheduler (slurm.conf, SchedulerParameters), with the defaults of the manual.

    Attributes
    ----------
    resolution, window
        Resolution of plans, and planning horizon, in seconds.
    depth, array_depth
        Number of jobs, and of tasks per array, that it plans.
    parameters
        All SchedulerParameters by name, verbatim; empty for those without a value.
    """

    resolution: int = 60
    window: int = 1440 * 60
    depth: int = 500
    array_depth: int = ARRAY_DEPTH
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cluster:
    """The state of the cluster.

    Attributes
    ----------
    planned
        Epoch second of the last backfill cycle.
    others_visible
        Whether jobs of other users are shown (PrivateData); None if not published.
    cautions
        Warnings about missing information, as sentences.
    licences
        None if not published.
    switches
        In Slurm's order, if nodes are chosen by switches; None if not, or not published.
    settings
        The configuration; None if not published.
    accounting
        Accounts and QOS with their limits and usage; None if not published.
    worked_out
        Derived results that other modules cache here.
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
    switches: tuple[Switch, ...] | None = None
    worked_out: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def values(self) -> Mapping[str, str]:
        """The configuration by the keys of slurm.conf(5); empty if it is not published."""
        return {} if self.settings is None else self.settings.values
