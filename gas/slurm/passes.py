"""Runs one pass of the backfill scheduler's cycle over a state, and returns its plans."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gas.compiled import fastest
from gas.slurm.bench import bench_of
from gas.slurm.cluster import Job
from gas.slurm.cycle import run_cycle
from gas.slurm.machine import Use, idle_of, powered_on
from gas.slurm.node_sets import words_of
from gas.slurm.order import end_of
from gas.slurm.rows import Found, Plans, Records, empty_plans, shares_of
from gas.slurm.state import State
from gas.slurm.table import Table, empty_table, enter, span_of
from gas.slurm.will_run import Running

__all__ = [
    "MOST",
    "Pass",
    "Planned",
    "Shares",
    "copied",
    "plans_of",
    "run_pass",
    "run_state",
    "span_and_nodes",
    "with_published",
]

Shares = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Indices of nodes, and CPUs on each."""

MOST = 2_000
"""Largest number of jobs and array tasks planned beyond Slurm's cycle."""


@dataclass(frozen=True)
class Planned:
    """A plan: of a job, or of one task of an array.

    Attributes
    ----------
    places, cpus
        Its nodes, and CPUs on each.
    published
        Whether it is the plan that Slurm publishes.
    listed
        Whether Slurm's own cycle makes it; else it is from the pass beyond the cycle.
    not_before
        Epoch second before which it does not start.
    """

    job: Job
    partition: str
    start: int
    limit: int
    places: NDArray[np.int32]
    cpus: NDArray[np.int32]
    published: bool = False
    listed: bool = True
    not_before: int = 0


@dataclass
class Pass:
    """The results of a cycle: its plans, the results of its searches, and the state with the jobs that run after it."""

    plans: Plans
    found: Found
    state: State


def _room(rows: Records, array_depth: int) -> int:
    """Return the largest possible number of plans."""
    tasks: NDArray[np.int64] = np.minimum(rows.tasks, max(array_depth, 1))[rows.considered]
    return int(tasks.sum())


def _enter_running(state: State, table: Table) -> None:
    """Enter the running jobs with whole nodes or licences into the table, as Slurm does."""
    parameters, nodes = state.parameters, len(state.names)
    kept = [(at, one) for at, one in enumerate(state.running_jobs) if one.exclusive or one.licences]
    put = fastest(enter, len(kept) ** 2 * (nodes // 64 + 1), large="how Slurm plans")
    for number, one in kept:
        taken = np.zeros((1, nodes), np.bool_)
        first = int(state.running.first[number])
        if one.exclusive:
            taken[0, state.running.node[first : first + int(state.running.shares[number])]] = 1
        own = np.array([one.licences.get(name, 0) for name in state.licence_names], np.int64)
        length = max(end_of(one, parameters.now) - parameters.now, 1)
        begin, end = span_of(parameters.now, length, parameters.begin, parameters.resolution, state.rules.ends_up)
        put(table, words_of(taken)[0], own, begin, end, True)


def run_state(state: State) -> Plans:
    """Run the kernel on a state and return the plans; changes the running jobs, allocations and licences."""
    return run_pass(state).plans


def copied(state: State) -> State:
    """Return a copy of a state that may be changed."""
    use, running = (one.copy() for one in state.use), (one.copy() for one in state.running)
    machine = state.machine._replace(near=state.machine.near.copy())
    return replace(
        state, machine=machine, use=Use._make(use), running=Running._make(running), licences=state.licences.copy()
    )  # fmt: skip


def run_pass(state: State, most: int = 10 * MOST, known: Found | None = None) -> Pass:
    """Run the kernel on a state, which it changes.

    Known results of a cycle with the same queue, apart from probes, are reused.
    """
    rows, parameters = state.rows, state.parameters
    count, nodes = len(rows.job), len(state.names)
    depth = parameters.max_job_test or most
    room = min(_room(rows, parameters.max_job_array_resv), most, depth + 64 + parameters.max_job_array_resv)
    room += int(np.count_nonzero(rows.probe)) + 1
    window = parameters.window // parameters.resolution * parameters.resolution
    slots = 2 * room + 2 + (2 * len(state.running_jobs) if parameters.licenses else 0)
    # without bf_licenses the table has no licences, so slots that differ only in these are joined (seen on 22.05)
    counted = state.all_licences if parameters.licenses else state.all_licences[:0]
    planned = powered_on(state.machine) | parameters.plan_all
    table = empty_table(parameters.begin, parameters.begin + window, planned, counted, slots)
    plans = empty_plans(count, room, nodes)
    if parameters.licenses:  # implies bf_running_job_reserve
        _enter_running(state, table)
    searches = count + room
    found = Found(
        np.zeros(searches, np.int64), np.zeros(searches, np.int64), np.zeros(searches, np.int64),
        np.zeros(searches, np.bool_), np.zeros(searches, np.int64), plans.first, plans.node, plans.cpus,
        np.zeros(1, np.int64),
    )  # fmt: skip
    if known is None:
        known = found._replace(total=np.zeros(1, np.int64))
    sets = words_of(state.sets)
    considered = int(np.count_nonzero(rows.considered & ~rows.probe)) - int(known.total[0])
    considered = min(max(considered, 0), int(depth)) + int(np.count_nonzero(rows.probe))
    kernel = fastest(run_cycle, considered * (nodes + int(state.running.total[1])) * 30, large="how Slurm plans")
    kernel(
        np.arange(count), rows, state.closures, sets, state.options, state.preempts, state.leaving, state.machine,
        state.use, idle_of(state.use), state.running, table, state.licences, parameters, state.rules, plans, known,
        found, bench_of(rows, state.machine, state.running, sets, state.preempts),
    )  # fmt: skip
    return Pass(plans, found, state)


def span_and_nodes(plans: Plans, row: int) -> tuple[int, int, NDArray[np.int32], NDArray[np.int32]]:
    """Return start, length, nodes and CPUs of a plan."""
    return int(plans.from_[row]), int(plans.limit[row]), *shares_of(plans, row)


def plans_of(state: State, plans: Plans) -> list[Planned]:
    """Return the plans of the waiting jobs."""
    found = []
    for row in range(int(plans.total[0])):
        at = int(plans.record[row])
        record = state.records[at]
        if record.probe is None:
            found.append(
                Planned(
                    record.job, record.partition.name, *span_and_nodes(plans, row),
                    bool(state.rows.pinned[at] >= 0), not_before=int(state.rows.not_before[at]),
                )
            )  # fmt: skip
    return found


def with_published(state: State, plans: list[Planned]) -> list[Planned]:
    """Mark the array tasks whose plan Slurm publishes: one per array."""
    shown: dict[int, int] = {}
    for row, one in enumerate(plans):
        job, best = one.job, shown.get(one.job.id)
        if job.tasks is None or job.start is None:
            continue
        if abs(one.start - max(job.start, state.parameters.now)) > state.parameters.resolution:
            continue
        if best is None or (one.start < plans[best].start) == state.rules.first_task:
            shown[job.id] = row
    rows = set(shown.values())
    return [replace(one, published=True) if row in rows else one for row, one in enumerate(plans)]
