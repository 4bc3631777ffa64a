"""All candidates in one simulation per sample, for long queues and many candidates.

There are two differences from simulating each candidate separately (`gas.prediction.forward`):

* A candidate takes no processors. It has a planned start as in the queue, which never gets later and which no job takes
  from it: initially its earliest fit, and after each revision the new earliest fit, if that is sooner. But jobs before
  it may move into its way, so that the starts of small candidates, which come long before those of others in the queue,
  are off by some tenths (tests/benchmarks/test_prediction.py measures this).
* In a long queue the plan is revised not after each early completion but after every `every`-th, in one pass. After all
  other completions, only jobs that can start at once move. Revising a thousand planned starts takes most of the time,
  and the next job to start is rarely among those far away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel, lean_kernel
from gas.prediction.forward import (
    NO_ARRIVALS,
    Arrivals,
    begin_sample,
    first_fits,
    first_instant,
    in_samples,
    machine_of,
    state_of,
    visits_of,
)
from gas.prediction.snapshot import Snapshot
from gas.profile.blocks import (
    BEGIN,
    EACH,
    FREE,
    GIVEN_MOST,
    HEAD,
    LEAST_FREE,
    LENGTH,
    ORDER,
    START,
    USED,
    Blocks,
    frame_at,
)
from gas.profile.changes import give_back, take
from gas.profile.flat import ENDLESS, NEVER
from gas.profile.holes import first_fit
from gas.s3.queue import Q_EARLIEST, Q_JOB, Q_PROCESSORS, Q_START, Q_WALLTIME
from gas.simulation.engine import FINISHED, FULL, NO_JOB, run
from gas.simulation.planning import begin, revise
from gas.simulation.schedule import Policy
from gas.simulation.state import (
    CONSERVATIVE,
    NEXT,
    NOW,
    POLICY,
    S3,
    STATIC,
    W_START,
    W_STATUS,
    WAITING,
    State,
    is_roomy,
)

__all__ = ["starts_of_all"]

SHORT, PART = 100, 20
"""A queue of up to SHORT waiting jobs is revised after every early completion; a longer one when a PART-th of its jobs
have completed early.
"""


def starts_of_all(
    snapshot: Snapshot,
    run_times: NDArray[np.int64],
    candidates: NDArray[np.int64],
    arrivals: Arrivals = NO_ARRIVALS,
    *,
    not_before: int | None = None,
    policy: Policy = "s3",
    threads: int = 1,
    every: int | None = None,
    machine_code: bool = True,
) -> NDArray[np.int64]:
    """Return the approximate start of each candidate in each sample; see `gas.prediction.forward.starts_of_each`.

    Parameters
    ----------
    every
        Number of early completions between revisions; by default depending on the number of waiting jobs.
    """
    waiting = snapshot.waiting
    every = every or (1 if waiting <= SHORT else waiting // PART)
    machine = machine_of(machine_code)
    state = state_of(snapshot, policy, arrivals, machine)
    state.now[NEXT] += 1  # the index of a single candidate stays empty
    first = first_instant(snapshot, not_before)
    latest = first_fits(state, candidates, first, machine)
    stream = arrivals.of_samples(len(run_times))

    follow = machine(follow_all)

    def ahead(scratch: State, rows: slice, found: NDArray[np.int64], done: NDArray[np.int64]) -> bool:
        of_rows = run_times[rows], candidates, first, latest, arrivals.jobs, stream[rows]
        return bool(follow(state, scratch, *of_rows, every, found, done))

    shape = len(run_times), candidates.shape[1]
    return in_samples(state, shape, ahead, threads, visits_of(snapshot, arrivals))


@kernel
def follow_all(
    state: State,
    scratch: State,
    run_times: NDArray[np.int64],
    candidates: NDArray[np.int64],
    first: int,
    latest: NDArray[np.int64],
    later: NDArray[np.int64],
    stream: NDArray[np.int64],
    every: int,
    found: NDArray[np.int64],
    done: NDArray[np.int64],
) -> bool:
    """Simulate each sample until every candidate has started; False if the scratch needs more room first."""
    policy = state.rules[POLICY]
    if every > 1 and policy == S3:
        policy = CONSERVATIVE  # one pass; repeated ones would cost what rarer revisions save
    planned = latest.copy()
    while done[0] < found.shape[0]:
        sample = done[0]
        begin_sample(state, scratch, run_times[sample], later[stream[sample]])
        scratch.rules[POLICY] = STATIC
        planned[:] = latest
        found[sample, :] = NEVER
        missing, since = len(latest), 0
        while True:
            missing -= _start_candidates(scratch, candidates, first, planned, found[sample])
            if missing == 0:
                break
            why = run(scratch, 1, ENDLESS, NO_JOB)
            if why == FULL or not is_roomy(scratch):
                return False
            if why == FINISHED:
                for one in range(len(planned)):  # no other job is left in the way
                    if found[sample, one] == NEVER:
                        found[sample, one] = min(planned[one], max(first, scratch.now[NOW]))
                break
            if scratch.plan.numbers[GIVEN_MOST] == 0:  # no job can start sooner than planned
                continue
            since += 1
            if since >= every:
                since = 0
                scratch.rules[POLICY] = policy
                revise(scratch)
                scratch.rules[POLICY] = STATIC
                _plan_candidates(scratch, candidates, first, planned, found[sample])
            else:
                _start_at_once(scratch)
        done[0] += 1
    return True


@lean_kernel
def _start_candidates(
    state: State, candidates: NDArray[np.int64], first: int, planned: NDArray[np.int64], found: NDArray[np.int64]
) -> int:
    """Record the candidates that have started by now; return their number."""
    now, plan = state.now[NOW], state.plan
    free = _free_now(plan)
    started = 0
    for one in range(len(planned)):
        if found[one] != NEVER:
            continue
        if planned[one] <= now:
            found[one] = planned[one]
        elif now < first:
            continue
        elif candidates[0, one] <= free and candidates[1, one] <= _free_for(plan, candidates[0, one]):
            found[one] = now
        else:
            continue
        started += 1
    return started


@lean_kernel
def _plan_candidates(
    state: State, candidates: NDArray[np.int64], first: int, planned: NDArray[np.int64], found: NDArray[np.int64]
) -> None:
    """Plan the candidates again, none later than before."""
    for one in range(len(planned)):
        if found[one] == NEVER:
            since = max(state.now[NOW], first)
            start = first_fit(state.plan, candidates[0, one], candidates[1, one], since)
            planned[one] = min(planned[one], start)


@lean_kernel
def _start_at_once(state: State) -> None:
    """Start the jobs that can start now besides the planned starts of all others, in queue order."""
    queue, work, plan, now = state.queue, state.work, state.plan, state.now
    free = _free_now(plan)
    for i in range(queue.used[0]):
        size, start = queue.jobs[Q_PROCESSORS, i], queue.jobs[Q_START, i]
        job = queue.jobs[Q_JOB, i]
        if size > free or start <= now[NOW] or work[W_STATUS, job] != WAITING:
            continue
        if queue.jobs[Q_EARLIEST, i] > now[NOW]:
            continue
        walltime = queue.jobs[Q_WALLTIME, i]
        end = now[NOW] + walltime
        if _free_for(plan, size) < min(start, end) - now[NOW]:  # from its own start on it has them anyway
            continue
        take(plan, now[NOW], min(start, end), size)
        give_back(plan, max(start, end), start + walltime, size)
        queue.jobs[Q_START, i] = now[NOW]
        work[W_START, job] = now[NOW]
        begin(state, job)
        free -= size


@lean_kernel
def _free_now(plan: Blocks) -> int:
    numbers = plan.numbers
    k = numbers[HEAD]
    return plan.frames[numbers[ORDER + EACH * k], FREE, frame_at(plan, k, numbers[BEGIN])]  # type: ignore[no-any-return]


@lean_kernel
def _free_for(plan: Blocks, processors: int) -> int:
    """Return for how many seconds from its beginning the plan has this many free processors."""
    frames, numbers = plan.frames, plan.numbers
    k = numbers[HEAD]
    at = ORDER + EACH * k
    j = frame_at(plan, k, numbers[BEGIN])
    while k < numbers[USED]:
        if numbers[at + LEAST_FREE] < processors:
            row = numbers[at]
            while j < numbers[at + LENGTH]:
                if frames[row, FREE, j] < processors:
                    return max(frames[row, START, j] - numbers[BEGIN], 0)  # type: ignore[no-any-return]
                j += 1
        k += 1
        at += EACH
        j = 0
    return ENDLESS
