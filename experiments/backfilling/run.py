"""Runs of the study of backfilling: EASY and conservative backfilling on a log, and on a model at a load.

Each is a pure function of its configuration (see `experiments.framework.ledger`) and gives figures of both policies on
the same jobs. `response` is the mean response time in seconds, `slowdown` the mean unclamped bounded slowdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.backfilling.models import CHANGES, generate, generate_changed
from experiments.backfilling.run_times import run_times_run
from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.published import MEASURES, POLICIES
from gas.simulation.batches import Stop, batch_means, counted, stopping, terminations
from gas.simulation.metrics import JobFigures, Means, job_figures, metrics
from gas.simulation.months import months
from gas.simulation.schedule import Policy, Schedule
from gas.simulation.simulate import simulate
from workloads import Log, RigidJobs, apply_overrun, offered_load, rigid_jobs
from workloads.selection import months_of

__all__ = ["changed_run", "log_run", "model_run", "study_run"]

_DAY = 86400


def study_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the figures of any run of the study: one function, so that all runs can share worker processes."""
    if "change" in configuration:
        return changed_run(configuration)
    if "run_times" in configuration:
        return run_times_run(configuration, files=files)
    if "model" in configuration:
        return model_run(configuration)
    return log_run(configuration, files=files)


def log_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the figures of a whole log and of its months.

    Parameters
    ----------
    configuration
        ``sha256`` of the log, ``processors``, ``estimates`` (see `experiments.framework.logs.Estimates`), ``order`` and
        ``overrun``.
    files
        Paths of the logs by hash.
    """
    log = load_log(Path(files[configuration["sha256"]]), configuration["sha256"])
    asked = log.requested_time
    if configuration["estimates"] == "perfect":
        log = log.with_columns(requested_time=np.full(len(log), -1))  # the run time then replaces it
    jobs = rigid_jobs(log, configuration["processors"])
    facts = {
        "jobs": len(jobs),
        "skipped": dict(jobs.skipped),
        "overruns": int(np.count_nonzero(jobs.run_time > jobs.estimate)),
        "without_estimate": int(np.count_nonzero(~(asked[jobs.row] > 0))),
    }
    if len(jobs) == 0:
        return facts | {"load": 0.0, "overall": {}, "months": [], "by_end": []}
    if configuration["estimates"] == "doubled":  # the same jobs, killed (if at all) at their users' own estimates
        jobs = apply_overrun(jobs, configuration["overrun"])
        jobs = replace(jobs, estimate=2 * jobs.estimate)
    schedules = {policy: _simulated(jobs, policy, configuration) for policy in POLICIES}
    return facts | {
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
            "days": len(np.unique(day[index == number[here.month]])),
            "error": {
                what: {measure: _error(column, day, index == number[here.month]) for measure, column in columns.items()}
                for what, columns in values.items()
            },
        }
        for here, there in zip(found["easy"], found["conservative"], strict=True)
    ]


def _months_by_end(schedules: Mapping[str, Schedule], log: Log) -> list[dict[str, Any]]:
    """Return the months by the ends under each policy; numbers of jobs and loads are those under EASY."""
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
    """Return the standard error of the mean of some jobs; jobs of one day are correlated (ratio estimator)."""
    values, block = column[chosen], day[chosen]
    centred = values - values.mean()
    sums = np.bincount(block - block.min(), weights=centred)
    blocks = len(np.unique(block))
    # Every value is in one block: the scatter between blocks is unknown.
    if blocks < 2:
        return float(np.abs(values).max())
    return float(np.sqrt(np.sum(sums**2) * blocks / (blocks - 1)) / len(values))


def model_run(configuration: Configuration) -> Result:
    """Return the figures of a model at a load, with 90% confidence intervals by batch means.

    Parameters
    ----------
    configuration
        ``model``, ``jobs``, ``load`` and ``seed`` (see `experiments.backfilling.models.generate`), ``batch``
        (jobs in one batch), ``order`` and ``overrun``.
    """
    log = generate(*(configuration[name] for name in ("model", "jobs", "load", "seed")))
    jobs = rigid_jobs(log)
    batch = configuration["batch"]
    schedules = {policy: _simulated(jobs, policy, configuration) for policy in POLICIES}
    stops = {policy: stopping(terminations(schedule), batch) for policy, schedule in schedules.items()}
    # One scheme may stop long before the other; they are comparable only over the same jobs.
    together = min(stop.jobs for stop in stops.values())
    return {policy: _point(schedules[policy], stops[policy], together) for policy in POLICIES}


def _point(schedule: Schedule, stop: Stop, together: int) -> dict[str, Any]:
    figures = job_figures(schedule)
    ended = np.argsort(schedule.end[figures.rows], kind="stable")
    batch = stop.means.size
    slowdown = batch_means(figures.bounded_slowdown_unclamped[ended[: stop.jobs]], batch)
    own, shared = ended[batch : stop.jobs], ended[batch:together]  # the first batch is the warm-up in both
    columns: dict[str, NDArray[np.float64]] = {measure: _values(figures, measure) for measure in MEASURES}
    columns["backfilled"] = figures.backfilled.astype(np.float64)
    shared_response = batch_means(figures.response[ended[:together]], batch)
    shared_slowdown = batch_means(figures.bounded_slowdown_unclamped[ended[:together]], batch)
    return {
        "response": stop.means.mean,
        "response_half_width": stop.means.half_width,
        "slowdown": slowdown.mean,
        "slowdown_half_width": slowdown.half_width,
        "batches": stop.means.batches,
        "reason": stop.reason,
        "backfilled": float(figures.backfilled[own].mean()),
        "together": {
            "response": shared_response.mean,
            "response_half_width": shared_response.half_width,
            "slowdown": shared_slowdown.mean,
            "slowdown_half_width": shared_slowdown.half_width,
            "batches": shared_response.batches,
            "backfilled": float(figures.backfilled[shared].mean()),
            "means": {name: counted(column[ended[:together]], batch).tolist() for name, column in columns.items()},
        },
    }


def changed_run(configuration: Configuration) -> Result:
    """Return the means of both schemes over the same jobs of model F with a change.

    The first hundredth of the jobs is left out as warm-up. There is no stopping rule, so both schemes are measured over
    the same jobs even if one is overloaded before the other.

    Parameters
    ----------
    configuration
        ``change`` (a name of `experiments.backfilling.models.CHANGES`), ``jobs``, ``load`` and ``seed``.
    """
    change = next(change for change in CHANGES if change.name == configuration["change"])
    jobs = rigid_jobs(generate_changed(change, *(configuration[name] for name in ("jobs", "load", "seed"))))
    return {policy: _means_after_warm_up(simulate(jobs, policy)) for policy in ("easy", "conservative")}


def _means_after_warm_up(schedule: Schedule) -> dict[str, float]:
    figures = job_figures(schedule)
    counted = figures.rows >= len(schedule) // 100
    return {
        "response": float(figures.response[counted].mean()),
        "slowdown": float(figures.bounded_slowdown_unclamped[counted].mean()),
        "backfilled": float(figures.backfilled[counted].mean()),
    }
