"""Which nodes a job gets, of those that can give it something (select/cons_tres, topology/flat)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.dealing import dealt
from gas.slurm.fitting import (
    CONTIGUOUS,
    CPUS,
    FROM_THE_END,
    HAS_GRES,
    HAS_REQUIRED,
    LEAST,
    LEAST_LOADED,
    MOST,
    NODE_CPUS,
    OF_JOB,
    ORDER,
    TASK_CPUS,
    TIGHTEST,
    WANTED,
    WHOLE,
    gpus_on,
)
from gas.slurm.machine import Machine, Use

__all__ = ["Work", "choose", "choose_with", "may_do", "work_of"]


class Work(NamedTuple):
    """Room to work in, so that nothing is made anew for each start that is tried.

    Attributes
    ----------
    capacity, left, weight, places
        By node: what it can give, and what is left when weak ones are taken away; and nodes that give something.
    behind
        By node, whether its weight counts as one higher for this job; false of all between two uses.
    bounds, missing, tally
        Runs of neighbouring nodes; by column of generic resources; by number of CPUs.
    gone, removed
        By running job whether it has been taken away (false of all between two uses), and those that have been.
    """

    capacity: NDArray[np.int64]
    left: NDArray[np.int64]
    weight: NDArray[np.int64]
    places: NDArray[np.int64]
    behind: NDArray[np.bool_]
    bounds: NDArray[np.int64]
    missing: NDArray[np.int64]
    tally: NDArray[np.int64]
    gone: NDArray[np.bool_]
    removed: NDArray[np.int64]


def work_of(machine: Machine, jobs: int) -> Work:
    """Return room to work in, for a machine and so many running jobs."""
    size = len(machine.cpus)
    return Work(
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.zeros(size, np.bool_), np.zeros((size, 5), np.int64), np.zeros(machine.gres.shape[1], np.int64),
        np.zeros(int(machine.cpus.max(initial=0)) + 1, np.int64), np.zeros(jobs, np.bool_), np.zeros(jobs, np.int64),
    )  # fmt: skip


@lean_kernel
def may_do(capacity: NDArray[np.int64], need: NDArray[np.int64], work: Work) -> bool:
    """Return whether those nodes that give most have enough CPUs: else no choice does."""
    most = need[MOST]
    if most >= len(capacity):
        return True  # as many as there are
    highest = 0
    for node in range(len(capacity)):
        highest = max(highest, capacity[node])
    if most * highest < need[CPUS]:
        return False
    tally = work.tally
    for value in range(highest + 1):
        tally[value] = 0
    for node in range(len(capacity)):
        tally[capacity[node]] += 1
    cpus = 0
    for value in range(highest, 0, -1):
        number = min(tally[value], most)
        cpus += number * value
        most -= number
        if cpus >= need[CPUS]:
            return True
        if most <= 0:
            return False
    return False


def choose(
    capacity: NDArray[np.int64],
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    required: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    first_node: bool,
    weakest: bool,
    given: NDArray[np.int64],
) -> bool:
    """Do as `choose_with` in a room that is made for it."""
    return choose_with(capacity, need, gres, required, machine, use, first_node, weakest, work_of(machine, 0), given)


@lean_kernel
def choose_with(
    capacity: NDArray[np.int64],
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    required: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    first_node: bool,
    weakest: bool,
    work: Work,
    given: NDArray[np.int64],
) -> bool:
    """Choose nodes for a job of what each can give, write what each gives into `given`, return whether that is enough.

    Choices that fail are tried again without weak nodes, where there are more nodes than the job must have
    (_select_nodes and its successors: the knapsack).
    """
    count, total, most = 0, 0, 0
    places = work.places
    for node in range(len(capacity)):
        if capacity[node] > 0:
            places[count] = node
            count += 1
            total += capacity[node]
            most = max(most, capacity[node])
    if count < need[LEAST] or total < need[CPUS]:
        return False
    if first_node and need[MOST] == 1 and not need[HAS_REQUIRED]:
        return _first(capacity, count, need, gres, machine, use, work, given) and dealt(
            capacity, need, gres, machine, use, given
        )
    if _consecutive(capacity, count, need, gres, required, machine, use, work, given):
        return dealt(capacity, need, gres, machine, use, given)
    left = work.left
    for node in range(len(capacity)):
        left[node] = capacity[node]
    threshold = 0
    while True:
        # the next number of CPUs that a node has
        lowest = most + 1
        for at in range(count):
            node = places[at]
            if threshold < left[node] < lowest and not (need[HAS_REQUIRED] and required[node]):
                lowest = left[node]
        if lowest > most:
            return False
        if not weakest:
            threshold = lowest
        kept, taken = 0, False
        for at in range(count):
            node = places[at]
            if left[node] == lowest and not (need[HAS_REQUIRED] and required[node]) and not (weakest and taken):
                left[node] = 0
                total -= lowest
                taken = True
            else:
                places[kept] = node
                kept += 1
        count = kept
        if count < need[LEAST] or total < need[CPUS]:
            return False
        if _consecutive(left, count, need, gres, required, machine, use, work, given):
            return dealt(capacity, need, gres, machine, use, given)


@lean_kernel
def _first(
    capacity: NDArray[np.int64],
    count: int,
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    machine: Machine,
    use: Use,
    work: Work,
    given: NDArray[np.int64],
) -> bool:
    """Choose the first node by weight and place that has enough."""
    given[:] = 0
    best, lowest = -1, 0
    for at in range(count):
        node = work.places[at]
        weight = machine.weight[node] + work.behind[node]
        if capacity[node] >= need[CPUS] and (best < 0 or weight < lowest):
            has = True
            for column in range(gres.shape[1]):
                if gres[OF_JOB, column] > machine.gres[node, column] - use.gres[node, column]:
                    has = False
            if has:
                best, lowest = node, weight
    if best >= 0:
        given[best] = need[CPUS]
    return best >= 0


@lean_kernel
def _weight(
    node: int, need: NDArray[np.int64], gres: NDArray[np.int64], machine: Machine, use: Use, tasks: int, work: Work
) -> int:
    """Return the weight of a node for a job: of equal ones those with more free GPUs come first (sched_weight)."""
    weight = (machine.weight[node] + work.behind[node]) * 256 + 255
    if need[HAS_GRES]:
        weight -= gpus_on(node, gres, machine, use, tasks, need[WHOLE])
    elif len(machine.near) > 0:
        weight -= machine.near[node]
    return int(weight)


@lean_kernel
def _gives(
    node: int, gres: NDArray[np.int64], machine: Machine, use: Use, missing: NDArray[np.int64], has_gres: int
) -> None:
    """Take from what a job misses in all what a node has of it."""
    if has_gres:
        for column in range(gres.shape[1]):
            if missing[column] > 0:
                missing[column] -= machine.gres[node, column] - use.gres[node, column]


@lean_kernel
def _run_has(
    first: int,
    last: int,
    capacity: NDArray[np.int64],
    given: NDArray[np.int64],
    machine: Machine,
    use: Use,
    missing: NDArray[np.int64],
) -> bool:
    """Return whether nodes of a run have together what a job misses of generic resources (gres_sched_sufficient)."""
    for column in range(len(missing)):
        if missing[column] > 0:
            left = missing[column]
            for node in range(first, last + 1):
                if capacity[node] > 0 and given[node] == 0:
                    left -= machine.gres[node, column] - use.gres[node, column]
            if left > 0:
                return False
    return True


@lean_kernel
def _share(capacity: int, cpus: int, more: int, core: int, floor: int) -> int:
    """Return how many CPUs a node gives, where a core is kept for each further node that the job must have."""
    wanted = max(cpus - max(more - 1, 0) * core, floor)
    return min(capacity, wanted)


@lean_kernel
def _lacking(missing: NDArray[np.int64]) -> bool:
    """Return whether a job still misses generic resources."""
    for column in range(len(missing)):  # noqa: SIM110  a generator is not compiled
        if missing[column] > 0:
            return True
    return False


@lean_kernel
def _consecutive(
    capacity: NDArray[np.int64],
    count: int,
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    required: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    work: Work,
    given: NDArray[np.int64],
) -> bool:
    """Choose from the runs of neighbouring nodes, the tightest fit first (_eval_nodes_consec).

    In another order each node is a run of its own (_eval_nodes_lln, _eval_nodes_serial).

    The first `count` of `work.places` are the nodes that can give something.
    """
    size = len(capacity)
    given[:] = 0
    cpus, least, most = need[CPUS], need[LEAST], need[MOST]
    extra = max(need[WANTED] - need[LEAST], 0)
    missing = work.missing
    for column in range(len(missing)):
        missing[column] = gres[OF_JOB, column]
    for_all = _lacking(missing)
    wanted = need[LEAST] if for_all else need[LEAST] + extra
    if need[HAS_REQUIRED]:
        for node in range(size):
            if required[node]:
                if capacity[node] <= 0 or most <= 0:
                    return False
                given[node] = _share(
                    capacity[node], cpus, least, machine.core[node], max(need[TASK_CPUS], need[NODE_CPUS])
                )
                cpus -= given[node]
                least -= 1
                wanted -= 1
                most -= 1
                _gives(node, gres, machine, use, missing, need[HAS_GRES])
    if cpus <= 0 and wanted <= 0 and not _lacking(missing):
        return True
    # runs: [first, last], what they have, how many nodes, and the first required node in them
    runs = 0
    bounds, weight = work.bounds, work.weight
    previous = -2
    tasks, order = need[CPUS] // need[TASK_CPUS], need[ORDER]
    for at in range(count):
        node = work.places[at]
        here = min(tasks, capacity[node] // need[TASK_CPUS])
        weight[node] = _weight(node, need, gres, machine, use, here, work)
        alike = previous == node - 1 and (need[CONTIGUOUS] or weight[node] == weight[previous])
        if not alike or order != TIGHTEST:
            bounds[runs, 0] = node
            bounds[runs, 2] = bounds[runs, 3] = 0
            bounds[runs, 4] = -1
            runs += 1
        bounds[runs - 1, 1] = node
        if given[node] > 0:
            if bounds[runs - 1, 4] < 0:
                bounds[runs - 1, 4] = node
        else:
            bounds[runs - 1, 2] += capacity[node]
            bounds[runs - 1, 3] += 1
        previous = node
    while most > 0:
        best, tight = -1, False
        for run in range(runs):
            if bounds[run, 3] <= 0:
                continue
            suffices = bounds[run, 2] >= cpus and bounds[run, 3] >= wanted - extra
            if suffices and for_all:
                suffices = _run_has(bounds[run, 0], bounds[run, 1], capacity, given, machine, use, missing)
            if best < 0:
                better = True
            elif (bounds[run, 4] >= 0) != (bounds[best, 4] >= 0):
                better = bounds[run, 4] >= 0
            elif weight[bounds[run, 0]] != weight[bounds[best, 0]]:
                better = weight[bounds[run, 0]] < weight[bounds[best, 0]]
            elif order == FROM_THE_END:
                better = True
            elif order == LEAST_LOADED:
                node, other = bounds[run, 0], bounds[best, 0]
                better = capacity[node] * machine.cpus[other] > capacity[other] * machine.cpus[node]
            elif suffices:
                better = not tight or bounds[run, 2] < bounds[best, 2]
            else:
                better = bounds[run, 2] > bounds[best, 2]
            if better:
                best, tight = run, suffices
        if best < 0:
            break
        first, last, start = bounds[best, 0], bounds[best, 1], bounds[best, 4]
        if start < 0 and wanted <= 1:
            single = -1
            for node in range(first, last + 1):
                fits = capacity[node] >= cpus and given[node] == 0
                if fits and for_all:
                    fits = _run_has(node, node, capacity, given, machine, use, missing)
                if fits and (single < 0 or capacity[node] < capacity[single]):
                    single = node
            if single >= 0:
                first = last = single
        bounds[best, 3] = 0
        # from the first required node upwards, then downwards
        for step in range(last - first + 1):
            node = first + step
            if start >= 0:
                node = start + step if start + step <= last else last - step
            if capacity[node] <= 0 or given[node] > 0:
                continue
            if most <= 0 or (cpus <= 0 and wanted <= 0 and not _lacking(missing)):
                break
            if most == 1 and capacity[node] < cpus:
                continue
            given[node] = _share(capacity[node], cpus, least, machine.core[node], max(need[TASK_CPUS], need[NODE_CPUS]))
            cpus -= given[node]
            least -= 1
            wanted -= 1
            most -= 1
            _gives(node, gres, machine, use, missing, need[HAS_GRES])
        if cpus <= 0 and wanted <= 0 and not _lacking(missing):
            return True
        if need[CONTIGUOUS]:
            break
    return cpus <= 0 and least <= 0 and not _lacking(missing)
