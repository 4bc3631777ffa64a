"""Who gains and who loses by a strategy: jobs by class, and how evenly users' slowdowns are spread.

A user's slowdown is the mean bounded slowdown of that user's jobs. Evenness is Jain's index (Jain, Chiu and Hawe,
DEC-TR-301, 1984): the squared sum divided by the number of users and the sum of squares; 1 if all slowdowns are equal,
1 / users if one user has all. For its interval, the index is also computed without each month in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workloads import RigidJobs

__all__ = ["CLASSES", "LONG", "WIDE", "classes_of", "evenness"]

LONG: Final = 3600
"""Seconds; jobs that run longer are called long."""

WIDE: Final = 1 / 16
"""Share of the machine; jobs whose own size is larger are called wide."""

CLASSES: Final = ("short and narrow", "short and wide", "long and narrow", "long and wide")

_ACTIVE: Final = 10
"""Users with fewer jobs do not count."""


def classes_of(jobs: RigidJobs) -> Mapping[str, NDArray[np.bool_]]:
    """Return which jobs are in each class, by run time and size in the log."""
    long, wide = jobs.run_time > LONG, jobs.processors > WIDE * jobs.machine
    return dict(zip(CLASSES, (~long & ~wide, ~long & wide, long & ~wide, long & wide), strict=True))


def evenness(
    user: NDArray[np.int64], slowdown: NDArray[np.float64], month: NDArray[np.int64], months: int
) -> dict[str, float | list[float] | None]:
    """Return Jain's index of users' slowdowns, over all months and without each month in turn.

    Jobs of unknown users (-1) are left out: they do not belong to one user. Users with fewer than ten jobs do not
    count; without a month, users with fewer than ten jobs in the other months do not count. None if no user counts.
    """
    known_user = user >= 0
    user, slowdown, month = user[known_user], slowdown[known_user], month[known_user]
    _, which = np.unique(user, return_inverse=True)
    users = int(which.max(initial=-1)) + 1
    cell = which * months + month
    sums, jobs = (
        np.bincount(cell, weights=values, minlength=users * months).reshape(users, months)
        for values in (slowdown, np.ones(len(slowdown)))
    )
    whole = _jain(sums.sum(axis=1), jobs.sum(axis=1))
    without = [_jain(sums.sum(axis=1) - sums[:, gone], jobs.sum(axis=1) - jobs[:, gone]) for gone in range(months)]
    known = [value for value in without if value is not None]
    return {"whole": whole, "without": known if len(known) == months else None}


def _jain(sums: NDArray[np.float64], jobs: NDArray[np.float64]) -> float | None:
    active = jobs >= _ACTIVE
    if not active.any():
        return None
    means = sums[active] / jobs[active]
    return float(means.sum() ** 2 / (len(means) * (means**2).sum()))
