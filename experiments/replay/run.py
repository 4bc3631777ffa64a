"""One scenario of a replay: its figures, and which jobs end sooner or later than in the record and under EASY."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.moldable.choosing import of_moldable_jobs, with_gas
from experiments.moldable.moldability import Moldability
from gas.errors import BadInput
from gas.intervals import by_months
from gas.policies.apart import simulate_apart
from gas.policies.finding import OwnPolicy
from gas.simulation.adjusting import simulate_adjusted
from gas.simulation.metrics import metrics
from gas.simulation.schedule import Schedule
from gas.simulation.simulate import simulate
from gas.simulation.timeline import step_means, timeline
from workloads import Log, RigidJobs, apply_overrun, rigid_jobs
from workloads.adjustment import Scheme
from workloads.estimates import exact, uniform_factor
from workloads.selection import between, in_months, months_of

__all__ = ["CORRECTED", "LATER", "PERFECT", "RECORD", "REQUESTED", "SIZES", "recorded_schedule", "replay_run"]
__all__ += ["selected_part"]

RECORD: Final = "recorded"
"""Stands for the recorded schedule in place of a policy."""

REQUESTED, PERFECT, CORRECTED = "requested", "perfect", "corrected"
"""Walltimes: those of the log, the run times, or corrected by history. Another value is "f=2"."""

LATER: Final = 60
"""Seconds; jobs whose ends differ by no more than this count as ending at the same time."""

SIZES: Final = ("1 processor", "up to 1/16 of the machine", "up to 1/4", "larger")
"""Classes of jobs by their processors."""

_BINS = 160
_QUANTILES = np.linspace(0, 1, 201)
_COLUMNS = ("id", "submit", "processors", "estimate", "run_time", "user", "group", "executable", "row")


def replay_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the results of a scenario; a pure function of its configuration (`scenarios.Scenario`).

    Parameters
    ----------
    files
        The path of each log.

    Returns
    -------
    Result
        "figures" (`gas.simulation.metrics.Metrics`), "waits" (quantiles), running and waiting jobs over time, and
        "beside": which jobs end later than in the record, under EASY, and under the same policy with nothing changed.
        "error" if a policy of the user failed.
    """
    given = dict(configuration)
    log = load_log(Path(files[given["log"]]), given["log"], given["unit"])
    log = selected_part(log, **given["selection"])
    base = apply_overrun(rigid_jobs(log, given["base"]), given["overrun"])
    record = recorded_schedule(log, base)
    chose = np.zeros(0, np.int64)
    error = None
    if given["policy"] == RECORD:
        schedule: Schedule | None = record
    else:
        jobs = apply_overrun(rigid_jobs(log, given["processors"]), given["overrun"])
        try:
            schedule, chose = _simulated(jobs, given)
        except BadInput as failure:
            if given["own"] is None:
                raise
            schedule, error = None, str(failure)
    if schedule is None or not len(schedule):
        return {"jobs": 0, "moldable": 0, "error": error, "left_out": dict(base.skipped)}
    easy = simulate(base, "easy", overrun=given["overrun"])
    plain = given | {"walltimes": REQUESTED, "moldable": 0, "processors": given["base"]}
    same = None if given["policy"] == RECORD or plain == given else _simulated(base, plain)[0]
    first = int(base.submit[0])
    edges = np.linspace(first, max(int(base.submit[-1]), first + _BINS), _BINS + 1).astype(np.int64)
    line = timeline(schedule)
    waits = schedule.start - schedule.jobs.submit
    labels, month = months_of(base.submit, log.epoch, name=log.name)
    world = _World(base, np.array(labels)[month])
    return {
        "jobs": len(schedule),
        "moldable": len(chose),
        "error": None,
        "left_out": dict(schedule.jobs.skipped),
        "without_start": len(base) - len(record) if given["policy"] == RECORD else 0,
        "cut_or_extended": int(np.count_nonzero(_overran(log, given["base"]))),
        "without_walltime": int(np.count_nonzero(~(log.requested_time[base.row] > 0))),
        "most_in_use": int(schedule.jobs.machine - line.free.min()),
        "figures": vars(metrics(schedule)),
        "waits": np.quantile(waits, _QUANTILES).tolist(),
        "edges": edges.tolist(),
        "waiting": step_means(line.times, line.waiting, edges).tolist(),
        "busy": step_means(line.times, schedule.jobs.machine - line.free, edges).tolist(),
        "beside": {
            RECORD: world.compared(schedule, record, chose),
            "easy": world.compared(schedule, easy, chose),
            "same": None if same is None else world.compared(schedule, same, chose),
        },
    }


def selected_part(log: Log, months: Sequence[str], since: str | None, until: str | None) -> Log:
    """Return the jobs of some months, or of all, submitted at or after `since` and before `until`."""
    log = in_months(log, months) if months else log
    return between(log, since, until) if since is not None or until is not None else log


def recorded_schedule(log: Log, jobs: RigidJobs) -> Schedule:
    """Return the recorded starts and ends of jobs of a log, without jobs whose start is unknown."""
    kept = np.flatnonzero(log.wait[jobs.row] >= 0)
    known = replace(jobs, **{name: getattr(jobs, name)[kept] for name in _COLUMNS})
    start = known.submit + np.trunc(log.wait[known.row]).astype(np.int64)
    lasted = np.trunc(log.run_time[known.row]).astype(np.int64)
    return Schedule(jobs=replace(known, run_time=lasted), start=start, end=start + lasted, policy=RECORD)


def _overran(log: Log, processors: int) -> NDArray[np.bool_]:
    jobs = rigid_jobs(log, processors)
    over: NDArray[np.bool_] = jobs.run_time > jobs.estimate
    return over


def _simulated(jobs: RigidJobs, given: Configuration) -> tuple[Schedule, NDArray[np.int64]]:
    """Return the schedule of a scenario, and the rows of the jobs for which Gas chose."""
    nothing = np.zeros(0, np.int64)
    if not len(jobs):
        return Schedule(jobs=jobs, start=nothing, end=nothing), nothing
    policy, overrun, kind = given["policy"], given["overrun"], given["walltimes"]
    generator = np.random.default_rng([given["seed"], int(given["log"][:12], 16)])
    if kind == CORRECTED:
        return simulate_adjusted(jobs, Scheme()).schedule, nothing
    if kind != REQUESTED:
        factor = 1.0 if kind == PERFECT else float(kind.removeprefix("f="))
        drawn = exact(jobs.run_time) if factor == 1 else uniform_factor(jobs.run_time, factor, generator)
        jobs = replace(jobs, estimate=drawn)
    if given["own"] is not None:
        return simulate_apart(jobs, OwnPolicy(policy, given["own"]["named"]), overrun=overrun), nothing
    if given["moldable"]:
        bushel = of_moldable_jobs(jobs, len(jobs) * given["moldable"] // 100, Moldability(), generator)
        return with_gas(bushel, policy), jobs.row[bushel.places]
    return simulate(jobs, policy, overrun=overrun), nothing


@dataclass(frozen=True)
class _World:
    """The original jobs of the log, with which all scenarios are compared."""

    base: RigidJobs
    month: NDArray[Any]
    """Month of each job."""

    def compared(self, schedule: Schedule, other: Schedule, chose: NDArray[np.int64]) -> dict[str, Any] | None:
        """Return which jobs end later than in another schedule; None if no job is in both."""
        _, here, there = np.intersect1d(schedule.jobs.row, other.jobs.row, return_indices=True)
        if not here.size:
            return None
        rows = schedule.jobs.row[here]
        later = schedule.end[here] - other.end[there]
        at = np.searchsorted(self.base.row, rows, sorter=np.argsort(self.base.row))
        at = np.argsort(self.base.row)[at]
        share = self.base.processors[at] / self.base.machine
        size = np.where(self.base.processors[at] == 1, 0, 1 + np.searchsorted([1 / 16, 1 / 4], share))
        parts = {name: size == number for number, name in enumerate(SIZES)}
        if chose.size:
            uses = np.isin(rows, chose)
            parts = {"use Gas": uses, "others": ~uses}
        change = by_months(later.astype(np.float64), self.month[at].tolist())
        return {
            **_shares(later),
            "change": change.mean,
            "half_width": change.half_width,
            "parts": {name: _shares(later[part]) for name, part in parts.items() if part.any()},
            "users": _of_users(self.base.user[at], later),
        }


def _shares(later: NDArray[np.int64]) -> dict[str, Any]:
    return {
        "jobs": len(later),
        "later": float(np.mean(later > LATER)),
        "sooner": float(np.mean(later < -LATER)),
        "mean": float(later.mean()),
        "most_later": int(later.max()),
    }


def _of_users(user: NDArray[np.int64], later: NDArray[np.int64]) -> dict[str, int] | None:
    """Return for how many users jobs end later on average; None if the log has no users."""
    known = user >= 0
    if not known.any():
        return None
    _, number, counts = np.unique(user[known], return_inverse=True, return_counts=True)
    means = np.bincount(number, weights=later[known]) / counts
    return {"users": len(counts), "worse": int(np.count_nonzero(means > LATER))}
