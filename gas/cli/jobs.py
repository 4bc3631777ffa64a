"""``gas status``, ``wait`` and ``reserve``: jobs after their submission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gas.agent.options import Instant, checked_key
from gas.agent.reserving import clock_of, reserve
from gas.agent.schedulers import find_by_key, job_endpoint, job_endpoints, job_of
from gas.agent.states import ENDED, describe, size_of
from gas.cli.completion import JobReference, all_jobs
from gas.cli.job_selection import STATES, Selection
from gas.cli.options import INSTANTS, ConfigFile, Endpoints, Json, KeyOption, OneEndpoint, only
from gas.cli.states import ends_text, exit_status_of, offered_text, report_end, starts_text, walltime_text
from gas.cli.tables import note, print_json, print_table, remark, say
from gas.endpoints import JobEndpoint
from gas.errors import BadInput, JobFailed, NotFound, Unreachable, outcome_of
from gas.times import parse_duration

__all__ = ["reserve_command", "status_command", "wait_command", "wait_for_end"]


def status_command(
    job: Annotated[
        str | None,
        typer.Argument(
            metavar="JOB",
            autocompletion=all_jobs,
            help="A job's number, SCHEDULER:NUMBER, or a task of a Slurm array (12_3); without it, list all jobs.",
        ),
    ] = None,
    endpoint: Endpoints = None,
    ended: Annotated[
        int, typer.Option("--ended", min=0, max=10_000, help="Also list the last N ended jobs.", metavar="N")
    ] = 0,
    user: Annotated[
        list[str] | None, typer.Option("--user", metavar="NAME", help="List the jobs of this user.")
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="STATE",
            autocompletion=lambda: list(STATES),
            help=f"List jobs in this state: {', '.join(STATES)}.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Also list jobs that ended after this time: 2h (ago), 9:00, 2026-11-21."
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Show the job submitted with this --key.")
    ] = None,
    follows: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Print a line for each change; with JOB, stop when it has ended."),
    ] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Show a job, or list all jobs of all schedulers.

    gas status 12 --follow

    gas status --user ann --state failed --since 2h

    Starts marked with ? are estimates; the others are promises.

    With --key, show the job that gas submit or gas reserve created with that key. With --follow and JOB, the exit code
    is that of gas wait; with --follow and --json, each line is a JSON object.
    """
    if key is not None and (job is not None or follows):
        raise BadInput("--key: identifies the job; leave out JOB and --follow")
    chosen = Selection.of(user, state, since)
    if chosen != Selection() and (key is not None or job is not None or follows):
        raise BadInput("--user, --state and --since: select from all jobs; leave out JOB, --key and --follow")
    if follows:
        one = only(endpoint)
        where, number = (job_endpoint(one, config), None) if job is None else job_of(job, one, config)
        from gas.cli.follow import follow_and_print

        follow_and_print(where, number, json=json)
    elif job is not None:
        where, number = job_of(job, only(endpoint), config, tasks=True)
        _show_job(where.job(number), json=json)
    elif key is not None:
        endpoints = job_endpoints(endpoint, config)
        found = find_by_key(endpoints, checked_key(key))
        if found is None:
            asked = ", ".join(e.name for e in endpoints if not isinstance(e, tuple))
            from gas.agent.holdings import claimed

            if (made := claimed(key)) is not None:
                raise NotFound(
                    f"--key {key}: belongs to a gas submit --coallocate, which {made}; gas status lists these"
                )
            raise NotFound(f"there is no job with the key {key} (asked: {asked})")
        if not json:
            note(f"on {found[0].name}:")
        _show_job(found[1], json=json)
    else:
        _show_schedules(job_endpoints(endpoint, config), chosen, chosen.ended(ended), json=json)


def _show_job(found: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json({"schema": "gas.job/1", **found})
    else:
        say(describe(found))


def _show_schedules(
    endpoints: Sequence[JobEndpoint | tuple[str, Exception]], chosen: Selection, ended: int, *, json: bool
) -> None:
    """Print the jobs of every scheduler that answers; report the others."""
    entries: list[dict[str, Any]] = []
    for i, endpoint in enumerate(endpoints):
        name = endpoint[0] if isinstance(endpoint, tuple) else endpoint.name
        try:
            if isinstance(endpoint, tuple):
                raise endpoint[1]
            jobs, now = endpoint.jobs(ended), 0 if json and chosen.since is None else clock_of(endpoint)
            empty = "the schedule is empty" if ended else "the schedule is empty (ended jobs: --ended N)"
            jobs, none = chosen.among(jobs, now), "no such jobs" if jobs else empty
        except Exception as error:
            if len(endpoints) == 1 or outcome_of(error) is None:
                raise
            remark(str(error))
            entries.append({"scheduler": name, "ok": False, "error": str(error), "jobs": []})
            continue
        entries.append({"scheduler": name, "ok": True, "error": None, "jobs": jobs})
        if not json:
            if len(endpoints) > 1:
                say(f"{name}:" if i == 0 else f"\n{name}:")
            _print_jobs(jobs, now, none)
    if json and len(entries) == 1:
        print_json({"schema": "gas.jobs/1", "scheduler": entries[0]["scheduler"], "jobs": entries[0]["jobs"]})
    elif json:
        print_json({"schema": "gas.schedules/1", "schedules": entries})
    if not any(entry["ok"] for entry in entries):
        raise Unreachable("no scheduler answered")


def _print_jobs(jobs: Sequence[dict[str, Any]], now: int, none: str) -> None:
    """Print jobs as a table; the caller's own are marked among those of other users; starts with ? are estimates.

    A remark says why a job has ended, and for a cancelled reservation which job replaced it. `none` is printed if
    there are no jobs.
    """
    if not jobs:
        note(none)
        return
    marked = not all(j.get("mine", True) for j in jobs)
    classed = ["class"] if any(j.get("class") for j in jobs) else []
    offered = ["offered"] if any(j.get("offer") is not None for j in jobs) else []
    remarked = ["remark"] if any(j["state"] in ENDED and j.get("message") for j in jobs) else []
    print_table(
        ["job", "name", "user", *classed, "state", "processors", "walltime", "starts", *offered, "ends", *remarked],
        [
            (
                str(j["id"]),
                j["name"] or "",
                f"{j.get('user', '')}{' (you)' if marked and j['mine'] else ''}",
                *([j.get("class") or ""] if classed else []),
                j["state"],
                size_of(j) if j.get("gpus") else str(j["processors"]),
                walltime_text(j),
                starts_text(j, now),
                *([offered_text(j, now)] if offered else []),
                ends_text(j, now),
                *([(j.get("message") or "") if j["state"] in ENDED else ""] if remarked else []),
            )
            for j in jobs
        ],
        left=("name", "user", "class", "state", "remark"),
    )
    if any(starts_text(j, now).endswith("?") for j in jobs):
        say("?: estimate")


def wait_command(
    job: JobReference,
    endpoint: OneEndpoint = None,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="TIME", help="Give up after this long, such as 2h.")
    ] = None,
    patience: Annotated[
        str,
        typer.Option(
            "--patience",
            metavar="TIME",
            help="Give up if the scheduler does not answer for this long, such as 12h.",
        ),
    ] = "30m",
    exit_status: Annotated[
        bool,
        typer.Option(
            "--exit-status",
            help="End with the job's own exit status, or 128 + N if signal N ended it.",
        ),
    ] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Wait until a job has ended.

    gas wait 12 --timeout 2h

    gas wait 12 --exit-status && ./evaluate

    The exit code is 0 if the job completed, 4 if its scheduler does not answer, else 1.
    """
    silence = parse_duration(patience, "--patience", minimum=0)
    where, number = job_of(job, only(endpoint), config)
    found = wait_for_end(where, number, timeout, patience=silence, quiet=json)
    if json:
        print_json({"schema": "gas.job/1", **found})
    if exit_status and (own := exit_status_of(found)):
        note(f"gas: {describe(found)}")
        raise SystemExit(own)  # not typer.Exit, which would report 130 as an interruption of this command
    report_end(found, quiet=json)


def wait_for_end(
    where: JobEndpoint, number: int, timeout: str | None = None, *, patience: int | None = None, quiet: bool
) -> dict[str, Any]:
    """Return a job once it has ended; unless `quiet`, print each change of its state.

    Parameters
    ----------
    patience
        Seconds for which its scheduler may not answer; None for the usual time.

    Raises
    ------
    JobFailed
        The job has not ended within `timeout`.
    Unreachable
        The scheduler does not answer for some time.
    """
    from gas.agent.following import WAITING_PATIENCE, wait

    def report(job: dict[str, Any]) -> None:
        if not quiet:
            note(describe(job))

    seconds = None if timeout is None else parse_duration(timeout, "--timeout")
    silence = WAITING_PATIENCE if patience is None else patience
    found = wait(where, number, seconds, patience=silence, report=report, remark=remark)
    if isinstance(found, str):
        raise JobFailed(f"job {number}: is still {found} after {timeout}; it was not cancelled")
    return found


def reserve_command(
    processors: Annotated[int, typer.Option("--processors", "-p", metavar="N", min=1, help="Number of processors.")],
    start: Annotated[str, typer.Option("--start", metavar="TIME", help=f"Start: {INSTANTS}.")],
    walltime: Annotated[str, typer.Option("--walltime", "-w", metavar="TIME", help="Duration: 2h or 02:00:00.")],
    endpoint: OneEndpoint = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the reservation.")] = "reservation",
    key: KeyOption = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Reserve processors for a fixed time.

    gas reserve -p 64 --start +2h -w 30m

    A reservation never moves. One call creates at most one reservation, even if the network fails; calls with the same
    --key create one in total.
    """
    seconds = parse_duration(walltime, "--walltime")
    where = job_endpoint(only(endpoint), config)
    given = Instant.parse(start, "--start")

    def begin() -> int:
        now = clock_of(where)
        if understood := given.understood("--start", now):
            remark(understood)
        return given.at(now)

    found = reserve(where, name, processors, begin, seconds, key=key, remark=remark)
    if found.already and not json:
        remark("reserved earlier with this key")
    _show_job(found.job, json=json)
