"""Accuracy of predicted waits, in the usual measures: overall, by wait and by size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.prediction.backtest import Outcome

__all__ = [
    "BASELINES",
    "FACTOR_FROM",
    "NAMES",
    "WAITS",
    "Scores",
    "answered",
    "by_wait",
    "scores_of",
    "within_factor_2",
]

NAMES = {
    "median": "Gas",
    "simulated": "simulation alone",
    "learnt": "learned waits alone",
    "similar": "last similar jobs",
    "planned": "whole walltimes used",
}
"""The compared predictions, by the attribute of `Outcome`; the first one exists for every job."""

BASELINES = ("similar", "planned")
"""Predictions that need no simulation of run times and learn nothing: what a user could do by hand."""

WAITS = ((0, 60), (60, 600), (600, 3_600), (3_600, 14_400), (14_400, None))
"""Classes of recorded waits in seconds, from the first to below the second."""

FACTOR_FROM = 600
"""Seconds; the share within a factor of two is over jobs that waited for longer."""

_SLACK = 60


@dataclass(frozen=True)
class Scores:
    """Scores of one way to predict, over some jobs; None where there is no job to score.

    Attributes
    ----------
    jobs
        Number of jobs with this prediction.
    median_error, mean_error
        Those of the absolute error, in seconds.
    within_1_minute, within_10_minutes
        Shares of the jobs.
    within_factor_2
        Share of the jobs that waited for more than ten minutes: prediction and truth, plus a minute each, differ by at
        most this factor.
    """

    jobs: int
    median_error: float | None
    mean_error: float | None
    within_1_minute: float | None
    within_10_minutes: float | None
    within_factor_2: float | None

    def to_wire(self) -> dict[str, Any]:
        """Return them as JSON."""
        return dict(self.__dict__)


def scores_of(outcomes: Sequence[Outcome], name: str) -> Scores:
    """Return the scores of one of the predictions in `NAMES`, over the jobs that it predicts."""
    pairs = np.array(
        [(one.wait, value) for one in outcomes if (value := getattr(one, name)) is not None], np.float64
    ).reshape(-1, 2)
    wait, predicted = pairs.T
    error = np.abs(predicted - wait)
    long = wait > FACTOR_FROM
    return Scores(
        jobs=len(pairs),
        median_error=float(np.median(error)) if error.size else None,
        mean_error=_mean(error),
        within_1_minute=_mean(error <= 60),
        within_10_minutes=_mean(error <= 600),
        within_factor_2=_mean(within_factor_2(predicted[long], wait[long])),
    )


def answered(outcomes: Sequence[Outcome], name: str) -> list[Outcome]:
    """Return the outcomes with one of the predictions, over which others are compared with it."""
    return [one for one in outcomes if getattr(one, name) is not None]


def within_factor_2(predicted: NDArray[np.float64], wait: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 where prediction and truth, plus a minute each, differ by at most a factor of two; 0 elsewhere."""
    ratio = (predicted + _SLACK) / (wait + _SLACK)
    return ((ratio >= 0.5) & (ratio <= 2.0)).astype(np.float64)


def by_wait(outcomes: Sequence[Outcome]) -> list[tuple[tuple[int, int | None], list[Outcome]]]:
    """Return the outcomes by class of recorded wait; classes without any are left out."""
    found = [
        ((first, end), [one for one in outcomes if first <= one.wait and (end is None or one.wait < end)])
        for first, end in WAITS
    ]
    return [(bounds, part) for bounds, part in found if part]


def _mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if values.size else None
