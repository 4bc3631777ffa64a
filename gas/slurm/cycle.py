"""One cycle of the backfill scheduler: it plans when and where each record of the queue starts (backfill.c)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel, shared
from gas.slurm.bench import Bench
from gas.slurm.closures import lacks_licences
from gas.slurm.fitting import (
    HAS_GRES,
    LIMITED,
    OF_JOB,
    OF_NODE,
    OF_TASK,
    TASK_CPUS,
    WHOLE,
    held_on,
    memory_on,
)  # fmt: skip
from gas.slurm.machine import Machine, Use
from gas.slurm.node_sets import Words, of_given, unpacked
from gas.slurm.rows import (
    ACCOUNT_DEPTH,
    DEPTH,
    LATER_TASKS,
    LICENCES,
    NOWHERE,
    PARTITION_DEPTH,
    PLANNED,
    REJECTED,
    SAME_JOB,
    SKIPPED,
    STARTED,
    TABLE_FULL,
    UNHELD,
    UNRESERVED,
    USER_DEPTH,
    USER_PARTITION_DEPTH,
    WINDOW,
    Closures,
    Found,
    Parameters,
    Plans,
    Records,
)  # fmt: skip
from gas.slurm.search import Search, leaving_first, seek
from gas.slurm.startable import might_start, write_open
from gas.slurm.table import Table, enter, span_of
from gas.slurm.versions import Rules
from gas.slurm.will_run import Running, add

__all__ = ["begin", "note", "run_cycle"]


@lean_kernel
def _give_types(share: int, node: int, machine: Machine, use: Use, running: Running) -> None:
    """Give a job that requests GRES without a type the first types that are free on a node.

    Seen on 22.05, 24.11 and 26.05: of two a100 and two h100, --gpus=1 gets an a100 as long as one is free.
    """
    for column in range(running.gres.shape[1]):
        every = machine.type_of[column]
        if every >= 0:
            rest = running.gres[share, every]
            for other in range(running.gres.shape[1]):
                if machine.type_of[other] == every:
                    rest -= running.gres[share, other]
            free = machine.gres[node, column] - use.gres[node, column] - running.gres[share, column]
            if rest > 0 and free > 0:
                running.gres[share, column] += min(rest, free)


@lean_kernel
def begin(
    at: int,
    records: Records,
    machine: Machine,
    use: Use,
    running: Running,
    now: int,
    unkind: int,
    given: NDArray[np.int64],
    missing: NDArray[np.int64],
) -> bool:
    """Start a job now: it runs for the rest of the cycle. Return whether the arrays had space for it.

    `missing` is scratch memory, one number per column of generic resources.
    """
    job, share = running.total[0], running.total[1]
    count = 0
    for node in range(len(given)):
        count += given[node] != 0
    if job >= len(running.end) or share + count > len(running.node):
        return False
    need, gres = records.need[at], records.gres[at]
    running.end[job] = now + records.limit[at]
    running.kind[job] = unkind
    running.whole[job], running.sharing[job] = need[WHOLE], records.sharing[at]
    running.first[job], running.shares[job] = share, count
    for column in range(gres.shape[1]):
        missing[column] = gres[OF_JOB, column]
    for node in range(len(given)):
        if given[node] > 0:
            tasks = given[node] // need[TASK_CPUS]
            running.node[share] = node
            running.cpus[share] = held_on(node, given[node], need, machine)
            running.memory[share] = memory_on(node, given[node], need, machine)
            running.limited[share] = need[LIMITED]
            for column in range(gres.shape[1]):
                amount = gres[OF_NODE, column] + tasks * gres[OF_TASK, column]
                if missing[column] > 0:
                    got = min(missing[column], machine.gres[node, column] - use.gres[node, column])
                    missing[column] -= got
                    amount += got
                running.gres[share, column] = amount
            if need[HAS_GRES]:
                _give_types(share, node, machine, use, running)
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


@lean_kernel
def note(plans: Plans, at: int, start: int, limit: int, given: NDArray[np.int64]) -> int:
    """Write a plan, as the record's best if it is the earliest; return its row, -1 if the table is full."""
    row = plans.total[0]
    if row < len(plans.from_):
        plans.record[row], plans.from_[row], plans.limit[row] = at, start, limit
        share = plans.first[row]
        for node in range(len(given)):
            if given[node] > 0:
                plans.node[share], plans.cpus[share] = node, given[node]
                share += 1
        plans.first[row + 1] = share
        plans.total[0] += 1
    else:
        row = -1
    if plans.start[at] < 0 or start < plans.start[at]:
        plans.start[at], plans.best[at] = start, row
    return int(row)


@shared
@lean_kernel
def run_cycle(
    order: NDArray[np.int64],
    records: Records,
    closures: Closures,
    sets: Words,
    options: NDArray[np.int64],
    preempts: NDArray[np.bool_],
    leaving: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    idle: Use,
    running: Running,
    table: Table,
    licences: NDArray[np.int64],
    parameters: Parameters,
    rules: Rules,
    plans: Plans,
    known: Found,
    found: Found,
    bench: Bench,
) -> int:
    """Plan all records; return how many were tested. Updates the running jobs, the table and the plans.

    Probes change nothing for other records, so results of a cycle without probes, or with others, can be reused.

    Parameters
    ----------
    order
        Indices of the records in the order in which they are considered.
    sets
        Sets of nodes, to which records refer by number.
    options
        Numbers of sets of nodes with features, to which records refer.
    preempts
        By kind of preemptor and kind of running job.
    idle
        The allocations on a machine without jobs.
    leaving
        Nodes that are completing a job, or booting: nothing starts on them now.
    licences
        Number of free licences of each kind.
    known, found
        The results of an earlier cycle's searches, except those of probes, and of this one's.
    """
    now, resolution = parameters.now, parameters.resolution
    tests, stopped = 0, 0
    of_user, of_partition, of_both, of_account = bench.of_user, bench.of_partition, bench.of_both, bench.of_account
    held_by_partition, latest_part = bench.held_by_partition, bench.latest_part
    started, planned, rejected = bench.started, bench.planned, bench.rejected
    given, scratch, taken, where, preemptable = bench.given, bench.scratch, bench.taken, bench.where, bench.preemptable
    room, near = bench.room, bench.near
    search = Search(
        records, closures, sets, options, preemptable, leaving, machine, use, idle, running, table, parameters, rules,
        room,
    )  # fmt: skip
    for job in range(running.total[0]):
        leaving_first(running, job, room.soonest)
    kinds = preempts.shape[1]
    following = 0
    last_array, array_count = -1, 0
    last, seen, made = len(order) - 1, -1, 0
    for turn in range(len(order)):
        if parameters.starts_only and seen < running.total[0] + plans.total[0]:  # a job was planned or started
            seen = running.total[0] + plans.total[0]
            write_open(machine, use, taken)
            while last >= turn and not might_start(
                order[last], now, records, sets, machine, use, table, taken, room.some
            ):
                last -= 1
        if turn > last:
            break
        at = order[turn]
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
        now_only = now_only or 0 < parameters.most_plans <= made
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
            # depth limits per user, partition and account
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
            counted = not parameters.licenses and not parameters.plan_all
            if counted and lacks_licences(at, now, records, closures, licences):
                plans.state[at] = LICENCES if done + begun == 0 else plans.state[at]
                break
            limit = records.limit[at]
            entry = -1
            if records.pinned[at] >= 0:
                unpacked(sets[records.pinned[at]], where)
                for node in range(len(given)):
                    given[node] = machine.cpus[node] if where[node] else 0
                state, start, tested = PLANNED, records.pinned_start[at], True
            else:
                is_known = False
                if not probe and following < known.total[0]:
                    state, start, tested = known.state[following], known.start[following], known.tested[following]
                    row = known.row[following]
                    is_known = row >= 0 or (state != PLANNED and state != STARTED)
                    if row >= 0:
                        given[:] = 0
                        for share in range(known.first[row], known.first[row + 1]):
                            given[known.node[share]] = known.cpus[share]
                    following = following + 1 if is_known else known.total[0]
                if not is_known:
                    not_before = records.not_before[at]
                    if leader >= 0:
                        not_before = max(not_before, latest_part[leader])
                    for kind in range(kinds):
                        preemptable[kind] = preempts[records.kind[at], kind]
                    if probe:
                        for node in range(len(near)):
                            near[node] = machine.near[node]
                    state, start, tested = seek(at, now_only, not_before, search, given)
                    hint = records.pinned_start[at]
                    if hint > now and array < 0 and start != hint and state in (PLANNED, NOWHERE, WINDOW):
                        # Slurm publishes its start without nodes: prefer a plan with that start
                        other, moved, _ = seek(at, now_only, hint, search, scratch)
                        if other == PLANNED and moved == hint:
                            state, start = other, moved
                            for node in range(len(given)):
                                given[node] = scratch[node]
                    if state == STARTED and preemptable.any():
                        preemptable[:] = False
                        alone, _, _ = seek(at, True, not_before, search, scratch)
                        if alone != STARTED:  # it must wait until the preempted jobs have ended
                            state = PLANNED
                    if state == STARTED and records.behind[at] >= 0:  # a start selects nodes again (select_nodes)
                        unpacked(sets[records.behind[at]], room.work.behind)
                        alone, _, _ = seek(at, True, not_before, search, scratch)
                        room.work.behind[:] = False
                        if alone == STARTED:
                            for node in range(len(given)):
                                given[node] = scratch[node]
                    if probe:
                        for node in range(len(near)):
                            machine.near[node] = near[node]
                if not probe and found.total[0] < len(found.state):
                    entry = found.total[0]
                    found.record[entry], found.state[entry], found.start[entry] = at, state, start
                    found.tested[entry], found.row[entry] = tested, -1
                    found.total[0] += 1
            if tested and not probe:
                tests += 1
            if state == STARTED and (leader >= 0 or records.unheld[at]):
                state = PLANNED  # components start together at the end of the cycle; limits are checked at the start
            if state == STARTED:
                plans.state[at] = STARTED
                row = note(plans, at, now, limit, given)
                if probe:
                    break
                if entry >= 0:
                    found.row[entry] = row
                first, until = span_of(now, limit, table.begin[0], resolution, rules.ends_up)
                runs = begin(at, records, machine, use, running, now, kinds, given, room.work.missing)
                if runs:
                    leaving_first(running, running.total[0] - 1, room.soonest)
                if runs and not records.need[at, WHOLE]:
                    given[:] = 0  # only its licences go into the table
                of_given(given, taken)
                if (parameters.licenses or given.any()) and not enter(
                    table, taken, records.licences[at], first, until, True
                ):
                    stopped = TABLE_FULL
                for one in range(len(licences)):
                    licences[one] -= records.licences[at, one]
                begun += 1
                started[job] = True  # an array is then skipped in its other partitions, too
                if array < 0:
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
                note(plans, at, start, limit, given)
                break
            if records.unreserved[at]:
                if done + begun == 0:  # its start is published, without nodes
                    plans.state[at], plans.start[at] = UNRESERVED, start
                break
            of_given(given, taken)
            first, until = span_of(start, limit, table.begin[0], resolution, rules.ends_up)
            if (parameters.node_space_size > 0 and table.total[1] >= parameters.node_space_size) or not enter(
                table, taken, records.licences[at], first, until, True
            ):
                stopped = TABLE_FULL
                if done + begun == 0:  # its start is published, but it holds nothing
                    plans.state[at], plans.start[at] = TABLE_FULL, start
                break
            plans.state[at] = PLANNED
            row = note(plans, at, start, limit, given)
            if entry >= 0:
                found.row[entry] = row
            planned[job] = True
            made += 1
            held_by_partition[partition] += 1
            done += 1
            if leader >= 0:
                latest_part[leader] = max(latest_part[leader], start)
            if array < 0:
                break
            last_array = array
            array_count += 1
    return tests
