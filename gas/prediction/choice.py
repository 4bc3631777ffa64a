"""The choice of a request by predictions: the earliest expected finish, or a high enough probability of being in time.

The planner is independent of this: it returns each candidate with its planned start, forecasts return the likely
starts, and `choose` combines both to another plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gas.errors import BadInput
from gas.planner import Candidate, Plan, Rejected
from gas.prediction import NotPredicted
from gas.prediction.certainty import Certainty, Corrected, certainties, cheapest, percent, prices, unproven
from gas.prediction.ledger import INTERVAL, Ledger, Made
from gas.printable import Shown, many
from gas.times import duration_text, iso_time, relative_text

if TYPE_CHECKING:  # needs the simulator, which showing a plan does not
    from numpy.typing import NDArray

    from gas.prediction.forecast import Forecast

__all__ = ["PredictedPlan", "Prediction", "candidates_on", "choose"]


@dataclass(frozen=True, slots=True)
class Prediction(Shown):
    """The prediction of one candidate, in epoch seconds.

    Attributes
    ----------
    start, finish
        Means over the samples.
    start_low, start_high
        The start lies in this interval with the probability `INTERVAL`.
    finish_at_risk
        The finish that is met with the requested probability; None if the mean decides.
    checked
        Whether enough such predictions have outcomes on its machine to know their accuracy.
    made
        The data that a ledger keeps of it.
    """

    start: int
    finish: int
    start_low: int
    start_high: int
    finish_at_risk: int | None = None
    checked: bool = False
    made: Made | None = field(default=None, repr=False, compare=False)

    def as_of(self, now: int) -> Prediction:
        """Return the prediction at a later instant, before which the candidate can no longer start."""
        lasts, at_risk = self.finish - self.start, self.finish_at_risk
        start, low, high = (max(one, now) for one in (self.start, self.start_low, self.start_high))
        at_risk = None if at_risk is None else max(at_risk, now + lasts)
        return replace(self, start=start, finish=start + lasts, start_low=low, start_high=high, finish_at_risk=at_risk)

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object ``predicted`` of a candidate."""
        instants = {
            "start": self.start,
            "finish": self.finish,
            "start_low": self.start_low,
            "start_high": self.start_high,
            "finish_at_risk": self.finish_at_risk,
        }
        wire: dict[str, Any] = {"checked": self.checked}
        for name, instant in instants.items():
            wire[name], wire[f"{name}_iso"] = instant, None if instant is None else iso_time(instant)
        return wire


@dataclass(frozen=True, repr=False)
class PredictedPlan(Plan):
    """A plan with the `best` candidate and the order of candidates by predictions.

    Attributes
    ----------
    planned
        The planner's plan; with a deadline, without the candidates that are expected to miss it.
    predictions
        By candidate; without a forecast of its scheduler, a candidate has none and is assumed to start as planned.
    unpredicted
        By scheduler with too few samples, the reason why its starts are planned and not predicted.
    risk
        The probability of the finish that is minimized; None for the mean.
    deadline, sure
        The deadline, and the requested probability to meet it; None if not requested.
    certain
        With a deadline, each candidate's probability to meet it, also of those rejected for it. That of an estimate is
        unknown if it is not predicted, or not checked on its machine while others are on theirs.
    details
        How predictions were made, for programs; JSON.
    ledgers
        By predicted scheduler, outcomes of earlier predictions; `Ledger.coverage` gives their accuracy.
    """

    planned: Plan = field(kw_only=True)
    predictions: Mapping[Candidate, Prediction] = field(kw_only=True)
    unpredicted: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    risk: float | None = field(default=None, kw_only=True)
    deadline: int | None = field(default=None, kw_only=True)
    sure: float | None = field(default=None, kw_only=True)
    certain: Mapping[Candidate, Certainty] = field(default_factory=dict, kw_only=True)
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
        by = "finish" if self.risk is None else f"{100 * self.risk:g}% sure to finish"
        sure = "" if best not in self.certain else f", {percent(self.certain[best].share)} sure to meet the deadline"
        return f"{best.size_text} on {best.scheduler}, predicted to start {start} and {by} {finish}{sure}"

    @property
    def likely_starts(self) -> Mapping[Candidate, tuple[int, int, int]]:
        """For each predicted candidate: the low end of the interval of its start, its mean start, and the high end."""
        return {one: (found.start_low, found.start, found.start_high) for one, found in self.predictions.items()}

    @property
    def unproven(self) -> list[str]:
        """The schedulers of `unchecked` that are compared with a scheduler whose predictions are checked."""
        checked = {c.scheduler for c, found in self.predictions.items() if found.checked}
        return [name for name in self.unchecked if checked - {name}]

    def as_of(self, now: int) -> PredictedPlan:
        """Return the plan at a later instant: no start is predicted before it."""
        return replace(self, now=now, predictions={c: found.as_of(now) for c, found in self.predictions.items()})

    def score(self, candidate: Candidate) -> int:
        """Return the criterion to minimize."""
        found = self.predictions.get(candidate)
        if found is None or found.finish_at_risk is None:
            return self.expected_finish(candidate)
        return found.finish_at_risk

    def expected_finish(self, candidate: Candidate) -> int:
        """Return the expected finish of a candidate: predicted, or else planned."""
        found = self.predictions.get(candidate)
        return candidate.finish if found is None else found.finish

    def likely(self, candidate: Candidate) -> str:
        """Return the name of the deciding finish, for the words before a difference."""
        if candidate not in self.predictions:
            return f"{self.unpredicted.get(candidate.scheduler, 'not predicted')}; would finish"
        return "predicted to finish" if self.risk is None else f"{100 * self.risk:g}% sure to finish"

    @property
    def prices(self) -> list[Candidate]:
        """The price of certainty: the cheapest candidate for each of some probabilities to meet the deadline."""
        return prices(self.certain, self.sure)

    @property
    def unchecked(self) -> list[str]:
        """The schedulers whose predictions have too few outcomes to know their accuracy."""
        return list(dict.fromkeys(c.scheduler for c, found in self.predictions.items() if not found.checked))

    def why_lost(self, candidate: Candidate) -> str:
        """Return the advantage of the best candidate over this one in words."""
        best = self.best
        if best is None or candidate == best:
            return "best"
        apart = self.score(candidate) - self.score(best)
        likely = self.likely(candidate)
        if self.sure is not None and candidate.processor_seconds > best.processor_seconds:
            more = candidate.processor_seconds / best.processor_seconds - 1
            return f"{percent(self.certain[candidate].share)} sure, and uses {more:.0%} more"
        if apart > 0:
            return f"{likely} {duration_text(apart)} later"
        if apart < 0:
            return f"{likely} {duration_text(-apart)} sooner, within the tolerance, on more processors"
        if candidate.processors > best.processors:
            return f"{likely} at the same time, on more processors"
        return f"{likely} at the same time, but starts later or is on a scheduler that comes later in the list"

    def to_wire(self, endpoints: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """Return the JSON object of schema gas.plan/1: the planner's, with predictions."""
        wire = self.planned.to_wire(endpoints)
        for candidate, entry in zip(self.planned.candidates, wire["candidates"], strict=True):
            entry["predicted"] = self._predicted(candidate)
        for name, best in (("best", self.planned.best), ("predicted_best", self.best)):
            wire[name] = None if best is None else {**best.to_wire(), "predicted": self._predicted(best)}
        chosen_by = "expected finish" if self.risk is None else f"finish with a probability of {100 * self.risk:g}%"
        if self.sure is not None:
            chosen_by = f"least use among those {100 * self.sure:g}% sure to meet the deadline"
        coverage = {name: ledger.coverage_to_wire() for name, ledger in self.ledgers.items()}
        made = {
            "chosen_by": chosen_by,
            "risk": self.risk,
            "sure": self.sure,
            "deadline": self.deadline,
            "deadline_iso": None if self.deadline is None else iso_time(self.deadline),
            "prices": [self._price(one) for one in self.prices],
            "unchecked": self.unchecked,
            "interval": INTERVAL,
            "coverage": coverage,
            **self.details,
        }
        return {**wire, "prediction": made}

    def _predicted(self, candidate: Candidate) -> dict[str, Any] | None:
        found, known = self.predictions.get(candidate), self.certain.get(candidate)
        if found is None:
            return None
        in_time = None if known is None else known.share
        to_the_end = None if known is None else known.of_walltime
        return {**found.to_wire(), "in_time": in_time, "in_time_if_walltime_is_used": to_the_end}

    def _price(self, candidate: Candidate) -> dict[str, Any]:
        return {
            "in_time": self.certain[candidate].share,
            "scheduler": candidate.scheduler,
            "processors": candidate.processors,
            "processor_seconds": candidate.processor_seconds,
        }


def candidates_on(plan: Plan, scheduler: str) -> list[Candidate]:
    """Return the candidates of one scheduler, in the order of its forecast's columns."""
    return [candidate for candidate in plan.candidates if candidate.scheduler == scheduler]


def choose(
    plan: Plan,
    forecasts: Mapping[str, Forecast | NotPredicted],
    *,
    schedulers: Sequence[str],
    risk: float | None = None,
    tolerance: float = 0.0,
    deadline: int | None = None,
    sure: float | None = None,
    promised: Candidate | None = None,
    details: Mapping[str, Any] | None = None,
    ledgers: Mapping[str, Ledger] | None = None,
    similar: Mapping[str, Sequence[NDArray[np.int64]]] | None = None,
) -> PredictedPlan:
    """Return the plan by predictions.

    The best candidate has the earliest expected finish, in whole seconds; ties go as in the planner: to fewer
    processors, the earlier expected start, the order of schedulers. No start is expected after its promise; a queue
    read a moment after the availability list could suggest that.

    Parameters
    ----------
    forecasts
        By scheduler, for its candidates as in `candidates_on`; some may lack a forecast. Those start as planned,
        without a probability.
    schedulers
        All schedulers, in the order that decides ties.
    risk
        With 0.9, the finish met with this probability counts instead of the mean. For `unproven` schedulers it is the
        finish if all jobs used their full walltimes.
    tolerance
        With 0.05, the plan has the fewest processors among candidates with an expected turn-around time within 5% of
        the best.
    deadline
        Latest expected finish (with a risk: finish met with that probability); the plan is to be one without a
        deadline.
    sure
        With 0.95, the plan has the fewest processor-seconds among candidates that meet the deadline with this
        probability.
    promised
        With a deadline, the planner's choice under it.
    ledgers
        By scheduler, outcomes of earlier predictions, which correct the intervals.
    similar
        By scheduler, for each of its candidates the sorted waits of similar jobs, which are mixed in.

    Raises
    ------
    BadInput
        A risk or tolerance out of range, or a forecast of other candidates.
    """
    if not 0 <= tolerance <= 1:
        raise BadInput(f"tolerance {tolerance}: must be from 0 to 1 (0.05 is 5%)")
    if risk is not None and not 0 < risk < 1:
        raise BadInput(f"risk {risk}: must be above 0 and below 1; 0.9 is the finish that is met in 9 of 10 cases")
    if sure is not None and (deadline is None or risk is not None or tolerance):
        raise BadInput("sure: needs a deadline, and excludes risk and tolerance")
    corrected: dict[Candidate, Corrected] = {}
    unpredicted = {name: str(found) for name, found in forecasts.items() if isinstance(found, NotPredicted)}
    similar, ledgers = similar or {}, {name: (ledgers or {}).get(name) or Ledger() for name in forecasts}
    for scheduler, found in forecasts.items():
        if isinstance(found, NotPredicted):
            continue
        candidates = candidates_on(plan, scheduler)
        if len(candidates) != found.starts.shape[1]:
            raise BadInput(
                f"{scheduler}: its forecast has {found.starts.shape[1]} candidates, but the plan has {len(candidates)}"
            )
        like = similar.get(scheduler) or [np.zeros(0, np.int64)] * len(candidates)
        corrected |= {one.candidate: one for one in _corrected(plan, candidates, found, ledgers[scheduler], like)}
    by_plan = unproven(corrected.values())
    predictions = {c: _prediction(one, risk, by_plan=c in by_plan) for c, one in corrected.items()}
    order = {name: place for place, name in enumerate(schedulers)}
    whole = PredictedPlan(
        plan.application, plan.algorithm, plan.now, plan.best, list(plan.candidates), plan.rejected, plan.lists,
        planned=plan, predictions=predictions, risk=risk, details=details or {}, deadline=deadline, sure=sure,
        certain={} if deadline is None else certainties(plan.candidates, deadline, corrected), ledgers=ledgers,
        unpredicted=unpredicted,
    )  # fmt: skip
    if deadline is not None:
        late = _unsure(whole, sure, corrected) if sure is not None else _late(whole, deadline)
        kept = [c for c in plan.candidates if c not in late]
        rejected = [*late.values(), *plan.rejected]
        planned = replace(plan, best=promised, candidates=kept, rejected=rejected)
        whole = replace(whole, candidates=kept, rejected=rejected, planned=planned)

    def rank(c: Candidate) -> tuple[int, int, int, int]:
        start = predictions[c].start if c in predictions else c.start
        return whole.score(c), c.processors, start, order[c.scheduler]

    candidates = sorted(whole.candidates, key=rank)
    best = candidates[0] if candidates else None
    if sure is not None:
        best = cheapest(candidates, whole.certain, sure, rank)
    if best is not None and tolerance > 0:
        latest = plan.now + round((whole.score(best) - plan.now) * (1 + tolerance), 6)
        near = [c for c in candidates if whole.score(c) <= latest]
        best = min(near, key=lambda c: (c.processors, *rank(c)))
    return replace(whole, best=best, candidates=candidates)


def _late(found: PredictedPlan, deadline: int) -> dict[Candidate, Rejected]:
    """Return the candidates that are expected to miss the deadline, with the delay."""
    late: dict[Candidate, Rejected] = {}
    for one in sorted((c for c in found.candidates if found.score(c) > deadline), key=found.score):
        likely = found.likely(one)
        sure = f" (probability of meeting it: {percent(found.certain[one].share)})" if one in found.certain else ""
        by = duration_text(found.score(one) - deadline)
        late[one] = Rejected(one.scheduler, one.processors, f"{likely} {by} after the deadline{sure}", "deadline")
    return late


def _unsure(found: PredictedPlan, share: float, corrected: Mapping[Candidate, Corrected]) -> dict[Candidate, Rejected]:
    """Return the candidates that are not as sure as that to meet the deadline, the surest first, and when they are."""
    unsure: dict[Candidate, Rejected] = {}
    nothing, asked = Certainty(-1.0, -1.0), percent(share)
    for one in sorted(found.candidates, key=lambda c: (-found.certain.get(c, nothing).share, c.processor_seconds)):
        known = found.certain.get(one)
        if known is None:
            few = f"too few predictions have outcomes on {one.scheduler}"
            why = few if one in found.predictions else found.unpredicted.get(one.scheduler, "not predicted")
            reason = f"the probability of meeting the deadline is not known ({why}); {asked} is required"
        elif known.reaches(share):
            continue
        else:
            reason = f"{percent(known.share)} likely to meet the deadline; {asked} is required"
            if known.most < share:
                said = f"{many(known.outcomes, 'prediction')} with outcomes on {one.scheduler}"
                reason += f", and {said} can show {percent(known.most)} at most"
            else:
                start = corrected[one].start_by(share) if one in corrected else one.start
                reason += f", which takes a deadline of {iso_time(start + one.execution_time)}"
        unsure[one] = Rejected(one.scheduler, one.processors, reason, "deadline")
    return unsure


def _corrected(
    plan: Plan,
    candidates: Sequence[Candidate],
    found: Forecast,
    ledger: Ledger,
    similar: Sequence[NDArray[np.int64]],
) -> list[Corrected]:
    bound = [c.start if c.kind == "promise" else np.iinfo(np.int64).max for c in candidates]
    promised = np.array(bound, np.int64)
    waits = np.sort(np.minimum(np.maximum(found.starts, plan.now), promised), axis=0).T - plan.now
    latest = (np.minimum(found.latest, promised) - plan.now).tolist()
    three = zip(waits, latest, similar, strict=True)
    made = [ledger.predict(plan.now, *each, within=found.within) for each in three]
    made = [  # no start is after its promise, whatever the simulation says
        replace(one, low=min(one.low, one.latest), high=min(one.high, one.latest)) if c.kind == "promise" else one
        for one, c in zip(made, candidates, strict=True)
    ]
    return [Corrected(candidate, one, ledger) for candidate, one in zip(candidates, made, strict=True)]


def _prediction(found: Corrected, risk: float | None, *, by_plan: bool) -> Prediction:
    lasts, made = found.candidate.execution_time, found.made
    start, at_risk = int(np.rint(made.now + made.waits.mean())), None
    if risk is not None:
        at_risk = lasts + (found.latest if by_plan else found.start_by(risk))
    return Prediction(start, start + lasts, made.now + made.low, made.now + made.high, at_risk, found.checked, made)
