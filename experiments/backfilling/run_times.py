"""Run times by the size of jobs in models and in the CTC log: Fig. 6 of Mu'alem & Feitelson (2001, 3.3).

Distributions are counted up to fixed run times, over blocks of jobs: months of the log, and twelfths of a model's jobs.
How far two are apart is the largest distance of their cumulative shares, after Kolmogorov and Smirnov. The paper does
not say which sizes its figure has; ours are `SIZES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from experiments.backfilling.models import PROCESSORS, generate
from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.framework.verdicts import Part, left_out, of_samples
from workloads import rigid_jobs
from workloads.selection import months_of

__all__ = ["JOBS", "LIMITS", "SIZES", "WORKLOADS", "Workload", "apart", "nearer", "run_times_run", "shares"]

Workload = Literal["CTC", "J", "F", "Fsl"]
"""A log or a model."""

WORKLOADS: Final[tuple[Workload, ...]] = get_args(Workload)

SIZES: Final = {"1 processor": 1, "2 to 8 processors": 8, "9 to 32 processors": 32, "more than 32 processors": 10**9}
"""Classes of jobs by the largest size of each."""

LIMITS: Final[NDArray[np.float64]] = np.rint(10 ** np.linspace(0, 5.5, 56))
"""Seconds up to which run times are counted: ten to a decade, from 1 s to nearly four days."""

JOBS: Final = 100_000
"""Of a model."""

_BLOCKS: Final = 12
_LOAD: Final = 0.7
"""Of models; run times do not depend on it."""


def run_times_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return how many jobs of each class have a run time up to each limit and no shorter one, in each block.

    Parameters
    ----------
    configuration
        ``run_times`` (a workload); of a log ``sha256`` and ``processors``, of a model ``jobs`` and ``seed``.
    files
        Where the log with a hash is.
    """
    workload = configuration["run_times"]
    if "sha256" in configuration:
        log = load_log(Path(files[configuration["sha256"]]), configuration["sha256"])
        jobs = rigid_jobs(log, configuration["processors"])
        block = months_of(jobs.submit, log.epoch)[1]
    else:
        log = generate(workload, configuration["jobs"], _LOAD, configuration["seed"])
        jobs = rigid_jobs(log, PROCESSORS[workload])
        block = np.arange(len(jobs)) * _BLOCKS // len(jobs)
    of_class = np.searchsorted(list(SIZES.values()), jobs.processors)
    up_to = np.minimum(np.searchsorted(LIMITS, jobs.run_time), len(LIMITS) - 1)
    counts = np.zeros((len(SIZES), int(block.max(initial=-1)) + 1, len(LIMITS)), np.int64)
    np.add.at(counts, (of_class, block, up_to), 1)
    return {"counts": dict(zip(SIZES, counts.tolist(), strict=True)), "jobs": len(jobs)}


def shares(result: Mapping[str, Any], size: str) -> NDArray[np.float64]:
    """Return the share of a class's jobs that run up to each of `LIMITS`."""
    return _cumulative(np.sum(result["counts"][size], axis=0, dtype=np.float64))


def _cumulative(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.cumsum(counts) / max(float(counts.sum()), 1.0)
    return found


def apart(model: Mapping[str, Any], reference: Mapping[str, Any], size: str) -> Part:
    """Return by how many points a model is away from a reference."""
    return _jackknifed(_distance, size, model, reference)


def nearer(model: Mapping[str, Any], other: Mapping[str, Any], reference: Mapping[str, Any], size: str) -> Part:
    """Return by how many points a model is nearer to a reference than another model is."""
    return _jackknifed(
        lambda near, far, found: _distance(far, found) - _distance(near, found), size, model, other, reference
    )


def _jackknifed(statistic: Callable[..., float], size: str, *results: Mapping[str, Any]) -> Part:
    """Return a statistic of the shares of several workloads, with an interval over the blocks of each."""
    wholes = [shares(result, size) for result in results]
    parts = []
    for place, result in enumerate(results):
        blocks = np.array(result["counts"][size], np.float64)
        without = [_cumulative(blocks.sum(axis=0) - block) for block in blocks]
        others = [[*wholes[:place], one, *wholes[place + 1 :]] for one in without]
        parts.append(left_out(statistic(*wholes), [statistic(*one) for one in others]))
    return of_samples(parts)


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.abs(one - other).max()) * 100
