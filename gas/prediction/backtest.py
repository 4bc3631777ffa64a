"""What would have been predicted at the submissions of a recorded log, and what came true.

At a submission the log shows what a scheduler would have: who ran, who waited, whose jobs had ended by then. From
that the queue is simulated forward (`gas.prediction.forecast`), what jobs waited at whose submissions the queue looked
alike is mixed in (`gas.prediction.learnt`), and the result is compared with the recorded start, whatever scheduler made
it. Nothing that happened later is looked at. The outcomes that were known by then decide how much each counts, and
correct the intervals (`gas.prediction.ledger`).

Beside it stand its parts, what the last jobs of like size and walltime waited, and the start that conservative
backfilling would plan if all jobs used up their walltimes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.prediction.forecast import forecast
from gas.prediction.learnt import LearntWaits, seen_at
from gas.prediction.ledger import INTERVAL, Ledger, Made
from gas.prediction.ledger import Outcome as Learnt
from gas.prediction.past import Past
from gas.prediction.similar import Similar
from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.simulation.schedule import Policy
from gas.times import LATEST
from workloads import Log, RigidJobs, rigid_jobs
from workloads.replay import ends

__all__ = ["FEWEST", "JOBS", "REHEARSED", "SAMPLES", "Outcome", "RecordedQueue", "backtest", "rehearsed"]

JOBS = 2_000
"""How many submissions are predicted unless asked otherwise, evenly over the log."""

SAMPLES = 100
"""How often the queue is simulated forward for each of them."""

FEWEST = 20
"""How many jobs have to end before the first prediction."""

REHEARSED = 200
"""So many of the last jobs teach a ledger that is empty."""

_OUTSIDE = (1 - INTERVAL) / 2


@dataclass(frozen=True)
class Outcome:
    """What was predicted at a submission and what came true; waits in seconds from it.

    Attributes
    ----------
    row
        Of the log that is backtested.
    submitted
        In seconds of the log.
    wait
        What came true.
    median, low, high
        Predicted: the middle, and an interval of 90%.
    raw_low, raw_high
        That interval without correction by earlier outcomes.
    weight
        How much the simulation counts in it, from 0 to 1.
    simulated, learnt
        The medians of its parts; None for the second before enough is known.
    planned
        The wait if all jobs used up their walltimes.
    similar
        The median wait of the last jobs that were like it; None where there are none.
    waiting
        How many jobs waited before it.
    """

    row: int
    submitted: int
    wait: int
    median: float
    low: int
    high: int
    raw_low: int
    raw_high: int
    weight: float
    simulated: float
    learnt: float | None
    planned: int
    similar: float | None
    waiting: int

    @property
    def inside(self) -> bool:
        """Whether it lay in the interval."""
        return self.low <= self.wait <= self.high


class RecordedQueue:
    """A log whose queue is known at each instant: when jobs were submitted, started and ended.

    Parameters
    ----------
    processors
        Of the machine; by default what the header says.
    still
        How the machine stands after the last line of the log, in epoch seconds: who runs, and so is not in it.

    Raises
    ------
    BadInput
        No job has a walltime, a wait and a run time.
    """

    def __init__(self, log: Log, processors: int | None = None, *, still: Snapshot | None = None) -> None:
        known = (log.requested_time > 0) & (log.wait >= 0) & (log.run_time >= 0)
        self.left_out = int(np.count_nonzero(~known))
        """How many jobs are left out: their walltime, wait or run time is unknown."""
        if not known.any():
            raise BadInput(f"{log.name}: no job has a walltime, a wait and a run time, which a comparison needs")
        log = log.select(known)
        self.jobs: RigidJobs = rigid_jobs(log, processors)
        """The others, in order of submission; those that do not fit the machine are left out."""
        self.rows = np.flatnonzero(known)[self.jobs.row]
        """The line of each in the log that was given."""
        self.end: NDArray[np.int64] = ends(log)[self.jobs.row]
        self.start: NDArray[np.int64] = np.ceil(log.submit + log.wait).astype(np.int64)[self.jobs.row]
        self.start = np.maximum(self.start, self.jobs.submit)
        self.queue = log.queue[self.jobs.row]
        self._last_end = np.maximum.accumulate(self.end)

        self.zero = log.start_time
        """The epoch second of second 0."""
        self._still: list[NDArray[np.int64]] = []
        if still is not None:
            runs, unknown = still.running, np.full(len(still), -1)
            start = still.start - self.zero
            submit = start if still.submit is None else still.submit - self.zero
            name = unknown if still.name is None else still.name
            self._still = [of[runs] for of in (still.processors, still.walltime, start, still.user, submit, name)]

    def __len__(self) -> int:
        return len(self.rows)

    def past(self) -> Past:
        """Return what can be learnt from it, instant by instant."""
        jobs = self.jobs
        return Past(jobs.submit, jobs.processors, jobs.estimate, jobs.run_time, self.end, jobs.user, jobs.executable)

    def similar(self) -> Similar:
        """Return what jobs of like size and walltime waited, instant by instant."""
        return Similar(self.jobs.submit, self.start, self.jobs.processors, self.jobs.estimate)

    def seen(self, places: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return what was seen at submissions, and of which jobs; see `gas.prediction.learnt.seen_at`."""
        return seen_at(self.jobs, self.start, self.end, self.queue, places)

    def places(self, jobs: int | None) -> NDArray[np.intp]:
        """Return so many of the jobs that can be predicted, evenly over the log; all for None.

        Raises
        ------
        BadInput
            Fewer jobs than `FEWEST` have ended before the last submission.
        """
        places = np.arange(self._first, len(self))
        if not places.size:
            known = int(np.count_nonzero(self.end < self.jobs.submit[-1]))
            raise BadInput(
                f"of {len(self)} usable jobs {known} ended before the last submission; before the first prediction, "
                f"{FEWEST} must have ended"
            )
        return places if jobs is None or places.size <= jobs else places[np.arange(jobs) * places.size // jobs]

    def asked(self, place: int) -> tuple[int, int, int]:
        """Return of a job its submission, its processors and its walltime."""
        jobs = self.jobs
        return int(jobs.submit[place]), int(jobs.processors[place]), int(jobs.estimate[place])

    def snapshot(self, place: int) -> Snapshot:
        """Return who ran and waited when a job was submitted, without it and those after it in the log.

        Some logs record more processors in use than their machine has; it has as many then.
        """
        jobs, now = self.jobs, int(self.jobs.submit[place])
        first = int(np.searchsorted(self._last_end[:place], now, side="right"))  # before it all have ended
        here = first + np.flatnonzero(self.end[first:place] > now)
        running = self.start[here] <= now
        start = np.where(running, self.start[here], UNPLANNED)
        columns = [
            jobs.processors[here], jobs.estimate[here], start, jobs.user[here], jobs.submit[here], jobs.executable[here]
        ]  # fmt: skip
        if self._still:
            ran = self._still[2] <= now
            columns = [np.concatenate([still[ran], of]) for still, of in zip(self._still, columns, strict=True)]
            running = np.concatenate([ran[ran], running])
        processors, walltime, start, user, submit, name = columns
        machine = max(jobs.machine, int(processors[running].sum()))
        return Snapshot(
            now=now, machine=machine, processors=processors, walltime=walltime, start=start, running=running,
            user=user, submit=submit, name=name,
        )  # fmt: skip

    def starts_after(self, instant: int, most: int) -> NDArray[np.int64]:
        """Return the places of the last jobs to start, of those that started after an instant, ascending."""
        places = np.arange(self._first, len(self))
        places = places[self.start[places] > instant]
        return np.sort(places[np.argsort(self.start[places], kind="stable")][-most:] if most else places[:0])

    @property
    def _first(self) -> int:
        """The first place at whose submission `FEWEST` jobs had ended."""
        ended = np.sort(self.end)
        return len(self) if len(ended) < FEWEST else int(np.searchsorted(self.jobs.submit, ended[FEWEST - 1], "right"))


def backtest(
    recorded: RecordedQueue, *, jobs: int | None = JOBS, samples: int = SAMPLES, seed: int = 0, policy: Policy = "s3"
) -> Iterator[Outcome]:
    """Yield the outcome of each job that is predicted, in order of submission.

    Parameters
    ----------
    jobs
        How many, evenly over the log; all for None.
    policy
        How the machine is taken to plan its queue.

    Raises
    ------
    BadInput
        Fewer jobs than `FEWEST` have ended before the last submission.
    """
    places = recorded.places(jobs)
    ledger = Ledger()
    learnt = LearntWaits(*recorded.seen(places), recorded.jobs.submit, recorded.start, seed=seed)
    similar = recorded.similar()
    like = alike = np.zeros(0, np.int64)

    def beside(place: int) -> NDArray[np.int64]:
        nonlocal like, alike
        like, alike = similar.waits(*recorded.asked(place)), learnt.waits(place)
        return alike if alike.size else like

    for place, waiting, made in _predicted(recorded, places.tolist(), ledger, samples, seed, policy, beside):
        raw = np.quantile(made.waits, (_OUTSIDE, 1 - _OUTSIDE), method="inverted_cdf").tolist()
        yield Outcome(
            row=int(recorded.rows[place]),
            submitted=int(recorded.jobs.submit[place]),
            wait=int(recorded.start[place] - recorded.jobs.submit[place]),
            median=float(np.median(made.waits)),
            low=made.low,
            high=made.high,
            raw_low=int(raw[0]),
            raw_high=int(raw[1]),
            weight=ledger.weight(made.kind) if made.similar.size else 1.0,
            simulated=float(np.median(made.simulated)),
            learnt=float(np.median(alike)) if alike.size else None,
            planned=made.latest,
            similar=float(np.median(like)) if like.size else None,
            waiting=waiting,
        )


def rehearsed(
    recorded: RecordedQueue,
    ledger: Ledger,
    in_time: Callable[[float], bool],
    *,
    most: int = REHEARSED,
    samples: int = SAMPLES,
    policy: Policy = "s3",
    mixes: bool = True,
) -> list[Learnt]:
    """Return what would have come of predictions of the last jobs to start; those that a ledger knows are left out.

    Parameters
    ----------
    ledger
        What is known already; it is not changed.
    in_time
        Whether there is time for another prediction when this share of them is done or left out; those for which there
        is none are left out, so that all of the time counts alike.
    mixes
        Whether the waits of similar jobs are mixed in.
    """
    since = max((one.start for one in ledger.outcomes if one.afterwards), default=-LATEST)
    places = recorded.starts_after(since - recorded.zero, most)
    own = Ledger(ledger.outcomes)
    similar, nobody = recorded.similar(), np.zeros(0, np.int64)

    def beside(place: int) -> NDArray[np.int64]:
        return similar.waits(*recorded.asked(place)) if mixes else nobody

    chosen = (place for done, place in enumerate(places.tolist()) if in_time(done / len(places)))
    for _ in _predicted(recorded, chosen, own, samples, 0, policy, beside):
        pass
    own.learn(LATEST)
    return [one for one in own.outcomes if one.afterwards and one.start > since]


def _predicted(
    recorded: RecordedQueue,
    places: Iterable[int],
    ledger: Ledger,
    samples: int,
    seed: int,
    policy: Policy,
    beside: Callable[[int], NDArray[np.int64]],
) -> Iterator[tuple[int, int, Made]]:
    """Yield a prediction for each of these places, with how many waited; the ledger learns of its outcome in time."""
    jobs, past = recorded.jobs, recorded.past()
    for place in places:
        now, instant = int(jobs.submit[place]), int(jobs.submit[place]) + recorded.zero
        ledger.learn(instant)
        snapshot = recorded.snapshot(place)
        size, walltime = jobs.processors[[place]], jobs.estimate[[place]]
        lasts = jobs.run_time[[place]]
        found = forecast(snapshot, past, size, walltime, lasts, samples=samples, seed=seed, policy=policy, alone=1)
        simulated = np.sort(found.starts[:, 0]) - now
        latest = int(found.latest[0]) - now
        made = ledger.predict(instant, simulated, latest, beside(place), afterwards=True)
        yield place, snapshot.waiting, made
        ledger.predicted(str(place), made)
        ledger.started(str(place), int(recorded.start[place]) + recorded.zero)
