"""The front: the sizes worth requesting, by time and cost.

A size is on the front if every faster one costs more. Of sizes with similar times only the cheapest is kept, so that
the front is short enough to choose from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from speedup_models.model import Layout

__all__ = ["Offer", "front", "offers"]

GAIN: Final = 0.05
"""A size that costs more is kept if it saves at least this share of the time."""


class Offer(NamedTuple):
    """A size on the front.

    Attributes
    ----------
    cost
        Size times seconds.
    speedup, efficiency
        Relative to the smallest available size.
    """

    size: int
    layout: Layout | None
    seconds: float
    cost: float
    speedup: float
    efficiency: float


def offers(sizes: ArrayLike, seconds: ArrayLike, layouts: Sequence[Layout] | None = None) -> list[Offer]:
    """Return all sizes with a known time, the cheapest first. A size may occur several times, in different layouts."""
    counts, times = np.asarray(sizes, np.int64), np.asarray(seconds, np.float64)
    known = np.flatnonzero(np.isfinite(times))
    if not len(known):
        return []
    smallest = known[np.lexsort((times[known], counts[known]))[0]]
    costs = counts * times
    found = []
    for i in known[np.lexsort((counts[known], times[known], costs[known]))].tolist():
        speedup = float(times[smallest] / times[i])
        efficiency = speedup * float(counts[smallest] / counts[i])
        layout = None if layouts is None else layouts[i]
        found.append(Offer(int(counts[i]), layout, float(times[i]), float(costs[i]), speedup, efficiency))
    return found


def front(sizes: ArrayLike, seconds: ArrayLike, layouts: Sequence[Layout] | None = None) -> list[Offer]:
    """Return the front, the cheapest first."""
    kept: list[Offer] = []
    for one in offers(sizes, seconds, layouts):
        if not kept or one.seconds <= kept[-1].seconds * (1 - GAIN):
            kept.append(one)
    return kept
