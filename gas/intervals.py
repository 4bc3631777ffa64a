"""A mean with half of its 90% Student interval.

Two rules, for two questions. `interval` takes one value a seed (or one a month, each counting the same): how much a
figure changes if chance is drawn again. `by_months` takes values of jobs with the months that they are of, from four
months on: how much it would change in other months of such a log; `ratio_by_months` and `jackknife_by_months` are the
same of a ratio of sums and of any statistic. With fewer values than a rule takes there is no interval, and no verdict
that hangs on one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEWEST", "Interval", "by_months", "from_error", "interval", "jackknife_by_months", "jackknifed"]
__all__ += ["ratio_by_months", "share_by_months", "signed", "sums_by_month", "sure", "sureness"]

FEWEST: Final = 4
"""Months that `by_months` takes. Two or three may be alike by chance, and the interval as narrow as one likes."""


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and half of its 90% interval; None with a single seed."""

    mean: float
    half_width: float | None

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int = 0) -> str:
        """Return mean and half width as text with the given number of decimals."""
        width = "" if self.half_width is None else f" ± {self.half_width:,.{digits}f}"
        return f"{self.mean:,.{digits}f}{width}"


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of one value per seed, with its Student interval."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, None)
    return from_error(mean, float(np.std(values, ddof=1) / np.sqrt(len(values))), len(values))


def from_error(value: float, error: float, count: int, *, level: float = 0.9) -> Interval:
    """Return a value with half of its Student interval, from its standard error and the number of values."""
    return Interval(value, _student(level, count) * error)


@cache
def _student(level: float, count: int) -> float:
    """Return by how many standard errors a mean of so many values is off, at most, with this probability."""
    from scipy.special import stdtrit  # imported in a third of the time of `scipy.stats`

    return float(stdtrit(count - 1, 0.5 + level / 2))


def sureness(seeds: int) -> str:
    """Return the note on intervals under a table."""
    return f"± is half of a 90% interval over {seeds} seeds." if seeds > 1 else "One seed: there are no intervals."


def by_months(values: NDArray[Any], months: Sequence[Hashable], *, level: float = 0.9) -> Interval:
    """Return the mean of values, and half of its interval after Student with months as batches.

    Months weigh by how many values they have. With fewer than `FEWEST` months there is no interval.
    """
    if not len(values):
        return Interval(0.0, None)
    return ratio_by_months(*sums_by_month(months, values, np.ones(len(values))), level=level)


def share_by_months(hits: NDArray[Any], months: Sequence[Hashable], *, level: float = 0.9) -> Interval:
    """Return the per cent of values that are true, with its interval after Student with months as batches.

    If all values are the same, no month differs from another, but that does not make the share certain: half of the
    interval is then the share of others of which so many values would show none with the probability (1 - level) / 2.
    """
    found = by_months(np.where(hits, 100.0, 0.0), months, level=level)
    if found.half_width is None or 0 < np.count_nonzero(hits) < len(hits):
        return found
    return Interval(found.mean, 100 * (1 - ((1 - level) / 2) ** (1 / len(hits))))


def sums_by_month(months: Sequence[Hashable], *columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the sums over each month of columns of values, whose months are given."""
    of = _numbered(months)
    return [np.bincount(of, weights=values) for values in columns]


def _numbered(months: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return the number of the month of each value, in the order in which months come."""
    index = {month: i for i, month in enumerate(dict.fromkeys(months))}
    return np.array([index[month] for month in months], np.int64)


def ratio_by_months(sums: NDArray[Any], bases: NDArray[Any], *, level: float = 0.9) -> Interval:
    """Return the ratio of two sums, and half of its interval after Student with months as batches.

    The ratio is that of the sums over all months, so that months weigh by their bases (Cochran, Sampling Techniques,
    6.3). With fewer than `FEWEST` months there is no interval.

    Parameters
    ----------
    sums, bases
        A value each month; all bases together are not 0.
    level
        Of the interval; higher where one of several comparisons decides.
    """
    ratio = float(np.sum(sums) / np.sum(bases))
    count = len(sums)
    if count < FEWEST:
        return Interval(ratio, None)
    residual = sums - ratio * bases
    spread = float(np.sqrt((residual**2).sum() / (count - 1)))
    return from_error(ratio, spread / (abs(float(np.mean(bases))) * float(np.sqrt(count))), count, level=level)


def jackknife_by_months(
    statistic: Callable[[NDArray[np.bool_]], float], months: Sequence[Hashable], *, level: float = 0.9
) -> Interval:
    """Return a statistic of values, and half of its interval after Student with months as batches.

    For what is no ratio of sums, as a standard deviation: it is computed again without each of the months in turn
    (Efron and Stein, Annals of Statistics 9, 1981). With fewer than `FEWEST` months there is no interval.

    Parameters
    ----------
    statistic
        Of the values that a mask keeps.
    months
        Of each value.
    """
    of = _numbered(months)
    count = len(set(of.tolist()))
    whole = statistic(np.ones(len(of), np.bool_))
    if count < FEWEST:  # the statistic of no value at all may not exist
        return Interval(whole, None)
    return jackknifed(whole, [statistic(of != month) for month in range(count)], level=level)


def jackknifed(whole: float, without: Sequence[float], *, level: float = 0.9) -> Interval:
    """Return a statistic, and half of its interval by its values without each of the months in turn.

    With fewer than `FEWEST` months there is no interval.
    """
    count = len(without)
    if count < FEWEST:
        return Interval(whole, None)
    spread = float(np.sqrt((count - 1) / count * ((np.array(without) - np.mean(without)) ** 2).sum()))
    return from_error(whole, spread, count, level=level)


def sure(found: Interval) -> bool:
    """Return whether the interval excludes 0: other months of such a log would hardly give another sign."""
    return found.half_width is not None and abs(found.mean) > found.half_width


def signed(found: Interval, digits: int = 0) -> str:
    """Return a difference in words."""
    return f"{'+' if found.mean > 0 else ''}{found.text(digits)}"
