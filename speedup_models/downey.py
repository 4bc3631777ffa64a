"""Downey's model: speed-up from the average A and the variance sigma of the application's parallelism.

A program has a parallelism profile: the number of processors that it could use, over time, without a limit. A is the
average of that parallelism and its variance is sigma (A - 1)**2, so sigma is about the *squared* coefficient of
variation. sigma = 0 is S = min(n, A); for sigma towards infinity S tends to n A / (n + A - 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from documents.fields import FieldError, Fields, finite_number
from speedup_models.model import ModelError, SpeedupModel

__all__ = ["Downey", "downey_from_fields", "speedup"]

LARGEST: Final = 2**53
"""Upper limit of `Downey.largest_useful_size`."""


def speedup(processors: ArrayLike, parallelism: ArrayLike, sigma: ArrayLike) -> NDArray[np.float64]:
    """Return Downey's speed-up S(n; A, sigma); the arguments broadcast.

    Parameters
    ----------
    processors
        n, real numbers of at least 1.
    parallelism
        A, the average parallelism, at least 1.
    sigma
        The variance of parallelism, at least 0; up to 1 is the low-variance branch, from 1 the high-variance one.

    Raises
    ------
    ModelError
        An argument is outside of the model.

    Notes
    -----
    With sigma <= 1::

        A n / (A + (sigma/2)(n-1))                n <= A
        A n / (sigma (A-1/2) + n (1 - sigma/2))   A <= n <= 2A-1
        A                                         2A-1 <= n

    and with sigma >= 1::

        n A (sigma+1) / (sigma (n+A-1) + A)       n <= A + A sigma - sigma
        A                                         A + A sigma - sigma <= n

    (Downey, "A parallel workload model and its implications for processor allocation", HPDC 1997.) Both first lines
    are n / (1 + w (n-1)/A), with w = sigma/2 and w = sigma/(1+sigma); written like this nothing overflows.
    """
    n = np.asarray(processors, dtype=np.float64)
    a = np.asarray(parallelism, dtype=np.float64)
    s = np.asarray(sigma, dtype=np.float64)
    for array, least, what in ((n, 1.0, "processors"), (a, 1.0, "A"), (s, 0.0, "sigma")):
        if not (np.isfinite(array) & (array >= least)).all():
            bad = array[~(np.isfinite(array) & (array >= least))].flat[0]
            raise ModelError(f"Downey's model: {what} = {bad:g} is not a finite number of at least {least:g}")
    with np.errstate(over="ignore"):  # a bound of infinity is never reached, as it should be
        low = s <= 1
        linear = n / (1 + np.where(low, s / 2, s / (1 + s)) * ((n - 1) / a))
        bent = n / (s * (1 - 0.5 / a) + (n / a) * (1 - np.minimum(s, 1.0) / 2))
        # 2A-1 and A + sigma(A-1) are the same for sigma = 1.
        full = n >= a + np.maximum(s, 1.0) * (a - 1)
    result = np.where(full, a, np.where(low & (n > a), bent, linear))
    # True of the formulas; here it removes noise in the last digit.
    return np.minimum(result, np.minimum(n, a))


@dataclass(frozen=True, slots=True)
class Downey(SpeedupModel):
    """An application after Downey's model: T(n) = L / S(n; A, sigma).

    Attributes
    ----------
    sequential_time
        L, seconds on one processor, which is also the total work in processor-seconds; above 0.
    A
        Average parallelism, at least 1.
    sigma
        Variance of parallelism, at least 0.
    """

    sequential_time: float
    A: float
    sigma: float

    def __post_init__(self) -> None:
        try:
            finite_number(self.sequential_time, "sequential_time", above=0)
            finite_number(self.A, "A", minimum=1)
            finite_number(self.sigma, "sigma", minimum=0)
        except FieldError as error:
            raise ModelError(f"Downey's model: {error}") from None

    @classmethod
    def observed(cls, processors: float, seconds: float, A: float, sigma: float, *, whole: bool = False) -> Downey:  # noqa: N803
        """Return the application with this A and sigma that took `seconds` on this many processors.

        L is S(n) times the observed time; with `whole`, rounded up to whole seconds as in the simulator of Cirne
        and Berman, who also round each L / S(n) up (as `execution_times` does).
        """
        cls(seconds, A, sigma)  # raises for invalid parameters
        work = float(speedup(processors, A, sigma)) * seconds
        return cls(float(max(1, math.ceil(work))) if whole else work, A, sigma)

    @property
    def name(self) -> str:
        """Return the model with its parameters."""
        return f"Downey A={self.A:.6g} sigma={self.sigma:.6g}"

    @property
    def largest_useful_size(self) -> int:
        """Return the smallest count with the shortest execution time (2**53 if there is none below)."""
        bound = self.A + max(self.sigma, 1.0) * (self.A - 1)
        if bound >= LARGEST:
            return LARGEST
        return math.ceil(round(bound, 6))

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the execution time in seconds on each count; raise for a count below 1."""
        return np.asarray(self.sequential_time / speedup(processors, self.A, self.sigma))


def downey_from_fields(fields: Fields) -> Downey:
    """Return the model of a [speedup] table with the keys sequential_time (seconds), A and sigma."""
    return Downey(
        sequential_time=fields.number("sequential_time", above=0),
        A=fields.number("A", minimum=1),
        sigma=fields.number("sigma", minimum=0),
    )
