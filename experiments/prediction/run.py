"""What comes of predictions: whether their intervals are right, and whether it helps to choose by them.

Both go through simulations of S³ on logs. Where a job arrives the simulation stands still, and the prediction is made
from what can be known there: which jobs run and wait, which have ended by then, and which were submitted by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.moldable.outcomes import Month, Predicting, Stop, month_result, outcomes, rows_of
from experiments.prediction.waits import wait_run
from experiments.prediction.watching import by_plans, by_predictions, watched
from gas.prediction.calibration import ends_of
from gas.prediction.forecast import forecast
from gas.prediction.ledger import LONGER, Ledger
from gas.prediction.past import Past
from gas.prediction.simulated import snapshot_of
from gas.prediction.snapshot import Snapshot
from gas.prediction.usage import Usage
from gas.simulation.simulate import Simulation, simulate
from workloads import RigidJobs, apply_overrun, rigid_jobs
from workloads.replay import NEVER, ends
from workloads.selection import months_of

__all__ = ["BEFORE", "REVEALED", "SHARES", "calibration_run", "choice_run", "past_before", "prediction_run"]

SHARES = (0.5, 0.8, 0.9, 0.95)
"""Probabilities of the intervals that are looked at."""

REVEALED = {"nothing": "of no job", "running": "of running jobs", "waiting": "of waiting jobs", "all": "of both"}
"""Whose true run times the prediction may know, in words."""

BEFORE = 2
"""From how many months before, the starts of predicted jobs correct the intervals of a month."""

MOST_SIZES = 24
"""Among how many sizes of an application the prediction chooses; more are thinned out evenly by their logarithm."""


def prediction_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the result of a part of the study; "what" says of which, "waits", "calibration" or "choice"."""
    run = {"waits": wait_run, "calibration": calibration_run, "choice": choice_run}[configuration["what"]]
    return run(configuration, files=files)


def calibration_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return predicted and true starts of jobs of a month of a log; a pure function of its configuration.

    The whole log goes through the policy. Of the jobs of the month that were not promised to start at once some are
    drawn, and each is predicted when it arrives; so are twice as many of the two months before, by whose starts
    intervals are corrected, as by those in the month that are known by then.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors" of the machine, "month", "jobs" (how many are drawn at most),
        "samples", "seed", "policy", and "revealed": whose true run times the prediction knows (a key of `REVEALED`), to
        see how much of its uncertainty comes from run times.
    files
        The path of each log.
    """
    log = load_log(Path(files[configuration["log"]]), configuration["log"])
    jobs = apply_overrun(rigid_jobs(log, configuration["processors"]))
    labels, index = months_of(log.submit, log.epoch, name=log.name)
    schedule = simulate(jobs, configuration["policy"])
    assert schedule.promise is not None, "only policies that promise are asked"
    month, number = index[jobs.row], labels.index(configuration["month"])
    in_month, before = month == number, (month < number) & (month >= number - BEFORE)
    delayed = schedule.promise > jobs.submit
    waits = np.flatnonzero(in_month & delayed)
    generator = np.random.default_rng([configuration["seed"], int(configuration["month"].replace("-", ""))])
    asked = generator.permutation(waits)[: configuration["jobs"]]
    earlier = generator.permutation(np.flatnonzero(before & delayed))[: BEFORE * configuration["jobs"]]
    simulation = Simulation(jobs, configuration["policy"], ask=np.sort([*asked, *earlier]))
    past = Past(jobs.submit, jobs.processors, jobs.estimate, jobs.run_time, schedule.end, jobs.user, jobs.executable)
    if configuration["revealed"] != "nothing":
        past.usage = _Revealed(past.usage, simulation, configuration["revealed"])
    rows = []
    ledger = Ledger()
    while (place := simulation.run()) is not None:
        ledger.learn(simulation.now)
        made = forecast(
            snapshot_of(simulation), past, jobs.processors[[place]], jobs.estimate[[place]], jobs.run_time[[place]],
            samples=configuration["samples"], seed=configuration["seed"], policy=configuration["policy"], alone=1,
        )  # fmt: skip
        simulation.answer()
        start, samples, latest = int(schedule.start[place]), np.sort(made.starts[:, 0]), int(made.latest[0])
        found = ledger.predict(made.now, samples - made.now, latest - made.now, kind=LONGER)
        intervals = {share: ends_of(ledger.levels(LONGER, share), samples, made.now, latest) for share in SHARES}
        ledger.predicted(str(place), found)
        ledger.started(str(place), start)
        if not in_month[place]:
            continue
        row: dict[str, Any] = {
            "now": int(jobs.submit[place]),
            "promise": int(schedule.promise[place]),
            "start": start,
            "processors": int(jobs.processors[place]),
            "mean": float(made.expected_start[0]),
            "median": float(np.median(samples)),
            "rank": float(((samples < start).mean() + (samples <= start).mean()) / 2),
        }
        for share in SHARES:
            low, high = intervals[share]
            row |= {f"low_{share:g}": low, f"high_{share:g}": high}
        rows.append(row)
    return {"jobs": int(np.count_nonzero(in_month)), "waiting": len(waits), "outcomes": rows}


class _Revealed(Usage):
    """In place of what can be learnt of the run times of some: those that come true."""

    def __init__(self, learnt: Usage, simulation: Simulation, revealed: str) -> None:
        super().__init__(learnt.ended)
        self._simulation, self._revealed = simulation, revealed

    def draw(self, snapshot: Snapshot, samples: int, generator: np.random.Generator) -> NDArray[np.int64]:
        drawn = super().draw(snapshot, samples, generator)
        places, _, running = self._simulation.standing()
        known = {"running": running, "waiting": ~running, "all": np.ones(len(places), np.bool_)}[self._revealed]
        drawn[:, known] = self._simulation.jobs.run_time[places[known]]
        return drawn


def choice_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return what comes of moldable jobs in a month of a log, with the choice of a Gas that predicts among them.

    The configuration is that of `experiments.power.run.power_run`, with "samples" beside it; so are the outcomes, and
    the other choices are the same.
    """
    log = load_log(Path(files[configuration["log"]]), configuration["log"])
    policy = configuration["policy"]

    def with_predictions(month: Month) -> list[dict[str, Any]]:
        past = past_before(rigid_jobs(log, configuration["processors"]), ends(log), month.jobs, policy)

        samples, seed = configuration["samples"], configuration["seed"]

        def predicted(stop: Stop, planned: int) -> Predicting:
            sizes, times, walltimes = stop.asked
            among = _thinned(sizes, planned)
            made = forecast(
                snapshot_of(stop.simulation), past, sizes[among], walltimes[among], times[among],
                samples=samples, seed=seed, policy=policy, alone=len(among),
            )  # fmt: skip
            size = int(sizes[among[int(np.argmin(made.scores()))]])
            # The samples are the same for all shapes of a job, so half as many tell as well which is sooner.
            likely = watched(stop, size, by_predictions(past, max(samples // 2, 1), seed, policy))
            plain = watched(stop, planned, by_plans)
            return Predicting(size, likely.turnaround, likely.changes, plain.turnaround)

        return rows_of(outcomes(month, policy, predicted))

    return month_result(configuration, files, with_predictions)


def past_before(whole: RigidJobs, recorded: NDArray[np.int64], month: RigidJobs, policy: Any) -> Past:
    """Return the past of a simulated month: what the log recorded before it, and then what happens in it.

    Parameters
    ----------
    whole
        All jobs of the log.
    recorded
        When each line of the log ended.
    month
        The jobs of the month, in the same seconds.
    """
    before = np.flatnonzero(whole.submit < month.submit[0])
    schedule = simulate(month, policy)
    end = recorded[whole.row[before]]

    def both(name: str) -> NDArray[np.int64]:
        return np.concatenate([getattr(whole, name)[before], getattr(month, name)])

    return Past(
        both("submit"),
        both("processors"),
        both("estimate"),
        both("run_time"),
        np.concatenate([np.where(end == NEVER, NEVER, end), schedule.end]),
        both("user"),
        both("executable"),
    )


def _thinned(sizes: NDArray[np.int64], planned: int) -> NDArray[np.intp]:
    """Return which sizes to choose among, ascending: the planned one and some of all magnitudes."""
    if len(sizes) <= MOST_SIZES:
        return np.arange(len(sizes))
    wanted = np.geomspace(sizes[0], sizes[-1], MOST_SIZES)
    nearest = np.abs(sizes[None, :] - wanted[:, None]).argmin(axis=1)
    return np.unique(np.append(nearest, int(np.flatnonzero(sizes == planned)[0])))
