"""How rigid jobs of a log get several sizes: each job keeps its own size and its run time on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.moldable.moldability import Moldability, MoldableJobs, moldable_jobs
from workloads import RigidJobs

__all__ = ["RECIPES", "amdahl_jobs"]

_FEWEST, _MOST = 2, 2
"""How many halvings and doublings of its own size a job of Amdahl's law accepts."""

_LEAST_EFFICIENCY, _BEST_EFFICIENCY = 0.5, 0.95


def amdahl_jobs(jobs: RigidJobs, generator: np.random.Generator) -> MoldableJobs:
    """Return jobs that accept a quarter, half, twice and four times their own size, with speed-up by Amdahl's law.

    The serial fraction is such that the efficiency (speed-up / size) on the own size (on 16 processors for jobs of one
    processor) is uniform from 0.5 to 0.95. Sizes that are not whole or exceed the machine are left out; jobs of run
    time 0 stay rigid.
    """
    own, count = jobs.processors, len(jobs)
    efficiency = generator.uniform(_LEAST_EFFICIENCY, _BEST_EFFICIENCY, count)
    measured = np.where(own > 1, own, 16)
    serial = (1 / efficiency - 1) / (measured - 1)
    owners, sizes = [], []
    for exponent in range(-_FEWEST, _MOST + 1):
        size = own * 2**exponent if exponent >= 0 else own // 2**-exponent
        exact = size * 2**-exponent == own if exponent < 0 else size <= jobs.machine
        kept = np.flatnonzero(exact & (size >= 1) & ((jobs.run_time > 0) | (exponent == 0)))
        owners.append(kept)
        sizes.append(size[kept])
    owner, size = np.concatenate(owners), np.concatenate(sizes)
    order = np.lexsort((size, owner))
    owner, size = owner[order], size[order]
    slower = _pace(size, serial[owner]) / _pace(own[owner], serial[owner])
    times = np.maximum(np.ceil(np.round(jobs.run_time[owner] * slower, 6)), jobs.run_time[owner] > 0).astype(np.int64)
    walltimes = np.maximum(np.ceil(np.round(jobs.estimate[owner] * slower, 6)).astype(np.int64), np.maximum(times, 1))
    return MoldableJobs(
        jobs=jobs,
        first=np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]).astype(np.int64),
        sizes=size,
        times=times,
        walltimes=np.where(size == own[owner], jobs.estimate[owner], walltimes),
        A=np.full(count, np.nan),
        sigma=np.full(count, np.nan),
    )


def _pace(size: NDArray[np.int64], serial: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time on a size divided by that on one processor (Amdahl 1967)."""
    return np.asarray(serial + (1 - serial) / size, np.float64)


RECIPES: Final[Mapping[str, tuple[str, Callable[[RigidJobs, np.random.Generator], MoldableJobs]]]] = {
    "survey": (
        "Downey's speed-up with A, sigma, the smallest size and the number of sizes as in the survey of Cirne and "
        "Berman (IPDPS 2001); jobs whose own size is a power of two accept only such sizes",
        lambda jobs, generator: moldable_jobs(jobs, Moldability(), generator),
    ),
    "amdahl": (
        "Amdahl's law with an efficiency of 0.5 to 0.95 on the own size; a quarter, half, twice and four times that "
        "size are accepted",
        amdahl_jobs,
    ),
}
"""By the names in tables: a description, and the function that makes the jobs."""
