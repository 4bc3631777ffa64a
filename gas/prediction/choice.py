"""Which request to make when predictions are at hand: the one that is expected to finish first.

The planner knows nothing of this: it gives every candidate with the start that is planned for it, forecasts give the
starts that are likely, and `choose` makes another plan of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gas.errors import BadInput
from gas.planner import Candidate, Plan, Rejected
from gas.prediction.blend import spread
from gas.prediction.ledger import INTERVAL, Ledger, Made
from gas.printable import Shown
from gas.times import duration_text, iso_time, relative_text

if TYPE_CHECKING:  # a simulator hangs on it, and a plan is shown without
    from numpy.typing import NDArray

    from gas.prediction.forecast import Forecast

__all__ = ["PredictedPlan", "Prediction", "candidates_on", "choose"]


@dataclass(frozen=True, slots=True)
class Prediction(Shown):
    """What is expected of one candidate, in epoch seconds.

    Attributes
    ----------
    start, finish
        The means over the samples.
    start_low, start_high
        Between which the start lies with the probability `INTERVAL`.
    finish_at_risk
        By when the share of the samples that was asked for has finished; None if the mean decides.
    made
        What a ledger keeps of it.
    """

    start: int
    finish: int
    start_low: int
    start_high: int
    finish_at_risk: int | None = None
    made: Made | None = field(default=None, repr=False, compare=False)

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object ``predicted`` of a candidate."""
        instants = {
            "start": self.start,
            "finish": self.finish,
            "start_low": self.start_low,
            "start_high": self.start_high,
            "finish_at_risk": self.finish_at_risk,
        }
        wire: dict[str, Any] = {}
        for name, instant in instants.items():
            wire[name], wire[f"{name}_iso"] = instant, None if instant is None else iso_time(instant)
        return wire


@dataclass(frozen=True, repr=False)
class PredictedPlan(Plan):
    """A plan whose `best` and whose order of candidates are those of predictions.

    Attributes
    ----------
    planned
        What the planner found; without the candidates that are expected to miss the deadline, if there is one.
    predictions
        By candidate; those of schedulers without a forecast have none, and are taken to start as planned.
    risk
        Which share of the samples is to have finished first; None for the mean.
    details
        How the predictions were made, for programs; JSON.
    ledgers
        By scheduler that is predicted, what came true of earlier predictions; `Ledger.coverage` says how well these
        held.
    """

    planned: Plan = field(kw_only=True)
    predictions: Mapping[Candidate, Prediction] = field(kw_only=True)
    risk: float | None = field(default=None, kw_only=True)
    details: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    ledgers: Mapping[str, Ledger] = field(default_factory=dict, kw_only=True)

    @property
    def in_words(self) -> str:
        """The best request in words, or that there is none."""
        best = self.best
        found = None if best is None else self.predictions.get(best)
        if best is None or found is None:
            return super().in_words
        start, finish = relative_text(found.start, self.now), relative_text(self.score(best), self.now)
        by = "to finish" if self.risk is None else f"to have finished in {100 * self.risk:g}% of samples"
        return f"{best.size_text} on {best.scheduler}, expected to start {start} and {by} {finish}"

    @property
    def likely_starts(self) -> Mapping[Candidate, tuple[int, int, int]]:
        """Of candidates that are predicted: between which instants their starts lie, and the mean between them."""
        return {one: (found.start_low, found.start, found.start_high) for one, found in self.predictions.items()}

    def score(self, candidate: Candidate) -> int:
        """Return what is to be least."""
        found = self.predictions.get(candidate)
        if found is None or found.finish_at_risk is None:
            return self.expected_finish(candidate)
        return found.finish_at_risk

    def expected_finish(self, candidate: Candidate) -> int:
        """Return when a candidate is expected to finish: as predicted, or else as planned."""
        found = self.predictions.get(candidate)
        return candidate.finish if found is None else found.finish

    @property
    def likely(self) -> str:
        """What is said of the finish that decides, before by how much it is later or sooner."""
        return "expected to finish" if self.risk is None else f"{100 * self.risk:g}% of samples finish"

    def why_lost(self, candidate: Candidate) -> str:
        """Return in words what the best candidate has over this one."""
        best = self.best
        if best is None or candidate == best:
            return "best"
        apart = self.score(candidate) - self.score(best)
        likely = self.likely
        if apart > 0:
            return f"{likely} {duration_text(apart)} later"
        if apart < 0:
            return f"{likely} {duration_text(-apart)} sooner, within the tolerance, on more processors"
        if candidate.processors > best.processors:
            return f"{likely} at the same instant, on more processors"
        return f"{likely} at the same instant, starts later, or is on a scheduler named later"

    def to_wire(self, endpoints: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """Return the JSON object of schema gas.plan/1: the planner's, with what is predicted beside it."""
        wire = self.planned.to_wire(endpoints)
        for candidate, entry in zip(self.planned.candidates, wire["candidates"], strict=True):
            entry["predicted"] = self._predicted(candidate)
        for name, best in (("best", self.planned.best), ("predicted_best", self.best)):
            wire[name] = None if best is None else {**best.to_wire(), "predicted": self._predicted(best)}
        chosen_by = "expected finish" if self.risk is None else f"finish in {100 * self.risk:g}% of samples"
        coverage = {name: ledger.coverage_to_wire() for name, ledger in self.ledgers.items()}
        made = {"chosen_by": chosen_by, "risk": self.risk, "interval": INTERVAL, "coverage": coverage, **self.details}
        return {**wire, "prediction": made}

    def _predicted(self, candidate: Candidate) -> dict[str, Any] | None:
        found = self.predictions.get(candidate)
        return None if found is None else found.to_wire()


def candidates_on(plan: Plan, scheduler: str) -> list[Candidate]:
    """Return the candidates of one scheduler, in the order in which its forecast has its columns."""
    return [candidate for candidate in plan.candidates if candidate.scheduler == scheduler]


def choose(
    plan: Plan,
    forecasts: Mapping[str, Forecast],
    *,
    schedulers: Sequence[str],
    risk: float | None = None,
    tolerance: float = 0.0,
    deadline: int | None = None,
    promised: Candidate | None = None,
    details: Mapping[str, Any] | None = None,
    ledgers: Mapping[str, Ledger] | None = None,
    similar: Mapping[str, Sequence[NDArray[np.int64]]] | None = None,
) -> PredictedPlan:
    """Return the plan by predictions.

    The best candidate has the least expected finish, in whole seconds; ties go as in the planner: to fewer processors,
    the earlier expected start, the order of schedulers. No start is expected after its promise: a queue that was
    looked at a moment after the availability list would have it so.

    Parameters
    ----------
    forecasts
        By scheduler, of its candidates as `candidates_on` has them; there need not be one for each.
    schedulers
        All of them, in the order in which ties are decided.
    risk
        0.9 has the finish count that 9 of 10 samples meet, in place of the mean.
    tolerance
        0.05 takes the fewest processors among the candidates whose expected turn-around is within 5% of the best.
    deadline
        After which none of them is expected to finish (with a risk: has that share of the samples finished); the plan
        is to be one without a deadline.
    promised
        With a deadline, what the planner chooses under it.
    ledgers
        By scheduler, what came true of earlier predictions; it corrects the intervals.
    similar
        By scheduler, for each of its candidates the waits of similar jobs, sorted; they are mixed in.

    Raises
    ------
    BadInput
        A risk or tolerance out of range, or a forecast of other candidates.
    """
    if not 0 <= tolerance <= 1:
        raise BadInput(f"tolerance {tolerance}: must be from 0 to 1 (0.05 is 5%)")
    predictions: dict[Candidate, Prediction] = {}
    ledgers, similar = ledgers or {}, similar or {}
    for scheduler, found in forecasts.items():
        candidates = candidates_on(plan, scheduler)
        if len(candidates) != found.starts.shape[1]:
            raise BadInput(
                f"{scheduler}: its forecast is of {found.starts.shape[1]} candidates, and it has {len(candidates)}"
            )
        like = similar.get(scheduler) or [np.zeros(0, np.int64)] * len(candidates)
        made = _predictions(plan, candidates, found, risk, ledgers.get(scheduler) or Ledger(), like)
        predictions.update(zip(candidates, made, strict=True))
    order = {name: place for place, name in enumerate(schedulers)}
    whole = PredictedPlan(
        plan.application, plan.algorithm, plan.now, plan.best, list(plan.candidates), plan.rejected, plan.lists,
        planned=plan, predictions=predictions, risk=risk, details=details or {},
        ledgers={name: ledgers.get(name) or Ledger() for name in forecasts},
    )  # fmt: skip
    if deadline is not None:
        late = sorted((c for c in plan.candidates if whole.score(c) > deadline), key=whole.score)
        missed = set(late)
        kept = [c for c in plan.candidates if c not in missed]
        rejected = [*(_late(whole, c, deadline) for c in late), *plan.rejected]
        planned = replace(plan, best=promised, candidates=kept, rejected=rejected)
        whole = replace(whole, candidates=kept, rejected=rejected, planned=planned)

    def rank(c: Candidate) -> tuple[int, int, int, int]:
        start = predictions[c].start if c in predictions else c.start
        return whole.score(c), c.processors, start, order[c.scheduler]

    candidates = sorted(whole.candidates, key=rank)
    best = candidates[0] if candidates else None
    if best is not None and tolerance > 0:
        latest = plan.now + round((whole.score(best) - plan.now) * (1 + tolerance), 6)
        near = [c for c in candidates if whole.score(c) <= latest]
        best = min(near, key=lambda c: (c.processors, *rank(c)))
    return replace(whole, best=best, candidates=candidates)


def _late(found: PredictedPlan, candidate: Candidate, deadline: int) -> Rejected:
    likely = found.likely if candidate in found.predictions else "not predicted; would finish"
    by = duration_text(found.score(candidate) - deadline)
    return Rejected(candidate.scheduler, candidate.processors, f"{likely} {by} after the deadline", "deadline")


def _predictions(
    plan: Plan,
    candidates: Sequence[Candidate],
    found: Forecast,
    risk: float | None,
    ledger: Ledger,
    similar: Sequence[NDArray[np.int64]],
) -> list[Prediction]:
    if not candidates:
        return []
    bound = [c.start if c.kind == "promise" else np.iinfo(np.int64).max for c in candidates]
    promised = np.array(bound, np.int64)
    waits = np.sort(np.minimum(np.maximum(found.starts, plan.now), promised), axis=0).T - plan.now
    latest = (np.minimum(found.latest, promised) - plan.now).tolist()
    made = [ledger.predict(plan.now, *each) for each in zip(waits, latest, similar, strict=True)]
    made = [  # nothing comes after a promise, whatever came after plans
        replace(one, low=min(one.low, one.latest), high=min(one.high, one.latest)) if c.kind == "promise" else one
        for one, c in zip(made, candidates, strict=True)
    ]
    starts = plan.now + np.array([spread(one.waits, waits.shape[1]) for one in made]).T
    found = replace(found, now=plan.now, starts=starts)
    columns = [found.expected_start, found.expected_finish]
    if risk is not None:
        columns.append(found.scores(risk))
    rows = zip(*(np.rint(column).astype(np.int64).tolist() for column in columns), strict=True)
    found_of = zip(made, rows, strict=True)
    return [
        Prediction(start, finish, one.now + one.low, one.now + one.high, at_risk[0] if at_risk else None, one)
        for one, (start, finish, *at_risk) in found_of
    ]
