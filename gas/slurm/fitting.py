"""How much of each node a job can have, beside what runs there (select/cons_tres).

A need is a row of numbers (the columns are named here) and a table of generic resources: what the job asks for per
node, per task and in all, column by column of the machine. The functions are kernels: plain functions on arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.machine import Machine, Use

__all__ = ["COLUMNS", "capable", "cpus_on", "gpus_on", "held_on", "leave_weights", "memory_on", "threads_on"]

COLUMNS = (
    CPUS, TASK_CPUS, PER_NODE, LEAST, WANTED, MOST, MEMORY, TASK_MEMORY, ALL_MEMORY, WHOLE, CONTIGUOUS, LIMITED,
    LIMITED_CPUS, HAS_REQUIRED, HAS_GRES, MULTIPLES, GPU_CPUS, NODE_CPUS, BOUND, CPU_MEMORY, FILLED, UNBOUND,
    BY_GPUS, ORDER, THREADS, CORE_TASKS, LONE_TASKS,
    CORE_MEMORY, NODE_MEMORY,
) = range(29)  # fmt: skip
"""Columns of a need.

CPUS and TASK_CPUS are CPUs in all and of a task, PER_NODE tasks of a node (0: as they come), LEAST, WANTED and MOST
numbers of nodes, MEMORY and TASK_MEMORY MB per node and per task, ALL_MEMORY says that it wants all memory of its nodes
and WHOLE that no other job shares them. LIMITED is the number of the limit on CPUs of a node that it is under (-1:
none) and LIMITED_CPUS that limit. HAS_REQUIRED and HAS_GRES say whether there is anything to look at, MULTIPLES whether
only CPUs count that make up whole tasks. GPU_CPUS are CPUs for each GPU, NODE_CPUS those for the GPUs of a node (each
gives as many at the least, whatever its tasks), and BOUND those that a node gives at the most (0: as they come).
CPU_MEMORY is MB per CPU, which a whole node must have for all of its CPUs; CORE_MEMORY is MB for each CPU that the job
can use of its cores. NODE_MEMORY is MB that a node must have at all. Where tasks of a node are asked for, FILLED
says that each node gets as many, also if fewer are left, and UNBOUND that nodes are chosen by all that they could give.
BY_GPUS says that tasks go where the GPUs in all are. ORDER says in which order nodes of equal weight are taken.
THREADS is how many threads of a core it uses at the most, and CORE_TASKS how many of its tasks may share one (0: all).
LONE_TASKS says of a job that leaves threads of cores unused that it starts only where no socket has several of its
tasks, or, below 0, nowhere.
"""

TIGHTEST, LEAST_LOADED, FROM_THE_END, BY_SWITCHES, LAST_COUNTED, LINEAR = range(6)
"""Orders of nodes.

The tightest run of neighbours; those that give the largest share of their CPUs; the last ones; on as few switches as
can be; as LEAST_LOADED, but each counts for what the node gives that was looked at last; as select/linear does.
"""

OF_NODE, OF_TASK, OF_JOB = range(3)  # rows of the table of generic resources


@lean_kernel
def threads_on(node: int, need: NDArray[np.int64], machine: Machine) -> int:
    """Return how many CPUs of a core a job uses."""
    threads = machine.core[node]
    if need[THREADS] > 0:
        threads = min(threads, need[THREADS])
    if need[CORE_TASKS] > 0:
        threads = min(threads, need[CORE_TASKS] * need[TASK_CPUS])
    return int(threads)


@lean_kernel
def _task_alone(node: int, need: NDArray[np.int64], machine: Machine) -> int:
    """Return the CPUs of the cores that no other task of a job shares with one of several cores; 0 if tasks do."""
    threads = threads_on(node, need, machine)
    if need[CORE_TASKS] != 1 or need[TASK_CPUS] <= threads:
        return 0
    return int(-(-need[TASK_CPUS] // threads) * threads)


@lean_kernel
def held_on(node: int, given: int, need: NDArray[np.int64], machine: Machine) -> int:
    """Return how many CPUs a job holds that uses some of a node: those of whole cores."""
    if need[WHOLE]:
        return int(machine.cpus[node])
    core = machine.core[node]
    if core == 1:
        return int(given)
    threads, alone = threads_on(node, need, machine), _task_alone(node, need, machine)
    used = given if alone == 0 else -(-given // need[TASK_CPUS]) * alone
    return int(-(-used // threads) * core)


@lean_kernel
def memory_on(node: int, given: int, need: NDArray[np.int64], machine: Machine) -> int:
    """Return how much memory a job has that uses some CPUs of a node: that of a CPU counts for all that it can use."""
    if need[ALL_MEMORY]:
        return int(machine.memory[node])
    if need[MEMORY] > 0:
        return int(need[MEMORY])
    if need[CORE_MEMORY] > 0:
        cores = held_on(node, given, need, machine) // machine.core[node]
        return int(cores * threads_on(node, need, machine) * need[CORE_MEMORY])
    return int(given // need[TASK_CPUS] * need[TASK_MEMORY])


@lean_kernel
def cpus_on(node: int, need: NDArray[np.int64], gres: NDArray[np.int64], machine: Machine, use: Use) -> int:
    """Return how many CPUs a node can give to a job, 0 if it can't have part of it (_can_job_run_on_node)."""
    if (need[WHOLE] and use.jobs[node] > 0) or need[NODE_MEMORY] > machine.memory[node]:
        return 0
    free = machine.cpus[node]
    whole_tasks = 0
    if not need[WHOLE]:
        free -= use.cpus[node]
        if need[LIMITED] >= 0:
            whole_tasks = free // need[TASK_CPUS] * need[TASK_CPUS]
            free = min(free, need[LIMITED_CPUS] - use.limited[need[LIMITED], node])
    memory = machine.memory[node] - use.memory[node]
    if machine.core[node] > 1:
        threads = threads_on(node, need, machine)
        free = free // machine.core[node] * threads
        if need[LONE_TASKS] < 0 and threads < machine.core[node]:
            return 0
        if need[CORE_MEMORY] > 0 and not need[WHOLE]:
            cpus = memory // (need[CORE_MEMORY] * threads) * threads
            if need[PER_NODE] > 0 and not need[UNBOUND]:  # there is memory for CPUs that tasks leave of their last core
                cpus = max(cpus, min(memory // need[CORE_MEMORY], need[PER_NODE] * need[TASK_CPUS]))
            free = min(free, cpus)
        alone = _task_alone(node, need, machine)
        if alone > 0:
            free = free // alone * need[TASK_CPUS]
    if need[MEMORY] > memory or (need[ALL_MEMORY] and use.memory[node] > 0):
        return 0
    if free < max(need[TASK_CPUS], need[NODE_CPUS]):
        return 0
    if need[WHOLE] and need[CPU_MEMORY] * (need[PER_NODE] * need[TASK_CPUS] or free) > memory:
        return 0
    tasks = free // need[TASK_CPUS]
    if need[TASK_MEMORY] > 0:
        tasks = min(tasks, memory // need[TASK_MEMORY])
    bound = need[BOUND] if need[BOUND] > 0 else free
    if need[HAS_GRES]:
        for column in range(gres.shape[1]):
            left = machine.gres[node, column] - use.gres[node, column]
            if gres[OF_NODE, column] > left or (gres[OF_JOB, column] > 0 and left <= 0):
                return 0
            if gres[OF_TASK, column] > 0:
                tasks = min(tasks, left // gres[OF_TASK, column])
            if need[GPU_CPUS] > 0 and gres[:, column].any():
                if gres[OF_JOB, column] > 0:
                    bound = min(bound, left * need[GPU_CPUS])
                if need[WHOLE] and machine.gres[node, column] * need[GPU_CPUS] > free:
                    return 0  # it gets all GPUs of a whole node
    if tasks <= 0 or tasks * need[TASK_CPUS] < need[NODE_CPUS]:
        return 0
    if need[PER_NODE] > 0:
        if tasks < need[PER_NODE]:
            return 0
        if not need[UNBOUND]:
            tasks = need[PER_NODE]
    given = tasks * need[TASK_CPUS]
    if not need[MULTIPLES] and need[PER_NODE] == 0 and tasks == free // need[TASK_CPUS]:
        given = free
    elif need[LIMITED] >= 0 and machine.core[node] == 1 and need[PER_NODE] == 0 and tasks == free // need[TASK_CPUS]:
        given = min(whole_tasks, free)  # the limit counts CPUs, and not tasks
    given = min(max(given, need[NODE_CPUS]), bound)
    if need[MOST] == 1 and given < need[CPUS]:
        return 0
    return int(given)


@lean_kernel
def capable(
    nodes: NDArray[np.bool_],
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    machine: Machine,
    use: Use,
    given: NDArray[np.int64],
) -> None:
    """Write into `given` how many CPUs each of some nodes can give to a job; 0 for all others."""
    for node in range(len(nodes)):
        given[node] = cpus_on(node, need, gres, machine, use) if nodes[node] else 0


@lean_kernel
def gpus_on(node: int, gres: NDArray[np.int64], machine: Machine, use: Use, tasks: int, whole: int) -> int:
    """Return how many GPUs of a node a job could take, by which the node comes before others (near_gpus)."""
    near = -1
    for column in range(gres.shape[1]):
        asked = max(gres[OF_TASK, column], gres[OF_NODE, column], gres[OF_JOB, column])
        if machine.gpu[column] and asked > 0:
            # no more than it would take of the node (seen: of a whole node, all)
            left = machine.gres[node, column] - use.gres[node, column]
            asked = max(gres[OF_TASK, column] * tasks, gres[OF_NODE, column], gres[OF_JOB, column])
            if not whole:
                left = min(left, asked)
            near = left if near < 0 else min(near, left)
    return int(min(max(near, 0), 255))


@lean_kernel
def leave_weights(
    capacity: NDArray[np.int64], need: NDArray[np.int64], gres: NDArray[np.int64], machine: Machine, use: Use
) -> None:
    """Keep the weights of nodes that were tested for a job with GPUs, and can give it something, for those behind it.

    Each test of a node sets its weight (job_test.c, _can_job_run_on_node, until 23.02); of those that fail it stays.
    """
    if len(machine.near) > 0 and need[HAS_GRES]:
        tasks = need[CPUS] // need[TASK_CPUS]
        for node in range(len(capacity)):
            if capacity[node] > 0:
                here = min(tasks, capacity[node] // need[TASK_CPUS])
                machine.near[node] = gpus_on(node, gres, machine, use, here, need[WHOLE])
