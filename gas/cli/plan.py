"""``gas plan`` and ``gas submit``: the request that finishes first, explained and sent."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gas.application import Application
from gas.cli.options import AvailabilityFiles, ConfigFile, Endpoints, Json, chosen_endpoints, percentage
from gas.cli.tables import note, picture_width, print_json, print_table, say, wants_ascii, wants_colour
from gas.endpoints import Answer, Endpoint, JobDescription, JobEndpoint, Request, S3Endpoint, ask
from gas.errors import BadInput, Infeasible, StalePlan, Unreachable, outcome_of
from gas.planner import Algorithm, Candidate, Plan, plan
from gas.times import duration_text, iso_time, parse_instant, relative_text

__all__ = ["plan_command", "submit_command"]

MOST_SHOWN, MOST_EXPLAINED = 12, 100
"""How many candidates are printed without and with --explain; --json prints all."""

TOO_FAR_APART = 3600
"""Seconds by which a list from a file may differ from live ones to be planned with beside them."""

ATTEMPTS = 5
"""How often a plan that went stale is made again."""

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


@dataclass(frozen=True)
class Wishes:
    """What the user asks of a plan, as written."""

    not_before: str | None = None
    deadline: str | None = None
    max_processor_hours: float | None = None
    tolerance: str = "0%"
    algorithm: Algorithm = "exact"


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
    if json:
        print_json(found.to_wire([a.to_wire() for a in answers]))
    else:
        show_plan(found, answers, explain=explain)
    if found.best is None:
        raise Infeasible(why_nothing(found))


def make_plan(
    application: Application, endpoints: Sequence[Endpoint | tuple[str, Exception]], wishes: Wishes
) -> tuple[list[Answer], Plan]:
    """Ask the schedulers and plan with those that answer.

    Raises
    ------
    Unreachable
        None of them answers.
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
    return answers, plan(
        application,
        lists,
        not_before=None if wishes.not_before is None else parse_instant(wishes.not_before, now, "--not-before"),
        deadline=None if wishes.deadline is None else parse_instant(wishes.deadline, now, "--deadline"),
        max_processor_hours=wishes.max_processor_hours,
        tolerance=percentage(wishes.tolerance, "--tolerance"),
        algorithm=wishes.algorithm,
        limits={a.name: a.endpoint.limits for a in answers if a.availability is not None},
    )


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


def submit_command(
    context: typer.Context,
    application: ApplicationFile,
    endpoint: Endpoints = None,
    not_before: NotBefore = None,
    deadline: Deadline = None,
    max_processor_hours: MaxProcessorHours = None,
    tolerance: Tolerance = "0%",
    algorithm: AlgorithmName = "exact",
    name: Annotated[
        str | None, typer.Option("--name", help="What the job is called (default: the application).")
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option("--directory", help="Working directory; by default this one if the scheduler is on this machine."),
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="For the command.")] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="No command: hold the processors for the expected execution time.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Plan and show the request; send nothing.")] = False,
    explain: Explain = False,
    plot: Plot = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Plan, and submit what finishes first.

    gas submit APP [options] -- COMMAND

    In the command, {processors} and {walltime} stand for what was chosen; it also finds them in GAS_PROCESSORS and
    GAS_WALLTIME.
    """
    command = tuple(context.args)
    if simulate == bool(command):
        raise BadInput(
            "--simulate runs no command; leave one of the two out"
            if simulate
            else "no command: write it after --, for example gas submit lu.toml -- ./lu -n {processors}"
        )
    app = Application.read(application)
    wishes = Wishes(not_before, deadline, max_processor_hours, tolerance, algorithm)
    environment = _environment(env or [])
    endpoints = chosen_endpoints(endpoint, None, config)
    for attempt in range(1, ATTEMPTS + 1):
        answers, found = make_plan(app, endpoints, wishes)
        best = found.best
        if best is None:
            raise Infeasible(why_nothing(found))
        chosen = next(a.endpoint for a in answers if a.availability is not None and a.name == best.scheduler)
        if not isinstance(chosen, JobEndpoint):
            raise BadInput(f"{best.scheduler}: finishes first but takes no jobs; it is an availability list only")
        here = directory or (str(Path.cwd()) if isinstance(chosen, S3Endpoint) and chosen.is_local else None)
        job = JobDescription(
            name or app.name, command, environment, here, best.execution_time if simulate else None
        ).sized(best.processors, best.walltime)
        wanted = None if not_before is None else parse_instant(not_before, found.now, "--not-before")
        request = Request(best.processors, best.walltime, best.start + _slack(found, best), wanted)
        if dry_run:
            _show_request(found, answers, request, job, explain=explain, json=json)
            break
        try:
            accepted = chosen.submit(request, job)
        except StalePlan as error:
            note(f"gas: the plan went stale ({error}); planning again, attempt {attempt} of {ATTEMPTS}")
            time.sleep(0.05 * attempt)
            continue
        if json:
            wire = found.to_wire([a.to_wire() for a in answers])
            print_json(
                {
                    "schema": "gas.submission/1",
                    "scheduler": best.scheduler,
                    "endpoint": chosen.address,
                    "attempts": attempt,
                    "job": accepted,
                    "plan": wire,
                }
            )
        else:
            if explain:
                show_plan(found, answers, explain=True)
                say()
            else:
                say(f"{app.name}: {sentence(best, found)}")
            say(f"job {accepted['id']} on {best.scheduler}, promised to start {_promise(accepted, found)}")
            say(f"follow it: gas wait {_reference(chosen, accepted['id'])}")
        break
    else:
        raise StalePlan(
            f"{app.name}: the schedule changed {ATTEMPTS} times between planning and submitting; nothing was "
            "submitted, try again"
        )
    if plot is not None:
        draw(found, answers, plot)


def _slack(found: Plan, best: Candidate) -> int:
    """Return how much later than planned a start may be without planning again: 1% of the turn-around, at least 1 s.

    A start "now" is a second later by the time the request arrives, and that changes no decision.
    """
    return max(1, math.ceil(found.turnaround(best) * 0.01))


def _promise(job: dict[str, Any], found: Plan) -> str:
    return f"{relative_text(int(job['promise']), found.now)} at the latest ({iso_time(int(job['promise']))})"


def _reference(endpoint: Endpoint, id: int) -> str:
    """Return a job as the other commands take it."""
    return f"{id} -e {endpoint.name}"


def _environment(pairs: list[str]) -> dict[str, str]:
    environment = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise BadInput(f"--env {pair!r}: write NAME=VALUE")
        environment[name] = value
    return environment


def _show_request(
    found: Plan, answers: Sequence[Answer], request: Request, job: JobDescription, *, explain: bool, json: bool
) -> None:
    if json:
        print_json(
            {
                "schema": "gas.dry-run/1",
                "request": {
                    "processors": request.processors,
                    "walltime": request.walltime,
                    "start_by": request.start_by,
                    "start_by_iso": iso_time(request.start_by or 0),
                    "not_before": request.not_before,
                },
                "command": list(job.command),
                "environment": dict(job.environment),
                "directory": job.directory,
                "plan": found.to_wire([a.to_wire() for a in answers]),
            }
        )
        return
    show_plan(found, answers, explain=explain)
    say()
    what = f"run {' '.join(job.command)}" if job.command else f"simulate {job.run_time} s"
    say(f"would {what} (nothing was submitted); start by {iso_time(request.start_by or 0)}")
