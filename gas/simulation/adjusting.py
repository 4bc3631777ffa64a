"""EASY with walltimes that the scheduler adjusts on-line, by the jobs that have ended in the simulation so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.simulation.schedule import NEVER_STARTED, Adjustment, QueueOrder, Schedule
from gas.simulation.simulate import Simulation, simulate
from workloads import RigidJobs
from workloads.adjustment import Adjuster, Scheme

__all__ = ["Adjusted", "simulate_adjusted"]

_BETWEEN_REPORTS = 500  # arrivals between two calls of `progress`


@dataclass(frozen=True, eq=False)
class Adjusted:
    """A schedule, and the walltimes that the scheduler planned with.

    Attributes
    ----------
    schedule
        Its jobs have the estimates of their users.
    adjusted
        The walltime of each job after the adjustment, in seconds, never above its estimate; in the order of the
        schedule's jobs.
    """

    schedule: Schedule
    adjusted: NDArray[np.int64]


def simulate_adjusted(
    jobs: RigidJobs,
    scheme: Scheme | None,
    *,
    adjustment: Adjustment = "regular",
    queue: QueueOrder = "fcfs",
    progress: Callable[[float], None] | None = None,
    machine_code: bool = True,
) -> Adjusted:
    """Return the schedule of EASY with walltimes that are adjusted at submission (Tang et al. 2013).

    The history is that of the simulation: jobs that have ended in it, each with the walltime requested by its user and
    its simulated run time, which is the walltime if it was killed. Jobs of zero length that start in the second of a
    submission end after it.

    Parameters
    ----------
    scheme
        The scheme of adjustment; None for no adjustment, the baseline.
    adjustment
        The jobs that the scheduler plans with adjusted walltimes, see `gas.simulation.simulate.Simulation`, as for
        `queue`.
    progress
        Called from time to time with the share of jobs that have arrived.

    Raises
    ------
    BadInput
        See `gas.simulation.simulate.Simulation`.
    """
    if scheme is None:
        schedule = simulate(jobs, "easy", queue=queue, progress=progress, machine_code=machine_code)
        return Adjusted(schedule, schedule.jobs.estimate.copy())
    every_job = np.arange(len(jobs))
    simulation = Simulation(jobs, "easy", queue=queue, adjustment=adjustment, ask=every_job, machine_code=machine_code)
    user, group, request = (column.tolist() for column in (jobs.user, jobs.group, jobs.estimate))
    adjusted = jobs.estimate.copy()
    adjuster = Adjuster(scheme)
    present = every_job[:0]  # jobs that have arrived and not ended, in submission order
    while (place := simulation.run()) is not None:
        ends = simulation.ends(present)
        gone = np.flatnonzero(ends != NEVER_STARTED)
        if gone.size:
            gone = gone[np.argsort(ends[gone], kind="stable")]
            left, run_times = present[gone], ends[gone] - simulation.starts(present[gone])
            for job, run_time, end in zip(left.tolist(), run_times.tolist(), ends[gone].tolist(), strict=True):
                adjuster.ended(user[job], group[job], request[job], run_time, end)
            present = np.delete(present, gone)
        adjusted[place] = adjuster.adjusted(user[place], group[place], request[place], simulation.now)
        simulation.answer(adjusted=int(adjusted[place]))
        present = np.append(present, place)
        if progress is not None and place % _BETWEEN_REPORTS == 0:
            progress(place / len(jobs))
    if progress is not None:
        progress(1.0)
    return Adjusted(simulation.schedule(), adjusted)
