"""Choosing by prediction: on which size a job would end first, over simulations of its queue with drawn run times.

Each sample is a simulation of its own, by the same event loop, of rigid jobs: those that run and those that wait before
the job that chooses, with run times drawn from the shares of walltimes that their users' last jobs used, and that job
on one of its sizes. Jobs behind it and jobs to come are not in it.
"""

from __future__ import annotations

import numpy as np

from experiments.malleate.forecast import MOST_PLANNED
from experiments.malleate.passes import look
from experiments.malleate.sizes import complete, next_end
from experiments.malleate.state import (
    ACCURACY,
    ADOPTS,
    END,
    ENDED,
    FIRST,
    FREE,
    HOLDS,
    LAST,
    LAST_SHARES,
    MACHINE,
    NOW,
    OWN,
    ROW,
    RUNNING,
    SAMPLES,
    SIZE,
    START,
    TIME,
    USER,
    WAITING,
    WALLTIME,
    Elastic,
)
from gas.compiled import lean_kernel

__all__ = ["AGAIN", "choose_by_samples", "mold_again_by_samples", "note_share"]

AGAIN = 20
"""Jobs at the head of the queue that choose again; those behind them have time."""


_LEAST_OF_USER = 5
_TRIES = 10


@lean_kernel
def note_share(state: Elastic, job: int) -> None:
    """Note which share of its walltime a job has used that has just ended."""
    share = state.done[ACCURACY, job]
    for of in (state.jobs[USER, job], len(state.known) - 1):
        state.recent[of, state.known[of] % LAST_SHARES] = share
        state.known[of] += 1


@lean_kernel
def choose_by_samples(state: Elastic, scratch: Elastic, job: int) -> None:
    """Choose an arriving job's size by samples."""
    if state.now[WAITING] <= MOST_PLANNED:
        _choose(state, scratch, job, state.now[WAITING])


@lean_kernel
def mold_again_by_samples(state: Elastic, scratch: Elastic) -> None:
    """Choose the sizes of the first waiting adopters again by samples, in order of the queue."""
    for q in range(min(state.now[WAITING], AGAIN)):
        if state.jobs[ADOPTS, state.queue[q]]:
            _choose(state, scratch, state.queue[q], q)


@lean_kernel
def _choose(state: Elastic, scratch: Elastic, job: int, ahead: int) -> None:
    """Choose a job's size by the mean of its ends over samples, of several sizes the smallest.

    So many jobs of the queue are ahead of it.

    All sizes are simulated with the same draws, the largest first. What cannot end before the best so far is left
    out: a size whose time alone is longer, and one whose waits in some of the samples are too long already. Whether a
    job starts at once hangs on walltimes alone, so then one sample is enough. The scratch needs room for all that run
    and wait, and one.
    """
    table, jobs, now, luck = state.table, state.jobs, state.now, state.luck
    samples, seed = state.rules[SAMPLES], luck[0]
    best, least = -1, np.int64(2**62)  # the sum of its ends over samples
    for row in range(jobs[LAST, job] - 1, jobs[FIRST, job] - 1, -1):
        total = samples * table[TIME, row]
        luck[0] = seed
        k = 0
        while k < samples and total <= least:
            _draw(state, scratch, ahead)
            wait = _start_in(scratch, table[SIZE, row], table[WALLTIME, row]) - now[NOW]
            total += wait
            k = samples if wait == 0 else k + 1
        if total <= least:
            best, least = row, total
    luck[0] = (seed + 1) * 48271 % 2147483647
    state.work[ROW, job] = best


@lean_kernel
def _draw(state: Elastic, scratch: Elastic, ahead: int) -> None:
    """Make the scratch the simulation of those that run and the first that wait now, with run times drawn for them."""
    now, there = state.now, scratch.now
    there[NOW], there[FREE], there[RUNNING], there[WAITING] = now[NOW], now[FREE], now[RUNNING], ahead
    there[ENDED] = 0
    scratch.rules[MACHINE] = state.rules[MACHINE]
    for k in range(now[RUNNING] + ahead):
        runs = k < now[RUNNING]
        job = state.running[k] if runs else state.queue[k - now[RUNNING]]
        row = state.work[ROW, job]
        walltime = state.table[WALLTIME, row]
        begun = state.work[START, job] if runs else now[NOW]
        lasts = _run_time(state, job, walltime, now[NOW] - begun)
        scratch.table[SIZE, k], scratch.table[TIME, k], scratch.table[WALLTIME, k] = (
            state.table[SIZE, row],
            lasts,
            walltime,
        )
        scratch.work[ROW, k], scratch.work[START, k] = k, begun
        if runs:
            scratch.work[END, k], scratch.work[HOLDS, k] = begun + lasts, state.work[HOLDS, job]
            scratch.running[k] = k
        else:
            scratch.queue[k - now[RUNNING]] = k
        scratch.jobs[FIRST, k], scratch.jobs[OWN, k], scratch.jobs[LAST, k] = k, k, k + 1


@lean_kernel
def _start_in(scratch: Elastic, size: int, walltime: int) -> int:
    """Return when a job starts that joins the queue of the scratch now."""
    now, job = scratch.now, scratch.now[RUNNING] + scratch.now[WAITING]
    scratch.table[SIZE, job], scratch.table[TIME, job], scratch.table[WALLTIME, job] = size, walltime, walltime
    scratch.work[ROW, job] = job
    scratch.jobs[FIRST, job], scratch.jobs[OWN, job], scratch.jobs[LAST, job] = job, job, job + 1
    scratch.work[START, job] = -1
    scratch.queue[now[WAITING]] = job
    now[WAITING] += 1
    while True:
        look(scratch)
        if scratch.work[START, job] >= 0:
            return scratch.work[START, job]  # type: ignore[no-any-return]
        now[NOW] = next_end(scratch)
        k = 0
        while k < now[RUNNING]:
            if scratch.work[END, scratch.running[k]] == now[NOW]:
                complete(scratch, scratch.running[k])
            else:
                k += 1


@lean_kernel
def _run_time(state: Elastic, job: int, walltime: int, age: int) -> int:
    """Draw for how long a job runs that has run for some seconds: above that, and within its walltime."""
    for _ in range(_TRIES):
        lasts = int(_share(state, job) * walltime)
        if lasts > age:
            return lasts
    return age + max(int(_uniform(state) * (walltime - age)), 1)


@lean_kernel
def _share(state: Elastic, job: int) -> float:
    """Draw from the shares of its user's last jobs, or of all users' where few are known."""
    user, of_all = state.jobs[USER, job], len(state.known) - 1
    if state.known[of_all] == 0:
        return 1.0
    count = state.known[user]
    of = user if _uniform(state) * (count + _LEAST_OF_USER) < count else of_all
    at = int(_uniform(state) * min(state.known[of], LAST_SHARES))
    return state.recent[of, at]  # type: ignore[no-any-return]


@lean_kernel
def _uniform(state: Elastic) -> float:
    """Draw from [0, 1): the generator of Park and Miller (CACM 31, 1988) with the multiplier 48271."""
    state.luck[0] = state.luck[0] * 48271 % 2147483647
    return state.luck[0] / 2147483647  # type: ignore[no-any-return]
