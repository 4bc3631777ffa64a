"""Intervals corrected by the outcomes on the same machine, whatever the errors of the samples.

A prediction is a distribution: its samples, plus a small share anywhere between the instant of the prediction and the
latest planned start. The true start has a *level*, the share of the distribution up to it; if predictions were right,
levels would be uniform from 0 to 1. They are not: run times change, and jobs share their fate. So a 90% interval ends
not at level 0.95 but at the level that 95% of the last outcomes did not exceed (split conformal prediction: Vovk,
Gammerman & Shafer 2005, section 4.2; one-sided for each end as in conformalized quantile regression, Romano, Patterson
& Candès 2019; over a moving window, since habits change). This needs no assumption on the samples and improves with
every outcome.

At first, `PRIOR` uniform outcomes stand for the missing ones, where so many divide 0 to 1 into equal parts: until
others are known, a 90% interval is very nearly from level 0.05 to 0.95.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput

__all__ = ["PRIOR", "SPREAD", "UNTRIED", "WINDOW", "Calibration", "Level", "ends_of", "level_of"]

WINDOW = 400
"""Number of last outcomes that count."""

PRIOR = 20
"""Number of uniform outcomes that stand for missing ones."""

SPREAD = 0.02
"""Share of a prediction that lies anywhere between now and the latest planned start, independently of samples. It is
less than a 90% interval leaves out at either end without outcomes, so that an instant common to all samples is certain
then.
"""

_BEYOND_SECONDS = 60
"""Least unit in seconds by which starts after the latest planned one are measured."""


class Level(NamedTuple):
    """The shares of a prediction before an outcome, and up to it; above 1 if the outcome was later than all samples.

    They differ if many samples agree on an instant, such as "at once".
    """

    before: float
    through: float


class Calibration:
    """The last outcomes of predictions, which correct the next predictions.

    Parameters
    ----------
    outcomes
        Levels of outcomes, the latest last.
    prior
        Number of uniform outcomes that stand for missing ones. With 0 an interval is the whole prediction until there
        are enough outcomes for its probability.
    """

    def __init__(self, outcomes: Iterable[Level] = (), *, prior: int = PRIOR) -> None:
        self._prior = prior
        self._outcomes: deque[Level] = deque(outcomes, maxlen=WINDOW)

    def __len__(self) -> int:
        """Return the number of outcomes that count."""
        return len(self._outcomes)

    def came_true(self, level: Level) -> None:
        """Add an outcome; the oldest one is dropped if there are enough."""
        self._outcomes.append(level)

    def levels(self, share: float) -> tuple[float, float]:
        """Return the levels of a prediction at which an interval of this probability begins and ends.

        Raises
        ------
        BadInput
            The share is not between 0 and 1.
        """
        if not 0 < share < 1:
            raise BadInput(f"share {share} of an interval: must be above 0 and below 1; 0.9 is usual")
        tail = (1 - share) / 2
        through = self._sorted([one.through for one in self._outcomes])
        low = math.floor(round(tail * (len(through) + 1), 9)) - 1
        return float(through[low]) if low >= 0 else 0.0, self.level(1 - tail)

    def level(self, share: float) -> float:
        """Return the level that an outcome stays within with this probability; the highest if too few are known."""
        before = self._sorted([one.before for one in self._outcomes])
        place = math.ceil(round(share * (len(before) + 1), 9)) - 1
        return float(before[place]) if place < len(before) else max([1.0, *before[-1:].tolist()])

    def share(self, level: float) -> float:
        """Return the least probability that an outcome does not exceed a level; the inverse of `level`.

        It is a conformal predictive distribution (Vovk, Shen, Manokhin & Xie 2017). With n outcomes, including the
        uniform ones, it is at most n / (n + 1).
        """
        before = self._sorted([one.before for one in self._outcomes])
        return int(np.searchsorted(before, level, side="right")) / (len(before) + 1)

    def _sorted(self, levels: Iterable[float]) -> NDArray[np.float64]:
        return np.sort([*np.arange(1, self._prior + 1) / (self._prior + 1), *levels])


UNTRIED = Calibration()
"""Calibration of a machine without outcomes."""


def level_of(truth: int, samples: NDArray[np.int64], now: int, latest: int) -> Level:
    """Return the level of an outcome in its prediction.

    Parameters
    ----------
    samples
        Starts in the samples, ascending.
    """
    now, latest = _span(samples, now, latest)
    return Level(*(float(_levels(np.array([truth]), samples, now, latest, side)[0]) for side in ("left", "right")))


def ends_of(levels: tuple[float, float], samples: NDArray[np.int64], now: int, latest: int) -> tuple[int, int]:
    """Return the earliest and the latest instant within these levels of a prediction, in whole seconds."""
    now, latest = _span(samples, now, latest)
    points = np.unique(np.concatenate([[now], samples, [latest]])).astype(np.int64)
    left, right = (_levels(points, samples, now, latest, side) for side in ("left", "right"))
    steps = np.column_stack([left, right]).ravel()  # it jumps at the samples and rises linearly between them
    low, high = np.interp(levels, steps, np.repeat(points, 2).astype(np.float64)).tolist()
    if levels[1] > 1:
        high = latest + _BEYOND_SECONDS * math.expm1(levels[1] - 1)
    return math.floor(low), math.ceil(high)


def _span(samples: NDArray[np.int64], now: int, latest: int) -> tuple[int, int]:
    """Return the earliest and the latest instant of a prediction."""
    return min(now, int(samples[0])), max(latest, int(samples[-1]))


def _levels(
    instants: NDArray[np.int64], samples: NDArray[np.int64], now: int, latest: int, side: Literal["left", "right"]
) -> NDArray[np.float64]:
    """Return the share of a prediction before instants (left) or up to them (right)."""
    of_samples = np.searchsorted(samples, instants, side=side) / len(samples)
    between = np.clip((instants - now) / (latest - now), 0, 1) if latest > now else of_samples
    beyond = np.log1p(np.maximum(instants - latest, 0) / _BEYOND_SECONDS)
    return np.asarray((1 - SPREAD) * of_samples + SPREAD * between + beyond, np.float64)
