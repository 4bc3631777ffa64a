"""From what Slurm publishes to when which nodes are free, by the rules of its backfill scheduler.

- Running jobs take the CPUs they have until their time limit; jobs past it, or completing, a little longer.
- Planned jobs take whole nodes, also where jobs share nodes, from their planned start to their time limit, both rounded
  down to bf_resolution.
- A job that would start now, or when a planned one ends, and end at the very second when a planned job or a reservation
  begins is refused (backfill.c compares with <=), so that these begin a second earlier here. One that would start when
  a running job ends is refused only if its end, rounded down to bf_resolution, is later than that.
- Reservations take whole nodes, rounded outward, from everybody who does not name them; a magnetic one not from its
  users.
- Nodes and not partitions are shared: jobs of all partitions count.

An interpretation does not place jobs that have no plan. It returns them: who plans for later must place them first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gas.endpoints.slurm.cluster import Cluster, Job, Node, Partition, Reservation
from gas.errors import Infeasible, NotFound
from gas.gaps import FOR_EVER
from gas.node_availability import NodeAvailability, Spans
from gas.profile import NEVER
from speedup_models.fields import nearest, quoted

__all__ = ["Interpretation", "Unplanned", "Why", "interpret", "partition_of"]

HOLDING = frozenset(
    {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
)
"""States in which a job has nodes."""

NO_LIMIT = 365 * 24 * 3600
"""For how long Slurm plans a job without a time limit: a year."""

Unit = Literal["cpus", "nodes"]


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
    "PartitionDown": Why.LIMITS, "PartitionInactive": Why.LIMITS, "ReqNodeNotAvail": Why.LIMITS,
    "InvalidAccount": Why.LIMITS, "InvalidQOS": Why.LIMITS, "AccountNotAllowed": Why.LIMITS,
    "ReservationDeleted": Why.LIMITS, "JobArrayTaskLimit": Why.LATER_TASKS,
}  # fmt: skip
_LIMITS = ("Assoc", "QOS", "MaxCpuPer", "MaxNodePer", "MaxWall", "MaxMemPer", "MaxTRESPer", "ReqNodeNotAvail")
"""How the reasons start that say that an account, a user or a quality of service may not have more."""


@dataclass(frozen=True, eq=False)
class _Backfilled(NodeAvailability):
    """What is free for starts at any time, and a little more for starts when a running job ends.

    Attributes
    ----------
    looser
        What is free at the ends of running jobs.
    ends
        int64, those ends in ascending order.
    """

    looser: NodeAvailability | None = None
    ends: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the earliest start of each request, as `NodeAvailability.anchors`."""
        found = super().anchors(processors, walltimes, first)
        if self.looser is None:
            return found
        for k in range(len(found)):
            one, limit = slice(k, k + 1), int(found[k]) if found[k] != NEVER else FOR_EVER
            at = int(np.searchsorted(self.ends, max(first, self.now)))
            while at < len(self.ends) and self.ends[at] < limit:
                start = int(self.looser.anchors(processors[one], walltimes[one], int(self.ends[at]))[0])
                if start == NEVER:
                    break
                at = int(np.searchsorted(self.ends, start))
                if at < len(self.ends) and self.ends[at] == start < limit:
                    found[k] = start
                    break
        return found


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
    """

    availability: NodeAvailability
    unplanned: tuple[Unplanned, ...]
    unseen: int
    plan_age: int | None


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


def interpret(
    cluster: Cluster,
    partition: str | None = None,
    unit: Unit = "cpus",
    *,
    user: str | None = None,
    reservation: str | None = None,
) -> Interpretation:
    """Return what a partition has free, and what will still claim some of it.

    Parameters
    ----------
    partition
        Its name; by default the cluster's default one.
    unit
        What a job asks for: CPUs, or whole nodes.
    user
        Who will submit, for whom magnetic reservations are free.
    reservation
        The one that the job will name: it gets its nodes, and only while it lasts.

    Raises
    ------
    NotFound
        There is no such partition or reservation.
    Infeasible
        It starts no jobs now, or has no node on which a job starts.
    """
    chosen = partition_of(cluster, partition)
    where = f"{cluster.name}, partition {quoted(chosen.name)}"
    if chosen.state not in ("", "UP"):
        raise Infeasible(f"{where} is {chosen.state}: it starts no jobs; choose another partition")
    own = _named(cluster, reservation)
    nodes = _usable(cluster, chosen, own)
    if not nodes:
        raise Infeasible(f"{where} has no node on which a job starts (all are down, drained or reserved)")
    places = {node.name: place for place, node in enumerate(nodes)}
    whole = unit == "nodes" or chosen.whole_nodes
    capacity = np.array([1 if unit == "nodes" else node.cpus for node in nodes], np.int64)
    rows = list(_reserved(cluster, places, capacity, own, user))
    plan: list[tuple[int, int, int, int]] = []
    ends: set[int] = set()
    seen = np.zeros(len(nodes), np.int64)
    for job in cluster.jobs:
        if job.state in HOLDING:
            for place, cpus in _held(job, nodes, places):
                seen[place] += cpus
                units = int(capacity[place]) if whole else cpus
                rows.append((place, cluster.now, _end(job, cluster), units))
                ends.add(_end(job, cluster))
        elif job.pending:
            plan += _planned(job, cluster, places, capacity)
    unseen = 0
    if not cluster.others_visible:
        for place, node in enumerate(nodes):
            missing = (node.allocated or 0) - int(seen[place])
            if missing > 0:
                units = int(capacity[place]) if whole else missing
                unseen += units
                until = cluster.now + (chosen.longest or cluster.scheduling.window)
                rows.append((place, cluster.now, until, units))
    version = str(cluster.now if cluster.planned is None else cluster.planned)
    names = tuple(node.name for node in nodes)
    resolution = cluster.scheduling.resolution
    strict, loose = (
        [(place, start + by, end, units) for place, start, end, units in plan] for by in (-1, resolution - 1)
    )
    looser = NodeAvailability(cluster.name, "estimate", cluster.now, version, capacity, Spans.of(rows + loose), names)
    taken, instants = Spans.of(rows + strict), np.array(sorted(ends), np.int64)
    availability = _Backfilled(cluster.name, "estimate", cluster.now, version, capacity, taken, names, looser, instants)
    age = None if cluster.planned is None else max(cluster.now - cluster.planned, 0)
    return Interpretation(availability, tuple(_unplanned(cluster)), unseen, age)


def _named(cluster: Cluster, reservation: str | None) -> Reservation | None:
    known = {one.name: one for one in cluster.reservations}
    if reservation is not None and reservation not in known:
        raise NotFound(f"{cluster.name} has no reservation {quoted(reservation)}{nearest(reservation, known)}")
    return None if reservation is None else known[reservation]


def _usable(cluster: Cluster, partition: Partition, own: Reservation | None) -> list[Node]:
    """Return the nodes of the partition on which jobs start.

    One that a reservation holds now is free when that ends, so it is left out only if the reservation is not shown.
    """
    wanted = set(partition.nodes)
    if own is not None:
        wanted &= set(own.nodes)
    shown = {name for one in cluster.reservations if one.start <= cluster.now < one.end for name in one.nodes}
    return [
        node
        for node in cluster.nodes
        if node.name in wanted and node.usable and node.cpus > 0 and (not node.reserved or node.name in shown)
    ]


def _reserved(
    cluster: Cluster,
    places: dict[str, int],
    capacity: NDArray[np.int64],
    own: Reservation | None,
    user: str | None,
) -> Iterator[tuple[int, int, int, int]]:
    resolution = cluster.scheduling.resolution
    for one in cluster.reservations:
        if one is own or ("MAGNETIC" in one.flags and user is not None and user in one.users):
            continue
        start = one.start // resolution * resolution - 1
        end = -(-one.end // resolution) * resolution
        for name in one.nodes:
            if name in places:
                yield places[name], start, end, int(capacity[places[name]])
    if own is not None:
        for place, units in enumerate(capacity.tolist()):
            yield place, cluster.now, own.start, units
            yield place, own.end, FOR_EVER, units


def _end(job: Job, cluster: Cluster) -> int:
    """Return by when a job has left its nodes; one that should have left already gets a moment more."""
    end = job.end
    if end is None:
        end = (job.start or cluster.now) + (NO_LIMIT if job.time_limit is None else job.time_limit)
    return end if end > cluster.now else cluster.now + cluster.scheduling.resolution


def _held(job: Job, nodes: list[Node], places: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Return the places and CPUs that a job has; where its share is not published, all CPUs of the node."""
    for name in job.nodes:
        if name in places:
            all_of_it = nodes[places[name]].cpus
            known = job.cpus_on.get(name) if job.cpus_on is not None and not job.exclusive else None
            yield places[name], all_of_it if known is None else known


def _planned(
    job: Job, cluster: Cluster, places: dict[str, int], capacity: NDArray[np.int64]
) -> Iterator[tuple[int, int, int, int]]:
    if job.start is None:
        return
    resolution = cluster.scheduling.resolution
    end = job.start + (NO_LIMIT if job.time_limit is None else job.time_limit)
    for name in job.planned_nodes:
        if name in places:
            place = places[name]
            yield place, job.start // resolution * resolution, end // resolution * resolution, int(capacity[place])


def _unplanned(cluster: Cluster) -> Iterator[Unplanned]:
    """Return what has no plan, in the order in which Slurm considers it: by tier, priority and age."""
    partitions = {one.name: one for one in cluster.partitions}
    usable = {node.name: node.cpus for node in cluster.nodes if node.usable}

    def order(job: Job) -> tuple[int, int, int]:
        tiers = [partitions[name].tier for name in job.partitions if name in partitions]
        return -max(tiers, default=0), -job.priority, job.id

    tried = 0
    for job in sorted((job for job in cluster.jobs if job.pending), key=order):
        copies = len(job.tasks) if job.tasks else 1
        not_before = max(cluster.now, job.eligible or 0)
        why = _reason(job, partitions, usable)
        if why is Why.BEGIN:
            yield Unplanned(job, copies, why, max(not_before, job.start or 0))
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


def _reason(job: Job, partitions: dict[str, Partition], usable: dict[str, int]) -> Why | None:
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
    if job.start is None and all(
        _too_much(job, partitions[name], usable) for name in job.partitions if name in partitions
    ):
        return Why.LIMITS
    return None


def _too_much(job: Job, partition: Partition, usable: dict[str, int]) -> bool:
    """Return whether a partition, as it is now, can never give a job what it asks for."""
    there = [usable[name] for name in partition.nodes if name in usable]
    return (
        job.cpus > sum(there)
        or job.least_nodes > len(there)
        or (partition.most_nodes is not None and job.least_nodes > partition.most_nodes)
        or (partition.longest is not None and (job.time_limit or NO_LIMIT) > partition.longest)
    )
