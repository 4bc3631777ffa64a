"""What a job takes from each chosen node and what it still lacks, with the working memory of choices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.fitting import (
    CPUS,
    HAS_GRES,
    HAS_REQUIRED,
    LEAST,
    MOST,
    NODE_CPUS,
    OF_JOB,
    TASK_CPUS,
    WANTED,
    gpus_on,
    threads_on,
)  # fmt: skip
from gas.slurm.machine import Machine, Use

__all__ = [
    "Choice",
    "Work",
    "begin",
    "has_enough",
    "has_least",
    "lacking",
    "run_has",
    "take",
    "take_counted",
    "weight_of",
    "work_of",
]


class Work(NamedTuple):
    """Working memory, so that a tried start allocates nothing.

    Attributes
    ----------
    capacity, left, weight, places
        By node: the CPUs that it can give, also without weak nodes, and its weight; and the nodes that can contribute.
    behind
        By node, whether its weight counts as one higher for this job; all False between uses.
    bounds, missing, switches, tally
        By run of consecutive nodes; by column of generic resources; by switch; by number of CPUs.
    still
        What a job still lacks, by the columns of `STILL`.
    gone, removed
        By running job, whether it has been removed (all False between uses); and the removed jobs.
    """

    capacity: NDArray[np.int64]
    left: NDArray[np.int64]
    weight: NDArray[np.int64]
    places: NDArray[np.int64]
    behind: NDArray[np.bool_]
    bounds: NDArray[np.int64]
    missing: NDArray[np.int64]
    still: NDArray[np.int64]
    switches: NDArray[np.int64]
    tally: NDArray[np.int64]
    gone: NDArray[np.bool_]
    removed: NDArray[np.int64]


class Choice(NamedTuple):
    """What the nodes of a job are chosen from, and for what.

    Attributes
    ----------
    need, gres, required
        What the job needs, as in `gas.slurm.fitting`; and its required nodes.
    machine, use
        The machine, and what is allocated of it.
    work
        Working memory.
    given
        By node, the CPUs that the job gets: the result.
    """

    need: NDArray[np.int64]
    gres: NDArray[np.int64]
    required: NDArray[np.bool_]
    machine: Machine
    use: Use
    work: Work
    given: NDArray[np.int64]


def work_of(machine: Machine, jobs: int) -> Work:
    """Return working memory for a machine with up to `jobs` running jobs."""
    size = len(machine.cpus)
    return Work(
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.zeros(size, np.bool_), np.zeros((size, 5), np.int64), np.zeros(machine.gres.shape[1], np.int64),
        np.zeros(len(STILL), np.int64), np.zeros((len(machine.tree.parent), 5), np.int64),
        np.zeros(int(machine.cpus.max(initial=0)) + 1, np.int64), np.zeros(jobs, np.bool_), np.zeros(jobs, np.int64),
    )  # fmt: skip


@lean_kernel
def weight_of(node: int, capacity: int, choice: Choice) -> int:
    """Return the weight of a node for a job; at equal weight, more free GPUs come first (sched_weight)."""
    need, machine = choice.need, choice.machine
    weight = (machine.weight[node] + choice.work.behind[node]) * 256 + 255
    if need[HAS_GRES]:
        weight -= gpus_on(node, capacity, need, choice.gres, machine, choice.use)
    elif len(machine.near) > 0:
        weight -= machine.near[node]
    return int(weight)


@lean_kernel
def _gives(
    node: int, gres: NDArray[np.int64], machine: Machine, use: Use, missing: NDArray[np.int64], has_gres: int
) -> None:
    """Subtract a node's free generic resources from those that a job lacks in all."""
    if has_gres:
        for column in range(gres.shape[1]):
            if missing[column] > 0:
                missing[column] -= machine.gres[node, column] - use.gres[node, column]


@lean_kernel
def run_has(first: int, last: int, capacity: NDArray[np.int64], choice: Choice) -> bool:
    """Return whether a run of nodes has the generic resources that a job still lacks (gres_sched_sufficient)."""
    given, machine, use, missing = choice.given, choice.machine, choice.use, choice.work.missing
    for column in range(len(missing)):
        if missing[column] > 0:
            left = missing[column]
            for node in range(first, last + 1):
                if capacity[node] > 0 and given[node] == 0:
                    left -= machine.gres[node, column] - use.gres[node, column]
            if left > 0:
                return False
    return True


STILL = CPUS_STILL, LEAST_STILL, WANTED_STILL, MOST_STILL = range(4)
"""Columns of what a job still lacks: CPUS, LEAST, WANTED and MOST of its need, less what it has."""


@lean_kernel
def take(node: int, capacity: NDArray[np.int64], choice: Choice) -> None:
    """Give a node to a job; a core is left for each further node that it needs (eval_nodes_cpus_to_use)."""
    take_counted(node, capacity[node], capacity, choice)


@lean_kernel
def take_counted(node: int, counted: int, capacity: NDArray[np.int64], choice: Choice) -> None:
    """Like `take`, with a node that counts as if it could give `counted` CPUs."""
    need, gres, _, machine, use, work, given = choice
    still = work.still
    kept = max(still[LEAST_STILL] - 1, 0) * threads_on(node, need, machine)
    wanted = max(still[CPUS_STILL] - kept, max(need[TASK_CPUS], need[NODE_CPUS]))
    given[node] = capacity[node] if counted <= wanted else min(capacity[node], wanted)
    still[CPUS_STILL] -= min(counted, wanted)
    still[LEAST_STILL] -= 1
    still[WANTED_STILL] -= 1
    still[MOST_STILL] -= 1
    _gives(node, gres, machine, use, work.missing, need[HAS_GRES])


@lean_kernel
def has_enough(work: Work) -> bool:
    """Return whether a job has all that it wants."""
    return work.still[CPUS_STILL] <= 0 and work.still[WANTED_STILL] <= 0 and not lacking(work.missing)


@lean_kernel
def has_least(work: Work) -> bool:
    """Return whether a job has the least that it needs."""
    return work.still[CPUS_STILL] <= 0 and work.still[LEAST_STILL] <= 0 and not lacking(work.missing)


@lean_kernel
def begin(capacity: NDArray[np.int64], choice: Choice) -> bool:
    """Give a job its required nodes, and set what it still lacks; return whether all could be given."""
    need, required, work, given = choice.need, choice.required, choice.work, choice.given
    given[:] = 0
    for column in range(len(work.missing)):
        work.missing[column] = choice.gres[OF_JOB, column]
    extra = 0 if lacking(work.missing) else max(need[WANTED] - need[LEAST], 0)
    still = work.still
    still[CPUS_STILL], still[LEAST_STILL], still[MOST_STILL] = need[CPUS], need[LEAST], need[MOST]
    still[WANTED_STILL] = need[LEAST] + extra
    if need[HAS_REQUIRED]:
        for node in range(len(capacity)):
            if required[node]:
                if capacity[node] <= 0 or still[MOST_STILL] <= 0:
                    return False
                take(node, capacity, choice)
    return True


@lean_kernel
def lacking(missing: NDArray[np.int64]) -> bool:
    """Return whether a job still lacks generic resources."""
    for column in range(len(missing)):  # noqa: SIM110  a generator is not compiled
        if missing[column] > 0:
            return True
    return False
