"""Jobs that keep a machine busy and whose users overestimate, made from a seed."""

import numpy as np

from gas.prediction.past import Past
from workloads import Log, RigidJobs, lublin, rigid_jobs
from workloads.estimates import uniform_factor
from workloads.header import Header

NOW = 1_731_000_000
"""When a made-up past ends."""


def past_of(share: float, count: int = 50) -> Past:
    """Return a past in which all users used about this share of an hour."""
    one = np.ones(count, np.int64)
    submit = NOW - 90 * 86_400 + np.arange(count)
    run_time = (np.linspace(0.5, 1.5, count) * share * 3600).astype(np.int64)
    return Past(submit, one, 3600 * one, run_time, submit + run_time, 0 * one)


def busy_log(jobs: int, machine: int, *, seed: int, load: float = 0.9) -> Log:
    """Return a log of the Lublin-Feitelson model whose users request up to five times the run time."""
    generator = np.random.default_rng(seed)
    log = lublin.generate(jobs, machine, generator=generator, load=load)
    return log.with_columns(requested_time=uniform_factor(log.run_time, 5, generator))


def busy_jobs(jobs: int, machine: int, *, seed: int, load: float = 0.9) -> RigidJobs:
    """Return the jobs of such a log."""
    return rigid_jobs(busy_log(jobs, machine, seed=seed, load=load))


def log_of(rows, machine=10):
    """Return a log of (submit, wait, run time, walltime, processors)."""
    submit, wait, run_time, walltime, processors = np.array(rows, np.float64).T
    columns = {"submit": submit, "wait": wait, "run_time": run_time, "requested_time": walltime}
    columns |= {"allocated_processors": processors, "user": np.zeros(len(rows))}
    return Log.from_columns(columns, header=Header.of([("MaxProcs", machine)]))
