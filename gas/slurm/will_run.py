"""The first end of running jobs at which a job fits on some nodes (select/cons_tres, job_test.c, _will_run_test).

Slurm removes running jobs in the order of their ends, in growing groups: ends within half a minute of the first,
rounded up, then a minute, two, four. It tests after each group, and the start is the last end of the group. Far ends
are thus grouped coarsely, which may put a start hours after the end that it needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.choosing import choose_with, may_do
from gas.slurm.fitting import CPUS, LEAST, LINEAR, ORDER, cpus_on, leave_weights
from gas.slurm.machine import Machine, Use
from gas.slurm.taking import Work
from gas.slurm.versions import Rules

__all__ = ["FIRST_WINDOW", "NEVER", "Running", "add", "touches", "will_run"]

FIRST_WINDOW = 30
"""Length of the first group of ends, in seconds."""

TOGETHER = 201
"""Number of removed jobs after which ends within a group are no longer tested (rm_job_cnt)."""

NEVER = -1
"""The start of a job that does not fit."""


class Running(NamedTuple):
    """The running jobs, their allocations and ends.

    Attributes
    ----------
    order
        The jobs by their ends.
    end, kind, whole, sharing
        By job: when it ends, which kind of preemptable job it is, whether it shares no nodes, and with whom it does
        (`gas.slurm.owners`).
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
    whole: NDArray[np.int64]
    sharing: NDArray[np.int64]
    first: NDArray[np.int64]
    shares: NDArray[np.int64]
    node: NDArray[np.int64]
    cpus: NDArray[np.int64]
    memory: NDArray[np.int64]
    gres: NDArray[np.int64]
    limited: NDArray[np.int64]
    total: NDArray[np.int64]


@lean_kernel
def add(use: Use, running: Running, job: int, sign: int) -> None:
    """Put a running job on its nodes (sign 1), or remove it (-1)."""
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        node = running.node[share]
        use.cpus[node] += sign * running.cpus[share]
        use.memory[node] += sign * running.memory[share]
        use.jobs[node] += sign
        use.whole[node] += sign * running.whole[job]
        for column in range(use.gres.shape[1]):
            use.gres[node, column] += sign * running.gres[share, column]
        if running.limited[share] >= 0:
            use.limited[running.limited[share], node] += sign * running.cpus[share]


@lean_kernel
def touches(offered: NDArray[np.bool_], running: Running, job: int) -> bool:
    """Return whether a running job uses some of the nodes."""
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        if offered[running.node[share]]:
            return True
    return False


@lean_kernel
def _take_away(
    job: int,
    offered: NDArray[np.bool_],
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    machine: Machine,
    use: Use,
    running: Running,
    work: Work,
) -> tuple[int, int]:
    """Remove a running job, and write what its nodes can then give; return the increase of nodes and CPUs."""
    add(use, running, job, -1)
    nodes, cpus = 0, 0
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        node = running.node[share]
        if offered[node]:
            before, now = work.capacity[node], cpus_on(node, need, gres, machine, use)
            work.capacity[node] = now
            cpus += now - before
            if now > 0 and before == 0:
                nodes += 1
            elif now == 0 and before > 0:
                nodes -= 1
    return nodes, cpus


@lean_kernel
def will_run(
    now: int,
    start: int,
    later: int,
    only_now: bool,
    offered: NDArray[np.bool_],
    present: NDArray[np.int64],
    ended: int,
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    required: NDArray[np.bool_],
    preemptable: NDArray[np.bool_],
    preempts: bool,
    machine: Machine,
    use: Use,
    running: Running,
    rules: Rules,
    linear: int,
    grace: int,
    work: Work,
    given: NDArray[np.int64],
) -> int:
    """Return the instant from which a job fits, `NEVER` if it does not, and write its CPUs by node into `given`.

    The use of nodes changes meanwhile, and is restored on return.

    Parameters
    ----------
    start, later
        The start that is tried, and the one that is tried next (-1 if none is known).
    only_now
        It starts now or is not planned.
    present, ended
        What each node can give to it when the first so many jobs, by their ends, have been taken away, as they have
        from what is in use: those that end before the start that is tried, where that is not now.
    preemptable, preempts
        By kind of running job: whether it may take their place; and whether it may of any.
    linear, grace
        bf_window_linear; how many seconds after its end a job is guessed to be gone which should be (KillWait, and what
        jobs may be over their limit).
    """
    capacity = work.capacity
    nodes, cpus = 0, 0
    for node in range(len(offered)):
        capacity[node] = 0
        if offered[node] and present[node] > 0:
            capacity[node] = present[node]
            nodes += 1
            cpus += present[node]
    linear_select = need[ORDER] == LINEAR  # does not know the start that is tried, and removes one by one
    trying_now = not rules.future or start <= now or linear_select
    if (
        (trying_now or not (only_now or preempts))
        and nodes >= need[LEAST]
        and cpus >= need[CPUS]
        and may_do(capacity, need, work)
        and choose_with(capacity, need, gres, required, machine, use, rules.first_node, rules.weakest, work, given)
    ):
        leave_weights(capacity, need, gres, machine, use)
        return now
    if only_now and not preempts:
        leave_weights(capacity, need, gres, machine, use)
        return NEVER
    removed = work.removed  # what was taken away here: before the groups, and then in one of them
    count, before_groups = 0, 0
    total = running.total[0]
    found = NEVER
    if preempts:
        for at in range(ended, total):
            job = running.order[at]
            if preemptable[running.kind[job]] and touches(offered, running, job):
                more_nodes, more_cpus = _take_away(job, offered, need, gres, machine, use, running, work)
                nodes, cpus = nodes + more_nodes, cpus + more_cpus
                work.gone[job] = True
                removed[count] = job
                count += 1
        before_groups = count
        if (
            (count > 0 or not trying_now)
            and nodes >= need[LEAST]
            and cpus >= need[CPUS]
            and may_do(capacity, need, work)
            and choose_with(capacity, need, gres, required, machine, use, rules.first_node, rules.weakest, work, given)
        ):
            found = now
    window, base, at, together = FIRST_WINDOW, -1, ended, 0
    more = found == NEVER and not only_now
    while more:
        last = -1
        following = -1  # the end of the next job
        while at < total:
            job = running.order[at]
            if rules.future and later >= 0 and running.end[job] > later and not linear_select:
                more = False
                break
            at += 1
            if work.gone[job] or not touches(offered, running, job):
                continue
            if base < 0:
                base = running.end[job] + window - running.end[job] % window
            last = job
            more_nodes, more_cpus = _take_away(job, offered, need, gres, machine, use, running, work)
            nodes, cpus = nodes + more_nodes, cpus + more_cpus
            work.gone[job] = True
            removed[count] = job
            count += 1
            following = -1
            ahead = at
            while ahead < total and work.gone[running.order[ahead]]:
                ahead += 1
            if ahead < total:
                following = running.end[running.order[ahead]]
            if following < 0 or following > base + window or linear_select:
                break
            together += 1
            if together > TOGETHER:
                last, together = -1, 0
        if at >= total:
            more = False
        if last < 0:
            break
        if (
            nodes >= need[LEAST]
            and cpus >= need[CPUS]
            and may_do(capacity, need, work)
            and choose_with(capacity, need, gres, required, machine, use, rules.first_node, rules.weakest, work, given)
        ):
            found = running.end[last]
            if rules.relevant_end and not linear_select:
                found = max(_last_on(given, running, removed[before_groups:count]), now)
            if found <= now:  # it should have gone already
                found = max(found + grace, now + 1)
            break
        if linear > 0:
            window += linear
        else:
            window *= 2
        while following > base + window:
            if linear > 0:
                window += linear
            else:
                window *= 2
    leave_weights(capacity, need, gres, machine, use)
    for one in range(count):
        work.gone[removed[one]] = False
        add(use, running, removed[one], 1)
    return int(found)


@lean_kernel
def _last_on(given: NDArray[np.int64], running: Running, removed: NDArray[np.int64]) -> int:
    """Return the last end of a job that was removed from the chosen nodes (_get_last_relevant_job)."""
    end = 0
    for job in removed:
        if running.end[job] > end:
            for share in range(running.first[job], running.first[job] + running.shares[job]):
                if given[running.node[share]] > 0:
                    end = running.end[job]
                    break
    return end
