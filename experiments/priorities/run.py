"""A month of a log under S³: once with one class of jobs, and once for each share of jobs in a higher, urgent class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from experiments.framework.groups import broken, drawn_month, followed
from experiments.framework.ledger import Configuration, Result
from gas.simulation.simulate import simulate

__all__ = ["GROUPS", "priorities_run"]

GROUPS: Final = ("urgent", "others")
"""Urgent jobs, those of the higher class, and all others."""


def priorities_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the outcomes of the jobs of a month of a log; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors", "month", "seed", and "settings": percentages of urgent
        jobs, each in a list of its own.
    files
        The path of each log.

    Returns
    -------
    Result
        "jobs" (including those of the month before), "broken" (jobs that started later than promised, with one class),
        and in "settings" for each percentage "percent", and the result of `experiments.framework.groups.followed` for
        `GROUPS`.
    """
    jobs, drawn, first = drawn_month(configuration, files)
    before = simulate(jobs, "s3")
    settings = []
    for (percent,) in configuration["settings"]:
        urgent = drawn < percent
        after = simulate(jobs, "s3", priorities=urgent.astype(np.int64))
        settings.append({"percent": percent, **followed(GROUPS, urgent, before, after, first)})
    return {"jobs": len(jobs), "broken": broken(before), "settings": settings}
