"""Simulates a log completely, or up to an instant or an arrival, from which to query, branch and continue."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.compiled import announce, available, compiled
from gas.errors import BadInput
from gas.profile.blocks import with_rows
from gas.profile.flat import ENDLESS
from gas.simulation.answers import Asked, checked_adjusted, checked_answer, checked_answers, checked_reserved
from gas.simulation.branching import Scratch
from gas.simulation.engine import ASKS, FINISHED, FULL, NO_JOB, run
from gas.simulation.inputs import (
    checked_cancellations,
    checked_machine,
    checked_places,
    checked_priorities,
    checked_reservations,
    reach_of,
    whole,
)
from gas.simulation.reshaping import move_clock, reshape
from gas.simulation.schedule import (
    Adjustment,
    Order,
    Policy,
    QueueOrder,
    Reservation,
    Schedule,
    checked_rules,
)
from gas.simulation.standing import Standing
from gas.simulation.state import (
    ANSWERED,
    NEXT,
    W_ASKED,
    W_EARLIEST,
    W_ESTIMATE,
    W_FIXED,
    W_HOLDS,
    W_PROCESSORS,
    W_RUN_TIME,
    W_START,
    W_SUBMIT,
    W_WAITS,
    copy_state,
    initial_state,
    with_room,
)
from gas.simulation.withdrawal import cancelled_at, never_entering
from workloads import Overrun, RigidJobs, apply_overrun

__all__ = ["Simulation", "simulate"]

F = TypeVar("F", bound=Callable[..., Any])

_ANSWER = (W_PROCESSORS, W_ESTIMATE, W_RUN_TIME, W_WAITS, W_HOLDS)

_BREATH = 0.1  # seconds, approximately, between checks for progress and Ctrl-C


def simulate(
    jobs: RigidJobs,
    policy: Policy,
    *,
    order: Order = "instant",
    overrun: Overrun = "kill",
    cancellations: ArrayLike | None = None,
    reservations: Sequence[Reservation] = (),
    queue: QueueOrder = "fcfs",
    priorities: ArrayLike | None = None,
    progress: Callable[[float], None] | None = None,
    machine_code: bool = True,
) -> Schedule:
    """Return the schedule of these jobs under a policy; `Simulation` documents the parameters."""
    simulation = Simulation(
        jobs,
        policy,
        order=order,
        overrun=overrun,
        cancellations=cancellations,
        reservations=reservations,
        queue=queue,
        priorities=priorities,
        machine_code=machine_code,
    )
    simulation.run(progress=progress)
    return simulation.schedule()


class Simulation(Standing):
    """A simulation that can be stopped between two events, inspected, changed, copied and continued.

    ::

        simulation = Simulation(jobs, "s3", ask=np.flatnonzero(jobs.id == 17))
        place = simulation.run()                 # stops at the arrival of job 17; its place in `jobs`
        other = simulation.copy()
        simulation.answer(processors=16, estimate=3600, run_time=3000)
        simulation.run()                         # None: the simulation has ended
        other.answer()                           # what if it requests the same as in the log?
        other.run()
        simulation.schedule().end[place] - other.schedule().end[place]

    Parameters
    ----------
    jobs
        In submission order.
    cancellations
        For each job the second in which its user cancels it, or `NOT_CANCELLED`; integers. A job that is cancelled
        while it runs ends then; one cancelled at or before its submission never enters. Under order `event`, a
        revision follows each cancellation, as it does each completion; under `instant`, one revision follows all
        cancellations of a second.
    reservations
        Processors requested in advance: at its submission, each gets its earliest fit from its start on, and is never
        moved.
    queue
        The order in which `easy` considers jobs in each pass: "fcfs", by submission; "wfp", by priority
        (`gas.simulation.ranking`).
    priorities
        For each job an integer, under policies that plan every job. Jobs move to earlier starts in the order of the
        queue, in which higher priorities come first; no promise gets later (`gas.s3.placing`).
    adjustment
        Lets an answer give the walltime by which the scheduler plans a job (`gas.simulation.queueing`, under `easy`):
        while it waits and while it runs ("regular"), or only while it waits ("selective").
    ask
        Jobs at whose arrival `run` stops: their indices in `jobs`, from 0, not their numbers (`jobs.id`).
    machine_code
        Compile the event loop, if numba is installed. The schedule is the same without.

    Raises
    ------
    BadInput
        A policy or rule is not known; a machine, cancellations, reservations or places are invalid; or instants and
        estimates are so large that their sums could reach 2**61 s.
    """

    def __init__(
        self,
        jobs: RigidJobs,
        policy: Policy,
        *,
        order: Order = "instant",
        overrun: Overrun = "kill",
        cancellations: ArrayLike | None = None,
        reservations: Sequence[Reservation] = (),
        queue: QueueOrder = "fcfs",
        adjustment: Adjustment | None = None,
        priorities: ArrayLike | None = None,
        ask: ArrayLike = (),
        machine_code: bool = True,
    ) -> None:
        checked_rules(policy, order, overrun, queue, adjustment, reservations)
        self.policy, self.order, self.overrun = policy, order, overrun
        self.queue, self.adjustment = queue, adjustment
        self.jobs = apply_overrun(jobs, overrun)
        self.reservations = checked_reservations(reservations, checked_machine(jobs.machine))
        self.engine_seconds = 0.0
        self._run = run
        if machine_code and available():
            announce(run, "the simulator")
            self._run = compiled(run)
        withdrawn = None if cancellations is None else checked_cancellations(cancellations, jobs)
        places = checked_places(ask, jobs)
        self.priorities = None if priorities is None else checked_priorities(priorities, jobs, policy)
        self._reach = reach_of(self.jobs, withdrawn, self.reservations).checked()
        self._state, self._place, self._reserved = initial_state(
            self.jobs, policy, order, withdrawn, self.reservations, queue, adjustment, self.priorities
        )
        self._job_at = np.full(len(self._place) + len(self._reserved), -1, np.int64)
        self._job_at[self._place] = np.arange(len(self._place))
        self._state.work[W_ASKED, self._place[places]] = 1
        self._waits_for_answer = False
        self._scratch: Scratch | None = None
        self._run(self._state, 0, 0, NO_JOB)  # compile or load before measuring times

    def run(
        self,
        *,
        before: int | None = None,
        events: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> int | None:
        """Continue to the end and return None, or return the place in `jobs` of a job that waits for an answer.

        Parameters
        ----------
        before
            Also stop before any event at this instant or later.
        events
            Also stop after this number of events.
        progress
            Called from time to time with the share of jobs that have arrived.

        Raises
        ------
        BadInput
            If `before` or `events` is no integer, or `events` is negative.
        """
        limit = ENDLESS if before is None else max(-ENDLESS, min(whole(before, "before"), ENDLESS))
        left = ENDLESS if events is None else whole(events, "events")
        if left < 0:
            raise BadInput(f"events {left}: a simulation cannot go back; give 0 or more, or continue from a copy")
        breath = 1000
        while True:
            some = min(left, breath)
            done, began = self.events, time.perf_counter()
            why = self._run(self._state, some, limit, NO_JOB)
            took = time.perf_counter() - began
            self.engine_seconds += took
            if took >= _BREATH:
                breath = max(min(breath // 2, int(breath * _BREATH / took)), 10)
            elif self.events - done >= some:  # otherwise it stopped for lack of room, which is no measure of speed
                breath = min(2 * breath, 10**6)
            left -= self.events - done
            if progress is not None:
                progress(int(self._state.now[NEXT]) / max(1, self._state.work.shape[1]))
            if why == FULL:
                self._state = with_room(self._state)
            elif why == ASKS:
                self._waits_for_answer = True
                return int(self._job_at[self._state.now[NEXT]])
            elif why == FINISHED or left <= 0 or self.events - done < some:
                return None

    def cancel(self, place: int, at: int | None = None) -> None:
        """Cancel a job that has not started: now, at a later instant, or before its submission.

        The result equals that of a simulation that knew of it from the start, unless other events of the present
        instant have already been handled: then the cancellation comes after them.

        Raises
        ------
        BadInput
            The job has started or left, or has a cancellation; the instant is past, or too late (see `Simulation`).
            Then nothing has changed.
        """
        job = int(checked_places([place], self.jobs)[0])
        instant = self.now if at is None else whole(at, "at")
        name = f"job {self.jobs.id[job]}"
        reach = self._reach
        if abs(instant) > abs(reach.furthest):
            reach = reach._replace(furthest=instant, name=f"the cancellation of {name} at").checked()
        self._state = cancelled_at(self._state, int(self._place[job]), instant, name)
        self._reach, self._scratch = reach, None

    def stand_at(self, instant: int) -> int | None:
        """Advance to an instant, including its events; or return the index of a job that must be answered first.

        Raises
        ------
        BadInput
            The instant is past.
        """
        if whole(instant, "instant") < self.now:
            raise BadInput(f"instant {instant}: the simulation is at {self.now}, and cannot go back; keep a copy")
        if (place := self.run(before=instant + 1)) is not None:
            return place
        self._made(move_clock)(self._state, instant)
        return None

    def reshape(
        self,
        place: int,
        *,
        processors: int | None = None,
        estimate: int | None = None,
        run_time: int | None = None,
    ) -> int:
        """Give a waiting job another shape now, under a policy that plans every job, and return its promised start.

        It keeps its place in the queue; values that are not given stay (`gas.simulation.reshaping`).

        Raises
        ------
        BadInput
            The job does not wait, the policy does not plan, or the shape is invalid. Then nothing has changed.
        """
        at = self._waiting(place)
        size, limit, lasts, reach = checked_answer(self._asked(at), processors, estimate, run_time)
        state = with_room(self._state)
        self._state = state._replace(plan=with_rows(state.plan, 4))
        self._made(reshape)(self._state, at, size, limit, lasts)
        self._reach, self._scratch = reach, None
        return int(self._state.work[W_START, at])

    def answer(
        self,
        *,
        processors: int | None = None,
        estimate: int | None = None,
        run_time: int | None = None,
        adjusted: int | None = None,
        reserved_from: int | None = None,
        submits: bool = True,
    ) -> None:
        """Submit a request in place of the job that `run` returned; values that are not given stay as in the log.

        With `submits` False the job is withdrawn at its arrival.

        Parameters
        ----------
        adjusted
            The walltime in seconds by which the scheduler plans the job (see `Simulation`, adjustment), from 1 to its
            estimate; by default the estimate. The job is not killed at it.
        reserved_from
            Reserve it at its earliest fit from this instant on, under policies that plan every job: it does not move.

        Raises
        ------
        BadInput
            No job waits for an answer, the machine cannot run the request, it takes too long (see `Simulation`), the
            adjusted walltime is above the estimate, or nothing is adjusted. Then nothing has changed.
        """
        size, limit, lasts, reach = checked_answer(self._asked(), processors, estimate, run_time)
        waits = checked_adjusted(adjusted, limit, self.adjustment)
        at = int(self._state.now[NEXT])
        if reserved_from is not None:
            reach = checked_reserved(reserved_from, self.policy, int(self._state.work[W_SUBMIT, at]), reach)
            self._state.work[W_FIXED, at], self._state.work[W_EARLIEST, at] = 1, reserved_from
        self._reach = reach
        holds = waits if self.adjustment == "regular" else limit
        self._state.work[list(_ANSWER), at] = size, limit, lasts, waits, holds
        if not submits:
            self._state, self._scratch = never_entering(self._state, at), None
        self._state.now[ANSWERED] = at + 1
        self._waits_for_answer = False

    def outcomes(self, processors: ArrayLike, estimates: ArrayLike, run_times: ArrayLike) -> NDArray[np.int64]:
        """Return the outcomes of several answers for the job that waits for one: rows of start and end.

        Each answer is simulated, with all other jobs as in the log, until the job starts; then its end is known. The
        simulation itself does not advance.

        Parameters
        ----------
        processors, estimates, run_times
            One value per answer, see `answer`.

        Raises
        ------
        BadInput
            As `answer`; also if walltimes are adjusted, since those of future jobs are not yet known.
        """
        if self.adjustment is not None:
            raise BadInput(
                f'adjustment "{self.adjustment}": the outcome of an answer depends on walltimes that later jobs have '
                "not been given yet; answer a copy, and go on with that"
            )
        answers = checked_answers(self._asked(), (processors, estimates, run_times))
        if self._scratch is None:
            self._scratch = Scratch(self._state, machine_code=self._run is not run)
        return self._scratch.outcomes(self._state, answers)

    def _made(self, kernel: F) -> F:
        """Return a kernel in machine code if the event loop is."""
        return kernel if self._run is run else compiled(kernel)

    def _asked(self, job: int | None = None) -> Asked:
        """Return the limits of an answer, or of another shape of a job, given by its index in the work."""
        known = None
        if job is None and self._waits_for_answer:
            job = int(self._state.now[NEXT])
        if job is not None:
            size, limit, lasts = self._state.work[[W_PROCESSORS, W_ESTIMATE, W_RUN_TIME], job]
            known = int(size), int(limit), int(lasts)
        return Asked(known, int(self.jobs.machine), self.overrun, self._reach)

    def copy(self) -> Simulation:
        """Return an independent copy in the present state."""
        other = object.__new__(Simulation)
        other.__dict__.update(self.__dict__)
        other._state, other._scratch = copy_state(self._state), None
        return other
