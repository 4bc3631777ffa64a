"""``gas status``, ``wait``, ``logs``, ``cancel`` and ``reserve``: what becomes of jobs."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from gas.cli.options import ConfigFile, Json, OneEndpoint, job_endpoint, job_of
from gas.cli.tables import note, print_json, print_table, say
from gas.errors import BadInput, GasError
from gas.times import duration_text, iso_time, parse_duration, parse_instant, relative_text

__all__ = ["cancel_command", "logs_command", "reserve_command", "status_command", "wait_command"]

JobReference = Annotated[str, typer.Argument(metavar="JOB", help="A job's number, or SCHEDULER:NUMBER.")]

ENDED = ("completed", "failed", "timeout", "cancelled", "lost")


class JobFailed(GasError):
    """A job that was waited for did not complete."""


def status_command(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="One job; without it, all of the schedule.")
    ] = None,
    endpoint: OneEndpoint = None,
    ended: Annotated[int, typer.Option("--ended", min=0, max=10_000, help="Also so many jobs that have ended.")] = 0,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Show a job, or all in the schedule."""
    if job is not None:
        where, number = job_of(job, endpoint, config)
        found = where.job(number)
        if json:
            print_json({"schema": "gas.job/1", **found})
        else:
            say(describe(found))
        return
    where = job_endpoint(endpoint, config)
    jobs = where.jobs(ended)
    if json:
        print_json({"schema": "gas.jobs/1", "scheduler": where.name, "jobs": jobs})
        return
    now = where.availability().now
    print_table(
        ["job", "name", "state", "processors", "walltime", "starts", "ends"],
        [
            (
                str(j["id"]),
                j["name"],
                j["state"],
                str(j["processors"]),
                duration_text(j["walltime"]),
                relative_text(j["promise"] if j["start"] is None else j["start"], now),
                relative_text(j["finished"] if j["due"] is None else j["due"], now),
            )
            for j in jobs
        ],
        left=("name", "state"),
    )
    if not jobs:
        note("the schedule is empty")


def describe(job: dict[str, Any]) -> str:
    """Return a job in one line."""
    head = (
        f"job {job['id']} ({job['name']}), {job['processors']} processors, walltime {job['walltime']} s: {job['state']}"
    )
    if job["state"] == "reserved":
        text = f"{head} from {job['promise_iso']} to {job['due_iso']}"
    elif job["state"] == "queued":
        text = f"{head}; starts {iso_time(job['promise'])} at the latest"
    elif job["state"] == "running":
        text = f"{head} since {job['start_iso']}, ends {job['due_iso']} at the latest"
    else:
        status = "" if job["exit_status"] is None else f" with exit status {job['exit_status']}"
        by = f" by {job['signal']}" if job["signal"] else ""
        lasted = "" if job["start"] is None else f" after {duration_text(job['finished'] - job['start'])}"
        text = f"{head}{status}{by}{lasted}, at {job['finished_iso']}"
    return f"{text} ({job['message']})" if job["message"] else text


def wait_command(
    job: JobReference,
    endpoint: OneEndpoint = None,
    timeout: Annotated[str | None, typer.Option("--timeout", metavar="TIME", help="Give up after so long: 2h.")] = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Wait until a job has ended.

    The exit code is 0 if it completed, else 1.
    """
    limit = None if timeout is None else time.monotonic() + parse_duration(timeout, "--timeout")
    where, number = job_of(job, endpoint, config)
    shown, pause = "", 0.1
    while True:
        found = where.job(number)
        if found["state"] != shown:
            shown, pause = str(found["state"]), 0.1
            if not json and shown not in ENDED:
                note(describe(found))
        if found["state"] in ENDED:
            break
        if limit is not None and time.monotonic() + pause > limit:
            raise JobFailed(f"job {number}: is still {found['state']} after {timeout}; it goes on")
        time.sleep(pause)
        pause = min(2.0, pause * 1.3)
    if json:
        print_json({"schema": "gas.job/1", **found})
    if found["state"] != "completed":
        raise JobFailed(describe(found))
    if not json:
        say(describe(found))


def logs_command(
    job: JobReference,
    endpoint: OneEndpoint = None,
    stderr: Annotated[bool, typer.Option("--stderr", help="What it wrote to standard error instead.")] = False,
    limit: Annotated[int, typer.Option("--bytes", min=1, max=2**24, help="At most so much, from the end.")] = 2**20,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Print what a job has written."""
    where, number = job_of(job, endpoint, config)
    stream = "stderr" if stderr else "stdout"
    output = where.output(number, "stderr" if stderr else "stdout", limit)
    if json:
        text = output.decode(errors="replace")
        print_json({"schema": "gas.output/1", "id": number, "stream": stream, "text": text})
        return
    sys.stdout.buffer.write(output)
    sys.stdout.flush()
    if len(output) == limit:
        note(f"gas: these are the last {limit} bytes; --bytes shows more")


def cancel_command(
    job: JobReference, endpoint: OneEndpoint = None, config: ConfigFile = None, json: Json = False
) -> None:
    """Cancel a job or a reservation.

    One that runs is ended.
    """
    where, number = job_of(job, endpoint, config)
    before = where.job(number)["state"]
    found = where.cancel(number)
    if before in ENDED and not json:
        note(f"gas: job {number} had ended already; there was nothing to cancel")
    if json:
        print_json({"schema": "gas.job/1", **found})
    else:
        say(describe(found))


def reserve_command(
    processors: Annotated[int, typer.Option("--processors", "-p", min=1, help="How many.")],
    start: Annotated[str, typer.Option("--start", metavar="TIME", help="From: 2026-11-21T08:00, +2h or @EPOCH.")],
    walltime: Annotated[str, typer.Option("--walltime", "-w", metavar="TIME", help="For so long: 2h or 02:00:00.")],
    endpoint: OneEndpoint = None,
    name: Annotated[str, typer.Option("--name", help="What it is called.")] = "reservation",
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Reserve processors for some time.

    Nothing moves a reservation.
    """
    seconds = parse_duration(walltime, "--walltime")
    where = job_endpoint(endpoint, config)
    if start.strip().startswith("@") and not start.strip()[1:].isdigit():
        raise BadInput(f"--start {start!r}: write @ and epoch seconds")
    begin = parse_instant(start, where.availability().now if start.strip().startswith("+") else 0, "--start")
    found = where.reserve(name, processors, begin, seconds)
    if json:
        print_json({"schema": "gas.job/1", **found})
    else:
        say(describe(found))
