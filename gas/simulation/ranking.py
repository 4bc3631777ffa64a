"""Priorities: they order a queue by wait relative to walltime, so that waiting counts more for shorter jobs.

WFP, the policy of Argonne's Intrepid (Tang et al. 2013, equation 5), ranks jobs by (wait / walltime)^3 times
processors, the highest first. The walltime is the one for planning while the job waits: an adjusted one if there is
one, which is the effect of adjustment on prioritizing that the paper describes (5.1). Priorities are computed anew for
each pass. Jobs with equal priorities, like all that were submitted in this second, stay in submission order.
"""

from __future__ import annotations

from typing import Any

from gas.compiled import inlined_kernel, lean_kernel
from gas.s3.queue import Q_JOB, Q_PROCESSORS, Q_WALLTIME
from gas.simulation.state import FRONT, NOW, W_SUBMIT, State

__all__ = ["rank", "wfp_priority"]


@inlined_kernel
def wfp_priority(wait: Any, walltime: Any, processors: Any) -> Any:
    """Return (wait / walltime)^3 times processors in float64, for one job or, elementwise, for many.

    Parameters
    ----------
    wait, walltime
        Seconds; integers.
    """
    ratio = wait / walltime
    return ratio * ratio * ratio * processors


@lean_kernel
def rank(state: State) -> None:
    """Sort the queue by priority as of now.

    By insertion: little changes from one pass to the next, and new jobs are at the end, where they belong.
    """
    jobs, work, now = state.queue.jobs, state.work, state.now
    for i in range(now[FRONT] + 1, state.queue.used[0]):
        processors, walltime, job = jobs[Q_PROCESSORS, i], jobs[Q_WALLTIME, i], jobs[Q_JOB, i]
        priority = wfp_priority(now[NOW] - work[W_SUBMIT, job], walltime, processors)
        k = i
        while k > now[FRONT]:
            other = jobs[Q_JOB, k - 1]
            there = wfp_priority(now[NOW] - work[W_SUBMIT, other], jobs[Q_WALLTIME, k - 1], jobs[Q_PROCESSORS, k - 1])
            if there > priority or (there == priority and other < job):
                break
            for row in (Q_PROCESSORS, Q_WALLTIME, Q_JOB):
                jobs[row, k] = jobs[row, k - 1]
            k -= 1
        jobs[Q_PROCESSORS, k], jobs[Q_WALLTIME, k], jobs[Q_JOB, k] = processors, walltime, job
