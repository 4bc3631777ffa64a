"""A share of a month's jobs is treated differently: results of these jobs and of all others, with and without it.

All simulations have the same jobs, so that each job is compared with itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration
from experiments.framework.logs import load_log
from experiments.framework.months import jobs_of_month
from gas.simulation.schedule import Schedule
from workloads import RigidJobs

__all__ = ["LATER", "DrawnMonth", "broken", "drawn_month", "followed"]

LATER: Final = 60
"""Seconds by which a job must end later, or sooner, to count as such."""


class DrawnMonth(NamedTuple):
    """The jobs of a month of a log, each with a number below 100.

    Jobs with numbers below a percentage are that share of the jobs. So a smaller share is a subset of a larger one.

    Attributes
    ----------
    first
        Index of the first job of the month; earlier jobs are from the month before, and warm up the machine.
    """

    jobs: RigidJobs
    drawn: NDArray[np.float64]
    first: int


def drawn_month(configuration: Configuration, files: Mapping[str, str]) -> DrawnMonth:
    """Return the jobs of a month of a log that begins on a warm machine.

    Parameters
    ----------
    configuration
        Configuration of a `experiments.framework.group_results.GroupRun`.
    files
        The path of each log.
    """
    log = load_log(Path(files[configuration["log"]]), configuration["log"])
    jobs, first = jobs_of_month(log, configuration["month"], configuration["processors"])
    number = int(configuration["month"].replace("-", ""))
    generator = np.random.default_rng([configuration["seed"], number, int(configuration["log"][:12], 16)])
    return DrawnMonth(jobs, 100 * generator.random(len(jobs)), first)


def broken(schedule: Schedule) -> int:
    """Return how many jobs started later than they were promised at their submission."""
    assert schedule.promise is not None
    return int((schedule.start > schedule.promise).sum())


def followed(
    names: tuple[str, str], treated: NDArray[np.bool_], before: Schedule, after: Schedule, first: int = 0
) -> dict[str, Any]:
    """Return the results of the treated jobs and of the others, under the names of these groups.

    Each group has its number of "jobs" and sums over them: "turnaround", "wait" and "log" (of turn-around times), the
    same before the treatment ("_before"), and how many ended "later" or "sooner" than before. "broken" counts broken
    promises of all jobs.

    Parameters
    ----------
    first
        Index of the first job that belongs to a group.
    """
    counted = np.arange(len(treated)) >= first
    groups = {name: _sums(before, after, of & counted) for name, of in zip(names, (treated, ~treated), strict=True)}
    return {"broken": broken(after), **groups}


def _sums(before: Schedule, after: Schedule, of: NDArray[np.bool_]) -> dict[str, Any]:
    found: dict[str, Any] = {"jobs": int(of.sum())}
    turnarounds = []
    for suffix, schedule in (("_before", before), ("", after)):
        turnaround = (schedule.end - schedule.jobs.submit)[of]
        found[f"turnaround{suffix}"] = int(turnaround.sum())
        found[f"wait{suffix}"] = int((schedule.start - schedule.jobs.submit)[of].sum())
        found[f"log{suffix}"] = round(float(np.log(np.maximum(turnaround, 1)).sum()), 6)
        turnarounds.append(turnaround)
    apart = turnarounds[1] - turnarounds[0]
    return found | {"later": int((apart > LATER).sum()), "sooner": int((apart < -LATER).sum())}
