"""The levels of a prediction at which an interval ends, so that it holds for long waits as well as for all.

If few jobs wait long, an interval that holds for 90% of all jobs may miss half of these: no feature announced them. So
the last long waits are kept separately, and the upper end is where enough of them are below it: conformal prediction by
classes of outcomes (Vovk, Gammerman & Shafer 2005, section 4.5: label-conditional). It may be above the whole
prediction, if waits are longer than any before. What the upper end includes, the lower end excludes, so that 90%
intervals do not contain more of all jobs than required.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from typing import Final

from gas.prediction.calibration import Level

__all__ = ["LAST_COUNTED", "LONG", "Outcome", "Tails"]

LONG: Final = 3_600
"""Seconds; longer waits are long."""

_ALL: Final = 400
_LAST_LONG: Final = 200
"""Number of last outcomes that count: of all, and of long waits."""

LAST_COUNTED: Final = _ALL + _LAST_LONG
"""Outcomes before this number of last ones do not count any more."""

_LEAST: Final = 40
"""Fewer outcomes change nothing."""

_LOW, _HIGH = 0.5, 0.4
"""Shares of the left-out part below and above the interval before that. From then on even less may be above: a late
start costs more than an early one.
"""

_LONG_ABOVE: Final = 1.2
_OUTSIDE: Final = 0.75
_LEAST_BELOW: Final = 0.2
"""Shares of long waits that may be above, of all that may be outside, and of these that are below, at least. Slightly
less than requested, as habits change. All are parts of what an interval leaves out.
"""

_HIGHEST_LOW: Final = 2.0
"""The lower end is below this level, as such a part, and below the middle."""


@dataclass
class Outcome:
    """The outcome of a prediction so far: a delay is known before the start, and may grow.

    Attributes
    ----------
    level
        Level of the wait in the prediction.
    wait
        In seconds.
    """

    level: Level
    wait: int


class Tails:
    """The last outcomes, and the interval ends that follow from them."""

    def __init__(self) -> None:
        self._all: deque[Outcome] = deque(maxlen=_ALL)
        self._long: deque[Outcome] = deque(maxlen=_LAST_LONG)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self._all.append(outcome)
        if outcome.wait > LONG:
            self._long.append(outcome)

    def goes_on(self, outcome: Outcome, level: Level, wait: int) -> None:
        """Update an outcome that was counted before."""
        if outcome.wait <= LONG < wait:
            self._long.append(outcome)
        outcome.level, outcome.wait = level, wait

    def levels(self, share: float) -> tuple[float, float]:
        """Return the levels of a prediction at which an interval of this probability begins and ends."""
        left_out = 1 - share
        high, long = 1 - _HIGH * left_out, sorted(one.level.before for one in self._long)
        before = sorted(one.level.before for one in self._all)
        if len(long) >= _LEAST:
            rank = math.ceil((1 - min(_LONG_ABOVE * left_out, 1)) * (len(long) + 1)) - 1
            high = max(high, long[max(rank, 0)])
        if len(before) < _LEAST:
            return _LOW * left_out, high
        above = 1 - bisect_left(before, high) / len(before)
        rank = math.floor(max(_OUTSIDE * left_out - above, _LEAST_BELOW * left_out) * (len(before) + 1)) - 1
        through = sorted(one.level.through for one in self._all)
        return min(through[rank] if rank >= 0 else 0.0, _HIGHEST_LOW * left_out, 0.5), high
