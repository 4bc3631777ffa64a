"""A cluster and its queue as arrays for the kernels of the backfill scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gas.slurm.builder import Builder, numbers_of
from gas.slurm.cluster import Cluster, Job, Reservation
from gas.slurm.machine import Machine, Use
from gas.slurm.order import HOLDING, Record, end_of
from gas.slurm.parameters import KILL_WAIT, parameters_of
from gas.slurm.preemption import Preempts, exempt, kind_of
from gas.slurm.records import records_of
from gas.slurm.reservations import anywhere, end_for_others, unseen_reserved
from gas.slurm.rows import Closures, Parameters, Records
from gas.slurm.versions import Rules
from gas.slurm.will_run import Running

__all__ = ["State", "state_of"]


@dataclass
class State:
    """The complete state at the beginning of a cycle.

    Attributes
    ----------
    names
        Of nodes, by index.
    records
        The queue, in the order of `rows`.
    licences, all_licences
        Numbers of free licences, and of all licences available to the jobs that are shown.
    unclear
        What was not understood in the queue: constraints, and records with them.
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
    built_by: Builder = field(repr=False)


def state_of(
    cluster: Cluster,
    records: list[Record],
    *,
    pinned: bool = True,
    preempts: Preempts | None = None,
    memory_counts: bool | None = None,
    unseen_until: int | None = None,
    room: int = 512,
    like: State | None = None,
) -> State:
    """Return the arrays of a cluster and its queue.

    Parameters
    ----------
    records
        In scheduling order (`gas.slurm.order.queue`).
    pinned
        Whether published plans are entered unchanged.
    memory_counts
        Whether memory is a consumable resource; by default according to SelectTypeParameters.
    unseen_until
        Epoch second until which hidden jobs hold their CPUs; None if all jobs are shown.
    room
        Largest number of jobs that start within the cycle.
    like
        The state of the same cluster, with the same options, for some of the records; it is extended by the others.
    """
    if like is not None:
        return _with_more(like, records, preempts, pinned)
    build = Builder(cluster, memory_counts)
    machine = build.machine()
    held = [job for job in cluster.jobs if job.state in HOLDING]
    completing = [job for job in held if job.state == "COMPLETING" and end_of(job, cluster.now) <= cluster.now]
    jobs = tuple(job for job in held if job not in completing)
    running, use, unseen = build.running(machine, jobs, unseen_until, room)
    leaving = np.array([node.completing or node.rebooting for node in cluster.nodes], np.bool_)
    for job in completing:
        leaving |= build.of_names(job.nodes)
    build.sets.add(np.zeros(build.count, np.bool_))
    reservations = _kept(cluster)
    rows = records_of(build, records, pinned, reservations)
    closures = _closures(build, records, rows, reservations)
    may = _preempting(build, records, running, jobs, preempts)
    grace = KILL_WAIT if build.settings.kill_wait is None else build.settings.kill_wait
    grace += build.settings.overtime or 0
    there = [(one, unseen_reserved(cluster, one)) for one in cluster.licences or ()]
    licences = np.array([max(one.total - one.used - kept, 0) for one, kept in there], np.int64)
    licence_names = tuple(one.name for one in cluster.licences or ())
    hidden = [one.used - sum(job.licences.get(one.name, 0) for job in jobs) for one in cluster.licences or ()]
    all_licences = np.array(
        [one.total - one.reserved - max(kept, 0) for one, kept in zip(cluster.licences or (), hidden, strict=True)],
        np.int64,
    )
    return State(
        tuple(node.name for node in cluster.nodes), records, rows, closures, build.sets.array(),
        np.array(build.options, np.int64), may, leaving, machine, use, running, jobs, licences, licence_names,
        all_licences, parameters_of(cluster, grace=grace), build.rules, build.usable, unseen,
        tuple(build.unclear), build,
    )  # fmt: skip


def _with_more(like: State, records: list[Record], preempts: Preempts | None, pinned: bool) -> State:
    """Return a state with further records, without processing its records again."""
    build = like.built_by
    reservations = _kept(build.cluster)
    known = {id(record): at for at, record in enumerate(like.records)}
    new = [record for record in records if id(record) not in known]
    known |= {id(record): len(known) + at for at, record in enumerate(new)}
    more = records_of(build, new, pinned, reservations)
    order = np.array([known[id(record)] for record in records], np.int64)
    both = zip(like.rows, more, strict=True)
    rows = Records._make(np.concatenate([one, other])[order] for one, other in both)
    closures = _closures(build, records, rows, reservations)
    may = _preempting(build, records, like.running, like.running_jobs, preempts)
    return replace(
        like, records=records, rows=rows, closures=closures, preempts=may, sets=build.sets.array(),
        options=np.array(build.options, np.int64), unclear=tuple(build.unclear),
    )  # fmt: skip


def _kept(cluster: Cluster) -> list[Reservation]:
    """Return the reservations that have not ended."""
    return [one for one in cluster.reservations if one.end > cluster.now]


def _closures(build: Builder, records: list[Record], rows: Records, reservations: Sequence[Reservation]) -> Closures:
    closed = [build.of_names(one.nodes) for one in reservations]
    first = {partition: place for place, partition in enumerate(rows.partition.tolist())}
    whole = np.zeros((len(reservations), max(first, default=0) + 1), np.bool_)
    for at, one in enumerate(reservations):
        for partition, place in first.items():
            inside = build.of_names(records[place].partition.nodes) & build.usable
            covers = "MAINT" in one.flags and not np.any(inside & ~closed[at])
            whole[at, partition] = "ALL_NODES" in one.flags or covers
    names = [one.name for one in build.cluster.licences or ()]
    kept = np.array([one.licences.get(name, 0) for one in reservations for name in names], np.int64)
    return Closures(
        np.array([one.start for one in reservations], np.int64),
        np.array([end_for_others(one) for one in reservations], np.int64),
        np.array([build.sets.add(one) for one in closed], np.int64),
        whole,
        kept.reshape(len(reservations), len(names)),
        np.array([one.flexible for one in reservations], np.bool_),
        np.array([anywhere(one) for one in reservations], np.bool_),
        np.array([max(one.start - build.cluster.now, 0) if one.floats else -1 for one in reservations], np.int64),
    )


def _preempting(
    build: Builder, records: list[Record], running: Running, jobs: Sequence[Job], preempts: Preempts | None
) -> NDArray[np.bool_]:
    """Return which kind of waiting job may preempt which kind of running job; writes the kinds of running jobs."""
    cluster = build.cluster
    waiting = [kind_of(cluster, record.job, record.partition.name) for record in records]
    there = [(*kind_of(cluster, job, (job.partitions or ("",))[0]), exempt(cluster, job)) for job in jobs]
    running.kind[: len(jobs)] = numbers_of(there)
    kinds = list(dict.fromkeys(there))
    asking = dict(zip(waiting, records, strict=True))
    examples = dict(zip(there, jobs, strict=True))
    running.kind[len(jobs) : running.total[0]] = len(kinds)  # hidden jobs
    keys = build.numbered("kind")
    found = np.zeros((max(len(keys), 1), len(kinds) + 1), np.bool_)
    if preempts is not None:
        for row, key in enumerate(keys):
            for column, other in enumerate(kinds):
                found[row, column] = key in asking and preempts(asking[key].job, asking[key].partition, examples[other])
    return found
