"""Jobs in words: one line for each state, and how the end of one becomes an exit code."""

from __future__ import annotations

from typing import Any

from gas.cli.tables import say
from gas.errors import GasError
from gas.times import duration_text, iso_time

__all__ = ["ENDED", "JobFailed", "describe", "report_end"]

ENDED = ("completed", "failed", "timeout", "cancelled", "lost")


class JobFailed(GasError):
    """A job that was waited for did not complete."""


def describe(job: dict[str, Any]) -> str:
    """Return a job in one line; what somebody else's does not show is left out."""
    called = f" ({job['name']})" if job["name"] is not None else f" of {job.get('user', 'somebody else')}"
    head = f"job {job['id']}{called}, {job['processors']} processors, walltime {job['walltime']} s: {job['state']}"
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
    said = [job["message"]] if job["message"] else []
    broken, start = job.get("broken_promise"), job["promise"] if job["start"] is None else job["start"]
    if broken is not None and start > broken:
        said.append(f"promised for {job['broken_promise_iso']}, {duration_text(start - broken)} later than that")
    return f"{text} ({'; '.join(said)})" if said else text


def report_end(job: dict[str, Any], *, quiet: bool) -> None:
    """Say how a job has ended.

    Raises
    ------
    JobFailed
        It did not complete.
    """
    if job["state"] != "completed":
        raise JobFailed(describe(job))
    if not quiet:
        say(describe(job))
