"""How busy a stream of jobs keeps a machine, and the same stream made busier or calmer."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads.jobs import RigidJobs

__all__ = ["offered_load", "scale_interarrivals", "scale_to_load"]


def offered_load(jobs: RigidJobs) -> float:
    """Return the processor-seconds of all jobs over those of the machine between the first and the last submission.

    0 where there are no jobs or all are submitted in the same second.
    """
    if len(jobs) == 0:
        return 0.0
    span = int(jobs.submit[-1] - jobs.submit[0])
    work = float(np.sum(jobs.processors.astype(np.float64) * jobs.run_time))  # int64 could overflow
    return work / (jobs.machine * span) if span else 0.0


def scale_interarrivals(submit: ArrayLike, factor: float) -> NDArray[np.int64]:
    """Return submit times with all interarrival times multiplied, to the nearest second; the first stays.

    Rounding does not add up: each job is within half a second of where exact multiplication puts it.
    """
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"interarrival times cannot be multiplied by {factor}; name a number above 0")
    times = np.asarray(submit, dtype=np.int64)
    scaled: NDArray[np.int64] = times[:1] + np.rint((times - times[:1]) * factor).astype(np.int64)
    return scaled


def scale_to_load(jobs: RigidJobs, load: float) -> RigidJobs:
    """Return the jobs arriving faster or slower by one factor, (offered load) / `load`, so that they offer `load`.

    Sizes and run times stay. Load 0.688 raised to 0.8 takes the factor 0.86 (Mu'alem & Feitelson 2001, section 3.1).

    Raises
    ------
    ValueError
        If no factor gives this load: it is not positive, or the jobs offer none.
    """
    if not (math.isfinite(load) and load > 0):
        raise ValueError(f"load {load} cannot be reached; name a number above 0, for example 0.8")
    present = offered_load(jobs)
    if present == 0:
        raise ValueError(
            f"{len(jobs)} jobs offer no load to scale; they need two different submit times and some run time"
        )
    return replace(jobs, submit=scale_interarrivals(jobs.submit, present / load))
