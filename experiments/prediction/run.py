"""The quality of predictions: whether their intervals are right, and whether it helps to choose by them.

Both are measured in simulations of S³ on logs. At a submission the simulation stops, and the prediction uses only what
is known then: which jobs run and wait, which have ended, and which have been submitted.
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
"""Probabilities of the intervals that are studied."""

REVEALED = {"nothing": "of no job", "running": "of running jobs", "waiting": "of waiting jobs", "all": "of both"}
"""Jobs whose true run times the prediction may use, in words."""

BEFORE = 2
"""Starts of predicted jobs of this number of months before a month correct its intervals."""

MOST_SIZES = 24
"""The prediction chooses among at most this many sizes of an application, thinned out evenly in the logarithm."""


def prediction_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the result of a part of the study; "what" names it: "waits", "calibration" or "choice"."""
    run = {"waits": wait_run, "calibration": calibration_run, "choice": choice_run}[configuration["what"]]
    return run(configuration, files=files)


def calibration_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return predicted and true starts of jobs of a month of a log; a pure function of its configuration.

    The whole log is simulated under the policy. Jobs of the month that were not promised to start at once are sampled;
    the start of each is predicted at its submission. The same is done for twice as many jobs of the two months before.
    Their starts, and starts in the month that are already known, correct the intervals.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors" of the machine, "month", "jobs" (the largest number of sampled
        jobs), "samples", "seed", "policy", and "revealed": whose true run times the prediction knows (a key of
        `REVEALED`), to see how much of its uncertainty comes from run times.
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
    """Usage that knows the true run times of some jobs instead of learning them."""

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
    """Return the outcomes of moldable jobs in a month of a log, including the choice of a Gas that predicts.

    The configuration is that of `experiments.power.run.power_run`, plus "samples"; outcomes and the other choices are
    the same as there.
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
            # All shapes of a job share the same samples, so half as many suffice to tell which ends sooner.
            likely = watched(stop, size, by_predictions(past, max(samples // 2, 1), seed, policy))
            plain = watched(stop, planned, by_plans)
            return Predicting(size, likely.turnaround, likely.changes, plain.turnaround)

        return rows_of(outcomes(month, policy, predicted))

    return month_result(configuration, files, with_predictions)


def past_before(whole: RigidJobs, recorded: NDArray[np.int64], month: RigidJobs, policy: Any) -> Past:
    """Return the past of a simulated month: the log's records before it, then the simulated events of the month.

    Parameters
    ----------
    whole
        All jobs of the log.
    recorded
        Recorded end of each job of the log.
    month
        The jobs of the month, on the same time axis.
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
    """Return the sizes to choose among, ascending: the planned one and some of all magnitudes."""
    if len(sizes) <= MOST_SIZES:
        return np.arange(len(sizes))
    wanted = np.geomspace(sizes[0], sizes[-1], MOST_SIZES)
    nearest = np.abs(sizes[None, :] - wanted[:, None]).argmin(axis=1)
    return np.unique(np.append(nearest, int(np.flatnonzero(sizes == planned)[0])))
