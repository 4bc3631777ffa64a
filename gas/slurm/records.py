"""The queue as arrays: a row for each record, in scheduling order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.slurm import fitting
from gas.slurm.builder import Builder
from gas.slurm.cluster import Cluster
from gas.slurm.levels import least_priority
from gas.slurm.order import Blocked, Record, limit_of, running_tasks
from gas.slurm.owners import ANYBODY, any_single_user
from gas.slurm.parameters import number_in
from gas.slurm.preemption import kind_of
from gas.slurm.reasons import with_nodes
from gas.slurm.rows import Records

__all__ = ["records_of"]


def records_of(build: Builder, records: list[Record], pinned: bool, reservations: Sequence[Any]) -> Records:
    """Return the rows of a queue."""
    cluster, count = build.cluster, len(records)
    given = cluster.scheduling.parameters
    lowest, least_age = number_in(given, "bf_min_prio_reserve", 0), number_in(given, "bf_min_age_reserve", 0)
    running = running_tasks(cluster)
    named = {one.name: at for at, one in enumerate(cluster.licences or ())}
    own = {one.name: at for at, one in enumerate(reservations)}
    need = np.zeros((count, len(fitting.COLUMNS)), np.int64)
    gres = np.zeros((count, 3, len(build.resources)), np.int64)
    licences = np.zeros((count, len(named)), np.int64)
    table = np.zeros((12, count), np.int64)
    tasks, room, limit, since, nodes, first, options, required, plan, start, reserved, only = table
    plan[:] = -1
    room[:], since[:] = 1 << 40, cluster.now
    base: dict[tuple[str, tuple[str, ...], int], int] = {}
    of_core = np.array([node.core_cpus for node in cluster.nodes], np.int64)
    shown: set[int] = set()
    for at, record in enumerate(records):
        job, partition = record.job, record.partition
        build.needs.write(job, partition, need[at], gres[at])
        key = (partition.name, job.excluded_nodes, job.threads_per_core or 1)
        if key not in base:
            inside = build.of_names(partition.nodes) & build.usable & ~build.of_names(job.excluded_nodes)
            inside &= of_core >= (job.threads_per_core or 1)
            base[key] = build.sets.add(inside)
        # set 0 is empty: one of its required nodes does not exist
        nodes[at] = base[key] if all(name in build.places for name in job.required_nodes) else 0
        first[at], options[at] = build.features(job.features)
        required[at] = build.sets.add(build.of_names(job.required_nodes)) if job.required_nodes else 0
        limit[at] = limit_of(job, partition)
        since[at] += record.blocked is Blocked.ACCOUNT  # it is planned, but does not start
        tasks[at] = 1
        if job.tasks is not None and record.probe is None:
            tasks[at] = len(job.tasks)
            if job.tasks.at_once:
                room[at] = max(job.tasks.at_once - running.get(job.array or 0, 0), 0)
        reserved[at] = own.get(job.reservation, -1)
        threshold = least_priority(cluster, job, partition)
        only[at] = job.priority < (lowest if threshold is None else threshold)
        if least_age and cluster.now - (job.eligible or job.submitted or cluster.now) < least_age:
            only[at] = 1
        for name, number in job.licences.items():
            if name in named:
                licences[at, named[name]] = number
        if pinned and record.probe is None and job.tasks is None and job.start is not None and job.id not in shown:
            there = build.of_names(job.planned_nodes)
            outside = ~build.of_names(partition.nodes)
            if reserved[at] >= 0 and "MAGNETIC" in reservations[reserved[at]].flags:
                outside |= ~build.of_names(reservations[reserved[at]].nodes)
            if there.any() and not np.any(there & outside):
                plan[at], start[at] = build.sets.add(there), job.start
                shown.add(job.id)
            elif not job.planned_nodes and len(job.partitions) == 1:
                start[at] = job.start  # v0.0.38 does not publish the nodes
    tested = np.array([_is_tested(record) for record in records], np.bool_)
    considered = [_is_planned(record) for record in records]
    of = build.numbers
    arrays = of("array", (record.job.array for record in records))
    leaders = of("leader", (record.job.leader for record in records))
    in_partition = ((record.job.array, record.partition.name, record.job.reservation) for record in records)
    of_account = (_association(cluster, record) for record in records)
    is_array = np.array([record.job.tasks is not None or record.job.array is not None for record in records], np.bool_)
    is_part = np.array([record.job.leader is not None for record in records], np.bool_)
    return Records(
        np.array(considered, np.bool_) | tested, np.array([record.probe is not None for record in records], np.bool_),
        only.astype(np.bool_), tested,
        np.array([_unreserved(cluster, record) for record in records], np.bool_),
        of("job", ((record.probe, record.job.id) for record in records)),
        of("user", (record.job.user for record in records)),
        of("partition", (record.partition.name for record in records)),
        of("both", ((record.job.user, record.partition.name) for record in records)),
        of("account", of_account), np.where(is_array, arrays, -1), of("array partition", in_partition),
        np.where(is_part, leaders, -1), tasks, room, limit, since, nodes, np.stack([first, options], axis=1), required,
        np.full(count, -1, np.int64), plan, start, reserved,
        of("kind", (kind_of(cluster, record.job, record.partition.name) for record in records)),
        _sharing(build, records), licences, need, gres,
    )  # fmt: skip


def _sharing(build: Builder, records: list[Record]) -> NDArray[np.int64]:
    """Return with whom records share nodes; `ANYBODY` if that does not matter (`gas.slurm.owners`)."""
    found = build.sharing([(record.job, record.partition) for record in records])
    return found if any_single_user(build.cluster) else np.where(found & 1, found, ANYBODY)


def _association(cluster: Cluster, record: Record) -> tuple[str, str, str]:
    """Return the user, the account and the partition of a job's association; most are for all partitions."""
    known, user, account = cluster.accounting, record.job.user, record.job.account
    if known is None:
        return user, account, ""
    if user in ("", known.user):
        user, account = known.user, account or known.default_account
    own = known.association(account, record.partition.name, user)
    return user, account, "" if own is None else own.partition


def _unreserved(cluster: Cluster, record: Record) -> bool:
    """Return whether plans reserve nothing for a job: because of its QOS (NoReserve) or a magnetic reservation.

    A magnetic reservation has this effect on 22.05, 24.11 and 26.05 (seen); bf_allow_magnetic_slot (24.11) ends it.
    """
    if record.attracted and "bf_allow_magnetic_slot" not in cluster.scheduling.parameters:
        return True
    own = None if cluster.accounting is None else cluster.accounting.qos.get(record.job.qos)
    return own is not None and own.has("NoReserve")


def _is_planned(record: Record) -> bool:
    """Return whether the cycle plans a record; no job that is not submitted yet is allowed without an account."""
    return record.blocked is None or (record.blocked is Blocked.ACCOUNT and record.probe is None)


def _is_tested(record: Record) -> bool:
    """Return whether a record that a limit blocks counts for the depth: Slurm searches nodes for it, but holds none.

    Seen on 24.11: jobs that wait for QOSGrpCpuLimit count for bf_max_job_part.
    """
    return record.blocked is Blocked.LIMIT and record.probe is None and with_nodes(record.why)
