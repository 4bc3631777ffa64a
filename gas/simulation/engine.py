"""The event loop, for every policy and both orders (DESIGN.md, simulation rules 3 and 4).

`run` goes on from wherever a simulation stands and says why it stopped. Between two steps of it everything is in the
`State`, so that it can be copied there and gone on with, twice and differently.
"""

from __future__ import annotations

from gas.compiled import lean_kernel
from gas.s3.blocks import forget
from gas.simulation.heap import TIME, pop
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
    FOR_EVER,
    GONE,
    NEXT,
    NOW,
    ORDER,
    POLICY,
    STARTS,
    WAITING,
    State,
    is_roomy,
)

__all__ = ["ASKS", "FINISHED", "FULL", "PAUSED", "run"]

FINISHED, PAUSED, ASKS, FULL = range(4)
"""Why `run` stopped: nothing is left; enough events, or the instant given; a job to ask about arrives; no room."""


@lean_kernel
def run(state: State, events: int, before: int) -> int:
    """Handle so many events, but none at or after the instant `before`; return why it stopped."""
    now = state.now
    last = now[DONE] + events
    while now[DONE] < last:
        if not is_roomy(state):
            return FULL
        instant = next_instant(state)
        if instant == FOR_EVER:
            return FINISHED
        if instant >= before:
            return PAUSED
        done = _event(state, instant) if state.rules[ORDER] == EVENT else _round(state, instant)
        if not done:
            return ASKS
    return PAUSED


@lean_kernel
def next_instant(state: State) -> int:
    """Return when something happens next."""
    work, now = state.work, state.now
    instant = now[DUE]
    if now[NEXT] < len(work.submit):
        instant = min(instant, work.submit[now[NEXT]])
    if now[ENDS] > 0:
        instant = min(instant, state.ends[TIME, 0])
    if now[STARTS] > 0:
        instant = min(instant, state.starts[TIME, 0])
    if now[CANCELLED] < len(work.cancellations):
        instant = min(instant, work.cancel[work.cancellations[now[CANCELLED]]])
    return instant  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- order `instant`


@lean_kernel
def _round(state: State, instant: int) -> bool:
    """Handle the completions of a round and the step after them, then one arrival; False if it must be asked about."""
    work, now = state.work, state.now
    planned = state.rules[POLICY] >= CONSERVATIVE
    if now[ARRIVING] == 0 or instant > now[NOW]:
        now[NOW] = instant
        now[ARRIVING] = 1
        _complete_all(state, planned)
    job = now[NEXT]
    if job < len(work.submit) and work.submit[job] == now[NOW]:
        return _arrive(state, job, planned)
    now[ARRIVING] = 0
    return True


@lean_kernel
def _complete_all(state: State, planned: bool) -> None:
    """Handle all completions and cancellations that are due, then start whoever can start now."""
    work, now = state.work, state.now
    early = gone = False
    if planned:
        forget(state.plan, now[NOW])
    while now[ENDS] > 0 and state.ends[TIME, 0] == now[NOW]:
        job = pop(state.ends, now[ENDS])
        now[ENDS] -= 1
        work.end[job] = now[NOW]
        gone = True
        if planned:
            work.status[job] = GONE
            early = leave_plan(state, job) or early
        else:
            completes(state, job)
        now[DONE] += 1
    while now[CANCELLED] < len(work.cancellations):
        job = work.cancellations[now[CANCELLED]]
        if work.cancel[job] > now[NOW]:
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
    """Drop from the queue who has started, once that is most of it."""
    queue, work = state.queue, state.work
    if queue.used[0] <= 2 * state.now[ALIVE] + 64:
        return
    kept = 0
    for i in range(queue.used[0]):
        if work.status[queue.job[i]] == WAITING:
            queue.processors[kept], queue.walltime[kept] = queue.processors[i], queue.walltime[i]
            queue.earliest[kept], queue.start[kept] = queue.earliest[i], queue.start[i]
            queue.seen[kept], queue.level[kept], queue.job[kept] = queue.seen[i], queue.level[i], queue.job[i]
            kept += 1
    queue.used[0] = kept


# --------------------------------------------------------------------------------------------------- order `event`


@lean_kernel
def _event(state: State, instant: int) -> bool:
    """Handle one event; False if it is an arrival about which to ask."""
    work, now = state.work, state.now
    planned = state.rules[POLICY] >= CONSERVATIVE
    now[NOW] = instant
    if planned:
        forget(state.plan, instant)
    job = now[NEXT]
    if job < len(work.submit) and work.submit[job] == instant:
        return _arrive(state, job, planned)
    now[DONE] += 1
    if now[CANCELLED] < len(work.cancellations) and work.cancel[work.cancellations[now[CANCELLED]]] <= instant:
        job = work.cancellations[now[CANCELLED]]
        now[CANCELLED] += 1
        if _withdraw(state, job, planned):
            _after_completion(state, planned)
    elif now[ENDS] > 0 and state.ends[TIME, 0] == instant:
        job = pop(state.ends, now[ENDS])
        now[ENDS] -= 1
        work.end[job] = instant
        if planned:
            work.status[job] = GONE
            leave_plan(state, job)
        else:
            completes(state, job)
        _after_completion(state, planned)
    else:
        job = pop(state.starts, now[STARTS])
        now[STARTS] -= 1
        if work.start[job] == instant:
            if planned and work.status[job] == WAITING:
                begin(state, job)
            elif not planned and work.status[job] != GONE:
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
    """Handle an arrival; False if it has to be asked about first."""
    work, now = state.work, state.now
    if work.asked[job] == 1 and now[ANSWERED] != job + 1:
        return False
    now[NEXT] += 1
    now[DONE] += 1
    if work.cancel[job] <= now[NOW]:
        work.status[job], work.end[job] = GONE, work.cancel[job]
    elif planned:
        enter(state, job)
    elif work.fixed[job] == 1:
        reserve(state, job)
    else:
        join(state, job)
    return True


@lean_kernel
def _withdraw(state: State, job: int, planned: bool) -> bool:
    """Cancel a job if it waits; a running one completes at that instant, which was known when it started."""
    work, now = state.work, state.now
    if work.status[job] != WAITING:
        return False
    if planned:
        withdraw_planned(state, job)
    else:
        withdraw_queued(state, job)
    work.start[job], work.end[job] = -FOR_EVER, now[NOW]
    return True
