"""Simulates a queue forward repeatedly, each time with other run times, to find the start of one additional job.

The state is made from a snapshot: running jobs hold their processors, waiting jobs have their planned starts, the
candidate arrives now, and other jobs may arrive later. In each sample the jobs have the run times drawn for them.
Everything else is the simulator's own engine, which stops when the candidate starts.

This needs a simulation per sample and candidate. For long queues and many candidates, `gas.prediction.together` needs
only one per sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gas.compiled import available, compiled, kernel
from gas.errors import BadInput
from gas.heap import empty_heap, push
from gas.prediction.parts import in_parts
from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.profile.blocks import GIVEN_MOST, GIVEN_UNTIL, empty_blocks, with_rows
from gas.profile.changes import take
from gas.profile.flat import ENDLESS
from gas.profile.holes import first_fit
from gas.s3.placing import place
from gas.s3.queue import COUNT, NOT_LOOKED_AT, Q_SEEN, append, empty_queue
from gas.simulation.branching import copy_into
from gas.simulation.engine import FULL, run
from gas.simulation.schedule import POLICIES, Policy
from gas.simulation.state import (
    ALIVE,
    ARRIVING,
    DUE,
    ENDS,
    MADE,
    NEXT,
    NOW,
    RUNNING,
    SPANS,
    W_EARLIEST,
    W_ESTIMATE,
    W_PROCESSORS,
    W_PROMISE,
    W_RUN_TIME,
    W_START,
    W_STATUS,
    W_SUBMIT,
    WAITING,
    State,
    copy_state,
    initial_state,
    with_room,
)
from workloads import RigidJobs

__all__ = [
    "NO_ARRIVALS",
    "Arrivals",
    "begin_sample",
    "first_fits",
    "first_instant",
    "in_samples",
    "latest_starts",
    "samples_within",
    "starts_of_each",
    "starts_of_waiting",
    "state_of",
    "visits_of",
    "visits_of_all",
]

F = TypeVar("F", bound=Callable[..., Any])

PLANNING = tuple(policy for policy in POLICIES if policy not in ("fcfs", "easy"))
"""Policies that plan every job."""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Jobs that may be submitted after the candidate: several streams, of which each sample uses one.

    Attributes
    ----------
    jobs
        Shape ``(streams, 4, jobs)``: submission (ascending, after now), processors, walltime and run time. A stream
        with fewer jobs than others ends with submissions at `UNPLANNED`.
    """

    jobs: NDArray[np.int64]

    def of_samples(self, samples: int) -> NDArray[np.int64]:
        """Return the stream of each sample: all streams are used equally often."""
        return np.arange(samples, dtype=np.int64) % len(self.jobs)


NO_ARRIVALS = Arrivals(np.zeros((1, 4, 0), np.int64))


def starts_of_each(
    snapshot: Snapshot,
    run_times: NDArray[np.int64],
    candidates: NDArray[np.int64],
    arrivals: Arrivals = NO_ARRIVALS,
    *,
    not_before: int | None = None,
    policy: Policy = "s3",
    threads: int = 1,
    machine_code: bool = True,
) -> NDArray[np.int64]:
    """Return the start of each candidate in each sample, if it alone were submitted now.

    Parameters
    ----------
    run_times
        In seconds, for each sample (rows) and job of the snapshot (columns); for a running job, more than it has run.
    candidates
        Shape ``(2, n)``: processors and walltimes.
    arrivals
        Other jobs that may arrive.
    not_before
        The instant before which no candidate may start.
    policy
        One that plans every job.

    Returns
    -------
    Shape ``(samples, candidates)``.
    """
    machine = machine_of(machine_code)
    state = state_of(snapshot, policy, arrivals, machine)
    stream = arrivals.of_samples(len(run_times))
    state.work[W_EARLIEST, len(snapshot)] = first_instant(snapshot, not_before)

    candidates = np.ascontiguousarray(candidates)  # a non-contiguous part of a table would be compiled for anew
    follow = machine(follow_each)

    def ahead(scratch: State, rows: slice, found: NDArray[np.int64], done: NDArray[np.int64]) -> bool:
        return bool(follow(state, scratch, run_times[rows], candidates, arrivals.jobs, stream[rows], found, done))

    visits = visits_of(snapshot, arrivals) * max(candidates.shape[1], 1)
    return in_samples(state, (len(run_times), candidates.shape[1]), ahead, threads, visits)


def starts_of_waiting(
    snapshot: Snapshot,
    run_times: NDArray[np.int64],
    arrivals: Arrivals = NO_ARRIVALS,
    *,
    jobs: NDArray[np.int64] | None = None,
    policy: Policy = "s3",
    threads: int = 1,
    machine_code: bool = True,
) -> NDArray[np.int64]:
    """Return the start of jobs of the snapshot in each sample: shape ``(samples, jobs)``.

    See `starts_of_each`; for a running job it is its actual start.

    Parameters
    ----------
    jobs
        Indices of the requested jobs; None for all.
    """
    machine = machine_of(machine_code)
    state = state_of(snapshot, policy, arrivals, machine)
    state.now[NEXT] += 1  # the index of a candidate stays empty
    stream = arrivals.of_samples(len(run_times))

    follow = machine(follow_waiting)
    wanted = np.arange(len(snapshot), dtype=np.int64) if jobs is None else jobs

    def ahead(scratch: State, rows: slice, found: NDArray[np.int64], done: NDArray[np.int64]) -> bool:
        return bool(follow(state, scratch, run_times[rows], wanted, arrivals.jobs, stream[rows], found, done))

    return in_samples(state, (len(run_times), len(wanted)), ahead, threads, visits_of(snapshot, arrivals))


def in_samples(
    state: State,
    shape: tuple[int, ...],
    ahead: Callable[[State, slice, NDArray[np.int64], NDArray[np.int64]], bool],
    threads: int,
    visits: float,
) -> NDArray[np.int64]:
    """Return the results of all samples: an array of this shape, with a row per sample.

    Parameters
    ----------
    ahead
        Continues some of the samples in a scratch until their rows are complete; False if the scratch needs more room
        first. It keeps its progress in an array of two numbers.
    visits
        Approximate number of visits to jobs per sample.
    """

    def some(rows: slice) -> NDArray[np.int64]:
        scratch = with_room(copy_state(state))
        found = np.empty((rows.stop - rows.start, *shape[1:]), np.int64)
        done = np.zeros(2, np.int64)
        while not ahead(scratch, rows, found, done):
            scratch = with_room(scratch)
        return found

    return in_parts(some, shape[0], threads, visits)


def visits_of(snapshot: Snapshot, arrivals: Arrivals) -> float:
    """Return the approximate number of visits to jobs to simulate one candidate in one sample."""
    return float((snapshot.waiting + 10) ** 2 + 100 * arrivals.jobs.shape[2])


def visits_of_all(snapshot: Snapshot, arrivals: Arrivals) -> float:
    """Return the approximate number to simulate all candidates in one sample (`gas.prediction.together`).

    Measured with 300 to 8,000 waiting jobs, in units of the time for one visit of `visits_of`.
    """
    return float(400 * (snapshot.waiting + 10) + 100 * arrivals.jobs.shape[2])


def samples_within(samples: int, visits: float, of_sample: float, least: int = 1) -> int:
    """Return how many of these samples fit into this number of visits, but at least `least`."""
    return min(samples, max(least, int(min(visits / of_sample, samples))))


def first_instant(snapshot: Snapshot, not_before: int | None) -> int:
    """Return the first instant at which a candidate may start."""
    return snapshot.now if not_before is None else max(snapshot.now, not_before)


def latest_starts(
    snapshot: Snapshot,
    candidates: NDArray[np.int64],
    *,
    not_before: int | None = None,
    policy: Policy = "s3",
    machine_code: bool = True,
) -> NDArray[np.int64]:
    """Return the start of each candidate if all jobs used their whole walltimes: the promise of S³."""
    machine = machine_of(machine_code)
    state = state_of(snapshot, policy, NO_ARRIVALS, machine)
    return first_fits(state, candidates, first_instant(snapshot, not_before), machine)


def first_fits(
    state: State, candidates: NDArray[np.int64], first: int, machine: Callable[[Any], Any]
) -> NDArray[np.int64]:
    """Return the first slot of each candidate in the plan of a state, from an instant on."""
    fit = machine(first_fit)
    return np.array([fit(state.plan, int(p), int(w), first) for p, w in candidates.T], np.int64)


def machine_of(machine_code: bool) -> Callable[[F], F]:
    """Return a function that compiles a kernel, or returns it unchanged."""
    return compiled if machine_code and available() else lambda function: function


def state_of(snapshot: Snapshot, policy: Policy, arrivals: Arrivals, machine: Callable[[Any], Any]) -> State:
    """Return the state of a simulation with the running and waiting jobs of a snapshot, where a candidate arrives next.

    Raises
    ------
    BadInput
        The policy does not plan every job.
    """
    if policy not in PLANNING:
        raise BadInput(f'policy "{policy}" cannot be predicted; those that plan every job can: {", ".join(PLANNING)}')
    count, now, later = len(snapshot), snapshot.now, arrivals.jobs.shape[2]
    ones, unknown = np.ones(later + 1, np.int64), np.full(count + later + 1, -1)
    jobs = RigidJobs(
        id=np.arange(count + later + 1),
        submit=np.concatenate([np.full(count + 1, now), np.full(later, UNPLANNED)]),
        processors=np.concatenate([snapshot.processors, ones]),
        estimate=np.concatenate([snapshot.walltime, ones]),
        run_time=np.concatenate([snapshot.walltime, ones]),
        user=unknown,
        group=unknown,
        executable=unknown,
        row=unknown,
        machine=snapshot.machine,
    )
    state, _, _ = initial_state(jobs, policy, "instant", None, ())
    work, numbers, queue = state.work, state.now, empty_queue(count + later + 2)
    plan = empty_blocks(snapshot.machine, now, walltime=int(snapshot.walltime.max(initial=1)))
    due, settled = ENDLESS, snapshot.settled
    if snapshot.not_before is not None:
        work[W_EARLIEST, :count] = np.maximum(snapshot.not_before, now)
    for i in np.argsort(~settled, kind="stable").tolist():  # running jobs have their processors, whatever the plan
        size, walltime, start = (int(of[i]) for of in (snapshot.processors, snapshot.walltime, snapshot.start))
        plan = with_rows(plan, 2)
        if settled[i]:
            machine(take)(plan, max(start, now), max(start + walltime, now + 1), size)
        elif start == UNPLANNED:
            start = int(machine(place)(plan, size, walltime, int(work[W_EARLIEST, i])))
        else:
            machine(take)(plan, start, start + walltime, size)
        work[W_START, i], work[W_PROMISE, i] = start, start
        work[W_STATUS, i] = RUNNING if settled[i] else WAITING
        if not settled[i]:
            machine(append)(queue, plan, i, size, walltime, int(work[W_EARLIEST, i]), start)
            due = min(due, start)
    if policy == "conservative":  # it walks its queue once, so some jobs may be able to move
        queue.jobs[Q_SEEN, : queue.used[COUNT]] = NOT_LOOKED_AT
        plan.numbers[GIVEN_MOST], plan.numbers[GIVEN_UNTIL] = snapshot.machine, work[W_START, :count].max(initial=now)
    numbers[[NOW, ARRIVING, NEXT, DUE, ALIVE, SPANS]] = now, 1, count, due, int(queue.used[0]), count
    return state._replace(plan=plan, queue=queue, ends=empty_heap(2 * count + later + 64))


@kernel
def follow_each(
    state: State,
    scratch: State,
    run_times: NDArray[np.int64],
    candidates: NDArray[np.int64],
    later: NDArray[np.int64],
    stream: NDArray[np.int64],
    found: NDArray[np.int64],
    done: NDArray[np.int64],
) -> bool:
    """Simulate each candidate in each sample until it starts; False if the scratch needs more room first."""
    work, count = scratch.work, run_times.shape[1]
    while done[0] < found.shape[0]:
        sample = done[0]
        while done[1] < found.shape[1]:
            size, walltime = candidates[0, done[1]], candidates[1, done[1]]
            begin_sample(state, scratch, run_times[sample], later[stream[sample]])
            work[W_PROCESSORS, count], work[W_ESTIMATE, count], work[W_RUN_TIME, count] = size, walltime, walltime
            if run(scratch, ENDLESS, ENDLESS, count) == FULL:
                return False
            found[sample, done[1]] = work[W_START, count]
            done[1] += 1
        done[1] = 0
        done[0] += 1
    return True


@kernel
def follow_waiting(
    state: State,
    scratch: State,
    run_times: NDArray[np.int64],
    jobs: NDArray[np.int64],
    later: NDArray[np.int64],
    stream: NDArray[np.int64],
    found: NDArray[np.int64],
    done: NDArray[np.int64],
) -> bool:
    """Simulate each sample until these jobs have started; False if the scratch needs more room first."""
    work = scratch.work
    while done[0] < found.shape[0]:
        begin_sample(state, scratch, run_times[done[0]], later[stream[done[0]]])
        for k in range(len(jobs)):  # one after the other, so that all of them start
            if work[W_STATUS, jobs[k]] == WAITING and run(scratch, ENDLESS, ENDLESS, jobs[k]) == FULL:
                return False
            found[done[0], k] = work[W_START, jobs[k]]
        done[0] += 1
    return True


@kernel
def begin_sample(state: State, scratch: State, run_times: NDArray[np.int64], later: NDArray[np.int64]) -> None:
    """Reset the scratch to the beginning, with these run times and arrivals."""
    work, now, count = scratch.work, scratch.now, len(run_times)
    copy_into(state, scratch, 0, work.shape[1])
    for k in range(later.shape[1]):
        at = count + 1 + k
        work[W_SUBMIT, at], work[W_EARLIEST, at] = later[0, k], later[0, k]
        work[W_PROCESSORS, at], work[W_ESTIMATE, at], work[W_RUN_TIME, at] = later[1, k], later[2, k], later[3, k]
    for job in range(count):
        work[W_RUN_TIME, job] = run_times[job]
        if work[W_STATUS, job] == RUNNING:
            end = max(work[W_START, job] + run_times[job], now[NOW] + 1)
            push(scratch.ends, now[ENDS], end, now[MADE], job)
            now[ENDS] += 1
            now[MADE] += 1
