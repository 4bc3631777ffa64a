"""``gas submit``: submit the request that finishes first, exactly once (`gas.agent.submission`)."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gas.agent.choice import Planned, predicted
from gas.agent.offering import checked_notice
from gas.agent.options import Run, checked_key
from gas.agent.schedulers import chosen_endpoints
from gas.application import Application
from gas.cli.jobs import wait_for_end
from gas.cli.options import ConfigFile, Endpoints, Json, KeyOption, grouped
from gas.cli.plan import draw, how_sure, sentence, show_plan
from gas.cli.planning import Everything, Explain, Planning, Plot, Spreading, agent_for
from gas.cli.scripts import Subject
from gas.cli.states import report_end
from gas.cli.tables import note, print_json, say, try_output, writing
from gas.endpoints import JobDescription, ReshapingEndpoint
from gas.errors import BadInput
from gas.placeholders import check
from gas.planner import Plan
from gas.times import duration_text, iso_time, parse_duration, relative_text

if TYPE_CHECKING:
    from gas.agent.submission import Prepared, Submitted

__all__ = ["submit_command"]

_SOON = 60
"""A job that starts within this number of seconds need not be watched."""


@grouped
def submit_command(
    context: typer.Context,
    subject: Subject,
    *,
    endpoint: Endpoints = None,
    planning: Planning,
    spreading: Spreading,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name of the job (default: the name of the application)."),
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option(
            "--directory",
            metavar="DIR",
            help="Working directory (default: the current one, if the scheduler is on this machine).",
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME=VALUE", help="Environment variable for the job; repeatable."),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Run no command; hold the processors for the expected execution time.")
    ] = False,
    native: Annotated[
        list[str] | None,
        typer.Option(
            "--native",
            metavar="OPTION",
            help="Option to pass to the scheduler, in its long form: --native=--account=abc.",
        ),
    ] = None,
    job_class: Annotated[
        str | None,
        typer.Option("--class", metavar="NAME", help="Class of the job, if the S³ service has classes (gas machine)."),
    ] = None,
    notice: Annotated[
        str | None,
        typer.Option(
            "--notice",
            metavar="TIME",
            help=(
                "On S³: before the job is moved to an earlier start, ask (gas offer); you have TIME (up to 1d) to "
                "answer."
            ),
        ),
    ] = None,
    redundant: Annotated[
        bool,
        typer.Option(
            "--redundant",
            help="If the job has to wait, also submit it to the other schedulers. It runs where it starts first; the "
            "other requests are withdrawn.",
        ),
    ] = False,
    shared: Annotated[
        str | None,
        typer.Option(
            "--shared",
            metavar="DIR",
            help="With --redundant: folder that all machines see (default: in your home folder).",
        ),
    ] = None,
    key: KeyOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job has ended, as gas wait does.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Plan and show the request; send nothing.")] = False,
    explain: Explain = False,
    everything: Everything = False,
    plot: Plot = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Plan, and submit the request that finishes first.

    gas submit APP [options] -- COMMAND

    gas submit --script job.sh --sizes 1,2,4,8 --time 8h,4h10m,2h20m,1h20m

    In the command, Gas replaces {processors}, {gpus}, {nodes}, {gpus_per_node}, {tasks}, {cpus_per_task} and {walltime}
    by the chosen values. The job also has them in its environment (GAS_PROCESSORS, GAS_GPUS and so on). Write {{gpus}}
    for a literal {gpus}.

    Gas does not change a Slurm job script: its size, time limit, partition, account and QOS are options of sbatch.

    One call submits at most one job, even if the network fails. Calls with the same --key submit one job in total;
    later calls report that job. With --redundant, each scheduler gets at most one job, and only one of the jobs runs
    (`gas guide coallocation`).
    """
    command = tuple(context.args)
    planning.refuse_standard_input_of(subject)
    work = subject.work()
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
    check(command)
    app = work.app
    options = planning.options()
    variables = _environment(env or [])
    job = JobDescription(
        name or app.name,
        command,
        variables,
        directory or None,
        native=tuple(native or ()),
        job_class=job_class,
        notice=None if notice is None else checked_notice(parse_duration(notice, "--notice"), f"--notice {notice}"),
    )
    run = Run(job, simulate)
    chosen = chosen_endpoints(endpoint, None, config, slurm_here=work.script is not None)
    agent = agent_for(work, chosen, config)
    spreading.refuse_without()
    if spreading.coallocate:
        _refuse_besides_coallocate({"--wait": wait, "--dry-run": dry_run, "--redundant": redundant})
        from gas.cli.coallocation import submit_coallocated

        spread = spreading.spread(script=work.script is not None)
        submit_coallocated(agent, run, options, spread, key=key, json=json, plot=plot)
        return
    if shared is not None and not redundant:
        raise BadInput("--shared: belongs to --redundant; add it, or leave --shared out")
    if redundant and dry_run:
        raise BadInput("--dry-run: applies to one request; leave --redundant out")
    if dry_run:
        _show_request(prepared := agent.prepare(run, options), explain=explain, everything=everything, json=json)
        if plot is not None:
            draw(prepared.planned.plan, prepared.planned.answers, plot)
        return

    def show(planned: Planned) -> None:
        """Print the request before its submission: no job may be created if its number cannot be printed."""
        with writing("nothing was submitted"):
            try_output() if json else _show_planned(app, planned, explain=explain, everything=everything)

    if redundant:
        from gas.cli.redundant import submit_redundantly

        jobs, finished = submit_redundantly(
            agent,
            run,
            options,
            key=key,
            shared=None if shared is None else Path(shared),
            json=json,
            wait=wait,
            before=show,
            show_job=lambda one: _show_job(app, one),
        )
        if plot is not None and jobs.planned is not None:
            draw(jobs.planned.plan, jobs.planned.answers, plot)
        if finished is not None:
            report_end(finished, quiet=json)
        return
    made = agent.submit(run, options, key=key, before=show)
    finished = _show_submitted(app, made, wait=wait, json=json, watch=_watch(made, subject, planning))
    if plot is not None and made.planned is not None:
        draw(made.planned.plan, made.planned.answers, plot)
    if finished is not None:
        report_end(finished, quiet=json)


def _show_submitted(
    app: Application, made: Submitted, *, wait: bool, json: bool, watch: str | None
) -> dict[str, Any] | None:
    """Print the submitted job; with `wait`, wait for its end, and return the ended job."""
    known = f"job {made.job['id']} was submitted to {made.scheduler}: gas status {made.reference} shows it"
    finished = None
    if wait:
        if json:
            note(f"job {made.reference}")
        else:
            with writing(known):
                _show_job(app, made)
        finished = wait_for_end(made.endpoint, int(made.job["id"]), quiet=json)
    with writing(known):
        if json:
            print_json(_to_wire(made, finished))
        elif not wait:
            _show_job(app, made)
            say(f"follow it: gas wait {made.reference}")
            if watch is not None:
                say(f"change its size while it waits, whenever that makes it finish sooner: {watch}")
    return finished


def _watch(made: Submitted, subject: Subject, planning: Planning) -> str | None:
    """Return the command that changes the size of a waiting job; None if its size cannot be changed."""
    words = subject.words()
    if not words or not _may_be_reshaped(made):
        return None
    words += [] if planning.predict in (None, "-") else ["--predict", planning.predict]
    return f"gas watch {made.reference} {join(words)}"


def _refuse_besides_coallocate(given: dict[str, bool]) -> None:
    """Refuse options that apply to one machine only."""
    for option, value in given.items():
        if value:
            raise BadInput(f"{option}: applies to one machine; leave it out (gas plan --coallocate shows the request)")


def _may_be_reshaped(made: Submitted) -> bool:
    """Whether a job waits where its size can be changed, and other sizes are possible."""
    if made.planned is None or not isinstance(made.endpoint, ReshapingEndpoint):
        return False
    found, job = made.planned.plan, made.job
    start = job.get("promise") or job.get("expected") or (None if found.best is None else found.best.start)
    waits = start is None or int(start) > found.now + _SOON
    return waits and len({one.processors for one in found.candidates if one.scheduler == made.scheduler}) > 1


def _to_wire(made: Submitted, finished: dict[str, Any] | None) -> dict[str, Any]:
    """Return the JSON object of schema gas.submission/1, with the ended job if the command waited for it."""
    return {
        "schema": "gas.submission/1",
        "scheduler": made.scheduler,
        "endpoint": made.endpoint.address,
        "key": made.key,
        "already": made.planned is None,
        "attempts": made.attempts,
        "job": made.job if finished is None else finished,
        "plan": None if made.planned is None else made.planned.to_wire(),
    }


def _show_planned(app: Application, planned: Planned, *, explain: bool, everything: bool) -> None:
    """Print the request before its submission."""
    found, answers, best = planned.plan, planned.answers, planned.best
    if explain or everything:
        show_plan(found, answers, explain=True, everything=everything)
        say()
    else:
        say(f"{app.name}: {sentence(best, found)}")
        if said := how_sure(best, answers):
            say(said)


def _show_job(app: Application, made: Submitted) -> None:
    """Print the submitted job."""
    if made.planned is None:
        say(f"{app.name}: submitted already, as job {made.job['id']} on {made.scheduler} ({made.job['state']})")
        return
    found = made.planned.plan
    say(f"job {made.job['id']} on {made.scheduler}, {_start(made.job, found)}{_likely(found)}")


def _start(job: dict[str, Any], found: Plan) -> str:
    """Return the promised or planned start of a job in words."""
    if (promise := job.get("promise")) is not None:
        when = relative_text(int(promise), found.now)
        return f"promised to start {when}{'' if when == 'now' else ' at the latest'} ({iso_time(int(promise))})"
    expected = job.get("expected") or (None if found.best is None else found.best.start)
    return "queued" if expected is None else f"planned to start {relative_text(expected, found.now)}, not promised"


def _likely(found: Plan) -> str:
    """Return the predicted start of the best request in words; empty without a prediction."""
    by_likely = predicted(found)
    likely = None if by_likely is None or found.best is None else by_likely.predictions.get(found.best)
    return "" if likely is None else f"; predicted to start {relative_text(likely.start, found.now)}"


def _refuse_besides_script(given: dict[str, Any]) -> None:
    """Refuse options that would change the command of a job script."""
    for what, value in given.items():
        if value:
            raise BadInput(f"{what}: a job script is submitted unchanged; write this into the script")


def _environment(pairs: list[str]) -> dict[str, str]:
    environment = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise BadInput(f"--env {pair!r}: write NAME=VALUE")
        environment[name] = value
    return environment


def _show_request(prepared: Prepared, *, explain: bool, everything: bool, json: bool) -> None:
    request, job, preview = prepared.request, prepared.job, prepared.preview
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
                    **({} if request.layout is None else {"layout": request.layout._asdict()}),
                },
                "command": list(job.command),
                "environment": dict(job.environment),
                "directory": job.directory,
                "submission": preview,
                "plan": prepared.planned.to_wire(),
            }
        )
        return
    show_plan(prepared.planned.plan, prepared.planned.answers, explain=explain, everything=everything)
    say()
    if preview is not None:
        say(f"would submit (nothing was submitted):\n{preview.rstrip()}")
        return
    what = f"run {' '.join(job.command)}" if job.command else f"simulate {duration_text(job.run_time or 0)}"
    late = iso_time(request.start_by or 0)
    say(f"would {what} (nothing was submitted); if it could not start by {late}, it would be refused")
