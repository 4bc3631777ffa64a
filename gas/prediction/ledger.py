"""The predictions for one machine with their outcomes, which correct later predictions and show their accuracy.

A `Ledger` keeps each prediction until its start is known, and then its `Outcome`. From the last outcomes it corrects
intervals (`gas.prediction.calibration`) and learns the weight of a simulation against similar jobs
(`gas.prediction.blend`), separately for each kind of prediction: the seconds that a scheduler takes to start a job at
once tell nothing about hours in its queue.

The same class serves a recorded log, whose starts are known beforehand and count only once they have passed, and a live
machine; its contents convert to JSON and back.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.prediction.blend import ALIKE, POINTS, WEIGHTS, Blend, mixture, scores_of, spread
from gas.prediction.calibration import PRIOR, WINDOW, Calibration, Level, ends_of, level_of
from gas.printable import many

__all__ = [
    "AT_ONCE",
    "INTERVAL",
    "KINDS",
    "LEAST",
    "LONGER",
    "MOST_OPEN",
    "SET_AHEAD",
    "SET_BACK",
    "WITHIN_AN_HOUR",
    "Coverage",
    "Ledger",
    "Made",
    "Outcome",
]

INTERVAL = 0.9
"""Probability that a start lies in its shown interval."""

AT_ONCE, WITHIN_AN_HOUR, LONGER = KINDS = ("at once", "within an hour", "longer")
"""Kinds of predictions: the job starts at once in nearly all samples of the simulation, within an hour in most, or not.
On the logs of KTH and SDSC (SP2) intervals hold more evenly than with two kinds: for waiting jobs 90–92% of each kind
instead of 88–93%; and more for jobs that waited for over an hour (87 and 91% instead of 85 and 91%).
"""

_HOUR = 3_600

LEAST = 20
"""Number of outcomes from which on the coverage of intervals is reported."""

MOST_OPEN = 1_000
"""Most predictions without an outcome; the oldest are deleted."""

SET_BACK = 60
"""A job that starts by more seconds before its prediction was predicted before the clock was set back."""

SET_AHEAD = 86_400
"""Records this far ahead of now were made while the clock was ahead."""

_NOBODY = np.zeros(0, np.int64)
_OUTSIDE = (1 - INTERVAL) / 2
_DIGITS = 6  # of stored levels and scores
_LATEST = 2**53  # instants and waits are below it


@dataclass(frozen=True, eq=False)
class Made:
    """A prediction: waits are in seconds from `now`, and arrays of waits are sorted.

    Attributes
    ----------
    kind
        One of `KINDS`.
    waits
        The predicted waits: those of the simulation, mixed with those of similar jobs.
    latest
        The wait if all jobs used their whole walltimes.
    low, high
        The interval, corrected by outcomes.
    simulated, similar
        The mixed waits; similar jobs or the simulation may be missing.
    afterwards
        Whether it was made after the start was known, from what was known before.
    """

    now: int
    kind: str
    waits: NDArray[np.int64]
    latest: int
    low: int
    high: int
    simulated: NDArray[np.int64] = field(default_factory=lambda: _NOBODY)
    similar: NDArray[np.int64] = field(default_factory=lambda: _NOBODY)
    afterwards: bool = False

    def precedes(self, start: int) -> bool:
        """Return whether the prediction was made before the job started, by a clock that was not set back since."""
        return start >= self.now - SET_BACK

    def outcome(self, start: int) -> Outcome:
        """Return the outcome of the prediction."""
        wait = start - self.now
        before, through = level_of(wait, self.waits, 0, self.latest)
        both = self.simulated.size and self.similar.size
        scores = scores_of(wait, self.simulated, self.similar).round(_DIGITS).tolist() if both else ()
        level = Level(round(before, _DIGITS), round(through, _DIGITS))
        return Outcome(start, self.kind, level, self.low <= wait <= self.high, tuple(scores), self.afterwards)


class Outcome(NamedTuple):
    """The outcome of a prediction.

    Attributes
    ----------
    start
        The instant of the start.
    level
        Share of the prediction before it.
    held
        Whether it was in the interval.
    scores
        Scores for `gas.prediction.blend.WEIGHTS`; none without similar jobs, or without a simulation.
    """

    start: int
    kind: str
    level: Level
    held: bool
    scores: tuple[float, ...] = ()
    afterwards: bool = False


class Coverage(NamedTuple):
    """The number of recent intervals, how many contained the start, and how many were predicted afterwards."""

    held: int
    outcomes: int
    afterwards: int = 0

    @property
    def share(self) -> float | None:
        """The share of intervals that contained the start; None for fewer than `LEAST` intervals."""
        return None if self.outcomes < LEAST else self.held / self.outcomes

    def __str__(self) -> str:
        """Return it as a sentence without its full stop."""
        if self.share is None:
            known = many(self.outcomes, "outcome")
            return f"how often {INTERVAL:.0%} intervals hold is not yet known on this machine: {known}"
        later = ""
        if self.afterwards:
            all_of = "all" if self.afterwards == self.outcomes else f"{self.afterwards:,}"
            later = f", {all_of} predicted afterwards from its history"
        return f"{INTERVAL:.0%} intervals contained {self.share:.0%} of the last {self.outcomes:,} starts{later}"

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "interval": INTERVAL,
            "outcomes": self.outcomes,
            "held": self.held,
            "share": self.share,
            "predicted_afterwards": self.afterwards,
            "in_words": str(self),
        }


class Ledger:
    """The predictions of one machine.

    Parameters
    ----------
    outcomes
        Known outcomes, in order of time.
    prior
        Number of uniform outcomes that stand for missing ones. With 0 an interval is the whole possible span until
        enough is known, which is right if only a part of the machine is visible.
    weight
        Weight of a simulation against similar jobs until enough is known, from 0 to 1.
    """

    def __init__(self, outcomes: Iterable[Outcome] = (), *, prior: int = PRIOR, weight: float = ALIKE) -> None:
        self.prior, self._weight = prior, weight
        self._outcomes: dict[str, deque[Outcome]] = {}
        self._open: dict[str, Made] = {}
        self._started: list[tuple[int, int, str]] = []  # a heap of (start, number of the report, job)
        self._told = 0
        self._levels: dict[tuple[str, float], tuple[float, float]] = {}
        self._calibrations: dict[str, Calibration] = {}
        self.add(outcomes)

    # ----------------------------------------------------------------------------------------------- predict

    def predict(
        self,
        now: int,
        simulated: NDArray[np.int64],
        latest: int,
        similar: NDArray[np.int64] = _NOBODY,
        *,
        within: int = 0,
        kind: str | None = None,
        afterwards: bool = False,
    ) -> Made:
        """Return a prediction, corrected by past outcomes.

        Parameters
        ----------
        simulated, similar
            Waits in seconds, sorted; either may be empty.
        latest
            The wait if all jobs used their whole walltimes.
        within
            Possible error of simulated instants in seconds; the interval is widened by this at both ends.
        kind
            One of `KINDS`; by default that of the simulation, or of similar jobs without one.
        """
        kind = kind_of(simulated if simulated.size else similar) if kind is None else kind
        waits = mixture(self.weight(kind), simulated, similar) if simulated.size and similar.size else simulated
        waits = waits if waits.size else similar
        low, high = ends_of(self.levels(kind), waits, 0, latest)
        low, high = max(low - within, min(low, 0)), high + within
        return Made(now, kind, waits, latest, low, high, simulated, similar, afterwards)

    def levels(self, kind: str, share: float = INTERVAL) -> tuple[float, float]:
        """Return the levels of a prediction at which an interval of this probability begins and ends."""
        if (kind, share) not in self._levels:
            self._levels[kind, share] = self.calibration(kind).levels(share)
        return self._levels[kind, share]

    def calibration(self, kind: str) -> Calibration:
        """Return the calibration for predictions of a kind."""
        if kind not in self._calibrations:
            known = (one.level for one in self._outcomes.get(kind, ()))
            self._calibrations[kind] = Calibration(known, prior=self.prior)
        return self._calibrations[kind]

    def weight(self, kind: str) -> float:
        """Return the weight of a simulation against similar jobs, from 0 to 1."""
        return self._blend(kind).weight

    def simulation_helps(self, kind: str) -> bool:
        """Return whether predictions with a simulation were significantly better than by similar jobs alone."""
        return self._blend(kind).helps

    def _blend(self, kind: str) -> Blend:
        scores = (np.array(one.scores) for one in self._outcomes.get(kind, ()) if one.scores)
        return Blend(scores, before=self._weight)

    # ------------------------------------------------------------------------------------------------- learn

    def predicted(self, who: str, made: Made) -> None:
        """Record the first prediction of a job; ignore later ones."""
        if who not in self._open:
            self._open[who] = made
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]

    def started(self, who: str, start: int) -> None:
        """Record when a job starts or has started; the start counts as soon as it has passed (`learn`)."""
        heappush(self._started, (start, self._told, who))
        self._told += 1

    def withdrawn(self, who: str) -> None:
        """Delete a prediction that will have no outcome: the job was cancelled or changed, or is no longer known."""
        self._open.pop(who, None)

    def learn(self, now: int) -> bool:
        """Learn from the starts before an instant; return whether there was an outcome."""
        learnt = False
        while self._started and self._started[0][0] < now:
            start, _, who = heappop(self._started)
            made = self._open.pop(who, None)
            if made is not None and made.precedes(start):
                self._came_true(made.outcome(start))
                learnt = True
        return learnt

    def forget_after(self, now: int) -> bool:
        """Delete records made while the clock was far ahead of now; return whether there were any.

        Otherwise they would stay the latest ones for as long.
        """
        ahead = [who for who, made in self._open.items() if made.now > now + SET_AHEAD]
        for who in ahead:
            del self._open[who]
        kept = [one for one in self.outcomes if one.start <= now + SET_AHEAD]
        if len(kept) < len(self.outcomes):
            self._outcomes.clear()
            self._levels.clear()
            self._calibrations.clear()
            self.add(kept)
            return True
        return bool(ahead)

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Add outcomes of predictions that were made elsewhere."""
        for one in outcomes:
            self._came_true(one)

    def _came_true(self, outcome: Outcome) -> None:
        self._outcomes.setdefault(outcome.kind, deque(maxlen=WINDOW)).append(outcome)
        self._levels.clear()
        self._calibrations.clear()

    # --------------------------------------------------------------------------------------------------- ask

    @property
    def open(self) -> Mapping[str, Made]:
        """Predictions without an outcome, by job, the oldest first."""
        return self._open

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes, in the order of the starts."""
        return sorted((one for kind in self._outcomes.values() for one in kind), key=lambda one: one.start)

    def coverage(self, kind: str | None = None) -> Coverage:
        """Return the coverage of the last intervals, of one kind or of all."""
        last = [one for one in self.outcomes if kind in (None, one.kind)][-WINDOW:]
        return Coverage(sum(one.held for one in last), len(last), sum(one.afterwards for one in last))

    def coverage_to_wire(self) -> dict[str, Any]:
        """Return the coverage as JSON, of all intervals and of each kind."""
        by_kind = {kind.replace(" ", "_"): self.coverage(kind).to_wire() for kind in KINDS}
        return {**self.coverage().to_wire(), "by_kind": by_kind}

    # ------------------------------------------------------------------------------------------------- JSON

    def to_wire(self) -> dict[str, Any]:
        """Return the ledger as JSON, with `POINTS` waits of each prediction, and without future starts."""
        outcomes = [[o.start, o.kind, *o.level, o.held, list(o.scores), o.afterwards] for o in self.outcomes]
        return {"outcomes": outcomes, "open": {who: _kept(m) for who, m in self._open.items()}}

    @classmethod
    def of_wire(cls, wire: Mapping[str, Any]) -> Ledger:
        """Return the ledger that `to_wire` wrote.

        Raises
        ------
        BadInput
            It is not a ledger.
        """
        try:
            found = cls(_outcome_of(row) for row in wire["outcomes"])
            for who, made in wire["open"].items():
                found.predicted(who, _made_of(made))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadInput(f"is not a ledger of predictions: {type(error).__name__}: {error}") from None
        return found


def kind_of(simulated: NDArray[np.int64]) -> str:
    """Return the kind of a prediction, from the sorted waits on which it is based."""
    if simulated[int((1 - _OUTSIDE) * (simulated.size - 1))] <= 0:
        return AT_ONCE
    return WITHIN_AN_HOUR if simulated[simulated.size // 2] <= _HOUR else LONGER


def _kept(made: Made) -> list[Any]:
    waits, simulated, similar = (
        (one if one.size <= POINTS else spread(one, POINTS)).tolist()
        for one in (made.waits, made.simulated, made.similar)
    )
    return [made.now, made.kind, waits, made.latest, made.low, made.high, simulated if similar else [], similar]


def _made_of(row: Any) -> Made:
    now, kind, waits, latest, low, high, simulated, similar = row
    made = Made(
        _whole(now), _kind(kind), _waits(waits), _whole(latest), _whole(low), _whole(high), _waits(simulated),
        _waits(similar),
    )  # fmt: skip
    if not made.waits.size or bool(made.simulated.size) < bool(made.similar.size):
        raise ValueError("a prediction without waits")
    return made


def _outcome_of(row: Any) -> Outcome:
    start, kind, before, through, held, scores, afterwards = row
    if len(scores) not in (0, len(WEIGHTS)):
        raise ValueError(f"{len(scores)} scores")
    level = Level(_number(before), _number(through))
    return Outcome(_whole(start), _kind(kind), level, bool(held), tuple(map(_number, scores)), bool(afterwards))


def _kind(value: Any) -> str:
    return KINDS[KINDS.index(value)]


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is not a number")
    return float(value)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or abs(value) > _LATEST:
        raise ValueError(f"{value!r:.40} is not a time")
    return value


def _waits(values: Any) -> NDArray[np.int64]:
    return np.sort(np.array([_whole(one) for one in values], np.int64))
