"""Replays a log through S³ up to an instant, and returns the machine at that time.

Simulated by `gas guide rules`, event order `instant`, overrun `kill`,
policy `s3`: the live scheduler's own code, job by job.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gas.s3.core import S3
from gas.s3.machine import Machine
from workloads import RigidJobs

__all__ = ["replay"]


def replay(
    jobs: RigidJobs,
    *,
    processors: int,
    until: int,
    offset: int = 0,
    machine_code: bool = False,
    watch: Callable[[int, Machine], None] | None = None,
) -> Machine:
    """Return the machine at log second `until`, with its running and waiting jobs.

    Parameters
    ----------
    jobs
        In submission order; the k-th becomes job k + 1 of the schedule. Jobs submitted after `until` are left out.
    offset
        Added to every instant of the log.
    watch
        Called after each submission with the index of its job and the machine.
    """
    count = int(np.searchsorted(jobs.submit, until, side="right"))
    first = int(jobs.submit[0]) if count else until
    machine = Machine(S3(processors, min(first, until) + offset, machine_code=machine_code))
    columns = (jobs.submit[:count], jobs.processors[:count], jobs.estimate[:count], jobs.run_time[:count])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for done, (submit, size, estimate, run_time) in enumerate(rows):
        # Zero-length jobs that start in an instant end in its next round, after all its arrivals.
        if submit + offset > machine.schedule.now:
            machine.advance(submit + offset, settle=False)
        machine.submit(size, estimate, run_time)
        if watch is not None:
            watch(done, machine)
    machine.advance(until + offset)
    return machine
