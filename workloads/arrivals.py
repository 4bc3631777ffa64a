"""Distributions of interarrival times, and the submit times that result from them.

A law is anything with a `mean` and a `draw` (`Interarrivals`); generators accept any. Processes with a daily cycle are
in their models (`workloads.lublin`), and so are those fitted to logs (`workloads.jann`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrivalKind", "Interarrivals", "Poisson", "UniformLog", "arrival_law", "arrival_times", "uniform_log"]

ArrivalKind = Literal["poisson", "uniform-log"]
"""Names of the laws with the mean as their only parameter."""


class Interarrivals(Protocol):
    """Independent interarrival times of one distribution."""

    @property
    def mean(self) -> float:
        """Seconds between two arrivals, on average."""

    def draw(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return interarrival times in seconds and fractions."""


@dataclass(frozen=True)
class Poisson:
    """Exponential interarrival times, so that arrivals are a Poisson process."""

    mean: float
    """Seconds, above 0."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and self.mean > 0):
            raise ValueError(f"mean interarrival time {self.mean} s must be a number above 0")

    def draw(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return interarrival times in seconds and fractions."""
        return generator.exponential(self.mean, count)


@dataclass(frozen=True)
class UniformLog:
    """Interarrival times whose logarithm is uniform: all factors of two between the limits are equally likely.

    In the form P(t <= v) = l log2 v + c, in which logs are often described, the limits are 2**(-c/l) and 2**((1-c)/l)
    (`of_line`).
    """

    shortest: float
    """Seconds, above 0."""
    longest: float
    """Seconds, above `shortest`."""

    def __post_init__(self) -> None:
        if not (0 < self.shortest < self.longest and math.isfinite(self.longest)):
            raise ValueError(
                f"uniform-log interarrival times from {self.shortest} to {self.longest} s need 0 < shortest < longest"
            )

    @classmethod
    def of_line(cls, slope: float, intercept: float) -> UniformLog:
        """Return the law with P(t <= v) = slope · log2 v + intercept."""
        if not slope > 0:
            raise ValueError(f"slope {slope} of a cumulative distribution must be above 0")
        return cls(2 ** (-intercept / slope), 2 ** ((1 - intercept) / slope))

    @classmethod
    def of_mean(cls, mean: float, ratio: float = 1e4) -> UniformLog:
        """Return the law with this mean, in seconds, whose longest time is `ratio` times its shortest."""
        if not (math.isfinite(ratio) and ratio > 1):
            raise ValueError(f"ratio {ratio} of the longest to the shortest interarrival time must be above 1")
        shortest = Poisson(mean).mean * math.log(ratio) / (ratio - 1)
        return cls(shortest, shortest * ratio)

    @property
    def mean(self) -> float:
        """Seconds between two arrivals, on average."""
        return (self.longest - self.shortest) / math.log(self.longest / self.shortest)

    def draw(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return interarrival times in seconds and fractions."""
        return uniform_log(count, self.shortest, self.longest, generator)


def arrival_law(kind: ArrivalKind, mean: float) -> Interarrivals:
    """Return the law of this name with this mean, in seconds."""
    if kind == "poisson":
        return Poisson(mean)
    if kind == "uniform-log":
        return UniformLog.of_mean(mean)
    raise ValueError(f'arrivals "{kind}" are not known; known: {", ".join(get_args(ArrivalKind))}')


def arrival_times(law: Interarrivals, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return the first arrivals after second 0, in seconds and fractions, in order."""
    times = law.draw(count, generator)
    return np.cumsum(times, out=times)


def uniform_log(count: int, low: float, high: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return numbers from `low` to `high` whose logarithm is uniform; 0 < low <= high."""
    drawn = generator.random(count)
    drawn *= math.log(high / low)
    np.exp(drawn, out=drawn)
    drawn *= low
    return np.minimum(drawn, high, out=drawn)  # exp(log(…)) may exceed it in the last digit
