"""Runs of the study of estimates: the used share of estimates, and backfilling on a log with other estimates.

Each is a pure function of its configuration (see `experiments.framework.ledger`); its `kind` is one of:

    use          the used share of the users' estimates (Table 2, Fig. 8)
    history      the used share of estimates from the history of each user's programs (Fig. 9)
    simulation   EASY and conservative backfilling under some estimates (Tables 3 and 4)
    easy         EASY in another reading of the paper's algorithm, under the estimates of Table 3

`response` is a mean response time in seconds, `slowdown` a mean bounded slowdown (unclamped, as in the paper).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.estimates.easy import EASY_READINGS, means_of, shaken
from experiments.estimates.history import READINGS, system_generated
from experiments.estimates.use import count, given, picture_of
from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.published import FACTORS, POLICIES
from gas.simulation.metrics import job_figures
from gas.simulation.schedule import Policy, Schedule
from gas.simulation.simulate import simulate
from workloads import Log, LogError, RigidJobs, apply_overrun, rigid_jobs
from workloads.estimates import uniform_factor
from workloads.selection import months_of

__all__ = ["estimates_run"]

_SHORTEST = 3600
"""Minimum of the longest estimate in seconds, required by the model of Tsafrir, Etsion & Feitelson."""


def estimates_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the figures of any run of the study.

    Parameters
    ----------
    configuration
        ``kind`` and the hash of the ``log``; for a simulation also ``processors``, ``estimates`` ("users", "doubled",
        "uniform" with a ``factor``, or a model of `workloads.estimate_models`), ``seed``, ``order`` and ``overrun``;
        for EASY in a ``reading`` also ``processors`` and ``seed``.
    files
        Paths of the logs by hash.
    """
    log = load_log(Path(files[configuration["log"]]), configuration["log"])
    if configuration["kind"] == "use":
        return _use(log)
    if configuration["kind"] == "history":
        return _history(log)
    if configuration["kind"] == "easy":
        return _easy(configuration, log)
    return _simulation(configuration, log)


def _use(log: Log) -> Result:
    jobs, _ = given(log)
    return {
        "jobs": len(jobs),
        "never_ran": len(log) - len(jobs),
        "without_estimate": int(np.count_nonzero(jobs.estimate == 0)),
        "counts": count(jobs),
        "picture": picture_of(jobs),
    }


def _history(log: Log) -> Result:
    found = {reading.name: system_generated(log, reading) for reading in READINGS}
    jobs, rows = given(log)
    labels, month = months_of(log.submit[rows[~jobs.killed]], log.epoch)
    by_month = {
        name: {
            what: np.bincount(month[chosen], minlength=len(labels)).tolist()
            for what, chosen in {
                "not killed": np.ones(len(estimates), bool),
                "with data": estimates.known,
                "underestimated": estimates.short,
                "underestimated with data": estimates.short & estimates.known,
                "underestimated with two runs": estimates.short & estimates.twice,
            }.items()
        }
        for name, estimates in found.items()
    }
    sums = {name: {what: sum(counts) for what, counts in of.items()} for name, of in by_month.items()}
    return {
        "jobs": len(log),
        "months": labels,
        "by_month": by_month,
        "readings": {name: {**sums[name], "mean_used": estimates.mean_used} for name, estimates in found.items()},
        "picture": picture_of(found[READINGS[0].name].given),
    }


def _easy(configuration: Configuration, log: Log) -> Result:
    """Return the means by factor, "users" for the users' own estimates."""
    reading = next(one for one in EASY_READINGS if one.name == configuration["reading"])
    means = {}
    for factor in (None, *FACTORS):
        terms = {"estimates": "users" if factor is None else "uniform", "factor": factor, "overrun": "kill"}
        jobs = estimated({**configuration, **terms}, log)
        if not len(jobs):
            return {"jobs": 0}
        means["users" if factor is None else str(factor)] = means_of(shaken(jobs, configuration["seed"]), reading)
    return {"jobs": len(jobs), "means": means}


def _simulation(configuration: Configuration, log: Log) -> Result:
    try:
        jobs = estimated(configuration, log)
    except (LogError, ValueError) as error:  # the log lacks data that a model of estimates needs
        return {"jobs": 0, "left_out": str(error)}
    labels, month = months_of(jobs.submit, log.epoch)
    lost = np.maximum(jobs.run_time - jobs.estimate, 0) * (configuration["overrun"] == "kill")
    return {
        "jobs": len(jobs),
        "skipped": dict(jobs.skipped),
        "overruns": int(np.count_nonzero(jobs.run_time > jobs.estimate)),
        "run_time_lost": float(lost.sum() / max(jobs.run_time.sum(), 1)),
        "months": labels,
        "jobs_by_month": np.bincount(month).tolist(),
        **{policy: _figures(simulated(jobs, policy, configuration), month) for policy in POLICIES},
    }


def estimated(configuration: Configuration, log: Log) -> RigidJobs:
    """Return the jobs of a log with the estimates of a configuration, in order of submission."""
    name, processors, overrun = (configuration[key] for key in ("estimates", "processors", "overrun"))
    generator = np.random.default_rng(configuration["seed"])
    if name in ("users", "doubled", "uniform"):
        jobs = rigid_jobs(log, processors)
        if name == "uniform":
            return replace(jobs, estimate=uniform_factor(jobs.run_time, configuration["factor"], generator))
        if name == "doubled":  # the same jobs, killed (if at all) at their users' own estimates
            jobs = apply_overrun(jobs, overrun)
            return replace(jobs, estimate=2 * jobs.estimate)
        return jobs
    from workloads.estimate_models import with_estimates

    constants = {"longest": site_limit(log)} if name == "tsafrir" else {}
    return rigid_jobs(with_estimates(log, name, seed=configuration["seed"], **constants), processors)


def site_limit(log: Log) -> int:
    """Return the longest estimate in whole seconds that at least one in a hundred jobs has; otherwise that any job has.

    The model of Tsafrir, Etsion & Feitelson makes the longest estimate the most popular one. An estimate of single
    jobs, for which a site made an exception, would make all others far too long.
    """
    asked, jobs = np.unique(np.trunc(log.requested_time[log.requested_time > 0]), return_counts=True)
    common = asked[jobs >= jobs.sum() / 100]
    return max(int(common[-1] if common.size else asked.max(initial=0)), _SHORTEST)


def simulated(jobs: RigidJobs, policy: str, configuration: Configuration) -> Schedule:
    """Return the schedule of these jobs under a policy."""
    chosen: Policy = "easy" if policy == "easy" else "conservative"
    return simulate(jobs, chosen, order=configuration["order"], overrun=configuration["overrun"])


def _figures(schedule: Schedule, month: NDArray[np.int64]) -> dict[str, Any]:
    """Return the means, and the sums of each month of submission; every job runs, so the months cover all jobs."""
    figures = job_figures(schedule)
    if not len(figures):
        return {"response": None, "slowdown": None, "sums": {"response": [], "slowdown": []}}
    columns = {"response": figures.response.astype(np.float64), "slowdown": figures.bounded_slowdown_unclamped}
    return {
        **{measure: float(column.mean()) for measure, column in columns.items()},
        "sums": {measure: np.bincount(month, weights=column).tolist() for measure, column in columns.items()},
    }
