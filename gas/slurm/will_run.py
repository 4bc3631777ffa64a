"""At which end of running jobs a job fits some nodes (select/cons_tres, job_test.c, _will_run_test).

Slurm takes running jobs away in the order of their ends, in groups that grow: ends within half a minute of the first,
rounded up, then a minute, two, four. It tests after each group, and the start is the last end of the group. Far ends
are thus joined coarsely, which may put a start hours after the end that it needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.slurm.fitting import CPUS, LEAST, Machine, Use, choose, cpus_on

__all__ = ["FIRST_WINDOW", "NEVER", "Running", "add", "copy_of", "remove", "will_run"]

FIRST_WINDOW = 30
"""Seconds within which ends of running jobs are taken together at first."""

TOGETHER = 201
"""How many running jobs are taken away before their ends are tested no more within a group (rm_job_cnt)."""

NEVER = -1
"""The start of what does not fit."""


class Running(NamedTuple):
    """Who has what until when.

    Attributes
    ----------
    order
        The jobs by their ends.
    end, kind
        By job: when it ends, and which kind of preemptable job it is.
    first, shares
        By job: its shares are `shares` ones from `first` on.
    node, cpus, memory, gres, limited
        By share.
    total
        How many jobs, and how many shares, there are: both arrays have room for those that start in a cycle.
    """

    order: NDArray[np.int64]
    end: NDArray[np.int64]
    kind: NDArray[np.int64]
    first: NDArray[np.int64]
    shares: NDArray[np.int64]
    node: NDArray[np.int64]
    cpus: NDArray[np.int64]
    memory: NDArray[np.int64]
    gres: NDArray[np.int64]
    limited: NDArray[np.int64]
    total: NDArray[np.int64]


@kernel
def copy_of(use: Use) -> Use:
    """Return a copy of what is in use."""
    return Use(use.cpus.copy(), use.memory.copy(), use.jobs.copy(), use.gres.copy(), use.limited.copy())


@kernel
def add(use: Use, running: Running, job: int, sign: int) -> None:
    """Put a running job on its nodes (sign 1), or take it away (-1)."""
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        node = running.node[share]
        use.cpus[node] += sign * running.cpus[share]
        use.memory[node] += sign * running.memory[share]
        use.jobs[node] += sign
        for column in range(use.gres.shape[1]):
            use.gres[node, column] += sign * running.gres[share, column]
        if running.limited[share] >= 0:
            use.limited[running.limited[share], node] += sign * running.cpus[share]


@kernel
def _touches(offered: NDArray[np.bool_], running: Running, job: int) -> bool:
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        if offered[running.node[share]]:
            return True
    return False


@kernel
def remove(
    job: int,
    offered: NDArray[np.bool_],
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    machine: Machine,
    use: Use,
    running: Running,
    capacity: NDArray[np.int64],
) -> None:
    """Take a running job away, and write what its nodes can give then."""
    add(use, running, job, -1)
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        node = running.node[share]
        if offered[node]:
            capacity[node] = cpus_on(node, need, gres, machine, use)


@kernel
def _enough(capacity: NDArray[np.int64], need: NDArray[np.int64]) -> bool:
    """Return whether some choice might do."""
    return bool(capacity.sum() >= need[CPUS] and np.count_nonzero(capacity) >= need[LEAST])


@kernel
def will_run(
    now: int,
    start: int,
    later: int,
    only_now: bool,
    offered: NDArray[np.bool_],
    present: NDArray[np.int64],
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    required: NDArray[np.bool_],
    preemptable: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    running: Running,
    future: bool,
    inclusive: bool,
    relevant_end: bool,
    first_node: bool,
    weakest: bool,
    linear: int,
    grace: int,
    given: NDArray[np.int64],
) -> int:
    """Return from when on a job fits, `NEVER` if it does not, and write what each node gives into `given`.

    Parameters
    ----------
    start, later
        The start that is tried, and the one that is tried next (-1 if none is known).
    only_now
        It starts now or is not planned.
    present
        What each node can give to it now.
    preemptable
        By kind of running job: whether it may take their place.
    future, inclusive, relevant_end, first_node, weakest
        Rules of the release (`gas.slurm.versions.Rules`).
    linear, grace
        bf_window_linear; how many seconds after its end a job is guessed to be gone which should be (KillWait, and what
        jobs may be over their limit).
    """
    capacity = np.where(offered, present, 0)
    trying_now = not future or start <= now
    if (
        trying_now
        and _enough(capacity, need)
        and choose(capacity, need, gres, required, machine, use, first_node, weakest, given)
    ):
        return now
    preempts = preemptable.any()
    if only_now and not preempts:
        return NEVER
    use = copy_of(use)
    count = running.total[0]
    gone = np.zeros(count, np.int8)  # 1: before the groups, 2: in one of them
    changed = not trying_now
    for at in range(count):
        job = running.order[at]
        ended = not trying_now and (running.end[job] < start or (inclusive and running.end[job] == start))
        if not preempts and not ended:
            break
        if (ended or preemptable[running.kind[job]]) and _touches(offered, running, job):
            remove(job, offered, need, gres, machine, use, running, capacity)
            gone[job] = 1
            changed = True
    if (
        changed
        and _enough(capacity, need)
        and choose(capacity, need, gres, required, machine, use, first_node, weakest, given)
    ):
        return now
    if only_now:
        return NEVER
    window, base, at, together = FIRST_WINDOW, -1, 0, 0
    more = True
    while more:
        last = -1
        following = -1  # the end of the next job
        while at < count:
            job = running.order[at]
            if future and later >= 0 and running.end[job] > later:
                more = False
                break
            at += 1
            if gone[job] > 0 or not _touches(offered, running, job):
                continue
            if base < 0:
                base = running.end[job] + window - running.end[job] % window
            last = job
            remove(job, offered, need, gres, machine, use, running, capacity)
            gone[job] = 2
            following = -1
            ahead = at
            while ahead < count and gone[running.order[ahead]] > 0:
                ahead += 1
            if ahead < count:
                following = running.end[running.order[ahead]]
            if following < 0 or following > base + window:
                break
            together += 1
            if together > TOGETHER:
                last, together = -1, 0
        if at >= count:
            more = False
        if last < 0:
            return NEVER
        if _enough(capacity, need) and choose(capacity, need, gres, required, machine, use, first_node, weakest, given):
            end = running.end[last]
            if relevant_end:
                end = max(_last_on(given, running, gone), now)
            if end <= now:  # it should have gone already
                end = max(end + grace, now + 1)
            return int(end)
        if linear > 0:
            window += linear
        else:
            window *= 2
        while following > base + window:
            if linear > 0:
                window += linear
            else:
                window *= 2
    return NEVER


@kernel
def _last_on(given: NDArray[np.int64], running: Running, gone: NDArray[np.int8]) -> int:
    """Return the last end of a job that was taken away from the nodes that are given (_get_last_relevant_job)."""
    end = 0
    for job in range(running.total[0]):
        if gone[job] == 2 and running.end[job] > end:
            for share in range(running.first[job], running.first[job] + running.shares[job]):
                if given[running.node[share]] > 0:
                    end = running.end[job]
                    break
    return end
