"""The event loop, for every policy and both orders (`gas guide rules`, 3 and 4).

`run` continues a simulation from its present state and says why it stopped. Between two steps everything is in the
`State`, so that a simulation can be copied there and continued twice, in different ways.
"""

from __future__ import annotations

from gas.compiled import inlined_kernel, lean_kernel, shared
from gas.heap import TIME, pop
from gas.profile.changes import forget
from gas.profile.flat import ENDLESS
from gas.s3.queue import Q_JOB
from gas.simulation.planning import begin, enter, leave_plan, revise, start_due
from gas.simulation.planning import withdraw as withdraw_planned
from gas.simulation.queueing import completes, join, look, reserve
from gas.simulation.queueing import run as let_run
from gas.simulation.queueing import withdraw as withdraw_queued
from gas.simulation.state import (
    ALIVE,
    ANSWERED,
    ARRIVING,
    CANCELLED,
    CONSERVATIVE,
    DONE,
    DUE,
    ENDS,
    EVENT,
    GONE,
    NEXT,
    NOW,
    ORDER,
    POLICY,
    STARTS,
    W_ASKED,
    W_CANCEL,
    W_END,
    W_FIXED,
    W_START,
    W_STATUS,
    W_SUBMIT,
    WAITING,
    State,
    is_roomy,
)

__all__ = ["ASKS", "FINISHED", "FULL", "NO_JOB", "PAUSED", "STARTED", "run"]

FINISHED, PAUSED, ASKS, FULL, STARTED = range(5)
"""Why `run` stopped: nothing is left; the number of events or the instant is reached; a job arrives whose request the
caller decides; no room; the watched job has started or left.
"""

NO_JOB = -1
"""No job is watched."""


@shared
@lean_kernel
def run(state: State, events: int, before: int, watched: int) -> int:
    """Handle a number of events, but none at or after the instant `before`; return why it stopped.

    Parameters
    ----------
    watched
        A job, by its index, whose start ends the run; or `NO_JOB`.
    """
    now = state.now
    last = now[DONE] + events
    while now[DONE] < last:
        if watched != NO_JOB and state.work[W_STATUS, watched] > WAITING:
            return STARTED
        if not is_roomy(state):
            return FULL
        instant = next_instant(state)
        if instant == ENDLESS:
            return FINISHED
        if instant >= before:
            return PAUSED
        done = _event(state, instant) if state.rules[ORDER] == EVENT else _round(state, instant)
        if not done:
            return ASKS
    return PAUSED


@inlined_kernel
def next_instant(state: State) -> int:
    """Return the instant of the next event."""
    work, now = state.work, state.now
    instant = now[DUE]
    if now[NEXT] < work.shape[1]:
        instant = min(instant, work[W_SUBMIT, now[NEXT]])
    if now[ENDS] > 0:
        instant = min(instant, state.ends[TIME, 0])
    if now[STARTS] > 0:
        instant = min(instant, state.starts[TIME, 0])
    if now[CANCELLED] < len(state.cancellations):
        instant = min(instant, work[W_CANCEL, state.cancellations[now[CANCELLED]]])
    return instant  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- order `instant`


@inlined_kernel
def _round(state: State, instant: int) -> bool:
    """Handle the completions of a round and the following step, then one arrival; False if the caller must answer."""
    work, now = state.work, state.now
    planned = state.rules[POLICY] >= CONSERVATIVE
    if now[ARRIVING] == 0 or instant > now[NOW]:
        now[NOW] = instant
        now[ARRIVING] = 1
        _complete_all(state, planned)
    job = now[NEXT]
    if job < work.shape[1] and work[W_SUBMIT, job] == now[NOW]:
        return _arrive(state, job, planned)
    now[ARRIVING] = 0
    return True


@inlined_kernel
def _complete_all(state: State, planned: bool) -> None:
    """Handle all completions and cancellations that are due, then start the jobs that can start now."""
    work, now = state.work, state.now
    early = gone = False
    if planned:
        forget(state.plan, now[NOW])
    while now[ENDS] > 0 and state.ends[TIME, 0] == now[NOW]:
        job = pop(state.ends, now[ENDS])
        now[ENDS] -= 1
        work[W_END, job] = now[NOW]
        gone = True
        if planned:
            work[W_STATUS, job] = GONE
            early = leave_plan(state, job) or early
        else:
            completes(state, job)
        now[DONE] += 1
    while now[CANCELLED] < len(state.cancellations):
        job = state.cancellations[now[CANCELLED]]
        if work[W_CANCEL, job] > now[NOW]:
            break
        now[CANCELLED] += 1
        now[DONE] += 1
        if _withdraw(state, job, planned):
            early = gone = True
    if planned:
        if early:
            revise(state)
        start_due(state)
        _compact(state)
    elif gone:
        look(state)


@lean_kernel
def _compact(state: State) -> None:
    """Remove started jobs from the queue, once they are most of it."""
    queue, work = state.queue, state.work
    if queue.used[0] <= 2 * state.now[ALIVE] + 64:
        return
    kept = 0
    for i in range(queue.used[0]):
        if work[W_STATUS, queue.jobs[Q_JOB, i]] == WAITING:
            for row in range(queue.jobs.shape[0]):
                queue.jobs[row, kept] = queue.jobs[row, i]
            kept += 1
    queue.used[0] = kept


# --------------------------------------------------------------------------------------------------- order `event`


@lean_kernel
def _event(state: State, instant: int) -> bool:
    """Handle one event; False if it is an arrival that the caller must answer first."""
    work, now = state.work, state.now
    planned = state.rules[POLICY] >= CONSERVATIVE
    now[NOW] = instant
    if planned:
        forget(state.plan, instant)
    job = now[NEXT]
    if job < work.shape[1] and work[W_SUBMIT, job] == instant:
        return _arrive(state, job, planned)
    now[DONE] += 1
    if now[CANCELLED] < len(state.cancellations) and work[W_CANCEL, state.cancellations[now[CANCELLED]]] <= instant:
        job = state.cancellations[now[CANCELLED]]
        now[CANCELLED] += 1
        if _withdraw(state, job, planned):
            _after_completion(state, planned)
    elif now[ENDS] > 0 and state.ends[TIME, 0] == instant:
        job = pop(state.ends, now[ENDS])
        now[ENDS] -= 1
        work[W_END, job] = instant
        if planned:
            work[W_STATUS, job] = GONE
            leave_plan(state, job)
        else:
            completes(state, job)
        _after_completion(state, planned)
    else:
        job = pop(state.starts, now[STARTS])
        now[STARTS] -= 1
        if work[W_START, job] == instant:
            if planned and work[W_STATUS, job] == WAITING:
                begin(state, job)
            elif not planned and work[W_STATUS, job] != GONE:
                let_run(state, job)
    return True


@lean_kernel
def _after_completion(state: State, planned: bool) -> None:
    if planned:
        revise(state)
        _compact(state)
    else:
        look(state)


# ------------------------------------------------------------------------------------------------------------ both


@lean_kernel
def _arrive(state: State, job: int, planned: bool) -> bool:
    """Handle an arrival; False if the caller must answer it first."""
    work, now = state.work, state.now
    if work[W_ASKED, job] == 1 and now[ANSWERED] != job + 1:
        return False
    now[NEXT] += 1
    now[DONE] += 1
    if work[W_CANCEL, job] <= now[NOW]:
        work[W_STATUS, job], work[W_END, job] = GONE, work[W_CANCEL, job]
    elif planned:
        enter(state, job)
    elif work[W_FIXED, job] == 1:
        reserve(state, job)
    else:
        join(state, job)
    return True


@lean_kernel
def _withdraw(state: State, job: int, planned: bool) -> bool:
    """Cancel a job if it waits; a running one completes at that instant, which was known when it started."""
    work, now = state.work, state.now
    if work[W_STATUS, job] != WAITING:
        return False
    if planned:
        withdraw_planned(state, job)
    else:
        withdraw_queued(state, job)
    work[W_START, job], work[W_END, job] = -ENDLESS, now[NOW]
    return True
