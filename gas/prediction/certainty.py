"""Deadlines: the probability that each request meets the deadline, and the cost of a higher probability.

The probability is that of the start, corrected by outcomes on the machine. The run is assumed to last as long as its
application says; the probability with a run until the end of the walltime is given as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from gas.planner import Candidate
from gas.prediction.calibration import ends_of, level_of
from gas.prediction.ledger import LEAST, Ledger, Made

__all__ = ["Certainty", "Corrected", "certainties", "cheapest", "percent", "prices", "unproven"]

_RUNGS = (0.99, 0.95, 0.9, 0.8, 0.5)


@dataclass(frozen=True, eq=False)
class Corrected:
    """The distribution of a candidate's start, corrected by outcomes on its machine.

    Attributes
    ----------
    made, ledger
        The prediction of it, and the outcomes of earlier predictions.
    """

    candidate: Candidate
    made: Made
    ledger: Ledger

    @property
    def outcomes(self) -> int:
        """The number of recent predictions of the same kind that have an outcome."""
        return len(self.ledger.calibration(self.made.kind))

    @property
    def checked(self) -> bool:
        """Whether there are enough outcomes to know how accurate such predictions are."""
        return self.outcomes >= LEAST

    @property
    def latest(self) -> int:
        """The start if all jobs use their whole walltimes."""
        return self.made.now + self.made.latest

    def start_by(self, share: float) -> int:
        """Return the instant by which the candidate has started with this probability; never after a promise."""
        levels = 0.0, self.ledger.calibration(self.made.kind).level(share)
        start = self.made.now + ends_of(levels, self.made.waits, 0, self.made.latest)[1]
        return min(start, self.latest) if self.candidate.kind == "promise" else start

    def probability(self, instant: int) -> float:
        """Return a lower bound on the probability that the candidate has started by an instant."""
        if self.candidate.kind == "promise" and instant >= self.latest:
            return 1.0
        wait = instant - self.made.now
        if wait < 0:
            return 0.0
        level = level_of(wait, self.made.waits, 0, self.made.latest).through
        return self.ledger.calibration(self.made.kind).share(level)


@dataclass(frozen=True, slots=True)
class Certainty:
    """The probability that a request finishes by a deadline, from 0 to 1.

    Attributes
    ----------
    share
        Probability if it runs as long as its application says.
    of_walltime
        Probability if it runs until the end of its walltime.
    most
        The largest probability that so few outcomes can show.
    outcomes
        Number of predictions of the same kind with outcomes.
    """

    share: float
    of_walltime: float
    most: float = 1.0
    outcomes: int = 0

    def reaches(self, share: float) -> bool:
        """Whether the probability is at least the given one."""
        return self.share >= share - 1e-9


def certainties(
    candidates: Iterable[Candidate], deadline: int, corrected: Mapping[Candidate, Corrected]
) -> dict[Candidate, Certainty]:
    """Return the probability that each candidate meets a deadline, if known.

    It is unknown for an estimate without a prediction, and for an `unproven` one that is planned to miss it.
    """
    known: dict[Candidate, Certainty] = {}
    by_plan = unproven(corrected.values())
    for one in candidates:
        start, surely = deadline - one.execution_time, deadline - max(one.execution_time, one.walltime)
        found = corrected.get(one)
        if found is None:
            if one.kind == "promise":
                known[one] = Certainty(float(one.start <= start), float(one.start <= surely))
        elif one not in by_plan or found.latest <= start:
            most = 1.0 if one.kind == "promise" else found.ledger.calibration(found.made.kind).share(math.inf)
            known[one] = Certainty(found.probability(start), found.probability(surely), most, found.outcomes)
    return known


def unproven(found: Iterable[Corrected]) -> set[Candidate]:
    """Return the candidates on machines without checked predictions, if another machine has checked ones.

    The widths of their distributions are not reliable then, so they are compared by their plans.
    """
    listed = list(found)
    checked = {one.candidate.scheduler for one in listed if one.checked}
    return {one.candidate for one in listed if not one.checked and checked - {one.candidate.scheduler}}


def cheapest(
    candidates: Collection[Candidate],
    certain: Mapping[Candidate, Certainty],
    share: float,
    rank: Callable[[Candidate], tuple[int, ...]],
) -> Candidate | None:
    """Return the candidate with the fewest processor-seconds among those with this probability; then the first."""
    sure = [one for one in candidates if one in certain and certain[one].reaches(share)]
    return min(sure, key=lambda one: (one.processor_seconds, *rank(one)), default=None)


def prices(certain: Mapping[Candidate, Certainty], share: float | None = None) -> list[Candidate]:
    """Return the price of certainty: the cheapest candidate for each of several probabilities, the highest first.

    Parameters
    ----------
    share
        The requested probability; it is one of them.
    """
    surest = max((one.share for one in certain.values()), default=0.0)
    rungs = {rung for rung in (surest, *_RUNGS, *([] if share is None else [share])) if 0 < rung <= surest}

    def surer_first(one: Candidate) -> tuple[int, ...]:
        return (-round(1e9 * certain[one].share), one.processors)

    found = (cheapest(certain, certain, rung, surer_first) for rung in sorted(rungs, reverse=True))
    return list(dict.fromkeys(one for one in found if one is not None))


def percent(share: float) -> str:
    """Return a probability in percent, rounded down: "95%" means at least 95%."""
    whole = share * 100 + 1e-7
    return f"{math.floor(whole * 10) / 10:g}%" if 99 <= whole < 100 else f"{math.floor(whole)}%"
