"""Models of users' run-time estimates, and the accuracy of estimates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["accuracy", "doubled", "exact", "mualem_feitelson", "uniform_factor"]

_LONGEST = 2**53


def exact(run_times: ArrayLike) -> NDArray[np.int64]:
    """Return exact estimates: the run times in whole seconds, rounded up, at least 1."""
    return np.maximum(np.ceil(_checked(run_times)), 1).astype(np.int64)


def uniform_factor(run_times: ArrayLike, factor: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return estimates drawn uniformly from [run time, factor · run time]: the *f-model* of badly guessing users.

    In seconds, rounded up to whole ones; never below the run time or 1. Factor 1 gives perfect estimates. The same
    seed draws the same position within the interval for every factor, so that studies of the factor are paired
    (Mu'alem & Feitelson 2001, section 4.2, with factors 1, 2, 4, 11, 31, 101 and 301).

    Raises
    ------
    ValueError
        The factor is below 1, a run time is negative, or estimates would exceed 2**53 s.
    """
    seconds = _checked(run_times)
    if not (math.isfinite(factor) and factor >= 1):
        raise ValueError(f"factor {factor} would put estimates below run times; give a number of at least 1")
    if seconds.size and seconds.max() > _LONGEST / factor:
        raise ValueError(f"factor {factor} makes estimates beyond 2**53 s; give a smaller one")
    drawn = seconds + (factor - 1) * seconds * generator.random(seconds.shape)
    return np.maximum(np.ceil(drawn), 1).astype(np.int64)


def mualem_feitelson(
    run_times: ArrayLike,
    generator: np.random.Generator,
    *,
    longest: float = 24 * 3600,
    underestimated: float = 0.10,
    short: float = 90,
    short_factor: float = 10,
) -> NDArray[np.int64]:
    """Return estimates like those of users on three SP2s: all ratios of run time to estimate are about as frequent.

    A tenth of the jobs get 0.99 of their run time, and will be killed. For the others, the run time is divided by a
    number uniform in (0, 1]; for short jobs, the result is also multiplied by 10; finally it is cut at the longest
    estimate. In whole seconds, at least 1 (Mu'alem & Feitelson 2001, section 4.3; the constants are theirs).

    The paper leaves some details open. Here, steps two to four do not apply to the tenth, since the first step
    "returns"; the cut never goes below the run time; 0.99 of the run time is rounded down, everything else up.

    Parameters
    ----------
    longest
        Seconds; "some upper bound (e.g., 24 hours)".
    underestimated
        Share of jobs whose estimate is too small.
    short, short_factor
        The limit in seconds below which a run time is short, and the factor on the estimates of short jobs.
    """
    seconds = _checked(run_times)
    if not 0 <= underestimated <= 1:
        raise ValueError(f"{underestimated} is not a share of jobs; give a number from 0 to 1")
    if not (1 <= longest <= _LONGEST):
        raise ValueError(f"a longest estimate of {longest} s is not a limit; give a number from 1 to 2**53")
    too_small = generator.random(seconds.shape) < underestimated
    drawn = 1 - generator.random(seconds.shape)  # from (0, 1]
    np.divide(seconds, drawn, out=drawn)
    drawn[seconds < short] *= short_factor
    drawn = np.ceil(np.maximum(np.minimum(drawn, longest), seconds))
    drawn[too_small] = np.floor(0.99 * seconds[too_small])
    return np.maximum(drawn, 1).astype(np.int64)


def doubled(estimates: ArrayLike, factor: float = 2) -> NDArray[np.int64]:
    """Return users' own estimates multiplied by a factor: in whole seconds, rounded up, at least 1.

    Looser estimates give a scheduler more holes to fill (Mu'alem & Feitelson 2001, section 4.5, with factor 2).
    """
    seconds = np.asarray(estimates, dtype=np.float64)
    if not (seconds > 0).all():
        raise ValueError(f"an estimate of {seconds[~(seconds > 0)][0]} s cannot be multiplied; leave such jobs out")
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"estimates cannot be multiplied by {factor}; give a number above 0")
    if seconds.size and seconds.max() > _LONGEST / factor:
        raise ValueError(f"factor {factor} makes estimates beyond 2**53 s; give a smaller one")
    # Rounding first keeps 100 · 1.1 at 110; in floating point it is 110.00000000000001.
    return np.maximum(np.ceil(np.round(seconds * factor, 6)), 1).astype(np.int64)


def accuracy(run_times: ArrayLike, estimates: ArrayLike) -> NDArray[np.float64]:
    """Return for each job the smaller of run time and estimate divided by the larger: 1 if equal, 0 at worst.

    Tang et al. 2013, section 4.2.1, equation 3; two zeros agree.
    """
    seconds, expected = _checked(run_times), _checked(estimates)
    larger = np.maximum(seconds, expected)
    return np.divide(np.minimum(seconds, expected), larger, out=np.ones(larger.shape), where=larger > 0)


def _checked(run_times: ArrayLike) -> NDArray[np.float64]:
    seconds = np.asarray(run_times, dtype=np.float64)
    if not (seconds >= 0).all():
        raise ValueError(f"run time {seconds[~(seconds >= 0)][0]} has no estimate; leave such jobs out")
    if seconds.size and seconds.max() > _LONGEST:
        raise ValueError(f"run time {seconds.max():.0f} is beyond 2**53 s")
    return seconds
