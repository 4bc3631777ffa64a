"""Who bears what a strategy changes: jobs by class, and how evenly users' slowdowns are spread.

A user's slowdown is the mean bounded slowdown of that user's jobs. How even those of users are is Jain's index (Jain,
Chiu and Hawe, DEC-TR-301, 1984): the square of the sum over the sum of squares and the number of users, 1 where all
are equal and 1 / users where one has all. It is computed again without each month in turn, for its interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workloads import RigidJobs

__all__ = ["CLASSES", "LONG", "WIDE", "classes_of", "evenness"]

LONG: Final = 3600
"""Seconds; a job that runs longer is called long."""

WIDE: Final = 1 / 16
"""Share of the machine; a job whose own size is larger is called wide."""

CLASSES: Final = ("short and narrow", "short and wide", "long and narrow", "long and wide")

_ACTIVE: Final = 10
"""Jobs that a user must have to count."""


def classes_of(jobs: RigidJobs) -> Mapping[str, NDArray[np.bool_]]:
    """Return which jobs are of each class, by the time and the size that the log has."""
    long, wide = jobs.run_time > LONG, jobs.processors > WIDE * jobs.machine
    return dict(zip(CLASSES, (~long & ~wide, ~long & wide, long & ~wide, long & wide), strict=True))


def evenness(
    user: NDArray[np.int64], slowdown: NDArray[np.float64], month: NDArray[np.int64], months: int
) -> dict[str, float | list[float] | None]:
    """Return Jain's index of users' slowdowns, and those without each month in turn.

    Jobs of unknown users (-1) are left out: they do not belong to one user. Users with fewer than ten jobs do
    not count; without ten jobs outside of a month, a user does not count there. None where no user counts.
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
