"""From what Slurm publishes to when which nodes are free, and when Slurm would start what is submitted now.

- Running jobs take the CPUs they have until their time limit; jobs past it, or completing, a little longer.
- Planned jobs take whole nodes, also where jobs share nodes; waiting jobs without a published plan are placed as Slurm
  would place them (`gas.endpoints.slurm.placing`).
- Reservations take whole nodes from everybody who does not name them; a magnetic one not from its users.
- Nodes and not partitions are shared: jobs of all partitions count.

The spans of the availability are for the eye; starts are those that Slurm's search finds
(`gas.endpoints.slurm.backfill`), which are not always the earliest possible.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, KeysView
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from gas.endpoints.slurm.availability import SlurmAvailability
from gas.endpoints.slurm.caveats import caveats
from gas.endpoints.slurm.options import Options, Unit
from gas.endpoints.slurm.placing import NO_LIMIT, Machine, Plan, Turn, place
from gas.endpoints.slurm.selection import places_of
from gas.endpoints.slurm.sizing import units_on
from gas.errors import Infeasible, NotFound
from gas.gaps import FOR_EVER
from gas.node_availability import Spans
from gas.slurm.cluster import Cluster, Job, Partition, Reservation
from speedup_models.fields import nearest, quoted

__all__ = ["Interpretation", "Unplanned", "Why", "interpret", "partition_of", "partitions_of"]

HOLDING = frozenset(
    {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
)
"""States in which a job has nodes."""


class Why(Enum):
    """Why a job has no plan, or not all of one."""

    HELD = "held"
    DEPENDENCY = "waits for another job"
    BEGIN = "may not start before a time"
    LIMITS = "breaks a limit, or asks for what there is not"
    TASKS = "a task of an array that is planned, but not published"
    LATER_TASKS = "a task of an array of which only the first are planned"
    DEPTH = "beyond the number of jobs that are planned"
    WINDOW = "not planned, or beyond the time for which there are plans"
    NODES = "planned, on nodes that are not published"


MOVABLE = frozenset({Why.BEGIN, Why.TASKS, Why.LATER_TASKS, Why.DEPTH, Why.WINDOW, Why.NODES})
"""Those that start without anybody doing anything."""

_REASONS = {
    "JobHeldUser": Why.HELD, "JobHeldAdmin": Why.HELD, "JobHoldMaxRequeue": Why.HELD, "Dependency": Why.DEPENDENCY,
    "DependencyNeverSatisfied": Why.DEPENDENCY, "BeginTime": Why.BEGIN, "BadConstraints": Why.LIMITS,
    "PartitionTimeLimit": Why.LIMITS, "PartitionNodeLimit": Why.LIMITS, "PartitionConfig": Why.LIMITS,
    "PartitionDown": Why.LIMITS, "PartitionInactive": Why.LIMITS,
    "InvalidAccount": Why.LIMITS, "InvalidQOS": Why.LIMITS, "AccountNotAllowed": Why.LIMITS,
    "ReservationDeleted": Why.LIMITS, "JobArrayTaskLimit": Why.LATER_TASKS,
}  # fmt: skip
_LIMITS = ("Assoc", "QOS", "MaxCpuPer", "MaxNodePer", "MaxWall", "MaxMemPer", "MaxTRESPer")
"""How the reasons start that say that an account, a user or a quality of service may not have more."""


EARLIEST_TASK = (23, 2)
"""From which version on the published start of an array is that of its first task; before, of the last one planned."""


@dataclass(frozen=True)
class Unplanned:
    """Jobs of one record that have no published plan.

    Attributes
    ----------
    copies
        How many there are: tasks of an array.
    not_before
        Epoch second before which none starts.
    """

    job: Job
    copies: int
    why: Why
    not_before: int

    @property
    def to_place(self) -> bool:
        """Whether it will start some time without anybody doing anything, so that who plans has to place it."""
        return self.why in MOVABLE


@dataclass(frozen=True)
class Interpretation:
    """What there is to plan with.

    Attributes
    ----------
    unplanned
        What has no plan, in the order in which Slurm considers it.
    unseen
        Units that are taken now by jobs which are not shown; they are counted as taken for as long as they may be.
    plan_age
        Seconds since Slurm planned.
    placed
        How many copies of jobs without a published plan have been placed.
    remarks
        What one must know of all that, in sentences.
    machine, plan
        All nodes, and where all waiting jobs are on them.
    """

    availability: SlurmAvailability
    unplanned: tuple[Unplanned, ...]
    unseen: int
    plan_age: int | None
    placed: int
    remarks: tuple[str, ...]
    machine: Machine
    plan: Plan


def partition_of(cluster: Cluster, name: str | None = None) -> Partition:
    """Return the partition of this name, or the default one."""
    known = {partition.name: partition for partition in cluster.partitions}
    if name is not None:
        if name not in known:
            raise NotFound(f"{cluster.name} has no partition {quoted(name)}{nearest(name, known)}")
        return known[name]
    chosen = [one for one in cluster.partitions if one.default] or list(cluster.partitions)
    if len(chosen) != 1:
        raise NotFound(f"{cluster.name} does not say which partition is the default; name one of {', '.join(known)}")
    return chosen[0]


def partitions_of(cluster: Cluster, names: str | None = None) -> tuple[Partition, ...]:
    """Return the partitions of these names, which commas separate, or the default one."""
    return tuple(partition_of(cluster, name) for name in (names.split(",") if names else [None]))


def interpret(
    cluster: Cluster,
    partition: str | None = None,
    unit: Unit = "cpus",
    *,
    user: str | None = None,
    reservation: str | None = None,
    options: Options | None = None,
) -> Interpretation:
    """Return what a partition has free, and what will still claim some of it.

    Parameters
    ----------
    partition
        Its name; by default the cluster's default one. Of several, separated by commas, jobs go to the one where they
        start first.
    unit
        What a job asks for: CPUs, or whole nodes; if nothing else is asked for.
    user
        Who will submit, for whom magnetic reservations are free.
    reservation
        The one that the job will name: it gets its nodes, and only while it lasts.
    options
        All that the job asks for; they say the unit then, and the reservation.

    Raises
    ------
    NotFound
        There is no such partition or reservation.
    Infeasible
        It starts no jobs now, or has no node on which a job starts.
    """
    all_of_them = partitions_of(cluster, partition)
    open_ones = tuple(one for one in all_of_them if one.state in ("", "UP"))
    chosen = (open_ones or all_of_them)[0]
    where = f"{cluster.name}, partition {quoted(chosen.name)}"
    if not open_ones:
        raise Infeasible(f"{where} is {chosen.state}: it starts no jobs; choose another partition")
    if options is None:
        options = Options(unit, unit == "nodes", reservation=reservation or "")
    unit, reservation = options.unit, options.reservation or None
    own = _named(cluster, reservation)
    running = [(job, _end(job, cluster)) for job in cluster.jobs if job.state in HOLDING]
    unseen_until = None if cluster.others_visible else cluster.now + (chosen.longest or cluster.scheduling.window)
    machine = Machine(cluster, running, unseen_until)
    # of a machine of which jobs share nodes, half a node is worth nothing to a job that shares them with nobody
    whole = options.whole or all(one.whole_nodes for one in open_ones)
    asker = Job(0, "", user or "", "PENDING", (chosen.name,), 1, 0, exclusive=whole, reservation=reservation or "")
    nodes = 0
    for open_one in open_ones:
        nodes |= machine.request(asker, open_one, cluster.now).nodes
    units = {place: units_on(machine.node(place), options) for place in places_of(nodes)}
    at = {place: index for index, place in enumerate(place for place, count in units.items() if count > 0)}
    if not at and units:
        raise Infeasible(f"{where} has no node with {'GPUs of that kind' if unit == 'gpus' else 'so many CPUs a task'}")
    if not at:
        raise Infeasible(f"{where} has no node on which a job starts (all are down, drained or reserved)")
    unplanned = tuple(_unplanned(cluster))
    plan = place(machine, _turns(cluster, unplanned))
    capacity = np.array([units[place] for place in at], np.int64)
    rows = list(_reserved(cluster, machine, at, capacity, own, user))
    for job, end in running:
        for node, cpus in machine.shares(job):
            if node in at:
                taken = units[node] if whole else -(-cpus * units[node] // int(machine.cpus[node]))
                rows.append((at[node], cluster.now, end, taken))
    unseen = {
        at[node]: units[node] if whole else -(-cpus * units[node] // int(machine.cpus[node]))
        for node, cpus in machine.unseen.items()
        if node in at
    }
    rows += [(node, cluster.now, unseen_until or FOR_EVER, units) for node, units in unseen.items()]
    for one in plan.placed:
        first, last = machine.backfill.span(one.start, one.walltime)
        rows += [(at[node], first, last, int(capacity[at[node]])) for node in places_of(one.nodes) if node in at]
    version = str(cluster.now if cluster.planned is None else cluster.planned)
    names = tuple(machine.node(node).name for node in at)
    availability = SlurmAvailability(
        cluster.name, "estimate", cluster.now, version, capacity, Spans.of(rows), names, plan, machine, options,
        open_ones, user or "",
    )  # fmt: skip
    age = None if cluster.planned is None else max(cluster.now - cluster.planned, 0)
    own_placed = sum(not one.published for one in plan.placed)
    remarks = (
        *_remarks(age, plan, unplanned, sum(unseen.values()), unit),
        *caveats(cluster, chosen),
        *_ignored(options),
    )
    return Interpretation(availability, unplanned, sum(unseen.values()), age, own_placed, remarks, machine, plan)


def _turns(cluster: Cluster, unplanned: tuple[Unplanned, ...]) -> list[Turn]:
    """Return the queue as it is placed: the jobs with a published plan, and those that start without anybody's help."""
    without: dict[int, list[Unplanned]] = {}
    for one in unplanned:
        if one.to_place:
            without.setdefault(one.job.id, []).append(one)
    first_of_tasks = tuple(int(part) for part in re.findall(r"\d+", cluster.version)[:2]) >= EARLIEST_TASK
    turns = []
    for job in _queue(cluster):
        kinds = {one.why: one for one in without.get(job.id, ())}
        if Why.TASKS in kinds:
            copies = kinds[Why.TASKS].copies + first_of_tasks
            turns.append(Turn(job, copies, kinds[Why.TASKS].not_before, hidden=True))
        if Why.TASKS in kinds and first_of_tasks:
            pass  # its start is that of one task, its nodes are those of another
        elif Why.NODES in kinds:
            turns.append(Turn(job, 1, kinds[Why.NODES].not_before, hidden=True))
        elif job.start is not None and job.planned_nodes:
            turns.append(Turn(job))
        for why, one in kinds.items():
            if why not in (Why.TASKS, Why.NODES):
                turns.append(Turn(job, one.copies, one.not_before, deferred=one.not_before > cluster.now))
    return turns


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _remarks(age: int | None, plan: Plan, unplanned: tuple[Unplanned, ...], unseen: int, unit: Unit) -> Iterator[str]:
    yield "Slurm does not say when it planned" if age is None else f"Slurm planned {age} s ago"
    hidden = {one.job.id for one in unplanned if one.why is Why.TASKS}
    own = [one for one in plan.placed if not one.published]
    tasks = sum(one.job.id in hidden for one in own)
    if len(own) > tasks:
        what = _counted(len(own) - tasks, "waiting job has", "waiting jobs have")
        yield f"{what} no plan of Slurm's; Gas placed {'it' if len(own) - tasks == 1 else 'them'} itself"
    if tasks:
        what = _counted(tasks, "task of arrays has", "tasks of arrays have")
        yield f"{what} a plan that Slurm does not show; Gas placed {'it' if tasks == 1 else 'them'} itself"
    left = plan.left
    if left:
        what = _counted(left, "waiting job is", "waiting jobs are")
        yield f"{what} left out because {'it is' if left == 1 else 'they are'} too far back in the queue, or never fit"
    if unseen:
        what = _counted(unseen, *(("CPU is", "CPUs are") if unit == "cpus" else ("node is", "nodes are")))
        yield f"{what} in use by jobs that are not shown (PrivateData): --probe asks Slurm itself"
    counts = Counter(one.why for one in unplanned for _ in range(one.copies) if not one.to_place)
    for why, because in (
        (Why.HELD, "held"), (Why.DEPENDENCY, "waiting for others"), (Why.LIMITS, "beyond a limit"),
    ):  # fmt: skip
        if counts[why]:
            what = _counted(counts[why], "job is", "jobs are")
            yield f"{what} left out: {because}"


def _ignored(options: Options) -> Iterator[str]:
    """Return what is asked for and not planned with."""
    kinds = {
        "GPUs": options.gpus or options.gpus_per_node or options.gpus_per_task or options.unit == "gpus",
        "generic resources": options.gres,
        "memory": options.memory_per_node or options.memory_per_cpu or options.memory_per_gpu,
        "--constraint": options.features,
        "--licenses": options.licences,
        "--ntasks-per-node": options.tasks_per_node,
        "--contiguous": options.contiguous,
    }
    if asked := [name for name, value in kinds.items() if value]:
        yield f"{', '.join(asked)}: not planned with, so that jobs may start later than said"


def _named(cluster: Cluster, reservation: str | None) -> Reservation | None:
    known = {one.name: one for one in cluster.reservations}
    if reservation is not None and reservation not in known:
        raise NotFound(f"{cluster.name} has no reservation {quoted(reservation)}{nearest(reservation, known)}")
    return None if reservation is None else known[reservation]


def _reserved(
    cluster: Cluster,
    machine: Machine,
    at: dict[int, int],
    capacity: NDArray[np.int64],
    own: Reservation | None,
    user: str | None,
) -> Iterator[tuple[int, int, int, int]]:
    for one in cluster.reservations:
        if one is own or ("MAGNETIC" in one.flags and user is not None and user in one.users):
            continue
        for node in places_of(machine.set_of(one.nodes)):
            if node in at:
                yield at[node], one.start, one.end, int(capacity[at[node]])
    if own is not None:
        for index, units in enumerate(capacity.tolist()):
            yield index, cluster.now, own.start, units
            yield index, own.end, FOR_EVER, units


def _end(job: Job, cluster: Cluster) -> int:
    """Return by when a job has left its nodes; one that should have left already gets a moment more."""
    end = job.end
    if end is None:
        end = (job.start or cluster.now) + (NO_LIMIT if job.time_limit is None else job.time_limit)
    return end if end > cluster.now else cluster.now + cluster.scheduling.resolution


def _queue(cluster: Cluster) -> list[Job]:
    """Return the waiting jobs in the order in which Slurm considers them: by tier, priority and age."""
    partitions = {one.name: one for one in cluster.partitions}

    def order(job: Job) -> tuple[int, int, int]:
        tiers = [partitions[name].tier for name in job.partitions if name in partitions]
        return -max(tiers, default=0), -job.priority, job.id

    return sorted((job for job in cluster.jobs if job.pending), key=order)


def _unplanned(cluster: Cluster) -> Iterator[Unplanned]:
    """Return what has no plan, in the order in which Slurm considers it."""
    partitions = {one.name: one for one in cluster.partitions}
    usable = {node.name: node.cpus for node in cluster.nodes if node.usable}
    sizes = {
        one.name: (sum(there), len(there))
        for one in cluster.partitions
        for there in [[usable[name] for name in one.nodes if name in usable]]
    }
    tried = 0
    for job in _queue(cluster):
        copies = len(job.tasks) if job.tasks else 1
        not_before = max(cluster.now, job.eligible or 0)
        why = _reason(job, partitions, sizes, usable.keys())
        if why is Why.BEGIN:
            yield Unplanned(job, copies, why, max(not_before, job.start or 0))
            continue
        if why is Why.LATER_TASKS:  # no more of them at once: the next starts when one of those that run has ended
            ends = [_end(one, cluster) for one in cluster.jobs if one.array == job.array and one.state in HOLDING]
            at_once = (job.tasks.at_once if job.tasks else None) or copies
            yield Unplanned(job, min(copies, at_once), why, max(not_before, min(ends, default=not_before)))
            continue
        if why is not None:
            yield Unplanned(job, copies, why, not_before)
            continue
        planned = min(copies, cluster.scheduling.array_depth)
        if job.start is None:
            late = tried >= cluster.scheduling.depth
            yield Unplanned(job, copies, Why.DEPTH if late else Why.WINDOW, not_before)
        elif not job.planned_nodes:
            yield Unplanned(job, 1, Why.NODES, max(not_before, job.start))
        if job.start is not None:
            if planned > 1:
                yield Unplanned(job, planned - 1, Why.TASKS, not_before)
            if copies > planned:
                yield Unplanned(job, copies - planned, Why.LATER_TASKS, not_before)
        tried += planned


def _reason(
    job: Job, partitions: dict[str, Partition], sizes: dict[str, tuple[int, int]], usable: KeysView[str]
) -> Why | None:
    """Return why a job is not considered; None if it is, or already has a plan."""
    if job.held:
        return Why.HELD
    if job.start is not None and job.planned_nodes:
        return None
    reason = job.reason.split(",")[0].strip("() ")
    if reason in _REASONS:
        return _REASONS[reason]
    if reason.startswith(_LIMITS):
        return Why.LIMITS
    if job.start is None and (
        any(name not in usable for name in job.required_nodes)
        or all(_too_much(job, partitions[name], *sizes[name]) for name in job.partitions if name in partitions)
    ):
        return Why.LIMITS
    return None


def _too_much(job: Job, partition: Partition, cpus: int, nodes: int) -> bool:
    """Return whether a partition, of so much as is usable now, can never give a job what it asks for."""
    return (
        job.cpus > cpus
        or job.least_nodes > nodes
        or (partition.most_nodes is not None and job.least_nodes > partition.most_nodes)
        or (partition.longest is not None and (job.time_limit or NO_LIMIT) > partition.longest)
    )
