"""``gas machine``: the state of a scheduler's machine, and its changes by operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gas.agent.schedulers import job_endpoint
from gas.cli.options import ConfigFile, Json, OneEndpoint, only, processors_option
from gas.cli.tables import many, note, print_json, say
from gas.endpoints import S3Endpoint
from gas.errors import BadInput
from gas.printable import as_line
from gas.times import duration_text

__all__ = ["machine_command"]


def machine_command(
    processors: Annotated[int | None, processors_option("Change the machine to this size (operators only).")] = None,
    cancel_larger: Annotated[
        bool, typer.Option("--cancel-larger", help="Cancel waiting jobs and reservations that no longer fit.")
    ] = False,
    accept: Annotated[
        bool | None, typer.Option("--accept/--refuse", help="Accept or refuse new jobs (operators only).")
    ] = None,
    endpoint: OneEndpoint = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Show or change the machine that an S³ service schedules.

    gas machine -e kth --processors 128

    Running jobs continue when the machine shrinks. Broken promises are listed, and reported to the jobs' users.
    """
    where = job_endpoint(only(endpoint), config)
    if not isinstance(where, S3Endpoint):
        raise BadInput(f"{where.name}: is not an S³ service; gas machine works only with S³")
    if processors is None and accept is None:
        found = where.machine()
    else:
        found = where.change_machine(processors=processors, accepting=accept, cancel_larger=cancel_larger)
    if json:
        print_json({"schema": "gas.machine/1", **found})
        return
    refusing = "" if found["accepting"] else "; new jobs are refused"
    say(
        f"{as_line(found['scheduler'] or '')}: {many(found['processors'], 'processor')}, {found['in_use']} in use; "
        f"{found['running']} running, {found['queued']} queued, {found['reserved']} reserved{refusing}"
    )
    say(as_line(f"you are {found['user']}, {found['role']}") + ("" if found["access"] else " (no tokens in use)"))
    if classes := _classes(found.get("classes") or []):
        say(f"classes, highest first: {classes}")
    if limits := _limits(found.get("limits") or {}):
        say(f"limits per user: {limits}")
    for broken in found.get("broken") or []:
        if broken["start"] is None:
            note(f"job {broken['id']} of {broken['user']} was cancelled: it needs more processors than the machine has")
        else:
            late = duration_text(broken["start"] - broken["promised"])
            note(f"job {broken['id']} of {broken['user']} starts {late} later than promised")


def _classes(classes: Sequence[dict[str, Any]]) -> str:
    """Return the classes of jobs in words; nothing if there are none."""
    return as_line(", ".join(f"{each['name']}{_REMARKS[each['default'], each['permitted']]}" for each in classes))


_REMARKS = {
    (False, True): "",
    (True, True): " (default)",
    (False, False): " (not for you)",
    (True, False): " (default, not for you)",
}


def _limits(limits: dict[str, Any]) -> str:
    """Return the limits per user in words; nothing if there are none."""
    parts = []
    if limits.get("max_queued") is not None:
        parts.append(f"{many(limits['max_queued'], 'job')} in the schedule")
    if limits.get("max_processor_seconds") is not None:
        parts.append(f"{limits['max_processor_seconds'] / 3600:g} processor-hours in the schedule")
    if limits.get("max_queued_bytes") is not None:
        parts.append(f"{limits['max_queued_bytes'] / 2**20:g} MiB of commands and environments in the schedule")
    if limits.get("max_rate") is not None:
        parts.append(f"{limits['max_rate']:g} requests per second")
    return ", ".join(parts)
