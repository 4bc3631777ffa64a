"""Four jobs on four processors, and an honest schedule of them to break."""

from dataclasses import replace

import numpy as np

from gas.simulation.audit import audit
from gas.simulation.recorded import recorded
from gas.simulation.schedule import Schedule
from workloads import Header, Log, apply_overrun, rigid_jobs

__all__ = ["HEADER", "HONEST", "JOBS", "LOG", "changed", "checks", "only"]

# On four processors: job 1 fills the machine until 10, job 2 waits for all of it, job 3 cannot be backfilled,
# job 4 can, beside job 3.
LOG = Log.from_columns(
    {
        "job": [1, 2, 3, 4],
        "submit": [0, 1, 2, 3],
        "run_time": [10, 20, 6, 30],
        "requested_processors": [3, 4, 1, 2],
        "requested_time": [12, 20, 8, 25],
        "status": [1, 1, 1, 1],
    },
    header=Header.of([("MaxProcs", 4), ("UnixStartTime", 1000)]),
    name="four.swf",
)


JOBS = apply_overrun(rigid_jobs(LOG))


HONEST = Schedule(
    JOBS, start=np.array([0, 10, 2, 30]), end=np.array([10, 30, 8, 55]), promise=np.array([0, 12, 2, 32]), policy="s3"
)


def changed(**columns):
    """Return the honest schedule with some values changed: ``start={2: 5}`` changes the start of job 2."""
    new = {}
    for name, values in columns.items():
        column = getattr(recorded(HONEST), name).copy()
        for job, value in values.items():
            column[job - 1] = value
        new[name] = column
    return replace(recorded(HONEST), **new)


def checks(given, **options):
    return {check.check: check for check in audit(given, **options).checks}


def only(given, **options):
    """Return the one check that fails."""
    [broken] = [check for check in audit(given, **options).checks if not check.ok]
    return broken


HEADER = "job_id,submission_time,requested_time,starting_time,execution_time,finish_time,allocated_resources"
