"""How much of each node a job can use alongside the jobs on it (select/cons_tres).

A need is a row of numbers, with the columns named here, and a table of the generic resources requested per node, per
task and in all, with the machine's columns. The functions are kernels: plain functions on arrays.
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
    ORDER, THREADS, CORE_TASKS, LONE_TASKS,
    CORE_MEMORY, NODE_MEMORY,
) = range(28)  # fmt: skip
"""Columns of a need.

- CPUs: CPUS in all; TASK_CPUS per task; GPU_CPUS per GPU; NODE_CPUS at least on each node, for its GPUs; BOUND at most
  on each node (0: no bound). LIMITED is the number of the partition's limit on CPUs per node (-1: none), LIMITED_CPUS
  its value. MULTIPLES: only CPUs that make up whole tasks count.
- Tasks: PER_NODE is the number per node (0: any). With it, FILLED: each node gets that number even if fewer are left;
  UNBOUND: nodes are chosen by all CPUs that they could give.
- Nodes: LEAST, WANTED and MOST are numbers of nodes. WHOLE: no other job shares them; CONTIGUOUS; HAS_REQUIRED: some
  are required. ORDER: the order of nodes of equal weight.
- Memory in MB: MEMORY per node; ALL_MEMORY: all of each node; TASK_MEMORY per task; CPU_MEMORY per CPU, for all CPUs of
  a whole node; CORE_MEMORY per CPU that the job can use on its cores; NODE_MEMORY: what a node must have in total.
- Cores: THREADS is the most threads of a core that it uses, CORE_TASKS the most tasks that share a core (0: no limit).
  LONE_TASKS: if the job leaves threads unused, it starts only where no node gets more of its tasks than sockets; if
  negative, nowhere.
- HAS_GRES: it requests generic resources.
"""

TIGHTEST, LEAST_LOADED, FROM_THE_END, BY_SWITCHES, LAST_COUNTED, LINEAR = range(6)
"""Orders of nodes.

The tightest run of consecutive nodes; those with the largest share of their CPUs free; the last ones; on as few
switches as possible; like LEAST_LOADED, but each is credited with the CPUs of the last node examined; like
select/linear.
"""

OF_NODE, OF_TASK, OF_JOB = range(3)  # rows of the table of generic resources


@lean_kernel
def threads_on(node: int, need: NDArray[np.int64], machine: Machine) -> int:
    """Return how many CPUs of a core a job can use."""
    threads = machine.core[node]
    if need[THREADS] > 0:
        threads = min(threads, need[THREADS])
    if need[CORE_TASKS] > 0:
        threads = min(threads, need[CORE_TASKS] * need[TASK_CPUS])
    return int(threads)


@lean_kernel
def _task_alone(node: int, need: NDArray[np.int64], machine: Machine) -> int:
    """Return the usable CPUs of a task's cores if each task needs several cores of its own; 0 if tasks share cores."""
    threads = threads_on(node, need, machine)
    if need[CORE_TASKS] != 1 or need[TASK_CPUS] <= threads:
        return 0
    return int(-(-need[TASK_CPUS] // threads) * threads)


@lean_kernel
def held_on(node: int, given: int, need: NDArray[np.int64], machine: Machine) -> int:
    """Return how many CPUs of a node a job holds that uses `given` of them: those of whole cores."""
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
    """Return the MB that a job gets with `given` CPUs of a node; memory per CPU counts for all that it can use."""
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
    """Return how many CPUs a node can give to a job; 0 if the job cannot use it (_can_job_run_on_node)."""
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
            if need[PER_NODE] > 0 and not need[UNBOUND]:  # its tasks need no memory for unused CPUs of the last core
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
        given = min(whole_tasks, free)  # the limit counts CPUs, not tasks
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
    """Write into `given` how many CPUs each of these nodes can give to a job; 0 for all others."""
    for node in range(len(nodes)):
        given[node] = cpus_on(node, need, gres, machine, use) if nodes[node] else 0


@lean_kernel
def gpus_on(
    node: int, capacity: int, need: NDArray[np.int64], gres: NDArray[np.int64], machine: Machine, use: Use
) -> int:
    """Return how many GPUs of a node a job could take, which moves the node ahead of others (near_gpus).

    The CPUs that the node can give count only with CPUs per GPU (seen on 22.05, 24.11 and 26.05: with one CPU free, a
    node with four GPUs comes as early as idle ones for -n 7 --gpus-per-task=1, and after them with --cpus-per-gpu=2).
    """
    tasks = need[CPUS] // need[TASK_CPUS]
    if need[GPU_CPUS] > 0:
        tasks = min(tasks, capacity // need[TASK_CPUS])
    near = -1
    for column in range(gres.shape[1]):
        asked = max(gres[OF_TASK, column], gres[OF_NODE, column], gres[OF_JOB, column])
        if machine.gpu[column] and asked > 0:
            # no more than the job would take (seen: all GPUs of a whole node)
            left = machine.gres[node, column] - use.gres[node, column]
            asked = max(gres[OF_TASK, column] * tasks, gres[OF_NODE, column], gres[OF_JOB, column])
            if not need[WHOLE]:
                left = min(left, asked)
            near = left if near < 0 else min(near, left)
    return int(min(max(near, 0), 255))


@lean_kernel
def leave_weights(
    capacity: NDArray[np.int64], need: NDArray[np.int64], gres: NDArray[np.int64], machine: Machine, use: Use
) -> None:
    """Keep the weights of the nodes that were tested for a job with GPUs, and can contribute, for later jobs.

    Each test of a node sets its weight (job_test.c, _can_job_run_on_node, until 23.02), which stays if the test fails.
    """
    if len(machine.near) > 0 and need[HAS_GRES]:
        for node in range(len(capacity)):
            if capacity[node] > 0:
                machine.near[node] = gpus_on(node, capacity[node], need, gres, machine, use)
