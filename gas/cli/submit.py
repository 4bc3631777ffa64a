"""``gas submit``: the request that finishes first, sent."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gas.application import Application
from gas.cli.options import ConfigFile, Endpoints, Json, chosen_endpoints
from gas.cli.plan import draw, sentence, show_plan
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
from gas.cli.tables import note, print_json, say
from gas.endpoints import Answer, Endpoint, JobDescription, JobEndpoint, Request, S3Endpoint
from gas.errors import BadInput, Infeasible, StalePlan
from gas.planner import Candidate, Plan
from gas.times import iso_time, parse_instant, relative_text

__all__ = ["submit_command"]

ATTEMPTS = 5
"""How often a plan that went stale is made again."""


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
