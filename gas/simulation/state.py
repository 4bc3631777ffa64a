"""The complete state of a simulation at an instant: jobs, plan, waiting and running jobs, and next events.

All of it is int64 arrays, so that machine code can use it, and copying the arrays copies the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import inlined_kernel
from gas.heap import CREATED, JOB, TIME, empty_heap
from gas.profile.blocks import Blocks, empty_blocks, room_for, with_rows
from gas.profile.flat import ENDLESS
from gas.s3.queue import Queue, empty_queue, with_queue_room
from gas.simulation.schedule import (
    ADJUSTMENTS,
    NEVER_STARTED,
    NOT_CANCELLED,
    ORDERS,
    POLICIES,
    QUEUES,
    Adjustment,
    Order,
    Policy,
    QueueOrder,
    Reservation,
)
from workloads import RigidJobs

__all__ = ["State", "copy_state", "initial_state", "is_roomy", "with_room"]

FCFS, EASY, CONSERVATIVE, S3, S3_1999, REPLAN, STATIC = range(7)
"""Policies, as numbers in the order of `POLICIES`."""

INSTANT, EVENT = range(2)
"""Orders, in the order of `ORDERS`."""

UNADJUSTED, REGULAR, SELECTIVE = range(3)
"""Adjustments: none, then in the order of `ADJUSTMENTS`."""

BY_CALLER, BY_SUBMISSION, WFP = range(-1, 2)
"""Orders of the queue, in the order of `QUEUES`; BY_CALLER starts no job: the caller of the event loop decides."""

ABSENT, WAITING, PICKED, RUNNING, EXPIRED, GONE = range(6)
"""Status of a job. PICKED holds processors before its start; EXPIRED holds none, but has not yet completed."""

# Fields of `State.now`: the instant; whether its arrivals have begun; how many jobs have arrived and cancellations been
# handled; the first planned start; how many completions and starts are ahead, how many jobs wait, hold processors, are
# in the plan; how many events were created and handled; the job (plus 1) about which a caller has answered; free
# processors; the head's shadow time and the extra processors then; where the head stands in the queue.
NOW, ARRIVING, NEXT, CANCELLED, DUE, ENDS, STARTS, ALIVE, HELD = range(9)
SPANS, MADE, DONE, ANSWERED, FREE, SHADOW, EXTRA, FRONT = range(9, 17)

# Fields of `State.rules`:
POLICY, ORDER, MACHINE, RESERVATIONS, QUEUE, ADJUSTMENT = range(6)

# Rows of `State.work`: the data of each job, then its results so far.
W_SUBMIT, W_PROCESSORS, W_ESTIMATE, W_RUN_TIME, W_EARLIEST, W_CANCEL, W_FIXED, W_ASKED, W_WAITS = range(9)
W_PRIORITY = 9
W_START, W_END, W_PROMISE, W_STATUS, W_HOLDS = range(10, 15)


class State(NamedTuple):
    """A simulation between two events.

    Attributes
    ----------
    work
        Jobs and reservations in submission order, one column each. The rows are: submission, processors, estimate, run
        time; earliest start; instant of withdrawal; 1 for a reservation, which never moves; 1 for a job at whose
        arrival the caller must answer; the estimate for planning while it waits; its priority; start (the planned one
        while it waits under a planning policy), end, promise, its place, and the estimate for planning while it runs.
        The three estimates of a job are equal, unless an adjusted one was given (`easy`).
    cancellations
        The cancelled jobs, in the order of their cancellations.
    plan
        The processors that running and planned jobs leave free (planning policies; `easy` and `fcfs` use it around
        reservations).
    queue
        The waiting jobs by priority and submission (with priorities, as of the last pass in which any job could start,
        followed by later arrivals). Under planning policies it may still contain started jobs; under the others it
        begins at FRONT.
    ends
        A heap (`gas.heap`) of completions.
    starts
        A heap of starts, if they are events (order `event`).
    held
        The jobs that hold processors, with their ends by estimates, ascending: rows of instant and job (`easy`,
        `fcfs`).
    now
        The single values of the state.
    rules
        Policy, order, size of the machine, number of reservations, order of the queue, adjustment.
    """

    work: NDArray[np.int64]
    cancellations: NDArray[np.int64]
    plan: Blocks
    queue: Queue
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    held: NDArray[np.int64]
    now: NDArray[np.int64]
    rules: NDArray[np.int64]


def initial_state(
    jobs: RigidJobs,
    policy: Policy | None,
    order: Order,
    cancellations: NDArray[np.int64] | None = None,
    reservations: Sequence[Reservation] = (),
    queue: QueueOrder = "fcfs",
    adjustment: Adjustment | None = None,
    priorities: NDArray[np.int64] | None = None,
) -> tuple[State, NDArray[np.int64], NDArray[np.int64]]:
    """Return a simulation before its first event, and the index of each job and each reservation in its work.

    Without a policy only `gas.simulation.queueing.start_all` starts jobs.
    """
    count, booked = len(jobs), len(reservations)
    rows = np.array(reservations, np.int64).reshape(-1, 4)
    # Reservations come before the jobs of the same second.
    order_of_arrival = np.argsort(np.concatenate([rows[:, 0], jobs.submit]), kind="stable")
    total = count + booked
    place = np.empty(total, np.int64)
    place[order_of_arrival] = np.arange(total)
    work = np.zeros((15, total), np.int64)
    for row, of_reservations, of_jobs in (
        (W_SUBMIT, rows[:, 0], jobs.submit),
        (W_PROCESSORS, rows[:, 1], jobs.processors),
        (W_ESTIMATE, rows[:, 3], jobs.estimate),
        (W_RUN_TIME, rows[:, 3], jobs.run_time),
        (W_EARLIEST, np.maximum(rows[:, 0], rows[:, 2]), jobs.submit),
        (W_CANCEL, NOT_CANCELLED, NOT_CANCELLED if cancellations is None else cancellations),
        (W_FIXED, 1, 0),
        (W_PRIORITY, 0, 0 if priorities is None else priorities),
    ):
        work[row, place[:booked]], work[row, place[booked:]] = of_reservations, of_jobs
    work[[W_START, W_END, W_PROMISE]] = NEVER_STARTED
    work[[W_WAITS, W_HOLDS]] = work[W_ESTIMATE]
    cancel = work[W_CANCEL]
    cancelled = np.flatnonzero(cancel != NOT_CANCELLED)
    at = cancelled[np.argsort(cancel[cancelled], kind="stable")]
    begin = int(work[W_SUBMIT, 0]) if total else 0
    if at.size:
        begin = min(begin, int(cancel[at[0]]))  # an event, too, though there is no job yet
    walltime = int(np.percentile(work[W_ESTIMATE], 99)) if total else 1
    now = np.zeros(17, np.int64)
    now[[NOW, DUE, FREE, SHADOW]] = begin, ENDLESS, jobs.machine, -ENDLESS
    by = (None, *ADJUSTMENTS).index(adjustment)
    number, queued = (FCFS, BY_CALLER) if policy is None else (POLICIES.index(policy), QUEUES.index(queue))
    rules = [number, ORDERS.index(order), jobs.machine, booked, queued, by]
    plan = empty_blocks(jobs.machine, begin, walltime=max(1, walltime))
    state = State(
        work,
        at,
        plan,
        empty_queue(),
        empty_heap(64),
        empty_heap(64),
        np.zeros((2, 64), np.int64),
        now,
        np.array(rules, np.int64),
    )
    return state, place[booked:], place[:booked]


def copy_state(state: State) -> State:
    """Return an independent copy."""
    return State(
        state.work.copy(),
        state.cancellations,
        Blocks(*(array.copy() for array in state.plan)),
        Queue(*(array.copy() for array in state.queue)),
        *(array.copy() for array in state[4:]),
    )


@inlined_kernel
def is_roomy(state: State) -> bool:
    """Return whether there is room for any next event: an arrival, or moves and starts of all waiting jobs."""
    now = state.now
    most = now[ALIVE] + 2
    return (
        state.queue.used[0] < state.queue.jobs.shape[1]
        and now[ENDS] + most <= state.ends.shape[1]
        and now[STARTS] + most <= state.starts.shape[1]
        and now[HELD] + most <= state.held.shape[1]
        and room_for(state.plan, 2 * (now[SPANS] + now[HELD] + most))
    )


def with_room(state: State) -> State:
    """Return the state with arrays large enough for the next event; arrays that grow do so by at least half."""
    now = state.now
    most = int(now[ALIVE]) + 2
    starts = state.starts
    if now[STARTS] + most > starts.shape[1] and state.rules[POLICY] != REPLAN:
        starts = _without_stale(state)
    plan = state.plan
    frames = 2 * (int(now[SPANS]) + int(now[HELD]) + most)
    if not room_for(plan, frames):
        plan = with_rows(plan, 2 * frames)
    return State(
        state.work,
        state.cancellations,
        plan,
        with_queue_room(state.queue),
        _for(state.ends, int(now[ENDS]) + most),
        _for(starts, int(now[STARTS]) + most),
        _for(state.held, int(now[HELD]) + most),
        now,
        state.rules,
    )


def _without_stale(state: State) -> NDArray[np.int64]:
    """Return the starts without outdated ones of moved jobs; jobs only move earlier, so no old start becomes valid."""
    heap = state.starts[:, : state.now[STARTS]]
    work = state.work
    valid = heap[:, (work[W_STATUS, heap[JOB]] <= PICKED) & (work[W_START, heap[JOB]] == heap[TIME])]
    state.now[STARTS] = valid.shape[1]
    kept = np.zeros_like(state.starts)
    kept[:, : valid.shape[1]] = valid[:, np.lexsort((valid[CREATED], valid[TIME]))]  # what is sorted is a heap
    return kept


def _for(array: NDArray[np.int64], columns: int) -> NDArray[np.int64]:
    return array if columns <= array.shape[1] else _wider(array, 2 * columns)


def _wider(array: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    wide = np.zeros((*array.shape[:-1], width), np.int64)
    wide[..., : array.shape[-1]] = array
    return wide
