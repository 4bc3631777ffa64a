"""Means with half of their 90% Student interval.

There are two rules for two questions. `interval` takes one value per seed (or per month, with equal weights): how much
would a figure change with other random numbers? `by_months` takes values of jobs and the month of each, from four
months on: how much would it change in other months of such a log? `ratio_by_months` and `jackknife_by_months` answer
the latter for a ratio of sums and for any statistic. With fewer values than a rule needs there is no interval, and no
verdict that depends on it.

A few months may agree by chance, far better than they would again. So the interval of a mean of jobs is never narrower
than if its jobs were independent, and that of a share never narrower than the exact one of as many independent trials.
If only one number of each month or seed is known and these agree exactly, Student's interval has no width, however few
there are. By the sign test, the median month is like n that agree with confidence 1 - 2^(1-n). So there is an interval,
of width 0, if this reaches its level (5 months for 90%, 7 for 98%), and otherwise none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEWEST", "Interval", "by_months", "from_error", "interval", "jackknife_by_months", "jackknifed"]
__all__ += [
    "points_by_months",
    "ratio_by_months",
    "share_by_months",
    "share_of_sums",
    "signed",
    "sums_by_month",
    "sure",
    "sureness",
]

FEWEST: Final = 4
"""Fewest months for `by_months`. Two or three may be alike by chance, which makes the interval far too narrow."""

_ROUNDING: Final = 1e-12
"""Relative difference of equal values, by rounding."""


@dataclass(frozen=True)
class Interval:
    """A mean and half of its 90% interval; None if too few values are known for one."""

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
    """Return a value with half of its Student interval, from its standard error and the number of values.

    If the error is 0, there is an interval only if so many values would hardly agree by chance.
    """
    if not error:
        return Interval(value, 0.0 if 2.0 ** (1 - count) <= 1 - level else None)
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

    Each month has the weight of its number of values. The interval is at least as wide as if the values were
    independent. With fewer than `FEWEST` months there is no interval.
    """
    count = len(values)
    if not count:
        return Interval(0.0, None)
    found = ratio_by_months(*sums_by_month(months, values, np.ones(count)), level=level)
    if len(set(months)) < FEWEST or not np.ptp(values):
        return found
    alone = from_error(found.mean, float(np.std(values, ddof=1) / np.sqrt(count)), count, level=level)
    return max(found, alone, key=lambda one: one.half_width or 0.0)


def share_by_months(hits: NDArray[Any], months: Sequence[Hashable], *, level: float = 0.9) -> Interval:
    """Return the percentage of true values and half of its interval, with months as batches (`share_of_sums`)."""
    if not len(hits):
        return Interval(0.0, None)
    return share_of_sums(*sums_by_month(months, hits, np.ones(len(hits))), level=level)


def share_of_sums(hits: NDArray[Any], trials: NDArray[Any], *, level: float = 0.9) -> Interval:
    """Return a percentage of trials and half of its Student interval, from the numbers of each month.

    The interval is at least as wide as the exact one of as many independent trials (Clopper and Pearson, Biometrika 26,
    1934), also if all trials are alike. With fewer than `FEWEST` months there is no interval.
    """
    found = ratio_by_months(hits, trials, level=level)
    share = 100 * found.mean
    if len(hits) < FEWEST:
        return Interval(share, None)
    exact = _exact(float(np.sum(hits)), float(np.sum(trials)), level)
    return Interval(share, 100 * max(found.half_width or 0.0, exact))


def points_by_months(
    more: NDArray[Any], less: NDArray[Any], months: Sequence[Hashable], *, level: float = 0.9
) -> Interval:
    """Return the percentage of one kind of values minus that of another, and half of its Student interval.

    The interval is at least as wide as the wider exact one of the two shares (`share_of_sums`). With fewer than
    `FEWEST` months there is no interval.
    """
    found = by_months(np.where(more, 100.0, 0.0) - np.where(less, 100.0, 0.0), months, level=level)
    if not len(more) or len(set(months)) < FEWEST:
        return found
    shares = (_exact(float(np.count_nonzero(kind)), float(len(more)), level) for kind in (more, less))
    return Interval(found.mean, max(found.half_width or 0.0, *(100 * half for half in shares)))


def _exact(hits: float, trials: float, level: float) -> float:
    """Return the longer side of the exact interval of a share of independent trials."""
    from scipy.special import betaincinv

    tail, share = (1 - level) / 2, hits / trials
    below = share - float(betaincinv(hits, trials - hits + 1, tail)) if hits else 0.0
    above = float(betaincinv(hits + 1, trials - hits, 1 - tail)) - share if hits < trials else 0.0
    return max(below, above)


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
    residual[np.abs(residual) <= _ROUNDING * np.abs(sums)] = 0.0
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
    apart = np.array(without) - np.mean(without)
    apart[np.abs(apart) <= _ROUNDING * abs(whole)] = 0.0
    spread = float(np.sqrt((count - 1) / count * (apart**2).sum()))
    return from_error(whole, spread, count, level=level)


def sure(found: Interval) -> bool:
    """Return whether the interval excludes 0: other months of such a log would hardly change the sign."""
    return found.half_width is not None and abs(found.mean) > found.half_width


def signed(found: Interval, digits: int = 0) -> str:
    """Return a difference in words."""
    return f"{'+' if found.mean > 0 else ''}{found.text(digits)}"
