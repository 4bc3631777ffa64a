"""The state of a stopped simulation: waiting and running jobs, plans, free processors, and results so far.

All of it reads the state; `gas.simulation.simulate.Simulation` advances and changes it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.availability import AvailabilityList
from gas.errors import BadInput
from gas.profile.blocks import profile_in
from gas.profile.flat import ENDLESS
from gas.simulation.engine import next_instant
from gas.simulation.inputs import checked_places
from gas.simulation.queueing import expected
from gas.simulation.reshaping import check_waiting, without_job
from gas.simulation.schedule import NEVER_STARTED, Adjustment, Order, Policy, QueueOrder, Reservation, Schedule
from gas.simulation.state import (
    ABSENT,
    CONSERVATIVE,
    DONE,
    GONE,
    NOW,
    POLICY,
    W_ASKED,
    W_END,
    W_ESTIMATE,
    W_PROCESSORS,
    W_PROMISE,
    W_RUN_TIME,
    W_START,
    W_STATUS,
    WAITING,
    State,
)
from workloads import Overrun, RigidJobs

__all__ = ["Standing"]


class Standing:
    """A simulation that has stopped between two events.

    Attributes
    ----------
    jobs
        Jobs as in the log; `shapes` has the simulated ones.
    engine_seconds
        Duration of the event loop so far.
    """

    policy: Policy
    order: Order
    overrun: Overrun
    queue: QueueOrder
    adjustment: Adjustment | None
    jobs: RigidJobs
    reservations: tuple[Reservation, ...]
    priorities: NDArray[np.int64] | None
    engine_seconds: float
    _state: State
    _place: NDArray[np.int64]
    _reserved: NDArray[np.int64]

    @property
    def now(self) -> int:
        """The instant of the last event, in seconds of the log; before any event, the earliest possible one."""
        return int(self._state.now[NOW])

    @property
    def events(self) -> int:
        """The number of events handled."""
        return int(self._state.now[DONE])

    @property
    def next_instant(self) -> int | None:
        """The instant of the next event; None at the end."""
        instant = int(next_instant(self._state))
        return None if instant == ENDLESS else instant

    def starts(self, places: ArrayLike) -> NDArray[np.int64]:
        """Return the starts of jobs by their indices; `NEVER_STARTED` for one that has not yet started."""
        at = self._place[np.asarray(places, np.int64)]
        work = self._state.work
        found: NDArray[np.int64] = np.where(work[W_STATUS, at] <= WAITING, NEVER_STARTED, work[W_START, at])
        return found

    def ends(self, places: ArrayLike) -> NDArray[np.int64]:
        """Return the ends of jobs by their indices; `NEVER_STARTED` for one that has not yet ended."""
        found: NDArray[np.int64] = self._state.work[W_END, self._place[np.asarray(places, np.int64)]]
        return found

    def standing(self) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the indices of jobs that wait or hold processors, their starts so far, and which hold processors.

        For a waiting job, the start is the planned one, under a policy that plans.
        """
        status = self._state.work[W_STATUS, self._place]
        places = np.flatnonzero((status > ABSENT) & (status < GONE))
        return places, self._state.work[W_START, self._place[places]], status[places] > WAITING

    def availability(self, scheduler: str = "simulation", *, without: int | None = None) -> AvailabilityList:
        """Return the free processors from now on, besides all running and waiting jobs.

        A promise under the planning policies except `conservative-replan`. Under policies without a plan, it assumes
        that no other job arrives and that each uses its whole estimate, or adjusted walltime, in queue order.

        Parameters
        ----------
        without
            The index of a waiting job that is left out: the list then shows what it could get (`reshape`).
        """
        planned = self._plans
        profile = profile_in(self._state.plan) if planned else expected(self._state)
        if without is not None:
            profile = without_job(profile, self._state, self._waiting(without))
        count = int(profile.used[0])
        starts = np.maximum(profile.starts[:count], self.now)
        last = int(np.searchsorted(starts, self.now, side="right")) - 1
        return AvailabilityList(
            scheduler=scheduler,
            kind="promise" if planned and self.policy != "conservative-replan" else "estimate",
            now=self.now,
            processors=self.jobs.machine,
            version=str(self.events),
            starts=starts[last:],
            free=profile.free[last:count],
        )

    @property
    def shapes(self) -> RigidJobs:
        """The simulated jobs: with the given answers, and as reshaped."""
        work, place = self._state.work, self._place
        if not work[W_ASKED].any():
            return self.jobs
        size, limit, lasts = work[W_PROCESSORS, place], work[W_ESTIMATE, place], work[W_RUN_TIME, place]
        return replace(self.jobs, processors=size, estimate=limit, run_time=lasts)

    def schedule(self) -> Schedule:
        """Return the schedule so far; ends (and starts) that are not known yet are `NEVER_STARTED`."""
        work, place = self._state.work, self._place
        promises = self.policy not in ("fcfs", "easy", "conservative-replan")
        return Schedule(
            jobs=self.shapes,
            start=np.where(work[W_STATUS, place] <= WAITING, NEVER_STARTED, work[W_START, place]),
            end=work[W_END, place],
            promise=work[W_PROMISE, place] if promises else None,
            policy=self.policy,
            order=self.order,
            overrun=self.overrun,
            reservations=self.reservations,
            reserved=work[W_START, self._reserved],
            engine_seconds=self.engine_seconds,
            queue=self.queue,
            adjustment=self.adjustment,
            priority=self.priorities,
        )

    @property
    def _plans(self) -> bool:
        return int(self._state.rules[POLICY]) >= CONSERVATIVE

    def _waiting(self, place: int) -> int:
        """Return the index in the work of a job that can be reshaped."""
        job = int(checked_places([place], self.jobs)[0])
        if not self._plans:
            raise BadInput(f'policy "{self.policy}": does not plan every job, so none can be reshaped')
        at = int(self._place[job])
        check_waiting(self._state, at, f"job {self.jobs.id[job]}")
        return at
