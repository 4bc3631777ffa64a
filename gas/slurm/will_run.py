"""The first end of a running job at which a waiting one fits (select/cons_tres, job_test.c, _will_run_test).

Slurm removes running jobs in the order of their ends, in growing groups: ends within half a minute of the first,
rounded up, then a minute, two, four. It tests after each group, and the start is the last end in the group. Distant
ends are thus grouped coarsely, so a start may be hours later than necessary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.choosing import choose_with, may_suffice
from gas.slurm.fitting import CPUS, LEAST, LINEAR, ORDER, cpus_on, leave_weights
from gas.slurm.machine import Use
from gas.slurm.taking import Choice
from gas.slurm.versions import Rules

__all__ = ["FIRST_WINDOW", "NEVER", "Running", "add", "touches", "will_run"]

FIRST_WINDOW = 30
"""Length of the first group of ends, in seconds."""

TOGETHER = 201
"""Number of removed jobs after which the count restarts without a test (rm_job_cnt)."""

NEVER = -1
"""The start of a job that does not fit."""


class Running(NamedTuple):
    """The running jobs, their allocations and ends.

    Attributes
    ----------
    order
        The jobs in order of their ends.
    end, kind, whole, sharing
        By job: its end, its kind for preemption, whether it holds whole nodes, and with whom it shares nodes
        (`gas.slurm.owners`).
    first, shares
        By job: the index of its first share (the part of a node that it holds), and their number.
    node, cpus, memory, gres, limited
        By share.
    total
        Number of jobs, and of shares; the arrays have space for jobs that start in a cycle.
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
    """Add a running job to the allocations (sign 1), or remove it (-1)."""
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        node = running.node[share]
        use.cpus[node] += sign * running.cpus[share]
        use.memory[node] += sign * running.memory[share]
        use.jobs[node] += sign * (running.cpus[share] > 0)  # a suspended job leaves its nodes to exclusive jobs
        use.whole[node] += sign * running.whole[job]
        for column in range(use.gres.shape[1]):
            use.gres[node, column] += sign * running.gres[share, column]
        if running.limited[share] >= 0:
            use.limited[running.limited[share], node] += sign * running.cpus[share]


@lean_kernel
def touches(offered: NDArray[np.bool_], running: Running, job: int) -> bool:
    """Return whether a running job uses any of these nodes."""
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        if offered[running.node[share]]:
            return True
    return False


@lean_kernel
def _take_away(job: int, offered: NDArray[np.bool_], choice: Choice, running: Running) -> tuple[int, int]:
    """Remove a running job, update what its nodes can give, and return the increase in nodes and CPUs."""
    use, work = choice.use, choice.work
    add(use, running, job, -1)
    nodes, cpus = 0, 0
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        node = running.node[share]
        if offered[node]:
            before, now = work.capacity[node], cpus_on(node, choice.need, choice.gres, choice.machine, use)
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
    choice: Choice,
    preemptable: NDArray[np.bool_],
    preempts: bool,
    running: Running,
    rules: Rules,
    linear: int,
    grace: int,
) -> int:
    """Return the epoch second from which a job fits, or `NEVER`, and write its CPUs by node into `choice.given`.

    Allocations change during the test, and are restored at its end.

    Parameters
    ----------
    start, later
        The tried start, and the next one to try (-1 if unknown).
    only_now
        Whether the job starts now or is not planned.
    present, ended
        By node, the CPUs that it can give without the first `ended` jobs in order of their ends. These end before the
        tried start, and have been removed from `use`.
    preemptable, preempts
        By kind of running job, whether the job may preempt it; and whether it may preempt any.
    linear, grace
        bf_window_linear; and the seconds after which a job past its end is assumed to be gone (KillWait plus
        OverTimeLimit).
    """
    need, gres, _, machine, use, work, given = choice
    capacity = work.capacity
    nodes, cpus = 0, 0
    for node in range(len(offered)):
        capacity[node] = 0
        if offered[node] and present[node] > 0:
            capacity[node] = present[node]
            nodes += 1
            cpus += present[node]
    linear_select = need[ORDER] == LINEAR  # ignores the tried start, and removes jobs one by one
    trying_now = not rules.future or start <= now or linear_select
    if (
        (trying_now or not (only_now or preempts))
        and nodes >= need[LEAST]
        and cpus >= need[CPUS]
        and may_suffice(capacity, need, work)
        and choose_with(capacity, choice, rules.first_node, rules.weakest)
    ):
        leave_weights(capacity, need, gres, machine, use)
        return now
    if only_now and not preempts:
        leave_weights(capacity, need, gres, machine, use)
        return NEVER
    removed = work.removed  # the jobs removed here: first the preempted ones, then the groups
    count, before_groups = 0, 0
    total = running.total[0]
    found = NEVER
    if preempts:
        for at in range(ended, total):
            job = running.order[at]
            if preemptable[running.kind[job]] and touches(offered, running, job):
                more_nodes, more_cpus = _take_away(job, offered, choice, running)
                nodes, cpus = nodes + more_nodes, cpus + more_cpus
                work.gone[job] = True
                removed[count] = job
                count += 1
        before_groups = count
        if (
            (count > 0 or not trying_now)
            and nodes >= need[LEAST]
            and cpus >= need[CPUS]
            and may_suffice(capacity, need, work)
            and choose_with(capacity, choice, rules.first_node, rules.weakest)
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
            more_nodes, more_cpus = _take_away(job, offered, choice, running)
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
            and may_suffice(capacity, need, work)
            and choose_with(capacity, choice, rules.first_node, rules.weakest)
        ):
            found = running.end[last]
            if rules.relevant_end and not linear_select:
                found = max(_last_on(given, running, removed[before_groups:count]), now)
            if found <= now:  # the job should be gone already
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
