"""The bake-off: its runs, the scores of the methods, and the best method.

``months.toml`` lists the logs and months that tuned the methods, and those that judge them. A score is better or worse
than that of another method if their difference, paired by job, is resolved over months.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found, jobs_by_month, load_log
from experiments.prediction.methods import LEVELS
from experiments.prediction.waits import LEARNERS, METHODS, RECORDED, TRUTHS
from gas.intervals import Interval, by_months, ratio_by_months, share_by_months

__all__ = ["NAMES", "SCORES", "Score", "WaitRun", "Waits", "judging_from", "split", "wait_runs"]

NAMES: Final = {
    "gas": "Gas",
    "simulation": "Gas's simulation alone",
    "promise": "conservative promise",
    "mean": "mean of similar jobs",
    "quantiles": "quantiles of similar jobs",
    "bounds": "QBETS",
    "nearest": "nearest neighbours",
    "boosting": "gradient boosting",
    "network": "two-stage network",
}
"""Names of the methods in reports."""

_FACTOR_FROM, _SLACK, _UNIT = 600.0, 60.0, 60.0

Column = NDArray[np.float64]
Valued = Callable[[Column, Column, Column, Column], Column]
"""Takes waits, and low ends, middles and high ends of predictions; returns a value per job, NaN for none."""


@dataclass(frozen=True)
class Score:
    """A score of predictions.

    Attributes
    ----------
    values
        A function that returns a value per job.
    median
        Whether the score is the median of the values; otherwise it is their mean.
    more
        Whether a higher score is better; None if neither is.
    share
        Whether the score is a share of jobs: the values are 0 or 100.
    """

    title: str
    values: Valued
    median: bool = False
    more: bool | None = False
    share: bool = False

    def of(self, found: Waits, method: str, *, level: float = 0.9) -> Interval:
        """Return the score of a method with its interval over months; its mean is NaN if no job counts."""
        return self._over(self.values(found.wait, *found.predicted(method)), found.months, level, share=self.share)

    def apart(self, found: Waits, method: str, other: str, share: float = 1.0, *, level: float = 0.9) -> Interval:
        """Return the score of a method minus `share` times another's, over the jobs that both methods predict.

        The mean is NaN if there are no such jobs.
        """
        one, two = (self.values(found.wait, *found.predicted(of)) for of in (method, other))
        both = np.isfinite(one) & np.isfinite(two)
        if not both.any():
            return Interval(float("nan"), None)
        if not self.median:
            return self._over(one - share * two, found.months, level)
        return _of_medians(
            both, found.months, lambda where: float(np.median(one[where]) - share * np.median(two[where])), level
        )

    def _over(self, values: Column, months: Sequence[str], level: float, *, share: bool = False) -> Interval:
        known = np.isfinite(values)
        if not known.any():
            return Interval(float("nan"), None)
        if not self.median:
            of = [months[i] for i in np.flatnonzero(known).tolist()]
            kept = values[known]
            return share_by_months(kept > 0, of, level=level) if share else by_months(kept, of, level=level)
        return _of_medians(known, months, lambda where: float(np.median(values[where])), level)


def _of_medians(known: NDArray[np.bool_], months: Sequence[str], of: Callable[[Any], float], level: float) -> Interval:
    """Return a median, with an interval from the medians of the months, all with equal weight."""
    names = np.array(months)
    each = [of(here) for month in dict.fromkeys(months) if (here := known & (names == month)).sum() >= 5]
    return Interval(
        of(known), ratio_by_months(np.array(each), np.ones(len(each)), level=level).half_width if each else None
    )


def _pinball(wait: Column, *predicted: Column) -> Column:
    losses = [(wait - one) * (level - (wait < one)) for level, one in zip(LEVELS, predicted, strict=True)]
    return np.asarray(np.mean(losses, axis=0) / _UNIT)


def _factor(wait: Column, _: Column, middle: Column, __: Column) -> Column:
    ratio = (middle + _SLACK) / (wait + _SLACK)
    near = np.where((ratio >= 0.5) & (ratio <= 2), 100.0, 0.0)
    return np.where((wait > _FACTOR_FROM) & np.isfinite(middle), near, np.nan)


def _within(seconds: float) -> Valued:
    return lambda wait, _, middle, __: np.where(
        np.isfinite(middle), np.where(np.abs(middle - wait) <= seconds, 100.0, 0.0), np.nan
    )


def _error(wait: Column, _: Column, middle: Column, __: Column) -> Column:
    return np.abs(middle - wait) / _UNIT


def _covered(wait: Column, low: Column, _: Column, high: Column) -> Column:
    return np.where(np.isfinite(low), np.where((low <= wait) & (wait <= high), 100.0, 0.0), np.nan)


def _width(_: Column, low: Column, __: Column, high: Column) -> Column:
    return np.asarray((high - low) / _UNIT)


COVERED: Final = Score("in 90% intervals (%)", _covered, more=None, share=True)

SCORES: Final = {
    "minute": Score("within 1 min (%)", _within(60), more=True, share=True),
    "ten": Score("within 10 min (%)", _within(600), more=True, share=True),
    "factor": Score("within factor 2 (%)", _factor, more=True, share=True),
    "median": Score("median error (min)", _error, median=True),
    "mean": Score("mean error (min)", _error),
    "pinball": Score("pinball loss (min)", _pinball),
    "covered": COVERED,
    "width": Score("median width (min)", _width, median=True, more=None),
}
"""Errors are absolute; factors are of jobs that waited for more than ten minutes, with a minute added to both."""


@dataclass(frozen=True)
class WaitRun:
    """A method on a log with one kind of true waits."""

    log: Found
    truth: str
    method: str
    jobs: int
    samples: int
    seed: int

    @property
    def configuration(self) -> Configuration:
        """Return what determines the result, see `experiments.prediction.waits.wait_run`."""
        own = {"what": "waits", "log": self.log.sha256, "truth": self.truth, "method": self.method, "jobs": self.jobs}
        return own | {"samples": self.samples, "seed": self.seed}


class Waits:
    """True waits of some jobs, and the predictions of all methods; seconds.

    Parameters
    ----------
    results
        Results of `wait_run` on the same log and truth.
    takes
        Returns whether a month takes part.
    """

    def __init__(self, results: Sequence[Result], takes: Callable[[str], bool] = lambda _: True) -> None:
        first = results[0]
        self._chosen = np.array([takes(month) for month in first["month"]], np.bool_)
        self.months: list[str] = [month for month in first["month"] if takes(month)]
        self.wait = np.array(first["wait"], np.float64)[self._chosen]
        said = {name: rows for result in results for name, rows in result["predicted"].items()}
        self._said = {
            name: np.array(said[name], np.float64).reshape(-1, len(LEVELS))[self._chosen]
            for name in NAMES
            if name in said
        }

    def __len__(self) -> int:
        return len(self.wait)

    @property
    def methods(self) -> list[str]:
        """The methods compared, in the order of `NAMES`."""
        return list(self._said)

    def predicted(self, method: str) -> tuple[Column, ...]:
        """Return a method's prediction at each of `LEVELS`; NaN where it predicted nothing."""
        return tuple(self._said[method].T)

    def where(self, chosen: NDArray[np.bool_]) -> Waits:
        """Return a selection of the jobs."""
        part = object.__new__(Waits)
        part.months = [self.months[i] for i in np.flatnonzero(chosen).tolist()]
        part.wait = self.wait[chosen]
        part._said = {name: rows[chosen] for name, rows in self._said.items()}
        return part

    def first(self, score: Score) -> str | None:
        """Return the method with the best score; None if no job counts for it."""
        values = {name: score.of(self, name).mean for name in self.methods}
        values = {name: value for name, value in values.items() if np.isfinite(value)}
        return (max if score.more else min)(values, key=lambda name: values[name], default=None)


@cache
def split() -> Mapping[str, Any]:
    """Return the tuning months, the test months and the logs held out."""
    return tomllib.loads(files("experiments.prediction").joinpath("months.toml").read_text(encoding="utf-8"))


def judging_from(log: Found) -> str:
    """Return the first judging month of a log; empty if all months judge."""
    return "" if log.own else str(split()["judging_from"].get(log.source.trace, ""))


def wait_runs(logs: Sequence[Found], jobs: int, samples: int, seed: int) -> tuple[list[WaitRun], list[str]]:
    """Return all runs with the available logs, and the omitted logs with reasons."""
    runs: list[WaitRun] = []
    left_out: list[str] = []
    methods = [name for name in METHODS if name not in LEARNERS or find_spec("sklearn")]
    if len(methods) < len(METHODS):
        left_out.append(
            f"{' and '.join(NAMES[name] for name in LEARNERS)}: scikit-learn is not installed (extra learn)"
        )
    for log in logs:
        jobs_by_month(log)
        content = load_log(log.path, log.sha256)
        if not (content.requested_time > 0).any():
            left_out.append(f"{log.name}: no walltimes, so its queue cannot be simulated")
            continue
        known = bool(((content.wait >= 0) & (content.run_time >= 0) & (content.requested_time > 0)).any())
        if not known:
            left_out.append(f"{log.name}: no recorded waits")
        truths = [truth for truth in TRUTHS if known or truth != RECORDED]
        runs += [WaitRun(log, truth, method, jobs, samples, seed) for truth in truths for method in methods]
    return runs, left_out
