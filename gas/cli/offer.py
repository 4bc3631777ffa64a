"""``gas offer``: show or answer the offer of an earlier start for a waiting job."""

from __future__ import annotations

from typing import Annotated

import typer

from gas.agent.offering import accept, decline, offer_text, offering
from gas.agent.options import Instant
from gas.agent.reserving import clock_of
from gas.agent.schedulers import job_of
from gas.agent.states import describe
from gas.cli.completion import QueuedJob
from gas.cli.options import INSTANTS, ConfigFile, Json, OneEndpoint, only
from gas.cli.tables import print_json, remark, say
from gas.errors import BadInput

__all__ = ["offer_command"]


def offer_command(
    job: QueuedJob,
    endpoint: OneEndpoint = None,
    accepts: Annotated[bool, typer.Option("--accept", help="Move the job to the offered start.")] = False,
    declines: Annotated[
        bool, typer.Option("--decline", help="Keep the promised start; without --not-before, S³ makes no more offers.")
    ] = False,
    not_before: Annotated[
        str | None,
        typer.Option("--not-before", metavar="TIME", help=f"With --decline: offer starts from TIME on: {INSTANTS}."),
    ] = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Show, accept or decline an earlier start that S³ offers.

    gas offer 12

    gas offer 12 --accept

    S³ does not move a waiting job submitted with --notice: it offers the job an earlier start, and holds both starts
    until you answer. If you do not answer in time, the job keeps its promised start, and S³ makes no further offers
    unless you ask for them with --decline --not-before. S³ holds offers to one job for at most a day in total.
    """
    if accepts and declines:
        raise BadInput("--accept, --decline: only one of them is possible")
    if not_before is not None and not declines:
        raise BadInput("--not-before: applies to --decline; add that")
    where, number = job_of(job, only(endpoint), config)
    there = offering(where, f"job {number}")
    if accepts:
        found = accept(there, number)
    elif declines:
        from_then = None
        if not_before is not None:
            wanted, now = Instant.parse(not_before, "--not-before"), clock_of(there)
            from_then = wanted.at(now)
            if understood := wanted.understood("--not-before", now):
                remark(understood)
        found = decline(there, number, from_then)
    else:
        found = there.job(number)
    if json:
        print_json({"schema": "gas.job/1", **found})
        return
    say(describe(found))
    if not (accepts or declines) and offer_text(found) is None:
        say(_why_none(found))


def _why_none(job: dict[str, object]) -> str:
    """Return why a job has no offer."""
    if job["state"] != "queued":
        return "only waiting jobs are offered earlier starts"
    if job.get("notice") is None:
        return "it was submitted without --notice, so it moves to earlier starts by itself"
    if job.get("offers_from") is None:
        return "it gets no more offers: one was declined, or not answered in time"
    return "no earlier start is free now"
