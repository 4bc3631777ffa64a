"""Ways to predict a wait from the waits of other jobs, without a model of the scheduler.

A `Method` receives the state at each submission (`gas.prediction.queue_state`) and, once that job has started, its
wait. It receives nothing else, so it cannot look ahead.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from gas.prediction.queue_state import FEATURES
from gas.prediction.recorded import RecordedQueue
from gas.prediction.similar import SIMILAR

__all__ = ["LEVELS", "Bounds", "Class", "Method", "Nearest", "Quantiles", "class_of", "predicted"]

LEVELS: Final = (0.05, 0.5, 0.95)
"""The predicted quantiles: the ends of a 90% interval, and the middle."""

Seen = NDArray[np.float32]

_SIZE, _WALLTIME, _QUEUE = (FEATURES.index(name) for name in ("processors", "walltime", "queue"))


class Method(Protocol):
    """A way to predict waits, in seconds."""

    def learn(self, seen: Seen, wait: int) -> None:
        """Learn from the wait of a job that has started."""
        ...

    def predict(self, seen: Seen) -> tuple[float, float, float] | None:
        """Return the predicted wait of a job at each of `LEVELS`; None if there is no prediction."""
        ...


def predicted(
    method: Method, recorded: RecordedQueue, places: NDArray[np.intp]
) -> Iterator[tuple[float, float, float] | None]:
    """Yield a method's predictions for some jobs at their submissions, after it has learnt all earlier starts."""
    seen, wanted = recorded.seen(places)
    order = np.argsort(recorded.start, kind="stable")
    order = order[wanted[order]]
    wait, known = recorded.start - recorded.jobs.submit, 0
    for place in places.tolist():
        while known < len(order) and recorded.start[order[known]] < recorded.jobs.submit[place]:
            method.learn(seen[order[known]], int(wait[order[known]]))
            known += 1
        yield method.predict(seen[place])


Class = tuple[int, ...]


def class_of(seen: Seen) -> Class:
    """Return the class of a job: its size and its walltime, each up to a factor of two."""
    return int(seen[_SIZE]), int(seen[_WALLTIME])


class Quantiles:
    """Quantiles of the waits of the last similar jobs, or their mean in place of the median.

    Parameters
    ----------
    middle
        The value predicted between the ends of the interval.
    """

    def __init__(self, middle: Callable[[NDArray[np.int64]], float] = np.median) -> None:
        self._middle = middle
        self._waits: defaultdict[Class, deque[int]] = defaultdict(lambda: deque(maxlen=SIMILAR))

    def learn(self, seen: Seen, wait: int) -> None:
        """See `Method`."""
        self._waits[class_of(seen)].append(wait)

    def predict(self, seen: Seen) -> tuple[float, float, float] | None:
        """See `Method`."""
        waits = np.array(self._waits.get(class_of(seen), ()), np.int64)
        if not waits.size:
            return None
        low, high = np.quantile(waits, (LEVELS[0], LEVELS[-1]), method="inverted_cdf").tolist()
        return low, float(self._middle(waits)), high


_SURE: Final = 0.95
"""Confidence of a bound."""

_RARE: Final = 3
"""Number of consecutive waits above the bound that indicate a change."""


class Bounds:
    """QBETS: bounds of quantiles that hold with 95% confidence (Brevik, Nurmi & Wolski 2006).

    Each of n waits is below the quantile q with probability q. So the k-th smallest wait is a bound if a binomial count
    reaches k with probability at most 1 - 95%. Three consecutive waits above the bound of the 0.95 quantile indicate a
    change: earlier waits are forgotten, except the minimum number for a bound. Classes are queues and sizes, the latter
    by factors of four.
    """

    def __init__(self) -> None:
        self._waits: dict[Class, list[int]] = {}
        self._above: dict[Class, int] = {}

    def learn(self, seen: Seen, wait: int) -> None:
        """See `Method`."""
        one = self._class(seen)
        waits = self._waits.setdefault(one, [])
        bound = self._bound(waits, LEVELS[-1], upper=True)
        self._above[one] = self._above.get(one, 0) + 1 if bound is not None and wait > bound else 0
        waits.append(wait)
        if self._above[one] >= _RARE:
            del waits[: -_fewest()]
            self._above[one] = 0
        del waits[:-2000]

    def predict(self, seen: Seen) -> tuple[float, float, float] | None:
        """See `Method`."""
        waits = self._waits.get(self._class(seen), [])
        low, high = (self._bound(waits, level, upper=level > 0.5) for level in (LEVELS[0], LEVELS[-1]))
        if high is None or low is None:
            return None
        return low, float(np.median(waits)), high

    def _class(self, seen: Seen) -> Class:
        return int(seen[_QUEUE]), int(seen[_SIZE]) // 2

    def _bound(self, waits: list[int], level: float, *, upper: bool) -> float | None:
        if len(waits) < _fewest():
            return None
        at = _rank(len(waits), level if upper else 1 - level)
        return float(np.partition(waits, at if upper else len(waits) - 1 - at)[at if upper else len(waits) - 1 - at])


def _fewest() -> int:
    """Return the least number of waits for a bound: 59; the largest of fewer waits is too often below the quantile."""
    return int(np.ceil(np.log(1 - _SURE) / np.log(LEVELS[-1])))


_ranks: dict[tuple[int, float], int] = {}


def _rank(count: int, level: float) -> int:
    """Return the index, in ascending order, of the wait among `count` that bounds the quantile."""
    if (count, level) not in _ranks:
        from scipy.stats import binom

        _ranks[count, level] = min(int(binom.ppf(_SURE, count, level)), count - 1)
    return _ranks[count, level]


class Nearest:
    """Instance-based learning: waits of the jobs whose state at submission was most similar.

    Each feature is scaled by its range so far, and nearer jobs have more weight (after Smith, Taylor & Foster 1999).
    """

    AMONG: Final = 4_000
    NEIGHBOURS: Final = 50
    BY: Final[Mapping[str, float]] = {
        "processors": 1, "walltime": 1, "hour": 0.5, "queue": 1, "waiting": 1, "work waiting": 1, "free": 1,
        "work running": 1, "last wait of user": 1,
    }  # fmt: skip
    """The compared features and their weights."""

    def __init__(self) -> None:
        self._columns = np.array([FEATURES.index(name) for name in self.BY])
        self._counts = np.array(list(self.BY.values()))
        self._seen = np.empty((self.AMONG, len(self.BY)))
        self._waits = np.empty(self.AMONG, np.int64)
        self._known = 0

    def learn(self, seen: Seen, wait: int) -> None:
        """See `Method`."""
        at = self._known % self.AMONG
        self._seen[at], self._waits[at] = seen[self._columns], wait
        self._known += 1

    def predict(self, seen: Seen) -> tuple[float, float, float] | None:
        """See `Method`."""
        count = min(self._known, self.AMONG)
        if count < self.NEIGHBOURS:
            return None
        scale = self._counts / np.maximum(self._seen[:count].std(axis=0), 1e-6)
        apart = (((self._seen[:count] - seen[self._columns]) * scale) ** 2).sum(axis=1)
        near = np.argpartition(apart, self.NEIGHBOURS - 1)[: self.NEIGHBOURS]
        near = near[np.argsort(self._waits[near], kind="stable")]
        weight = np.cumsum(np.exp(-apart[near] / max(float(apart[near].max()), 1e-9)))
        at = np.searchsorted(weight, np.array(LEVELS) * weight[-1])
        low, middle, high = self._waits[near][np.minimum(at, len(near) - 1)].tolist()
        return low, middle, high
