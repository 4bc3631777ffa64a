"""A month of a log as a separate simulation, on a machine warmed up by the jobs of the month before."""

from __future__ import annotations

from typing import Literal, TypeAlias

from workloads import Log, RigidJobs, rigid_jobs
from workloads.selection import in_months, month_before, months_of

__all__ = ["Begin", "jobs_of_month"]

Begin: TypeAlias = Literal["warm", "empty"]
"""How the simulation of a month begins: after the month before, or with an empty machine."""


def jobs_of_month(log: Log, month: str, processors: int, begin: Begin = "warm") -> tuple[RigidJobs, int]:
    """Return the jobs of the simulation of a month, and how many of them are from the month before.

    These come first. There are none if the machine is empty at the beginning, or the log has no earlier month.

    Parameters
    ----------
    month
        As "1996-10".
    processors
        Processors of the machine.
    """
    jobs = rigid_jobs(in_months(log, month), processors)
    before = month_before(month)
    if begin == "empty" or before not in months_of(log.submit, log.epoch, name=log.name)[0]:
        return jobs, 0
    both = rigid_jobs(in_months(log, [before, month]), processors)
    return both, len(both) - len(jobs)
