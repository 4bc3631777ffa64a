"""Whether a waiting job should get another shape, by predictions rather than by plans.

The job stays in its place of the queue, in each shape with the start that would be planned for it there. The queue is
simulated forward with each shape, in the same samples: all other jobs have the same run times, and the same jobs arrive
later. So the gain of another shape is known sample by sample, and not only on average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gas.planner import Candidate
from gas.prediction.forward import NO_ARRIVALS, Arrivals, latest_starts, starts_of_waiting
from gas.prediction.ledger import Ledger, Made
from gas.prediction.snapshot import Snapshot
from gas.reshaping import Reshaping
from gas.simulation.schedule import Policy
from gas.times import duration_text

__all__ = ["LikelyReshaping", "likely_reshaping", "starts_in_place", "worth_following"]

MOST_SHAPES = 12
"""Most shapes that are simulated besides the present one."""


def starts_in_place(
    snapshot: Snapshot,
    place: int,
    shapes: Sequence[tuple[int, int]],
    run_times: NDArray[np.int64],
    arrivals: Arrivals = NO_ARRIVALS,
    *,
    not_before: int | None = None,
    policy: Policy = "s3",
    threads: int = 1,
    machine_code: bool = True,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the latest start of a waiting job in each shape, and its start in each sample.

    Parameters
    ----------
    snapshot
        Snapshot without the job.
    place
        Number of its jobs that come before the job.
    shapes
        Processors and walltime of each shape.
    run_times
        Run times of all other jobs, a row per sample.

    Returns
    -------
    Shapes ``(shapes,)`` and ``(samples, shapes)``.
    """
    columns = np.array(shapes, np.int64).reshape(-1, 2).T
    latest = latest_starts(snapshot, columns, not_before=not_before, policy=policy, machine_code=machine_code)
    starts = np.empty((len(run_times), len(shapes)), np.int64)
    for number, (processors, walltime) in enumerate(shapes):
        there = _with_job(snapshot, place, processors, walltime, int(latest[number]), not_before)
        drawn = np.insert(run_times, place, walltime, axis=1)
        found = starts_of_waiting(
            there, drawn, arrivals, jobs=np.array([place], np.int64), policy=policy, threads=threads,
            machine_code=machine_code,
        )  # fmt: skip
        starts[:, number] = np.minimum(found[:, 0], latest[number])
    return latest, starts


def _with_job(
    snapshot: Snapshot, place: int, processors: int, walltime: int, start: int, not_before: int | None
) -> Snapshot:
    def added(column: NDArray[np.int64] | None, value: int) -> NDArray[np.int64] | None:
        return None if column is None else np.insert(column, place, value)

    earliest = snapshot.not_before
    if earliest is None and not_before is not None and not_before > snapshot.now:
        earliest = np.full(len(snapshot), snapshot.now, np.int64)
    return replace(
        snapshot,
        processors=np.insert(snapshot.processors, place, processors),
        walltime=np.insert(snapshot.walltime, place, walltime),
        start=np.insert(snapshot.start, place, start),
        running=np.insert(snapshot.running, place, False),
        user=np.insert(snapshot.user, place, -1),
        fixed=None if snapshot.fixed is None else np.insert(snapshot.fixed, place, False),
        not_before=added(earliest, max(snapshot.now, not_before or 0)),
        submit=added(snapshot.submit, snapshot.now),
        name=added(snapshot.name, -1),
    )


def worth_following(found: Reshaping, most: int = MOST_SHAPES) -> list[Candidate]:
    """Return the shapes of a plan that may be worth a change, at most `most`: those planned to finish first.

    Left out are the present shape, and shapes that would finish later than the job as it is even if started at once.
    """
    current = found.current
    if current is None:
        return []
    hopeful = [
        one
        for one in found.plan.candidates
        if (one.processors, one.walltime) != (current.processors, current.walltime)
        and found.now + one.execution_time < current.finish
    ]
    return sorted(hopeful, key=lambda one: (one.finish, one.processors))[:most]


@dataclass(frozen=True)
class LikelyReshaping(Reshaping):
    """A waiting job as it is, and its best predicted shape.

    Attributes
    ----------
    starts
        Start as it is, and in each simulated shape: one per sample, the same samples for all.
    risk
        Probability of the required gain; None for the mean.
    ledger
        Outcomes of earlier predictions.
    within
        Possible error of starts in seconds.
    beside
        Past waits, counted from now, that are mixed into the prediction of a shape.
    """

    starts: Mapping[Candidate, NDArray[np.int64]] = field(default_factory=dict, kw_only=True)
    risk: float | None = field(default=None, kw_only=True)
    ledger: Ledger = field(default_factory=Ledger, kw_only=True)
    within: int = field(default=0, kw_only=True)
    beside: Mapping[Candidate, NDArray[np.int64]] = field(default_factory=dict, kw_only=True)

    word = "predicted"

    @property
    def gain(self) -> int | None:
        """Seconds by which the best shape finishes sooner: the mean, or at least this with the probability `risk`."""
        if self.best is None or self.current is None or self.killed:
            return super().gain
        return self.gain_of(self.best)

    def gain_of(self, one: Candidate) -> int:
        """Return by how many seconds a shape would finish sooner than the job as it is."""
        assert self.current is not None, "it is compared with that"
        gains = self._finishes(self.current) - self._finishes(one)
        if self.risk is None:
            return math.floor(float(gains.mean()))
        # At least a share `risk` of the samples gains this or more.
        return int(np.sort(gains)[len(gains) - max(1, math.ceil(round(self.risk * len(gains), 9)))])

    def start_of(self, candidate: Candidate) -> int:
        """Return the mean of its starts; the planned start for a shape that was not simulated."""
        found = self.starts.get(candidate)
        return candidate.start if found is None else round(float(found.mean()))

    def why(self) -> str:
        """Return in words why the job should be changed, or kept as it is."""
        if self.blocked is not None or self.best is None or self.current is None or self.gain is None:
            return super().why()
        sure = "" if self.risk is None else f", with a probability of {100 * self.risk:g}%"
        if self.gain <= 0:
            return f"no other size is predicted to finish sooner{sure}"
        best = f"{self.best.size_text} would finish {duration_text(self.gain)} sooner{sure or ' on average'}"
        return best if self.worth_it else f"{best}; the minimum for a change is {duration_text(self.least)}"

    def prediction(self, one: Candidate) -> Made:
        """Return the prediction of the job as it is, or in a simulated shape, to record its outcome.

        The latest start is the planned one.
        """
        waits = np.sort(np.maximum(self.starts[one] - self.now, 0))
        latest = max(one.start - self.now, int(waits[-1]))
        beside = self.beside.get(one, np.zeros(0, np.int64))
        made = self.ledger.predict(self.now, waits, latest, beside, within=self.within)
        return made if one.kind != "promise" else replace(made, low=min(made.low, latest), high=min(made.high, latest))

    def _finishes(self, one: Candidate) -> NDArray[np.int64]:
        return np.asarray(self.starts[one] + one.execution_time, np.int64)


def likely_reshaping(
    found: Reshaping,
    starts: Mapping[Candidate, NDArray[np.int64]],
    *,
    ledger: Ledger | None = None,
    within: int = 0,
    beside: Mapping[Candidate, NDArray[np.int64]] | None = None,
    risk: float | None = None,
    threshold: float = 0.05,
    least: int = 60,
) -> LikelyReshaping:
    """Return the reshaping of a waiting job by predictions.

    Parameters
    ----------
    found
        Present and possible plans of its scheduler; the job as it is has a plan.
    starts
        Starts of the job as it is, and in shapes of the plan: one per sample, the same samples for all.
    within, beside
        As in `LikelyReshaping`.
    threshold
        Least gain for a change, as a share of the time from now to the expected finish of the job as it is.
    least
        Least gain for a change in seconds; the larger of both counts.
    """
    current = found.current
    assert current is not None, "requests that can never start are not predicted"
    ends = float(starts[current].mean()) + current.execution_time - found.now
    made = LikelyReshaping(
        found.now, current, None, max(least, round(threshold * ends)), found.plan, found.late, None, found.blocked,
        starts=starts, risk=risk, ledger=ledger or Ledger(), within=within, beside=beside or {},
    )  # fmt: skip
    shapes = [one for one in starts if one != current]
    if made.killed:  # change it for any gain, even a negative one
        best = min(shapes, key=lambda one: (made.finish_of(one), one.processors), default=found.best)
    else:
        best = max(shapes, key=lambda one: (made.gain_of(one), -one.processors), default=None)
    return replace(made, best=best)
