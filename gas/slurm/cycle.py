"""One cycle of the backfill scheduler: when and where each record of the queue is planned (backfill.c, _attempt_backfill).

For each record, in the order of the queue, starts are tried: the nodes that no plan needs from that start until the job
would end are offered to the will-run test, which says at which end of running jobs it fits them. Where that is beyond
the next start at which nodes appear, or in the way of a plan, the next start is tried. This finds *Slurm's* start,
which is not always the earliest. The functions are kernels: plain functions on arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.slurm.fitting import (
    ALL_MEMORY, CPUS, HAS_REQUIRED, LEAST, LIMITED, MEMORY, OF_JOB, OF_NODE, OF_TASK, TASK_CPUS, TASK_MEMORY, WHOLE,
    Machine, Use, capable,
)  # fmt: skip
from gas.slurm.table import Table, enter, overlaps, span_of
from gas.slurm.versions import Rules
from gas.slurm.will_run import NEVER, Running, add, will_run

__all__ = [
    "STATES", "Closures", "Parameters", "Plans", "Records", "run_cycle",
]  # fmt: skip

STATES = (
    SKIPPED, PLANNED, STARTED, DEPTH, USER_DEPTH, PARTITION_DEPTH, USER_PARTITION_DEPTH, ACCOUNT_DEPTH, WINDOW, NOWHERE,
    NOW_ONLY, UNHELD, LATER_TASKS, REJECTED, TABLE_FULL, LICENCES, IN_RESERVATION, SAME_JOB,
) = range(18)  # fmt: skip
"""What becomes of a record.

SKIPPED was not to be considered, PLANNED has a plan, STARTED starts now. DEPTH and the like: not considered because a
number was reached. WINDOW: its start is beyond the window; NOWHERE: the search ends without one; NOW_ONLY: it starts
now or is not planned; UNHELD: its start is found, and holds nothing; LATER_TASKS: no more tasks of the array are
planned; REJECTED: a task of the same array could not be; TABLE_FULL: there are no more slots; LICENCES: there are not
enough now; IN_RESERVATION: its reservation has not begun or has ended; SAME_JOB: the job started in another partition.
"""

MOST_TRIES = 20_000
"""How many starts of one record are tried at the most."""


class Records(NamedTuple):
    """The queue, a record a place; numbers of users, partitions and so on are only compared.

    Attributes
    ----------
    considered, probe
        Whether it is looked at, and whether it is only asked for and changes nothing.
    now_only, unheld
        It starts now or is not planned; it is planned and holds nothing.
    job, user, partition, user_partition, account, array, array_partition, leader
        Numbers; those of the array are -1 where it is none, that of the heterogeneous job as well.
    tasks, room
        Of an array: how many tasks wait, and how many of them may run besides those that do.
    limit
        Seconds for which it is planned.
    not_before
        Epoch second before which it does not start.
    nodes, features, required, pinned
        Numbers of sets: of its partition; with the features that it wants, which are so many alternatives (first,
        count) in `options`; that it must have; of its published plan, -1 if there is none.
    pinned_start
        When that starts.
    reservation, allowed
        The one that it names, -1 if none; by closure, whether its nodes are open to it.
    kind
        Which kind of preemptor it is.
    licences
        How many of each.
    need, gres
        As in `gas.slurm.fitting`.
    """

    considered: NDArray[np.bool_]
    probe: NDArray[np.bool_]
    now_only: NDArray[np.bool_]
    unheld: NDArray[np.bool_]
    job: NDArray[np.int64]
    user: NDArray[np.int64]
    partition: NDArray[np.int64]
    user_partition: NDArray[np.int64]
    account: NDArray[np.int64]
    array: NDArray[np.int64]
    array_partition: NDArray[np.int64]
    leader: NDArray[np.int64]
    tasks: NDArray[np.int64]
    room: NDArray[np.int64]
    limit: NDArray[np.int64]
    not_before: NDArray[np.int64]
    nodes: NDArray[np.int64]
    features: NDArray[np.int64]
    required: NDArray[np.int64]
    pinned: NDArray[np.int64]
    pinned_start: NDArray[np.int64]
    reservation: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    kind: NDArray[np.int64]
    licences: NDArray[np.int64]
    need: NDArray[np.int64]
    gres: NDArray[np.int64]


class Closures(NamedTuple):
    """Reservations: when, the number of the set of their nodes, and whether they close a partition (column) as a whole."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    nodes: NDArray[np.int64]
    whole: NDArray[np.bool_]


class Parameters(NamedTuple):
    """Of SchedulerParameters, by their names without bf_; 0 is no limit, and times are seconds.

    Attributes
    ----------
    now, begin
        The instant of the cycle, and where the table begins.
    beyond
        Whether it is planned on where Slurm's search ends, to see when the rest of the queue may come.
    grace
        How many seconds after its end a job is guessed to be gone which should be.
    """

    now: int
    begin: int
    resolution: int
    window: int
    max_job_test: int
    max_job_user: int
    max_job_part: int
    max_job_user_part: int
    max_job_assoc: int
    max_job_array_resv: int
    job_part_count_reserve: int
    one_resv_per_job: bool
    licenses: bool
    node_space_size: int
    window_linear: int
    grace: int
    beyond: bool


class Plans(NamedTuple):
    """What comes of a cycle.

    Attributes
    ----------
    state, start, best
        By record: what became of it, when it starts (-1 if that is not known), and the row of that plan (-1: none).
    record, from_, limit, nodes
        By row: whose plan it is, from when, for how many seconds, and CPUs by node.
    total
        How many rows there are.
    """

    state: NDArray[np.int64]
    start: NDArray[np.int64]
    best: NDArray[np.int64]
    record: NDArray[np.int64]
    from_: NDArray[np.int64]
    limit: NDArray[np.int64]
    nodes: NDArray[np.int32]
    total: NDArray[np.int64]


@kernel
def _reserved(
    at: int,
    start: int,
    records: Records,
    closures: Closures,
    sets: NDArray[np.bool_],
    nodes: NDArray[np.bool_],
) -> tuple[int, bool]:
    """Take away nodes that are reserved for others; return from when on it can be tried, and whether any overlapped.

    -1 is never (reservation.c, job_test_resv).
    """
    required = records.required[at]
    own = records.reservation[at]
    overlapped = False
    for _ in range(10):
        moved = False
        nodes[:] = sets[records.nodes[at]]
        overlapped = False
        if own >= 0:
            if start < closures.start[own] or start >= closures.end[own]:
                return -1, False
            nodes &= sets[closures.nodes[own]]
        for one in range(len(closures.start)):
            if one == own or records.allowed[at, one]:
                continue
            if closures.start[one] < start + records.limit[at] and closures.end[one] > start:
                closed = sets[closures.nodes[one]]
                if own < 0 and (
                    (closures.whole[one, records.partition[at]] and np.any(closed & nodes))
                    or (records.need[at, HAS_REQUIRED] and np.any(closed & sets[required]))
                ):
                    start = closures.end[one]
                    moved = True
                    overlapped = True
                    break
                if np.any(closed & nodes):
                    overlapped = True
                nodes &= ~closed
        if not moved:
            break
    return start, overlapped


@kernel
def _seek(
    at: int,
    now_only: bool,
    not_before: int,
    records: Records,
    closures: Closures,
    sets: NDArray[np.bool_],
    options: NDArray[np.int64],
    preemptable: NDArray[np.bool_],
    leaving: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    running: Running,
    table: Table,
    parameters: Parameters,
    rules: Rules,
    given: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Return what becomes of a record, its start, and whether it reached the will-run test; write its CPUs by node."""
    now, need, gres = parameters.now, records.need[at], records.gres[at]
    limit, resolution = records.limit[at], parameters.resolution
    size = len(machine.cpus)
    required = sets[max(records.required[at], 0)]
    # the start that is tried was rounded in no release
    start = max(now, not_before)
    tested = False
    present = np.zeros(size, np.int64)
    capable(sets[records.nodes[at]], need, gres, machine, use, present)
    nodes = np.zeros(size, np.bool_)
    trial = np.zeros(size, np.int64)
    with_licences = parameters.licenses and records.licences[at].sum() > 0
    for _ in range(MOST_TRIES):
        start, overlapped = _reserved(at, start, records, closures, sets, nodes)
        if start < 0:
            return IN_RESERVATION, -1, tested
        if rules.window_ends and start > now + parameters.window:
            return WINDOW, -1, tested
        end = start + limit
        offered = nodes.copy()
        later = -1
        conflict = False
        total = table.total[0]
        for slot in range(total):
            if table.end[slot] <= start:
                continue
            here = table.free[table.row[slot]]
            if slot + 1 < total and later < 0:
                there = table.free[table.row[slot + 1]]
                if np.any(nodes & there & ~(offered & here)):
                    later = table.end[slot]
            if table.begin[slot] <= end:
                offered &= here
                if with_licences:
                    short = False
                    for one in range(records.licences.shape[1]):
                        if records.licences[at, one] > table.licences[table.row[slot], one]:
                            short = True
                    if short:
                        conflict = True
                        later = table.end[slot]
                        if rules.first_conflict:
                            break
                elif later >= 0 and np.count_nonzero(offered) < need[LEAST]:
                    break
            else:
                if rules.next_slot and later < 0 and slot + 2 < total:
                    later = table.end[slot + 1]
                break
        if overlapped:
            first = -1
            for one in range(len(closures.end)):
                if closures.end[one] >= start and (first < 0 or closures.end[one] < first):
                    first = closures.end[one]
            if first >= 0:
                first = -(-first // resolution) * resolution + 1
                if first < now + parameters.window and (later < 0 or first < later):
                    later = first
        found = NEVER
        if not conflict:
            for option in range(records.features[at, 0], records.features[at, 0] + records.features[at, 1]):
                some = offered & sets[options[option]]
                if np.count_nonzero(some) < need[LEAST]:
                    continue
                if need[HAS_REQUIRED] and np.any(required & ~some):
                    continue
                tested = True
                if np.sum(np.where(some, machine.cpus, 0)) < need[CPUS]:
                    continue
                one_start = will_run(
                    now, start, later, now_only, some, present, need, gres, required, preemptable, machine, use,
                    running, rules.future, rules.inclusive, rules.relevant_end, rules.first_node, rules.weakest,
                    parameters.window_linear, parameters.grace, trial,
                )  # fmt: skip
                if one_start != NEVER and (found == NEVER or one_start < found):
                    found = one_start
                    given[:] = trial
        if found != NEVER:
            found = max(found, start)
            first, last = span_of(found, limit, table.begin[0], resolution, rules.ends_up)
            if not rules.least_step:
                # before, the end was compared as it is
                last = found + limit
                last = -(-last // resolution) * resolution if rules.ends_up else last // resolution * resolution
            if rules.early_overlap and found > now:
                if overlaps(table, given, records.licences[at], with_licences, first, last):
                    start = found if found > start else found + resolution
                    continue
            if parameters.beyond and found > start and len(closures.end) > 0:
                # Slurm plans it so, and finds when the time has come that it would reach into a reservation
                mine = np.zeros(size, np.bool_)
                moved, _ = _reserved(at, found, records, closures, sets, mine)
                if moved != found or np.any((given > 0) & ~mine):
                    start = found
                    continue
            if found <= now:
                for node in range(size):
                    if given[node] > 0 and leaving[node]:
                        return PLANNED, now + 1, tested
                return STARTED, now, tested
            if now_only:
                return NOW_ONLY, found, tested
            if later < 0 or found <= later:
                if found > now + parameters.window:
                    return WINDOW, found, tested
                if not rules.early_overlap and overlaps(table, given, records.licences[at], with_licences, first, last):
                    start = found if found > start else found + resolution
                    continue
                return PLANNED, found, tested
        elif now_only:
            return NOW_ONLY, -1, tested
        if later < 0 and parameters.beyond:
            # Slurm gives up here until something has changed
            for slot in range(table.total[0]):
                if table.begin[slot] > start and np.count_nonzero(nodes & table.free[table.row[slot]]) >= need[LEAST]:
                    later = table.begin[slot]
                    break
            if later < 0 and records.reservation[at] < 0:
                for one in range(len(closures.end)):
                    if closures.end[one] > start and (later < 0 or closures.end[one] < later):
                        later = closures.end[one]
        if later < 0:
            return NOWHERE, -1, tested
        start = later
    return NOWHERE, -1, tested


@kernel
def _begin(
    at: int,
    records: Records,
    machine: Machine,
    use: Use,
    running: Running,
    now: int,
    unkind: int,
    given: NDArray[np.int64],
) -> bool:
    """Let a job start now: it is one of those that run for the rest of the cycle; return whether there was room."""
    job, share = running.total[0], running.total[1]
    count = np.count_nonzero(given)
    if job >= len(running.end) or share + count > len(running.node):
        return False
    need, gres = records.need[at], records.gres[at]
    running.end[job] = now + records.limit[at]
    running.kind[job] = unkind
    running.first[job], running.count[job] = share, count
    missing = gres[OF_JOB].copy()
    for node in range(len(given)):
        if given[node] > 0:
            cpus = machine.cpus[node] if need[WHOLE] else given[node]
            if machine.core[node] > 1:
                cpus = -(-cpus // machine.core[node]) * machine.core[node]
            tasks = given[node] // need[TASK_CPUS]
            running.node[share] = node
            running.cpus[share] = cpus
            memory = need[MEMORY] if need[MEMORY] > 0 else tasks * need[TASK_MEMORY]
            running.memory[share] = machine.memory[node] if need[ALL_MEMORY] else memory
            running.limited[share] = need[LIMITED]
            for column in range(gres.shape[1]):
                amount = gres[OF_NODE, column] + tasks * gres[OF_TASK, column]
                if missing[column] > 0:
                    got = min(missing[column], machine.gres[node, column] - use.gres[node, column])
                    missing[column] -= got
                    amount += got
                running.gres[share, column] = amount
            share += 1
    place = job
    while place > 0 and running.end[running.order[place - 1]] > running.end[job]:
        running.order[place] = running.order[place - 1]
        place -= 1
    running.order[place] = job
    running.total[0] += 1
    running.total[1] = share
    add(use, running, job, 1)
    return True


@kernel
def _note(plans: Plans, at: int, start: int, limit: int, given: NDArray[np.int64]) -> None:
    """Write down a plan, as the record's own if it is the earliest."""
    row = plans.total[0]
    if row < len(plans.from_):
        plans.record[row], plans.from_[row], plans.limit[row] = at, start, limit
        plans.nodes[row] = given
        plans.total[0] += 1
    else:
        row = -1
    if plans.start[at] < 0 or start < plans.start[at]:
        plans.start[at], plans.best[at] = start, row


@kernel
def run_cycle(
    records: Records,
    closures: Closures,
    sets: NDArray[np.bool_],
    options: NDArray[np.int64],
    preempts: NDArray[np.bool_],
    leaving: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    running: Running,
    table: Table,
    licences: NDArray[np.int64],
    parameters: Parameters,
    rules: Rules,
    plans: Plans,
) -> int:
    """Plan all records; return how many of them were tested. What runs, the table and the plans are changed.

    Parameters
    ----------
    sets
        Sets of nodes, to which records refer by number.
    options
        Numbers of sets with features, to which records refer.
    preempts
        By kind of preemptor and kind of running job.
    leaving
        Nodes on which a job completes, or which boot: nothing starts on them now.
    licences
        How many are free now.
    """
    count, now, resolution = len(records.job), parameters.now, parameters.resolution
    tests, stopped = 0, 0
    most_job = 1
    for at in range(count):
        most_job = max(most_job, records.job[at] + 1, records.user[at] + 1, records.partition[at] + 1)
        most_job = max(most_job, records.user_partition[at] + 1, records.account[at] + 1, records.leader[at] + 1)
        most_job = max(most_job, records.array_partition[at] + 1)
    of_user, of_partition = np.zeros(most_job, np.int64), np.zeros(most_job, np.int64)
    of_both, of_account = np.zeros(most_job, np.int64), np.zeros(most_job, np.int64)
    held_by_partition = np.zeros(most_job, np.int64)
    started, planned = np.zeros(most_job, np.bool_), np.zeros(most_job, np.bool_)
    rejected = np.zeros(most_job, np.bool_)
    latest_part = np.zeros(most_job, np.int64)
    last_array, array_count = -1, 0
    given = np.zeros(len(machine.cpus), np.int64)
    scratch = np.zeros(len(machine.cpus), np.int64)
    kinds = preempts.shape[1]
    for at in range(count):
        if not records.considered[at]:
            plans.state[at] = SKIPPED
            continue
        if stopped == 0 and parameters.max_job_test > 0 and tests >= parameters.max_job_test:
            stopped = DEPTH
        if stopped != 0:
            plans.state[at] = stopped
            continue
        probe = records.probe[at]
        job, user, partition = records.job[at], records.user[at], records.partition[at]
        both, account = records.user_partition[at], records.account[at]
        if started[job]:
            plans.state[at] = SAME_JOB
            continue
        array, leader = records.array[at], records.leader[at]
        done, begun = 0, 0
        now_only = records.now_only[at] or (parameters.one_resv_per_job and planned[job])
        if parameters.job_part_count_reserve > 0:
            now_only = now_only or held_by_partition[partition] >= parameters.job_part_count_reserve
        while True:
            if array >= 0:
                if rejected[records.array_partition[at]]:
                    plans.state[at] = REJECTED
                    break
                if parameters.max_job_array_resv == 0 and records.tasks[at] > 1:
                    plans.state[at] = LATER_TASKS
                    break
                if array != last_array:
                    array_count = 0
                if done + begun >= records.tasks[at]:
                    break
                if (
                    array_count >= parameters.max_job_array_resv
                    or begun >= records.room[at]
                    or (rules.throttle and begun + done >= max(records.room[at], 1))
                ):
                    if done + begun == 0:
                        plans.state[at] = LATER_TASKS
                    break
            # the depth of users and so on
            if parameters.max_job_user_part > 0 and of_both[both] >= parameters.max_job_user_part:
                plans.state[at] = USER_PARTITION_DEPTH if done + begun == 0 else plans.state[at]
                break
            if parameters.max_job_part > 0 and of_partition[partition] >= parameters.max_job_part:
                plans.state[at] = PARTITION_DEPTH if done + begun == 0 else plans.state[at]
                break
            if parameters.max_job_assoc > 0 and of_account[account] >= parameters.max_job_assoc:
                plans.state[at] = ACCOUNT_DEPTH if done + begun == 0 else plans.state[at]
                break
            if (
                parameters.max_job_user > 0
                and parameters.max_job_assoc == 0
                and of_user[user] >= parameters.max_job_user
            ):
                plans.state[at] = USER_DEPTH if done + begun == 0 else plans.state[at]
                break
            if not probe:
                of_both[both] += 1
                of_partition[partition] += 1
                of_account[account] += 1
                of_user[user] += 1
            if not parameters.licenses:
                short = False
                for one in range(len(licences)):
                    if records.licences[at, one] > licences[one]:
                        short = True
                if short and not parameters.beyond:
                    plans.state[at] = LICENCES if done + begun == 0 else plans.state[at]
                    break
            limit = records.limit[at]
            if records.pinned[at] >= 0:
                where = sets[records.pinned[at]]
                for node in range(len(given)):
                    given[node] = machine.cpus[node] if where[node] else 0
                state, start, tested = PLANNED, records.pinned_start[at], True
            else:
                not_before = records.not_before[at]
                if leader >= 0:
                    not_before = max(not_before, latest_part[leader])
                preemptable = np.zeros(kinds + 1, np.bool_)  # the last are those that start in this cycle
                preemptable[:kinds] = preempts[records.kind[at]]
                state, start, tested = _seek(
                    at, now_only, not_before, records, closures, sets, options, preemptable, leaving, machine, use,
                    running, table, parameters, rules, given,
                )  # fmt: skip
                if state == STARTED and preemptable.any():
                    preemptable[:] = False
                    alone, _, _ = _seek(
                        at, True, not_before, records, closures, sets, options, preemptable, leaving, machine, use,
                        running, table, parameters, rules, scratch,
                    )  # fmt: skip
                    if alone != STARTED:  # those who run there are ended first
                        state = PLANNED
            if tested and not probe:
                tests += 1
            if state == STARTED and leader >= 0:
                state = PLANNED  # parts start together at the end of the cycle
            if state == STARTED:
                plans.state[at] = STARTED
                _note(plans, at, now, limit, given)
                if probe:
                    break
                first, last = span_of(now, limit, table.begin[0], resolution, rules.ends_up)
                if not _begin(at, records, machine, use, running, now, kinds, given) or records.need[at, WHOLE]:
                    if not enter(table, given, records.licences[at], first, last, True):
                        stopped = TABLE_FULL
                for one in range(len(licences)):
                    licences[one] -= records.licences[at, one]
                begun += 1
                if array < 0:
                    started[job] = True
                    break
                if rules.task_depth and parameters.max_job_test > 0 and tests >= parameters.max_job_test:
                    stopped = DEPTH
                    break
                continue
            if state != PLANNED or records.unheld[at]:
                if done + begun == 0:
                    plans.state[at] = UNHELD if state == PLANNED else state
                    if start >= 0:
                        plans.start[at] = start
                if array >= 0 and not probe:
                    rejected[records.array_partition[at]] = True
                break
            if probe:
                plans.state[at] = PLANNED
                _note(plans, at, start, limit, given)
                break
            first, last = span_of(start, limit, table.begin[0], resolution, rules.ends_up)
            if (parameters.node_space_size > 0 and table.total[1] >= parameters.node_space_size) or not enter(
                table, given, records.licences[at], first, last, True
            ):
                stopped = TABLE_FULL
                plans.state[at] = TABLE_FULL if done + begun == 0 else plans.state[at]
                break
            plans.state[at] = PLANNED
            _note(plans, at, start, limit, given)
            planned[job] = True
            held_by_partition[partition] += 1
            done += 1
            if leader >= 0:
                latest_part[leader] = max(latest_part[leader], start)
            if array < 0:
                break
            last_array = array
            array_count += 1
    return tests
