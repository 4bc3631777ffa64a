"""Which nodes a job gets if nodes are chosen by switches (topology/tree): on as few leaf switches as possible.

A job stays below one switch, the top. Below it, the leaf with the fewest free nodes that is large enough comes first,
else the leaf with the most free nodes; then leaves near to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.cluster import Switch
from gas.slurm.fitting import HAS_REQUIRED, LEAST, WANTED
from gas.slurm.machine import BOUNDLESS, Tree
from gas.slurm.taking import (
    CPUS_STILL,
    MOST_STILL,
    WANTED_STILL,
    Choice,
    Work,
    begin,
    has_enough,
    has_least,
    take,
    weight_of,
)  # fmt: skip

__all__ = ["by_switches", "tree_of"]

NODES, SWITCH_CPUS, LOWEST, NEEDED, DISTANCE = range(5)
"""Columns by switch: its nodes and CPUs, their lowest weight, whether the job has nodes there, distance to these."""


def tree_of(switches: Sequence[Switch], places: Mapping[str, int], *, by_cpus: bool) -> Tree:
    """Return the tree of switches; a node or switch below several switches counts for the first.

    Parameters
    ----------
    places
        Index of each node.
    by_cpus
        Whether a switch must also have enough CPUs, not only nodes (`Rules.switch_cpus`).
    """
    count = len(switches)
    number = {one.name: at for at, one in enumerate(switches)}
    leaf, parent = np.full(len(places), -1, np.int64), np.full(count, -1, np.int64)
    for at, one in enumerate(switches):
        for name in one.switches:
            below = number.get(name, at)
            if parent[below] < 0 and below not in _chain(parent, at):
                parent[below] = at
        for name in () if one.switches else one.nodes:
            if name in places and leaf[places[name]] < 0:
                leaf[places[name]] = at
    level = np.zeros(count, np.int64)
    for at in range(count):
        for steps, above in enumerate(_chain(parent, at)):
            level[above] = max(level[above], steps)
    apart = np.full((count, count), BOUNDLESS, np.int64)
    done = np.zeros(count, np.bool_)
    for at in sorted(range(count), key=lambda one: len(_chain(parent, one))):  # from the top down
        if parent[at] >= 0:
            apart[at, done] = apart[done, at] = np.minimum(apart[parent[at], done] + 1, BOUNDLESS)
        apart[at, at] = 0
        done[at] = True
    members = np.argsort(leaf, kind="stable")
    first = np.searchsorted(leaf[members], np.arange(count + 1), side="left")
    return Tree(leaf, parent, level, apart, members, first, by_cpus)


def _chain(parent: NDArray[np.int64], at: int) -> list[int]:
    """Return a switch and all switches above it."""
    found = []
    while at >= 0 and at not in found:
        found.append(at)
        at = int(parent[at])
    return found


@lean_kernel
def _below(leaf: int, top: int, tree: Tree) -> bool:
    """Return whether a leaf is the top switch or below it."""
    while leaf >= 0 and leaf != top:
        leaf = tree.parent[leaf]
    return leaf == top and top >= 0


@lean_kernel
def _top(need: NDArray[np.int64], work: Work, tree: Tree) -> int:
    """Return the switch below which a job stays: the highest with required nodes, or with enough nodes; -1: none."""
    still, switches = work.still, work.switches
    least = still[WANTED_STILL] - max(need[WANTED] - need[LEAST], 0)
    top = -1
    for one in range(len(tree.parent)):
        higher = top < 0 or tree.level[one] > tree.level[top]
        if need[HAS_REQUIRED]:
            if switches[one, NEEDED] and higher:
                top = one
        elif switches[one, NODES] > 0 and switches[one, NODES] >= least:
            if tree.by_cpus and switches[one, SWITCH_CPUS] < still[CPUS_STILL]:
                continue
            equal = top >= 0 and tree.level[one] == tree.level[top]
            if top < 0 or ((higher or equal) and switches[one, LOWEST] <= switches[top, LOWEST]):
                top = one
    return top


@lean_kernel
def _better(one: int, other: int, work: Work, tree: Tree) -> tuple[int, bool]:
    """Return 1 if leaf `one` is better, -1 if `other` is, else 0; and whether `one` is large enough."""
    still, switches = work.still, work.switches
    nodes, cpus = still[WANTED_STILL], still[CPUS_STILL]
    while True:
        fits = switches[one, NODES] >= nodes and (not tree.by_cpus or switches[one, SWITCH_CPUS] >= cpus)
        other_fits = switches[other, NODES] >= nodes and (not tree.by_cpus or switches[other, SWITCH_CPUS] >= cpus)
        if fits and other_fits:
            if switches[one, NODES] != switches[other, NODES]:
                return (1 if switches[one, NODES] < switches[other, NODES] else -1), fits
            break
        if fits or other_fits:
            return (1 if fits else -1), fits
        above, other_above = tree.parent[one], tree.parent[other]
        if above == other_above or above < 0 or other_above < 0:
            break
        one, other = above, other_above
    if switches[one, NODES] != switches[other, NODES]:
        return (1 if switches[one, NODES] > switches[other, NODES] else -1), fits
    if tree.level[one] != tree.level[other]:
        return (1 if tree.level[one] < tree.level[other] else -1), fits
    return 0, fits


@lean_kernel
def _best_leaf(work: Work, tree: Tree) -> int:
    """Return the next leaf from which a job gets nodes; -1 if there is none."""
    switches, best = work.switches, -1
    for one in range(len(tree.parent)):
        if tree.level[one] > 0 or switches[one, NEEDED] or switches[one, NODES] <= 0:
            continue
        if switches[one, DISTANCE] >= BOUNDLESS:
            continue
        if best < 0:
            best = one
            continue
        better, fits = _better(one, best, work, tree)
        near = fits if tree.by_cpus else better >= 0
        distance, least = switches[one, DISTANCE], switches[best, DISTANCE]
        if (distance < least and near) or (distance == least and better > 0):
            best = one
    return best


@lean_kernel
def _count_up(leaf: int, cpus: int, weight: int, work: Work, tree: Tree) -> None:
    """Add a node to its leaf and all switches above."""
    switches = work.switches
    while leaf >= 0:
        switches[leaf, LOWEST] = weight if switches[leaf, NODES] == 0 else min(switches[leaf, LOWEST], weight)
        switches[leaf, NODES] += 1
        switches[leaf, SWITCH_CPUS] += cpus
        leaf = tree.parent[leaf]


@lean_kernel
def _mark(leaf: int, work: Work, tree: Tree) -> None:
    """Mark a leaf and all switches above as having nodes of the job."""
    while leaf >= 0:
        work.switches[leaf, NEEDED] = 1
        leaf = tree.parent[leaf]


@lean_kernel
def _fill(leaf: int, bound: int, capacity: NDArray[np.int64], choice: Choice) -> bool:
    """Give a job nodes of a leaf, in order, until it has enough; return whether it has."""
    tree, work, given, taken = choice.machine.tree, choice.work, choice.given, 0
    for at in range(tree.first[leaf], tree.first[leaf + 1]):
        node = tree.members[at]
        if work.still[MOST_STILL] <= 0:
            break
        if capacity[node] <= 0 or given[node] > 0 or work.weight[node] > bound:
            continue
        take(node, capacity, choice)
        taken += 1
        if has_enough(work):
            return True
    if tree.by_cpus:
        above = leaf
        while above >= 0:
            work.switches[above, NODES] = max(work.switches[above, NODES] - taken, 0)
            above = tree.parent[above]
    return False


@lean_kernel
def _have(top: int, bound: int, count: int, choice: Choice) -> bool:
    """Return whether nodes below a switch, up to a weight, have the generic resources that a job still lacks."""
    machine, use, work, given = choice.machine, choice.use, choice.work, choice.given
    for column in range(len(work.missing)):
        left = work.missing[column]
        for at in range(count if left > 0 else 0):
            node = work.places[at]
            if given[node] == 0 and work.weight[node] <= bound and _below(machine.tree.leaf[node], top, machine.tree):
                left -= machine.gres[node, column] - use.gres[node, column]
        if left > 0:
            return False
    return True


@lean_kernel
def _bound(top: int, count: int, capacity: NDArray[np.int64], choice: Choice) -> int:
    """Return the lowest weight up to which nodes below the top suffice; -1 if they do not."""
    need, work, given = choice.need, choice.work, choice.given
    tree, still = choice.machine.tree, work.still
    extra = max(need[WANTED] - need[LEAST], 0)
    bound, nodes, cpus, sufficient = -1, 0, 0, False
    while True:
        following = -1
        for at in range(count):
            weight = work.weight[work.places[at]]
            if weight > bound and (following < 0 or weight < following):
                following = weight
        if following < 0:
            return bound if sufficient else -1
        bound = following
        for at in range(count):
            node = work.places[at]
            if work.weight[node] != bound or given[node] > 0:
                continue
            if _below(tree.leaf[node], top, tree):
                nodes += 1
                cpus += capacity[node]
        enough = cpus >= still[CPUS_STILL] and _have(top, bound, count, choice)
        sufficient = sufficient or (enough and nodes >= still[WANTED_STILL] - extra)
        if (enough and nodes >= still[WANTED_STILL]) or (sufficient and not tree.by_cpus):
            return bound


@lean_kernel
def by_switches(capacity: NDArray[np.int64], count: int, choice: Choice) -> bool:
    """Choose from the leaves below one switch (_eval_nodes_topo).

    The first `count` of `work.places` are the nodes that can contribute.
    """
    need, work, given = choice.need, choice.work, choice.given
    tree, switches = choice.machine.tree, work.switches
    if not begin(capacity, choice):
        return False
    switches[:] = 0
    for at in range(count):
        node = work.places[at]
        work.weight[node] = weight_of(node, capacity[node], choice)
        _count_up(tree.leaf[node], capacity[node], work.weight[node], work, tree)
        if given[node] > 0:
            _mark(tree.leaf[node], work, tree)
    top = _top(need, work, tree)
    if top < 0:
        return False
    if need[HAS_REQUIRED]:
        for at in range(count):
            if given[work.places[at]] > 0 and not _below(tree.leaf[work.places[at]], top, tree):
                return False
        if has_enough(work):
            return True
        if work.still[MOST_STILL] <= 0:
            return False
    bound = _bound(top, count, capacity, choice)
    if bound < 0:
        return False
    switches[:, NODES] = 0
    lower = bool(need[HAS_REQUIRED])
    for at in range(count):
        node = work.places[at]
        if work.weight[node] > bound and given[node] == 0:
            continue
        leaf = tree.leaf[node]
        if not _below(leaf, top, tree):
            continue
        if given[node] == 0 and work.weight[node] < bound and work.still[MOST_STILL] > 0:
            take(node, capacity, choice)
            _mark(leaf, work, tree)
            lower = True
        while leaf >= 0:
            switches[leaf, NODES] += 1
            leaf = tree.parent[leaf]
    if lower:
        if has_enough(work):
            return True
        if work.still[MOST_STILL] <= 0:
            return False
        for leaf in range(len(tree.parent)):
            if not switches[leaf, NEEDED] or tree.level[leaf] > 0 or not _below(leaf, top, tree):
                continue
            if _fill(leaf, bound, capacity, choice):
                return True
    for one in range(len(tree.parent)):
        if switches[one, NEEDED]:
            for other in range(len(tree.parent)):
                switches[other, DISTANCE] = min(switches[other, DISTANCE] + tree.apart[one, other], BOUNDLESS)
    before = work.still[WANTED_STILL] + 1
    while work.still[WANTED_STILL] != before:
        before = work.still[WANTED_STILL]
        leaf = _best_leaf(work, tree)
        if leaf < 0:
            break
        for other in range(len(tree.parent)):
            switches[other, DISTANCE] = min(switches[other, DISTANCE] + tree.apart[leaf, other], BOUNDLESS)
        if _fill(leaf, bound, capacity, choice):
            return True
        switches[leaf, NODES] = 0
    return has_least(work)
