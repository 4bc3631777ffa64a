"""Starting, ending and changing the sizes of jobs."""

from __future__ import annotations

import numpy as np

from experiments.malleate.rules import FIXED, KEEP_OWN
from experiments.malleate.state import (
    ACCURACY,
    ADOPTS,
    CHANGED,
    COST,
    END,
    ENDED,
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
    SHARE,
    SINCE,
    SIZE,
    START,
    TARGET,
    TIME,
    USED,
    WALLTIME,
    Elastic,
    end_of,
    lowest,
    planned,
)
from gas.compiled import lean_kernel
from gas.profile.flat import ENDLESS

__all__ = ["complete", "floor", "grow", "next_end", "shrink", "spare", "start"]


@lean_kernel
def start(state: Elastic, job: int, row: int) -> None:
    """Start a job on a size that fits into the free processors."""
    work, now = state.work, state.now
    work[ROW, job], work[START, job], work[SINCE, job] = row, now[NOW], now[NOW]
    state.done[CHANGED, job] = now[NOW]
    work[END, job] = end_of(state, job)
    work[HOLDS, job] = now[NOW] + planned(state, job, row)
    now[FREE] -= state.table[SIZE, row]
    _insert(state, job)


@lean_kernel
def complete(state: Elastic, job: int) -> None:
    """End a running job."""
    now, done = state.now, state.done
    _remove(state, job)
    size = state.table[SIZE, state.work[ROW, job]]
    now[FREE] += size
    now[ENDED] += 1
    if state.work[HOLDS, job] > now[NOW]:
        now[PLANNED] = OUTDATED
    done[USED, job] += size * (now[NOW] - done[CHANGED, job])


@lean_kernel
def next_end(state: Elastic) -> int:
    """Return the next end of a running job; an instant beyond all if none runs."""
    instant = ENDLESS
    for k in range(state.now[RUNNING]):
        instant = min(instant, state.work[END, state.running[k]])
    return instant


@lean_kernel
def floor(state: Elastic, job: int) -> int:
    """Return the row of the smallest size of a running job."""
    if not state.jobs[ADOPTS, job] or state.rules[RUNS] == FIXED:
        return state.work[ROW, job]  # type: ignore[no-any-return]
    if state.rules[RUNS] == KEEP_OWN:
        return state.jobs[OWN, job]  # type: ignore[no-any-return]
    return lowest(state, job)


@lean_kernel
def spare(state: Elastic) -> int:
    """Return how many processors running jobs could free by shrinking."""
    found = 0
    if state.rules[RUNS] != FIXED:
        for k in range(state.now[RUNNING]):
            job = state.running[k]
            found += state.table[SIZE, state.work[ROW, job]] - state.table[SIZE, floor(state, job)]
    return found


@lean_kernel
def shrink(state: Elastic, wanted: int) -> None:
    """Shrink running jobs to free at least `wanted` processors; the caller has checked `spare`.

    First shrinks the job that is furthest above its smallest size.
    """
    work, table, now = state.work, state.table, state.now
    _aim_at_present(state)
    given = 0
    while given < wanted:
        most, chosen = 0, -1
        for k in range(now[RUNNING]):
            job = state.running[k]
            above = table[SIZE, work[TARGET, job]] - table[SIZE, floor(state, job)]
            if above > most:
                most, chosen = above, job
        row = work[TARGET, chosen]
        given += table[SIZE, row] - table[SIZE, row - 1]
        work[TARGET, chosen] = row - 1
    _reach_targets(state)


@lean_kernel
def grow(state: Elastic) -> None:
    """Let running jobs grow on free processors, the smallest first, as long as they end sooner."""
    work, table, now = state.work, state.table, state.now
    _aim_at_present(state)
    left = now[FREE]
    while left > 0:
        least, chosen = np.int64(2**62), -1
        for k in range(now[RUNNING]):
            job = state.running[k]
            row = work[TARGET, job]
            size = table[SIZE, row]
            if not state.jobs[ADOPTS, job] or row + 1 >= state.jobs[LAST, job] or size >= least:
                continue
            if table[SIZE, row + 1] - size <= left and _worth(state, job, row + 1):
                least, chosen = size, job
        if chosen < 0:
            break
        row = work[TARGET, chosen]
        left -= table[SIZE, row + 1] - table[SIZE, row]
        work[TARGET, chosen] = row + 1
    _reach_targets(state)


@lean_kernel
def _worth(state: Elastic, job: int, row: int) -> bool:
    """Return whether a job would end sooner on another size, by its walltime and with the cost of changing."""
    left = max(state.work[HOLDS, job] - state.now[NOW], 1)
    table, present = state.table, state.work[ROW, job]
    return left * (1.0 - table[TIME, row] / table[TIME, present]) > state.rules[COST]  # type: ignore[no-any-return]


@lean_kernel
def _aim_at_present(state: Elastic) -> None:
    for k in range(state.now[RUNNING]):
        job = state.running[k]
        state.work[TARGET, job] = state.work[ROW, job]


@lean_kernel
def _reach_targets(state: Elastic) -> None:
    """Give running jobs their target sizes: first those that shrink."""
    for grows in range(2):
        k = 0
        while k < state.now[RUNNING]:
            job = state.running[k]
            row, target = state.work[ROW, job], state.work[TARGET, job]
            if row != target and (target > row) == (grows == 1):
                _change(state, job, target)
                k = 0  # its index has changed, and those of other jobs
            else:
                k += 1


@lean_kernel
def _change(state: Elastic, job: int, row: int) -> None:
    """Change the size of a running job: it makes no progress for the cost, then continues at its new pace."""
    work, done, table, now = state.work, state.done, state.table, state.now
    present = work[ROW, job]
    _remove(state, job)
    done[SHARE, job] += max(now[NOW] - work[SINCE, job], 0) / table[TIME, present]
    done[USED, job] += table[SIZE, present] * (now[NOW] - done[CHANGED, job])
    done[CHANGED, job] = now[NOW]
    now[FREE] += table[SIZE, present] - table[SIZE, row]
    work[ROW, job], work[TARGET, job], work[SINCE, job] = row, row, now[NOW] + state.rules[COST]
    work[END, job] = end_of(state, job)
    # Remaining seconds by the walltime; below the true remainder only by rounding, hence the maximum.
    left = (1.0 - done[SHARE, job] * done[ACCURACY, job]) * table[WALLTIME, row]
    work[HOLDS, job] = max(work[SINCE, job] + int(np.ceil(left)), work[END, job])
    _insert(state, job)


@lean_kernel
def _insert(state: Elastic, job: int) -> None:
    running, work, now = state.running, state.work, state.now
    k = now[RUNNING]
    while k > 0 and work[HOLDS, running[k - 1]] > work[HOLDS, job]:
        running[k] = running[k - 1]
        k -= 1
    running[k] = job
    now[RUNNING] += 1


@lean_kernel
def _remove(state: Elastic, job: int) -> None:
    running, now = state.running, state.now
    k = 0
    while running[k] != job:
        k += 1
    now[RUNNING] -= 1
    for i in range(k, now[RUNNING]):
        running[i] = running[i + 1]
