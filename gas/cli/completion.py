"""Shell completion of schedulers, jobs and pages; and arguments that name a job.

Schedulers are queried in the background; if that fails, nothing is printed. The shell inserts completions into the line
that a person types. As others may have written the configuration or the names of jobs, only plain words are returned;
after `PATIENCE` seconds none are.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["AnyJob", "JobReference", "QueuedJob", "active_jobs", "all_jobs", "configured_names", "guide_pages"]

PATIENCE = 0.5
"""Seconds to wait for an answer, after the start of the program, which takes a third of a second."""

MOST = 50
ENDED_TOO = 20
"""Number of ended jobs that are offered if the argument may be one."""

Completions = list[tuple[str, str]]


def configured_names(incomplete: str) -> list[str]:
    """Complete the name of a scheduler."""

    def names() -> Completions:
        from gas.endpoints import load_configuration

        return [(name, "") for name in load_configuration().names]

    return [name for name, _ in _quietly(names, incomplete)]


def active_jobs(ctx: typer.Context, incomplete: str) -> Completions:
    """Complete the number of one of the caller's jobs that has not ended."""
    return _jobs(ctx, incomplete, lambda job: job["mine"] and job["state"] in ("queued", "reserved", "running"))


def queued_jobs(ctx: typer.Context, incomplete: str) -> Completions:
    """Complete the number of one of the caller's waiting jobs."""
    return _jobs(ctx, incomplete, lambda job: job["mine"] and job["state"] == "queued")


def all_jobs(ctx: typer.Context, incomplete: str) -> Completions:
    """Complete the number of one of the caller's jobs, also if it has ended recently."""
    return _jobs(ctx, incomplete, lambda job: job["mine"], ended=ENDED_TOO)


_JOB = "A job's number, or SCHEDULER:NUMBER."
JobReference = Annotated[str, typer.Argument(metavar="JOB", autocompletion=active_jobs, help=_JOB)]
AnyJob = Annotated[str, typer.Argument(metavar="JOB", autocompletion=all_jobs, help=_JOB)]
QueuedJob = Annotated[str, typer.Argument(metavar="JOB", autocompletion=queued_jobs, help=_JOB)]


def guide_pages(incomplete: str) -> Completions:
    """Complete the name of a page of the guide."""

    def titles() -> Completions:
        from gas.guide.contents import pages, title_of

        return [(name, title_of(text)) for name, text in pages().items()]

    return _quietly(titles, incomplete)


def _jobs(ctx: typer.Context, incomplete: str, meant: Callable[[dict[str, Any]], bool], ended: int = 0) -> Completions:
    given = ctx.params.get("endpoint")
    endpoint = given[0] if isinstance(given, (list, tuple)) and given else given or None
    config = ctx.params.get("config")
    already = {str(one) for one in ctx.params.get("jobs") or ()}

    def numbers() -> Completions:
        from gas.agent.schedulers import job_endpoint, job_endpoints
        from gas.errors import BadInput

        path = None if config is None else Path(config)
        try:
            asked, several = [job_endpoint(endpoint, path)], False
        except BadInput:  # ambiguous: complete jobs of all schedulers, by their names
            asked, several = [one for one in job_endpoints(None, path) if not isinstance(one, tuple)], True
        found: Completions = []
        for one in asked:
            listed = [job for job in one.jobs(ended) if meant(job)]
            before = f"{one.name}:" if several else ""
            found += [(f"{before}{job['id']}", f"{job['name'] or ''} {job['state']}".strip()) for job in listed]
        return [each for each in found if each[0] not in already]

    return _quietly(numbers, incomplete)


def _quietly(asked: Callable[[], Completions], incomplete: str) -> Completions:
    """Return the matches found in time; nothing is printed, whatever happens."""
    found: Completions = []

    def ask() -> None:
        with suppress(Exception):
            found.extend(asked())

    asking = threading.Thread(target=ask, daemon=True)
    with redirect_stderr(StringIO()):
        asking.start()
        asking.join(PATIENCE)
        return [
            (value, re.sub(r"[^\w .,()/-]", " ", text))
            for value, text in found
            if value.startswith(incomplete) and re.fullmatch(r"[\w.-]+(:\d+)?", value, re.ASCII)
        ][-MOST:]
