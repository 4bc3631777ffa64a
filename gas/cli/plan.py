"""``gas plan``: the request that finishes first, shown and explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from gas.application import Application
from gas.cli.options import AvailabilityFiles, ConfigFile, Endpoints, Json, chosen_endpoints
from gas.cli.planning import (
    AlgorithmName,
    ApplicationFile,
    Deadline,
    Explain,
    MaxProcessorHours,
    NotBefore,
    Plot,
    Tolerance,
    Wishes,
    make_plan,
    why_nothing,
)
from gas.cli.tables import note, picture_width, print_json, print_table, say, wants_ascii, wants_colour
from gas.endpoints import Answer
from gas.errors import Infeasible
from gas.planner import Candidate, Plan
from gas.times import duration_text, iso_time, relative_text

__all__ = ["draw", "plan_command", "sentence", "show_plan"]

MOST_SHOWN, MOST_EXPLAINED = 12, 100
"""How many candidates are printed without and with --explain; --json prints all."""


def plan_command(
    application: ApplicationFile,
    endpoint: Endpoints = None,
    availability: AvailabilityFiles = None,
    not_before: NotBefore = None,
    deadline: Deadline = None,
    max_processor_hours: MaxProcessorHours = None,
    tolerance: Tolerance = "0%",
    algorithm: AlgorithmName = "exact",
    explain: Explain = False,
    plot: Plot = None,
    form: Annotated[
        Literal["sbatch", "psij", "dask", "snakemake", "parsl"] | None,
        typer.Option("--as", help="Print the best request in the words of another program instead."),
    ] = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Find the request that finishes first.

    Which scheduler, how many processors, which walltime: every possible request is looked at.
    """
    app = Application.read(application)
    wishes = Wishes(not_before, deadline, max_processor_hours, tolerance, algorithm)
    answers, found = make_plan(app, chosen_endpoints(endpoint, availability, config), wishes)
    if plot is not None:
        draw(found, answers, plot)
    if form is not None and found.best is not None:
        from gas.workflows.conversions import converted

        words = converted(found, form)
        if isinstance(words, str):
            say(words)
        else:
            print_json(words)
    elif json:
        print_json(found.to_wire([a.to_wire() for a in answers]))
    else:
        show_plan(found, answers, explain=explain)
    if found.best is None:
        raise Infeasible(why_nothing(found))


def sentence(candidate: Candidate, found: Plan) -> str:
    """Return a candidate in words."""
    start, finish = relative_text(candidate.start, found.now), relative_text(candidate.finish, found.now)
    verb = "starts" if candidate.kind == "promise" else "may start"
    return (
        f"{candidate.processors} processors on {candidate.scheduler}, walltime {duration_text(candidate.walltime)}: "
        f"{verb} {start}, finishes {finish} ({iso_time(candidate.finish)})"
    )


def show_plan(found: Plan, answers: Sequence[Answer], *, explain: bool) -> None:
    """Print the best request, the picture and the candidates."""
    if found.best is not None:
        say(f"{found.application}: {sentence(found.best, found)}")
        say()
        show_picture(found, answers)
    shown = _worth_showing(found, MOST_EXPLAINED if explain else MOST_SHOWN)
    rows = [
        (
            "→" if c == found.best and not wants_ascii() else ">" if c == found.best else "",
            c.scheduler,
            str(c.processors),
            duration_text(c.walltime),
            duration_text(c.execution_time),
            relative_text(c.start, found.now),
            relative_text(c.finish, found.now),
            f"{c.processor_seconds / 3600:.2f}",
            *((found.why_lost(c),) if explain else ()),
        )
        for c in shown
    ]
    columns = ["", "scheduler", "processors", "walltime", "runs", "starts", "finishes", "proc-hours"]
    if explain:
        columns.append("why not")
    if rows:
        best = shown.index(found.best) if found.best in shown else None
        print_table(columns, rows, best=best, left=("", "scheduler", "why not"))
    if len(shown) < len(found.candidates):
        say(f"({len(found.candidates) - len(shown)} more candidates: {'--json' if explain else '--explain'})")
    if explain and found.rejected:
        say()
        more = len(found.rejected) - MOST_EXPLAINED
        say("Impossible:" if more <= 0 else f"Impossible ({more} more: --json):")
        print_table(
            ["scheduler", "processors", "because"],
            [(r.scheduler, str(r.processors), r.reason) for r in found.rejected[:MOST_EXPLAINED]],
            left=("scheduler", "because"),
        )


def _worth_showing(found: Plan, most: int) -> list[Candidate]:
    """Return the first candidates, and the best among them wherever it stands."""
    first = found.candidates[:most]
    if found.best is not None and found.best not in first:
        first[-1] = found.best
    return first


def show_picture(found: Plan, answers: Sequence[Answer]) -> None:
    """Print the availability of the best candidate's scheduler, with the candidate in it."""
    from gas.pictures.terminal import availability_picture

    best = found.best
    for answer in answers:
        if best is not None and answer.availability is not None and answer.name == best.scheduler:
            say(
                availability_picture(
                    answer.availability, width=picture_width(), colour=wants_colour(), best=best, ascii=wants_ascii()
                )
            )
            say()


def draw(found: Plan, answers: Sequence[Answer], path: str) -> None:
    """Draw the plan into a file."""
    from gas.pictures.plan import draw_plan

    draw_plan(found, [a.availability for a in answers if a.availability is not None], path)
    note(f"drawn: {path}")
