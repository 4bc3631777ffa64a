"""The policies without a plan: `fcfs`, and EASY backfilling (Mu'alem & Feitelson 2001, section 2.2).

A pass starts jobs from the head of the queue while they fit. Under `easy` the first that does not fit gets its *shadow
time*, when enough processors will be free for it by the estimates, and the *extra* processors that will then be free
besides it. Other jobs start, in order, if they fit now and either end by the shadow time or fit the extra.

Shadow time and extra do not change while no job completes, except for extra processors that started jobs take: a job
that ends by the shadow time releases its processors by then; any other takes them from the extra; and neither increases
the free processors before the shadow time. So an arrival needs no pass over the queue: the earlier jobs did not start
in the last pass, and nothing has improved for them since.

With reservations neither holds, and the same rule is defined by the profile: a job starts if it fits from now on for
its whole estimate, besides the jobs that hold processors, the reservations, and the head in its earliest fit.

Two more rules, without reservations, under which an arrival is followed by a whole pass:

*Priorities* (`gas.simulation.ranking`). The queue is sorted by priority at the beginning of a pass, so any job can
become the head.

*Adjusted walltimes* (Tang et al. 2013, 5). The scheduler assumes that a job takes less than its request: while it waits
(does it end by the shadow time? what is its priority?), and under `regular` also while it runs (when do its processors
become free?). The job is not killed at its adjusted walltime: if it exceeds it, the scheduler assumes from the next
pass on that it runs for its whole request. Under `selective`, the scheduler assumes this from the start of the job,
even if the job was backfilled because of its adjusted walltime. So the shadow time may move later although every job is
as short as assumed.

The end of an adjusted walltime is not an event but noticed in the next pass. Like the paper's, the simulation is
event-driven, with a pass for each submission, completion and cancellation; changes of priorities between two passes are
not noticed either. With such an event, jobs that fit only because the shadow time has moved later would start sooner;
the mean wait would differ by -0.6 to +0.2% on KTH-SP2 and by -3.7 to +1.0% on SDSC-SP2 (70th to 95th percentile, both
queues).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.profile.blocks import profile_in, with_rows
from gas.profile.changes import clear, take
from gas.profile.flat import ENDLESS, Profile
from gas.profile.holes import first_fit
from gas.s3.queue import Q_JOB, Q_PROCESSORS, Q_WALLTIME
from gas.simulation.planning import create_completion, create_start
from gas.simulation.ranking import rank
from gas.simulation.state import (
    ADJUSTMENT,
    ALIVE,
    BY_CALLER,
    BY_SUBMISSION,
    EASY,
    EVENT,
    EXPIRED,
    EXTRA,
    FREE,
    FRONT,
    GONE,
    HELD,
    MACHINE,
    NOW,
    ORDER,
    PICKED,
    POLICY,
    QUEUE,
    REGULAR,
    RESERVATIONS,
    RUNNING,
    SHADOW,
    UNADJUSTED,
    W_EARLIEST,
    W_ESTIMATE,
    W_HOLDS,
    W_PROCESSORS,
    W_PROMISE,
    W_START,
    W_STATUS,
    W_WAITS,
    WAITING,
    WFP,
    State,
    copy_state,
)

__all__ = ["completes", "expected", "join", "look", "pass_over", "reserve", "start_all", "withdraw"]

_UNKNOWN = -ENDLESS


@lean_kernel
def join(state: State, job: int) -> None:
    """Put an arriving job at the end of the queue, and start it if the policy lets it start."""
    work, queue, now, rules = state.work, state.queue, state.now, state.rules
    i = queue.used[0]
    queue.jobs[Q_PROCESSORS, i] = work[W_PROCESSORS, job]
    queue.jobs[Q_WALLTIME, i] = work[W_WAITS, job]
    queue.jobs[Q_JOB, i] = job
    queue.used[0] = i + 1
    work[W_STATUS, job] = WAITING
    now[ALIVE] += 1
    by_rank = rules[QUEUE] != BY_SUBMISSION or rules[ADJUSTMENT] != UNADJUSTED
    if by_rank or rules[ORDER] == EVENT or rules[RESERVATIONS] > 0:
        look(state)
        return
    if work[W_PROCESSORS, job] > now[FREE]:
        return
    if i > now[FRONT]:
        if rules[POLICY] != EASY:
            return
        if now[SHADOW] == _UNKNOWN:
            _cast_shadow(state)
        if now[NOW] + work[W_ESTIMATE, job] > now[SHADOW]:
            if work[W_PROCESSORS, job] > now[EXTRA]:
                return
            now[EXTRA] -= work[W_PROCESSORS, job]
    queue.used[0] = i
    _pick(state, job)


@lean_kernel
def look(state: State) -> None:
    """Start the jobs that can start, after processors were released or a job has arrived."""
    if state.rules[RESERVATIONS] > 0:
        _pass_around(state)
    else:
        pass_over(state)


@lean_kernel
def pass_over(state: State) -> None:
    """One pass over the queue, without reservations."""
    queue, now = state.queue, state.now
    now[SHADOW] = _UNKNOWN
    _bring_up_to_date(state)
    if state.rules[QUEUE] != BY_SUBMISSION:
        if state.rules[QUEUE] == BY_CALLER:
            return
        if now[FREE] > 0:
            rank(state)
    while now[FRONT] < queue.used[0] and queue.jobs[Q_PROCESSORS, now[FRONT]] <= now[FREE]:
        _pick(state, queue.jobs[Q_JOB, now[FRONT]])
        now[FRONT] += 1
    if state.rules[POLICY] == EASY and now[FRONT] < queue.used[0] and now[FREE] > 0:
        _cast_shadow(state)
        q = now[FRONT] + 1
        while q < queue.used[0] and now[FREE] > 0:
            processors = queue.jobs[Q_PROCESSORS, q]
            if processors <= now[FREE]:
                by_shadow = now[NOW] + queue.jobs[Q_WALLTIME, q] <= now[SHADOW]
                if by_shadow or processors <= now[EXTRA]:
                    if not by_shadow:
                        now[EXTRA] -= processors
                    _pick(state, queue.jobs[Q_JOB, q])
                    q = _take_out(state, q)
                    continue
            q += 1
    if 2 * now[FRONT] > queue.used[0]:  # so that the queue needs at most twice the room of its waiting jobs
        _move_up(state)


@lean_kernel
def _bring_up_to_date(state: State) -> None:
    """Update, after time has passed, the instants until which jobs hold processors."""
    rules = state.rules
    if rules[ORDER] == EVENT:
        _expire(state)
    elif rules[ADJUSTMENT] == REGULAR:
        _extend(state)


@lean_kernel
def _take_out(state: State, q: int) -> int:
    """Remove the job at an index from the queue, and return the index of the next job; the shorter side is moved."""
    queue, now = state.queue, state.now
    if q - now[FRONT] < queue.used[0] - q:
        for row in (Q_PROCESSORS, Q_WALLTIME, Q_JOB):
            for i in range(q, now[FRONT], -1):
                queue.jobs[row, i] = queue.jobs[row, i - 1]
        now[FRONT] += 1
        return q + 1
    for row in (Q_PROCESSORS, Q_WALLTIME, Q_JOB):
        for i in range(q + 1, queue.used[0]):
            queue.jobs[row, i - 1] = queue.jobs[row, i]
    queue.used[0] -= 1
    return q


@lean_kernel
def _move_up(state: State) -> None:
    """Move the queue to begin at index 0."""
    queue, now = state.queue, state.now
    for row in (Q_PROCESSORS, Q_WALLTIME, Q_JOB):
        for i in range(now[FRONT], queue.used[0]):
            queue.jobs[row, i - now[FRONT]] = queue.jobs[row, i]
    queue.used[0] -= now[FRONT]
    now[FRONT] = 0


@lean_kernel
def _cast_shadow(state: State) -> None:
    """Find the shadow time of the head of the queue, and the extra processors then."""
    held, work, now = state.held, state.work, state.now
    wanted = state.queue.jobs[Q_PROCESSORS, now[FRONT]]
    gathered, shadow = now[FREE], now[NOW]
    k = 0
    while gathered < wanted:
        shadow = held[0, k]
        while k < now[HELD] and held[0, k] == shadow:
            gathered += work[W_PROCESSORS, held[1, k]]
            k += 1
    now[SHADOW], now[EXTRA] = shadow, gathered - wanted


@lean_kernel
def _pick(state: State, job: int) -> None:
    """Give a job its processors now; in order `event` its start is a future event."""
    work, now = state.work, state.now
    work[W_START, job] = now[NOW]
    now[FREE] -= work[W_PROCESSORS, job]
    now[ALIVE] -= 1
    _hold(state, job, now[NOW] + work[W_HOLDS, job])
    if state.rules[ORDER] == EVENT:
        work[W_STATUS, job] = PICKED
        create_start(state, job, now[NOW])
    else:
        run(state, job)


@lean_kernel
def run(state: State, job: int) -> None:
    """Let a job that has its processors run; its completion is now known to the simulation."""
    if state.work[W_STATUS, job] != EXPIRED:
        state.work[W_STATUS, job] = RUNNING
    create_completion(state, job)


@lean_kernel
def completes(state: State, job: int) -> None:
    """Release the processors of a job, unless that happened at the end of its estimate."""
    work, now = state.work, state.now
    if work[W_STATUS, job] != EXPIRED:
        now[FREE] += work[W_PROCESSORS, job]
        _release(state, job)
    work[W_STATUS, job] = GONE


@lean_kernel
def withdraw(state: State, job: int) -> None:
    """Take a waiting job out of the queue."""
    _leave(state, job)
    state.work[W_STATUS, job] = GONE
    state.now[ALIVE] -= 1


@lean_kernel
def start_all(state: State, jobs: NDArray[np.int64]) -> None:
    """Start waiting jobs, for which there are processors, as decided by the caller, under BY_CALLER."""
    for job in jobs:
        _leave(state, job)
        _pick(state, job)
    if 2 * state.now[FRONT] > state.queue.used[0]:
        _move_up(state)


@lean_kernel
def _leave(state: State, job: int) -> None:
    q = state.now[FRONT]
    while state.queue.jobs[Q_JOB, q] != job:
        q += 1
    _take_out(state, q)


@lean_kernel
def _hold(state: State, job: int, until: int) -> None:
    held, now = state.held, state.now
    k = now[HELD]
    while k > 0 and held[0, k - 1] > until:
        held[0, k], held[1, k] = held[0, k - 1], held[1, k - 1]
        k -= 1
    held[0, k], held[1, k] = until, job
    now[HELD] += 1


@lean_kernel
def _release(state: State, job: int) -> None:
    held, now, work = state.held, state.now, state.work
    until = work[W_START, job] + work[W_HOLDS, job]
    low, high = 0, now[HELD]
    while low < high:
        middle = (low + high) >> 1
        if held[0, middle] < until:
            low = middle + 1
        else:
            high = middle
    while held[1, low] != job:
        low += 1
    now[HELD] -= 1
    for k in range(low, now[HELD]):
        held[0, k], held[1, k] = held[0, k + 1], held[1, k + 1]


@lean_kernel
def _expire(state: State) -> None:
    """Release the processors of jobs whose estimate has ended, though their completion is not yet handled."""
    held, now, work = state.held, state.now, state.work
    while now[HELD] > 0 and held[0, 0] <= now[NOW]:
        job = held[1, 0]
        now[FREE] += work[W_PROCESSORS, job]
        _release(state, job)
        work[W_STATUS, job] = EXPIRED


@lean_kernel
def _extend(state: State) -> None:
    """Expect jobs that have exceeded their adjusted walltime to run for their whole request."""
    held, now, work = state.held, state.now, state.work
    while now[HELD] > 0 and held[0, 0] <= now[NOW]:  # a job that still runs has not used its whole request
        job = held[1, 0]
        _release(state, job)
        work[W_HOLDS, job] = work[W_ESTIMATE, job]
        _hold(state, job, work[W_START, job] + work[W_HOLDS, job])


def expected(state: State) -> Profile:
    """Return the free processors from now on if each job takes as long as planned, one after the other.

    The state is not changed.
    """
    state = copy_state(state)
    _bring_up_to_date(state)
    queue, now = state.queue, state.now
    if state.rules[QUEUE] == WFP:
        rank(state)
    plan = with_rows(state.plan, 4 * (int(queue.used[0] - now[FRONT]) + len(state.held[0])))
    _plan_of_held(state._replace(plan=plan))
    for i in range(int(now[FRONT]), int(queue.used[0])):
        processors, walltime = int(queue.jobs[Q_PROCESSORS, i]), int(queue.jobs[Q_WALLTIME, i])
        start = first_fit(plan, processors, walltime, int(now[NOW]))
        take(plan, start, start + walltime, processors)
    return profile_in(plan)


# ---------------------------------------------------------------------------------------------- around reservations


@lean_kernel
def reserve(state: State, job: int) -> None:
    """Give a reservation its earliest fit; under `easy` it does not delay the head of the queue."""
    work, queue, now, plan = state.work, state.queue, state.now, state.plan
    _plan_of_held(state)
    if state.rules[POLICY] == EASY and queue.used[0] > now[FRONT]:
        processors, walltime = queue.jobs[Q_PROCESSORS, now[FRONT]], queue.jobs[Q_WALLTIME, now[FRONT]]
        head = first_fit(plan, processors, walltime, now[NOW])
        take(plan, head, head + walltime, processors)
    start = first_fit(plan, work[W_PROCESSORS, job], work[W_ESTIMATE, job], work[W_EARLIEST, job])
    work[W_START, job], work[W_PROMISE, job], work[W_STATUS, job] = start, start, PICKED
    now[FREE] -= work[W_PROCESSORS, job]
    _hold(state, job, start + work[W_ESTIMATE, job])
    if state.rules[ORDER] == EVENT:
        create_start(state, job, start)
    else:
        run(state, job)


@lean_kernel
def _plan_of_held(state: State) -> None:
    """Reset the plan to the jobs and reservations that hold processors."""
    held, work, now, plan = state.held, state.work, state.now, state.plan
    clear(plan, now[NOW], state.rules[MACHINE])
    for k in range(now[HELD]):
        job = held[1, k]
        if held[0, k] > now[NOW]:
            take(plan, max(work[W_START, job], now[NOW]), held[0, k], work[W_PROCESSORS, job])


@lean_kernel
def _pass_around(state: State) -> None:
    """One pass over the queue, around reservations."""
    queue, now, plan = state.queue, state.now, state.plan
    _plan_of_held(state)
    at_head = True
    q = now[FRONT]
    while q < queue.used[0]:
        processors, walltime = queue.jobs[Q_PROCESSORS, q], queue.jobs[Q_WALLTIME, q]
        start = first_fit(plan, processors, walltime, now[NOW])
        if start == now[NOW] and (at_head or state.rules[POLICY] == EASY):
            take(plan, start, start + walltime, processors)
            _pick(state, queue.jobs[Q_JOB, q])
            q = _take_out(state, q)
            continue
        if at_head and state.rules[POLICY] == EASY:
            take(plan, start, start + walltime, processors)
        at_head = False
        q += 1
    if 2 * now[FRONT] > queue.used[0]:
        _move_up(state)
