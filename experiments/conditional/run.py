"""A month of a log under S³: once without notices, and once for each share of jobs with each notice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from experiments.framework.groups import broken, drawn_month, followed
from experiments.framework.ledger import Configuration, Result
from gas.simulation.conditional import simulate_conditional

__all__ = ["GROUPS", "conditional_run"]

GROUPS: Final = ("asked", "others")
"""Jobs with a notice, and those without."""


def conditional_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the outcomes of the jobs of a month of a log; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors", "month", "seed", and "settings": pairs of a percentage of jobs with
        a notice, and the notice in seconds.
    files
        The path of each log.

    Returns
    -------
    Result
        "jobs" (all simulated ones, including those of the month before), "broken" (jobs that started later than
        promised, without notices), and in "settings" for each pair "percent", "notice", and the result of
        `experiments.framework.groups.followed` for `GROUPS`.
    """
    jobs, drawn, first = drawn_month(configuration, files)
    before = simulate_conditional(jobs, np.zeros(len(jobs), np.int64))
    settings = []
    for percent, notice in configuration["settings"]:
        asked = drawn < percent
        after = simulate_conditional(jobs, np.where(asked, notice, 0))
        settings.append({"percent": percent, "notice": notice, **followed(GROUPS, asked, before, after, first)})
    return {"jobs": len(jobs), "broken": broken(before), "settings": settings}
