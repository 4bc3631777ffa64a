"""The planning policies: every job has a planned start from the moment it arrives.

Placing, and promotion after an early end, are those of S³ (`gas.s3.placing`); the policies differ in how a promotion
walks the queue. `gas guide rules`, 3 to 5.
"""

from __future__ import annotations

from gas.compiled import lean_kernel
from gas.heap import push
from gas.profile.blocks import LEVELS, STAMP, level_of
from gas.profile.changes import give_back, take
from gas.profile.flat import ENDLESS
from gas.profile.holes import first_fit
from gas.s3.placing import AGAIN_FROM_THE_HEAD, ONCE, UNTIL_NOTHING_MOVES, place, promote
from gas.s3.queue import COUNT, Q_JOB, Q_PRIORITY, Q_PROCESSORS, Q_START, Q_WALLTIME, insert
from gas.simulation.state import (
    ALIVE,
    CONSERVATIVE,
    DUE,
    ENDS,
    EVENT,
    GONE,
    MADE,
    NOW,
    ORDER,
    POLICY,
    REPLAN,
    RUNNING,
    S3,
    S3_1999,
    SPANS,
    STARTS,
    W_CANCEL,
    W_EARLIEST,
    W_ESTIMATE,
    W_FIXED,
    W_PRIORITY,
    W_PROCESSORS,
    W_PROMISE,
    W_RUN_TIME,
    W_START,
    W_STATUS,
    WAITING,
    State,
)

__all__ = [
    "begin",
    "create_completion",
    "create_start",
    "enter",
    "leave_plan",
    "place_in_queue",
    "read_starts",
    "revise",
]
__all__ += ["start_due", "withdraw"]


@lean_kernel
def enter(state: State, job: int) -> None:
    """Give an arriving job, or a reservation, the first slot that it fits."""
    work, now = state.work, state.now
    processors, estimate = work[W_PROCESSORS, job], work[W_ESTIMATE, job]
    start = place(state.plan, processors, estimate, work[W_EARLIEST, job])
    work[W_START, job], work[W_PROMISE, job] = start, start
    work[W_STATUS, job] = WAITING
    now[SPANS] += 1
    if work[W_FIXED, job] == 0:
        numbers, earliest, priority = state.plan.numbers, work[W_EARLIEST, job], work[W_PRIORITY, job]
        at, level = place_in_queue(state, job), min(level_of(processors), numbers[LEVELS] - 1)
        insert(state.queue, at, job, priority, processors, estimate, earliest, start, level, numbers[STAMP])
        now[ALIVE] += 1
    if state.rules[ORDER] == EVENT:
        create_start(state, job, start)
    elif work[W_FIXED, job] == 1 or start == now[NOW]:
        begin(state, job)
    else:
        now[DUE] = min(now[DUE], start)


@lean_kernel
def begin(state: State, job: int) -> None:
    """Start a job at its planned start; its completion is now known to the simulation."""
    work = state.work
    work[W_STATUS, job] = RUNNING
    if work[W_FIXED, job] == 0:
        state.now[ALIVE] -= 1
    create_completion(state, job)


@lean_kernel
def create_completion(state: State, job: int) -> None:
    """Create the event of a started job's completion, or of its cancellation if that comes first."""
    work, now = state.work, state.now
    start = work[W_START, job]
    push(
        state.ends,
        now[ENDS],
        max(start, min(start + work[W_RUN_TIME, job], work[W_CANCEL, job])),
        now[MADE],
        job,
    )
    now[ENDS] += 1
    now[MADE] += 1


@lean_kernel
def create_start(state: State, job: int, start: int) -> None:
    """Create the event of a job's start."""
    now = state.now
    push(state.starts, now[STARTS], start, now[MADE], job)
    now[STARTS] += 1
    now[MADE] += 1


@lean_kernel
def leave_plan(state: State, job: int) -> bool:
    """Release what a completing job still holds in the plan; return whether it completed early."""
    work, now = state.work, state.now
    now[SPANS] -= 1
    due_back = work[W_START, job] + work[W_ESTIMATE, job]
    if due_back <= now[NOW]:
        return False
    give_back(state.plan, now[NOW], due_back, work[W_PROCESSORS, job])
    return True


@lean_kernel
def withdraw(state: State, job: int) -> None:
    """Take a waiting job out of queue and plan."""
    work = state.work
    state.queue.jobs[Q_START, place_in_queue(state, job)] = -ENDLESS
    give_back(state.plan, work[W_START, job], work[W_START, job] + work[W_ESTIMATE, job], work[W_PROCESSORS, job])
    work[W_STATUS, job] = GONE
    state.now[ALIVE] -= 1
    state.now[SPANS] -= 1


@lean_kernel
def place_in_queue(state: State, job: int) -> int:
    """Return the number of jobs before a job in the queue; jobs are numbered in order of arrival."""
    jobs, priority = state.queue.jobs, state.work[W_PRIORITY, job]
    low, high = 0, state.queue.used[COUNT]
    while low < high:
        middle = (low + high) >> 1
        there = jobs[Q_PRIORITY, middle]
        if there > priority or (there == priority and jobs[Q_JOB, middle] < job):
            low = middle + 1
        else:
            high = middle
    return low


@lean_kernel
def revise(state: State) -> None:
    """Plan again after processors were released, by the rule of the policy."""
    policy, now = state.rules[POLICY], state.now
    if now[ALIVE] == 0:
        return
    moves = 0
    if policy == CONSERVATIVE:
        moves = promote(state.plan, state.queue, now[NOW], ONCE)
    elif policy == S3:
        moves = promote(state.plan, state.queue, now[NOW], UNTIL_NOTHING_MOVES)
    elif policy == S3_1999:
        moves = promote(state.plan, state.queue, now[NOW], AGAIN_FROM_THE_HEAD)
    elif policy == REPLAN:
        moves = _replan(state)
    if moves > 0:
        read_starts(state)


@lean_kernel
def _replan(state: State) -> int:
    """Take all waiting jobs out and put them back in queue order; in order `event`, those due now stay."""
    queue, work, plan, now = state.queue, state.work, state.plan, state.now[NOW]
    first = now + 1 if state.rules[ORDER] == EVENT else now
    for i in range(queue.used[0]):
        if work[W_STATUS, queue.jobs[Q_JOB, i]] == WAITING and queue.jobs[Q_START, i] >= first:
            start = queue.jobs[Q_START, i]
            give_back(plan, start, start + queue.jobs[Q_WALLTIME, i], queue.jobs[Q_PROCESSORS, i])
    moves = 0
    for i in range(queue.used[0]):
        if work[W_STATUS, queue.jobs[Q_JOB, i]] == WAITING and queue.jobs[Q_START, i] >= first:
            start = first_fit(plan, queue.jobs[Q_PROCESSORS, i], queue.jobs[Q_WALLTIME, i], now)
            take(plan, start, start + queue.jobs[Q_WALLTIME, i], queue.jobs[Q_PROCESSORS, i])
            moves += start != queue.jobs[Q_START, i]
            queue.jobs[Q_START, i] = start
    return moves


@lean_kernel
def read_starts(state: State) -> None:
    """Update the jobs with the planned starts of the queue."""
    queue, work, now = state.queue, state.work, state.now
    due = ENDLESS
    for i in range(queue.used[0]):
        job = queue.jobs[Q_JOB, i]
        if work[W_STATUS, job] != WAITING:
            continue
        start = queue.jobs[Q_START, i]
        due = min(due, start)
        if start != work[W_START, job]:
            work[W_START, job] = start
            if state.rules[ORDER] == EVENT:
                create_start(state, job, start)
    if state.rules[ORDER] != EVENT:
        now[DUE] = due


@lean_kernel
def start_due(state: State) -> None:
    """Start every job that is due, in queue order (order `instant`)."""
    queue, work, now = state.queue, state.work, state.now
    if now[DUE] > now[NOW]:
        return
    due = ENDLESS
    for i in range(queue.used[0]):
        start = queue.jobs[Q_START, i]
        if start < now[NOW]:
            continue
        if start > now[NOW]:
            due = min(due, start)
        elif work[W_STATUS, queue.jobs[Q_JOB, i]] == WAITING:
            begin(state, queue.jobs[Q_JOB, i])
    now[DUE] = due
