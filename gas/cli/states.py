"""Jobs in tables, and the exit code for the end of a job."""

from __future__ import annotations

import signal
from typing import Any

from gas.agent.states import ENDED, describe
from gas.cli.tables import say
from gas.errors import JobFailed
from gas.times import duration_text, relative_text

__all__ = ["ends_text", "exit_status_of", "offered_text", "report_end", "starts_text", "walltime_text"]


def starts_text(job: dict[str, Any], now: int) -> str:
    """Return when a job starts or started: ``in 2h05m``, ``in 2h05m?`` for an estimate, ``not planned``."""
    if job["start"] is not None:
        return relative_text(job["start"], now)
    if job["state"] in ENDED:
        return "never"
    if job["promise"] is not None:
        return relative_text(job["promise"], now)
    expected = job.get("expected")
    return "not planned" if expected is None else f"{relative_text(max(expected, now), now)}?"


def offered_text(job: dict[str, Any], now: int) -> str:
    """Return the offered earlier start of a job, and the time left to answer; empty without an offer."""
    offer, until = job.get("offer"), job.get("answer_by")
    return "" if offer is None or until is None else f"{relative_text(offer, now)} (answer {relative_text(until, now)})"


def ends_text(job: dict[str, Any], now: int) -> str:
    """Return the end of a job, or its latest possible end; empty if unknown."""
    end = job["finished"] if job["due"] is None else job["due"]
    return "" if end is None else relative_text(end, now)


def walltime_text(job: dict[str, Any]) -> str:
    """Return the walltime of a job."""
    return "unlimited" if job["walltime"] is None else duration_text(job["walltime"])


def exit_status_of(job: dict[str, Any]) -> int:
    """Return the exit status that a shell would report for a job; 0 if it completed or has none."""
    if job["state"] == "completed":
        return 0
    name = job["signal"]
    if name:
        number = name.removeprefix("signal ")
        return 128 + (int(number) if number.isdigit() else getattr(signal, number, 0))
    return int(job["exit_status"] or 0) & 0xFF


def report_end(job: dict[str, Any], *, quiet: bool) -> None:
    """Print how a job has ended.

    Raises
    ------
    JobFailed
        The job did not complete.
    """
    if job["state"] != "completed":
        raise JobFailed(describe(job))
    if not quiet:
        say(describe(job))
