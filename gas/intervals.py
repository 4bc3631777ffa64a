"""Means with half of their 90% Student interval.

There are two rules for two questions. `interval` takes one value per seed (or per month, with equal weights): how much
would a figure change with other random numbers? `by_months` takes values of jobs and the month of each, from four
months on: how much would it change in other months of such a log? `ratio_by_months` and `jackknife_by_months` answer
the latter for a ratio of sums and for any statistic. With fewer values than a rule needs there is no interval, and no
verdict that depends on it.
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
"""Fewest months for `by_months`. Two or three may be alike by chance, which makes the interval far too narrow."""


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
    """Return the largest error of a mean of `count` values, in standard errors, at this level of confidence."""
    from scipy.special import stdtrit  # loads in a third of the time of `scipy.stats`

    return float(stdtrit(count - 1, 0.5 + level / 2))


def sureness(seeds: int) -> str:
    """Return the note on intervals under a table."""
    return f"± is half of a 90% interval over {seeds} seeds." if seeds > 1 else "One seed: there are no intervals."


def by_months(values: NDArray[Any], months: Sequence[Hashable], *, level: float = 0.9) -> Interval:
    """Return the mean of values and half of its Student interval, with months as batches.

    Each month has the weight of its number of values. With fewer than `FEWEST` months there is no interval.
    """
    if not len(values):
        return Interval(0.0, None)
    return ratio_by_months(*sums_by_month(months, values, np.ones(len(values))), level=level)


def share_by_months(hits: NDArray[Any], months: Sequence[Hashable], *, level: float = 0.9) -> Interval:
    """Return the percentage of true values and half of its Student interval, with months as batches.

    If all values are equal, the months do not differ, but that does not make the share certain: half of the interval is
    then the share of different values at which `len(hits)` values contain none with probability (1 - level) / 2.
    """
    found = by_months(np.where(hits, 100.0, 0.0), months, level=level)
    if found.half_width is None or 0 < np.count_nonzero(hits) < len(hits):
        return found
    return Interval(found.mean, 100 * (1 - ((1 - level) / 2) ** (1 / len(hits))))


def sums_by_month(months: Sequence[Hashable], *columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the sums of columns of values over each month; `months` has the month of each value."""
    of = _numbered(months)
    return [np.bincount(of, weights=values) for values in columns]


def _numbered(months: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return the number of each value's month; months are numbered by first appearance."""
    index = {month: i for i, month in enumerate(dict.fromkeys(months))}
    return np.array([index[month] for month in months], np.int64)


def ratio_by_months(sums: NDArray[Any], bases: NDArray[Any], *, level: float = 0.9) -> Interval:
    """Return the ratio of two sums and half of its Student interval, with months as batches.

    It is the ratio of the sums over all months, so the weight of a month is its base (Cochran, Sampling Techniques,
    6.3). With fewer than `FEWEST` months there is no interval.

    Parameters
    ----------
    sums, bases
        One value per month; the sum of all bases is not 0.
    level
        Confidence level of the interval; higher where one of several comparisons decides.
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
    """Return a statistic of values and half of its Student interval, with months as batches.

    For statistics that are no ratio of sums, such as a standard deviation. The statistic is recomputed without each of
    the months in turn (Efron and Stein, Annals of Statistics 9, 1981). With fewer than `FEWEST` months there is no
    interval.

    Parameters
    ----------
    statistic
        Function of a mask, returns the statistic of the values in the mask.
    months
        Month of each value.
    """
    of = _numbered(months)
    count = len(set(of.tolist()))
    whole = statistic(np.ones(len(of), np.bool_))
    if count < FEWEST:  # a statistic of no values may be undefined
        return Interval(whole, None)
    return jackknifed(whole, [statistic(of != month) for month in range(count)], level=level)


def jackknifed(whole: float, without: Sequence[float], *, level: float = 0.9) -> Interval:
    """Return a statistic and half of its interval, from its values without each of the months in turn.

    With fewer than `FEWEST` months there is no interval.
    """
    count = len(without)
    if count < FEWEST:
        return Interval(whole, None)
    spread = float(np.sqrt((count - 1) / count * ((np.array(without) - np.mean(without)) ** 2).sum()))
    return from_error(whole, spread, count, level=level)


def sure(found: Interval) -> bool:
    """Return whether the interval excludes 0: other months of such a log would hardly change the sign."""
    return found.half_width is not None and abs(found.mean) > found.half_width


def signed(found: Interval, digits: int = 0) -> str:
    """Return a difference in words."""
    return f"{'+' if found.mean > 0 else ''}{found.text(digits)}"
