"""Clusters drawn from a model, and the outcomes of applications that choose among some of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from experiments.framework.ledger import Configuration, Result
from experiments.moldable.benchmarks import Form
from experiments.moldable.machines import Machines, follow, submissions
from experiments.moldable.worlds import world_with_benchmarks
from gas.compiled import available, compiled
from gas.profile.flat import earliest_fits
from workloads import RigidJobs, rigid_jobs
from workloads.estimates import uniform_factor
from workloads.lublin import generate

__all__ = ["DAYS", "LOADS", "PERCENT", "PROCESSORS", "cluster", "clusters_run"]

PROCESSORS: Final = (64, 128, 256, 512)
"""Possible numbers of processors of a cluster, equally likely."""

LOADS: Final = (0.6, 0.9)
"""Offered loads are uniform between these."""

DAYS: Final = 2
"""Days of submissions."""

PERCENT: Final = 5
"""Percentage of each cluster's jobs that are applications."""

_FACTOR: Final = 4
"""Users' estimates are at most this multiple of the run time."""

_FEWEST: Final = 256


@lru_cache(maxsize=512)
def cluster(seed: int, number: int) -> RigidJobs:
    """Return the jobs of a cluster; they do not depend on other clusters."""
    wanted, jobs = DAYS * 86_400, _FEWEST
    while True:  # until the jobs cover all days
        generator = np.random.default_rng([seed, number])
        processors, load = int(generator.choice(PROCESSORS)), float(generator.uniform(*LOADS))
        log = generate(jobs, processors, generator=generator, load=load)
        first = int(log.submit[0])
        if log.submit[-1] - first >= wanted:
            break
        jobs *= 2
    log = log.with_columns(requested_time=uniform_factor(log.run_time, _FACTOR, generator))
    found = rigid_jobs(log, processors)
    count = int(np.searchsorted(found.submit, first + wanted))
    columns = {name: column[:count] for name, column in vars(found).items() if isinstance(column, np.ndarray)}
    return replace(found, **columns | {"submit": columns["submit"] - first})


def clusters_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the outcomes of the applications of some clusters, each of which can choose among all of these.

    Parameters
    ----------
    configuration
        "seed", "first" (number of the first cluster), "count" of clusters, and "strategy" of all applications
        (`experiments.moldable.machines.Strategy`).
    files
        Not used: there are no logs.
    """
    if available():
        compiled(earliest_fits)  # the planner uses the compiled kernel from here on
    seed, strategy = configuration["seed"], configuration["strategy"]
    numbers = range(configuration["first"], configuration["first"] + configuration["count"])
    world, ratios = world_with_benchmarks(
        [cluster(seed, number) for number in numbers],
        [[seed, number, 1] for number in numbers],
        percent=PERCENT,
        form=Form(),
    )
    machines = Machines(world)
    follow(machines, lambda number, lists: submissions(strategy, world.applications[number], lists))
    turnaround = [end - one.submit for one, end in zip(world.applications, _ends(machines), strict=True)]
    rigid = [_rigid(machines, machine) for machine in range(len(world.lists))]
    return {
        "applications": len(turnaround),
        "turnaround": sum(turnaround),
        "away": sum(machines.submitted[i][0].machine != one.home for i, one in enumerate(world.applications)),
        "rigid": sum(count for count, _ in rigid),
        "rigid_turnaround": sum(seconds for _, seconds in rigid),
        "load_ratio": float(np.mean(ratios)),
    }


def _ends(machines: Machines) -> list[int]:
    ends = [machines.end(number) for number in range(len(machines.world.applications))]
    return [end for end in ends if end is not None]  # S³ starts every job


def _rigid(machines: Machines, machine: int) -> tuple[int, int]:
    """Return the number of a machine's rigid jobs, and the sum of their turn-around times."""
    schedule, places = machines.simulations[machine].schedule(), machines.world.rigid(machine)
    return len(places), int((schedule.end - schedule.jobs.submit)[places].sum())
