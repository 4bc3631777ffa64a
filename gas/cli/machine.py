"""``gas machine``: how a scheduler's machine stands, and what its operator changes of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gas.cli.options import ConfigFile, Json, OneEndpoint, job_endpoint
from gas.cli.tables import note, print_json, say
from gas.endpoints import S3Endpoint
from gas.errors import BadInput
from gas.printable import as_line
from gas.times import duration_text

__all__ = ["machine_command"]


def machine_command(
    processors: Annotated[
        int | None, typer.Option("--processors", "-p", min=1, max=2**31 - 1, help="Its size from now on (operators).")
    ] = None,
    cancel_larger: Annotated[
        bool, typer.Option("--cancel-larger", help="Cancel waiting jobs and reservations that no longer fit.")
    ] = False,
    accept: Annotated[
        bool | None, typer.Option("--accept/--refuse", help="Whether it accepts new jobs from now on (operators).")
    ] = None,
    endpoint: OneEndpoint = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Show the machine of an S³, or change it.

    What runs goes on when it gets smaller. Promises that can no longer be kept are listed, and named to their users.
    """
    where = job_endpoint(endpoint, config)
    if not isinstance(where, S3Endpoint):
        raise BadInput(f"{where.name}: is not an S³; its machine is not Gas's to show or change")
    if processors is None and accept is None:
        found = where.machine()
    else:
        found = where.change_machine(processors=processors, accepting=accept, cancel_larger=cancel_larger)
    if json:
        print_json({"schema": "gas.machine/1", **found})
        return
    refusing = "" if found["accepting"] else "; accepts nothing new"
    say(
        f"{as_line(found['scheduler'] or '')}: {found['processors']} processors, {found['in_use']} in use; "
        f"{found['running']} running, {found['queued']} queued, {found['reserved']} reserved{refusing}"
    )
    say(as_line(f"you are {found['user']}, {found['role']}") + ("" if found["access"] else " (no tokens are in force)"))
    if limits := _limits(found.get("limits") or {}):
        say(f"a user may have {limits}")
    for broken in found.get("broken") or []:
        if broken["start"] is None:
            note(f"job {broken['id']} of {broken['user']} had to be cancelled: it needs more processors")
        else:
            late = duration_text(broken["start"] - broken["promised"])
            note(f"job {broken['id']} of {broken['user']} starts {late} later than promised")


def _limits(limits: dict[str, Any]) -> str:
    """Return what one user may have in the schedule, and ask for, in words; nothing if there are no limits."""
    parts = []
    if limits.get("max_queued") is not None:
        parts.append(f"{limits['max_queued']} jobs in the schedule")
    if limits.get("max_processor_seconds") is not None:
        parts.append(f"{limits['max_processor_seconds'] / 3600:g} processor-hours in the schedule")
    if limits.get("max_queued_bytes") is not None:
        parts.append(f"{limits['max_queued_bytes'] / 2**20:g} MiB of commands and environments in the schedule")
    if limits.get("max_rate") is not None:
        parts.append(f"{limits['max_rate']:g} requests per second")
    return ", ".join(parts)
