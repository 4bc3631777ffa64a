"""``gas cancel``: cancel jobs by number, or all of the caller's jobs."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gas.agent.cancelling import Cancelled, NotCancelled, cancel_each, own
from gas.agent.schedulers import job_endpoint, job_of
from gas.agent.states import ENDED, describe
from gas.cli.completion import active_jobs
from gas.cli.options import ConfigFile, Json, OneEndpoint, only
from gas.cli.tables import many, note, print_json, remark, say
from gas.endpoints import JobEndpoint
from gas.errors import BadInput, JobFailed

__all__ = ["cancel_command"]


def cancel_command(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(metavar="JOB", autocompletion=active_jobs, help="Job numbers, or SCHEDULER:NUMBER."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Cancel all your queued and running jobs.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all: do not ask for confirmation.")] = False,
    endpoint: OneEndpoint = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Cancel jobs or reservations; running jobs are terminated.

    gas cancel 12 14 15

    If one job cannot be cancelled, Gas reports it, cancels the others, and exits with 1.
    """
    if everything == bool(jobs):
        raise BadInput(
            "--all: cancels all of your jobs; leave out their numbers, or --all"
            if jobs
            else "which job? Write its number (gas cancel 12 14), or --all for all your queued and running jobs"
        )
    one = only(endpoint)
    if everything:
        where = job_endpoint(one, config)
        numbers, kept = own(where)
        if not yes:
            _ask(where, numbers)
        references = [str(number) for number in numbers]
    else:
        references, kept = list(dict.fromkeys(jobs or [])), []

    def report(outcome: Cancelled | NotCancelled) -> None:
        if isinstance(outcome, NotCancelled):
            if len(references) == 1 and not everything:
                raise outcome.error
            remark(str(outcome.error))
        elif not json:
            if outcome.had_ended:
                remark(f"job {outcome.job['id']} had already ended; nothing was cancelled")
            say(describe(outcome.job) if outcome.job["state"] in ENDED else _ending(outcome.job))

    outcomes = cancel_each(
        references, lambda named: (where, int(named)) if everything else job_of(named, one, config), report
    )
    found = [outcome.job for outcome in outcomes if isinstance(outcome, Cancelled)]
    failed = [{"job": o.named, "error": str(o.error)} for o in outcomes if isinstance(o, NotCancelled)]
    if json and len(references) == 1 and not everything:
        print_json({"schema": "gas.job/1", **found[0]})
    elif json:
        print_json({"schema": "gas.cancelled/1", "jobs": found, "failed": failed})
    elif not references:
        note("you have no queued or running jobs")
    if kept and not json:
        note(f"{many(len(kept), 'reservation')} kept ({', '.join(map(str, kept))}); gas cancel NUMBER cancels one")
    if failed:
        raise JobFailed(f"{many(len(failed), 'job')} of {len(references)} not cancelled")


def _ending(job: dict[str, Any]) -> str:
    """Return a note for a cancelled job that has not ended yet."""
    name = f" ({job['name']})" if job["name"] else ""
    return f"job {job['id']}{name}: is being cancelled; it is still {job['state']}, and ends in a moment"


def _ask(where: JobEndpoint, numbers: list[int]) -> None:
    """Ask the user for confirmation to cancel these jobs; return only after a yes."""
    if not numbers:
        return
    what = f"{many(len(numbers), 'job')} on {where.name} ({', '.join(map(str, numbers[:10]))}"
    what += f" and {len(numbers) - 10} more)" if len(numbers) > 10 else ")"
    if not sys.stdin.isatty():
        raise BadInput(
            f"--all: would cancel {what}; there is no terminal to ask for confirmation; add --yes to confirm"
        )
    if not typer.confirm(f"cancel {what}?", err=True):
        raise JobFailed("nothing was cancelled")
