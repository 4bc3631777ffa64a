"""Combines two predictions of a wait: the simulated queue, and the waits of the last similar jobs.

A simulation knows the queue but not the order in which a real scheduler serves it; similar jobs reflect this order but
not the queue. Their weights are learned from outcomes on the machine: the weight whose mixtures would have been best
recently, by the continuous ranked probability score of the wait on a logarithmic scale (Gneiting & Raftery 2007,
section 4.2), so that minutes count for waits of minutes, and hours for waits of hours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ALIKE", "LEAST", "POINTS", "WEIGHTS", "Blend", "mixture", "scores_of", "spread"]

POINTS = 100
"""Number of waits in a mixture."""

WEIGHTS = np.linspace(0.0, 1.0, 11)
"""The tried weights of the simulation."""

LEAST = 20
"""Number of outcomes from which on their best weight counts."""

ALIKE = 0.5
"""Default weight until then: both predictions count equally."""

_WINDOW = 400
_SURE = 1.645
_UNIT_SECONDS = 60.0
_LEVELS = (np.arange(POINTS) + 0.5) / POINTS


class Blend:
    """The weight of the simulation against similar jobs, learned from recent outcomes.

    Parameters
    ----------
    scores
        Scores of outcomes (`scores_of`), the latest last.
    before
        The weight until there are `LEAST` outcomes.
    """

    def __init__(self, scores: Iterable[NDArray[np.float64]] = (), *, before: float = ALIKE) -> None:
        self._before = before
        self._scores: deque[NDArray[np.float64]] = deque(scores, maxlen=_WINDOW)

    def __len__(self) -> int:
        """Return how many outcomes count."""
        return len(self._scores)

    @property
    def weight(self) -> float:
        """The weight of the simulation, from 0 to 1."""
        if len(self._scores) < LEAST:
            return self._before
        return float(WEIGHTS[int(np.argmin(np.mean(self._scores, axis=0)))])

    @property
    def helps(self) -> bool:
        """Whether the best mixture was significantly better than similar jobs alone (one-sided, 95%).

        With fewer than `LEAST` outcomes it counts as better.
        """
        if len(self._scores) < LEAST:
            return True
        scores = np.array(self._scores)
        gain = scores[:, 0] - scores[:, int(np.argmin(scores.mean(axis=0)))]
        return bool(gain.mean() > _SURE * gain.std() / np.sqrt(len(gain)))

    def came_true(self, wait: int, simulated: NDArray[np.int64], similar: NDArray[np.int64]) -> None:
        """Learn from an outcome; both predictions are sorted waits."""
        self._scores.append(scores_of(wait, simulated, similar))


def scores_of(wait: int, simulated: NDArray[np.int64], similar: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the score of the mixture with each of `WEIGHTS`, lower is better; both predictions are sorted waits."""
    truth = _scaled(np.array(wait))
    each = [_scaled(mixture(weight, simulated, similar)) for weight in WEIGHTS.tolist()]
    return np.array([_score(one, float(truth)) for one in each])


def mixture(weight: float, simulated: NDArray[np.int64], similar: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return sorted waits: a share `weight` of them from the simulation, the rest from similar jobs.

    Both predictions are sorted waits; without similar jobs all are from the simulation.
    """
    count = round(weight * POINTS) if similar.size else POINTS
    return np.sort(np.concatenate([spread(simulated, count), spread(similar, POINTS - count)]))


def spread(waits: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return `count` evenly spaced quantiles of sorted waits."""
    if not count:
        return np.zeros(0, np.int64)
    levels = (np.arange(count) + 0.5) / count
    return waits[np.minimum((levels * waits.size).astype(np.intp), waits.size - 1)]


def _scaled(wait: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.log1p(np.maximum(wait, 0) / _UNIT_SECONDS), np.float64)


def _score(predicted: NDArray[np.float64], truth: float) -> float:
    """Return the continuous ranked probability score, as twice the mean pinball loss of the quantiles."""
    return float(2 * np.mean((truth - predicted) * (_LEVELS - (truth < predicted))))
