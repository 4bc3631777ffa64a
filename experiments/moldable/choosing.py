"""Logs with many moldable jobs; Gas chooses for each of them from the availability list at its submission."""

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
    """A log with moldable jobs.

    Attributes
    ----------
    jobs
        All jobs; the moldable ones with their static requests.
    places
        Indices of the moldable jobs, ascending.
    requests
        The possible requests of each moldable job.
    """

    jobs: RigidJobs
    places: NDArray[np.int64]
    requests: Sequence[Requests]


def of_moldable_jobs(jobs: RigidJobs, count: int, options: Moldability, generator: np.random.Generator) -> Bushel:
    """Return the jobs with `count` of them, chosen at random, moldable; their static request is the one of the log."""
    moldable = moldable_jobs(jobs, options, generator)
    places = np.sort(generator.permutation(len(jobs))[:count])
    estimate = jobs.estimate.copy()
    estimate[places] = moldable.jobs.estimate[places]  # an accuracy of their own applies to moldable jobs only
    requests = [moldable.requests(place) for place in places.tolist()]
    return Bushel(replace(moldable.jobs, estimate=estimate), places, requests)


def with_gas(bushel: Bushel, policy: Policy = "s3") -> Schedule:
    """Return the schedule of the jobs if Gas chooses for all moldable ones."""
    if available():
        compiled(earliest_fits)  # the planner uses the compiled kernel from here on
    simulation = Simulation(bushel.jobs, policy, ask=bushel.places)
    requests_at = dict(zip(bushel.places.tolist(), bushel.requests, strict=True))
    while (place := simulation.run()) is not None:
        best = soonest(requests_at[place], simulation.availability())
        assert best is not None, "S³'s last frame is the whole machine, so every size has a slot"
        simulation.answer(processors=best.processors, estimate=best.walltime, run_time=best.execution_time)
    return simulation.schedule()
