"""A cluster and its queue as the arrays on which the backfill scheduler's kernels work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.slurm import fitting
from gas.slurm.cluster import Cluster, Gres, Job, Partition
from gas.slurm.features import allowed
from gas.slurm.fitting import BOUNDLESS, Machine, Use
from gas.slurm.order import HOLDING, NO_LIMIT, Blocked, Record, limit_of, running_tasks
from gas.slurm.preemption import Preempts
from gas.slurm.rows import Closures, Parameters, Records
from gas.slurm.settings import Settings
from gas.slurm.versions import Rules
from gas.slurm.will_run import Running, add

__all__ = ["State", "parameters_of", "state_of"]


FOR_EVER = 1 << 50
KILL_WAIT = 30  # slurm.conf(5), KillWait


class Sets:
    """Sets of nodes by number; equal ones have one number."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._rows: list[NDArray[np.bool_]] = []
        self._known: dict[bytes, int] = {}

    def add(self, nodes: NDArray[np.bool_]) -> int:
        """Return the number of a set."""
        key = np.packbits(nodes).tobytes()
        if key not in self._known:
            self._known[key] = len(self._rows)
            self._rows.append(nodes)
        return self._known[key]

    def array(self) -> NDArray[np.bool_]:
        """Return all sets."""
        return np.array(self._rows, np.bool_).reshape(len(self._rows), self.count)


@dataclass
class State:
    """What a cycle begins with.

    Attributes
    ----------
    names
        Of nodes, by place.
    records
        The queue, place by place as in `rows`.
    licences, all_licences
        How many are free now, and how many there are for jobs that are shown.
    unclear
        What of the queue was not understood: constraints, and records that name them.
    """

    names: tuple[str, ...]
    records: list[Record]
    rows: Records
    closures: Closures
    sets: NDArray[np.bool_]
    options: NDArray[np.int64]
    preempts: NDArray[np.bool_]
    leaving: NDArray[np.bool_]
    machine: Machine
    use: Use
    running: Running
    running_jobs: tuple[Job, ...]
    licences: NDArray[np.int64]
    licence_names: tuple[str, ...]
    all_licences: NDArray[np.int64]
    parameters: Parameters
    rules: Rules
    usable: NDArray[np.bool_]
    unseen: NDArray[np.int64]
    unclear: tuple[str, ...]


def _number(parameters: Any, name: str, default: int, least: int = 0) -> int:
    text = str(parameters.get(name, ""))
    value = int(text) if text.isdecimal() and len(text) < 10 else default
    return value if value >= least else default


def parameters_of(cluster: Cluster, *, grace: int = KILL_WAIT, beyond: bool = False) -> Parameters:
    """Return the parameters of the backfill scheduler; with `beyond`, without what ends its search."""
    scheduling = cluster.scheduling
    given = scheduling.parameters
    resolution = max(scheduling.resolution, 1)
    licenses = "bf_licenses" in given
    if beyond:
        return Parameters(
            cluster.now, cluster.now // resolution * resolution, resolution, FOR_EVER, 0, 0, 0, 0, 0, 1 << 40, 0,
            False, licenses, 0, _number(given, "bf_window_linear", 0), grace, True,
        )  # fmt: skip
    return Parameters(
        cluster.now, cluster.now // resolution * resolution, resolution, scheduling.window, scheduling.depth,
        _number(given, "bf_max_job_user", 0), _number(given, "bf_max_job_part", 0),
        _number(given, "bf_max_job_user_part", 0), _number(given, "bf_max_job_assoc", 0), scheduling.array_depth,
        _number(given, "bf_job_part_count_reserve", 0), "bf_one_resv_per_job" in given, licenses,
        _number(given, "bf_node_space_size", max(scheduling.depth, 2)), _number(given, "bf_window_linear", 0), grace,
        False,
    )  # fmt: skip


def end_of(job: Job, now: int) -> int:
    """Return by when a running job has to have ended."""
    if job.end is not None:
        return job.end
    return (job.start or now) + (NO_LIMIT if job.time_limit is None else job.time_limit)


class _Resources:
    """Generic resources by column: of each name all, and each type of it."""

    def __init__(self, cluster: Cluster) -> None:
        self.columns: dict[tuple[str, str], int] = {}
        for node in cluster.nodes:
            for one in node.gres:
                self.columns.setdefault((one.name, ""), len(self.columns))
                if one.type:
                    self.columns.setdefault((one.name, one.type), len(self.columns))

    def __len__(self) -> int:
        return max(len(self.columns), 1)

    def put(self, row: NDArray[np.int64], found: Iterable[Gres]) -> bool:
        """Add resources to a row; return whether all of them are known."""
        clear = True
        for one in found:
            column = self.columns.get((one.name, ""))
            if column is None:
                clear = False
                continue
            row[column] += one.count
            if one.type:
                typed = self.columns.get((one.name, one.type))
                if typed is None:
                    clear = False
                else:
                    row[typed] += one.count
        return clear


class _Builder:
    """Builds the arrays of one cluster."""

    def __init__(self, cluster: Cluster, memory_counts: bool | None) -> None:
        self.cluster = cluster
        self.rules = Rules.of(cluster.version)
        self.count = len(cluster.nodes)
        self.places = {node.name: place for place, node in enumerate(cluster.nodes)}
        self.sets = Sets(self.count)
        self.resources = _Resources(cluster)
        self.settings = settings = cluster.settings or Settings()
        selection = " ".join((*settings.selection_parameters, *(one.selection.upper() for one in cluster.partitions)))
        if memory_counts is None:
            # where the configuration is not published, nodes tell: memory is allocated only where it is given out
            # (cons_tres, job_res_add_job)
            seen = cluster.settings is None and any(node.memory_allocated for node in cluster.nodes)
            memory_counts = seen or "MEMORY" in selection
        self.with_memory = memory_counts
        self.limited = {
            one.name: at for at, one in enumerate(one for one in cluster.partitions if one.most_cpus is not None)
        }
        self.partitions = {one.name: one for one in cluster.partitions}
        self._of_names: dict[tuple[str, ...], NDArray[np.bool_]] = {}
        self._features: dict[str, tuple[int, int]] = {}
        self.options: list[int] = []
        self.unclear: list[str] = []
        now = cluster.now
        shown = {name for one in cluster.reservations if one.start <= now < one.end for name in one.nodes}
        # a node that a reservation holds now is free when that ends, unless it is not known when
        self.usable = np.array(
            [node.usable and node.cpus > 0 and (not node.reserved or node.name in shown) for node in cluster.nodes],
            np.bool_,
        )

    def of_names(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Return the set of the nodes of these names that there are."""
        key = tuple(names)
        if key not in self._of_names:
            found = np.zeros(self.count, np.bool_)
            places = [self.places[name] for name in key if name in self.places]
            found[places] = True
            self._of_names[key] = found
        return self._of_names[key]

    def machine(self) -> Machine:
        nodes = self.cluster.nodes
        gres = np.zeros((self.count, len(self.resources)), np.int64)
        for place, node in enumerate(nodes):
            self.resources.put(gres[place], node.gres)
        return Machine(
            np.array([max(node.cpus, 0) for node in nodes], np.int64),
            np.array([BOUNDLESS if node.memory is None else node.memory for node in nodes], np.int64),
            gres,
            np.array([node.weight for node in nodes], np.int64),
            np.array([max(node.threads, 1) for node in nodes], np.int64),
            np.array([name == "gpu" for name, _ in self.resources.columns] or [False], np.bool_),
        )

    # -- what runs

    def running(
        self, machine: Machine, jobs: Sequence[Job], unseen_until: int | None, room: int
    ) -> tuple[Running, Use, NDArray[np.int64]]:
        now, columns = self.cluster.now, len(self.resources)
        ends: list[int] = []
        firsts: list[int] = []
        counts: list[int] = []
        shares: list[tuple[int, int, int, int]] = []  # node, CPUs, MB, limit
        gres: list[tuple[int, tuple[Gres, ...]]] = []
        for job in jobs:
            ends.append(end_of(job, now))
            firsts.append(len(shares))
            partition = self.partitions.get(job.partitions[0]) if job.partitions else None
            whole = job.exclusive or (partition is not None and partition.whole_nodes)
            limited = -1 if partition is None else self.limited.get(partition.name, -1)
            for name in job.nodes:
                place = self.places.get(name)
                if place is None:
                    continue
                known = None if job.cpus_on is None or whole else job.cpus_on.get(name)
                cpus = int(machine.cpus[place]) if known is None else known
                memory = self._memory_on(job, name, cpus) if self.with_memory else 0
                found = job.gres_per_node if job.gres_on is None else job.gres_on.get(name, ())
                if found:
                    gres.append((len(shares), found))
                shares.append((place, cpus, memory, limited))
            counts.append(len(shares) - firsts[-1])
        unseen = np.zeros(self.count, np.int64)
        if unseen_until is not None:
            seen = np.zeros(self.count, np.int64)
            for place, cpus, _, _ in shares:
                seen[place] += cpus
            for place, node in enumerate(self.cluster.nodes):
                missing = (node.allocated or 0) - int(seen[place])
                if missing > 0 and self.usable[place]:
                    unseen[place] = missing
                    memory = (node.memory_allocated or 0) if self.with_memory else 0
                    ends.append(unseen_until)
                    firsts.append(len(shares))
                    counts.append(1)
                    if node.gres_used:
                        gres.append((len(shares), node.gres_used))
                    shares.append((place, missing, memory, -1))
        jobs_in_all, shares_in_all = len(ends), len(shares)
        spare = room * min(self.count, 64)
        running = Running(
            np.zeros(jobs_in_all + room, np.int64), _padded(ends, room), np.zeros(jobs_in_all + room, np.int64),
            _padded(firsts, room), _padded(counts, room), _padded([one[0] for one in shares], spare),
            _padded([one[1] for one in shares], spare), _padded([one[2] for one in shares], spare),
            np.zeros((shares_in_all + spare, columns), np.int64), _padded([one[3] for one in shares], spare),
            np.array([jobs_in_all, shares_in_all], np.int64),
        )  # fmt: skip
        for share, found in gres:
            self.resources.put(running.gres[share], found)
        running.order[:jobs_in_all] = np.argsort(running.end[:jobs_in_all], kind="stable")
        use = Use(
            np.zeros(self.count, np.int64), np.zeros(self.count, np.int64), np.zeros(self.count, np.int64),
            np.zeros((self.count, columns), np.int64), np.zeros((max(len(self.limited), 1), self.count), np.int64),
        )  # fmt: skip
        for at in range(jobs_in_all):
            add(use, running, at, 1)
        return running, use, unseen

    def _memory_on(self, job: Job, name: str, cpus: int) -> int:
        if job.memory_on is not None and name in job.memory_on:
            return job.memory_on[name]
        if job.memory_per_node:
            return job.memory_per_node
        return (job.memory_per_cpu or 0) * cpus

    # -- what waits

    def features(self, constraint: str) -> tuple[int, int]:
        """Return where in `options` the sets of a constraint stand, and how many there are."""
        if constraint not in self._features:
            found = allowed(constraint, self._with_feature, np.ones(self.count, np.bool_))
            if not found.clear:
                self.unclear.append(f"the constraint {constraint!r}")
            self._features[constraint] = (len(self.options), len(found.options))
            self.options += [self.sets.add(one) for one in found.options]
        return self._features[constraint]

    def _with_feature(self, feature: str) -> NDArray[np.bool_]:
        return np.array([feature in node.features for node in self.cluster.nodes], np.bool_)

    def need(self, job: Job, partition: Partition, row: NDArray[np.int64], gres: NDArray[np.int64]) -> None:
        """Write what a job asks of a partition."""
        per_task = max(job.cpus_per_task, 1)
        per_node = job.tasks_per_node or 0
        tasks = job.tasks_asked or 0
        whole = job.exclusive or partition.whole_nodes
        least, wanted, most = self.numbers_of_nodes(job, partition)
        row[fitting.CPUS] = max(job.cpus, least, tasks * per_task)
        row[fitting.TASK_CPUS] = per_task
        row[fitting.PER_NODE] = per_node
        row[fitting.LEAST], row[fitting.WANTED], row[fitting.MOST] = least, wanted, most
        row[fitting.WHOLE], row[fitting.CONTIGUOUS] = whole, job.contiguous
        row[fitting.LIMITED] = self.limited.get(partition.name, -1)
        row[fitting.LIMITED_CPUS] = partition.most_cpus or 0
        row[fitting.MULTIPLES] = self.rules.whole_tasks
        row[fitting.HAS_REQUIRED] = bool(job.required_nodes)
        clear = self.resources.put(gres[fitting.OF_NODE], (*job.gres_per_node, *job.gres_per_socket))
        clear &= self.resources.put(gres[fitting.OF_TASK], job.gres_per_task)
        clear &= self.resources.put(gres[fitting.OF_JOB], job.gres_per_job)
        if not clear:  # there is none of it: more than any node has
            gres[fitting.OF_NODE, 0] = BOUNDLESS
        row[fitting.HAS_GRES] = bool(gres.any())
        self._need_memory(job, partition, row, per_task)

    def numbers_of_nodes(self, job: Job, partition: Partition) -> tuple[int, int, int]:
        """Return the least number of nodes that a job must have, the number that it wants, and the most.

        Of ``-N 2-6`` all releases show ``NumNodes=6-6 NumTasks=2``, and of ``-n 3`` 26.05 shows ``NumNodes=1-3``.
        """
        least, tasks, per_node = job.least_nodes, job.tasks_asked or 0, job.tasks_per_node or 0
        most = BOUNDLESS if job.most_nodes is None else job.most_nodes
        if job.id and tasks and not per_node and job.cpus <= tasks < least:
            least = tasks
        if job.id and self.rules.first_node and least < most == tasks:
            most = BOUNDLESS
        wanted = 0 if most == BOUNDLESS else most
        if per_node and tasks:
            least = max(least, -(-tasks // per_node))
        least = max(least, partition.least_nodes, 1)
        if job.gres_per_job and tasks and not self.rules.more_nodes:
            most = min(most, max(tasks, least)) if tasks > 1 or not job.id else most
        if partition.most_nodes is not None:
            most, wanted = min(most, partition.most_nodes), min(wanted, partition.most_nodes)
        return least, max(least, wanted), most

    def _need_memory(self, job: Job, partition: Partition, row: NDArray[np.int64], per_task: int) -> None:
        node, cpu, gpu = job.memory_per_node, job.memory_per_cpu, job.memory_per_gpu
        if node is None and cpu is None and gpu is None and self.with_memory:
            node = partition.memory_per_node or self.settings.memory_per_node
            cpu = None if node else partition.memory_per_cpu or self.settings.memory_per_cpu
            if not node and not cpu:
                node = 0  # DefMemPerNode=UNLIMITED: all of it
        if gpu is not None:
            per_node = sum(one.count for one in job.gres_per_node if one.name == "gpu")
            of_task = sum(one.count for one in job.gres_per_task if one.name == "gpu")
            row[fitting.MEMORY], row[fitting.TASK_MEMORY] = gpu * per_node, gpu * of_task
        elif node is not None:
            row[fitting.MEMORY] = node
            row[fitting.ALL_MEMORY] = self.with_memory and node == 0
        elif cpu is not None:
            row[fitting.TASK_MEMORY] = cpu * per_task


def _padded(values: list[int], room: int) -> NDArray[np.int64]:
    found = np.zeros(len(values) + room, np.int64)
    found[: len(values)] = values
    return found


def _numbers(keys: Iterable[object]) -> NDArray[np.int64]:
    known: dict[object, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def state_of(
    cluster: Cluster,
    records: list[Record],
    *,
    pinned: bool = True,
    beyond: bool = False,
    not_before: Sequence[int] | None = None,
    preempts: Preempts | None = None,
    memory_counts: bool | None = None,
    unseen_until: int | None = None,
    room: int = 512,
) -> State:
    """Return the arrays of a cluster and its queue.

    Parameters
    ----------
    records
        In the order in which they are considered (`gas.slurm.order.queue`).
    pinned
        Published plans are entered as they are.
    beyond
        Plan on where Slurm's search ends; what is blocked is considered too, from `not_before` on.
    not_before
        By record: epoch second before which it does not start.
    memory_counts
        Whether memory is given out; by default what SelectTypeParameters says.
    unseen_until
        Until when CPUs are taken that are in use by jobs which are not shown; None if all jobs are.
    room
        How many jobs may start within the cycle.
    """
    build = _Builder(cluster, memory_counts)
    machine = build.machine()
    held = [job for job in cluster.jobs if job.state in HOLDING]
    completing = [job for job in held if job.state == "COMPLETING" and end_of(job, cluster.now) <= cluster.now]
    jobs = tuple(job for job in held if job not in completing)
    running, use, unseen = build.running(machine, jobs, unseen_until, room)
    leaving = np.array([node.completing or node.rebooting for node in cluster.nodes], np.bool_)
    for job in completing:
        leaving |= build.of_names(job.nodes)
    build.sets.add(np.zeros(build.count, np.bool_))
    reservations = [one for one in cluster.reservations if one.end > cluster.now]
    rows = _records(build, records, pinned, beyond, not_before, reservations)
    partitions = _numbers(record.partition.name for record in records)
    first = {partition: place for place, partition in enumerate(partitions.tolist())}
    closed = [build.of_names(one.nodes) for one in reservations]
    whole = np.zeros((len(reservations), int(partitions.max(initial=0)) + 1), np.bool_)
    for at, one in enumerate(reservations):
        for partition, place in first.items():
            inside = build.of_names(records[place].partition.nodes) & build.usable
            covers = "MAINT" in one.flags and not np.any(inside & ~closed[at])
            whole[at, partition] = "ALL_NODES" in one.flags or covers
    closures = Closures(
        np.array([one.start for one in reservations], np.int64),
        np.array([one.end for one in reservations], np.int64),
        np.array([build.sets.add(one) for one in closed], np.int64),
        whole,
    )
    may = _preempting(build, records, running, jobs, preempts)
    grace = KILL_WAIT if build.settings.kill_wait is None else build.settings.kill_wait
    grace += build.settings.overtime or 0
    licences = np.array([max(one.total - one.used - one.reserved, 0) for one in cluster.licences or ()], np.int64)
    licence_names = tuple(one.name for one in cluster.licences or ())
    hidden = [one.used - sum(job.licences.get(one.name, 0) for job in jobs) for one in cluster.licences or ()]
    all_licences = np.array(
        [one.total - one.reserved - max(kept, 0) for one, kept in zip(cluster.licences or (), hidden, strict=True)],
        np.int64,
    )
    return State(
        tuple(node.name for node in cluster.nodes), records, rows, closures, build.sets.array(),
        np.array(build.options, np.int64), may, leaving, machine, use, running, jobs, licences, licence_names,
        all_licences, parameters_of(cluster, grace=grace, beyond=beyond), build.rules, build.usable, unseen,
        tuple(build.unclear),
    )  # fmt: skip


def _preempting(
    build: _Builder, records: list[Record], running: Running, jobs: Sequence[Job], preempts: Preempts | None
) -> NDArray[np.bool_]:
    """Return which kind of preemptor may take the place of which kind of running job; writes the latter's kinds."""
    waiting = [(record.partition.name, record.job.qos) for record in records]
    there = [((job.partitions or ("",))[0], job.qos) for job in jobs]
    running.kind[: len(jobs)] = _numbers(there)
    kinds = list(dict.fromkeys(there))
    asking = dict(zip(waiting, records, strict=True))
    examples = dict(zip(there, jobs, strict=True))
    running.kind[len(jobs) : running.total[0]] = len(kinds)  # jobs that are not shown
    found = np.zeros((max(len(dict.fromkeys(waiting)), 1), len(kinds) + 1), np.bool_)
    if preempts is not None:
        for row, key in enumerate(dict.fromkeys(waiting)):
            for column, other in enumerate(kinds):
                found[row, column] = preempts(asking[key].job, asking[key].partition, examples[other])
    return found


def _records(
    build: _Builder,
    records: list[Record],
    pinned: bool,
    beyond: bool,
    not_before: Sequence[int] | None,
    reservations: Sequence[Any],
) -> Records:
    cluster, count = build.cluster, len(records)
    given = cluster.scheduling.parameters
    least_priority, least_age = _number(given, "bf_min_prio_reserve", 0), _number(given, "bf_min_age_reserve", 0)
    running = running_tasks(cluster)
    named = {one.name: at for at, one in enumerate(cluster.licences or ())}
    own = {one.name: at for at, one in enumerate(reservations)}
    need = np.zeros((count, len(fitting.COLUMNS)), np.int64)
    gres = np.zeros((count, 3, len(build.resources)), np.int64)
    licences = np.zeros((count, len(named)), np.int64)
    open_to = np.zeros((count, len(reservations)), np.bool_)
    table = np.zeros((12, count), np.int64)
    tasks, room, limit, since, nodes, first, options, required, plan, start, reserved, only = table
    plan[:] = -1
    room[:] = 1 << 40
    base: dict[tuple[str, tuple[str, ...]], int] = {}
    shown: set[int] = set()
    for at, record in enumerate(records):
        job, partition = record.job, record.partition
        build.need(job, partition, need[at], gres[at])
        key = (partition.name, job.excluded_nodes)
        if key not in base:
            inside = build.of_names(partition.nodes) & build.usable & ~build.of_names(job.excluded_nodes)
            base[key] = build.sets.add(inside)
        # set 0 is empty: a node that it must have is not there
        nodes[at] = base[key] if all(name in build.places for name in job.required_nodes) else 0
        first[at], options[at] = build.features(job.features)
        required[at] = build.sets.add(build.of_names(job.required_nodes)) if job.required_nodes else 0
        limit[at] = limit_of(job, partition)
        since[at] = cluster.now if not_before is None else not_before[at]
        tasks[at] = 1
        if job.tasks is not None and record.probe is None:
            tasks[at] = len(job.tasks)
            if job.tasks.at_once:
                room[at] = max(job.tasks.at_once - running.get(job.array or 0, 0), 0)
        reserved[at] = own.get(job.reservation, -1)
        if least_priority and job.priority < least_priority:
            only[at] = 1
        if least_age and cluster.now - (job.eligible or job.submitted or cluster.now) < least_age:
            only[at] = 1
        for name, number in job.licences.items():
            if name in named:
                licences[at, named[name]] = number
        for one, reservation in enumerate(reservations):
            if "MAGNETIC" in reservation.flags and (
                (job.user and job.user in reservation.users) or (job.account and job.account in reservation.accounts)
            ):
                open_to[at, one] = True
        if pinned and record.probe is None and job.tasks is None and job.start is not None and job.id not in shown:
            there = build.of_names(job.planned_nodes)
            if there.any() and not np.any(there & ~build.of_names(partition.nodes)):
                plan[at], start[at] = build.sets.add(there), job.start
                shown.add(job.id)
            elif not job.planned_nodes and len(job.partitions) == 1:
                start[at] = job.start  # v0.0.38 says no nodes
    considered = [record.blocked is None or (beyond and _comes(record)) for record in records]
    names = [(record.job.array, record.partition.name, record.job.reservation) for record in records]
    arrays = _numbers(record.job.array for record in records)
    leaders = _numbers(record.job.leader for record in records)
    return Records(
        np.array(considered, np.bool_), np.array([record.probe is not None for record in records], np.bool_),
        only.astype(np.bool_) & (not beyond), np.zeros(count, np.bool_),
        _numbers((record.probe, record.job.id) for record in records),
        _numbers(record.job.user for record in records),
        _numbers(record.partition.name for record in records),
        _numbers((record.job.user, record.partition.name) for record in records),
        _numbers((record.job.user, record.job.account, record.partition.name) for record in records),
        np.where([record.job.tasks is not None or record.job.array is not None for record in records], arrays, -1),
        _numbers(names), np.where([record.job.leader is not None for record in records], leaders, -1),
        tasks, room, limit, since, nodes, np.stack([first, options], axis=1), required, plan, start, reserved,
        open_to, _numbers((record.partition.name, record.job.qos) for record in records), licences, need, gres,
    )  # fmt: skip


def _comes(record: Record) -> bool:
    """Return whether it will start without anybody doing anything."""
    return record.blocked in (Blocked.BEGIN, Blocked.TASKS, Blocked.RESERVATION) or record.probe is not None
