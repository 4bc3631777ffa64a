"""Choosing by prediction: the size on which a job ends first on average over simulations with drawn run times.

Each sample is a separate simulation of rigid jobs with the same event loop: running jobs and jobs that wait ahead of
the choosing job. Run times are drawn from the shares of walltimes that the last jobs of their users used. Each pass
shows whether the choosing job would start on each of its sizes. Jobs behind it and future jobs are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.malleate.forecast import MOST_PLANNED
from experiments.malleate.passes import look, shadow_of
from experiments.malleate.sizes import complete, next_end
from experiments.malleate.state import (
    ACCURACY,
    ADOPTS,
    END,
    ENDED,
    FIRST,
    FREE,
    HOLDS,
    KNOWN,
    LAST,
    LAST_SHARES,
    MACHINE,
    NEXT,
    NOW,
    OUT,
    OWN,
    ROW,
    RUNNING,
    SAMPLES,
    SIZE,
    START,
    TIME,
    TOTAL,
    USER,
    WAITING,
    WALLTIME,
    Elastic,
)
from gas.compiled import lean_kernel

__all__ = ["AGAIN", "choose_by_samples", "draw", "mold_again_by_samples", "note_share"]

AGAIN = 20
"""Jobs at the head of the queue that choose again; those behind them can still choose later."""


_LEAST_OF_USER = 5
_TRIES = 10


@lean_kernel
def note_share(state: Elastic, job: int) -> None:
    """Record the share of its walltime that a just ended job has used."""
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
    """Choose the size of a job with the least mean end over samples; of equal ones the smallest.

    `ahead` jobs of the queue are ahead of it. The job is last in the sampled queue, so nothing before its start depends
    on its size: each sample is one simulation in which all sizes wait. The scratch needs room for all running and
    waiting jobs.
    """
    jobs, luck, ends = state.jobs, state.luck, scratch.ends
    samples, seed = state.rules[SAMPLES], luck[0]
    first, count = jobs[FIRST, job], jobs[LAST, job] - jobs[FIRST, job]
    for i in range(count):
        ends[TOTAL, i], ends[NEXT, i] = samples * state.table[TIME, first + i], 0
    least, sample = 2**62, 0  # no size is known yet
    while sample < samples and _is_open(ends, count, sample):
        draw(state, scratch, ahead)
        least = _wait(state, scratch, job, sample, least)
        sample += 1
    luck[0] = (seed + 1) * 48271 % 2147483647
    for i in range(count - 1, -1, -1):
        if ends[NEXT, i] == KNOWN and ends[TOTAL, i] <= least:
            state.work[ROW, job] = first + i


@lean_kernel
def _is_open(ends: NDArray[np.int64], count: int, sample: int) -> bool:
    """Return whether any size has to wait in a sample."""
    found = False
    for i in range(count):
        found = found or ends[NEXT, i] == sample
    return found


@lean_kernel
def _wait(state: Elastic, scratch: Elastic, job: int, sample: int, least: int) -> int:
    """Let all sizes of a job wait in a sample; return the least sum of ends over all samples known so far.

    A size drops out once its execution times alone, or with its waits so far, exceed that sum. Whether a job starts at
    once depends only on walltimes, so a size that does not wait in one sample waits in none.
    """
    table, now, ends, first = state.table, scratch.now, scratch.ends, state.jobs[FIRST, job]
    count, begun = state.jobs[LAST, job] - first, now[NOW]
    last = sample == state.rules[SAMPLES] - 1
    while True:
        look(scratch)
        waited, shadow, extra, free = now[NOW] - begun, now[NOW], 0, now[FREE]
        if now[WAITING] > 0 and free > 0:
            shadow, extra = shadow_of(scratch)
        left = False
        for i in range(count):
            if ends[NEXT, i] != sample:
                continue
            if ends[TOTAL, i] + waited > least:
                ends[NEXT, i] = OUT
                continue
            size, walltime = table[SIZE, first + i], table[WALLTIME, first + i]
            if size <= free and (now[WAITING] == 0 or now[NOW] + walltime <= shadow or size <= extra):
                ends[TOTAL, i] += waited
                ends[NEXT, i] = KNOWN if last or waited == 0 else sample + 1
                if ends[NEXT, i] == KNOWN:
                    least = min(least, ends[TOTAL, i])
            else:
                left = True
        if not left:
            return least
        now[NOW] = next_end(scratch)
        k = 0
        while k < now[RUNNING]:
            if scratch.work[END, scratch.running[k]] == now[NOW]:
                complete(scratch, scratch.running[k])
            else:
                k += 1


@lean_kernel
def draw(state: Elastic, scratch: Elastic, ahead: int) -> None:
    """Set the scratch to a simulation of the running and the first `ahead` waiting jobs, with drawn run times."""
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
def _run_time(state: Elastic, job: int, walltime: int, age: int) -> int:
    """Draw the run time of a job that has run for `age` seconds: above that, and within its walltime."""
    for _ in range(_TRIES):
        lasts = int(_share(state, job) * walltime)
        if lasts > age:
            return lasts
    return age + max(int(_uniform(state) * (walltime - age)), 1)


@lean_kernel
def _share(state: Elastic, job: int) -> float:
    """Draw from the shares of the user's last jobs, or of all users' if few are known."""
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
