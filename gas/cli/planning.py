"""What ``gas plan`` and ``gas submit`` share: the options of a plan, and asking and planning with whoever answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

import typer

from gas.application import Application
from gas.cli.options import percentage
from gas.cli.predicting import Predicting
from gas.cli.probing import Probing
from gas.cli.tables import note
from gas.endpoints import Answer, Endpoint, FileEndpoint, ask
from gas.endpoints.asking import ask_again
from gas.endpoints.freshness import MOST_APART_LIVE, without_stale
from gas.errors import BadInput, Unreachable, outcome_of
from gas.node_availability import Availability
from gas.planner import Algorithm, Limits, Plan, plan
from gas.prediction.choice import PredictedPlan
from gas.times import duration_text, iso_time, parse_instant

__all__ = [
    "AlgorithmName",
    "ApplicationFile",
    "Deadline",
    "Explain",
    "MaxProcessorHours",
    "NotBefore",
    "Plot",
    "Probes",
    "StaleOk",
    "Tolerance",
    "Wishes",
    "make_plan",
    "why_nothing",
]

QUICK_SECONDS = 5.0
"""What a prediction that is at once takes at most; after a longer one it is looked how far the clock has moved on."""

ApplicationFile = Annotated[
    str | None,
    typer.Argument(metavar="APP", help="Application file (TOML); - is standard input. Or a Slurm job script."),
]
NotBefore = Annotated[
    str | None,
    typer.Option("--not-before", metavar="TIME", help="No start before: 2026-11-21T08:00 (local), +2h or @EPOCH."),
]
Deadline = Annotated[
    str | None, typer.Option("--deadline", metavar="TIME", help="No expected finish after (written like --not-before).")
]
MaxProcessorHours = Annotated[
    float | None, typer.Option("--max-processor-hours", metavar="N", help="The most that the run may use up.")
]
Tolerance = Annotated[
    str,
    typer.Option(
        "--tolerance", metavar="N%", help="Take the fewest processors that finish within N% of the best turn-around."
    ),
]
AlgorithmName = Annotated[
    Algorithm, typer.Option("--algorithm", help="walk is the paper's own search; it can miss the best.")
]
Explain = Annotated[bool, typer.Option("--explain", help="Say why every other size lost or is impossible.")]
Plot = Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Draw the plan: .png, .svg or .pdf.")]


Probes = Annotated[
    int,
    typer.Option(
        "--probe",
        min=0,
        max=100,
        metavar="N",
        help="Ask a Slurm by up to N real jobs, cancelled at once: slow, sure.",
    ),
]


StaleOk = Annotated[
    bool,
    typer.Option("--stale-ok", help="Plan also with lists that are not of the present: an hour off, a minute if live."),
]


@dataclass(frozen=True)
class Wishes:
    """What the user asks of a plan, as written."""

    not_before: str | None = None
    deadline: str | None = None
    max_processor_hours: float | None = None
    tolerance: str = "0%"
    algorithm: Algorithm = "exact"
    probes: int = 0
    predicting: Predicting | None = None
    stale_ok: bool = False


def make_plan(
    application: Application, endpoints: Sequence[Endpoint | tuple[str, Exception]], wishes: Wishes
) -> tuple[list[Answer], Plan]:
    """Ask the schedulers and plan with those that answer; with predictions, if they are wished for.

    Raises
    ------
    Unreachable
        None of them answers.
    BadInput
        A wish cannot be read, or the deadline leaves no time at all.
    """
    usable = iter(ask([e for e in endpoints if not isinstance(e, tuple)]))
    answers = [Answer(_Broken(e[0]), None, e[1], 0.0) if isinstance(e, tuple) else next(usable) for e in endpoints]
    answers += _with_choices(answers)
    if _seconds_since(answers) > MOST_APART_LIVE:  # another one was waited for
        answers = ask_again(answers)
    answers = without_stale(answers, time.time(), time.monotonic(), stale_ok=wishes.stale_ok)
    errors = [a.error for a in answers if a.error is not None]
    if len(errors) == len(answers) == 1 and outcome_of(errors[0]) is not None:
        raise errors[0]
    for error in errors:
        note(f"gas: {error}")
    task = _Task.of(application, answers, wishes)
    answers, found = task.plan(answers)
    if isinstance(found, PredictedPlan) and (later := task.moved_on(answers, found)) is not None:
        took = duration_text(round(_seconds_since(answers)))
        note(f"gas: predicting took {took}, in which starts have passed; predicting again")
        answers, found = task.plan(later)
        if (seconds := _seconds_since(answers)) > MOST_APART_LIVE:
            note(f"gas: predicting took {duration_text(round(seconds))} again; what follows is as of before that")
    return answers, found


def _with_choices(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers of other accounts and QOS with which the schedulers that have answered take jobs."""
    others = [
        one
        for answer in answers
        if answer.availability is not None and isinstance(answer.endpoint, Choosing)
        for one in answer.endpoint.choices()
    ]
    return [one for one in ask(others) if one.error is None] if others else []


@runtime_checkable
class Choosing(Protocol):
    """A scheduler that takes jobs on several accounts, or with several qualities of service."""

    def choices(self) -> Sequence[Endpoint]:
        """Return it with each of those that jobs do not get anyway; after it has answered."""


@dataclass(frozen=True)
class _Task:
    """What is to be planned, its instants fixed: planned again a minute later, it is the same."""

    application: Application
    wishes: Wishes
    not_before: int | None
    deadline: int | None
    tolerance: float

    @classmethod
    def of(cls, application: Application, answers: Sequence[Answer], wishes: Wishes) -> _Task:
        """Read the wishes; what is relative in them is so to the latest of the lists."""
        now = max(one.now for one in _lists(answers))
        not_before = None if wishes.not_before is None else parse_instant(wishes.not_before, now, "--not-before")
        deadline = None if wishes.deadline is None else parse_instant(wishes.deadline, now, "--deadline")
        _check_window(wishes, now, not_before, deadline)
        return cls(application, wishes, not_before, deadline, percentage(wishes.tolerance, "--tolerance"))

    def plan(self, answers: Sequence[Answer]) -> tuple[list[Answer], Plan]:
        """Plan with the lists that there are, by probes and predictions if these are wished for."""
        answers, predictor = list(answers), self.wishes.predicting
        first = self.deadline if predictor is None else None  # what is promised for after it may be expected before it
        found = self._planned(answers, first)
        probings = [Probing(answer, self.wishes.probes) for answer in answers]
        while sum(probing.ask(found) for probing in probings):  # every one of them asks
            answers = [probing.answer for probing in probings]
            found = self._planned(answers, first)
        if predictor is not None:
            promised = self._planned(answers, self.deadline).best
            found = predictor.plan(found, answers, self.tolerance, self.not_before, self.deadline, promised)
        return answers, found

    def _planned(self, answers: Sequence[Answer], deadline: int | None) -> Plan:
        return plan(
            self.application,
            _lists(answers),
            not_before=self.not_before,
            deadline=deadline,
            max_processor_hours=self.wishes.max_processor_hours,
            tolerance=self.tolerance,
            algorithm=self.wishes.algorithm,
            limits={a.name: a.limits for a in answers if a.availability is not None},
        )

    def moved_on(self, answers: Sequence[Answer], found: PredictedPlan) -> list[Answer] | None:
        """Return what is free now if predicting took so long that what it says is of the past; None if it did not.

        By the schedulers' own clocks: more than a minute is over, or the start that is expected of the best.
        """
        if _seconds_since(answers) <= QUICK_SECONDS or self.wishes.probes:  # real jobs are not sent twice
            return None
        later = ask_again(answers)
        likely = None if found.best is None else found.predictions.get(found.best)
        for before, after in zip(answers, later, strict=True):
            if before.availability is None or after.availability is None:
                continue
            was, now = before.availability.now, after.availability.now
            is_best = found.best is not None and found.best.scheduler == before.name
            if now - was > MOST_APART_LIVE or (is_best and likely is not None and was < likely.start < now):
                return later
        return None


def _seconds_since(answers: Sequence[Answer]) -> float:
    """Return how long ago the first of the live schedulers answered; 0 if none did."""
    live = [a.at for a in answers if a.availability is not None and not isinstance(a.endpoint, FileEndpoint)]
    return time.monotonic() - min(live) if live else 0.0


def _lists(answers: Sequence[Answer]) -> list[Availability]:
    """Return what those have free that have answered, or raise `Unreachable`."""
    found = [a.availability for a in answers if a.availability is not None]
    if not found:
        raise Unreachable("no scheduler answered")
    return found


def _check_window(wishes: Wishes, now: int, not_before: int | None, deadline: int | None) -> None:
    """Refuse a deadline that no start precedes: that is a slip, where one that is only too early is an answer."""
    earliest = now if not_before is None else max(now, not_before)
    if deadline is None or deadline > earliest:
        return
    given, first = iso_time(deadline), iso_time(earliest)
    why, way_out = "now", "name a later deadline"
    if not_before is not None and not_before > now:
        why, way_out = f"--not-before {wishes.not_before}", f"{way_out} or an earlier start"
    raise BadInput(f"--deadline {wishes.deadline}: is {given}, and no run starts before {first} ({why}); {way_out}")


@dataclass(frozen=True)
class _Broken:
    """Stands for an endpoint that could not be set up."""

    name: str
    address: str = ""

    @property
    def limits(self) -> Limits:  # protocols are checked by having a look
        return Limits()

    def availability(self) -> Any:
        raise NotImplementedError


def why_nothing(found: Plan) -> str:
    """Return in one sentence why no request is possible."""
    nearest = {r.kind: r for r in reversed(found.rejected)}  # the first of each kind is the one that misses by least
    if not nearest:
        return f"{found.application}: its constraint allows no processor count on these machines"
    told = [f"{r.processors} processors: {r.reason}" for r in found.rejected if r is nearest[r.kind]]
    more = "" if len(found.rejected) == len(told) else " (--explain tells it of every size)"
    return f"{found.application}: no request is possible; {'; '.join(told)}{more}"
