"""Gaps: how long units of nodes stay free, and the earliest start of a job that cannot move between nodes.

A job keeps its nodes, so n processors free at every moment need not be n processors free for its whole duration. Split
the free units of a node into levels; k units are free throughout a span if k levels are. A *gap* is a maximal span in
which a level is free; levels with the same span form one gap. On all nodes together, a job gets from `s` to `s + w` the
sum of the gaps that open at `s` or before and close at `s + w` or later. Instants are epoch seconds, spans half-open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.profile.flat import ENDLESS, NEVER

__all__ = ["Gaps", "earliest_in_gaps", "gaps_of"]


class Gaps(NamedTuple):
    """Gaps of all nodes, in the order of the nodes; their places by opening and by closing."""

    node: NDArray[np.int64]
    opens: NDArray[np.int64]
    closes: NDArray[np.int64]
    units: NDArray[np.int64]
    by_opening: NDArray[np.int64]
    by_closing: NDArray[np.int64]


def gaps_of(
    capacity: NDArray[np.int64],
    node: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    units: NDArray[np.int64],
    now: int,
) -> Gaps:
    """Return the gaps from now on between the spans in which units of nodes are taken.

    Parameters
    ----------
    capacity
        Units of each node.
    node, start, end, units
        Those of each span, in any order; units taken more than once count once.
    """
    there = (end > now) & (start < end)
    node, start, end, units = node[there], np.maximum(start[there], now), end[there], units[there]
    nodes = np.concatenate([node, node])
    instants = np.concatenate([start, end])
    changes = np.concatenate([-units, units])
    order = np.lexsort((instants, nodes))
    first = np.searchsorted(nodes[order], np.arange(len(capacity) + 1))
    found = np.empty((4, 2 * len(nodes) + 2 * len(capacity)), np.int64)
    count = _fill(capacity, first, instants[order], changes[order], now, found)
    opens, closes, of, at = (np.ascontiguousarray(row) for row in found[:, :count])
    return Gaps(at, opens, closes, of, np.argsort(opens, kind="stable"), np.argsort(closes, kind="stable"))


@kernel
def _fill(
    capacity: NDArray[np.int64],
    first: NDArray[np.int64],
    instants: NDArray[np.int64],
    changes: NDArray[np.int64],
    now: int,
    found: NDArray[np.int64],
) -> int:
    """Write opening, closing, units and node of all gaps; return their number.

    The free units of a node rise and fall. Levels of one rise open together and are stacked; a fall closes the levels
    that opened last.
    """
    opened = np.empty(len(instants) + 1, np.int64)
    levels = np.empty(len(instants) + 1, np.int64)
    count = 0
    for one in range(len(capacity)):
        free = capacity[one]
        depth = 0
        if free > 0:
            opened[0], levels[0] = now, free
            depth = 1
        stacked = max(free, 0)
        i = first[one]
        while i < first[one + 1]:
            instant = instants[i]
            while i < first[one + 1] and instants[i] == instant:
                free += changes[i]
                i += 1
            height = max(free, 0)  # use may exceed the capacity
            if height > stacked:
                opened[depth], levels[depth] = instant, height - stacked
                depth += 1
                stacked = height
            while stacked > height:
                gone = min(levels[depth - 1], stacked - height)
                if instant > opened[depth - 1]:
                    found[0, count], found[1, count], found[2, count] = opened[depth - 1], instant, gone
                    found[3, count] = one
                    count += 1
                levels[depth - 1] -= gone
                stacked -= gone
                if levels[depth - 1] == 0:
                    depth -= 1
        for k in range(depth):
            found[0, count], found[1, count], found[2, count] = opened[k], ENDLESS, levels[k]
            found[3, count] = one
            count += 1
    return count


@kernel
def earliest_in_gaps(
    gaps: Gaps,
    processors: NDArray[np.int64],
    walltimes: NDArray[np.int64],
    not_before: int,
    anchors: NDArray[np.int64],
) -> None:
    """Write the anchor of each request: the earliest ``s >= not_before`` at which it fits nodes for its walltime.

    `NEVER` if there is none. O(gaps) per request.
    """
    opens, closes, units = gaps.opens, gaps.closes, gaps.units
    count = len(opens)
    for k in range(len(processors)):
        wanted, walltime = processors[k], walltimes[k]
        anchors[k] = NEVER
        there = 0
        opening = closing = 0
        start = not_before
        while True:
            while opening < count and opens[gaps.by_opening[opening]] <= start:
                gap = gaps.by_opening[opening]
                if closes[gap] - max(opens[gap], not_before) >= walltime:
                    there += units[gap]
                opening += 1
            while closing < count and closes[gaps.by_closing[closing]] - walltime < start:
                gap = gaps.by_closing[closing]
                if closes[gap] - max(opens[gap], not_before) >= walltime:
                    there -= units[gap]
                closing += 1
            if there >= wanted:
                anchors[k] = start
                break
            if opening == count:
                break
            start = opens[gaps.by_opening[opening]]
