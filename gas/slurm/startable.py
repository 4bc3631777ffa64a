"""Nodes in reach, and records that might start now: if only starts are requested, a cycle ends after these."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.fitting import CPUS, LEAST, WHOLE, cpus_on
from gas.slurm.machine import Machine, Use
from gas.slurm.node_sets import BITS, Words, at_least, keep, put
from gas.slurm.rows import Records
from gas.slurm.table import Table
from gas.slurm.will_run import Running

__all__ = ["might_start", "reach_now", "reach_until", "write_open"]


@lean_kernel
def write_open(machine: Machine, use: Use, found: Words) -> None:
    """Write the set of the nodes that have free CPUs."""
    found[:] = 0
    for node in range(len(machine.cpus)):
        if use.cpus[node] < machine.cpus[node]:
            found[node >> 6] |= BITS[node & 63]


@lean_kernel
def might_start(
    at: int, now: int, records: Records, sets: Words, machine: Machine, use: Use, table: Table, free: Words, some: Words
) -> bool:
    """Return whether nodes that no plan needs before the end of a record have enough CPUs for it now.

    If not, no search starts it now, as searches consider only some of these nodes.

    Parameters
    ----------
    free
        The nodes with free CPUs.
    some
        Working memory.
    """
    if not records.considered[at] or records.unheld[at] or records.leader[at] >= 0 or records.tasks[at] <= 0:
        return False
    need, gres = records.need[at], records.gres[at]
    put(some, sets[records.nodes[at]])
    keep(some, free)
    for slot in range(table.total[0]):
        if table.begin[slot] > now + records.limit[at]:
            break
        if not at_least(some, need[LEAST]):
            return False
        if table.end[slot] > now:
            keep(some, table.free[table.row[slot]])
    nodes, cpus = 0, 0
    for word in range(len(some)):
        if some[word] != 0:
            for node in range(64 * word, min(64 * word + 64, len(machine.cpus))):
                if (some[word] & BITS[node & 63]) != 0:
                    given = cpus_on(node, need, gres, machine, use)
                    nodes += given > 0
                    cpus += given
            if nodes >= need[LEAST] and cpus >= need[CPUS]:
                return True
    return False


@lean_kernel
def reach_now(need: NDArray[np.int64], machine: Machine, use: Use, reach: Words) -> None:
    """Write the nodes that may have free resources for a record, judged by jobs and CPUs."""
    reach[:] = 0
    for node in range(len(machine.cpus)):
        if use.jobs[node] == 0 or (not need[WHOLE] and use.cpus[node] < machine.cpus[node]):
            reach[node >> 6] |= BITS[node & 63]


@lean_kernel
def reach_until(later: int, jobs: int, running: Running, reach: Words) -> int:
    """Add the nodes of jobs that end by `later`, from index `jobs` in order of their ends; return the next index."""
    while jobs < running.total[0] and running.end[running.order[jobs]] <= later:
        job = running.order[jobs]
        for share in range(running.first[job], running.first[job] + running.shares[job]):
            node = running.node[share]
            reach[node >> 6] |= BITS[node & 63]
        jobs += 1
    return jobs
