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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.prediction.forecast import forecast
from gas.prediction.learnt import LearntWaits, seen_at
from gas.prediction.ledger import INTERVAL, Ledger
from gas.prediction.past import Past
from gas.prediction.similar import Similar
from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.simulation.schedule import Policy
from workloads import Log, RigidJobs, rigid_jobs
from workloads.replay import ends

__all__ = ["FEWEST", "JOBS", "SAMPLES", "Outcome", "RecordedQueue", "backtest"]

JOBS = 2_000
"""How many submissions are predicted unless asked otherwise, evenly over the log."""

SAMPLES = 100
"""How often the queue is simulated forward for each of them."""

FEWEST = 20
"""How many jobs have to end before the first prediction."""

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

    Raises
    ------
    BadInput
        No job has a walltime, a wait and a run time.
    """

    def __init__(self, log: Log, processors: int | None = None) -> None:
        known = (log.requested_time > 0) & (log.wait >= 0) & (log.run_time >= 0)
        self.left_out = int(np.count_nonzero(~known))
        """How many jobs are left out: their walltime, wait or run time is unknown."""
        if not known.any():
            raise BadInput(
                f"{log.name}: no job has a walltime, a wait and a run time, and predictions are compared with them"
            )
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
        submit, ended = self.jobs.submit, np.sort(self.end)
        first = len(self) if len(ended) < FEWEST else int(np.searchsorted(submit, ended[FEWEST - 1], "right"))
        places = np.arange(first, len(self))
        if not places.size:
            known = int(np.count_nonzero(ended < submit[-1]))
            raise BadInput(
                f"of {len(self)} usable jobs {known} ended before the last submission; before the first prediction, "
                f"{FEWEST} must have ended"
            )
        return places if jobs is None or places.size <= jobs else places[np.arange(jobs) * places.size // jobs]

    def snapshot(self, place: int) -> Snapshot:
        """Return who ran and waited when a job was submitted, without it and those after it in the log.

        Some logs record more processors in use than their machine has; it has as many then.
        """
        jobs, now = self.jobs, int(self.jobs.submit[place])
        first = int(np.searchsorted(self._last_end[:place], now, side="right"))  # before it all have ended
        here = first + np.flatnonzero(self.end[first:place] > now)
        running = self.start[here] <= now
        machine = max(jobs.machine, int(jobs.processors[here][running].sum()))
        return Snapshot(
            now=now,
            machine=machine,
            processors=jobs.processors[here],
            walltime=jobs.estimate[here],
            start=np.where(running, self.start[here], UNPLANNED),
            running=running,
            user=jobs.user[here],
            submit=jobs.submit[here],
            name=jobs.executable[here],
        )


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
    all_jobs, past, places = recorded.jobs, recorded.past(), recorded.places(jobs)
    ledger = Ledger()
    similar = recorded.similar()
    learnt = LearntWaits(*recorded.seen(places), all_jobs.submit, recorded.start, seed=seed)
    for place in places.tolist():
        now, start = int(all_jobs.submit[place]), int(recorded.start[place])
        ledger.learn(now)
        snapshot = recorded.snapshot(place)
        asked = all_jobs.processors[[place]], all_jobs.estimate[[place]]
        lasts = all_jobs.run_time[[place]]
        made = forecast(snapshot, past, *asked, lasts, samples=samples, seed=seed, policy=policy, alone=1)
        waits, planned = np.sort(made.starts[:, 0]) - now, int(made.latest[0]) - now
        like = similar.waits(now, *(int(one[0]) for one in asked))
        alike = learnt.waits(place)
        found = ledger.predict(now, waits, planned, alike if alike.size else like)
        raw = np.quantile(found.waits, (_OUTSIDE, 1 - _OUTSIDE), method="inverted_cdf").tolist()
        yield Outcome(
            row=int(recorded.rows[place]),
            submitted=now,
            wait=start - now,
            median=float(np.median(found.waits)),
            low=found.low,
            high=found.high,
            raw_low=int(raw[0]),
            raw_high=int(raw[1]),
            weight=ledger.weight(found.kind) if found.similar.size else 1.0,
            simulated=float(np.median(waits)),
            learnt=float(np.median(alike)) if alike.size else None,
            planned=planned,
            similar=float(np.median(like)) if like.size else None,
            waiting=snapshot.waiting,
        )
        ledger.predicted(str(place), found)
        ledger.started(str(place), start)
