"""Planning with the schedulers that answered, with probes and predictions if requested."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gas.agent.options import Instant, PlanOptions
from gas.agent.schedulers import MOST_APART_LIVE, lists_of, seconds_since
from gas.application import Application
from gas.endpoints import Answer, Endpoint, QueueEndpoint, Request
from gas.endpoints.asking import ask_again
from gas.errors import BadInput, Infeasible
from gas.planner import UNIT_NOUNS, Candidate, Plan, Rejected, plan
from gas.printable import many
from gas.times import duration_text, iso_time

if TYPE_CHECKING:
    from gas.agent.prediction import Predictor
    from gas.prediction.choice import PredictedPlan
    from gas.prediction.ledger import Made
    from gas.resources import Resources

__all__ = ["Planned", "Task", "predicted", "why_nothing"]

QUICK_SECONDS = 5.0
"""Seconds within which a prediction counts as immediate; after a longer one, the clocks are checked."""


@dataclass(frozen=True, repr=False)
class Planned:
    """A plan, and the schedulers' answers on which it is based.

    `plan` has everything, such as the trade-offs; the most used properties are available here too.

    Attributes
    ----------
    resources
        Resources of each unit of its sizes; None if a size is only a number of processors.
    not_before, deadline
        What the options meant when it was made, in epoch seconds.
    """

    plan: Plan
    answers: Sequence[Answer]
    resources: Resources | None = None
    not_before: int | None = None
    deadline: int | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.plan!r}, of {many(len(self.answers), 'answer')}>"

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()

    @property
    def candidates(self) -> list[Candidate]:
        """The possible requests of the plan, best first."""
        return self.plan.candidates

    @property
    def rejected(self) -> list[Rejected]:
        """The requests that are not possible, and why."""
        return self.plan.rejected

    @property
    def best(self) -> Candidate:
        """The request that finishes first, or is predicted to; raises `Infeasible` if there is none."""
        if self.plan.best is None:
            raise Infeasible(why_nothing(self.plan))
        return self.plan.best

    @property
    def prediction(self) -> Made | None:
        """The prediction of the start of the best request; None if it was not predicted."""
        likely = predicted(self.plan)
        found = None if likely is None else likely.predictions.get(self.best)
        return None if found is None else found.made

    @property
    def endpoint(self) -> Endpoint:
        """The scheduler of the best request."""
        best = self.best.scheduler
        return next(a.endpoint for a in self.answers if a.name == best and a.availability is not None)

    @property
    def request(self) -> Request:
        """The best request, for submission by hand; with its earliest start, if that is in the future."""
        best, wanted = self.best, self.not_before
        later = wanted if wanted is not None and wanted > self.plan.now else None
        return Request(best.processors, best.walltime, not_before=later, layout=best.layout)

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object of schema gas.plan/1."""
        endpoints: list[Mapping[str, Any]] = [a.to_wire() for a in self.answers]
        return self.plan.to_wire(endpoints)


@dataclass(frozen=True)
class Task:
    """A planning problem with fixed instants: planned again a minute later, it is the same.

    Attributes
    ----------
    remark, progress
        Called with remarks for the user, and with the progress of a scheduler.
    """

    application: Application
    options: PlanOptions
    not_before: int | None
    deadline: int | None
    predictor: Predictor | None
    remark: Callable[[str], object]
    progress: Callable[[str], object]

    @classmethod
    def of(
        cls,
        application: Application,
        answers: Sequence[Answer],
        options: PlanOptions,
        predictor: Predictor | None,
        remark: Callable[[str], object],
        progress: Callable[[str], object],
    ) -> Task:
        """Fix the instants; relative instants count from the time of the latest list."""
        now = max(one.now for one in lists_of(answers))
        not_before, deadline = (
            None if given is None else Instant.of(given).at(now) for given in (options.not_before, options.deadline)
        )
        if not options.deadline_may_have_passed:
            _check_window(options, now, not_before, deadline)
        for option, given in (("--not-before", options.not_before), ("--deadline", options.deadline)):
            if isinstance(given, Instant) and (understood := given.understood(option, now)):
                remark(understood)
        return cls(application, options, not_before, deadline, predictor, remark, progress)

    def plan(self, answers: Sequence[Answer]) -> Planned:
        """Plan with the lists; endpoints that must be named are used only if nothing else can run the job."""
        usual = [answer for answer in answers if answer.availability is None or not answer.endpoint.unasked]
        if len(usual) == len(answers) or all(answer.availability is None for answer in usual):
            return self._plan_at_once(answers)
        found = self._plan_at_once(usual)
        if found.plan.best is None:
            return self._plan_at_once(answers)
        self._say_what_is_left_out(usual, answers)
        return found

    def _say_what_is_left_out(self, usual: Sequence[Answer], answers: Sequence[Answer]) -> None:
        """Report endpoints left out: for each reason, the gain of the best one, and how to name it."""
        best = self._planned(usual, self.deadline).best
        gains: dict[str, Candidate] = {}
        for answer in answers:
            if answer in usual:
                continue
            other, why = self._planned([answer], self.deadline).best, answer.endpoint.unasked
            if other is not None and (why not in gains or other.finish < gains[why].finish):
                gains[why] = other
        for why, other in gains.items():
            if best is None or other.finish < best.finish:
                gain = "" if best is None else f" ({duration_text(best.finish - other.finish)} sooner)"
                self.remark(
                    f"{other.scheduler}: left out: {why}; {other.size_text} would finish there at "
                    f"{iso_time(other.finish)}{gain}: to take it, add -e {shlex.quote(other.scheduler)}"
                )

    def _plan_at_once(self, answers: Sequence[Answer]) -> Planned:
        """Plan; if the prediction took long, no start is predicted before its end, and an outdated one is repeated."""
        found = self._plan(answers)
        likely, took = predicted(found.plan), seconds_since(found.answers)
        if likely is None or took <= QUICK_SECONDS:
            return found
        passed, later = math.ceil(took), found.answers
        own_clocks = any(isinstance(answer.endpoint, QueueEndpoint) for answer in later)  # such as that of an S³
        if own_clocks and not self.options.probes:
            later = ask_again(later)
            passed = max(map(_later_by, found.answers, later), default=0)
        if not _outdated(likely, passed) or self.options.probes:  # real jobs are not submitted twice
            return replace(found, plan=likely.as_of(likely.now + passed))
        took_text = duration_text(round(took))
        self.remark(f"predicting took {took_text}; some planned starts have passed since, so Gas predicts again")
        found = self._plan(later if own_clocks else ask_again(later))
        if (seconds := seconds_since(found.answers)) > MOST_APART_LIVE:
            self.remark(f"predicting took {duration_text(round(seconds))} again; the plan below is from before that")
        return found

    def _plan(self, answers: Sequence[Answer]) -> Planned:
        """Plan, with probes and predictions if requested."""
        predictor = self.predictor
        first = self.deadline if predictor is None else None  # a start may be expected before the promised one
        found = self._planned(answers, first)
        if self.options.probes:
            from gas.agent.probing import Probing

            probings = [Probing(answer, self.options.probes, self.remark, self.progress) for answer in answers]
            while sum(probing.ask(found) for probing in probings):  # each of them queries
                answers = [probing.answer for probing in probings]
                found = self._planned(answers, first)
        if predictor is not None:
            promised = self._planned(answers, self.deadline).best
            found = predictor.plan(found, answers, self.options.tolerance, self.not_before, self.deadline, promised)
        own = self.application
        return Planned(found, list(answers), own.resources, self.not_before, self.deadline)

    def _planned(self, answers: Sequence[Answer], deadline: int | None) -> Plan:
        return plan(
            self.application,
            lists_of(answers),
            not_before=self.not_before,
            deadline=deadline,
            max_processor_hours=self.options.max_processor_hours,
            tolerance=self.options.tolerance,
            algorithm=self.options.algorithm,
            limits={a.name: a.limits for a in answers if a.availability is not None},
        )


def _later_by(before: Answer, after: Answer) -> int:
    """Return the seconds between two answers of a scheduler by its own clock."""
    if before.availability is None or after.availability is None:
        return 0
    return max(after.availability.now - before.availability.now, 0)


def _outdated(found: PredictedPlan, passed: int) -> bool:
    """Return whether too many seconds have passed since: over a minute, or the planned start of the best request."""
    if passed > MOST_APART_LIVE:
        return True
    best = found.best
    return best is not None and best not in found.predictions and found.now < best.start < found.now + passed


def _check_window(options: PlanOptions, now: int, not_before: int | None, deadline: int | None) -> None:
    """Raise for a deadline that no start precedes, as a mistake; one that is only too early gets an answer."""
    earliest = now if not_before is None else max(now, not_before)
    if options.deadline is None or deadline is None or deadline > earliest:
        return
    given, first = iso_time(deadline), iso_time(earliest)
    why, way_out = "now", "give a later deadline"
    if options.not_before is not None and not_before is not None and not_before > now:
        why, way_out = f"--not-before {Instant.of(options.not_before)}", f"{way_out} or an earlier start"
    written = Instant.of(options.deadline)
    raise BadInput(f"--deadline {written}: is {given}, but no run can start before {first} ({why}); {way_out}")


def predicted(found: Plan) -> PredictedPlan | None:
    """Return a plan with predictions; None for a plan by promises alone, which imports nothing for predictions."""
    if type(found) is Plan:
        return None
    from gas.prediction.choice import PredictedPlan

    return found if isinstance(found, PredictedPlan) else None


def why_nothing(found: Plan) -> str:
    """Return in one sentence why no request is possible."""
    nearest = {r.kind: r for r in reversed(found.rejected)}  # the first of each kind misses by least
    if not nearest:
        return f"{found.application}: its constraint allows no processor count on these machines"
    said = [f"{many(r.processors, UNIT_NOUNS[r.unit])}: {r.reason}" for r in found.rejected if r is nearest[r.kind]]
    more = "" if len(found.rejected) == len(said) else " (gas plan --all gives the reason for each size)"
    return f"{found.application}: no request is possible; {'; '.join(said)}{more}"
