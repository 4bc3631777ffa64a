"""The waiting jobs for which Slurm publishes no plan, placed as it would: one after the other as its queue has them.

Published plans stay where they are. Jobs that Slurm has not planned come behind all of them. Hidden tasks of an array
were planned, at its turn: behind what comes before it in the queue, and in nobody's way who comes later. They are
placed at that turn, and where the nodes which Slurm's choice would then have been are not free now, around the others.
Deferred jobs enter the queue when they may start, and jobs that Slurm's search does not get to are planned a walltime
before they start, and not earlier: neither delays what starts before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gas.endpoints.slurm.backfill import Backfill, Closure, Placement
from gas.endpoints.slurm.selection import Held, Request, nodes_of, places_of
from gas.slurm.cluster import Cluster, Job, Node, Partition

__all__ = ["MOST", "NO_LIMIT", "Machine", "Placed", "Plan", "Turn", "check", "place"]

MOST = 2_000
"""How many copies of jobs are placed at the most: four times what Slurm plans by default (bf_max_job_test), and what
takes seconds. A job of today's plans is not delayed by what comes thousands of jobs later."""

NO_LIMIT = 365 * 24 * 3600
"""For how long Slurm plans a job without a time limit: a year."""


@dataclass(frozen=True)
class Placed:
    """A waiting job, or a task of it, with its place in the plan.

    Attributes
    ----------
    published
        Whether the plan is Slurm's.
    asked
        What was placed; None of a published plan.
    """

    job: Job
    start: int
    walltime: int
    nodes: int
    published: bool
    asked: Request | None = None


@dataclass(frozen=True)
class Turn:
    """What is to be done when the queue comes to a job.

    Attributes
    ----------
    copies
        How many are to be placed; none of a job with a published plan.
    not_before
        Epoch second before which none of them starts.
    hidden
        They are in Slurm's plan, which does not show them.
    deferred
        They are not in the queue before they may start.
    """

    job: Job
    copies: int = 0
    not_before: int = 0
    hidden: bool = False
    deferred: bool = False


class Machine:
    """All nodes of a cluster by their place, and which of them jobs can have.

    Parameters
    ----------
    unseen_until
        Until when CPUs are taken that are in use by jobs which are not shown; None if all jobs are.
    """

    def __init__(self, cluster: Cluster, running: Sequence[tuple[Job, int]], unseen_until: int | None = None) -> None:
        self.cluster = cluster
        self.places = {node.name: place for place, node in enumerate(cluster.nodes)}
        self._sets: dict[tuple[str, ...], int] = {(): 0}
        self.partitions = {one.name: one for one in cluster.partitions}
        shown = {name for one in cluster.reservations if one.start <= cluster.now < one.end for name in one.nodes}
        # a node that a reservation holds now is free when that ends, unless nobody knows when
        able = [node.usable and node.cpus > 0 and (not node.reserved or node.name in shown) for node in cluster.nodes]
        self.usable = nodes_of(np.flatnonzero(able).tolist())
        self.cpus = np.array([max(node.cpus, 0) for node in cluster.nodes], np.int64)
        held = [Held(end, tuple(self.shares(job))) for job, end in running]
        self.unseen: dict[int, int] = {}
        if unseen_until is not None:
            seen = np.zeros(len(self.cpus), np.int64)
            for one in held:
                for place, cpus in one.shares:
                    seen[place] += cpus
            for place, node in enumerate(cluster.nodes):
                missing = (node.allocated or 0) - int(seen[place])
                if missing > 0 and able[place]:
                    self.unseen[place] = missing
                    held.append(Held(unseen_until, ((place, missing),)))
        closures = [
            Closure(one.start, one.end, self.set_of(one.nodes), one.name, self._open_to(one.flags, one.users))
            for one in cluster.reservations
        ]
        held = [one for one in held if one.shares]
        self.backfill = Backfill(cluster.now, self.cpus, held, closures, cluster.scheduling.resolution)

    @staticmethod
    def _open_to(flags: Iterable[str], users: Iterable[str]) -> frozenset[str]:
        return frozenset(users) if "MAGNETIC" in flags else frozenset()

    def set_of(self, names: Iterable[str]) -> int:
        """Return the set of the nodes of these names that the cluster has."""
        key = tuple(names)
        if key not in self._sets:
            self._sets[key] = nodes_of(self.places[name] for name in key if name in self.places)
        return self._sets[key]

    def node(self, place: int) -> Node:
        """Return the node at a place."""
        return self.cluster.nodes[place]

    def shares(self, job: Job) -> Iterable[tuple[int, int]]:
        """Return the places and CPUs that a job has; where its share is not published, all CPUs of the node."""
        for name in job.nodes:
            if name in self.places:
                place = self.places[name]
                known = job.cpus_on.get(name) if job.cpus_on is not None and not job.exclusive else None
                yield place, int(self.cpus[place]) if known is None else known

    def walltime(self, job: Job) -> int:
        """Return for how long Slurm plans a job, in the first of its partitions."""
        limits = [self.partitions[name].longest for name in job.partitions[:1] if name in self.partitions]
        limit = NO_LIMIT if job.time_limit is None else job.time_limit
        return min([limit, *(one for one in limits if one is not None)])

    def requests(self, job: Job, not_before: int) -> list[Request]:
        """Return what a job asks of each of its partitions."""
        return [
            self.request(job, self.partitions[name], not_before)
            for name in job.partitions
            if name in self.partitions and self.partitions[name].state in ("", "UP")
        ]

    def request(self, job: Job, partition: Partition, not_before: int) -> Request:
        """Return what a job asks of a partition."""
        nodes = self.usable & self.set_of(partition.nodes) & ~self.set_of(job.excluded_nodes)
        required = self.set_of(job.required_nodes)
        within = next((one for one in self.cluster.reservations if one.name == job.reservation), None)
        not_after = None
        if within is not None:
            nodes &= self.set_of(within.nodes)
            not_before, not_after = max(not_before, within.start), within.end
        most = min((one for one in (job.most_nodes, partition.most_nodes) if one is not None), default=None)
        least = max(job.least_nodes, partition.least_nodes, 1)
        limit = NO_LIMIT if job.time_limit is None else job.time_limit
        return Request(
            max(job.cpus, least), min(limit, partition.longest or limit), nodes, least,
            None if most is None else max(most, least), required, job.exclusive or partition.whole_nodes,
            not_before, not_after, job.user, job.reservation,
        )  # fmt: skip

    def plan(self, job: Job) -> Placed | None:
        """Return the published plan of a job, if it has one with nodes."""
        nodes = self.set_of(job.planned_nodes)
        if job.start is None or not nodes:
            return None
        return Placed(job, job.start, self.walltime(job), nodes, True)


@dataclass(frozen=True)
class Plan:
    """Where all waiting jobs are.

    Attributes
    ----------
    left
        How many copies were not placed: those beyond `MOST`, and those that never fit.
    backfill
        The machine with all of them but the deferred ones: what Slurm plans a job behind that is submitted now.
    deferred_from, with_deferred
        From when on those are in the queue, and the machine with them; None if there are none.
    """

    placed: tuple[Placed, ...]
    left: int
    backfill: Backfill
    deferred_from: int | None = None
    with_deferred: Backfill | None = None

    def find(self, request: Request) -> Placement | None:
        """Return where a job that is submitted now goes behind all others, also those that Slurm does not plan yet."""
        found = self.backfill.find(request, quick=True)
        if found is not None and self.with_deferred is not None and self.deferred_from is not None:
            found = found if found.start < self.deferred_from else self.with_deferred.find(request, quick=True)
        while found is not None and self.backfill.closed(request, found):  # Slurm's plan may reach into a reservation
            later = replace(request, not_before=max(found.start, request.not_before + 1))
            found = (self.with_deferred or self.backfill).find(later)
        return found


def place(machine: Machine, turns: Sequence[Turn], most: int = MOST) -> Plan:
    """Put all published plans, and what has none, on the machine.

    Parameters
    ----------
    turns
        The waiting jobs that will start, in the order in which Slurm considers them.
    most
        How many copies are placed.
    """
    queue = [turn for turn in turns if not turn.deferred]
    own = [turn for turn in queue if not turn.copies]
    plans = {turn.job.id: known for turn in own if (known := machine.plan(turn.job)) is not None}
    full = machine.backfill.again()
    for known in plans.values():
        full.take(known.start, known.walltime, known.nodes)
    then = full.without_plan() if any(turn.copies or len(turn.job.partitions) > 1 for turn in queue) else None
    placed, left = list(plans.values()), 0
    late = [(turn.not_before, turn) for turn in turns if turn.deferred]
    last = max((at for at, turn in enumerate(queue) if not turn.copies), default=-1)
    for at, turn in enumerate(queue):
        if at > last:
            then = None  # nobody comes later who has a plan
        found, rest = _copies(machine, turn, (full, then), most + len(plans) - len(placed))
        placed += found
        if isinstance(rest, Placed):  # Slurm's search does not get to it before then
            late.append((rest.start - rest.walltime, replace(turn, copies=turn.copies - len(found), deferred=True)))
        else:
            left += rest
        if then is not None and not turn.copies and turn.job.id in plans:
            _again(machine, plans[turn.job.id], full, then)
    if not late:
        return Plan(tuple(placed), left, full)
    after = full.again()
    for _, turn in sorted(late, key=lambda one: one[0]):
        found, rest = _copies(machine, turn, (after, None), most + len(plans) - len(placed))
        placed += found
        left += rest if isinstance(rest, int) else 0
    return Plan(tuple(placed), left, full, min(since for since, _ in late), after)


def _again(machine: Machine, known: Placed, full: Backfill, then: Backfill) -> None:
    """Plan a job with a published plan at its turn, once for each of its partitions, as Slurm does.

    It keeps nodes for the job in all of them, and publishes the earliest.
    """
    requests = machine.requests(known.job, machine.cluster.now) if len(known.job.partitions) > 1 else []
    shown = False
    for request in requests:
        found = then.find(request)
        if found is None or not found.listed:
            continue
        if not shown and abs(found.start - known.start) < then.resolution:
            then.take(known.start, known.walltime, known.nodes)
            shown = True
        elif not full.taken(found.start, request.walltime, found.nodes):
            for table in (full, then):
                table.take(found.start, request.walltime, found.nodes)
    if not shown:
        then.take(known.start, known.walltime, known.nodes)


def _copies(
    machine: Machine, turn: Turn, tables: tuple[Backfill, Backfill | None], most: int
) -> tuple[list[Placed], int | Placed]:
    """Place the copies of one turn; return them, and how many are left out, or where the first goes that is put off."""
    full, then = tables
    placed: list[Placed] = []
    requests = machine.requests(turn.job, turn.not_before) if turn.copies and most > 0 else []
    while len(placed) < min(turn.copies, most):
        found, listed = _around(full, then, requests, turn.job)
        if found is None:
            break
        if not (listed or turn.hidden or turn.deferred):
            return placed, found
        placed.append(found)
        for table in (full, then) if then is not None else (full,):
            table.take(found.start, found.walltime, found.nodes)
    return placed, turn.copies - len(placed)


def _around(full: Backfill, then: Backfill | None, requests: Sequence[Request], job: Job) -> tuple[Placed | None, bool]:
    """Return where a copy goes, and whether Slurm's search gets there.

    As it was at its turn, if that is free now; else around everybody else.
    """
    listed = True
    for at, table in enumerate((full,) if then is None else (then, full)):
        found = _earliest(table, requests, quick=then is None)  # who comes behind all plans has no plan to agree with
        if at == 0:
            listed = found is None or found[1].listed
        if found is not None and (table is full or not full.taken(found[1].start, found[0].walltime, found[1].nodes)):
            return Placed(job, found[1].start, found[0].walltime, found[1].nodes, False, found[0]), listed
    return None, listed


def _earliest(plan: Backfill, requests: Sequence[Request], quick: bool) -> tuple[Request, Placement] | None:
    best: tuple[Request, Placement] | None = None
    for request in requests:
        found = plan.find(request, quick=quick)
        if found is not None and (best is None or found.start < best[1].start):
            best = request, found
    return best


def check(machine: Machine, placed: Sequence[Placed]) -> list[str]:
    """Return what is wrong with a plan, in words; nothing if none of the jobs that Gas placed is in another's way."""
    wrong = []
    spans: dict[int, list[tuple[int, int, Placed]]] = {}
    for one in placed:
        asked = one.asked
        if asked is not None:
            if one.start < max(asked.not_before, machine.cluster.now):
                wrong.append(f"job {one.job.id} starts at {one.start}, before it may")
            if one.nodes & ~asked.nodes:
                wrong.append(f"job {one.job.id} is on nodes that it may not have")
            count = one.nodes.bit_count()
            if count < asked.least or (asked.most is not None and count > asked.most) or asked.required & ~one.nodes:
                wrong.append(f"job {one.job.id} has {count} nodes, or not those that it must have")
            if sum(int(machine.cpus[place]) for place in places_of(one.nodes)) < asked.cpus:
                wrong.append(f"job {one.job.id} has too few CPUs")
        first, last = machine.backfill.span(one.start, one.walltime)
        for at in places_of(one.nodes):
            spans.setdefault(at, []).append((first, last, one))
    for at, there in spans.items():
        there.sort(key=lambda span: span[:2])
        for (_, end, one), (start, _, other) in pairwise(there):
            if start < end and not (one.published and other.published):
                wrong.append(f"jobs {one.job.id} and {other.job.id} are both on {machine.node(at).name} at {start}")
    return wrong
