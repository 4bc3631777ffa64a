"""The hyper-Erlang distribution of common order: two Erlang branches, fitted to three moments.

A value is the sum of `order` exponential stages with one of two means. With raw moments m1, m2, m3 and order n, let
u_k = m_k / (n (n+1) … (n+k-1)): the required moments of the stage mean, as a random variable with two values. With
D = u2 - u1², s = (u3 - u1 u2) / D and q = (u1 u3 - u2²) / D, these values are the roots of x² - s x + q, and the share
of the first is p = (u1 - x2) / (x1 - x2) (after Jann et al. 1997, who use such distributions for run times and
interarrival times).

There are two positive roots, and p is within (0, 1), exactly if D > 0 and q > 0, that is if n > 1 / CV² and
(n+2) / (n+1) < m1 m3 / m2². Both only get easier with n, so the smallest possible order is found by counting up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LARGEST_ORDER", "HyperErlang"]

LARGEST_ORDER: Final = 100
"""Orders tried; the published fits need 7 at most."""

_TOLERANCE: Final = 1e-9
"""Relative tolerance of the moments of a fit."""


@dataclass(frozen=True)
class HyperErlang:
    """A mixture of two Erlang distributions of the same order; values and stage means in seconds."""

    order: int
    """Exponential stages of a value, at least 1."""
    p: float
    """Share of the values with stages of mean `stage1`; the others have `stage2`."""
    stage1: float
    """Mean of a stage, 1 / lambda1; 0 means values of 0."""
    stage2: float
    matched: int = 3
    """Number of given moments that it has: 3, or fewer if no order has three (see `of_moments`)."""

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ValueError(f"order {self.order} of an Erlang distribution must be 1 or more")
        if not 0 <= self.p <= 1:
            raise ValueError(f"p {self.p} is not a share; give a number from 0 to 1")
        for name in ("stage1", "stage2"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} {getattr(self, name)} s must be a finite number of at least 0")

    @classmethod
    def of_moments(cls, m1: float, m2: float, m3: float, *, largest_order: int = LARGEST_ORDER) -> HyperErlang:
        """Return the distribution of the smallest order with these raw moments.

        If no order up to `largest_order` has all three, the branches are as follows, with N that order:

        - CV² <= 1/N (nearly constant values, a single one): one Erlang branch of order N with the mean only.
        - otherwise, the third moment is too small for the second (values that are nearly all 0 or one constant): values
          of 0 and an Erlang branch of order N, with the first two moments; the third deviates by less than 1/N.

        Moments of exactly one Erlang branch yield that branch.

        Raises
        ------
        ValueError
            No distribution of numbers >= 0 has these moments.
        """
        if not (0 <= m1 < math.inf and m2 < math.inf and m3 < math.inf):
            raise ValueError(f"moments {m1}, {m2}, {m3} must be finite and not negative")
        if m1 == 0:
            return cls(1, 1.0, 0.0, 0.0)
        c2, c3 = m2 / m1**2, m3 / m1**3  # the moments of values with mean 1
        if c2 < 1 - _TOLERANCE or c3 < c2 * c2 * (1 - _TOLERANCE):
            raise ValueError(f"no values have the raw moments {m1}, {m2}, {m3}")
        for order in range(1, largest_order + 1):
            fitted = _of_order(order, c2, c3)
            if fitted is not None:
                p, x1, x2 = fitted
                return cls(order, p, x1 * m1, x2 * m1)
        n = largest_order
        if c2 - 1 <= 1 / n:
            return cls(n, 1.0, m1 / n, m1 / n, matched=1)
        u1, u2 = 1 / n, c2 / (n * (n + 1))
        return cls(n, 1 - u1 * u1 / u2, 0.0, u2 / u1 * m1, matched=2)

    @classmethod
    def of_values(cls, values: ArrayLike, *, largest_order: int = LARGEST_ORDER) -> HyperErlang:
        """Return the distribution with the first three raw moments of these values, in seconds; see `of_moments`."""
        seconds = np.asarray(values, dtype=np.float64)
        if seconds.size == 0 or not (np.isfinite(seconds) & (seconds >= 0)).all():
            raise ValueError("a distribution is fitted to at least one value, all finite and not negative")
        moments = (float(np.mean(seconds**power)) for power in (1, 2, 3))
        return cls.of_moments(*moments, largest_order=largest_order)

    def moment(self, power: int) -> float:
        """Return the raw moment E[value ** power]."""
        stages = self.p * self.stage1**power + (1 - self.p) * self.stage2**power
        return stages * _rising(self.order, power)

    @property
    def mean(self) -> float:
        """Seconds."""
        return self.moment(1)

    def cdf(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the share of values up to each of the given ones."""
        from scipy.special import gammainc

        x = np.asarray(values, dtype=np.float64)
        share = np.zeros(x.shape)
        for part, stage in ((self.p, self.stage1), (1 - self.p, self.stage2)):
            share += part * (gammainc(self.order, np.maximum(x, 0) / stage) if stage > 0 else 1.0) * (x >= 0)
        return share

    def draw(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return independent values."""
        first = generator.random(count) < self.p
        values = generator.standard_gamma(self.order, count)
        values[first] *= self.stage1
        np.logical_not(first, out=first)
        values[first] *= self.stage2
        return values

    def draw_residual(self, generator: np.random.Generator) -> float:
        """Return the time from a random instant to the next arrival, if interarrival times have this distribution.

        An instant lies in an interarrival time of the first branch with a probability proportional to the time that
        these take up, and in each of its stages with the same probability; stages have no memory.
        """
        first = generator.random() * (self.p * self.stage1 + (1 - self.p) * self.stage2) < self.p * self.stage1
        stages = int(generator.integers(1, self.order + 1))
        return float(generator.standard_gamma(stages)) * (self.stage1 if first else self.stage2)


def _of_order(n: int, c2: float, c3: float) -> tuple[float, float, float] | None:
    """Return share and stage means of the distribution of order n with moments 1, c2, c3; None if there is none."""
    u1, u2, u3 = 1 / n, c2 / _rising(n, 2), c3 / _rising(n, 3)
    variance = u2 - u1 * u1
    if abs(variance) <= 1e-12 * u1 * u1 and abs(u3 - u1**3) <= _TOLERANCE * u1**3:
        return 1.0, u1, u1
    if variance <= 1e-12 * u1 * u1:
        return None
    s, q = (u3 - u1 * u2) / variance, (u1 * u3 - u2 * u2) / variance
    root = s * s / 4 - q
    if not (s > 0 and q > 0 and root > 0):
        return None
    x2 = s / 2 + math.sqrt(root)
    x1 = q / x2  # the smaller root, without a difference of two large numbers
    p = (x2 - u1) / (x2 - x1)
    found = ((p * x1**k + (1 - p) * x2**k) / u for k, u in ((1, u1), (2, u2), (3, u3)))
    # If rounding has spoilt the moments, the next order is better conditioned.
    if not (0 <= p <= 1 and all(abs(ratio - 1) <= _TOLERANCE for ratio in found)):
        return None
    return p, x1, x2


def _rising(n: int, power: int) -> float:
    """Return n (n+1) … (n+power-1), the raw moment of a sum of n exponentials of mean 1."""
    return float(math.prod(range(n, n + power)))
