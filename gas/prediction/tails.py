"""At which levels of a prediction an interval ends, so that it holds for long waits as well as for all.

Where few jobs wait long, an interval that holds for 90% of all jobs may miss half of those that do: no feature
announced them. So the last long waits are kept by themselves, and the upper end is where enough of them are below it:
conformal prediction by classes of what came true (Vovk, Gammerman & Shafer 2005, section 4.5: label-conditional).
That may be above all of a prediction, where waits are longer than any before. What the upper end lets in, the lower
end leaves out, so that all jobs are in 90% intervals no more often than asked.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from typing import Final

from gas.prediction.calibration import Level

__all__ = ["LONG", "Tails"]

LONG: Final = 3_600
"""A wait of more seconds is long."""

_ALL: Final = 400
_LAST_LONG: Final = 200
"""So many outcomes count, the last ones: of all, and of long waits."""

_LEAST: Final = 40
"""Before so many outcomes they change nothing."""

_LOW, _HIGH = 0.5, 0.4
"""What is below the interval and above it before that. Less may be above from then on, too: a late start
costs more than an early one."""

_LONG_ABOVE: Final = 1.2
_OUTSIDE: Final = 0.75
_LEAST_BELOW: Final = 0.2
"""Which share of long waits may be above, which of all outside, and how many of these are below at least. Somewhat less
than what is asked, as habits change. All are parts of what an interval leaves out."""

_HIGHEST_LOW: Final = 2.0
"""The lower end is below this level, as such a part, and below the middle."""


class Tails:
    """The levels of the last outcomes, and where intervals end by them."""

    def __init__(self) -> None:
        self._before, self._through, self._long = _Last(_ALL), _Last(_ALL), _Last(_LAST_LONG)

    def came_true(self, level: Level, wait: int) -> None:
        """Count an outcome: its level in its prediction, and the wait in seconds."""
        self._before.add(level.before)
        self._through.add(level.through)
        if wait > LONG:
            self._long.add(level.before)

    def levels(self, share: float) -> tuple[float, float]:
        """Return the levels of a prediction at which an interval of this probability begins and ends."""
        left_out = 1 - share
        high, long, before = 1 - _HIGH * left_out, self._long.sorted, self._before.sorted
        if len(long) >= _LEAST:
            rank = math.ceil((1 - min(_LONG_ABOVE * left_out, 1)) * (len(long) + 1)) - 1
            high = max(high, long[max(rank, 0)])
        if len(before) < _LEAST:
            return _LOW * left_out, high
        above = 1 - bisect_left(before, high) / len(before)
        rank = math.floor(max(_OUTSIDE * left_out - above, _LEAST_BELOW * left_out) * (len(before) + 1)) - 1
        return min(self._through.sorted[rank] if rank >= 0 else 0.0, _HIGHEST_LOW * left_out, 0.5), high


class _Last:
    """The last so many numbers, sorted."""

    def __init__(self, most: int) -> None:
        self._order: deque[float] = deque()
        self._most = most
        self.sorted: list[float] = []

    def add(self, number: float) -> None:
        self._order.append(number)
        insort(self.sorted, number)
        if len(self._order) > self._most:
            del self.sorted[bisect_left(self.sorted, self._order.popleft())]
