"""Runs policies written in Python in the simulator's event loop, and checks their decisions.

A policy is an object with a method ``start(machine)``, which returns the jobs to start now, and optionally
``arrive(job, machine)`` and ``complete(job, machine)``. `start` is called after the completions of an instant and after
each arrival, like built-in policies, if jobs wait and processors are free.

Or it has a function ``kernel(now, free, waiting, running)`` on arrays (`Waiting`, `Running`) that returns the indices
in `waiting` of the jobs to start; it is compiled if numba is installed.

Any error of a policy ends its simulation with a `BadInput` that names the policy, the method, the instant and the job.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, MutableSequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from documents.fields import nearest
from gas.compiled import announce, available, compiled
from gas.errors import BadInput
from gas.heap import TIME
from gas.policies.view import Job, Machine, comes, ends, is_waiting, starts
from gas.policies.wording import ARRIVE, COMPLETE, KERNEL, MAKING, METHODS, NOTHING, START, in_words, where_in
from gas.printable import many
from gas.profile.flat import ENDLESS
from gas.s3.queue import Q_JOB
from gas.simulation.engine import FINISHED, FULL, NO_JOB, run
from gas.simulation.inputs import checked_machine, reach_of
from gas.simulation.queueing import start_all
from gas.simulation.schedule import NEVER_STARTED, Schedule, checked_overrun
from gas.simulation.state import (
    ANSWERED,
    ARRIVING,
    ENDS,
    FREE,
    FRONT,
    HELD,
    NEXT,
    NOW,
    W_ASKED,
    W_END,
    W_ESTIMATE,
    W_PROCESSORS,
    W_START,
    W_SUBMIT,
    State,
    initial_state,
    with_room,
)
from workloads import Overrun, RigidJobs, apply_overrun

__all__ = ["Running", "Waiting", "name_of", "simulate_by"]

_BREATH = 0.1  # seconds between two reports of progress


class Waiting(NamedTuple):
    """The queue as arrays of int64, in the order of submission."""

    submit: NDArray[np.int64]
    processors: NDArray[np.int64]
    walltime: NDArray[np.int64]
    user: NDArray[np.int64]
    group: NDArray[np.int64]


class Running(NamedTuple):
    """The jobs that hold processors, by the ends of their walltimes, ascending; arrays of int64."""

    processors: NDArray[np.int64]
    start: NDArray[np.int64]
    end_by: NDArray[np.int64]


def name_of(policy: object) -> str:
    """Return the default name of a policy: its class."""
    return type(policy).__name__


def simulate_by(
    jobs: RigidJobs,
    policy: object,
    *,
    name: str | None = None,
    overrun: Overrun = "kill",
    progress: Callable[[float], None] | None = None,
    machine_code: bool = True,
    marker: MutableSequence[int] | None = None,
) -> Schedule:
    """Return the schedule of these jobs under a policy written in Python, in order `instant`.

    Parameters
    ----------
    name
        Name of the policy; by default that of its class.
    progress
        Called repeatedly with the share of jobs that have arrived.
    machine_code
        Compile the event loop and the policy's kernel, if numba is installed.
    marker
        Three numbers that are kept up to date: the index in `METHODS` of the running method, the instant, and the job,
        -1 for none. If the process is killed, they say where.

    Raises
    ------
    BadInput
        The policy makes an impossible decision or raises an error; or as `gas.simulation.simulate.Simulation`.
    """
    checked_overrun(overrun)
    checked_machine(jobs.machine)
    jobs = apply_overrun(jobs, overrun)
    reach_of(jobs, None, ()).checked()
    title = name or name_of(policy)
    machine_code = machine_code and available()
    asked = _Asked(title, marker if marker is not None else [MAKING, 0, NOTHING])
    state = initial_state(jobs, None, "instant")[0]
    chooses: _Methods | _Kernel
    if hasattr(policy, "kernel"):
        chooses = _Kernel(policy, asked, jobs, machine_code)
    else:
        chooses = _Methods(policy, asked, jobs, int(state.now[NOW]))
    if machine_code:
        announce(run, "the simulator")
    loop, begin = (compiled(run), compiled(start_all)) if machine_code else (run, start_all)
    loop(state, 0, 0, NO_JOB)
    begin(state, np.empty(0, np.int64))
    began = last = time.perf_counter()
    now = state.now
    state.work[W_ASKED] = 1  # an arrival waits until the policy has seen the completions before it
    while True:
        if _is_next(state):
            now[ANSWERED] = now[NEXT] + 1
        why = loop(state, 1, ENDLESS, NO_JOB)
        if why == FINISHED:
            break
        if why == FULL:
            state = with_room(state)
            continue
        chosen = chooses.look(state)
        if chosen.size:
            begin(state, chosen)
        if progress is not None and (at := time.perf_counter()) - last >= _BREATH:
            last = at
            progress(int(state.now[NEXT]) / len(jobs))
    _refuse_left_over(state, jobs, title)
    work = state.work
    return Schedule(
        jobs=jobs,
        start=work[W_START].copy(),
        end=work[W_END].copy(),
        policy=title,
        overrun=overrun,
        engine_seconds=time.perf_counter() - began,
    )


def _is_next(state: State) -> bool:
    """Return whether a job arrives before any completes."""
    now = state.now
    if now[NEXT] == state.work.shape[1]:
        return False
    submit = state.work[W_SUBMIT, now[NEXT]]
    begun = now[ARRIVING] == 1 and submit == now[NOW]  # the completions of this second are done
    return bool(begun or now[ENDS] == 0 or state.ends[TIME, 0] > submit)


class _Asked:
    """A policy and the place of the present call in it, for messages."""

    def __init__(self, name: str, marker: MutableSequence[int]) -> None:
        self.name, self.marker = name, marker

    def call(self, method: int, now: int, job: int, function: Callable[..., Any], *arguments: object) -> Any:
        """Call a method of the policy; its errors become messages with their place."""
        marker = self.marker
        marker[0], marker[1], marker[2] = method, now, job
        try:
            return function(*arguments)
        except BaseException as error:  # sys.exit() too: a policy's errors must not end this program
            if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                raise  # the user pressed Ctrl-C
            self.fail(f"raised {in_words(error)}")

    def fail(self, what: str) -> NoReturn:
        """Refuse the result of the method that was called last."""
        raise BadInput(f"{where_in(self.name, *self.marker)}: {what}")


class _Methods:
    """A policy with methods, and its view of the machine."""

    def __init__(self, policy: Any, asked: _Asked, jobs: RigidJobs, now: int) -> None:
        self._asked = asked
        self._machine = Machine(int(jobs.machine), now)
        self._sizes = jobs.processors
        self._rows = zip(
            *(column.tolist() for column in (jobs.id, jobs.submit, jobs.processors, jobs.estimate)),
            *(np.array(column).tolist() for column in (jobs.user, jobs.group)),
            strict=True,
        )
        self._arrived = 0
        self._arrive, self._complete, self._start = (self._method(policy, name) for name in METHODS[1:4])

    def _method(self, policy: Any, name: str) -> Callable[..., Any] | None:
        method = self._asked.call(MAKING, 0, NOTHING, getattr, policy, name, None)
        if method is None and name == "start":
            has = [one for one in dir(policy) if not one.startswith("_")]
            alike = next((f"; it has {one}()" for one in has if nearest(one, METHODS[1:]).startswith("; did")), "")
            self._asked.fail(f"has no method start(self, machine){alike}, which chooses the jobs to start")
        if method is not None and not callable(method):
            self._asked.fail(f"{name} is not a method but {type(method).__name__}; write def {name}(self, ...)")
        return method  # type: ignore[no-any-return]

    def look(self, state: State) -> NDArray[np.int64]:
        """Call the policy's methods for what has happened, and return the indices of the jobs that it starts."""
        asked, machine, now = self._asked, self._machine, int(state.now[NOW])
        number = NOTHING
        running = machine.running
        places = np.array([job.place for job in running], np.int64)
        over = places[state.work[W_END, places] != NEVER_STARTED]
        for job in ends(machine, now, over.tolist()) if over.size else ():
            number = job.number
            if self._complete is not None:
                asked.call(COMPLETE, now, number, self._complete, job, machine)
        if state.now[NEXT] > self._arrived:
            job = Job(self._arrived, *next(self._rows))
            self._arrived += 1
            number = job.number
            comes(machine, job, now)
            if self._arrive is not None:
                asked.call(ARRIVE, now, number, self._arrive, job, machine)
        elif not over.size:  # the last arrival of the instant was handled; nothing has happened since
            return _NONE
        if machine.free == 0 or not machine.waiting:
            return _NONE
        assert self._start is not None, "checked when it was made"
        chosen = asked.call(START, now, number, self._start, machine)
        started = self._checked(asked.call(START, now, number, _listed, chosen), int(state.now[FREE]))
        for job in started:
            starts(machine, job)
        return np.array([job.place for job in started], np.int64)

    def _checked(self, chosen: list[object] | None, most: int) -> list[Job]:
        """Return the jobs that a policy starts, after checking that they fit into the free processors.

        Sizes come from the log: a policy that bypasses the read-only view may have changed those in it.
        """
        asked, machine, free = self._asked, self._machine, most
        if chosen is None:
            asked.fail("did not return a list of jobs; return the jobs to start, or [] for none")
        found: dict[int, Job] = {}
        for job in chosen:
            if not isinstance(job, Job):
                asked.fail(f"returned a list that contains {type(job).__name__}; return jobs of machine.waiting")
            if job.place in found:
                asked.fail(f"starts job {job.number} twice; return each job once")
            if not is_waiting(machine, job):
                asked.fail(f"starts job {job.number}, which {_state_of(job)}; return jobs of machine.waiting")
            found[job.place] = job
            free -= (size := int(self._sizes[job.place]))
            if free < 0:
                asked.fail(
                    f"starts too much: with job {job.number} ({many(size, 'processor')}), it takes {most - free} "
                    f"processors, and {most} are free"
                )
        return list(found.values())


_NONE = np.empty(0, np.int64)


def _listed(chosen: object) -> list[object] | None:
    """Return a policy's result as a list, None if it cannot be iterated; this runs the policy's code."""
    if isinstance(chosen, Job) or not isinstance(chosen, Iterable):
        return None
    return list(chosen)


def _state_of(job: Job) -> str:
    return "does not belong to this simulation" if job.start is None else f"started at second {job.start} already"


class _Kernel:
    """A policy with a function on arrays."""

    def __init__(self, policy: Any, asked: _Asked, jobs: RigidJobs, machine_code: bool) -> None:
        self._asked, self._jobs = asked, jobs
        self._user, self._group = (np.array(column) for column in (jobs.user, jobs.group))
        kernel = policy.kernel
        if not callable(kernel):
            asked.fail(f"kernel is not a function but {type(kernel).__name__}")
        if machine_code and not hasattr(kernel, "py_func"):
            from numba import njit

            kernel = asked.call(MAKING, 0, NOTHING, njit, getattr(kernel, "__func__", kernel))
        self._kernel = kernel

    def look(self, state: State) -> NDArray[np.int64]:
        """Return the indices of the jobs that the kernel starts."""
        work, now, asked = state.work, state.now, self._asked
        queue = state.queue.jobs[Q_JOB, now[FRONT] : state.queue.used[0]]
        if not queue.size or now[FREE] == 0:
            return _NONE
        held = state.held[1, : now[HELD]]
        waiting = Waiting(
            work[W_SUBMIT, queue], work[W_PROCESSORS, queue], work[W_ESTIMATE, queue], self._user[queue],
            self._group[queue],
        )  # fmt: skip
        running = Running(work[W_PROCESSORS, held], work[W_START, held], state.held[0, : now[HELD]].copy())
        last = int(self._jobs.id[now[NEXT] - 1])
        free = int(now[FREE])
        found = asked.call(KERNEL, int(now[NOW]), last, self._kernel, int(now[NOW]), free, waiting, running)
        rows = asked.call(KERNEL, int(now[NOW]), last, np.asarray, found)
        if rows.size == 0:
            return _NONE
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            asked.fail(f"returned {type(found).__name__}, no array of places in waiting (integers from 0)")
        if rows.min() < 0 or rows.max() >= len(queue):
            wrong = int(rows[(rows < 0) | (rows >= len(queue))][0])
            asked.fail(f"starts place {wrong} of waiting, which has 0 to {len(queue) - 1}")
        chosen = queue[rows]
        each, times = np.unique(chosen, return_counts=True)
        if times.max() > 1:
            asked.fail(f"starts job {self._jobs.id[each[times > 1][0]]} twice; return each place once")
        sizes = work[W_PROCESSORS, chosen]  # not the sizes in the kernel's arguments, which it may have changed
        if (most := int(sizes.sum())) > free:
            over = chosen[int(np.argmax(np.cumsum(sizes) > free))]
            asked.fail(
                f"starts too much: with job {self._jobs.id[over]}, it takes {most} processors, and {free} are free"
            )
        return np.ascontiguousarray(chosen, np.int64)


def _refuse_left_over(state: State, jobs: RigidJobs, name: str) -> None:
    """Refuse a schedule in which jobs never started."""
    left = np.flatnonzero(state.work[W_START] == NEVER_STARTED)
    if not left.size:
        return
    first = int(left[0])
    more = f", nor {many(len(left) - 1, 'other')}" if len(left) > 1 else ""
    raise BadInput(
        f"policy {name}: never starts job {jobs.id[first]} ({many(int(jobs.processors[first]), 'processor')}, "
        f"submitted at second {jobs.submit[first]}){more}: at second {state.now[NOW]} all has ended and arrived, and "
        "start returned none; it must in the end return every job"
    )
