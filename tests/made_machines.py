"""Several machines with months of their own, for the study of supercomputers."""

from dataclasses import replace

import numpy as np
from made_up import busy_jobs

from experiments.moldable.benchmarks import Form
from experiments.moldable.worlds import world_with_benchmarks

__all__ = ["SIZES", "machines_of", "world_of_these"]

SIZES = (64, 32, 100)


def world_of_these(machines, percent=10, seed=1, accuracy=0.5, begin=0):
    """Return the world in which benchmarks replace some jobs of these machines, and the load ratios."""
    seeds = [[seed, int(f"{i}" * 12, 16) + 199901] for i in range(len(machines))]
    return world_with_benchmarks(
        machines, seeds, percent=percent, form=Form(accuracy=accuracy), boundary=1.25, begin=begin
    )


def machines_of(count=3, jobs=250, true=False):
    """Return machines whose months begin at the same second and are about as busy and as long."""
    found = []
    for seed, processors in enumerate(SIZES[:count]):
        one = busy_jobs(jobs, processors, seed=seed)
        slower = 300 * jobs / (int(one.submit[-1]) - int(one.submit[0]))
        submit = ((one.submit - one.submit[0]) * slower).astype(np.int64)
        lasts = np.maximum((one.run_time * slower).astype(np.int64), 1)
        estimate = lasts if true else np.maximum((2 * one.estimate * slower).astype(np.int64), lasts)
        found.append(replace(one, submit=submit, run_time=lasts, estimate=estimate))
    return found
