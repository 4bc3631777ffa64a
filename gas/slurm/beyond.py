"""The pass beyond Slurm's cycle: it plans, around Slurm's plans, the other jobs that will start at some time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gas.slurm import rows as states
from gas.slurm.order import Blocked, Record, end_of
from gas.slurm.passes import MOST, Pass, Planned, Shares, copied, run_pass, span_and_nodes
from gas.slurm.rows import Found, Parameters, Records, nodes_of, shares_of
from gas.slurm.state import State

__all__ = ["Beyond", "plan_beyond", "starts_by_itself", "without_limits"]

NODES_PLANNED = 5_000_000
"""Largest product of jobs planned here and nodes of the machine, so that the pass takes seconds."""


@dataclass
class Beyond:
    """The result of the pass beyond Slurm's cycle.

    Attributes
    ----------
    start, row
        By record of a probe, its expected start, and its nodes with its CPUs on each.
    since
        By record of a probe, the epoch second from which an unplanned job may delay it.
    crowd
        By record of a probe, the number of jobs and tasks ahead of it that were left out, and the seconds for which
        they occupy its nodes.
    order, did
        The planned records in order, without probes, and the results of the pass.
    """

    plans: list[Planned]
    left: int
    start: dict[int, int]
    row: dict[int, Shares]
    since: dict[int, int]
    crowd: dict[int, tuple[int, int]] = field(default_factory=dict)
    order: list[tuple[int, bool, int, int]] = field(default_factory=list)
    did: Pass | None = None


def _known_of(before: Beyond | None, order: Sequence[tuple[int, bool, int, int]]) -> Found | None:
    """Return the results of another pass, up to where its order differs."""
    if before is None or before.did is None:
        return None
    same = 0
    for one, other in zip(before.order, order, strict=False):
        if one != other:
            break
        same += 1
    found = before.did.found
    valid = int(np.searchsorted(found.record[: int(found.total[0])], same))
    return found._replace(total=np.array([valid], np.int64))


def plan_beyond(state: State, did: Pass, before: Beyond | None = None, *, rest: bool = True) -> Beyond:
    """Plan the unplanned jobs that will start, each before the next probe in the queue.

    Results of an earlier pass without probes are reused; without `rest`, this pass ends with the last probe.
    """
    first = did.plans
    found = Beyond([], 0, {}, {}, {})
    rows, records, now = state.rows, state.records, state.parameters.now
    mine: dict[int, list[int]] = {}
    for row in range(int(first.total[0])):
        mine.setdefault(int(first.record[row]), []).append(row)
    order: list[tuple[int, int, int, int]] = []  # record, row of its plan or -1, copies, not before
    late: list[tuple[int, int, int, int]] = []
    budget = min(MOST, max(NODES_PLANNED // max(len(state.names), 1), 100))
    have_plans = {int(rows.job[at]) for at in mine}
    crowds: dict[int, tuple[int, int]] = {}  # by set of nodes: jobs left out, and their CPU seconds
    for at, record in enumerate(records):
        if record.probe is not None:
            late.sort(key=lambda one: one[3])
            order += late
            late = []
            order.append((at, -1, 1, _not_before(state, record)))
            found.crowd[at] = _crowd_before(state, at, crowds)
            continue
        planned = mine.get(at, [])
        if first.state[at] != states.STARTED:
            order += [(at, row, 1, now) for row in planned]
        copies = int(rows.tasks[at]) - len(planned)
        if (record.blocked is Blocked.RESERVATION or record.attracted) and int(rows.job[at]) in have_plans:
            continue  # it has a plan outside the magnetic reservation, which has not begun, or for which it holds none
        if copies > 0 and first.state[at] != states.SAME_JOB and starts_by_itself(record):
            if record.blocked is Blocked.TASKS and record.job.tasks is not None:
                copies = min(copies, record.job.tasks.at_once or copies)
            there = min(copies, budget)
            found.left += copies - there
            budget -= there
            if there < copies:
                many, work = crowds.get(int(rows.nodes[at]), (0, 0))
                once = copies - there
                if record.job.tasks is not None and record.job.tasks.at_once:
                    once = min(once, record.job.tasks.at_once)  # later tasks follow these, and delay no other job
                work += once * max(record.job.cpus, 1) * int(rows.limit[at])
                crowds[int(rows.nodes[at])] = many + copies - there, work
            if there:
                late.append((at, -1, there, _not_before(state, record)))
    late.sort(key=lambda one: one[3])
    order += late
    if not rest:
        last = max((at for at, one in enumerate(order) if rows.probe[one[0]]), default=-1)
        order = order[: last + 1]
    if not any(row < 0 for _, row, _, _ in order):
        return found
    found.order = [
        (id(records[at]), row >= 0, copies, since) for at, row, copies, since in order if not rows.probe[at]
    ]  # fmt: skip
    index = np.array([one[0] for one in order], np.int64)
    pins = np.array([one[1] for one in order], np.int64)
    again = Records._make(field[index] for field in rows)
    sets = np.zeros((len(state.sets) + int(first.total[0]), len(state.names)), np.bool_)
    sets[: len(state.sets)] = state.sets
    for row in range(int(first.total[0])):
        sets[len(state.sets) + row, nodes_of(first, row)] = True
    again.considered[:] = True
    again.now_only[:] = False
    again.unheld[:] = False
    again.unreserved[:] = False
    again.room[:] = 1 << 40
    again.tasks[:] = [one[2] for one in order]
    again.not_before[:] = [one[3] for one in order]
    again.array[:] = np.where(again.tasks > 1, np.arange(len(order)), -1)
    again.array_partition[:] = np.arange(len(order))
    again.job[:] = np.arange(len(order))
    again.leader[:] = -1
    again.pinned[:] = np.where(pins >= 0, pins + len(state.sets), -1)
    again.pinned_start[:] = np.where(pins >= 0, first.from_[np.maximum(pins, 0)], 0)
    follow = replace(copied(did.state), rows=again, sets=sets, parameters=without_limits(state.parameters))
    found.did = run_pass(follow, MOST + int(np.count_nonzero(pins >= 0)), _known_of(before, found.order))
    plans = found.did.plans
    since = 1 << 60
    rows_of: dict[int, list[int]] = {}
    for row in range(int(plans.total[0])):
        rows_of.setdefault(int(plans.record[row]), []).append(row)
    for at, (origin, pin, copies, not_before) in enumerate(order):
        if rows.probe[origin]:
            found.since[origin] = since
            if plans.start[at] >= 0 and plans.state[at] in (states.PLANNED, states.STARTED):
                found.start[origin] = int(plans.start[at])
                found.row[origin] = shares_of(plans, int(plans.best[at]))
        elif pin < 0:
            placed = rows_of.get(at, [])
            found.left += copies - len(placed)
            if first.state[origin] == states.NOWHERE and placed:
                since = min(since, int(plans.from_[placed[0]] - plans.limit[placed[0]]))
            elif placed:
                since = min(since, not_before)
            record = records[origin]
            found.plans += [
                Planned(
                    record.job, record.partition.name, *span_and_nodes(plans, row),
                    listed=False, not_before=not_before,
                )
                for row in placed
            ]  # fmt: skip
    return found


def _crowd_before(state: State, at: int, crowds: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the number of jobs left out that may delay a record, and the seconds for which they occupy its nodes.

    Only jobs that cannot run elsewhere count for the seconds.
    """
    own = state.sets[int(state.rows.nodes[at])]
    count = work = 0
    for nodes, (many, theirs) in crowds.items():
        if np.any(state.sets[nodes] & own):
            count += many
            if not np.any(state.sets[nodes] & ~own):
                work += theirs
    return count, work // max(int(state.machine.cpus[own].sum()), 1)


def without_limits(parameters: Parameters) -> Parameters:
    """Return the parameters without the limits that end Slurm's search."""
    return parameters._replace(
        window=1 << 50, max_job_test=0, max_job_user=0, max_job_part=0, max_job_user_part=0, max_job_assoc=0,
        max_job_array_resv=1 << 40, job_part_count_reserve=0, one_resv_per_job=False, node_space_size=0, plan_all=True,
    )  # fmt: skip


def starts_by_itself(record: Record) -> bool:
    """Return whether a record will start without intervention."""
    return record.blocked in (None, Blocked.BEGIN, Blocked.TASKS, Blocked.RESERVATION)


def _not_before(state: State, record: Record) -> int:
    now, job = state.parameters.now, record.job
    found = max(now, job.eligible or 0)
    if record.blocked is Blocked.BEGIN:
        found = max(found, job.start or 0)
    if record.release is not None:
        found = max(found, record.release)
    if record.blocked is Blocked.TASKS:
        ends = [end_of(one, now) for one in state.running_jobs if one.array == job.array]
        found = max(found, min(ends, default=now))
    if record.blocked is Blocked.RESERVATION:
        at = next(at for at, one in enumerate(state.records) if one is record)
        own = int(state.rows.reservation[at])
        found = max(found, int(state.closures.start[own])) if own >= 0 else found
    return found
