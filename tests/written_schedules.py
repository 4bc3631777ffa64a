"""A small simulation whose schedule is written and read."""

import numpy as np

from gas.simulation.schedule import Schedule
from workloads import Header, Log, apply_overrun, rigid_jobs

__all__ = ["JOBS", "LOG", "SCHEDULE"]

LOG = Log.from_columns(
    {
        "job": [7, 8, 9, 10],
        "submit": [0, 1, 2, 3],
        "wait": [5, 5, 5, 5],
        "run_time": [10, 20, -1, 30],
        "allocated_processors": [3, 4, 1, 2],
        "requested_processors": [3, -1, 1, 2],
        "requested_time": [12, -1, 8, 25],
        "status": [1, 0, 5, 1],
        "user": [40, 41, 42, 43],
        "executable": [1, 2, 3, 4],
    },
    header=Header.of(
        [
            ("Version", "2.2"),
            ("Acknowledge", "Ada of Somewhere"),
            ("Copyright", "whoever kept it"),
            ("MaxJobs", 99),
            ("MaxRecords", 99),
            ("MaxProcs", 4),
            ("Note", "a remark"),
        ]
    ),
    name="tiny.swf.gz",
)


JOBS = apply_overrun(rigid_jobs(LOG))


SCHEDULE = Schedule(
    JOBS, start=np.array([0, 10, 30]), end=np.array([10, 30, 55]), promise=np.array([0, 12, 32]), policy="s3"
)
