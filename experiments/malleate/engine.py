"""The event loop: submissions and ends in order of time; at the same instant, ends come before submissions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.malleate.forecast import choose, mold_again
from experiments.malleate.passes import look
from experiments.malleate.rules import AT_SUBMISSION, EASY, EVER_AGAIN, Strategy
from experiments.malleate.samples import choose_by_samples, mold_again_by_samples, note_share
from experiments.malleate.sizes import complete, next_end
from experiments.malleate.state import (
    ADOPTS,
    CHOSEN_AT,
    DISCIPLINE,
    END,
    ENDED,
    NOW,
    ROW,
    RUNNING,
    SAMPLES,
    SIZE,
    START,
    SUBMIT,
    USED,
    WAITING,
    WHEN,
    Elastic,
    initial,
    scratch_of,
)
from experiments.moldable.moldability import MoldableJobs
from gas.compiled import available, compiled, lean_kernel

__all__ = ["CHOOSE_EVERY", "Played", "play", "step"]

CHOOSE_EVERY = 600
"""Seconds between two times at which waiting jobs choose."""


@dataclass(frozen=True)
class Played:
    """The schedule of the jobs, in their order; instants in seconds."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    used: NDArray[np.float64]
    """Processor-seconds."""
    size: NDArray[np.int64]
    """Processors at the end."""


def play(moldable: MoldableJobs, adopts: NDArray[np.bool_], strategy: Strategy, *, cost: int = 0) -> Played:
    """Simulate jobs of which some choose or change their sizes; the arguments are those of `initial`."""
    state = initial(moldable, adopts, strategy, cost)
    scratch = scratch_of(state) if strategy.samples else state
    (compiled(run) if available() else run)(state, scratch)
    work = state.work
    return Played(work[START], work[END], state.done[USED], state.table[SIZE, work[ROW]])


@lean_kernel
def run(state: Elastic, scratch: Elastic) -> None:
    """Simulate until every job has ended."""
    submitted = 0
    while state.now[ENDED] < state.jobs.shape[1]:
        submitted = step(state, scratch, submitted)


@lean_kernel
def step(state: Elastic, scratch: Elastic, submitted: int) -> int:
    """Handle the next submission, or all ends of the next instant; return how many jobs have been submitted."""
    work, now, jobs = state.work, state.now, state.jobs
    instant = next_end(state)
    if submitted < jobs.shape[1] and jobs[SUBMIT, submitted] < instant:
        now[NOW] = jobs[SUBMIT, submitted]
        chooses = state.rules[WHEN] == AT_SUBMISSION or state.rules[WHEN] == EVER_AGAIN
        if chooses and jobs[ADOPTS, submitted] and state.rules[DISCIPLINE] == EASY:
            if state.rules[SAMPLES] > 0:
                choose_by_samples(state, scratch, submitted)
            else:
                choose(state, submitted)
        state.queue[now[WAITING]] = submitted
        now[WAITING] += 1
        submitted += 1
    else:
        now[NOW] = instant
        k = 0
        while k < now[RUNNING]:
            job = state.running[k]
            if work[END, job] == instant:
                complete(state, job)
                note_share(state, job)
            else:
                k += 1
    again = state.rules[WHEN] == EVER_AGAIN and state.rules[DISCIPLINE] == EASY
    if again and now[WAITING] > 0 and now[NOW] >= now[CHOSEN_AT] + CHOOSE_EVERY:
        if state.rules[SAMPLES] > 0:
            mold_again_by_samples(state, scratch)
        else:
            mold_again(state)
        now[CHOSEN_AT] = now[NOW]
    look(state)
    return submitted
