"""The time that choosing by predictions would have saved: other sizes of recorded jobs, and when each would have ended.

A log records the start of one request of each job. So all jobs are assumed to be moldable, by the same rule, and a
replay finds when each size would have ended: it simulates the queue at the submission forward, with the later run times
and arrivals of the log. Choices do not use these; they use the plan, or the prediction. The replay of the recorded size
shows how close the replay is to the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.intervals import Interval, by_months
from gas.prediction.backtest import LONGEST_QUEUE, Outcome
from gas.prediction.classes import members_of, parts_of
from gas.prediction.forecast import forecast
from gas.prediction.forward import starts_of_each
from gas.prediction.parts import in_turn
from gas.prediction.recorded import RecordedQueue
from gas.prediction.scores import FACTOR_FROM, within_factor_2
from gas.simulation.schedule import Policy
from gas.times import LONGEST

__all__ = ["FASTER", "SIZES", "Choice", "Saving", "Savings", "choices"]
__all__ += ["places_of_choices", "savings_of"]

SIZES = (0.5, 1.0, 2.0)
"""The sizes to choose among, as multiples of the recorded size; sizes larger than the machine are left out."""

FASTER = 1.8
"""How many times faster a job runs on twice the processors."""

MOST = 200
"""The most jobs that choose, spread evenly over the jobs that met a queue."""

_SAMPLES, _LEAST, _VISITS = 30, 10, 1e6
"""Samples of a choice, fewer for a long queue, as in `gas.prediction.backtest` for a prediction."""

_PART = 10


@dataclass(frozen=True)
class Choice:
    """Turn-around times of one job, in seconds in the replay.

    Attributes
    ----------
    place
        Index of the job in the recorded queue.
    requested
        Turn-around time of the requested size.
    planned, predicted
        Turn-around times of the sizes that are planned, and predicted, to end first.
    best
        The least one.
    wait
        Wait of the requested size.
    chosen
        The size that is predicted to end first.
    """

    place: int
    requested: int
    planned: int
    predicted: int
    best: int
    wait: int
    chosen: int


def places_of_choices(recorded: RecordedQueue, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the indices, at most `MOST`, of jobs that found a queue that can be simulated.

    For jobs without a queue, any prediction is the same.
    """
    waiting = recorded.waiting(places)
    met = places[(waiting > 0) & (waiting <= LONGEST_QUEUE)]
    return met if met.size <= MOST else met[np.arange(MOST) * met.size // MOST]


def choices(
    recorded: RecordedQueue,
    places: NDArray[np.intp],
    *,
    samples: int = _SAMPLES,
    seed: int = 0,
    policy: Policy = "s3",
    threads: int = 1,
) -> Iterator[Choice]:
    """Yield the choice of each of these jobs, with turn-around times.

    Parameters
    ----------
    samples
        Number of forward simulations of the queue for a choice.
    """
    past = recorded.past()

    def some(part: list[int]) -> Iterator[Choice]:
        own = past.anew()
        for place in part:
            snapshot = recorded.snapshot(place)
            sizes, walltimes, lasts = _requests(recorded, place, snapshot.machine)
            made = forecast(
                snapshot, recorded.past_of(place, own), sizes, walltimes, lasts, samples=samples, seed=seed,
                policy=policy, alone=len(sizes), least=_LEAST, visits=_VISITS,
            )  # fmt: skip
            run_times, later = recorded.hindsight(place, int(made.latest.max()) - snapshot.now)
            candidates = np.array([sizes, walltimes])
            wait = starts_of_each(snapshot, run_times, candidates, later, policy=policy)[0] - snapshot.now
            ends = wait + lasts
            own_size = int(np.flatnonzero(sizes == recorded.jobs.processors[place])[0])
            planned, predicted = int(np.argmin(made.latest + lasts)), int(np.argmin(made.expected_finish))
            yield Choice(
                place=place,
                requested=int(ends[own_size]),
                planned=int(ends[planned]),
                predicted=int(ends[predicted]),
                best=int(ends.min()),
                wait=int(wait[own_size]),
                chosen=int(sizes[predicted]),
            )

    parts = [places[first : first + _PART].tolist() for first in range(0, len(places), _PART)]
    yield from in_turn(some, parts, threads)


@dataclass(frozen=True)
class Saving:
    """The savings of choosing by prediction for a class of jobs; mean turn-around times in seconds.

    Attributes
    ----------
    kind, name
        As in `gas.prediction.classes.JobClass`.
    saved
        Mean saving by the prediction compared with the recorded request, in seconds per job.
    later
        Share of jobs that would have ended later.
    """

    kind: str
    name: str
    jobs: int
    requested: float
    planned: float
    predicted: float
    best: float
    saved: Interval
    later: float

    def change(self, seconds: float) -> float:
        """Return seconds as a share of the mean turn-around time of the recorded requests."""
        return seconds / max(self.requested, 1.0)


@dataclass(frozen=True)
class Savings:
    """The savings of choosing by prediction, and how close the replay is to the log.

    Attributes
    ----------
    classes
        The first class is all jobs that found a queue; empty if none did.
    delayed, near
        Number of these jobs that waited for more than ten minutes, and the share whose replayed wait is within a factor
        of two of the recorded one; None if none waited.
    """

    classes: tuple[Saving, ...] = ()
    delayed: int = 0
    near: float | None = None


def savings_of(
    recorded: RecordedQueue, places: NDArray[np.intp], outcomes: Sequence[Outcome], chosen: Sequence[Choice]
) -> Savings:
    """Return what would have been saved by class of jobs."""
    if not chosen:
        return Savings()
    at = np.searchsorted(places, [one.place for one in chosen])
    columns = {
        name: np.array([getattr(one, name) for one in chosen], np.float64)
        for name in ("requested", "planned", "predicted", "best")
    }
    saved, part = columns["requested"] - columns["predicted"], parts_of(len(chosen))
    classes = [
        Saving(
            kind,
            name,
            int(of.sum()),
            **{column: float(values[of].mean()) for column, values in columns.items()},
            saved=by_months(saved[of], part[of].tolist()),
            later=float((saved[of] < 0).mean()),
        )
        for kind, name, of in members_of(recorded, places[at], [outcomes[one] for one in at.tolist()])
    ]
    waits = np.array([(recorded.start[one.place] - recorded.jobs.submit[one.place], one.wait) for one in chosen])
    wait, replayed = waits[waits[:, 0] > FACTOR_FROM].T.astype(np.float64)
    near = float(within_factor_2(replayed, wait).mean()) if wait.size else None
    return Savings(tuple(classes), wait.size, near)


def _requests(
    recorded: RecordedQueue, place: int, machine: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the sizes among which a job chooses, ascending, with their walltimes and execution times."""
    jobs, size = recorded.jobs, int(recorded.jobs.processors[place])
    sizes = sorted({int(one * size) for one in SIZES if 1 <= one * size <= machine})
    slower = [(size / one) ** math.log2(FASTER) for one in sizes]
    run_time = min(int(jobs.run_time[place]), int(jobs.estimate[place]))
    walltimes, lasts = (
        np.array([min(max(1, math.ceil(one * seconds)), LONGEST) for one in slower], np.int64)
        for seconds in (int(jobs.estimate[place]), run_time)
    )
    return np.array(sizes, np.int64), walltimes, lasts
