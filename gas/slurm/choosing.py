"""Chooses the nodes of a job among those that can contribute (select/cons_tres)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.fitting import (
    BY_SWITCHES,
    CONTIGUOUS,
    CPUS,
    FROM_THE_END,
    HAS_REQUIRED,
    LAST_COUNTED,
    LEAST,
    LEAST_LOADED,
    LINEAR,
    MOST,
    OF_JOB,
    ORDER,
    TIGHTEST,
    WANTED,
    WHOLE,
    cpus_on,
)  # fmt: skip
from gas.slurm.linear import by_runs
from gas.slurm.machine import Use
from gas.slurm.switches import by_switches
from gas.slurm.taking import (
    CPUS_STILL,
    MOST_STILL,
    WANTED_STILL,
    Choice,
    Work,
    begin,
    has_enough,
    has_least,
    lacking,
    run_has,
    take,
    take_counted,
    weight_of,
)  # fmt: skip
from gas.slurm.task_distribution import distribute_tasks
from gas.slurm.versions import Rules

__all__ = ["choose_to_start", "choose_with", "fits_if_idle", "may_suffice"]


@lean_kernel
def may_suffice(capacity: NDArray[np.int64], need: NDArray[np.int64], work: Work) -> bool:
    """Return whether the nodes with the most CPUs have enough together; if not, no choice of nodes has."""
    most = need[MOST]
    if most >= len(capacity):
        return True  # all nodes
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


@lean_kernel
def choose_with(capacity: NDArray[np.int64], choice: Choice, first_node: bool, weakest: bool) -> bool:
    """Choose nodes for a job, write its CPUs on each into `given`, and return whether they suffice.

    A choice that fails is tried again without the nodes with the fewest CPUs, while enough nodes are left
    (_select_nodes and its successors: the knapsack).
    """
    need, required, work = choice.need, choice.required, choice.work
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
    if need[ORDER] == LINEAR:
        return by_runs(capacity, count, choice)
    if first_node and need[MOST] == 1 and not need[HAS_REQUIRED]:
        return _first(capacity, count, choice) and distribute_tasks(choice)
    if _in_order(capacity, count, choice):
        return distribute_tasks(choice)
    left = work.left
    for node in range(len(capacity)):
        left[node] = capacity[node]
    threshold = 0
    while True:
        # the next larger number of CPUs on a node
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
        if _in_order(left, count, choice):
            return distribute_tasks(choice)


@lean_kernel
def choose_to_start(capacity: NDArray[np.int64], choice: Choice, first_node: bool, weakest: bool) -> bool:
    """Like `choose_with`, for a job that starts: under select/linear it gets the lowest weights that suffice."""
    machine, work = choice.machine, choice.work
    if choice.need[ORDER] != LINEAR:
        return choose_with(capacity, choice, first_node, weakest)
    bound = -1
    while True:
        following = -1
        for node in range(len(capacity)):
            weight = machine.weight[node]
            if capacity[node] > 0 and weight > bound and (following < 0 or weight < following):
                following = weight
        if following < 0:
            return False
        bound = following
        for node in range(len(capacity)):
            work.left[node] = capacity[node] if machine.weight[node] <= bound else 0
        if choose_with(work.left, choice, first_node, weakest):
            return True


@lean_kernel
def fits_if_idle(there: NDArray[np.bool_], choice: Choice, idle: Use, rules: Rules) -> bool:
    """Return whether nodes would do for a job if they were idle; nodes that it cannot share are left out.

    Slurm begins each test of nodes so (job_test.c, _job_test). A job that fits now can fail this only if switches are
    chosen by their number of nodes alone: the switch chosen for idle nodes may have too few CPUs.
    """
    need, gres, required, machine, use, work, given = choice
    if need[ORDER] != BY_SWITCHES or rules.switch_cpus:
        return True
    capacity = work.capacity
    for node in range(len(there)):
        out = not there[node] or use.whole[node] > 0 or (need[WHOLE] and use.jobs[node] > 0)
        capacity[node] = 0 if out else cpus_on(node, need, gres, machine, idle)
    if_idle = Choice(need, gres, required, machine, idle, work, given)
    return choose_with(capacity, if_idle, rules.first_node, rules.weakest)


@lean_kernel
def _first(capacity: NDArray[np.int64], count: int, choice: Choice) -> bool:
    """Choose the first node, by weight and then by position, that has enough."""
    need, gres, _, machine, use, work, given = choice
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
def _in_order(capacity: NDArray[np.int64], count: int, choice: Choice) -> bool:
    """Choose nodes in the order that applies to the job."""
    need = choice.need
    if need[ORDER] == BY_SWITCHES:
        return by_switches(capacity, count, choice)
    if need[ORDER] == LAST_COUNTED:
        return _least_loaded(capacity, count, choice)
    return _consecutive(capacity, count, choice)


@lean_kernel
def _least_loaded(capacity: NDArray[np.int64], count: int, choice: Choice) -> bool:
    """Choose the least loaded nodes; each is credited with the CPUs of the last node examined (_eval_nodes_lln).

    The examination ends early at a node with as many CPUs as the one chosen before.
    """
    if not begin(capacity, choice):
        return False
    machine, work, given = choice.machine, choice.work, choice.given
    still, weight = work.still, work.weight
    for at in range(count):
        node = work.places[at]
        weight[node] = weight_of(node, capacity[node], choice)
    before, alike = -1, -1
    while still[MOST_STILL] > 0 and not has_enough(work):
        lowest = -1
        for at in range(count):
            node = work.places[at]
            if given[node] == 0 and (lowest < 0 or weight[node] < lowest):
                lowest = weight[node]
        if lowest < 0:
            break
        if lowest != before:
            before, alike = lowest, -1
        best, counted = -1, 0
        for at in range(count):
            node = work.places[at]
            if given[node] > 0 or weight[node] != lowest:
                continue
            counted = capacity[node]
            if best < 0 or capacity[best] * machine.cpus[node] < counted * machine.cpus[best]:
                best = node
                if counted == alike:
                    break
        alike = capacity[best]
        take_counted(best, counted, capacity, choice)
    return has_least(work)


@lean_kernel
def _consecutive(capacity: NDArray[np.int64], count: int, choice: Choice) -> bool:
    """Choose from runs of consecutive nodes, the tightest fit first (_eval_nodes_consec).

    In other orders each node is a run of its own (_eval_nodes_lln, _eval_nodes_serial). The first `count` of
    `work.places` are the nodes that can contribute.
    """
    need, machine, work, given = choice.need, choice.machine, choice.work, choice.given
    extra = max(need[WANTED] - need[LEAST], 0)
    if not begin(capacity, choice):
        return False
    if has_enough(work):
        return True
    still = work.still
    for_all = lacking(choice.gres[OF_JOB])
    # runs: first and last node, CPUs, number of nodes, and the first required node
    runs = 0
    bounds, weight = work.bounds, work.weight
    previous = -2
    order = need[ORDER]
    for at in range(count):
        node = work.places[at]
        weight[node] = weight_of(node, capacity[node], choice)
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
    while still[MOST_STILL] > 0:
        best, tight = -1, False
        for run in range(runs):
            if bounds[run, 3] <= 0:
                continue
            suffices = bounds[run, 2] >= still[CPUS_STILL] and bounds[run, 3] >= still[WANTED_STILL] - extra
            if suffices and for_all:
                suffices = run_has(bounds[run, 0], bounds[run, 1], capacity, choice)
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
        if start < 0 and still[WANTED_STILL] <= 1:
            single = -1
            for node in range(first, last + 1):
                fits = capacity[node] >= still[CPUS_STILL] and given[node] == 0
                if fits and for_all:
                    fits = run_has(node, node, capacity, choice)
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
            if still[MOST_STILL] <= 0 or has_enough(work):
                break
            if still[MOST_STILL] == 1 and capacity[node] < still[CPUS_STILL]:
                continue
            take(node, capacity, choice)
        if has_enough(work):
            return True
        if need[CONTIGUOUS]:
            break
    return has_least(work)
