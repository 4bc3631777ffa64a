"""A forest of extremely randomised trees that says which past waits a job's is likely to be among.

Each tree splits past jobs by what was seen at their submission until few are left together. A job goes to the leaf
where it belongs, and the jobs of its leaves, each tree counting alike, are the distribution of its wait (Geurts, Ernst
& Wehenkel 2006; as quantiles: Meinshausen 2006). Nothing has to be scaled, and what tells nothing is seldom split on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.prediction.forward import machine_of

__all__ = ["LEAF", "TREES", "Forest"]

TREES = 40
LEAF = 5
"""The least number of jobs in a leaf."""

_TRIED = 3
"""One in so many features is tried for each split, each at one random level."""

_DRAWS = 1 << 14


class Forest:
    """A forest grown from past jobs.

    Parameters
    ----------
    seen
        What was seen at each submission, shape ``(jobs, features)``.
    waits
        That came true, in seconds; trees compare their logarithms.
    """

    def __init__(
        self, seen: NDArray[np.float32], waits: NDArray[np.int64], *, seed: int = 0, machine_code: bool = True
    ) -> None:
        order = np.argsort(waits, kind="stable")
        self._waits = waits[order]
        self._weigh = machine_of(machine_code)(weigh)
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

    def quantiles(self, seen: NDArray[np.float32], levels: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the wait of a job at each of these levels."""
        weight = np.zeros(len(self._waits))
        self._weigh(self._rows, self._nodes, self._levels, seen, weight)
        share = np.cumsum(weight)
        at = np.searchsorted(share, levels * share[-1])
        return np.asarray(self._waits[np.minimum(at, len(share) - 1)])


_SPLIT, _LEFT, _BEGIN, _END = range(4)
"""Of a node: the feature that splits it, -1 for a leaf; the first of the two nodes below it; its part of the rows."""


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
    """Return the best of some random splits by how much less the parts vary; a feature of -1 if there is none."""
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
    """Put the rows up to a level first; return how many they are."""
    first, last = 0, len(rows) - 1
    while first <= last:
        if column[rows[first]] <= level:
            first += 1
        else:
            rows[first], rows[last] = rows[last], rows[first]
            last -= 1
    return first


@kernel
def weigh(
    all_rows: NDArray[np.int64],
    all_nodes: NDArray[np.int64],
    all_levels: NDArray[np.float32],
    seen: NDArray[np.float32],
    weight: NDArray[np.float64],
) -> None:
    """Add to the weight of each past job its share of the leaves where a job belongs."""
    for tree in range(len(all_rows)):
        nodes, node = all_nodes[tree], 0
        while nodes[_SPLIT, node] >= 0:
            node = nodes[_LEFT, node] + (0 if seen[nodes[_SPLIT, node]] <= all_levels[tree, node] else 1)
        rows = all_rows[tree, nodes[_BEGIN, node] : nodes[_END, node]]
        for row in rows:
            weight[row] += 1.0 / len(rows)
