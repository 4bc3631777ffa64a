"""Several machines with months of their own, for the study of supercomputers."""

from dataclasses import replace

import numpy as np
from made_up import busy_jobs

__all__ = ["OF_MACHINES", "SIZES", "machines_of", "wanted"]

SIZES = (64, 32, 100)


OF_MACHINES = [{"log": f"{i}" * 64, "month": "1999-01"} for i in range(3)]


def wanted(percent=10, seed=1, accuracy=0.5):
    form = {"accuracy": accuracy}
    return {
        "percent": percent, "seed": seed, "mix": "thirds", "opponent": "uniform", "form": form, "machines": OF_MACHINES,
    }  # fmt: skip


def machines_of(count=3, jobs=250, true=False):
    """Return machines that begin at the same second and are about as busy for as long."""
    found = []
    for seed, processors in enumerate(SIZES[:count]):
        one = busy_jobs(jobs, processors, seed=seed)
        slower = 300 * jobs / (int(one.submit[-1]) - int(one.submit[0]))
        submit = ((one.submit - one.submit[0]) * slower).astype(np.int64)
        lasts = np.maximum((one.run_time * slower).astype(np.int64), 1)
        estimate = lasts if true else np.maximum((2 * one.estimate * slower).astype(np.int64), lasts)
        found.append(replace(one, submit=submit, run_time=lasts, estimate=estimate))
    return found
