"""Nodes and licences that a record cannot get at a tried start because of reservations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.fitting import HAS_REQUIRED
from gas.slurm.node_sets import Words, keep, meets, put, remove
from gas.slurm.rows import Closures, Records

__all__ = ["in_the_way", "lacks_licences", "reserved"]


@lean_kernel
def in_the_way(one: int, start: int, limit: int, closures: Closures) -> bool:
    """Return whether a job would reach into a reservation; a floating one is always equally far ahead."""
    if closures.room[one] >= 0:
        return bool(limit > closures.room[one])
    return bool(closures.start[one] < start + limit and closures.end[one] > start)


@lean_kernel
def reserved(
    at: int,
    start: int,
    records: Records,
    closures: Closures,
    sets: Words,
    nodes: Words,
) -> tuple[int, bool]:
    """Remove nodes reserved for others; return the first possible start, and whether a reservation overlapped.

    A start of -1 means never (reservation.c, job_test_resv).
    """
    required = records.required[at]
    own = records.reservation[at]
    overlapped = False
    for _ in range(10):
        moved = False
        put(nodes, sets[records.nodes[at]])
        overlapped = False
        if own >= 0 and not closures.flexible[own]:
            if start < closures.start[own] or start >= closures.end[own]:
                return -1, False
            if not closures.anywhere[own]:
                keep(nodes, sets[closures.nodes[own]])
        for one in range(len(closures.start)):
            if one == own:
                continue
            if in_the_way(one, start, records.limit[at], closures):
                closed = sets[closures.nodes[one]]
                if own < 0 and (
                    (closures.whole[one, records.partition[at]] and meets(closed, nodes))
                    or (records.need[at, HAS_REQUIRED] and meets(closed, sets[required]))
                ):
                    start = closures.end[one]
                    moved = True
                    overlapped = True
                    break
                if meets(closed, nodes):
                    overlapped = True
                remove(nodes, closed)
        if not moved:
            break
    return start, overlapped


@lean_kernel
def lacks_licences(at: int, now: int, records: Records, closures: Closures, licences: NDArray[np.int64]) -> bool:
    """Return whether too few licences are free now, not counting those reserved for others while the job runs.

    license.c, license_job_test; reservation.c, job_test_lic_resv.
    """
    for name in range(len(licences)):
        wanted = records.licences[at, name]
        if wanted > 0:
            for one in range(len(closures.start)):
                if (
                    one != records.reservation[at]
                    and closures.start[one] < now + records.limit[at]
                    and closures.end[one] > now
                ):
                    wanted += closures.licences[one, name]
            if wanted > licences[name]:
                return True
    return False
