"""Waits of jobs of a log predicted by several methods, each from what was known at submission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.prediction.learners import Boosting, Network
from experiments.prediction.methods import LEVELS, Bounds, Method, Nearest, Quantiles, predicted
from gas.prediction.backtest import backtest
from gas.prediction.recorded import RecordedQueue
from gas.simulation.simulate import simulate
from workloads import Log, apply_overrun, rigid_jobs
from workloads.selection import months_of

__all__ = ["LEARNERS", "METHODS", "RECORDED", "TRUTHS", "wait_run"]

RECORDED: Final = "recorded"

TRUTHS: Final = {RECORDED: "the recorded starts", "s3": "starts under S³", "easy": "starts under EASY backfilling"}
"""Source of the true waits: the scheduler of the machine, or a simulation of the log."""

METHODS: Final[Mapping[str, Callable[[], Method] | None]] = {
    "gas": None,  # runs once, with the two entries below, which are its parts
    "mean": lambda: Quantiles(np.mean),
    "quantiles": Quantiles,
    "bounds": Bounds,
    "nearest": Nearest,
    "boosting": Boosting,
    "network": Network,
}
"""Methods that are run separately, see `experiments.prediction.bakeoff.NAMES`."""


LEARNERS: Final = ("boosting", "network")
"""Methods that need scikit-learn."""


def wait_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return a method's predictions for some jobs of a log, and the true waits; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "truth" (of `TRUTHS`), "method" (of `METHODS`), "jobs" (the largest number of
        predicted jobs, evenly over the log), "samples" and "seed" of the simulation.
    files
        The path of each log.
    """
    recorded, months = _came_true(Path(files[configuration["log"]]), configuration["log"], configuration["truth"])
    places = recorded.places(configuration["jobs"])
    found: dict[str, list[list[float | None]]]
    make = METHODS[configuration["method"]]
    if make is None:
        of = {"seed": configuration["seed"], "samples": configuration["samples"]}
        outcomes = list(backtest(recorded, places, **of))
        found = {
            "gas": [[one.low, one.median, one.high] for one in outcomes],
            "simulation": [[None, one.simulated, None] for one in outcomes],
            "promise": [[None, one.planned, None] for one in outcomes],
        }
    else:
        said = predicted(make(), recorded, places)
        found = {configuration["method"]: [[None] * len(LEVELS) if one is None else list(one) for one in said]}
    return {
        "jobs": len(places),
        "month": [months[place] for place in places.tolist()],
        "wait": (recorded.start - recorded.jobs.submit)[places].tolist(),
        "processors": recorded.jobs.processors[places].tolist(),
        "predicted": found,
    }


@lru_cache(maxsize=1)
def _came_true(path: Path, sha256: str, truth: str) -> tuple[RecordedQueue, list[str]]:
    """Return a log's queue and the month of each of its jobs; the last result is cached for other methods."""
    log = load_log(path, sha256)
    if truth != RECORDED:
        log = simulated(log, truth)
    labels, index = months_of(log.submit, log.epoch, name=log.name)
    recorded = RecordedQueue(log)
    return recorded, [labels[i] for i in index[recorded.rows].tolist()]


def simulated(log: Log, policy: Any) -> Log:
    """Return a log with the waits of a simulation, and with run times cut to walltimes."""
    jobs = apply_overrun(rigid_jobs(log))
    schedule = simulate(jobs, policy)
    part = log.select(jobs.row)
    return part.with_columns(
        wait=(schedule.start - jobs.submit).astype(np.float64),
        run_time=jobs.run_time.astype(np.float64),
        requested_time=jobs.estimate.astype(np.float64),
    )
