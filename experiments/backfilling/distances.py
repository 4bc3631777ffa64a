"""Distance between the run times of models and of a log: the largest distance of their cumulative shares.

After Kolmogorov and Smirnov, with an interval over the blocks of `experiments.backfilling.run_times`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.verdicts import Part, left_out, of_samples

__all__ = ["apart", "nearer", "shares"]


def shares(result: Mapping[str, Any], size: str) -> NDArray[np.float64]:
    """Return the shares of a class's jobs whose run times are at most each of `LIMITS`."""
    return _cumulative(np.sum(result["counts"][size], axis=0, dtype=np.float64))


def _cumulative(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.cumsum(counts) / max(float(counts.sum()), 1.0)
    return found


def apart(model: Mapping[str, Any], reference: Mapping[str, Any], size: str) -> Part:
    """Return the distance of a model from a reference in percentage points."""
    return _jackknifed(_distance, size, model, reference)


def nearer(model: Mapping[str, Any], other: Mapping[str, Any], reference: Mapping[str, Any], size: str) -> Part:
    """Return by how many percentage points a model is nearer to a reference than another model."""
    return _jackknifed(
        lambda near, far, found: _distance(far, found) - _distance(near, found), size, model, other, reference
    )


def _jackknifed(statistic: Callable[..., float], size: str, *results: Mapping[str, Any]) -> Part:
    """Return a statistic of the shares of several workloads, with an interval over the blocks of each."""
    wholes = [shares(result, size) for result in results]
    parts = []
    for place, result in enumerate(results):
        blocks = np.array(result["counts"][size], np.float64)
        without = [_cumulative(blocks.sum(axis=0) - block) for block in blocks]
        others = [[*wholes[:place], one, *wholes[place + 1 :]] for one in without]
        parts.append(left_out(statistic(*wholes), [statistic(*one) for one in others]))
    return of_samples(parts)


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.abs(one - other).max()) * 100
