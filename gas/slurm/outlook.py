"""What the next cycle of the backfill scheduler will plan, and what becomes of jobs that are not submitted yet.

Two passes answer it. The first is the cycle as Slurm runs it: it says which jobs have a plan then, and why others have
none. The second plans on for those that have none and will start some time, so that they are expected; it is made only
where there are such jobs before one that is asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.compiled import fastest
from gas.slurm import rows as states
from gas.slurm.bench import bench_of
from gas.slurm.cluster import Cluster, Job
from gas.slurm.cycle import run_cycle
from gas.slurm.fitting import Use, capable, choose, idle_of
from gas.slurm.node_sets import words_of
from gas.slurm.node_weights import alike_at_submission, set_weights, weights_stay
from gas.slurm.order import Blocked, Limits, Record, end_of, queue
from gas.slurm.out_of_turn import out_of_turn
from gas.slurm.preemption import Preempts, preempting
from gas.slurm.rows import Found, Parameters, Plans, Records, empty_plans, nodes_of, shares_of
from gas.slurm.state import State, state_of
from gas.slurm.table import Table, empty_table, enter, span_of
from gas.slurm.will_run import Running

__all__ = ["MOST", "Forecast", "Outlook", "Planned", "Why", "forecast", "outlooks", "run_state", "trust"]

Shares = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Nodes by their places, and CPUs of each."""

MOST = 2_000
"""How many jobs, and tasks of arrays, are planned at the most beyond those that Slurm plans."""

NODES_PLANNED = 5_000_000
"""The same in nodes of the machine: of a large one fewer jobs are planned on, so that it takes seconds."""


class Why(Enum):
    """Why Slurm has no plan for a job at first."""

    DEPTH = "Slurm plans no more jobs in a cycle (bf_max_job_test)"
    USER_DEPTH = "Slurm plans no more jobs of a user in a cycle (bf_max_job_user)"
    PARTITION_DEPTH = "Slurm plans no more jobs of a partition in a cycle (bf_max_job_part)"
    USER_PARTITION_DEPTH = "Slurm plans no more jobs of a user in a partition in a cycle (bf_max_job_user_part)"
    ACCOUNT_DEPTH = "Slurm plans no more jobs of a user's account in a cycle (bf_max_job_assoc)"
    WINDOW = "it starts later than Slurm plans ahead (bf_window)"
    NOWHERE = "nothing becomes free while it would run, and Slurm's search ends there"
    NOW_ONLY = "Slurm only looks whether it starts now (bf_min_prio_reserve and the like)"
    LATER_TASKS = "Slurm plans only the first tasks of an array"
    TABLE_FULL = "Slurm's table of plans is full (bf_node_space_size)"
    LICENCES = "there are not enough licences now"
    RESERVATION = "its reservation has not begun, or has ended"
    LIMIT = "a limit keeps it from starting now"
    BEGIN = "it may not start yet"
    DEPENDENCY = "it waits for another job"
    HELD = "it is held"
    PARTITION = "its partition does not take it"
    CONSTRAINT = "no nodes are as it asks for"
    FORBIDDEN = "a limit forbids it"


_WHY = {
    states.DEPTH: Why.DEPTH, states.USER_DEPTH: Why.USER_DEPTH, states.PARTITION_DEPTH: Why.PARTITION_DEPTH,
    states.USER_PARTITION_DEPTH: Why.USER_PARTITION_DEPTH, states.ACCOUNT_DEPTH: Why.ACCOUNT_DEPTH,
    states.WINDOW: Why.WINDOW, states.NOWHERE: Why.NOWHERE, states.NOW_ONLY: Why.NOW_ONLY, states.UNHELD: Why.LIMIT,
    states.LATER_TASKS: Why.LATER_TASKS, states.REJECTED: Why.NOWHERE, states.TABLE_FULL: Why.TABLE_FULL,
    states.LICENCES: Why.LICENCES, states.IN_RESERVATION: Why.RESERVATION,
}  # fmt: skip
_BLOCKED = {
    Blocked.HELD: Why.HELD, Blocked.DEPENDENCY: Why.DEPENDENCY, Blocked.BEGIN: Why.BEGIN, Blocked.LIMIT: Why.LIMIT,
    Blocked.PARTITION: Why.PARTITION, Blocked.CONSTRAINT: Why.CONSTRAINT, Blocked.TASKS: Why.LATER_TASKS,
    Blocked.RESERVATION: Why.RESERVATION, Blocked.FORBIDDEN: Why.FORBIDDEN,
}  # fmt: skip
FINAL = frozenset({Why.PARTITION, Why.CONSTRAINT, Why.FORBIDDEN})
"""For these a job never starts, unless a user or an administrator changes something."""


@dataclass(frozen=True)
class Planned:
    """A plan: of a job, or of one task of an array.

    Attributes
    ----------
    places, cpus
        Which nodes, and CPUs of each.
    published
        Whether it is the one that Slurm publishes.
    listed
        Whether Slurm's own cycle makes it; else it is expected.
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


@dataclass(frozen=True)
class Outlook:
    """What becomes of a job.

    Attributes
    ----------
    expected
        When it is expected to start; None if it never does, or that is not known.
    planned
        When Slurm will plan it for in its next cycle; None if it will have no plan at first.
    nodes
        Names of the nodes of the plan, or of those that are expected.
    partition
        The one in which it starts.
    why, words
        Why it has no plan at first, and in whose words.
    never
        It can't start, whatever ends.
    cpus
        How many CPUs of each of the nodes.
    crowd
        How many jobs and tasks come before it that are too many to be planned: it is then expected later than behind
        what is planned, by as long as the CPUs of its partition need for the work of these.
    """

    expected: int | None
    planned: int | None = None
    nodes: tuple[str, ...] = ()
    partition: str = ""
    why: Why | None = None
    words: str = ""
    never: bool = False
    cpus: tuple[int, ...] = ()
    crowd: int = 0


@dataclass(frozen=True)
class Forecast:
    """What the next cycle plans.

    Attributes
    ----------
    outlooks
        Of the jobs that were asked for.
    plans
        Of those that wait.
    unplanned
        Records without a plan, and why.
    left
        How many tasks and jobs of those will start some time, and were not planned at all.
    passes
        What the searches found, from which other jobs can be answered (`forecast`, `known`).
    """

    state: State
    outlooks: tuple[Outlook, ...]
    plans: tuple[Planned, ...]
    unplanned: tuple[tuple[Record, Why], ...]
    left: int = 0
    passes: tuple[_Pass, _Second | None] | None = field(default=None, repr=False, compare=False)


@dataclass
class _Pass:
    """What a cycle came to: its plans, what its searches found, and the state with what runs after it."""

    plans: Plans
    found: Found
    state: State


def outlooks(cluster: Cluster, probes: Sequence[Job], **options: object) -> tuple[Outlook, ...]:
    """Return what becomes of each of some jobs that are not submitted yet; the options are those of `forecast`."""
    return forecast(cluster, probes, rest=False, **options).outlooks  # type: ignore[arg-type]


def forecast(
    cluster: Cluster,
    probes: Sequence[Job] = (),
    *,
    limits: Limits | None = None,
    preempts: Preempts | None = None,
    pinned: bool = True,
    memory_counts: bool | None = None,
    unseen_until: int | None = None,
    beyond: bool = True,
    rest: bool = True,
    known: Forecast | None = None,
    submitted: bool = False,
) -> Forecast:
    """Return what the next cycle plans, and what becomes of jobs that are not submitted yet.

    Parameters
    ----------
    probes
        Those jobs, each with the priority that it would have (0: it comes last in its tier).
    limits
        What says which limit keeps a job from starting in a partition now.
    preempts
        Whether a waiting job in a partition may take the place of a running one; by default as is configured.
    pinned
        Published plans are believed; else all are made anew.
    memory_counts
        Whether memory is given out; by default what SelectTypeParameters says.
    unseen_until
        Until when CPUs are taken that are in use by jobs which are not shown; None if all jobs are.
    beyond
        Also expect what Slurm does not plan at first.
    rest
        Also plan beyond Slurm's cycle what comes after the last of the probes.
    known
        The forecast of the same cluster, with the same options, without jobs that are asked for: these change nothing
        for others, so that nothing is searched for twice.
    submitted
        The probes leave the weights of nodes that the cycle begins with (`gas.slurm.node_weights`).
    """
    if probes and not submitted and weights_stay(cluster, probes):
        options = {
            "limits": limits, "preempts": preempts, "memory_counts": memory_counts, "unseen_until": unseen_until,
            "beyond": beyond,
        }  # fmt: skip
        return _made_anew(cluster, probes, pinned and not _alike_enough(cluster, options), options | {"rest": rest})
    before = None if known is None else known.state
    records = queue(
        cluster, probes, limits, believe_plans=pinned, known=None if before is None else before.records
    )  # fmt: skip
    preempts = preempting(cluster) if preempts is None else preempts
    state = state_of(
        cluster, records, pinned=pinned, preempts=preempts, memory_counts=memory_counts, unseen_until=unseen_until,
        like=before,
    )  # fmt: skip
    set_weights(state, submitted=submitted)
    turn = out_of_turn(cluster, state) if probes else {}
    passes = None
    weighted = len(state.machine.near) > 0 and bool(state.rows.gres.any())  # each search leaves weights to the next
    if known is not None and not weighted and _in_one_order(known.state.records, records):
        passes = known.passes
    did = _run(_copied(state), known=None if passes is None else passes[0].found)
    first = did.plans
    plans = _with_published(state, _plans_of(state, first))
    second: _Second | None = None
    if beyond:
        second = _second(state, did, None if passes is None else passes[1], rest=rest)
        plans += second.plans
    places: list[list[int]] = [[] for _ in probes]
    for at, record in enumerate(records):
        if record.probe is not None:
            places[record.probe].append(at)
    found = tuple(_outlook(state, first, second, turn, its) for its in places)
    unplanned = tuple(
        (record, why)
        for at, record in enumerate(records)
        if record.probe is None and (why := _why(record, int(first.state[at]))) is not None
    )
    return Forecast(state, found, tuple(plans), unplanned, 0 if second is None else second.left, (did, second))


def _made_anew(cluster: Cluster, probes: Sequence[Job], pinned: bool, options: dict[str, Any]) -> Forecast:
    """Return the forecast in which all plans are made with the weights of nodes that each probe's submission leaves."""
    groups: dict[Hashable, list[int]] = {}
    for number, job in enumerate(probes):
        groups.setdefault(alike_at_submission(job), []).append(number)
    found: dict[int, Outlook] = {}
    for members in groups.values():
        made = forecast(cluster, [probes[one] for one in members], pinned=pinned, submitted=True, **options)
        found |= dict(zip(members, made.outlooks, strict=True))
    return replace(made, outlooks=tuple(found[number] for number in range(len(probes))))


def _alike_enough(cluster: Cluster, options: dict[str, Any]) -> bool:
    """Return whether a cycle that is computed anew makes a third of the published starts: else it is not believed.

    They were made with weights that are not known.
    """
    key = "starts are alike enough"
    if key not in cluster.worked_out:
        made = forecast(cluster, **options | {"pinned": False, "beyond": False})
        starts = {(one.job.id, one.start // 60) for one in made.plans}
        there = [job for job in cluster.jobs if job.pending and job.start is not None and job.tasks is None]
        alike = sum(
            any((job.id, max(job.start or 0, cluster.now) // 60 + off) in starts for off in (-1, 0, 1)) for job in there
        )
        cluster.worked_out[key] = 3 * alike >= len(there)
    return bool(cluster.worked_out[key])


def _in_one_order(some: Sequence[Record], records: Sequence[Record]) -> bool:
    """Return whether records are in the same order where others are among them."""
    without = [record for record in records if record.probe is None]
    return len(some) == len(without) and all(one is other for one, other in zip(some, without, strict=True))


def trust(cluster: Cluster, planned: Forecast | None = None, **options: object) -> tuple[int, int]:
    """Return how many published plans a cycle that is computed anew makes alike, and how many there are."""
    found = forecast(cluster, pinned=False, beyond=False, **options) if planned is None else planned  # type: ignore[arg-type]
    starts: dict[int, list[int]] = {}
    for one in found.plans:
        starts.setdefault(one.job.id, []).append(one.start)
    alike = total = 0
    for job in cluster.jobs:
        if job.pending and job.start is not None and job.planned_nodes:
            total += 1
            own = starts.get(job.id)
            if own:
                computed = min(own) if job.tasks is None or found.state.rules.first_task else max(own)
                alike += abs(computed - max(job.start, cluster.now)) <= cluster.scheduling.resolution
    return alike, total


# -- running the kernel


def _room(rows: Records, array_depth: int) -> int:
    """Return how many plans there may be."""
    tasks: NDArray[np.int64] = np.minimum(rows.tasks, max(array_depth, 1))[rows.considered]
    return int(tasks.sum())


def _enter_running(state: State, table: Table) -> None:
    """Enter the running jobs that have their nodes whole, or licences; others are in no slot."""
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
    """Run the kernel on a state, of which what runs, what is in use and the licences are changed; return the plans."""
    return _run(state).plans


def _copied(state: State) -> State:
    """Return a state that may be changed."""
    use, running = (one.copy() for one in state.use), (one.copy() for one in state.running)
    machine = state.machine._replace(near=state.machine.near.copy())
    return replace(
        state, machine=machine, use=Use._make(use), running=Running._make(running), licences=state.licences.copy()
    )  # fmt: skip


def _run(state: State, most: int = 10 * MOST, known: Found | None = None) -> _Pass:
    """Run the kernel on a state, which it changes.

    What another cycle found in the same queue, but for probes, is not sought again.
    """
    rows, parameters = state.rows, state.parameters
    count, nodes = len(rows.job), len(state.names)
    depth = parameters.max_job_test or most
    room = min(_room(rows, parameters.max_job_array_resv), most, depth + 64 + parameters.max_job_array_resv)
    room += int(np.count_nonzero(rows.probe)) + 1
    window = parameters.window // parameters.resolution * parameters.resolution
    slots = 2 * room + 2 + (2 * len(state.running_jobs) if parameters.licenses else 0)
    table = empty_table(parameters.begin, parameters.begin + window, nodes, state.all_licences, slots)
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
        rows, state.closures, sets, state.options, state.preempts, state.leaving, state.machine, state.use,
        idle_of(state.use), state.running, table, state.licences, parameters, state.rules, plans, known, found,
        bench_of(rows, state.machine, state.running, sets, state.preempts),
    )  # fmt: skip
    return _Pass(plans, found, state)


def _why(record: Record, state: int) -> Why | None:
    if record.blocked is not None:
        return _BLOCKED[record.blocked]
    return _WHY.get(state)


def _span_and_nodes(plans: Plans, row: int) -> tuple[int, int, NDArray[np.int32], NDArray[np.int32]]:
    """Return start, length, nodes and CPUs of a plan."""
    return int(plans.from_[row]), int(plans.limit[row]), *shares_of(plans, row)


def _plans_of(state: State, plans: Plans) -> list[Planned]:
    """Return the plans of the jobs that wait."""
    found = []
    for row in range(int(plans.total[0])):
        at = int(plans.record[row])
        record = state.records[at]
        if record.probe is None:
            found.append(
                Planned(
                    record.job, record.partition.name, *_span_and_nodes(plans, row),
                    bool(state.rows.pinned[at] >= 0), not_before=int(state.rows.not_before[at]),
                )
            )  # fmt: skip
    return found


def _with_published(state: State, plans: list[Planned]) -> list[Planned]:
    """Mark the tasks of arrays whose plans are those that Slurm publishes: of each array one."""
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


# -- planning on


@dataclass
class _Second:
    """The pass beyond Slurm's.

    Attributes
    ----------
    start, row
        By record of a probe, when it is expected, and its nodes with the CPUs that it has of each.
    since
        By record of a probe, from when on something that Slurm does not plan may be in its way.
    crowd
        By record of a probe, how many jobs and tasks before it were not planned at all, and for how many seconds its
        nodes are busy with them.
    order, did
        What was planned in which order, without probes, and what the pass came to.
    """

    plans: list[Planned]
    left: int
    start: dict[int, int]
    row: dict[int, Shares]
    since: dict[int, int]
    crowd: dict[int, tuple[int, int]] = field(default_factory=dict)
    order: list[tuple[int, bool, int, int]] = field(default_factory=list)
    did: _Pass | None = None


def _known_of(before: _Second | None, order: Sequence[tuple[int, bool, int, int]]) -> Found | None:
    """Return what another pass found as long as its order was the same."""
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


def _second(state: State, did: _Pass, before: _Second | None = None, *, rest: bool = True) -> _Second:
    """Plan on what has no plan and will start some time, each such job before the first probe behind it.

    What another pass found before it, without probes, is believed; without `rest`, it ends with the last probe.
    """
    first = did.plans
    found = _Second([], 0, {}, {}, {})
    rows, records, now = state.rows, state.records, state.parameters.now
    mine: dict[int, list[int]] = {}
    for row in range(int(first.total[0])):
        mine.setdefault(int(first.record[row]), []).append(row)
    order: list[tuple[int, int, int, int]] = []  # record, row of its plan or -1, copies, not before
    late: list[tuple[int, int, int, int]] = []
    budget = min(MOST, max(NODES_PLANNED // max(len(state.names), 1), 100))
    crowds: dict[int, tuple[int, int]] = {}  # by set of nodes, what is left out: how many, and CPU seconds
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
        if copies > 0 and first.state[at] != states.SAME_JOB and _moves(record):
            if record.blocked is Blocked.TASKS and record.job.tasks is not None:
                copies = min(copies, record.job.tasks.at_once or copies)
            there = min(copies, budget)
            found.left += copies - there
            budget -= there
            if there < copies:
                many, work = crowds.get(int(rows.nodes[at]), (0, 0))
                once = copies - there
                if record.job.tasks is not None and record.job.tasks.at_once:
                    once = min(once, record.job.tasks.at_once)  # the others are behind these, and in no other's way
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
    again.room[:] = 1 << 40
    again.tasks[:] = [one[2] for one in order]
    again.not_before[:] = [one[3] for one in order]
    again.array[:] = np.where(again.tasks > 1, np.arange(len(order)), -1)
    again.array_partition[:] = np.arange(len(order))
    again.job[:] = np.arange(len(order))
    again.leader[:] = -1
    again.pinned[:] = np.where(pins >= 0, pins + len(state.sets), -1)
    again.pinned_start[:] = np.where(pins >= 0, first.from_[np.maximum(pins, 0)], 0)
    follow = replace(_copied(did.state), rows=again, sets=sets, parameters=parameters_of_beyond(state))
    found.did = _run(follow, MOST + int(np.count_nonzero(pins >= 0)), _known_of(before, found.order))
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
                    record.job, record.partition.name, *_span_and_nodes(plans, row),
                    listed=False, not_before=not_before,
                )
                for row in placed
            ]  # fmt: skip
    return found


def _crowd_before(state: State, at: int, crowds: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """Return how many are left out that may be in a record's way, and how many seconds of its nodes they need.

    Only what cannot run elsewhere counts as work.
    """
    own = state.sets[int(state.rows.nodes[at])]
    count = work = 0
    for nodes, (many, theirs) in crowds.items():
        if np.any(state.sets[nodes] & own):
            count += many
            if not np.any(state.sets[nodes] & ~own):
                work += theirs
    return count, work // max(int(state.machine.cpus[own].sum()), 1)


def parameters_of_beyond(state: State) -> Parameters:
    """Return the parameters without what ends Slurm's search."""
    one = state.parameters
    return one._replace(
        window=1 << 50, max_job_test=0, max_job_user=0, max_job_part=0, max_job_user_part=0, max_job_assoc=0,
        max_job_array_resv=1 << 40, job_part_count_reserve=0, one_resv_per_job=False, node_space_size=0, beyond=True,
    )  # fmt: skip


def _moves(record: Record) -> bool:
    """Return whether it will start without anybody doing anything."""
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


def _outlook(
    state: State, first: Plans, second: _Second | None, turn: Mapping[int, Shares], places: Sequence[int]
) -> Outlook:
    """Return what becomes of a probe, in the best of its partitions: its records stand at these places."""
    best: Outlook | None = None
    for at in places:
        record = state.records[at]
        found = _of_record(state, first, second, at, record)
        if at in turn and (found.planned is None or found.planned > state.parameters.now):
            (names, cpus), now = places_of(state, turn[at]), state.parameters.now
            found = Outlook(now, now, names, record.partition.name, cpus=cpus)
        if best is None or _key(found) < _key(best):
            best = found
    if best is None:
        return Outlook(None, why=Why.PARTITION, words="there is no such partition", never=True)
    return best


def _key(one: Outlook) -> tuple[int, int]:
    late = 1 << 60
    return (late if one.planned is None else one.planned, late if one.expected is None else one.expected)


def _of_record(state: State, first: Plans, second: _Second | None, at: int, record: Record) -> Outlook:
    planned: int | None = None
    shares = np.zeros(0, np.int32), np.zeros(0, np.int32)
    why = _why(record, int(first.state[at]))
    if why is None and first.start[at] >= 0:
        planned = int(first.start[at])
        shares = shares_of(first, int(first.best[at]))
    expected = planned
    if second is not None and (_moves(record) or record.release is not None):
        late = planned is None or planned >= second.since.get(at, 1 << 60)
        late = late or (planned is not None and _closed(state, at, planned, nodes_of(first, int(first.best[at]))))
        if late and at in second.start:
            expected = second.start[at]
            if planned is None:
                shares = second.row[at]
        elif late and planned is None:
            expected = None
    crowd = 0
    if planned is None and expected is not None and second is not None and at in second.crowd:
        crowd, busy = second.crowd[at]
        expected += busy
    never = why in FINAL
    words = record.why
    if why is Why.LICENCES and record.release is None:
        expected, words = None, "there are not enough licences now, and it is not known when there will be"
    own = int(state.rows.reservation[at])
    if own >= 0 and expected is not None and expected + int(state.rows.limit[at]) > state.closures.end[own]:
        expected, words = None, "its reservation ends before it would"  # it would be killed (slurm.conf, ResvOverRun)
    if planned is None and expected is None and not never:
        lacking = lacks(state, at)
        never, words = bool(lacking), lacking or words
    names, cpus = places_of(state, shares)
    return Outlook(expected, planned, names, record.partition.name, why, words, never, cpus, crowd)


def places_of(state: State, shares: Shares) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the names of nodes, and how many CPUs of each a job has, in whole cores if it gets these."""
    there, asked = shares
    cores = state.machine.core[there]
    cpus = -(-asked // cores) * cores
    return tuple(state.names[place] for place in there.tolist()), tuple(cpus.tolist())


def _closed(state: State, at: int, start: int, nodes: NDArray[np.int32]) -> bool:
    """Return whether a plan reaches into a reservation that is not open to the job; Slurm finds that when it starts."""
    closures, rows = state.closures, state.rows
    end = start + int(rows.limit[at])
    return any(
        closures.start[one] < end
        and closures.end[one] > start
        and one != rows.reservation[at]
        and not rows.allowed[at, one]
        and bool(np.any(state.sets[closures.nodes[one]][nodes]))
        for one in range(len(closures.start))
    )


def lacks(state: State, at: int) -> str:
    """Return what keeps a record from starting on the machine without any job; nothing if nothing does."""
    rows, machine = state.rows, state.machine
    need, gres = rows.need[at], rows.gres[at]
    idle = idle_of(state.use)
    given, chosen = np.zeros(len(state.names), np.int64), np.zeros(len(state.names), np.int64)
    first, count = rows.features[at].tolist()
    required = state.sets[rows.required[at]]
    most = 0
    for option in state.options[first : first + count].tolist():
        nodes = state.sets[rows.nodes[at]] & state.sets[option]
        most = max(most, int(np.count_nonzero(nodes)))
        capable(nodes, need, gres, machine, idle, given)
        if choose(given, need, gres, required, machine, idle, state.rules.first_node, state.rules.weakest, chosen):
            return ""
    record = state.records[at]
    if not np.any(state.sets[rows.nodes[at]]):
        return f"partition {record.partition.name} has no node on which a job starts"
    if most == 0:
        return f"no node of partition {record.partition.name} has the features {record.job.features}"
    if not np.any(given):
        return f"no node of partition {record.partition.name} has as much CPUs, memory and GPUs as it asks for"
    return f"partition {record.partition.name} never has as much at once as it asks for"
