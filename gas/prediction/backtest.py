"""Predictions for the jobs of a recorded log as of their submission, and the outcomes.

At a submission the log shows what a scheduler would have known: running jobs, waiting jobs, and jobs that had ended.
From this the queue is simulated forward (`gas.prediction.forecast`), and waits are learned from jobs that found a
similar queue (`gas.prediction.learnt`). Both are mixed until the known outcomes show that the learned waits alone are
as good (`gas.prediction.ledger`). The result is compared with the recorded start, whichever scheduler made it. Nothing
that happened later is used.

For comparison there are its parts, the waits of the last jobs of similar size and walltime, and the start that
conservative backfilling would plan if all jobs used their whole walltimes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.prediction.calibration import ends_of
from gas.prediction.forecast import forecast
from gas.prediction.forward import latest_starts
from gas.prediction.learnt import NOTHING, Learnt, LearntWaits, middle_of
from gas.prediction.ledger import INTERVAL, Ledger, Made
from gas.prediction.ledger import Outcome as CameTrue
from gas.prediction.parts import in_turn
from gas.prediction.past import Past
from gas.prediction.recorded import RecordedQueue
from gas.simulation.schedule import Policy
from gas.times import LATEST

__all__ = ["JOBS", "LONGEST_QUEUE", "REHEARSED", "SAMPLES", "SHARES", "Outcome", "Simulated", "backtest", "rehearsed"]
__all__ += ["Elsewhere", "simulated_part"]

JOBS = 2_000
"""Default number of predicted submissions, evenly over the log."""

SAMPLES = 100
"""Most forward simulations of the queue for each of them."""

REHEARSED = 200
"""Number of last jobs that train an empty ledger."""

_VISITS = 1e6
"""Most visits to jobs by the simulations of a prediction, a quarter of a second; a long queue gets fewer samples. On
the log of KTH ten samples score as well as a hundred: most jobs wait for reasons other than run times.
"""

_LEAST = 10
"""Samples for the longest simulated queue."""

LONGEST_QUEUE = 400
"""Queues with more waiting jobs are not simulated: the prediction is what was learned from past waits. On a synthetic
log with up to 16,000 waiting jobs this was closer to the truth than ten samples, for queues of 400 to 1,000 jobs.
"""

_PART = 20
"""Number of predictions that a thread makes before the next thread's turn."""

SHARES = (0.1, 0.3, 0.5, 0.7, 0.8, INTERVAL, 0.95)
"""Probabilities of intervals whose outcomes are counted."""


@dataclass(frozen=True)
class Outcome:
    """A prediction at a submission, and its outcome; waits are in seconds from the submission.

    Attributes
    ----------
    row
        Row of the job in the log.
    submitted
        Submission in seconds of the log.
    wait
        The true wait.
    median, low, high
        Predicted: the middle (`gas.prediction.learnt.middle_of`), and a 90% interval.
    raw_low, raw_high
        That interval without correction by earlier outcomes.
    weight
        Weight of the simulation in it, from 0 to 1.
    simulated, learnt
        The middles of its parts; None for the first if the queue was too long to simulate, and for the second before
        enough is known.
    planned
        The wait if all jobs used their whole walltimes.
    similar
        The median wait of the last similar jobs; None if there are none.
    waiting
        Number of jobs that waited before it.
    samples
        Number of forward simulations of the queue; fewer for a long queue, none for one longer than `LONGEST_QUEUE`.
    held_from, raw_held_from
        The least of `SHARES` whose interval contains the true wait, with that correction and without; 1 if none does.
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
    simulated: float | None
    learnt: float | None
    planned: int
    similar: float | None
    waiting: int
    samples: int
    held_from: float
    raw_held_from: float

    @property
    def inside(self) -> bool:
        """Whether the wait was in the interval."""
        return self.low <= self.wait <= self.high

    @property
    def one_instant(self) -> bool:
        """Whether the interval is one instant, such as "at once": it holds always or never, whatever its share."""
        return self.low == self.high


@dataclass(frozen=True, eq=False)
class Simulated:
    """The result of simulating the queue for a job at its submission.

    Attributes
    ----------
    place
        Index of the job in the recorded queue.
    waiting
        Number of jobs that waited before it.
    latest
        The wait if all jobs used their whole walltimes.
    waits
        Waits in the samples, sorted; none for a queue longer than `LONGEST_QUEUE`.
    """

    place: int
    waiting: int
    latest: int
    waits: NDArray[np.int64]


Kept = MutableMapping[int, Simulated]
"""Finished simulations by index; threads add theirs."""

Elsewhere = Callable[[Sequence[list[int]]], Iterable[list[Simulated]]]
"""Simulates several parts on other machines; the results are in the order of the parts (`simulated_part`)."""


def backtest(
    recorded: RecordedQueue,
    places: NDArray[np.intp],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    policy: Policy = "s3",
    threads: int = 1,
    kept: Kept | None = None,
    elsewhere: Elsewhere | None = None,
) -> Iterator[Outcome]:
    """Yield the outcome of each predicted job, in order of submission.

    Parameters
    ----------
    places
        Indices from `RecordedQueue.places`, ascending.
    samples
        Most forward simulations of the queue; long queues get fewer.
    policy
        The policy by which the machine is assumed to plan its queue.
    threads
        Number of concurrent simulations; the outcomes do not depend on it.
    kept
        Simulations of an earlier, interrupted run with the same arguments, which is continued.
    elsewhere
        Simulates on other machines instead of in threads.
    """
    ledger, kept = Ledger(), {} if kept is None else kept
    learnt: LearntWaits | None = None
    similar = recorded.similar()
    like, found = np.zeros(0, np.int64), NOTHING

    def beside(place: int) -> NDArray[np.int64]:
        nonlocal learnt, like, found
        if learnt is None:  # first computed while threads simulate
            learnt = LearntWaits(*recorded.seen(places), recorded.jobs.submit, recorded.start, seed=seed)
        like, found = similar.waits(*recorded.asked(place)), learnt.predicted(place, SHARES)
        return found.waits if found.waits.size else like

    ahead = _simulated(recorded, places, samples, seed, policy, threads, kept, elsewhere)
    for place, waiting, made in _predicted(recorded, ahead, ledger, beside):
        waits, intervals, weight = _said(made, found, ledger)
        low, high = intervals[SHARES.index(INTERVAL)]
        raw_low, raw_high = _middle(waits, INTERVAL)
        wait = int(recorded.start[place] - recorded.jobs.submit[place])
        yield Outcome(
            row=int(recorded.rows[place]),
            submitted=int(recorded.jobs.submit[place]),
            wait=wait,
            median=middle_of(waits),
            low=low,
            high=high,
            raw_low=raw_low,
            raw_high=raw_high,
            weight=weight,
            simulated=float(np.median(made.simulated)) if made.simulated.size else None,
            learnt=middle_of(found.waits) if found.waits.size else None,
            planned=made.latest,
            similar=float(np.median(like)) if like.size else None,
            waiting=waiting,
            samples=made.simulated.size,
            held_from=_least(wait, intervals),
            raw_held_from=_least(wait, (_middle(waits, one) for one in SHARES)),
        )


def _said(made: Made, found: Learnt, ledger: Ledger) -> tuple[NDArray[np.int64], Sequence[tuple[int, int]], float]:
    """Return the predicted waits, the intervals of all `SHARES`, and the weight of the simulation.

    Once the ledger shows that the simulation does not help, the prediction is the learned waits alone.
    """
    if found.waits.size and not (made.simulated.size and ledger.simulation_helps(made.kind)):
        return *found, 0.0
    intervals = [ends_of(ledger.levels(made.kind, one), made.waits, 0, made.latest) for one in SHARES]
    alone = 1.0 if made.simulated.size else 0.0
    return made.waits, intervals, ledger.weight(made.kind) if made.simulated.size and made.similar.size else alone


def _middle(waits: NDArray[np.int64], share: float) -> tuple[int, int]:
    """Return the interval of sorted waits that leaves out equally many at both ends."""
    tail = (1 - share) / 2
    low, high = np.quantile(waits, (tail, 1 - tail), method="inverted_cdf").tolist()
    return int(low), int(high)


def _least(wait: int, intervals: Iterable[tuple[int, int]]) -> float:
    inside = (low <= wait <= high for low, high in intervals)
    return next((share for share, holds in zip(SHARES, inside, strict=True) if holds), 1.0)


def rehearsed(
    recorded: RecordedQueue,
    ledger: Ledger,
    in_time: Callable[[float], bool],
    *,
    most: int = REHEARSED,
    samples: int = SAMPLES,
    policy: Policy = "s3",
) -> list[CameTrue]:
    """Return predictions in hindsight for the last jobs that started, with outcomes, without jobs in the ledger.

    Parameters
    ----------
    ledger
        Known outcomes; it is not changed.
    in_time
        Returns whether there is time for another prediction when this share is done or left out. Predictions without
        time are left out, so that all periods of the log count equally.
    """
    since = max((one.start for one in ledger.outcomes if one.afterwards), default=-LATEST)
    places = recorded.starts_after(since - recorded.zero, most)
    own, past, nothing = Ledger(ledger.outcomes), recorded.past(), np.zeros(0, np.int64)
    places = places[recorded.waiting(places) <= LONGEST_QUEUE]
    chosen = (place for done, place in enumerate(places.tolist()) if in_time(done / len(places)))
    ahead = (_simulate(recorded, past, place, samples, 0, policy) for place in chosen)
    for _ in _predicted(recorded, ahead, own, lambda place: nothing):
        pass
    own.learn(LATEST)
    return [one for one in own.outcomes if one.afterwards and one.start > since]


def _simulated(
    recorded: RecordedQueue,
    places: NDArray[np.intp],
    samples: int,
    seed: int,
    policy: Policy,
    threads: int,
    kept: Kept,
    elsewhere: Elsewhere | None,
) -> Iterator[Simulated]:
    """Yield the simulation for each of these indices, using finished ones."""
    parts = [places[first : first + _PART].tolist() for first in range(0, len(places), _PART)]
    if elsewhere is not None:
        missing = [[place for place in part if place not in kept] for part in parts]
        made = iter(elsewhere([part for part in missing if part]))
        for part, lacking in zip(parts, missing, strict=True):
            kept.update(zip(lacking, next(made) if lacking else (), strict=True))
            yield from (kept[place] for place in part)
        return
    past = recorded.past()

    def some(part: list[int]) -> Iterator[Simulated]:
        own = past.anew()
        for place in part:
            if place not in kept:
                kept[place] = _simulate(recorded, own, place, samples, seed, policy)
            yield kept[place]

    yield from in_turn(some, parts, threads)


def simulated_part(
    recorded: RecordedQueue, part: Sequence[int], samples: int, seed: int, policy: Policy = "s3"
) -> list[Simulated]:
    """Return the simulations for some indices; the arguments are those of `backtest`."""
    past = recorded.past()
    return [_simulate(recorded, past, place, samples, seed, policy) for place in part]


def _simulate(recorded: RecordedQueue, past: Past, place: int, samples: int, seed: int, policy: Policy) -> Simulated:
    jobs, snapshot = recorded.jobs, recorded.snapshot(place)
    of_it = jobs.processors[[place]], jobs.estimate[[place]], jobs.run_time[[place]]
    if snapshot.waiting > LONGEST_QUEUE:
        start = int(latest_starts(snapshot, np.array(of_it[:2]), policy=policy)[0])
        return Simulated(place, snapshot.waiting, start - snapshot.now, np.zeros(0, np.int64))
    found = forecast(
        snapshot,
        recorded.past_of(place, past),
        *of_it,
        samples=samples,
        seed=seed,
        policy=policy,
        alone=1,
        least=_LEAST,
        visits=_VISITS,
    )
    latest, waits = int(found.latest[0]) - snapshot.now, np.sort(found.starts[:, 0]) - snapshot.now
    return Simulated(place, snapshot.waiting, latest, waits)


def _predicted(
    recorded: RecordedQueue, ahead: Iterable[Simulated], ledger: Ledger, beside: Callable[[int], NDArray[np.int64]]
) -> Iterator[tuple[int, int, Made]]:
    """Yield the prediction for each index, with the number of waiting jobs; the ledger learns outcomes over time."""
    for one in ahead:
        instant = int(recorded.jobs.submit[one.place]) + recorded.zero
        ledger.learn(instant)
        like = beside(one.place)
        if not one.waits.size and not like.size:  # only the plan is known
            like = np.array([one.latest])
        made = ledger.predict(instant, one.waits, one.latest, like, afterwards=True)
        yield one.place, one.waiting, made
        ledger.predicted(str(one.place), made)
        ledger.started(str(one.place), int(recorded.start[one.place]) + recorded.zero)
