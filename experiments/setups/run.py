"""Simulates Gas's and static requests in a month of a log under a set-up, one moldable job at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.framework.months import jobs_of_month
from experiments.moldable.benchmarks import Form
from experiments.moldable.outcomes import stops
from experiments.moldable.substitution import TooFewJobs, substitutes
from gas.planner import soonest
from workloads import RigidJobs, apply_overrun

__all__ = ["setup_run"]


def setup_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return benchmarks and their turn-around times (s) in a month of a log; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors" of the machine, "month", "runs" (jobs that are replaced, one at a
        time), "seed", and "settings" (`experiments.setups.setups.settings_of`).
    files
        The path of each log.
    """
    settings, month = configuration["settings"], configuration["month"]
    jobs, first = _jobs(configuration, files)
    form = Form(
        filled=settings["sizes"] == "accepted",
        accuracy=float(settings["accuracy"]),
        slower=float(settings["times"]),
        largest=0 if settings["largest"] == "measured" else int(settings["largest"]),
    )
    seed = [configuration["seed"], int(configuration["log"][:12], 16), int(month.replace("-", ""))]
    try:
        placed = substitutes(
            jobs,
            configuration["runs"],
            mix="thirds",
            form=form,
            opponent=settings["static"],
            generator=np.random.default_rng(seed),
            match=settings["match"],
            first=first,
        )
    except TooFewJobs as error:
        return {"jobs": 0, "outcomes": [], "too_few": str(error)}
    return {"jobs": len(jobs), "outcomes": _outcomes(jobs, placed, form, settings["policy"])}


def _jobs(configuration: Configuration, files: Mapping[str, str]) -> tuple[RigidJobs, int]:
    settings, sha256 = configuration["settings"], configuration["log"]
    log = load_log(Path(files[sha256]), sha256)
    jobs, first = jobs_of_month(log, configuration["month"], configuration["processors"], settings["begin"])
    jobs = apply_overrun(jobs, settings["overrun"])
    if settings["estimates"] == "perfect":
        jobs = replace(jobs, estimate=np.maximum(jobs.run_time, 1))
    return jobs, first


def _outcomes(jobs: RigidJobs, placed: list[Any], form: Form, policy: Any) -> list[dict[str, Any]]:
    found = []
    for one, simulation, _, asked in stops(jobs, placed, form, policy):
        best = soonest(asked, simulation.availability())
        assert best is not None, "the last frame is the whole machine, so every size has a slot"
        rows = np.searchsorted(asked.sizes, [best.processors, one.static])
        ends = simulation.outcomes(asked.sizes[rows], asked.walltimes[rows], asked.times[rows])[:, 1]
        gas, static = (ends - jobs.submit[one.place]).tolist()
        found.append({"benchmark": one.benchmark, "gas": gas, "static": static})
    return found
