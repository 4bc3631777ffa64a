"""Branching: the outcome of each of several answers for the waiting job, simulated in a scratch state.

A branch ends when the job starts, so its cost besides the events until then must be small: the scratch keeps what no
branch can change, refreshes only what one may have changed, and all branches are simulated in one call of machine
code. A job that a planning policy would start at its arrival is not simulated at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.compiled import available, compiled, inlined_kernel, kernel
from gas.profile.blocks import COVERED_AT, EACH, HEAD, LENGTH, LEVELS, ROW, ROWS, USED, Blocks
from gas.profile.blocks import ORDER as ORDER_OF_BLOCKS
from gas.profile.flat import ENDLESS
from gas.profile.holes import first_fit
from gas.s3.queue import Q_JOB
from gas.simulation.engine import ASKS, FULL, run
from gas.simulation.schedule import NEVER_STARTED
from gas.simulation.state import (
    ANSWERED,
    CONSERVATIVE,
    DONE,
    ENDS,
    FRONT,
    GONE,
    HELD,
    NEXT,
    NOW,
    POLICY,
    STARTS,
    W_CANCEL,
    W_END,
    W_ESTIMATE,
    W_HOLDS,
    W_PROCESSORS,
    W_RUN_TIME,
    W_START,
    W_STATUS,
    W_WAITS,
    WAITING,
    State,
    copy_state,
    with_room,
)
from workloads import Overrun

__all__ = ["Scratch", "follow", "plain_answers"]


def plain_answers(
    given: Sequence[NDArray[Any]], machine: int, longest: int, overrun: Overrun
) -> NDArray[np.int64] | None:
    """Return valid answers in columns of processors, estimate and run time; None if any is invalid.

    After None, the caller checks them one by one, which is slow but names the error.

    Parameters
    ----------
    given
        Processors, estimates and run times.
    longest
        Estimates must be less than this; otherwise some instant could be too far from second 0.
    """
    if any(each.ndim != 1 or each.dtype.kind not in "iu" or each.size != given[0].size for each in given):
        return None
    if not given[0].size or any(int(each.max()) >= ENDLESS for each in given):
        return None
    sizes, limits, lasts = (each.astype(np.int64) for each in given)
    if sizes.min() < 1 or sizes.max() > machine or limits.min() < 1 or lasts.min() < 0:
        return None
    if overrun == "kill":
        lasts = np.minimum(lasts, limits)
    else:
        limits = np.maximum(limits, lasts)
    return np.array([sizes, limits, lasts]) if int(limits.max()) < longest else None


class Scratch:
    """A state in which branches of a simulation are simulated, one after the other.

    Columns of its work before `settled` are jobs that had left when it was last made equal to the simulation; they do
    not change any more. `events` counts the events handled in all branches.
    """

    def __init__(self, state: State, machine_code: bool = True) -> None:
        self._state = with_room(copy_state(state))
        self._settled = 0
        self.events = 0
        self._follow = compiled(follow) if machine_code and available() else follow

    def outcomes(self, state: State, answers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return start and end of the job that arrives in the state, one row per answer.

        Parameters
        ----------
        state
            The job waits for an answer in it; it is not changed. A continuation of the same simulation as before.
        answers
            Columns of processors, estimate and run time.
        """
        scratch = self._state
        if scratch.work.shape != state.work.shape or not _has_room(state, scratch):
            scratch = with_room(copy_state(state))
        else:
            scratch.work[:, self._settled :] = state.work[:, self._settled :]
            scratch = scratch._replace(cancellations=state.cancellations)
        live = state.work[W_STATUS, self._settled : int(state.now[NEXT])] != GONE
        self._settled += int(live.argmax()) if live.any() else len(live)
        found = np.empty((2, answers.shape[1]), np.int64)
        done = np.zeros(3, np.int64)
        touched = np.array([self._settled, state.now[NEXT] + 1])
        while not self._follow(state, scratch, answers, found, done, touched):
            scratch = with_room(scratch)
        self._state = scratch
        self.events += int(done[2])
        return found.T


def _has_room(state: State, other: State) -> bool:
    """Return whether the used parts of a state fit into another state of the same jobs."""
    return (
        len(other.plan.table) >= state.plan.numbers[USED] - state.plan.numbers[HEAD]
        and other.queue.jobs.shape[1] >= state.queue.used[0]
        and all(
            there.shape[1] >= state.now[count] for there, count in zip(other[4:7], (ENDS, STARTS, HELD), strict=True)
        )
    )


@kernel
def follow(
    state: State,
    scratch: State,
    answers: NDArray[np.int64],
    found: NDArray[np.int64],
    done: NDArray[np.int64],
    touched: NDArray[np.int64],
) -> bool:
    """Simulate each answer until the job has started; False if the scratch needs more room to continue.

    Parameters
    ----------
    found
        Receives start and end for each answer.
    done
        The number of completed answers; 1 if the next one is in progress; the number of events in total.
    touched
        Range of columns of its work in which the scratch may differ from the state: first, and after the last.
    """
    work, job = scratch.work, state.now[NEXT]
    while done[0] < answers.shape[1]:
        i = done[0]
        if done[1] == 0 and _starts_at_once(state, answers[0, i], answers[1, i]):
            start = state.now[NOW]
            found[0, i], found[1, i] = start, min(start + answers[2, i], work[W_CANCEL, job])
            done[0] += 1
            continue
        if done[1] == 0:
            copy_into(state, scratch, touched[0], touched[1])
            work[W_PROCESSORS, job], work[W_ESTIMATE, job] = answers[0, i], answers[1, i]
            work[W_WAITS, job], work[W_HOLDS, job] = answers[1, i], answers[1, i]
            work[W_RUN_TIME, job] = answers[2, i]
            scratch.now[ANSWERED] = job + 1
            done[1] = 1
        why = run(scratch, ENDLESS, ENDLESS, job)
        while why == ASKS:  # another job, which keeps its request
            scratch.now[ANSWERED] = scratch.now[NEXT] + 1
            why = run(scratch, ENDLESS, ENDLESS, job)
        touched[1] = max(touched[1], scratch.now[NEXT])
        if why == FULL:
            return False
        start, end = work[W_START, job], work[W_END, job]
        if start != NEVER_STARTED:
            end = min(start + answers[2, i], work[W_CANCEL, job])
        found[0, i], found[1, i] = start, end
        done[0] += 1
        done[1] = 0
        done[2] += scratch.now[DONE] - state.now[DONE]
    return True


@inlined_kernel
def _starts_at_once(state: State, processors: int, estimate: int) -> bool:
    """Return whether the arriving job is planned to start now, so that nothing can happen before its start."""
    now = state.now[NOW]
    if state.rules[POLICY] < CONSERVATIVE or state.work[W_CANCEL, state.now[NEXT]] <= now:
        return False
    return first_fit(state.plan, processors, estimate, now) == now  # type: ignore[no-any-return]


@kernel
def copy_into(state: State, other: State, first: int, last: int) -> None:
    """Make another state of the same jobs equal to this one, if they differ at most in a range of their work.

    Started jobs in the queue and past blocks of the plan are left out, to copy as little as possible: nothing depends
    on them. There must be room.
    """
    work, now = state.work, state.now
    other.work[W_START:, first:last] = work[W_START:, first:last]
    other.now[:] = now
    _copy_plan(state.plan, other.plan)
    kept = 0
    for i in range(now[FRONT], state.queue.used[0]):
        if work[W_STATUS, state.queue.jobs[Q_JOB, i]] == WAITING:
            other.queue.jobs[:, kept] = state.queue.jobs[:, i]
            kept += 1
    other.queue.used[0] = kept
    other.now[FRONT] = 0
    other.ends[:, : now[ENDS]] = state.ends[:, : now[ENDS]]
    other.starts[:, : now[STARTS]] = state.starts[:, : now[STARTS]]
    other.held[:, : now[HELD]] = state.held[:, : now[HELD]]


@kernel
def _copy_plan(plan: Blocks, other: Blocks) -> None:
    """Copy the blocks in order of time, without past ones; staircases that are not yet used are left out."""
    numbers, there = plan.numbers, other.numbers
    head, used = numbers[HEAD], numbers[USED]
    there[:COVERED_AT] = numbers[:COVERED_AT]
    there[HEAD], there[USED], there[ROWS] = 0, used - head, used - head
    there[COVERED_AT : COVERED_AT + numbers[LEVELS]] = 0
    for k in range(used - head):  # loops: slices of so many dimensions take seconds to compile
        at, to = ORDER_OF_BLOCKS + EACH * (head + k), ORDER_OF_BLOCKS + EACH * k
        row, length = numbers[at + ROW], numbers[at + LENGTH]
        for i in range(EACH):
            there[to + i] = numbers[at + i]
        there[to + ROW] = k
        for kind in range(plan.frames.shape[1]):
            for i in range(length):
                other.frames[k, kind, i] = plan.frames[row, kind, i]
        for i in range(plan.table.shape[1]):
            other.table[k, i] = plan.table[row, i]
