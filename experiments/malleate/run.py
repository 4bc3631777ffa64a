"""A log under all strategies: results of adopters and of all other jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.malleate.engine import Played, play
from experiments.malleate.fairness import classes_of, evenness
from experiments.malleate.recipes import RECIPES
from experiments.malleate.rules import STRATEGIES
from experiments.moldable.choosing import Bushel, with_gas
from experiments.moldable.moldability import MoldableJobs
from gas.simulation.metrics import metrics
from gas.simulation.simulate import simulate
from workloads import Log, RigidJobs, apply_overrun, offered_load, rigid_jobs
from workloads.selection import months_of

__all__ = ["BASELINE", "LATER", "ON_S3", "malleate_run"]

ON_S3: Final = "gas-s3"
"""Name of Gas under a scheduler that keeps its promises, simulated by `gas.simulation`."""

BASELINE: Final = "baseline"
"""Name of runs that reproduce a published figure for rigid jobs."""

LATER: Final = 60
"""Seconds by which a job must end later, or sooner, to count as such."""

_SHORT: Final = 10
"""The bounded slowdown treats shorter run times as this one, in seconds."""

_ACTIVE: Final = 10
"""Users with fewer jobs do not count."""

_WORSE: Final = 1.05
"""A user has lost if the mean turn-around time exceeds that with rigid jobs by this factor."""


def malleate_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the results of a log under each strategy; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors", "estimates" ("users", or "perfect" for run times), "recipe",
        "percent" of jobs that adopt, "seed", "cost" of a change of size in seconds, "load" (relative to the log: times
        between submissions are divided by it), "months" (all if empty), and "s3", whether to include Gas under S³. For
        a baseline, "recipe" is `BASELINE` and "policy" is the scheduler.
    files
        The path of each log.

    Returns
    -------
    Result
        "months", "offered" (the load of the rigid jobs), and for each strategy sums over the jobs submitted in each
        month, by groups ("all", "adopters", "others", and the classes of `fairness.CLASSES`): "jobs", "turnaround",
        "wait", "log" (of turn-around times), "slowdown", "later" and "sooner" (than as a rigid job). "used" is the
        processor time divided by that of rigid jobs, "busy" the utilization until the last end, "users_later" a share
        of users, "even" the return value of `fairness.evenness`.
    """
    log = load_log(Path(files[configuration["log"]]), configuration["log"])
    jobs = _jobs(log, configuration)
    if configuration["recipe"] == BASELINE:
        found = metrics(simulate(jobs, configuration["policy"]))
        return {"jobs": len(jobs), "response": found.mean_response, "slowdown": found.mean_bounded_slowdown_unclamped}
    labels, month = months_of(jobs.submit, log.epoch, name=log.name)
    generator = np.random.default_rng([configuration["seed"], int(configuration["log"][:12], 16)])
    adopts = generator.random(len(jobs)) * 100 < configuration["percent"]
    moldable = RECIPES[configuration["recipe"]][1](jobs, generator)
    jobs = replace(jobs, submit=_spread(jobs.submit, configuration["load"]))
    moldable = replace(moldable, jobs=jobs)
    cost = configuration["cost"]
    worlds = {name: play(moldable, adopts, strategy, cost=cost) for name, strategy in STRATEGIES.items()}
    if configuration["s3"]:
        worlds[ON_S3] = _on_s3(moldable, adopts)
    rigid = worlds["rigid"]
    counted = np.isin(labels, configuration["months"])[month] if configuration["months"] else np.ones(len(jobs), bool)
    return {
        "jobs": len(jobs),
        "moldable": int(adopts.sum()),
        "months": labels,
        "offered": offered_load(jobs) if len(jobs) else None,
        "strategies": {
            name: _figures(jobs, world, rigid, adopts, month, counted, len(labels)) for name, world in worlds.items()
        },
    }


def _jobs(log: Log, configuration: Configuration) -> RigidJobs:
    jobs = rigid_jobs(log, configuration["processors"])
    if configuration["estimates"] == "perfect":
        return replace(jobs, estimate=np.maximum(jobs.run_time, 1))
    return apply_overrun(jobs, "kill")


def _spread(submit: NDArray[np.int64], load: float) -> NDArray[np.int64]:
    return submit[0] + ((submit - submit[0]) / load).astype(np.int64) if len(submit) else submit


def _on_s3(moldable: MoldableJobs, adopts: NDArray[np.bool_]) -> Played:
    places = np.flatnonzero(adopts)
    schedule = with_gas(Bushel(moldable.jobs, places, [moldable.requests(place) for place in places.tolist()]))
    size = schedule.jobs.processors
    return Played(schedule.start, schedule.end, size * (schedule.end - schedule.start).astype(float), size)


def _figures(
    jobs: RigidJobs,
    world: Played,
    rigid: Played,
    adopts: NDArray[np.bool_],
    month: NDArray[np.int64],
    counted: NDArray[np.bool_],
    months: int,
) -> dict[str, Any]:
    turnaround, before = world.end - jobs.submit, rigid.end - jobs.submit
    columns = {
        "turnaround": turnaround.astype(float),
        "wait": (world.start - jobs.submit).astype(float),
        "log": np.log(np.maximum(turnaround, 1)),
        "slowdown": np.maximum(turnaround / np.maximum(jobs.run_time, _SHORT), 1.0),
        "later": (turnaround > before + LATER).astype(float),
        "sooner": (turnaround < before - LATER).astype(float),
    }
    found: dict[str, Any] = {}
    groups = {"all": np.ones(len(jobs), bool), "adopters": adopts, "others": ~adopts, **classes_of(jobs)}
    for group, members in groups.items():
        mask = counted & members
        of = month[mask]
        found[group] = {"jobs": np.bincount(of, minlength=months).tolist()}
        for name, values in columns.items():
            found[group][name] = np.round(np.bincount(of, weights=values[mask], minlength=months), 3).tolist()
    found["median"] = float(np.median(turnaround[counted])) if counted.any() else None
    found["used"] = float(world.used.sum() / max(float(rigid.used.sum()), 1.0))
    span = int(world.end.max() - jobs.submit.min()) if len(jobs) else 0
    found["busy"] = float(world.used.sum() / (jobs.machine * max(span, 1)))
    found["even"] = evenness(jobs.user[counted], columns["slowdown"][counted], month[counted], months)
    found["users_later"] = _users_later(jobs.user[counted], turnaround[counted], before[counted])
    return found


def _users_later(user: NDArray[np.int64], turnaround: NDArray[np.int64], before: NDArray[np.int64]) -> float | None:
    """Return the share of users whose mean turn-around time is more than 5% above that with rigid jobs."""
    user, turnaround, before = (column[user >= 0] for column in (user, turnaround, before))  # of known users
    _, which, count = np.unique(user, return_inverse=True, return_counts=True)
    after = np.bincount(which, weights=turnaround)[count >= _ACTIVE]
    then = np.bincount(which, weights=before)[count >= _ACTIVE]
    return float(np.mean(after > _WORSE * then)) if len(after) else None
