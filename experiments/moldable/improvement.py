"""The improvement factor: how many times shorter the turn-around time is with Gas; if negative, with a static request.

The Gas paper, Fig. 5.2 to 5.11. Its absolute value is never below 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["EDGES", "classes", "labels"]

EDGES = np.array([1.0, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, np.inf])
"""Edges of the classes of improvement factors; classes of losses have the same edges with a minus sign."""


def labels() -> list[str]:
    """Return the names of the classes, from the worst loss over "equal" to the best gain."""
    pairs = zip(EDGES[:-1].tolist(), EDGES[1:].tolist(), strict=True)
    names = [f"{low:g}–{high:g}" if np.isfinite(high) else f"≥{low:g}" for low, high in pairs]
    return [f"−{name}" for name in names[::-1]] + ["equal"] + names


def classes(gas: NDArray[np.int64], static: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many runs are in each class, by the turn-around times with Gas and with static requests."""
    lost = _counted(gas, static)[::-1]
    won = _counted(static, gas)
    return np.concatenate([lost, [int((static == gas).sum())], won])


def _counted(slower: NDArray[np.int64], sooner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the runs in which `slower` took longer than `sooner`, in classes of the ratio."""
    factors = (slower / np.maximum(sooner, 1))[slower > sooner]
    counts: NDArray[np.int64] = np.histogram(factors, EDGES)[0].astype(np.int64)
    return counts
