"""Free processors in the future, and the size on which a job would end first."""

from __future__ import annotations

from experiments.malleate.state import (
    ADOPTS,
    FIRST,
    HOLDS,
    LAST,
    MACHINE,
    NOW,
    ROW,
    RUNNING,
    SIZE,
    TIME,
    WAITING,
    WALLTIME,
    Elastic,
)
from gas.compiled import lean_kernel
from gas.profile.flat import earliest_fit, take

__all__ = ["MOST_PLANNED", "choose", "mold_again", "place", "plan_of_running"]


MOST_PLANNED = 1000
"""Number of jobs in the queue that are planned. A job behind them keeps its own size: no list tells its start."""


@lean_kernel
def plan_of_running(state: Elastic) -> None:
    """Reset the plan to running jobs, by their walltimes."""
    plan, now, work = state.plan, state.now, state.work
    plan.starts[0], plan.free[0], plan.used[0] = now[NOW], state.rules[MACHINE], 1
    for k in range(now[RUNNING]):
        job = state.running[k]
        take(plan, now[NOW], max(work[HOLDS, job], now[NOW] + 1), state.table[SIZE, work[ROW, job]])


@lean_kernel
def place(state: Elastic, row: int) -> int:
    """Give a waiting job its earliest fit in the plan; return its start."""
    duration, size = state.table[WALLTIME, row], state.table[SIZE, row]
    begin = earliest_fit(state.plan, size, duration, state.now[NOW])
    take(state.plan, begin, begin + duration, size)
    return begin


@lean_kernel
def best_row(state: Elastic, job: int) -> int:
    """Return the size on which a job would end first by the plan; of equal ones the smallest.

    A request must fit for its walltime; it ends after its execution time, known from the speed-up model.
    """
    table, best, soonest = state.table, -1, 0
    for row in range(state.jobs[FIRST, job], state.jobs[LAST, job]):
        begin = earliest_fit(state.plan, table[SIZE, row], table[WALLTIME, row], state.now[NOW])
        end = begin + table[TIME, row]
        if best < 0 or end < soonest:
            best, soonest = row, end
    return best


@lean_kernel
def choose(state: Elastic, job: int) -> None:
    """Choose an arriving job's size by what running and waiting jobs leave free."""
    if state.now[WAITING] > MOST_PLANNED:
        return
    plan_of_running(state)
    for q in range(state.now[WAITING]):
        place(state, state.work[ROW, state.queue[q]])
    state.work[ROW, job] = best_row(state, job)


@lean_kernel
def mold_again(state: Elastic) -> None:
    """Choose the size of every waiting adopter again, in order of the queue."""
    plan_of_running(state)
    for q in range(min(state.now[WAITING], MOST_PLANNED)):
        job = state.queue[q]
        if state.jobs[ADOPTS, job]:
            state.work[ROW, job] = best_row(state, job)
        place(state, state.work[ROW, job])
