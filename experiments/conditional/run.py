"""A month of a log under S³: once all jobs move unasked, and once for each share of jobs with each notice.

The same jobs are followed in all of these, so that each is compared with itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from gas.simulation.conditional import simulate_conditional
from gas.simulation.schedule import Schedule
from workloads import rigid_jobs
from workloads.selection import in_months

__all__ = ["GROUPS", "LATER", "conditional_run"]

GROUPS: Final = ("asked", "others")
"""Jobs with a notice, and those without."""

LATER: Final = 60
"""Seconds by which a job must end later, or sooner, to count so."""


def conditional_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return what became of the jobs of a month of a log; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors", "month", "seed", and "settings": pairs of a percentage of jobs that
        have a notice and that notice in seconds. Those of a smaller share are among those of a larger one.
    files
        The path of each log.

    Returns
    -------
    Result
        "jobs", "broken" (jobs that started later than they were promised when none was asked), and in "settings" for
        each pair "percent", "notice", "broken", and for each of `GROUPS` its number of "jobs" and sums over them:
        "turnaround", "wait" and "log" (of turn-around times) with notices, the same without ("_before"), and how many
        ended "later" or "sooner" than without.
    """
    log = load_log(Path(files[configuration["log"]]), configuration["log"])
    jobs = rigid_jobs(in_months(log, configuration["month"]), configuration["processors"])
    number = int(configuration["month"].replace("-", ""))
    generator = np.random.default_rng([configuration["seed"], number, int(configuration["log"][:12], 16)])
    drawn = 100 * generator.random(len(jobs))
    before = simulate_conditional(jobs, np.zeros(len(jobs), np.int64))
    settings = []
    for percent, notice in configuration["settings"]:
        asked = drawn < percent
        after = simulate_conditional(jobs, np.where(asked, notice, 0))
        groups = {name: _sums(before, after, of) for name, of in zip(GROUPS, (asked, ~asked), strict=True)}
        settings.append({"percent": percent, "notice": notice, "broken": _broken(after), **groups})
    return {"jobs": len(jobs), "broken": _broken(before), "settings": settings}


def _broken(schedule: Schedule) -> int:
    assert schedule.promise is not None
    return int((schedule.start > schedule.promise).sum())


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
