"""Waits learned from the state of a recorded queue at the submission of other jobs, and from their waits.

A forest (`gas.prediction.forest`) is grown from the last jobs that have started, and regrown as more have. The features
of a job's submission (`gas.prediction.queue_state`) select the past waits that its own wait is likely to resemble. All
jobs are predicted as they are submitted; the outcomes determine the ends of intervals (`gas.prediction.tails`). Jobs
that still wait for longer than predicted also count: of jobs that arrive together, those that start soon are known
first, and intervals from these alone are too short while a queue grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.prediction.blend import POINTS
from gas.prediction.calibration import Level
from gas.prediction.forest import Forest, Picked, beyond
from gas.prediction.queue_state import jobs_seen, queue_states
from gas.prediction.tails import LAST_COUNTED, Outcome, Tails
from workloads import RigidJobs

__all__ = ["FEWEST", "LAST", "NOTHING", "SHORT", "Learnt", "LearntWaits", "middle_of", "seen_at"]

FEWEST = 30
"""Number of started jobs from which on anything is learned."""

LAST = 8_000
"""Most jobs from which the forest is grown, the last that have started."""

_MOST = 20_000
"""Most jobs of a log to learn from, thinned out evenly."""

_SEEN = 40_000_000
"""Most jobs to read in all their queues, otherwise fewer are learned from: a minute of one core."""

_AGAIN = 100
"""It is regrown when this many more have started, or a fiftieth of those known."""

_LEVELS = (np.arange(POINTS) + 0.5) / POINTS

_ENDS = np.array([0.96, 0.97, 0.98, 0.99, 1.0])
"""Levels at which a job is recorded as having waited for longer than predicted."""

SHORT = 270
"""A median of fewer seconds is not within a factor of two of any wait above ten minutes."""

_UNIT_SECONDS = 600.0


class Learnt(NamedTuple):
    """A prediction, in seconds.

    Attributes
    ----------
    waits
        `POINTS` waits, sorted, as the distribution of a job's wait; none if too little is known.
    intervals
        Both ends for each requested probability.
    """

    waits: NDArray[np.int64]
    intervals: tuple[tuple[int, int], ...] = ()


NOTHING: Final = Learnt(np.zeros(0, np.int64))
"""The prediction if too little is known."""


class LearntWaits:
    """Learned waits of a recorded queue, at instants in ascending order.

    Parameters
    ----------
    seen
        See `seen_at`.
    submit, start
        Instants for each job, in the log's seconds.
    """

    def __init__(
        self,
        seen: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        submit: NDArray[np.int64],
        start: NDArray[np.int64],
        *,
        seed: int = 0,
    ) -> None:
        self._seen, self._submit, self._waits, self._seed = seen, submit, start - submit, seed
        by_start = np.argsort(start, kind="stable")
        self._order = by_start[wanted[by_start]]
        self._starts = start[self._order]
        self._grown = 0
        self._forest: Forest | None = None
        self._wanted = np.flatnonzero(wanted)
        self._tried = 0
        self._open: list[_Open] = []  # a heap
        self._late: list[tuple[Outcome, _Open]] = []
        self._tails = Tails()

    def predicted(self, place: int, shares: Sequence[float]) -> Learnt:
        """Return the prediction for a job; call this for jobs in the order of their submission.

        Parameters
        ----------
        shares
            The probabilities of its intervals.
        """
        before = int(np.searchsorted(self._wanted, place))
        for other in self._wanted[self._tried : before].tolist():
            self._try(other)
        self._tried = max(self._tried, before)
        picked = self._picked(place)
        if picked is None:
            return NOTHING
        self._learn(int(self._submit[place]))
        ends = picked.quantiles(np.array([self._tails.levels(share) for share in shares]))
        return Learnt(picked.quantiles(_LEVELS), tuple((low, high) for low, high in ends.tolist()))

    def waits_at(self, place: int, now: int) -> NDArray[np.int64]:
        """Return `POINTS` sorted waits as a distribution of a job's wait; none if too little is known.

        Starts before that instant are known.
        """
        picked = self._picked(place, now)
        return NOTHING.waits if picked is None else picked.quantiles(_LEVELS)

    def _picked(self, place: int, now: int | None = None) -> Picked | None:
        known = int(np.searchsorted(self._starts, self._submit[place] if now is None else now))  # started before
        if known < FEWEST:
            return None
        if self._forest is None or known - self._grown >= max(_AGAIN, known // 50):
            rows = self._order[max(0, known - LAST) : known]
            self._forest = Forest(self._seen[rows], self._waits[rows], seed=self._seed)
            self._grown = known
        return self._forest.picked(self._seen[place])

    def _try(self, place: int) -> None:
        """Predict a job to learn from its outcome."""
        picked = self._picked(place)
        if picked is not None:
            submit, wait = int(self._submit[place]), int(self._waits[place])
            ends = picked.quantiles(_ENDS)
            heappush(self._open, _Open(submit + min(wait, int(ends[0]) + 1), place, picked.level(wait), ends))

    def _learn(self, now: int) -> None:
        """Learn what was known before an instant: starts, and jobs that still waited for longer than predicted."""
        while self._open and self._open[0].known < now:
            one = heappop(self._open)
            submit, wait = int(self._submit[one.place]), int(self._waits[one.place])
            if submit + wait == one.known:
                self._tails.add(Outcome(one.level, wait))
            else:
                late = Outcome(_so_far(now - submit, one.ends), 0)
                self._tails.add(late)
                self._late.append((late, one))
        still, self._late = self._late[-LAST_COUNTED:], []
        for outcome, one in still:
            waited, wait = now - int(self._submit[one.place]), int(self._waits[one.place])
            if waited > wait:
                self._tails.goes_on(outcome, one.level, wait)
            else:
                self._tails.goes_on(outcome, _so_far(waited, one.ends), waited)
                self._late.append((outcome, one))


class _Open(NamedTuple):
    """A job that was predicted to learn from its outcome.

    Attributes
    ----------
    known
        The instant at which it starts, or at which it has waited for longer than predicted.
    level
        Level of the true wait.
    ends
        Waits at `_ENDS`.
    """

    known: int
    place: int
    level: Level
    ends: NDArray[np.int64]


def _so_far(waited: int, ends: NDArray[np.int64]) -> Level:
    """Return the least possible level of a job that has waited for so long and has not started."""
    longest = int(ends[-1])
    if waited > longest:
        return beyond(waited, longest)
    least = float(_ENDS[max(int(np.searchsorted(ends, waited)) - 1, 0)])
    return Level(least, least)


def middle_of(waits: NDArray[np.int64]) -> float:
    """Return the one wait that represents sorted waits: their median.

    If the median is below some minutes, return the wait closest to the others by the logarithm of the difference:
    if jobs start either at once or much later, few wait for minutes.
    """
    median = float(np.median(waits))
    if median >= SHORT:
        return median
    apart = np.log1p(np.abs(waits[:, None] - waits[None, :]) / _UNIT_SECONDS)
    return float(waits[int(np.argmin(apart.mean(axis=1)))])


def seen_at(
    jobs: RigidJobs,
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    queue: NDArray[np.int64],
    room: NDArray[np.int64],
    places: NDArray[np.intp],
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return features at submissions (`queue_states`), and for which jobs: requested ones and others to learn from."""
    count = len(start)
    wanted = np.zeros(count, np.bool_)
    wanted[places] = True
    apart, costs = -(-count // _MOST), jobs_seen(jobs.submit, start, end)
    while apart < count and costs[::apart].sum() > _SEEN:
        apart *= 2
    wanted[::apart] = True
    of_jobs = jobs.processors, jobs.estimate, jobs.run_time, jobs.user, queue
    return queue_states(jobs.submit, start, end, *of_jobs, jobs.machine, wanted, room=room), wanted
