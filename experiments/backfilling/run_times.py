"""Run times by the size of jobs in models and in the CTC log: Fig. 6 of Mu'alem & Feitelson (2001, 3.3).

Jobs are counted by run time up to fixed limits, over blocks of jobs: months of the log, and twelfths of a model's jobs.
The paper does not give the size classes of its figure; ours are `SIZES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from experiments.backfilling.models import PROCESSORS, generate
from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from workloads import rigid_jobs
from workloads.selection import months_of

__all__ = ["JOBS", "LIMITS", "SIZES", "WORKLOADS", "Workload", "run_times_run"]

Workload = Literal["CTC", "J", "F", "Fsl"]
"""A log or a model."""

WORKLOADS: Final[tuple[Workload, ...]] = get_args(Workload)

SIZES: Final = {"1 processor": 1, "2 to 8 processors": 8, "9 to 32 processors": 32, "more than 32 processors": 10**9}
"""Classes of jobs, with the largest size of each."""

LIMITS: Final[NDArray[np.float64]] = np.rint(10 ** np.linspace(0, 5.5, 56))
"""Limits of run times in seconds: ten per decade, from 1 s to nearly four days."""

JOBS: Final = 100_000
"""Number of jobs of a model."""

_BLOCKS: Final = 12
_LOAD: Final = 0.7
"""Load of the models; run times do not depend on it."""


def run_times_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return for each class and block how many jobs have a run time up to each limit and above the previous one.

    Parameters
    ----------
    configuration
        ``run_times`` (a workload); for a log ``sha256`` and ``processors``, for a model ``jobs`` and ``seed``.
    files
        Paths of the logs by hash.
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
