"""Runs of the study of backfilling: EASY and conservative backfilling on a log, and on a model at a load.

Each is a pure function of its configuration (see `experiments.ledger`), and gives figures of both policies on the
same jobs. `response` is the mean response time in seconds, `slowdown` the mean unclamped bounded slowdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.ledger import Configuration, Result
from experiments.logs import load_log
from experiments.models import generate
from experiments.published import MEASURES, POLICIES
from gas.simulation.batches import Stop, batch_means, stopping, terminations
from gas.simulation.metrics import JobFigures, Means, job_figures, metrics
from gas.simulation.months import months
from gas.simulation.schedule import Policy, Schedule
from gas.simulation.simulate import simulate
from workloads import Log, RigidJobs, offered_load, rigid_jobs
from workloads.selection import months_of

__all__ = ["log_run", "model_run"]

_DAY = 86400


def log_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the figures of a whole log and of its months.

    Parameters
    ----------
    configuration
        ``sha256`` of the log, ``processors``, ``estimates`` ("users", "perfect"), ``order`` and ``overrun``.
    files
        Where the log with a hash is.
    """
    log = load_log(Path(files[configuration["sha256"]]), configuration["sha256"])
    if configuration["estimates"] == "perfect":
        log = log.with_columns(requested_time=np.full(len(log), -1))  # then the run time is taken
    jobs = rigid_jobs(log, configuration["processors"])
    if len(jobs) == 0:
        return {"jobs": 0, "skipped": dict(jobs.skipped), "load": 0.0, "overall": {}, "months": [], "by_end": []}
    schedules = {policy: _simulated(jobs, policy, configuration) for policy in POLICIES}
    return {
        "jobs": len(jobs),
        "skipped": dict(jobs.skipped),
        "load": offered_load(jobs),
        "overall": {policy: _figures(metrics(schedule)) for policy, schedule in schedules.items()},
        "months": _months(schedules, log),
        "by_end": _months_by_end(schedules, log),
    }


def _simulated(jobs: RigidJobs, policy: str, configuration: Configuration) -> Schedule:
    chosen: Policy = "easy" if policy == "easy" else "conservative"
    return simulate(jobs, chosen, order=configuration["order"], overrun=configuration["overrun"])


def _figures(means: Means) -> dict[str, Any]:
    return {
        "wait": means.mean_wait,
        "response": means.mean_response,
        "slowdown": means.mean_bounded_slowdown_unclamped,
        "clamped_slowdown": means.mean_bounded_slowdown,
        "backfilled": means.backfilled,
    }


def _months(schedules: Mapping[str, Schedule], log: Log) -> list[dict[str, Any]]:
    """Return the months by submission, with the standard errors of both means and of their difference."""
    found = {policy: months(schedule, log.epoch) for policy, schedule in schedules.items()}
    labels, index = months_of(schedules["easy"].jobs.submit, log.epoch)
    number = {label: i for i, label in enumerate(labels)}
    easy, conservative = (job_figures(schedules[policy]) for policy in POLICIES)
    values: dict[str, dict[str, NDArray[np.float64]]] = {
        "easy": {measure: _values(easy, measure) for measure in MEASURES},
        "conservative": {measure: _values(conservative, measure) for measure in MEASURES},
        "difference": {measure: _values(conservative, measure) - _values(easy, measure) for measure in MEASURES},
    }
    day = schedules["easy"].jobs.submit // _DAY
    return [
        {
            "month": here.month,
            "jobs": here.jobs,
            "load": here.load,
            "easy": _figures(here),
            "conservative": _figures(there),
            "error": {
                what: {measure: _error(column, day, index == number[here.month]) for measure, column in columns.items()}
                for what, columns in values.items()
            },
        }
        for here, there in zip(found["easy"], found["conservative"], strict=True)
    ]


def _months_by_end(schedules: Mapping[str, Schedule], log: Log) -> list[dict[str, Any]]:
    """Return the months of each policy's own ends; numbers of jobs and loads are those under EASY."""
    found = {policy: {m.month: m for m in months(s, log.epoch, "end")} for policy, s in schedules.items()}
    easy, conservative = (found[policy] for policy in POLICIES)
    return [
        {
            "month": label,
            "jobs": easy[label].jobs,
            "load": easy[label].load,
            "easy": _figures(easy[label]),
            "conservative": _figures(conservative[label]),
        }
        for label in easy
        if label in conservative
    ]


def _values(figures: JobFigures, measure: str) -> NDArray[np.float64]:
    column = figures.response if measure == "response" else figures.bounded_slowdown_unclamped
    return column.astype(np.float64)


def _error(column: NDArray[np.float64], day: NDArray[np.int64], chosen: NDArray[np.bool_]) -> float:
    """Return the standard error of the mean of some jobs; those of one day hang together (ratio estimator)."""
    values, block = column[chosen], day[chosen]
    centred = values - values.mean()
    sums = np.bincount(block - block.min(), weights=centred)
    blocks = len(np.unique(block))
    # Every value is in one block: nothing is known of the scatter between them.
    if blocks < 2:
        return float(np.abs(values).max())
    return float(np.sqrt(np.sum(sums**2) * blocks / (blocks - 1)) / len(values))


def model_run(configuration: Configuration) -> Result:
    """Return the figures of a model at a load, with 90% confidence intervals by batch means.

    Parameters
    ----------
    configuration
        ``model``, ``jobs``, ``load`` and ``seed`` (see `experiments.models.generate`), ``batch`` (jobs in one),
        ``order`` and ``overrun``.
    """
    log = generate(*(configuration[name] for name in ("model", "jobs", "load", "seed")))
    jobs = rigid_jobs(log)
    batch = configuration["batch"]
    schedules = {policy: _simulated(jobs, policy, configuration) for policy in POLICIES}
    stops = {policy: stopping(terminations(schedule), batch) for policy, schedule in schedules.items()}
    # One scheme may stop long before the other; only over the same stretch can they be compared.
    together = min(stop.jobs for stop in stops.values())
    return {policy: _point(schedules[policy], stops[policy], together) for policy in POLICIES}


def _point(schedule: Schedule, stop: Stop, together: int) -> dict[str, Any]:
    figures = job_figures(schedule)
    ended = np.argsort(schedule.end[figures.rows], kind="stable")
    batch = stop.means.size
    slowdown = batch_means(figures.bounded_slowdown_unclamped[ended[: stop.jobs]], batch)
    own, shared = ended[batch : stop.jobs], ended[batch:together]  # the first batch is the warm-up, here as there
    return {
        "response": stop.means.mean,
        "response_half_width": stop.means.half_width,
        "slowdown": slowdown.mean,
        "slowdown_half_width": slowdown.half_width,
        "batches": stop.means.batches,
        "reason": stop.reason,
        "backfilled": float(figures.backfilled[own].mean()),
        "together": {
            "response": float(figures.response[shared].mean()),
            "slowdown": float(figures.bounded_slowdown_unclamped[shared].mean()),
            "backfilled": float(figures.backfilled[shared].mean()),
        },
    }
