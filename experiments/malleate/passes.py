"""Passes over the queue: EASY backfilling with jobs that can start on several sizes, and replanning of the whole queue.

With jobs of one size, the first is EASY as in `gas.simulation.queueing` (a test compares them). A pass starts jobs from
the head of the queue while they fit. The first that does not fit gets a shadow time, at which enough processors will be
free by the walltimes. Other jobs start if they end by then or leave enough processors free.
"""

from __future__ import annotations

from experiments.malleate.forecast import MOST_PLANNED, best_row, place, plan_of_running
from experiments.malleate.rules import AT_START, FIXED, PLAN_AGAIN, START_OWN, START_SMALLEST
from experiments.malleate.sizes import floor, grow, shrink, spare, start
from experiments.malleate.state import (
    ADOPTS,
    DISCIPLINE,
    FIRST,
    FREE,
    HOLDS,
    LAST,
    NOW,
    OUTDATED,
    OWN,
    PLANNED,
    ROW,
    RUNNING,
    RUNS,
    SIZE,
    START,
    WAITING,
    WHEN,
    Elastic,
    lowest,
    planned,
)
from gas.compiled import lean_kernel
from gas.profile.flat import forget

__all__ = ["look", "shadow_of"]


@lean_kernel
def look(state: Elastic) -> None:
    """Start the jobs that can start, after a submission or an end."""
    if state.rules[DISCIPLINE] == PLAN_AGAIN:
        _plan_again(state)
        return
    _from_the_head(state)
    if state.now[WAITING] > 0 and state.now[FREE] > 0:
        _backfill(state)
    if state.rules[RUNS] != FIXED and state.now[FREE] > 0:
        grow(state)


@lean_kernel
def _from_the_head(state: Elastic) -> None:
    """Start jobs from the head of the queue, shrinking running jobs where possible, until one cannot start."""
    now = state.now
    while now[WAITING] > 0:
        job = state.queue[0]
        row = _row_within(state, job, now[FREE])
        if row < 0 and state.rules[RUNS] != FIXED:
            wanted = state.table[SIZE, _least_row(state, job)] - now[FREE]
            if spare(state) >= wanted:
                shrink(state, wanted)
                row = _row_within(state, job, now[FREE])
        if row < 0:
            return
        _take_out(state, 0)
        start(state, job, row)


@lean_kernel
def _backfill(state: Elastic) -> None:
    """Start jobs behind the head that do not delay it; running jobs may also shrink for the head."""
    now, table = state.now, state.table
    shadow, extra = shadow_of(state)
    q = 1
    while q < now[WAITING] and now[FREE] > 0:
        job = state.queue[q]
        if table[SIZE, state.jobs[FIRST, job]] > now[FREE]:  # most of a long queue: a cheap test first
            q += 1
            continue
        row = _row_within(state, job, now[FREE])
        if row >= 0 and now[NOW] + planned(state, job, row) > shadow and table[SIZE, row] > extra:
            row = _row_within(state, job, min(now[FREE], extra))
        if row < 0:
            q += 1
            continue
        if now[NOW] + planned(state, job, row) > shadow:
            extra -= table[SIZE, row]
        _take_out(state, q)
        start(state, job, row)


@lean_kernel
def shadow_of(state: Elastic) -> tuple[int, int]:
    """Return the latest start of the head of the queue, and how many processors remain free alongside it then.

    A pass changes neither: the jobs that it starts end by then, or fit into the remaining processors.
    """
    now, work = state.now, state.work
    wanted = state.table[SIZE, _least_row(state, state.queue[0])]
    gathered, shadow, k = now[FREE] + spare(state), now[NOW], 0
    while gathered < wanted:
        shadow = work[HOLDS, state.running[k]]
        while k < now[RUNNING] and work[HOLDS, state.running[k]] == shadow:
            gathered += state.table[SIZE, floor(state, state.running[k])]
            k += 1
    return shadow, gathered - wanted


@lean_kernel
def _least_row(state: Elastic, job: int) -> int:
    """Return the smallest size on which a waiting job would start."""
    if not state.jobs[ADOPTS, job]:
        return state.jobs[OWN, job]  # type: ignore[no-any-return]
    if state.rules[WHEN] == AT_START or state.rules[RUNS] in (START_SMALLEST, START_OWN):
        return lowest(state, job)
    return state.work[ROW, job]  # type: ignore[no-any-return]


@lean_kernel
def _row_within(state: Elastic, job: int, processors: int) -> int:
    """Return the size on which a waiting job would start with `processors` free; -1 if on none."""
    table, least = state.table, _least_row(state, job)
    most = least
    if state.jobs[ADOPTS, job]:
        if state.rules[WHEN] == AT_START:
            most = state.jobs[LAST, job] - 1
        elif state.rules[RUNS] == START_OWN:
            most = state.jobs[OWN, job]
    while most >= least and table[SIZE, most] > processors:
        most -= 1
    return most if most >= least else -1


@lean_kernel
def _plan_again(state: Elastic) -> None:
    """Replan the queue in its order, and start the jobs that are planned to start now.

    If no job has ended before its walltime since the last pass, replanning would change no planned job: its start is
    ahead, and on its other sizes it would end even later than when it was planned. So only jobs without a plan are
    planned.
    """
    now, work = state.now, state.work
    if now[PLANNED] == OUTDATED:
        plan_of_running(state)
        now[PLANNED] = 0
    else:
        forget(state.plan, now[NOW])
    q, placed = 0, now[PLANNED]
    while q < min(now[WAITING], MOST_PLANNED):
        job = state.queue[q]
        if q >= placed:
            if state.jobs[ADOPTS, job]:
                work[ROW, job] = best_row(state, job)
            work[START, job] = place(state, work[ROW, job])
            placed = q + 1
        if work[START, job] == now[NOW]:
            _take_out(state, q)
            start(state, job, work[ROW, job])
            placed -= 1
        else:
            q += 1
    now[PLANNED] = placed


@lean_kernel
def _take_out(state: Elastic, q: int) -> None:
    queue, now = state.queue, state.now
    now[WAITING] -= 1
    for i in range(q, now[WAITING]):
        queue[i] = queue[i + 1]
