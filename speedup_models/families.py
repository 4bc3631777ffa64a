"""Amdahl's law and Downey's model in the form of a least-squares search.

The fit is to the logarithm of time. For given shape parameters (the serial fraction; A and sigma) the best sequential
time is then a mean, so only the shape is searched. Of the timings, least squares needs only the mean log time on each
distinct count, and their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from speedup_models.downey import speedup

__all__ = [
    "FAMILIES",
    "LARGEST_SIGMA",
    "MANY_COUNTS",
    "RESOLUTION",
    "RIDGE",
    "Family",
    "Groups",
    "ModelName",
    "ladder",
    "solve",
]

Array = NDArray[np.float64]
ModelName = Literal["amdahl", "downey"]

RESOLUTION: Final = 1e-6
"""Relative error below which a timing counts as exact, so that two perfect fits are equally good."""

LARGEST_SIGMA: Final = 100.0
"""End of the search for sigma; speed-ups there are within 1% of those of infinite sigma."""

RIDGE: Final = 1.01
"""Sums of squares within this factor fit about equally well."""

FEW_COUNTS: Final = 30
"""With more distinct counts, none of them bends the sum of squares much."""

MANY_COUNTS: Final = 100
"""With more, samples of the bootstrap are close to the fit, and are searched from there only, to save time."""

HORIZON: Final = 100
"""The search for A ends at this multiple of the largest measured count."""


class Search(NamedTuple):
    """The tolerance of a local search, and its largest number of steps."""

    tolerance: float
    steps: int


FINE: Final = Search(1e-10, 60)
"""If a model fits, it ends after some ten steps; otherwise it creeps through long flat valleys."""

ROUGH: Final = Search(1e-6, 20)
"""For one of hundreds of bootstrap samples, of which only percentiles are used."""


class Groups(NamedTuple):
    """Timings by distinct count, ascending: n, mean log time, number of timings."""

    n: Array
    log_time: Array
    weight: Array

    @classmethod
    def of(cls, processors: NDArray[np.int64], log_time: Array) -> Groups:
        """Return the groups of single timings."""
        counts, member = np.unique(processors, return_inverse=True)
        weight = np.bincount(member).astype(np.float64)
        return cls(counts.astype(np.float64), np.bincount(member, log_time) / weight, weight)

    def of_counts(self, keep: NDArray[np.bool_]) -> Groups:
        """Return the groups with these counts."""
        return Groups(*(array[keep] for array in self))

    @property
    def resolved(self) -> float:
        """Return the sum of squares of timings that are each off by `RESOLUTION`."""
        return float(self.weight.sum()) * RESOLUTION**2


@dataclass(frozen=True)
class Family:
    """One of the two models: its shape parameters, and the space in which they are searched.

    A point of that space is (f) for Amdahl's law, and for Downey's model (log A, w) with w = sigma/2 up to sigma = 1
    and w = sigma/(1+sigma) above: times depend on those smoothly, and an infinite sigma is only w = 1.
    """

    name: ModelName
    title: str
    parameters: tuple[str, ...]

    def log_speedup(self, n: Array, shape: Array) -> Array:
        """Return log S for the shape parameters in the last axis of `shape`: shape (..., len(n))."""
        if self.name == "amdahl":
            return np.asarray(np.log(n) - np.log1p(shape[..., :1] * (n - 1)))
        return np.asarray(np.log(speedup(n, shape[..., :1], shape[..., 1:])))

    def shape(self, point: Array) -> Array:
        """Return the shape parameters at a point."""
        if self.name == "amdahl":
            return point
        log_a, w = point[..., 0], point[..., 1]
        sigma = np.where(w <= 0.5, 2 * w, w / np.maximum(1 - w, 1e-9))
        return np.stack([np.maximum(np.exp(log_a), 1.0), sigma], axis=-1)

    def upper(self, groups: Groups) -> Array:
        """Return the upper bounds of points; the lower ones are 0."""
        if self.name == "amdahl":
            return np.array([1.0])
        return np.array([np.log(HORIZON * groups.n[-1]), LARGEST_SIGMA / (1 + LARGEST_SIGMA)])

    def log_work(self, groups: Groups, point: Array) -> Array:
        """Return the best log L at each point."""
        weights = groups.weight / groups.weight.sum()
        return np.asarray((groups.log_time + self.log_speedup(groups.n, self.shape(point))) @ weights)

    def residuals(self, groups: Groups, point: Array) -> Array:
        """Return the groups' weighted log residuals at each point, shape (..., groups)."""
        work = groups.log_time + self.log_speedup(groups.n, self.shape(point))
        mean = work @ (groups.weight / groups.weight.sum())
        return np.asarray((work - mean[..., np.newaxis]) * np.sqrt(groups.weight))

    def squares(self, groups: Groups, point: Array) -> Array:
        """Return the sum of squared residuals at each point."""
        return np.asarray((self.residuals(groups, point) ** 2).sum(axis=-1))


FAMILIES: Final[dict[ModelName, Family]] = {
    "amdahl": Family("amdahl", "Amdahl's law", ("serial_fraction",)),
    "downey": Family("downey", "Downey's model", ("A", "sigma")),
}


def ladder(family: Family, groups: Groups, steps: int, around: Array | None = None) -> tuple[Array, Array]:
    """Return points at fixed steps of the first coordinate, each the best in the second, and their squares.

    The steps span the whole space or, with `around`, 0.2 of log A on both sides of that point. Steps are added where a
    count equals A or 2A-1: the sum of squares bends there, so it has many shallow valleys. The best w is found from 33
    values and then, four times, from closer ones around the best of them.
    """
    if family.name == "amdahl":
        points = np.concatenate([[0.0], np.geomspace(1e-7, 1.0, steps)])[:, np.newaxis]
        return points, family.squares(groups, points)
    upper = family.upper(groups)
    low, high = (0.0, upper[0]) if around is None else np.clip([around[0] - 0.2, around[0] + 0.2], 0.0, upper[0])
    first = np.linspace(low, high, steps)
    if len(groups.n) <= FEW_COUNTS:
        bends = np.log(np.concatenate([groups.n, (groups.n + 1) / 2]))
        first = np.union1d(first, bends[(low <= bends) & (bends <= high)])
    rows = np.arange(len(first))
    low, high = np.zeros(len(first)), np.full(len(first), upper[1])
    for _ in range(5):
        second = np.linspace(low, high, 33, axis=-1)
        points = np.stack(np.broadcast_arrays(first[:, np.newaxis], second), axis=-1)
        squares = family.squares(groups, points)
        best = squares.argmin(axis=-1)
        centre, width = second[rows, best], (high - low) / 32
        low, high = np.maximum(centre - width, 0.0), np.minimum(centre + width, upper[1])
    return points[rows, best], squares[rows, best]


def solve(family: Family, groups: Groups, start: Array | None = None) -> Array:
    """Return the best point: local searches from the lowest valleys of the ladder, then again closer to the best.

    With a `start` (the solution of a similar problem) only this and the lowest valley are tried, for speed. Of equally
    good points it is, for Downey's model, the one with the largest A, which claims no levelling-off that the timings do
    not show.
    """
    if start is not None and len(groups.n) > MANY_COUNTS:
        return _best(family, groups, [start], ROUGH)
    rungs, squares = ladder(family, groups, 120 if start is None else 40)
    if start is not None:
        return _best(family, groups, [start, rungs[squares.argmin()]], ROUGH)
    ridge = rungs[squares <= squares.min() * RIDGE + groups.resolved]
    best = _best(family, groups, [*rungs[_valleys(squares)[:4]], ridge[0], ridge[-1]])
    if family.name == "amdahl":
        return best
    starts = [best]
    for centre in (best, ridge[0]):
        rungs, squares = ladder(family, groups, 80, around=centre)
        starts += list(rungs[_valleys(squares)[:3]])
    return _best(family, groups, starts)


def _valleys(squares: Array) -> NDArray[np.int64]:
    """Return the local minima of the squares, the least first; the first index of a flat stretch."""
    padded = np.pad(squares, 1, constant_values=np.inf)
    found = np.flatnonzero((squares < padded[:-2] * (1 - 1e-9)) & (squares <= padded[2:] * (1 + 1e-9)))
    return found[np.argsort(squares[found], kind="stable")]


def _best(family: Family, groups: Groups, starts: list[Array], search: Search = FINE) -> Array:
    """Return the best of some points and of the results of local searches from them."""
    from scipy.optimize import least_squares

    upper = family.upper(groups)
    found: list[Array] = []
    for point in starts:
        result = least_squares(
            lambda x: family.residuals(groups, x),
            np.clip(point, 1e-9, upper - 1e-9),
            bounds=(np.zeros_like(upper), upper),
            xtol=search.tolerance,
            ftol=search.tolerance,
            gtol=search.tolerance / 100,
            max_nfev=search.steps,
        )
        # A local search stays inside its bounds, but the best may be on one of them.
        found += [result.x, point]
    sums = np.array([float(family.squares(groups, point)) for point in found])
    if family.name == "amdahl":
        return found[int(sums.argmin())]
    equal = sums <= sums.min() * (1 + 1e-6) + groups.resolved
    best = max((point for point, same in zip(found, equal, strict=True) if same), key=lambda point: float(point[0]))
    return np.where(best < 1e-8, 0.0, best)  # zero within the search's tolerance
