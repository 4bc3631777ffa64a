"""Waits learnt from what the queue looked like."""

import numpy as np

from gas.prediction.learnt import FEWEST, LearntWaits, seen_at
from workloads import Log, rigid_jobs
from workloads.header import Header


def learnt(wait, size, every=400):
    """Return what is learnt of jobs of such waits and sizes, one after the other on a large machine."""
    count = len(wait)
    columns = {
        "submit": every * np.arange(count),
        "wait": wait,
        "run_time": np.full(count, 60),
        "user": np.zeros(count),
    }
    columns |= {"requested_time": np.full(count, 600), "allocated_processors": size}
    columns = {name: np.asarray(values, np.float64) for name, values in columns.items()}
    jobs = rigid_jobs(Log.from_columns(columns, header=Header.of([("MaxProcs", 1000)])))
    start = jobs.submit + np.asarray(wait)
    seen = seen_at(jobs, start, start + 60, np.zeros(count, np.int64), np.arange(count))
    return LearntWaits(*seen, jobs.submit, start)


def test_large_jobs_wait_as_large_jobs_did():
    kind = np.arange(200) % 2
    found = learnt(3600 * kind, 1 + 700 * kind)
    assert found.waits(198).max() == 0
    assert found.waits(199).min() == 3600


def test_nothing_is_learnt_before_enough_have_started():
    found = learnt(np.zeros(100, int), np.ones(100, int))
    assert not found.waits(FEWEST - 1).size
    assert found.waits(FEWEST + 1).size
