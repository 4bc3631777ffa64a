"""What ``gas plan`` and ``gas submit`` share: the options of a plan, and asking and planning with whoever answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from gas.application import Application
from gas.cli.options import percentage
from gas.cli.predicting import Predicting
from gas.cli.probing import Probing
from gas.cli.tables import note
from gas.endpoints import Answer, Endpoint, JobEndpoint, ask
from gas.errors import BadInput, Unreachable, outcome_of
from gas.planner import Algorithm, Plan, plan
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
    "Tolerance",
    "Wishes",
    "make_plan",
    "why_nothing",
]

TOO_FAR_APART = 3600
"""Seconds by which a list from a file may differ from live ones to be planned with beside them."""

ApplicationFile = Annotated[str, typer.Argument(metavar="APP", help="Application file (TOML); - is standard input.")]
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
    answers = without_other_times(answers)
    errors = [a.error for a in answers if a.error is not None]
    if len(errors) == len(answers) == 1 and outcome_of(errors[0]) is not None:
        raise errors[0]
    for error in errors:
        note(f"gas: {error}")
    lists = [a.availability for a in answers if a.availability is not None]
    if not lists:
        raise Unreachable("no scheduler answered")
    now = max(one.now for one in lists)

    predictor = wishes.predicting
    not_before = None if wishes.not_before is None else parse_instant(wishes.not_before, now, "--not-before")
    deadline = None if wishes.deadline is None else parse_instant(wishes.deadline, now, "--deadline")
    _check_window(wishes, now, not_before, deadline)
    tolerance = percentage(wishes.tolerance, "--tolerance")

    def planned(deadline: int | None) -> Plan:
        return plan(
            application,
            [a.availability for a in answers if a.availability is not None],
            not_before=not_before,
            deadline=deadline,
            max_processor_hours=wishes.max_processor_hours,
            tolerance=tolerance,
            algorithm=wishes.algorithm,
            limits={a.name: a.limits for a in answers if a.availability is not None},
        )

    first = deadline if predictor is None else None  # what is promised for after it may be expected before it
    found = planned(first)
    probings = [Probing(answer, wishes.probes) for answer in answers]
    while sum(probing.ask(found) for probing in probings):  # every one of them asks
        answers = [probing.answer for probing in probings]
        found = planned(first)
    if predictor is not None:
        promised = planned(deadline).best
        found = predictor.plan(found, answers, tolerance, not_before, deadline, promised)
    return answers, found


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


def without_other_times(answers: Sequence[Answer]) -> list[Answer]:
    """Leave out lists from files that are not of the present of the live schedulers.

    A list of last week shows processors as free that are not, and next to one of the future the live ones would be
    planned for then.
    """
    live = [a.availability.now for a in answers if a.availability is not None and isinstance(a.endpoint, JobEndpoint)]
    kept = []
    for answer in answers:
        one = answer.availability
        if live and one is not None and not isinstance(answer.endpoint, JobEndpoint):
            apart = one.now - max(live)
            if abs(apart) > TOO_FAR_APART:
                when = f"{duration_text(abs(apart))} {'ahead of' if apart > 0 else 'behind'}"
                problem = BadInput(f"{answer.name}: as of {iso_time(one.now)}, {when} the live schedulers; left out")
                answer = replace(answer, availability=None, error=problem)
        kept.append(answer)
    return kept


@dataclass(frozen=True)
class _Broken:
    """Stands for an endpoint that could not be set up."""

    name: str
    address: str = ""

    @property
    def limits(self) -> Any:
        raise NotImplementedError

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
