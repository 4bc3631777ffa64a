"""How many CPUs of each of its nodes a job gets, once these are chosen: its tasks are dealt to them (dist_tasks.c)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.fitting import CPUS, FILLED, HAS_GRES, NODE_CPUS, PER_NODE, TASK_CPUS, WHOLE

__all__ = ["dealt"]


@lean_kernel
def dealt(need: NDArray[np.int64], given: NDArray[np.int64]) -> bool:
    """Deal the tasks of a job to its nodes, of which each can give so many CPUs; return that they are.

    Where tasks per node are asked for, they go to the nodes in turn. Else each node gets one, and the nodes are filled
    in their order: a range of nodes may have taken more of them than the tasks need (seen on 26.05: -n 11 -N 2-5 has 3,
    4, 3 and 1 CPUs where 3, 4, 4 and 3 are free).
    """
    if need[WHOLE] or need[NODE_CPUS] > 0:
        return True
    nodes, total = 0, 0
    for node in range(len(given)):
        nodes += given[node] > 0
        total += given[node]
    if need[PER_NODE] > 0:
        _in_turn(need, given, nodes)
    elif total > need[CPUS] and not need[HAS_GRES]:
        _in_order(need, given, max(need[CPUS] - nodes * need[TASK_CPUS], 0))
    return True


@lean_kernel
def _in_turn(need: NDArray[np.int64], given: NDArray[np.int64], nodes: int) -> None:
    """Give the nodes a task each, and again; or as many as are asked for per node, also if fewer are left."""
    tasks, place = need[CPUS] // need[TASK_CPUS], 0
    for node in range(len(given)):
        if given[node] > 0:
            own = need[PER_NODE] if need[FILLED] else tasks // nodes + (place < tasks % nodes)
            given[node] = max(own, 1) * need[TASK_CPUS]
            place += 1


@lean_kernel
def _in_order(need: NDArray[np.int64], given: NDArray[np.int64], left: int) -> None:
    """Give the nodes a task each, and then, one node after the other, as much of the CPUs left as it has."""
    for node in range(len(given)):
        if given[node] > need[TASK_CPUS]:
            more = min(given[node] - need[TASK_CPUS], left)
            given[node] = need[TASK_CPUS] + more
            left -= more
