"""``gas reshape`` and ``gas watch``: change the shape of a waiting job, once or at every change of the queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gas.agent.options import ReshapeOptions, percentage
from gas.agent.schedulers import job_of
from gas.agent.states import ENDED
from gas.cli.completion import QueuedJob
from gas.cli.options import ConfigFile, Json, OneEndpoint, grouped, only
from gas.cli.planning import MaxProcessorHours, Predict, StaleOk, agent_for, forecasting
from gas.cli.scripts import Subject
from gas.cli.states import report_end
from gas.cli.tables import print_json, print_json_line, say
from gas.times import iso_time, parse_duration

if TYPE_CHECKING:
    from gas.agent.watching import Event

__all__ = ["reshape_command", "watch_command"]


@dataclass(frozen=True)
class SubjectOfJob(Subject):
    """The options for the application of a job."""

    application: Annotated[
        str | None, typer.Argument(metavar="APP", help="The job's application file (TOML) or Slurm job script.")
    ] = None


@dataclass(frozen=True)
class Gain:
    """The options for the minimum gain of a change."""

    threshold: Annotated[
        str,
        typer.Option(
            "--threshold", metavar="N%", help="Minimum saving, as a share of the time until the end of the job."
        ),
    ] = "5%"
    least: Annotated[
        str,
        typer.Option("--least", metavar="TIME", help="Minimum saving in time; the saving must also reach --threshold."),
    ] = "1m"
    max_processor_hours: MaxProcessorHours = None

    def options(self, *, stale_ok: bool) -> ReshapeOptions:
        """Return the parsed options."""
        share, seconds = percentage(self.threshold, "--threshold"), parse_duration(self.least, "--least", minimum=0)
        return ReshapeOptions(share, seconds, self.max_processor_hours, stale_ok)


Risk = Annotated[
    str | None,
    typer.Option(
        "--risk",
        metavar="N%",
        help="With --predict: the saving must be reached with N% probability (default: on average).",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change, but do not make it.")]


@grouped
def reshape_command(
    job: QueuedJob,
    subject: SubjectOfJob,
    *,
    endpoint: OneEndpoint = None,
    gain: Gain,
    processors: Annotated[
        int | None,
        typer.Option(
            "--processors", "-p", metavar="N", min=1, help="Change to this number of processors, even without a gain."
        ),
    ] = None,
    predict: Predict = None,
    risk: Risk = None,
    stale_ok: StaleOk = False,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Change the size of a waiting job to make it finish sooner.

    gas reshape 12 app.toml --dry-run

    gas reshape 12 --script job.sh --sizes 1,2,4,8 --time 8h,4h10m,2h20m,1h20m

    Changes processors and walltime; the job keeps its number and its place in the queue. Gas compares finish times by
    the scheduler's plans or, with --predict, by predictions.
    """
    options, likely = gain.options(stale_ok=stale_ok), forecasting(predict, risk=risk)
    work = subject.work()
    where, number = job_of(job, only(endpoint), config)
    done = agent_for(work, [where]).reshape(number, options, processors=processors, dry_run=dry_run, forecasting=likely)
    if json:
        print_json(done.to_wire())
    else:
        say(str(done))


@grouped
def watch_command(
    job: QueuedJob,
    subject: SubjectOfJob,
    *,
    endpoint: OneEndpoint = None,
    gain: Gain,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="Interval at which the queue is checked.")
    ] = "30s",
    predict: Predict = None,
    risk: Risk = None,
    wait: Annotated[bool, typer.Option("--wait", help="Continue until the job has ended, as gas wait does.")] = False,
    stale_ok: StaleOk = False,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Replan a waiting job whenever the queue changes.

    gas watch 12 app.toml --threshold 10% --least 5m

    Reshapes the job (processors and walltime) whenever that makes it finish earlier by at least --threshold and
    --least: according to the scheduler's plans or, with --predict, to predictions. Each line of output states a
    decision and its reason; with --json each line is a JSON object. Interrupting gas watch leaves the job unchanged.
    """
    pause = parse_duration(every, "--every")
    options, likely = gain.options(stale_ok=stale_ok), forecasting(predict, risk=risk)
    work = subject.work()
    where, number = job_of(job, only(endpoint), config)
    report = _print_object if json else _print_line
    last = agent_for(work, [where]).watch(
        number, report, options, every=pause, until_end=wait, dry_run=dry_run, forecasting=likely
    )
    if last["state"] in ENDED:
        report_end(last, quiet=True)


def _print_line(event: Event) -> None:
    say(f"{iso_time(event.time)}  {event}")


def _print_object(event: Event) -> None:
    print_json_line(event.to_wire())
