"""Jobs of several sizes, made from a seed or by hand."""

import numpy as np
from made_up import busy_jobs

from experiments.malleate.recipes import amdahl_jobs
from experiments.moldable.moldability import Moldability, MoldableJobs, moldable_jobs
from workloads import RigidJobs

MACHINE = 64


def all_adopt(moldable):
    return np.ones(len(moldable.jobs), np.bool_)


def none_adopt(moldable):
    return ~all_adopt(moldable)


def moldable_of(seed, count=300, load=1.1):
    jobs = busy_jobs(count, MACHINE, seed=seed, load=load)
    recipe = amdahl_jobs if seed % 2 else lambda jobs, generator: moldable_jobs(jobs, Moldability(), generator)
    return recipe(jobs, np.random.default_rng(seed))


def by_hand(rows, machine=8):
    """Return jobs of (submit, own size, {size: time}); their walltimes are twice their times."""
    sizes = [sorted(times) for _, _, times in rows]
    own = np.array([own for _, own, _ in rows], np.int64)
    times = [[times[size] for size in sorted(times)] for _, _, times in rows]
    run_time = np.array([times[own] for _, own, times in rows], np.int64)
    count = len(rows)
    submit = np.array([row[0] for row in rows], np.int64)
    ids, unknown = np.arange(count), np.full(count, -1)
    jobs = RigidJobs(ids, submit, own, 2 * run_time, run_time, unknown, unknown, unknown, ids, machine)
    flat = np.array([time for of in times for time in of], np.int64)
    return MoldableJobs(
        jobs=jobs,
        first=np.cumsum([0, *map(len, sizes)], dtype=np.int64),
        sizes=np.array([size for of in sizes for size in of], np.int64),
        times=flat,
        walltimes=2 * flat,
        A=np.full(count, np.nan),
        sigma=np.full(count, np.nan),
    )
