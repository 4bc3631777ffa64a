"""Changes the shape of a waiting job while a simulation stands between two events, like `S3.reshape` live.

The job keeps its place in the queue and gets the first slot that it fits now. Only then other jobs are moved, by the
rule of the policy, as after a completion.
"""

from __future__ import annotations

from gas.compiled import lean_kernel
from gas.errors import BadInput
from gas.profile.blocks import LEVELS, level_of
from gas.profile.changes import forget, give_back
from gas.profile.flat import Profile, with_room
from gas.profile.flat import give_back as give_back_span
from gas.s3.placing import place
from gas.s3.queue import Q_LEVEL, Q_PROCESSORS, Q_START, Q_WALLTIME
from gas.simulation.planning import create_start, place_in_queue, read_starts, revise
from gas.simulation.state import (
    ARRIVING,
    CONSERVATIVE,
    EVENT,
    GONE,
    NOW,
    ORDER,
    POLICY,
    W_ASKED,
    W_EARLIEST,
    W_END,
    W_ESTIMATE,
    W_FIXED,
    W_HOLDS,
    W_PROCESSORS,
    W_PROMISE,
    W_RUN_TIME,
    W_START,
    W_STATUS,
    W_WAITS,
    WAITING,
    State,
)

__all__ = ["check_waiting", "move_clock", "reshape", "without_job"]


def check_waiting(state: State, job: int, name: str) -> None:
    """Raise `BadInput` unless a job, by its index in the work, waits."""
    status = int(state.work[W_STATUS, job])
    if status == WAITING and state.work[W_FIXED, job] == 0:
        return
    what = "it was not submitted yet" if status < WAITING else "it is running"
    if status == WAITING:
        what = "it is reserved"
    elif status == GONE:
        what = f"it left at {state.work[W_END, job]}"
    raise BadInput(f"{name} does not wait: {what}; only waiting jobs can be reshaped")


def without_job(profile: Profile, state: State, job: int) -> Profile:
    """Return the free processors without a waiting job; the given profile is consumed."""
    profile, start = with_room(profile, 2), int(state.work[W_START, job])
    give_back_span(profile, start, start + int(state.work[W_ESTIMATE, job]), int(state.work[W_PROCESSORS, job]))
    return profile


@lean_kernel
def move_clock(state: State, instant: int) -> None:
    """Advance the clock to an instant; no event can precede it any more."""
    now = state.now
    if instant > now[NOW]:
        now[NOW], now[ARRIVING] = instant, 0
        if state.rules[POLICY] >= CONSERVATIVE:
            forget(state.plan, instant)


@lean_kernel
def reshape(state: State, job: int, processors: int, estimate: int, run_time: int) -> None:
    """Give a waiting job another shape now; there must be room for it."""
    work, now, jobs = state.work, state.now, state.queue.jobs
    before, held, size = work[W_START, job], work[W_ESTIMATE, job], work[W_PROCESSORS, job]
    give_back(state.plan, before, before + held, size)
    start = place(state.plan, processors, estimate, max(now[NOW], work[W_EARLIEST, job]))
    work[W_RUN_TIME, job], work[W_ASKED, job] = run_time, 1
    if start == before and held == estimate and size == processors:
        return
    at = place_in_queue(state, job)
    jobs[Q_PROCESSORS, at], jobs[Q_WALLTIME, at], jobs[Q_START, at] = processors, estimate, start
    jobs[Q_LEVEL, at] = min(level_of(processors), state.plan.numbers[LEVELS] - 1)
    work[W_PROCESSORS, job], work[W_ESTIMATE, job] = processors, estimate
    work[W_WAITS, job], work[W_HOLDS, job] = estimate, estimate
    work[W_START, job], work[W_PROMISE, job] = start, start
    if state.rules[ORDER] == EVENT:
        create_start(state, job, start)
    revise(state)
    read_starts(state)
