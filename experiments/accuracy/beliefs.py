"""The execution times and requests of a planner with a wrong performance model.

The real execution time of a job on n processors is T(n). The model says T̂(n), wrong by a factor whose logarithm is
normal with standard deviation σ_n. The walltime is the believed time with a margin that suffices for nine of ten runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from gas.availability import AvailabilityList
from gas.planner import Candidate, Requests, soonest

__all__ = ["ERRORS", "MARGIN", "PLANS", "VARIANTS", "Belief", "Plan", "Variant", "Way", "asked_for", "believed"]

ERRORS: Final = (0, 10, 25, 50, 100, 300, 1000, 3000)
"""In per cent: an error of 100 is a standard deviation of a factor of two, up or down."""

Variant = Literal["each size", "scalability"]
"""Where the model is wrong.

===========  ==========================================================================================================
each size    T̂(n) = T(n) exp(σ z_n): each size separately, as after a single timing of each; z_n independent
scalability  T̂(n) = T(n) (n / n_s)^e with e = σ z / ln 4: exact at the user's own size n_s, and off by exp(σ z) at four
             times or a quarter of it
===========  ==========================================================================================================

σ is the logarithm of 1 + the error; z are standard normal.
"""

VARIANTS: tuple[Variant, ...] = get_args(Variant)

Way = Literal["gas", "cautious", "same model"]
"""The way to choose a request.

==========  ============================================================================================================
gas         Gas plans with the believed times
cautious    the request of Gas if it is promised to end sooner than the user's own request even if it takes exp(σ_n)
            times as long as believed; otherwise the user's own request
same model  the user's own size, with the walltime of the model
==========  ============================================================================================================
"""

MARGIN: Final = 1.28
"""Standard deviations between the believed time and the walltime: nine of ten runs are shorter."""

Own: TypeAlias = tuple[int, int, int]
"""Processors, walltime and execution time of the user's own request."""


@dataclass(frozen=True)
class Plan:
    """A way to choose a request, with a variant of the model and its error."""

    variant: Variant
    error: int
    way: Way


PLANS: Final = (
    *(Plan(variant, error, way) for variant in VARIANTS for way in ("gas", "cautious") for error in ERRORS),
    *(Plan("each size", error, "same model") for error in ERRORS),
)
"""All plans that each job is simulated with; at the user's own size, scalability has no error."""


@dataclass(frozen=True)
class Belief:
    """The believed times of a job.

    Attributes
    ----------
    requests
        Sizes, believed times and walltimes; a time over the site's limit is set to one second over it.
    spread
        Standard deviation of the logarithm of the believed time, for each size.
    """

    requests: Requests
    spread: NDArray[np.float64]

    def at(self, size: int) -> int:
        """Return the index of a size."""
        return int(np.searchsorted(self.requests.sizes, size))


def believed(
    asked: Requests, static: int, variant: Variant, error: int, normal: NDArray[np.float64], longest: int
) -> Belief:
    """Return the believed times of a job.

    Parameters
    ----------
    asked
        The possible sizes, and the real times on them.
    static
        The user's own size.
    error
        In per cent.
    normal
        Standard normal draws: one for the scalability, and one for each size.
    longest
        Largest walltime that the site accepts.
    """
    sigma = math.log1p(error / 100)
    if variant == "each size":
        off, spread = sigma * normal[1:], np.full(len(asked.sizes), sigma)
    else:
        fours = np.log(asked.sizes / static) / math.log(4)
        off, spread = sigma * normal[0] * fours, sigma * np.abs(fours)
    times = _whole(asked.times * np.exp(off), longest + 1)
    return Belief(Requests(asked.sizes, times, _whole(times * np.exp(MARGIN * spread), longest)), spread)


def _whole(seconds: NDArray[Any], most: int) -> NDArray[np.int64]:
    """Return whole seconds from 1 to `most`, rounded up, but not because of a rounding error in the last digits."""
    found: NDArray[np.int64] = np.ceil(np.round(seconds, 6).clip(1, most)).astype(np.int64)
    return found


def asked_for(way: Way, belief: Belief, own: Own, availability: AvailabilityList, longest: int) -> tuple[int, int]:
    """Return processors and walltime of the request.

    Sizes whose believed time exceeds the site's limit are not requested; if that holds for all sizes, the request is
    the user's own.
    """
    size, walltime, _ = own
    if way == "same model":
        return size, int(belief.requests.walltimes[belief.at(size)])
    fits = belief.requests.times <= longest
    best = soonest(Requests(*(column[fits] for column in belief.requests)), availability)
    if best is None or (way == "cautious" and not _surely_sooner(best, belief, own, availability)):
        return size, walltime
    return best.processors, best.walltime


def _surely_sooner(best: Candidate, belief: Belief, own: Own, availability: AvailabilityList) -> bool:
    """Return whether another size ends sooner than the user's own request even if it takes longer than believed."""
    size, walltime, time = (np.array([one], np.int64) for one in own)
    if best.processors == own[0]:
        return False
    as_ever = soonest(Requests(size, time, walltime), availability)
    assert as_ever is not None, "S³'s last frame is the whole machine, so every size has a slot"
    longer = math.exp(float(belief.spread[belief.at(best.processors)]))
    return best.start + best.execution_time * longer < as_ever.finish
