"""Models of the run-time estimates that users give, for logs and generators that have none."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["uniform_factor"]

_LONGEST = 2**53


def uniform_factor(run_times: ArrayLike, factor: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return estimates drawn uniformly from [run time, factor · run time]: the *f-model* of badly guessing users.

    In seconds, rounded up to whole ones; never below the run time or 1. Factor 1 gives perfect estimates. The same
    seed draws the same position within the interval for every factor, so that studies of the factor compare like
    with like (Mu'alem & Feitelson 2001, section 4.2, with factors 1, 2, 4, 11, 31, 101 and 301).

    Raises
    ------
    ValueError
        If the factor is below 1, a run time is negative, or estimates would exceed 2**53 s.
    """
    seconds = np.asarray(run_times, dtype=np.float64)
    if not (math.isfinite(factor) and factor >= 1):
        raise ValueError(f"factor {factor} would put estimates below run times; name a number of at least 1")
    if not (seconds >= 0).all():
        raise ValueError(f"run time {seconds[~(seconds >= 0)][0]} has no estimate; leave such jobs out")
    if seconds.size and seconds.max() * factor > _LONGEST:
        raise ValueError(f"factor {factor} makes estimates beyond 2**53 s; name a smaller one")
    drawn = seconds + (factor - 1) * seconds * generator.random(seconds.shape)
    return np.maximum(np.ceil(drawn), 1).astype(np.int64)
