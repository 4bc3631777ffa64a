"""Logs of the past in which every job used the same share of its walltime."""

import numpy as np

from workloads import Log, write_swf
from workloads.header import Header

__all__ = ["AWAY", "ENDED", "HOUR", "history"]

HOUR = 3600


AWAY = "http://127.0.0.1:9"


ENDED = 1_700_000_000


def history(path, share, *, jobs=100, processors=1, start=None):
    """Write a log in which every job uses this share of its ten hours; one is submitted every two hours."""
    submit = np.arange(jobs) * 2 * HOUR
    first = ENDED - jobs * 2 * HOUR - 10 * HOUR if start is None else start
    header = Header.of(
        [("Version", "2.2"), ("UnixStartTime", first), ("TimeZoneString", "UTC"), ("MaxProcs", max(processors, 10))]
    )
    columns = {
        "submit": submit,
        "wait": np.zeros(jobs),
        "run_time": np.full(jobs, int(share * 10 * HOUR)),
        "allocated_processors": np.full(jobs, processors),
        "requested_time": np.full(jobs, 10 * HOUR),
        "status": np.ones(jobs, int),
        "user": np.arange(jobs) % 3,
    }
    write_swf(Log.from_columns(columns, header=header), path)
    return str(path)
