"""Logs with many moldable jobs in them, for all of which Gas chooses, each from the list of its moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from experiments.moldable.moldability import Moldability, moldable_jobs
from gas.compiled import available, compiled
from gas.planner import Requests, soonest
from gas.profile.flat import earliest_fits
from gas.simulation.schedule import Policy, Schedule
from gas.simulation.simulate import Simulation
from workloads import RigidJobs

__all__ = ["Bushel", "of_moldable_jobs", "with_gas"]


@dataclass(frozen=True)
class Bushel:
    """A log with moldable jobs in it.

    Attributes
    ----------
    jobs
        All jobs, the moldable ones with their static requests.
    places
        Where the moldable ones stand in them, ascending.
    requests
        What each of them can ask for.
    """

    jobs: RigidJobs
    places: NDArray[np.int64]
    requests: Sequence[Requests]


def of_moldable_jobs(jobs: RigidJobs, count: int, options: Moldability, generator: np.random.Generator) -> Bushel:
    """Return the jobs, so many of them, chosen at random, as moldable ones; what they asked for is their static one."""
    moldable = moldable_jobs(jobs, options, generator)
    places = np.sort(generator.permutation(len(jobs))[:count])
    estimate = jobs.estimate.copy()
    estimate[places] = moldable.jobs.estimate[places]  # an accuracy of their own is theirs alone
    requests = [moldable.requests(place) for place in places.tolist()]
    return Bushel(replace(moldable.jobs, estimate=estimate), places, requests)


def with_gas(bushel: Bushel, policy: Policy = "s3") -> Schedule:
    """Return what comes of the jobs if Gas chooses for all who are moldable."""
    if available():
        compiled(earliest_fits)  # from here on the planner finds it
    simulation = Simulation(bushel.jobs, policy, ask=bushel.places)
    requests_at = dict(zip(bushel.places.tolist(), bushel.requests, strict=True))
    while (place := simulation.run()) is not None:
        best = soonest(requests_at[place], simulation.availability())
        assert best is not None, "S³'s last frame is the whole machine, so every size has a slot"
        simulation.answer(processors=best.processors, estimate=best.walltime, run_time=best.execution_time)
    return simulation.schedule()
