"""The pass beyond Slurm's cycle: it plans, around Slurm's plans, the other jobs that will start at some time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from gas.slurm import rows as states
from gas.slurm.order import Blocked, Record, end_of
from gas.slurm.passes import MOST, Pass, Planned, Shares, copied, run_pass, span_and_nodes
from gas.slurm.rows import Found, Parameters, Plans, Records, nodes_of, shares_of
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


class _Turn(NamedTuple):
    """A record in the order of the pass."""

    record: int
    row: int
    """The row of its plan by Slurm, which is kept; -1 if it has none."""
    copies: int
    not_before: int


def plan_beyond(state: State, did: Pass, before: Beyond | None = None, *, rest: bool = True) -> Beyond:
    """Plan the unplanned jobs that will start, each before the next probe in the queue.

    Results of an earlier pass without probes are reused; without `rest`, this pass ends with the last probe.
    """
    found = Beyond([], 0, {}, {}, {})
    probe = state.rows.probe
    order = _in_order(state, did.plans, found)
    if not rest:
        last = max((at for at, one in enumerate(order) if probe[one.record]), default=-1)
        order = order[: last + 1]
    if not any(one.row < 0 for one in order):
        return found
    found.order = [
        (id(state.records[one.record]), one.row >= 0, one.copies, one.not_before)
        for one in order
        if not probe[one.record]
    ]
    kept = sum(one.row >= 0 for one in order)
    found.did = run_pass(_following(state, did, order), MOST + kept, _known_of(before, found.order))
    _collect(state, did.plans, order, found.did.plans, found)
    return found


def _in_order(state: State, first: Plans, found: Beyond) -> list[_Turn]:
    """Return the records in the order of the pass; jobs above its budget are left out and counted in `found`.

    Jobs that wait for a time follow the others before the next probe, by their times.
    """
    rows, now = state.rows, state.parameters.now
    mine = _by_record(first)
    have_plans = {int(rows.job[at]) for at in mine}
    budget = min(MOST, max(NODES_PLANNED // max(len(state.names), 1), 100))
    order: list[_Turn] = []
    late: list[_Turn] = []
    crowds: dict[int, tuple[int, int]] = {}  # by set of nodes: jobs left out, and their CPU seconds
    for at, record in enumerate(state.records):
        if record.probe is not None:
            order += sorted(late, key=lambda one: one.not_before)
            late = []
            order.append(_Turn(at, -1, 1, _not_before(state, record)))
            found.crowd[at] = _crowd_before(state, at, crowds)
            continue
        planned = mine.get(at, [])
        if first.state[at] != states.STARTED:
            order += [_Turn(at, row, 1, now) for row in planned]
        copies = int(rows.tasks[at]) - len(planned)
        if (record.blocked is Blocked.RESERVATION or record.attracted) and int(rows.job[at]) in have_plans:
            continue  # it has a plan outside the magnetic reservation, which has not begun, or for which it holds none
        if copies <= 0 or first.state[at] == states.SAME_JOB or not starts_by_itself(record):
            continue
        at_once = record.job.tasks.at_once if record.job.tasks is not None else None
        if record.blocked is Blocked.TASKS:
            copies = min(copies, at_once or copies)
        there = min(copies, budget)
        found.left += copies - there
        budget -= there
        if there < copies:
            many, work = crowds.get(int(rows.nodes[at]), (0, 0))
            once = min(copies - there, at_once or copies)  # later tasks follow these, and delay no other job
            work += once * max(record.job.cpus, 1) * int(rows.limit[at])
            crowds[int(rows.nodes[at])] = many + copies - there, work
        if there:
            late.append(_Turn(at, -1, there, _not_before(state, record)))
    return order + sorted(late, key=lambda one: one.not_before)


def _following(state: State, did: Pass, order: Sequence[_Turn]) -> State:
    """Return the state in which the pass begins: its records in order, with the plans that are kept."""
    first, places = did.plans, np.arange(len(order))
    pins = np.array([one.row for one in order], np.int64)
    again = Records._make(field[np.array([one.record for one in order], np.int64)] for field in state.rows)
    sets = np.zeros((len(state.sets) + int(first.total[0]), len(state.names)), np.bool_)
    sets[: len(state.sets)] = state.sets
    for row in range(int(first.total[0])):
        sets[len(state.sets) + row, nodes_of(first, row)] = True
    again.considered[:] = True
    again.now_only[:] = False
    again.unheld[:] = False
    again.unreserved[:] = False
    again.room[:] = 1 << 40
    again.tasks[:] = [one.copies for one in order]
    again.not_before[:] = [one.not_before for one in order]
    again.array[:] = np.where(again.tasks > 1, places, -1)
    again.array_partition[:] = again.job[:] = places
    again.leader[:] = -1
    again.pinned[:] = np.where(pins >= 0, pins + len(state.sets), -1)
    again.pinned_start[:] = np.where(pins >= 0, first.from_[np.maximum(pins, 0)], 0)
    return replace(copied(did.state), rows=again, sets=sets, parameters=without_limits(state.parameters))


def _collect(state: State, first: Plans, order: Sequence[_Turn], plans: Plans, found: Beyond) -> None:
    """Enter the plans of the pass, and what they mean for probes."""
    since, rows_of = 1 << 60, _by_record(plans)
    for at, (origin, pin, copies, not_before) in enumerate(order):
        if state.rows.probe[origin]:
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
            record = state.records[origin]
            found.plans += [
                Planned(
                    record.job, record.partition.name, *span_and_nodes(plans, row),
                    listed=False, not_before=not_before,
                )
                for row in placed
            ]  # fmt: skip


def _by_record(plans: Plans) -> dict[int, list[int]]:
    """Return the rows of each record's plans."""
    found: dict[int, list[int]] = {}
    for row in range(int(plans.total[0])):
        found.setdefault(int(plans.record[row]), []).append(row)
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
