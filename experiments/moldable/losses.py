"""Why a request of Gas ended later than the static one: the same moment simulated again with fewer unknown events.

Gas plans as if each job used its whole walltime and no other job arrived. If that were true, it could not lose. It
loses because running jobs end early, waiting jobs end early, or others arrive. Each world of `WORLDS` keeps some of
these events; if Gas still loses in one, the events of that world are sufficient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gas.simulation.schedule import Policy, Schedule
from gas.simulation.simulate import Simulation
from workloads import RigidJobs

__all__ = ["WORLDS", "Request", "still_loses"]

WORLDS: Mapping[str, str] = {
    "running": "only running jobs end early, and none is submitted later",
    "waiting": "only waiting jobs end early, and none is submitted later",
    "no arrivals": "all jobs end as recorded, and none is submitted later",
}

Request = tuple[int, int, int]
"""Processors, walltime and execution time."""


def still_loses(
    jobs: RigidJobs, schedule: Schedule, place: int, gas: Request, static: Request, policy: Policy
) -> list[str]:
    """Return the worlds in which Gas's request, in place of a job, still ends later than the static one.

    Parameters
    ----------
    schedule
        The schedule of the unmodified jobs under the policy.
    place
        Index of the replaced job, in submission order.
    """
    now = int(jobs.submit[place])
    begun = schedule.start[:place] <= now
    running, waiting = begun & (schedule.end[:place] > now), ~begun
    changed = {"running": waiting, "waiting": running, "no arrivals": np.zeros(place, np.bool_)}
    found = []
    for world in WORLDS:
        simulation = Simulation(_with_whole_walltimes(jobs, changed[world]), policy, ask=np.array([place], np.int64))
        simulation.run()
        ends = simulation.outcomes(*_columns((gas, static)))[:, 1]
        if ends[0] > ends[1]:
            found.append(world)
    return found


def _with_whole_walltimes(jobs: RigidJobs, chosen: NDArray[np.bool_]) -> RigidJobs:
    """Return the jobs up to one index beyond the replaced job; the chosen ones use their whole walltimes."""
    count = len(chosen) + 1
    names = ("id", "submit", "processors", "estimate", "run_time", "user", "group", "executable", "row")
    first = {name: getattr(jobs, name)[:count].copy() for name in names}
    first["run_time"][:-1][chosen] = first["estimate"][:-1][chosen]
    return replace(jobs, **first)


def _columns(requests: Sequence[Request]) -> list[list[int]]:
    return [list(column) for column in zip(*requests, strict=True)]
