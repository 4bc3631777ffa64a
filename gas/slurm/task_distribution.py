"""The CPUs that a job gets on each chosen node: its tasks are distributed over the nodes (dist_tasks.c)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.fitting import (
    CPUS,
    FILLED,
    LIMITED,
    LONE_TASKS,
    MULTIPLES,
    NODE_CPUS,
    PER_NODE,
    TASK_CPUS,
    WHOLE,
    threads_on,
)  # fmt: skip
from gas.slurm.machine import Machine
from gas.slurm.taking import Choice

__all__ = ["distribute_tasks"]


@lean_kernel
def distribute_tasks(choice: Choice) -> bool:
    """Distribute the tasks of a job over its chosen nodes; return whether it can start with the result.

    Tasks go to the nodes in turn, as long as each has CPUs: the nodes chosen for a range of node counts, or for GPUs,
    may have more CPUs than the tasks need (seen on 26.05: -n 11 -N 2-5 gets 3, 4, 3 and 1 CPUs if 3, 4, 4 and 3 are
    free; on three nodes with 8 CPUs and 4 GPUs, -n 10 --gpus=10 gets 7, 2 and 1 on 22.05, and 4, 4 and 2 from 24.11).
    """
    need, machine, given = choice.need, choice.machine, choice.given
    if need[WHOLE] or need[NODE_CPUS] > 0:
        return _as_it_can(need, machine, given)
    nodes, total, tasks = 0, 0, 0
    for node in range(len(given)):
        nodes += given[node] > 0
        total += given[node]
        tasks += given[node] // need[TASK_CPUS]
    if need[LIMITED] >= 0 and need[MULTIPLES] and need[PER_NODE] == 0 and tasks * need[TASK_CPUS] < need[CPUS]:
        return False
    if need[PER_NODE] > 0:
        _per_node(need, given, nodes)
    elif total > need[CPUS]:
        _in_turn(need, given)
    return _as_it_can(need, machine, given)


@lean_kernel
def _as_it_can(need: NDArray[np.int64], machine: Machine, given: NDArray[np.int64]) -> bool:
    """Return whether a job can start with its CPUs on each node (`LONE_TASKS`)."""
    if need[LONE_TASKS] > 0:
        for node in range(len(given)):
            if (
                given[node] > machine.sockets[node] * need[TASK_CPUS]
                and threads_on(node, need, machine) < machine.core[node]
            ):
                return False
    return True


@lean_kernel
def _per_node(need: NDArray[np.int64], given: NDArray[np.int64], nodes: int) -> None:
    """Give each node one task in turn, or the requested number per node even if fewer tasks are left."""
    tasks, place = need[CPUS] // need[TASK_CPUS], 0
    for node in range(len(given)):
        if given[node] > 0:
            own = need[PER_NODE] if need[FILLED] else tasks // nodes + (place < tasks % nodes)
            given[node] = max(own, 1) * need[TASK_CPUS]
            place += 1


@lean_kernel
def _in_turn(need: NDArray[np.int64], given: NDArray[np.int64]) -> None:
    """Reduce the CPUs on each node to those that it gets if tasks go to the nodes in turn."""
    level, left, going = 0, need[CPUS], True
    while going:  # each node gets up to `level` CPUs
        step = 0
        for node in range(len(given)):
            step += min(max(given[node] - level, 0), need[TASK_CPUS])
        going = step > 0 and (step <= left or level == 0)
        if going:
            level += need[TASK_CPUS]
            left -= step
    for node in range(len(given)):
        more = min(max(given[node] - level, 0), need[TASK_CPUS], max(left, 0))
        given[node] = min(given[node], level) + more
        left -= more
