"""Runs of the study of walltime adjustment: accuracy from a log alone, and simulations of EASY.

Each is a pure function of its configuration (see `experiments.framework.ledger`); its `kind` is one of:

    use          the used shares of requests, by quarter and by group of similar jobs (Fig. 1, 2, Table 2)
    accuracy     the quality of adjusted walltimes, for one key and window at all percentiles and floors (Fig. 4 to 11)
    simulation   the waits, month by month (Fig. 14 to 17)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.walltime.accuracy import (
    FLOORS,
    PERCENTILES,
    adjusted_by,
    asked,
    categories,
    factors,
    figures,
    spread,
    used,
)
from gas.simulation.adjusting import Adjusted, simulate_adjusted
from gas.simulation.metrics import JobFigures, job_figures, means, metrics, weighted_wait
from gas.simulation.months import month_bounds
from gas.simulation.ranking import wfp_priority
from gas.simulation.schedule import Schedule
from gas.simulation.simulate import Simulation, simulate
from workloads import Log, RigidJobs, rigid_jobs
from workloads.adjustment import Scheme
from workloads.estimates import accuracy
from workloads.selection import months_of

__all__ = ["LENGTHS", "walltime_run"]

MINUTE = 60

LENGTHS = (MINUTE, 600, 3600)
"""Lower bounds of classes of run times in seconds, besides 0."""


def walltime_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the figures of any run of the study.

    Parameters
    ----------
    configuration
        ``kind`` and the hash of the ``log``. For "accuracy" also ``key`` and ``months``; for "simulation"
        ``processors``, ``queue``, ``adjustment`` (None for none), the scheme (``key``, ``months``, ``percentile``,
        ``floor``, ``least``; the percentile None adjusts everything to the run time, which no scheduler knows) and
        ``apart``: whether each month is simulated separately, from an empty machine, with walltimes adjusted by the
        record.
    files
        Paths of the logs by hash.
    """
    log = load_log(Path(files[configuration["log"]]), configuration["log"])
    if configuration["kind"] == "use":
        return _use(log)
    if configuration["kind"] == "accuracy":
        return _accuracy(log, configuration)
    return _simulation(log, configuration)


def _use(log: Log) -> Result:
    jobs = asked(log)
    if not len(jobs):
        return {"jobs": 0}
    known = (jobs.user >= 0) & (jobs.group >= 0)
    labels, index = months_of(jobs.submit, log.epoch)
    return {
        "jobs": len(jobs),
        "lines": len(log),
        "known": int(np.count_nonzero(known)),
        "users": int(np.unique(jobs.user).size),
        "groups": int(np.unique(jobs.group).size),
        "requests": int(np.unique(jobs.request).size),
        "mean_request": float(jobs.request.mean()),
        "mean_run_time": float(jobs.run_time.mean()),
        "used": used(log, jobs),
        "spread": spread(jobs, index, np.random.default_rng(0)),
        "months": _by_month(index, labels, accuracy=jobs.ratio),
    }


def _accuracy(log: Log, configuration: Configuration) -> Result:
    jobs = asked(log)
    if not len(jobs):
        return {"jobs": 0}
    by = factors(jobs, configuration["key"], configuration["months"])
    labels, index = months_of(jobs.submit, log.epoch)
    cells = []
    for column, percentile in enumerate(PERCENTILES):
        for floor in FLOORS:
            adjusted = adjusted_by(jobs.request, by[:, column], floor)
            good = accuracy(jobs.run_time, adjusted)
            cells.append(
                {
                    "percentile": percentile,
                    "floor": floor,
                    **figures(jobs, adjusted),
                    "months": _by_month(index, labels, accuracy=good, short=adjusted < jobs.run_time),
                }
            )
    return {"jobs": len(jobs), "no_history": int(np.count_nonzero(np.isnan(by[:, 0]))), "cells": cells}


def _by_month(index: NDArray[np.int64], labels: Sequence[str], **columns: NDArray[Any]) -> dict[str, dict[str, Any]]:
    """Return by month the number of jobs, and the mean of each column; for "accuracy" also the median."""
    jobs = np.bincount(index)
    means = {name: (np.bincount(index, weights=column) / jobs).tolist() for name, column in columns.items()}
    order = np.argsort(index, kind="stable")
    parts = np.split(columns["accuracy"][order], np.cumsum(jobs)[:-1])
    return {
        label: {
            "jobs": int(jobs[i]),
            "median": float(np.median(parts[i])),
            **{name: mean[i] for name, mean in means.items()},
        }
        for i, label in enumerate(labels)
    }


def _simulation(log: Log, configuration: Configuration) -> Result:
    jobs = rigid_jobs(log, configuration["processors"])
    if not len(jobs):
        return {"jobs": 0}
    labels, index = months_of(jobs.submit, log.epoch)
    parts = (_apart if configuration["apart"] else _together)(log, jobs, index, configuration)
    months = [
        {
            "month": label,
            "after": month_bounds(label, log.epoch)[0] - int(jobs.submit[0]),
            **_figures(part, chosen, configuration["queue"]),
        }
        for label, (part, chosen) in zip(labels, parts, strict=True)
    ]
    found: Result = {"jobs": len(jobs), "skipped": dict(jobs.skipped), "months": months}
    if not configuration["apart"]:
        whole = parts[0][0]
        found["all"] = _figures(whole, np.ones(len(jobs), dtype=bool), configuration["queue"])
        found["classes"] = _classes(whole.schedule)
        found["utilization"] = metrics(whole.schedule).utilization
    return found


Parts = list[tuple[Adjusted, NDArray[np.bool_]]]
"""For each month a schedule, and which of its jobs belong to the month."""


def _together(log: Log, jobs: RigidJobs, index: NDArray[np.int64], configuration: Configuration) -> Parts:
    """Return one simulation of all months together."""
    adjustment, queue = configuration["adjustment"], configuration["queue"]
    if adjustment is None:
        whole = simulate_adjusted(jobs, None, queue=queue)
    elif configuration["percentile"] is None:
        exact = np.maximum(np.minimum(jobs.run_time, jobs.estimate), 1)
        whole = Adjusted(_with_walltimes(jobs, exact, configuration), exact)
    else:
        whole = simulate_adjusted(jobs, _scheme(configuration), adjustment=adjustment, queue=queue)
    return [(whole, index == number) for number in range(int(index.max()) + 1)]


def _apart(log: Log, jobs: RigidJobs, index: NDArray[np.int64], configuration: Configuration) -> Parts:
    """Return separate simulations of all months."""
    adjusted = jobs.estimate
    if configuration["adjustment"] is not None:
        scheme = _scheme(configuration)
        by = factors(asked(log, jobs), scheme.key, scheme.months, (scheme.percentile,), scheme.least)
        adjusted = adjusted_by(jobs.estimate, by[:, 0], scheme.floor)
    found: Parts = []
    for number in range(int(index.max()) + 1):
        chosen = index == number
        part = _chosen(jobs, chosen)
        if configuration["adjustment"] is None:
            schedule = simulate(part, "easy", queue=configuration["queue"])
        else:
            schedule = _with_walltimes(part, adjusted[chosen], configuration)
        found.append((Adjusted(schedule, adjusted[chosen]), np.ones(len(part), dtype=bool)))
    return found


def _scheme(configuration: Configuration) -> Scheme:
    return Scheme(**{name: configuration[name] for name in ("key", "months", "percentile", "floor", "least")})


def _chosen(jobs: RigidJobs, chosen: NDArray[np.bool_]) -> RigidJobs:
    columns = {field.name: getattr(jobs, field.name) for field in fields(jobs)}
    parts: dict[str, Any] = {name: one[chosen] for name, one in columns.items() if isinstance(one, np.ndarray)}
    return replace(jobs, **parts)


def _with_walltimes(jobs: RigidJobs, adjusted: NDArray[np.int64], configuration: Configuration) -> Schedule:
    """Return the schedule of EASY if it plans with the given walltimes."""
    simulation = Simulation(
        jobs,
        "easy",
        queue=configuration["queue"],
        adjustment=configuration["adjustment"],
        ask=np.flatnonzero(adjusted != jobs.estimate),
    )
    while (place := simulation.run()) is not None:
        simulation.answer(adjusted=int(adjusted[place]))
    return simulation.schedule()


def _figures(found: Adjusted, chosen: NDArray[np.bool_], queue: str) -> dict[str, Any]:
    """Return the figures of some of a schedule's jobs.

    ``wait``, ``slowdown`` and ``bounded`` are means, ``slowdown_60`` is the mean over jobs of at least a minute,
    ``top`` the share of the 1% largest slowdowns in their sum. ``weighted`` is the weighted wait; ``alike`` is the
    number of equally heavy jobs with the same uncertainty of the weighted mean, (Σ p)² / Σ p². ``beyond`` is the share
    of the jobs' work that they did after the end of their adjusted walltimes.
    """
    schedule = found.schedule
    of_jobs = job_figures(schedule).of(chosen)
    mean = means(of_jobs)
    jobs = schedule.jobs
    rows = of_jobs.rows
    request, adjusted, processors = jobs.estimate[rows], found.adjusted[rows], jobs.processors[rows]
    over = np.maximum(of_jobs.run_time - adjusted, 0).astype(np.float64)
    work = float(processors @ of_jobs.run_time.astype(np.float64))
    weight = _weight(of_jobs, request, processors, queue)
    squares = float(weight @ weight)
    return {
        "jobs": len(of_jobs),
        "wait": mean.mean_wait,
        "slowdown": mean.mean_slowdown,
        "slowdown_60": _mean(of_jobs.slowdown[of_jobs.run_time >= MINUTE]),
        "top": _top(of_jobs.slowdown[of_jobs.run_time > 0]),
        "bounded": mean.mean_bounded_slowdown,
        "weighted": weighted_wait(schedule, "wfp" if queue == "wfp" else "fcfs", chosen),
        "alike": float(weight.sum()) ** 2 / squares if squares else None,
        "backfilled": mean.backfilled,
        "zero_length": mean.zero_length,
        "accuracy": float(accuracy(of_jobs.run_time, adjusted).mean()) if len(rows) else None,
        "beyond": float(processors @ over) / work if work else None,
        **categories(request, of_jobs.run_time, adjusted),
    }


def _classes(schedule: Schedule) -> list[dict[str, Any]]:
    """Return numbers of jobs, and sums of their waits and slowdowns, by run time and request.

    Jobs of run time 0, which have no slowdown, are left out.
    """
    figures = job_figures(schedule)
    length = np.digitize(figures.run_time, LENGTHS)
    long = schedule.jobs.estimate[figures.rows] > 4 * 3600
    found = []
    for number in range(len(LENGTHS) + 1):
        for asked_long in (False, True):
            mine = (length == number) & (long == asked_long) & (figures.run_time > 0)
            found.append(
                {
                    "shortest": (0, *LENGTHS)[number],
                    "asked_long": asked_long,
                    "jobs": int(np.count_nonzero(mine)),
                    "wait": float(figures.wait[mine].sum()),
                    "slowdown": float(figures.slowdown[mine].sum()),
                }
            )
    return found


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _top(values: NDArray[np.float64]) -> float | None:
    """Return the share of the largest 1%, at least one value, in the sum."""
    if not len(values):
        return None
    ordered = np.sort(values)[::-1]
    return float(ordered[: -(-len(ordered) // 100)].sum() / ordered.sum())


def _weight(
    of_jobs: JobFigures, request: NDArray[np.int64], processors: NDArray[np.int64], queue: str
) -> NDArray[np.float64]:
    wait = of_jobs.wait.astype(np.float64)
    return np.asarray(wfp_priority(wait, request, processors) if queue == "wfp" else wait, np.float64)
