"""Jobs that keep a machine busy and whose users overestimate, made from a seed."""

import numpy as np

from workloads import RigidJobs, lublin, rigid_jobs
from workloads.estimates import uniform_factor


def busy_jobs(jobs: int, machine: int, *, seed: int, load: float = 0.9) -> RigidJobs:
    """Return jobs of the Lublin-Feitelson model, whose users ask for up to five times the run time."""
    generator = np.random.default_rng(seed)
    log = lublin.generate(jobs, machine, generator=generator, load=load)
    return rigid_jobs(log.with_columns(requested_time=uniform_factor(log.run_time, 5, generator)))
