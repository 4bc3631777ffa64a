"""The accuracy of users' walltimes and of adjusted ones, as far as a log alone shows it (Tang et al.).

The history is what a scheduler would have known on the real machine: jobs as they ended in the record. So nothing is
simulated, and a job is adjusted by the jobs that had ended before its submission.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads import Log, RigidJobs, apply_overrun, rigid_jobs
from workloads.adjustment import Adjuster, Key, Scheme
from workloads.estimates import accuracy
from workloads.replay import ends, knowledge
from workloads.selection import months_of

__all__ = ["BAD", "CATEGORIES", "FLOORS", "KEYS", "LEAST", "PERCENTILES", "SHARES", "WINDOWS", "Asked", "adjusted_by"]
__all__ += ["asked", "categories", "factors", "figures", "keys_of", "spread", "used"]

KEYS: Final[tuple[Key, ...]] = ("group", "user", "user+group", "user+group+walltime")
"""Keys of similar jobs, in the order of Table 2."""

WINDOWS: Final[tuple[int | None, ...]] = (1, 2, 3, 6, 12, None)
"""Months of 30 days; None for no limit."""

PERCENTILES: Final = (100, 95, 90, 85, 80, 70, 50)

FLOORS: Final = (0.0, 0.5)
"""The smallest allowed factors; 0 for no limit."""

LEAST: Final = 10
"""Similar jobs required for an adjustment."""

BAD: Final = 1800
"""Seconds: an estimate that is too short by this or more is a bad one. The paper has "less than 30 minutes" in one
category and "greater" in the other; exactly 30 minutes is bad here.
"""

CATEGORIES: Final = ("NA", "OE", "UE", "BE")
"""Not adjusted, still too long, too short, and too short by at least `BAD`."""

SHARES: Final = tuple(range(0, 101))
"""Percentages of jobs at which the distribution of the accuracy is given."""

_CLASSES: Final = 20
"""Number of classes of R, equally wide; the last one includes 1."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Jobs that ran and had a requested time, in order of submission; in seconds of the log."""

    user: NDArray[np.int64]
    group: NDArray[np.int64]
    request: NDArray[np.int64]
    run_time: NDArray[np.int64]
    """At most the request: a job that ran slightly longer was killed, and its R is 1 (section 3.2)."""
    submit: NDArray[np.int64]
    end: NDArray[np.int64]
    """As recorded; `workloads.replay.NEVER` if the record lacks it."""

    def __len__(self) -> int:
        return len(self.request)

    @property
    def ratio(self) -> NDArray[np.float64]:
        """R, the used share of the request, from 0 to 1."""
        found: NDArray[np.float64] = self.run_time / self.request
        return found

    def of(self, chosen: NDArray[np.bool_]) -> Asked:
        """Return a selection of the jobs."""
        return Asked(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def asked(log: Log, jobs: RigidJobs | None = None) -> Asked:
    """Return requests and run times of a log's jobs.

    Parameters
    ----------
    jobs
        Jobs of the log with their requests as estimates; by default all that a machine of any size could run and that
        requested a time.
    """
    of_log = jobs is None
    if jobs is None:
        largest = max(log.requested_processors.max(initial=1), log.allocated_processors.max(initial=1))
        jobs = rigid_jobs(log, int(largest))
    cut = apply_overrun(jobs, "kill")
    found = Asked(np.array(cut.user), np.array(cut.group), cut.estimate, cut.run_time, cut.submit, ends(log)[cut.row])
    return found.of(log.requested_time[cut.row] > 0) if of_log else found


def factors(
    jobs: Asked, key: Key, months: int | None, percentiles: Sequence[float] = PERCENTILES, least: int = LEAST
) -> NDArray[np.float64]:
    """Return the factor on each job's request: a row per job, a column per percentile; without a floor.

    NaN if too few similar jobs had ended before the submission.
    """
    adjuster = Adjuster(Scheme(key, months, percentiles[0], 0.0, least))
    columns = (jobs.user, jobs.group, jobs.request, jobs.run_time, jobs.submit, jobs.end)
    user, group, request, run_time, submit, end = (column.tolist() for column in columns)
    found = np.full((len(jobs), len(percentiles)), np.nan)
    for ended, row in knowledge(jobs.submit, jobs.end):
        if ended:
            adjuster.ended(user[row], group[row], request[row], run_time[row], end[row])
        elif (of_job := adjuster.factors(user[row], group[row], request[row], submit[row], percentiles)) is not None:
            found[row] = of_job
    return found


def adjusted_by(request: NDArray[np.int64], factor: ArrayLike, floor: float = 0.0) -> NDArray[np.int64]:
    """Return requests times factors of at least `floor`: whole seconds, rounded up, at least 1; unchanged for NaN.

    Like `workloads.adjustment.Adjuster.adjusted`, but for many jobs at once.
    """
    by = np.asarray(factor, np.float64)
    by = np.where(np.isnan(by), 1.0, np.maximum(by, floor))
    return np.maximum(np.ceil(np.round(request * by, 6)), 1).astype(np.int64)


def categories(request: NDArray[np.int64], run_time: NDArray[np.int64], adjusted: NDArray[np.int64]) -> dict[str, int]:
    """Return the number of jobs in each of the paper's categories (4.2.2)."""
    changed, short = adjusted < request, run_time - adjusted
    parts = {
        "NA": ~changed,
        "OE": changed & (short <= 0),
        "UE": changed & (short > 0) & (short < BAD),
        "BE": changed & (short >= BAD),
    }
    return {name: int(np.count_nonzero(parts[name])) for name in CATEGORIES}


def figures(jobs: Asked, adjusted: NDArray[np.int64]) -> dict[str, Any]:
    """Return the quality of adjusted walltimes: mean and median accuracy, its distribution, and jobs by category."""
    good = accuracy(jobs.run_time, adjusted)
    return {
        "accuracy": float(good.mean()),
        "median": float(np.median(good)),
        "at_60": float(np.quantile(good, 0.6)),
        "distribution": _distribution(good),
        **categories(jobs.request, jobs.run_time, adjusted),
    }


def _distribution(values: NDArray[np.float64]) -> list[float]:
    found: list[float] = np.round(np.quantile(values, np.array(SHARES) / 100), 6).tolist()
    return found


def used(log: Log, jobs: Asked) -> dict[str, Any]:
    """Return the distribution of R over all jobs, and its mean by quarter of submission (Fig. 1 and 2)."""
    ratio = jobs.ratio
    histogram = np.bincount(np.minimum((ratio * _CLASSES).astype(np.int64), _CLASSES - 1), minlength=_CLASSES)
    labels, index = months_of(jobs.submit, log.epoch)
    quarter = np.array([f"{month[:4]} Q{(int(month[5:]) + 2) // 3}" for month in labels])[index]
    return {
        "mean": float(ratio.mean()),
        "median": float(np.median(ratio)),
        "deviation": float(ratio.std()),
        "at_60": float(np.quantile(ratio, 0.6)),
        "distribution": _distribution(ratio),
        "classes": histogram.tolist(),
        "near_1": float(np.mean(ratio >= 0.95)),
        "above_0.8": float(np.mean(ratio > 0.8)),
        "up_to_0.5": float(np.mean(ratio <= 0.5)),
        "below_0.2": float(np.mean(ratio < 0.2)),
        "quarters": [
            {"quarter": str(name), "jobs": int(np.sum(quarter == name)), "mean": float(ratio[quarter == name].mean())}
            for name in np.unique(quarter)
        ],
    }


def keys_of(jobs: Asked, key: Key) -> NDArray[np.int64]:
    """Return for each job the number of its group by a key, from 0; -1 if it lacks a value of the key."""
    if key == "all":
        return np.zeros(len(jobs), np.int64)
    parts = {"user": jobs.user, "group": jobs.group, "walltime": jobs.request}
    columns = np.column_stack([parts[part] for part in key.split("+")])
    number = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.where((columns < 0).any(axis=1), -1, number)


def spread(
    jobs: Asked, month: NDArray[np.int64], generator: np.random.Generator, least: int = LEAST
) -> list[dict[str, Any]]:
    """Return how much R varies among similar jobs (Table 2): the mean of the standard deviations of their groups.

    Groups of fewer than `least` jobs are left out. `by_jobs` is the mean in which a group is weighted by its jobs.
    `at_random` is the mean over groups of the same sizes with random jobs: the effect of the division alone. `without`
    has the mean without each of the months in turn; `month` is the number of each job's month.
    """
    found: list[dict[str, Any]] = []
    keys: tuple[Key, ...] = ("all", *KEYS)
    for key in keys:
        number = keys_of(jobs, key)
        there = number >= 0
        count = np.bincount(number[there])
        large = count >= least
        ratio = jobs.ratio[there]
        own = _deviations(ratio, number[there])[large]
        mixed = _deviations(generator.permutation(ratio), number[there])[large]
        groups = int(np.count_nonzero(large))
        found.append(
            {
                "key": key,
                "groups": groups,
                "jobs": int(count[large].sum()),
                "mean": float(own.mean()) if groups else None,
                "by_jobs": float(np.average(own, weights=count[large])) if groups else None,
                "at_random": float(mixed.mean()) if groups else None,
                "without": _without_months(ratio, number[there], month[there], least),
            }
        )
    return found


def _without_months(
    ratio: NDArray[np.float64], number: NDArray[np.int64], month: NDArray[np.int64], least: int
) -> list[float | None]:
    found: list[float | None] = []
    for one in range(int(month.max(initial=-1)) + 1):
        kept = month != one
        large = np.bincount(number[kept]) >= least
        found.append(float(_deviations(ratio[kept], number[kept])[large].mean()) if large.any() else None)
    return found


def _deviations(ratio: NDArray[np.float64], number: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the standard deviation (divisor n) of each group."""
    count = np.maximum(np.bincount(number), 1)
    mean = np.bincount(number, weights=ratio) / count
    return np.sqrt(np.bincount(number, weights=(ratio - mean[number]) ** 2) / count)
