"""``gas submit``: the request that finishes first, sent, and made a job exactly once (`gas.cli.submitting`)."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

import typer

from gas.application import Application
from gas.cli.jobs import wait_for_end
from gas.cli.options import (
    ConfigFile,
    Endpoints,
    Json,
    KeyOption,
    checked_key,
    chosen_endpoints,
)
from gas.cli.plan import draw, how_sure, sentence, show_plan
from gas.cli.planning import (
    AlgorithmName,
    ApplicationFile,
    Deadline,
    Explain,
    MaxProcessorHours,
    NotBefore,
    Plot,
    Probes,
    StaleOk,
    Tolerance,
    Wishes,
)
from gas.cli.predicting import Predict, Risk, Samples, Seed, predicting, refuse_both_from_standard_input
from gas.cli.scripts import Asking, ScriptFile, ScriptUnit, Sizes, Times, command_script, work_of
from gas.cli.states import report_end
from gas.cli.submitting import Made, Submission, called, planned
from gas.cli.tables import note, print_json, say
from gas.endpoints import Answer, Endpoint, JobDescription, Request
from gas.errors import BadInput
from gas.planner import Candidate, Plan
from gas.prediction.choice import PredictedPlan
from gas.times import iso_time, parse_instant, relative_text

__all__ = ["submit_command"]


def submit_command(
    context: typer.Context,
    application: ApplicationFile = None,
    script: ScriptFile = None,
    sizes: Sizes = None,
    times: Times = None,
    unit: ScriptUnit = None,
    endpoint: Endpoints = None,
    not_before: NotBefore = None,
    deadline: Deadline = None,
    max_processor_hours: MaxProcessorHours = None,
    tolerance: Tolerance = "0%",
    algorithm: AlgorithmName = "exact",
    probe: Probes = 0,
    predict: Predict = None,
    risk: Risk = None,
    samples: Samples = None,
    seed: Seed = None,
    stale_ok: StaleOk = False,
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
    native: Annotated[
        list[str] | None,
        typer.Option(
            "--native", metavar="OPTION", help="In the scheduler's own words, long and in one: --native=--account=abc."
        ),
    ] = None,
    key: KeyOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Then wait until the job has ended, as gas wait does.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Plan and show the request; send nothing.")] = False,
    explain: Explain = False,
    plot: Plot = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Plan, and submit what finishes first.

    gas submit APP [options] -- COMMAND

    gas submit --script job.sh --sizes 1,2,4,8 --time 8h,4h10m,2h20m,1h20m

    In the command, {processors} and {walltime} stand for what was chosen; it also finds them in GAS_PROCESSORS and
    GAS_WALLTIME.

    A Slurm job script is submitted as it is, with what its #SBATCH lines ask for; only its size, its time and where it
    goes are what was planned.

    Whatever happens on the network, one call submits at most one job. With --key, so do all calls with the same KEY:
    one that finds the job submitted says so, and submits nothing.
    """
    command = tuple(context.args)
    refuse_both_from_standard_input(application, predict)
    work = work_of(application, script, sizes, times, unit)
    if work.script is not None:
        _refuse_besides_script({"a command": command, "--simulate": simulate, "--env": env})
    elif simulate == bool(command):
        raise BadInput(
            "--simulate runs no command; leave one of the two out"
            if simulate
            else "no command: write it after --, for example gas submit lu.toml -- ./lu -n {processors}"
        )
    if key is not None:
        checked_key(key)
    app = work.app
    predictor = predicting(predict, risk, samples, seed)
    wishes = Wishes(not_before, deadline, max_processor_hours, tolerance, algorithm, probe, predictor, stale_ok)
    environment = _environment(env or [])
    endpoints = work.on(
        chosen_endpoints(endpoint, None, config, slurm_here=work.script is not None),
        native or (),
        command_script(command, directory),
    )

    def sized(found: Plan, best: Candidate, chosen: Endpoint) -> tuple[Request, JobDescription]:
        own_directory = work.script is not None and work.script.says("chdir")
        here = directory or (str(Path.cwd()) if getattr(chosen, "is_local", False) and not own_directory else None)
        job = JobDescription(
            name or app.name,
            command,
            environment,
            here,
            best.execution_time if simulate else None,
            () if isinstance(chosen, Asking) else tuple(native or ()),
        ).sized(best.processors, best.walltime)
        wanted = None if not_before is None else parse_instant(not_before, found.now, "--not-before")
        others = ((c.processors, c.walltime) for c in found.candidates if c.scheduler == best.scheduler and c != best)
        alternatives = tuple(others) if getattr(chosen, "moldable", False) else ()
        return Request(best.processors, best.walltime, best.start + _slack(found, best), wanted, alternatives), job

    if dry_run:
        answers, found, best, chosen = planned(app, endpoints, wishes)
        request, job = sized(found, best, chosen)
        preview = chosen.preview(request, job) if isinstance(chosen, Previewing) else None
        _show_request(found, answers, request, job, preview, explain=explain, json=json)
        if plot is not None:
            draw(found, answers, plot)
        return
    submission = Submission(app, endpoints, wishes, sized, key or uuid.uuid4().hex, config)
    made = submission.make() if key is None else submission.make_or_find()
    finished = None
    if wait:
        if json:
            note(f"job {_reference(made.endpoint, made.job['id'])}")
        else:
            _tell(app, made, explain=explain)
        finished = wait_for_end(made.endpoint, int(made.job["id"]), quiet=json)
    if json:
        found_wire = None if made.plan is None else made.plan.to_wire([a.to_wire() for a in made.answers])
        print_json(
            {
                "schema": "gas.submission/1",
                "scheduler": made.scheduler,
                "endpoint": made.endpoint.address,
                "key": submission.key,
                "already": made.plan is None,
                "attempts": made.attempts,
                "job": made.job if finished is None else finished,
                "plan": found_wire,
            }
        )
    elif not wait:
        _tell(app, made, explain=explain)
        say(f"follow it: gas wait {_reference(made.endpoint, made.job['id'])}")
    if plot is not None and made.plan is not None:
        draw(made.plan, made.answers, plot)
    if finished is not None:
        report_end(finished, quiet=json)


@runtime_checkable
class Previewing(Protocol):
    """A scheduler whose submissions can be shown."""

    def preview(self, request: Request, job: JobDescription) -> str:
        """Return what would be submitted, as a person would write it."""


def _tell(app: Application, made: Made, *, explain: bool) -> None:
    """Say what was submitted."""
    if made.plan is None:
        say(f"{app.name}: submitted already, as job {made.job['id']} on {made.scheduler} ({made.job['state']})")
        return
    if explain:
        show_plan(made.plan, made.answers, explain=True)
        say()
    elif made.plan.best is not None:
        say(f"{app.name}: {sentence(made.plan.best, made.plan)}")
        if said := how_sure(made.plan.best, made.answers):
            say(said)
    say(f"job {made.job['id']} on {made.scheduler}, {_start(made.job, made.plan)}{_likely(made.plan)}")


def _slack(found: Plan, best: Candidate) -> int:
    """Return how much later than planned a start may be without planning again: 1% of the turn-around, at least 1 s.

    A start "now" is a second later by the time the request arrives, and that changes no decision.
    """
    return max(1, math.ceil(found.turnaround(best) * 0.01))


def _start(job: dict[str, Any], found: Plan) -> str:
    """Return in words when a job starts: by promise, or by plan."""
    if (promise := job.get("promise")) is not None:
        return f"promised to start {relative_text(int(promise), found.now)} at the latest ({iso_time(int(promise))})"
    expected = job.get("expected") or (None if found.best is None else found.best.start)
    return "queued" if expected is None else f"planned to start {relative_text(expected, found.now)}, not promised"


def _likely(found: Plan) -> str:
    """Return in words when the best request is predicted to start; nothing if it is not."""
    likely = found.predictions.get(found.best) if isinstance(found, PredictedPlan) and found.best is not None else None
    return "" if likely is None else f"; predicted to start {relative_text(likely.start, found.now)}"


def _reference(endpoint: Endpoint, id: int) -> str:
    """Return a job as the other commands take it."""
    return f"{id} -e {called(endpoint)}"


def _refuse_besides_script(given: dict[str, Any]) -> None:
    """Refuse what would change what a job script runs."""
    for what, value in given.items():
        if value:
            raise BadInput(f"{what}: a job script is submitted as it is; write it into the script")


def _environment(pairs: list[str]) -> dict[str, str]:
    environment = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise BadInput(f"--env {pair!r}: write NAME=VALUE")
        environment[name] = value
    return environment


def _show_request(
    found: Plan,
    answers: Sequence[Answer],
    request: Request,
    job: JobDescription,
    preview: str | None,
    *,
    explain: bool,
    json: bool,
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
                "submission": preview,
                "plan": found.to_wire([a.to_wire() for a in answers]),
            }
        )
        return
    show_plan(found, answers, explain=explain)
    say()
    if preview is not None:
        say(f"would submit (nothing was):\n{preview.rstrip()}")
        return
    what = f"run {' '.join(job.command)}" if job.command else f"simulate {job.run_time} s"
    say(f"would {what} (nothing was submitted); start by {iso_time(request.start_by or 0)}")
