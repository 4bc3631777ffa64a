"""A forest of extremely randomised trees that selects past waits of jobs in a similar situation.

Each tree splits past jobs by features at their submission until few are left together. A job belongs to one leaf of
each tree; the jobs of these leaves, with equal weights for the trees, are the distribution of its wait (Geurts, Ernst
& Wehenkel 2006; as quantiles: Meinshausen 2006). Within a leaf later jobs count more. Features need no scaling, and
uninformative ones are rarely split on.
"""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.prediction.calibration import Level
from gas.prediction.forward import machine_of

__all__ = ["LEAF", "TREES", "Forest", "Picked"]

TREES = 40
LEAF = 5
"""The least number of jobs in a leaf."""

_TRIED = 3
"""Each split tries one in this many features, each at one random level."""

_DRAWS = 1 << 14

_HALF_LIFE = 2_000
"""A job counts half as much as one that started this many jobs later."""

_NEARLY = 1e-9
"""Tolerance for sums of shares."""

_UNIT_SECONDS = 60.0

_HIGHEST = 6.0
"""No quantile exceeds some 150 times the longest wait."""

_SIDES: Final[tuple[Literal["left", "right"], ...]] = ("left", "right")


class Picked:
    """The selected past waits, as a distribution of a job's wait.

    Parameters
    ----------
    waits
        Ascending, in seconds.
    weight
        Weight of each, above 0.
    """

    def __init__(self, waits: NDArray[np.int64], weight: NDArray[np.float64]) -> None:
        self._waits, self._share = waits, np.cumsum(weight)
        self._share /= self._share[-1]

    def quantiles(self, levels: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the wait at each of these levels; a level above 1 is above all waits (`level`)."""
        at = np.searchsorted(self._share, levels - _NEARLY)
        waits = self._waits[np.minimum(at, len(self._waits) - 1)]
        longest = int(self._waits[-1]) + _UNIT_SECONDS
        beyond = np.ceil(longest * np.exp(np.minimum(levels, _HIGHEST) - 1) - _UNIT_SECONDS).astype(np.int64)
        return np.asarray(np.where(levels > 1 + _NEARLY, beyond, waits))

    def level(self, wait: int) -> Level:
        """Return the shares of the waits below a wait, and up to it.

        For a wait above all of them it exceeds 1, by the logarithm of its ratio to the longest.
        """
        longest = int(self._waits[-1])
        if wait > longest:
            return beyond(wait, longest)
        at = [int(np.searchsorted(self._waits, wait, side)) for side in _SIDES]
        return Level(*(float(self._share[one - 1]) if one else 0.0 for one in at))


def beyond(wait: int, longest: int) -> Level:
    """Return the level of a wait above all selected ones."""
    level = 1 + math.log((wait + _UNIT_SECONDS) / (longest + _UNIT_SECONDS))
    return Level(level, level)


class Forest:
    """A forest grown from past jobs.

    Parameters
    ----------
    seen
        Features at each submission, shape ``(jobs, features)``.
    waits
        True waits in seconds, in the order in which they became known; trees compare their logarithms.
    """

    def __init__(
        self, seen: NDArray[np.float32], waits: NDArray[np.int64], *, seed: int = 0, machine_code: bool = True
    ) -> None:
        order = np.argsort(waits, kind="stable")
        self._waits = waits[order]
        age = len(waits) - 1 - order
        self._counts = 0.5 ** (age / _HALF_LIFE)
        self._pick = machine_of(machine_code)(pick)
        count, features = seen.shape
        draws = np.random.default_rng(seed).random((TREES, _DRAWS))
        nodes = 2 * count // LEAF + 3
        self._rows = np.tile(np.arange(count), (TREES, 1))
        self._nodes = np.full((TREES, 4, nodes), -1, np.int64)
        self._levels = np.zeros((TREES, nodes), np.float32)
        target = np.log1p(self._waits / 60.0)
        columns = np.ascontiguousarray(seen[order].T)
        tries = max(1, -(-features // _TRIED))
        machine_of(machine_code)(grow)(columns, target, LEAF, tries, draws, self._rows, self._nodes, self._levels)

    def picked(self, seen: NDArray[np.float32]) -> Picked:
        """Return the waits in the leaves to which a job belongs."""
        weight = self._pick(self._rows, self._nodes, self._levels, self._counts, seen)
        rows = np.flatnonzero(weight)
        return Picked(self._waits[rows], weight[rows])


_SPLIT, _LEFT, _BEGIN, _END = range(4)
"""Columns of a node: the feature that splits it, -1 for a leaf; the first of its two children; its part of the rows."""


@kernel
def grow(
    seen: NDArray[np.float32],
    target: NDArray[np.float64],
    leaf: int,
    tries: int,
    draws: NDArray[np.float64],
    all_rows: NDArray[np.int64],
    all_nodes: NDArray[np.int64],
    all_levels: NDArray[np.float32],
) -> None:
    """Grow every tree: sort its rows by leaf, and fill in its nodes."""
    for tree in range(len(draws)):
        rows, nodes, at, last = all_rows[tree], all_nodes[tree], 0, 1
        nodes[_BEGIN, 0], nodes[_END, 0] = 0, len(rows)
        node = 0
        while node < last:
            begin, end = nodes[_BEGIN, node], nodes[_END, node]
            split, level = -1, 0.0
            if end - begin >= 2 * leaf:
                split, level = _best_split(seen, target, rows[begin:end], leaf, tries, draws[tree], at)
                at += 2 * tries
            if split >= 0:
                middle = begin + _part(seen[split], level, rows[begin:end])
                nodes[_SPLIT, node], nodes[_LEFT, node], all_levels[tree, node] = split, last, level
                nodes[_BEGIN, last], nodes[_END, last] = begin, middle
                nodes[_BEGIN, last + 1], nodes[_END, last + 1] = middle, end
                last += 2
            node += 1


@kernel
def _best_split(
    seen: NDArray[np.float32],
    target: NDArray[np.float64],
    rows: NDArray[np.int64],
    leaf: int,
    tries: int,
    draws: NDArray[np.float64],
    at: int,
) -> tuple[int, float]:
    """Return the best of some random splits by the decrease in variance; a feature of -1 if there is none."""
    best, split, level = 1e-12, -1, 0.0
    total = 0.0
    for row in rows:
        total += target[row]
    for k in range(tries):
        feature = int(draws[(at + 2 * k) % len(draws)] * len(seen))
        column = seen[feature]
        low = high = column[rows[0]]
        for row in rows:
            low, high = min(low, column[row]), max(high, column[row])
        between = np.float32(low + draws[(at + 2 * k + 1) % len(draws)] * (high - low))
        count, part = 0, 0.0
        for row in rows:
            if column[row] <= between:
                count += 1
                part += target[row]
        if count < leaf or len(rows) - count < leaf:
            continue
        rest = total - part
        gain = part * part / count + rest * rest / (len(rows) - count) - total * total / len(rows)
        if gain > best:
            best, split, level = gain, feature, float(between)
    return split, level


@kernel
def _part(column: NDArray[np.float32], level: float, rows: NDArray[np.int64]) -> int:
    """Put the rows up to a level first; return their number."""
    first, last = 0, len(rows) - 1
    while first <= last:
        if column[rows[first]] <= level:
            first += 1
        else:
            rows[first], rows[last] = rows[last], rows[first]
            last -= 1
    return first


@kernel
def pick(
    all_rows: NDArray[np.int64],
    all_nodes: NDArray[np.int64],
    all_levels: NDArray[np.float32],
    counts: NDArray[np.float64],
    seen: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Return each past job's share in the leaves to which a job belongs, 0 for jobs of other leaves."""
    weight = np.zeros(len(counts))
    for tree in range(len(all_rows)):
        nodes, rows, node = all_nodes[tree], all_rows[tree], 0
        while nodes[_SPLIT, node] >= 0:
            node = nodes[_LEFT, node] + (0 if seen[nodes[_SPLIT, node]] <= all_levels[tree, node] else 1)
        total = 0.0
        for k in range(nodes[_BEGIN, node], nodes[_END, node]):
            total += counts[rows[k]]
        for k in range(nodes[_BEGIN, node], nodes[_END, node]):
            weight[rows[k]] += counts[rows[k]] / total
    return weight
