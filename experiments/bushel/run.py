"""Many moldable jobs at a time: what Gas does for their users, and the effect on all other jobs.

The Bushel of AppLeS (the Gas paper, section 5.3). Benchmarks replace a share of the jobs of a log. The log is simulated
with static requests for all of them, and with Gas choosing all their requests, each from the availability list at its
submission. Beyond the paper, speed-ups are also drawn for the log's own jobs (`experiments.moldable.moldability`): a
log whose jobs are replaced is no longer that log, but with drawn speed-ups the load remains the same, and every job may
use Gas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.moldable.benchmarks import Form, application
from experiments.moldable.choosing import Bushel, of_moldable_jobs, with_gas
from experiments.moldable.improvement import classes
from experiments.moldable.moldability import Moldability
from experiments.moldable.substitution import TooFewJobs, static_request, substitutes
from gas.simulation.schedule import Schedule
from gas.simulation.simulate import simulate
from workloads import RigidJobs, apply_overrun, rigid_jobs
from workloads.load import scale_interarrivals
from workloads.selection import in_months, months_of

__all__ = ["bushel_run", "of_benchmarks"]


def of_benchmarks(
    jobs: RigidJobs, count: int, *, mix: Any, form: Form, opponent: Any, generator: np.random.Generator
) -> Bushel:
    """Return the jobs with `count` of them replaced (see `experiments.moldable.substitution.substitutes`)."""
    placed = substitutes(jobs, count, mix=mix, form=form, opponent=opponent, generator=generator)
    placed.sort(key=lambda one: one.place)
    known = {(one.benchmark, one.problem_class) for one in placed}
    requests_of = {key: application(*key, form).requests(jobs.machine) for key in sorted(known)}
    requests = [requests_of[one.benchmark, one.problem_class] for one in placed]
    places = np.array([one.place for one in placed], np.int64)
    columns = {name: getattr(jobs, name).copy() for name in ("processors", "estimate", "run_time")}
    for one, asked in zip(placed, requests, strict=True):
        for name, value in zip(columns, static_request(one, asked), strict=True):
            columns[name][one.place] = value
    return Bushel(replace(jobs, **columns), places, requests)


def bushel_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the effect of many moldable jobs on themselves and on others; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors" of the machine, "months", "percent" of the jobs that are moldable,
        "seed", "policy", "load" (offered load divided by that of the log), "estimates" ("users", or "perfect" for the
        true run times), and "moldable": either "mix", "opponent" and "form" of benchmarks, or the fields of
        `Moldability`.
    files
        The path of each log.

    Returns
    -------
    Result
        Turn-around times in seconds in the original log ("before"), with static requests ("static") and with Gas
        ("gas"). "by_month" has sums over the jobs submitted in each of "months". "classes" counts improvement factors
        (`experiments.moldable.improvement`). If fewer jobs than wanted can be replaced (opponent "own"), the result has
        only "jobs", and "moldable" as 0.
    """
    log = in_months(load_log(Path(files[configuration["log"]]), configuration["log"]), list(configuration["months"]))
    before = apply_overrun(rigid_jobs(log, configuration["processors"]), "kill")
    if not len(before):
        return {"jobs": 0, "moldable": 0}
    if configuration["estimates"] == "perfect":
        before = replace(before, estimate=np.maximum(before.run_time, 1))
    generator = np.random.default_rng([configuration["seed"], int(configuration["log"][:12], 16)])
    count = len(before) * configuration["percent"] // 100
    how = configuration["moldable"]
    if "mix" in how:
        form = Form(**how["form"])
        try:
            bushel = of_benchmarks(
                before, count, mix=how["mix"], form=form, opponent=how["opponent"], generator=generator
            )
        except TooFewJobs:
            return {"jobs": len(before), "moldable": 0}
    else:
        bushel = of_moldable_jobs(before, count, Moldability(**how), generator)
    labels, month = months_of(before.submit, log.epoch)  # months of the log, even if jobs arrive faster here
    submit = scale_interarrivals(before.submit, 1 / configuration["load"])
    before, bushel = replace(before, submit=submit), replace(bushel, jobs=replace(bushel.jobs, submit=submit))
    policy = configuration["policy"]
    worlds = {
        "before": simulate(before, policy),
        "static": simulate(bushel.jobs, policy),
        "gas": with_gas(bushel, policy),
    }
    return _figures(before, bushel, worlds) | {"months": labels, "by_month": _by_month(before, bushel, worlds, month)}


def _figures(before: RigidJobs, bushel: Bushel, worlds: Mapping[str, Schedule]) -> Result:
    chosen = np.zeros(len(before), np.bool_)
    chosen[bushel.places] = True
    took = {world: schedule.end - schedule.jobs.submit for world, schedule in worlds.items()}
    gas, static = took["gas"][chosen], took["static"][chosen]
    choices = [len(requests.sizes) for requests in bushel.requests]
    return {
        "jobs": len(before),
        "moldable": int(chosen.sum()),
        "choices": float(np.mean(choices)) if choices else None,
        "load_ratio": _work(worlds["static"].jobs, "run_time") / max(_work(before, "run_time"), 1),
        "requested_load_ratio": _work(worlds["static"].jobs, "estimate") / max(_work(before, "estimate"), 1),
        "gas": _statistics(gas),
        "static": _statistics(static),
        "gas_work": _work(worlds["gas"].jobs, "run_time", chosen),
        "static_work": _work(worlds["static"].jobs, "run_time", chosen),
        "loses": int((gas > static).sum()),
        "classes": classes(gas, static).tolist(),
        "others": {world: _mean(times[~chosen]) for world, times in took.items()},
        "others_wait": {world: _mean((one.start - one.jobs.submit)[~chosen]) for world, one in worlds.items()},
        "all": {world: _mean(times) for world, times in took.items()},
        "by_user": {world: _mean_by_user(took[world], before.user, chosen) for world in ("static", "gas")},
        "utilization": {world: _utilization(schedule) for world, schedule in worlds.items()},
    }


def _by_month(
    before: RigidJobs, bushel: Bushel, worlds: Mapping[str, Schedule], month: NDArray[np.int64]
) -> dict[str, list[float]]:
    """Return sums over the jobs submitted in each month: of moldable jobs, of all others, and of requested work."""
    chosen = np.zeros(len(before), np.bool_)
    chosen[bushel.places] = True
    took = {world: (schedule.end - schedule.jobs.submit).astype(np.float64) for world, schedule in worlds.items()}
    sums = {"moldable": chosen, "others": ~chosen, "loses": chosen & (took["gas"] > took["static"])}
    sums |= {f"moldable_{world}": np.where(chosen, took[world], 0.0) for world in ("static", "gas")}
    sums |= {f"others_{world}": np.where(chosen, 0.0, times) for world, times in took.items()}
    sums |= {
        f"requested_{world}": (jobs.processors * jobs.estimate).astype(np.float64)
        for world, jobs in (("before", before), ("static", worlds["static"].jobs))
    }
    return {name: np.bincount(month, weights=values).tolist() for name, values in sums.items()}


def _work(jobs: RigidJobs, what: str, chosen: NDArray[np.bool_] | slice = slice(None)) -> int:
    return int((jobs.processors * getattr(jobs, what))[chosen].sum())


def _statistics(times: NDArray[np.int64]) -> dict[str, float]:
    if not len(times):
        return {}
    return {
        "mean": float(times.mean()),
        "standard deviation": float(times.std(ddof=1)) if len(times) > 1 else 0.0,
        "median": float(np.median(times)),
        "minimum": float(times.min()),
        "maximum": float(times.max()),
    }


def _mean(values: NDArray[np.int64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _mean_by_user(took: NDArray[np.int64], user: NDArray[np.int64], chosen: NDArray[np.bool_]) -> float | None:
    """Return the mean of the users' means, so that a burst of one user counts once."""
    if not chosen.any() or (user < 0).all():
        return None
    _, number, counts = np.unique(user[chosen], return_inverse=True, return_counts=True)
    return float((np.bincount(number, weights=took[chosen]) / counts).mean())


def _utilization(schedule: Schedule) -> float:
    jobs = schedule.jobs
    span = int(schedule.end.max() - jobs.submit.min())
    return _work(jobs, "run_time") / (jobs.machine * span) if span else 0.0
