"""Which nodes a job gets under select/linear, which allocates whole nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.fitting import CONTIGUOUS, CPUS, HAS_REQUIRED, LEAST, MOST, WANTED
from gas.slurm.taking import Choice

__all__ = ["by_runs"]


@lean_kernel
def by_runs(capacity: NDArray[np.int64], count: int, choice: Choice) -> bool:
    """Choose from runs of consecutive nodes of any weight, the tightest fit first (select_linear.c, _job_test).

    If nodes differ in CPUs, those with the most come first, and among these the last (seen on 24.11 and 26.05). The
    first `count` of `work.places` are the nodes that can contribute; each contributes all of its CPUs.
    """
    need, required, work, given = choice.need, choice.required, choice.work, choice.given
    given[:] = 0
    cpus, most = need[CPUS], need[MOST]
    nodes, extra = max(need[WANTED], need[LEAST]), max(need[WANTED] - need[LEAST], 0)
    if need[HAS_REQUIRED]:
        for node in range(len(capacity)):
            if required[node]:
                if capacity[node] <= 0 or most <= 0:
                    return False
                given[node] = capacity[node]
                cpus, nodes, most = cpus - capacity[node], nodes - 1, most - 1
    least, largest = 0, 0
    for at in range(count):
        has = capacity[work.places[at]]
        least = has if at == 0 else min(least, has)
        largest = max(largest, has)
    if least < largest and not need[CONTIGUOUS]:
        for has in range(largest, least - 1, -1):
            for at in range(count - 1, -1, -1):
                node = work.places[at]
                if capacity[node] == has and given[node] == 0 and most > 0 and (nodes > 0 or cpus > 0):
                    given[node] = has
                    cpus, nodes, most = cpus - has, nodes - 1, most - 1
        return bool(cpus <= 0 and nodes - extra <= 0)
    bounds, runs, previous = work.bounds, 0, -2  # a run: first, last, CPUs, number of nodes, first required node
    for at in range(count):
        node = work.places[at]
        if previous != node - 1:
            bounds[runs, 0] = node
            bounds[runs, 2] = bounds[runs, 3] = 0
            bounds[runs, 4] = -1
            runs += 1
        bounds[runs - 1, 1] = node
        if given[node] == 0:
            bounds[runs - 1, 2] += capacity[node]
            bounds[runs - 1, 3] += 1
        elif bounds[runs - 1, 4] < 0:
            bounds[runs - 1, 4] = node
        previous = node
    while most > 0 and (nodes > 0 or cpus > 0):
        best, tight = -1, False
        for run in range(runs):
            if bounds[run, 3] <= 0:
                continue
            suffices = bounds[run, 2] >= cpus and bounds[run, 3] >= nodes - extra
            better = best < 0 or (bounds[best, 4] < 0 and bounds[run, 4] >= 0)
            if suffices:
                better = better or not tight or bounds[run, 2] < bounds[best, 2]
            else:
                better = better or bounds[run, 2] > bounds[best, 2]
            if better:
                best, tight = run, suffices
        if best < 0 or (need[CONTIGUOUS] and not tight):
            break
        first, last, start = bounds[best, 0], bounds[best, 1], bounds[best, 4]
        bounds[best, 3] = 0
        for step in range(last - first + 1):
            node = first + step
            if start >= 0:  # from the first required node upwards, then downwards
                node = start + step if start + step <= last else last - step
            if most <= 0 or (nodes <= 0 and cpus <= 0):
                break
            if given[node] == 0:
                given[node] = capacity[node]
                cpus, nodes, most = cpus - capacity[node], nodes - 1, most - 1
    return bool(cpus <= 0 and nodes - extra <= 0)
