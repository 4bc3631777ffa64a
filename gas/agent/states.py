"""Jobs in words: one line for each state."""

from __future__ import annotations

from typing import Any

from gas.agent.offering import offer_text
from gas.printable import as_line, many
from gas.times import duration_text, iso_time

__all__ = ["ENDED", "describe", "size_of"]

ENDED = ("completed", "failed", "timeout", "cancelled", "lost")


def describe(job: dict[str, Any]) -> str:
    """Return a job in one line; fields that are hidden for other users' jobs are left out."""
    called = f" ({job['name']})" if job["name"] is not None else f" of {job.get('user', 'another user')}"
    limit = "walltime unlimited" if job["walltime"] is None else f"walltime {duration_text(job['walltime'])}"
    of_class = f", class {job['class']}" if job.get("class") else ""
    head = f"job {job['id']}{called}, {size_of(job)}, {limit}{of_class}: {job['state']}"
    promise, start, due, finished = (job[key] for key in ("promise", "start", "due", "finished"))
    expected = job.get("expected")
    if job["state"] == "reserved":
        begin = expected if promise is None else promise
        text = f"{head}{_instant(' from', begin)}{_instant(' to', due)}"
    elif job["state"] == "queued" and promise is not None:
        offer = offer_text(job)
        offered = "" if offer is None else f"; {offer}"
        text = f"{head}; starts {iso_time(promise)} at the latest{_predicted(job)}{offered}"
    elif job["state"] == "queued":
        earliest = _instant(", and it cannot start before", job.get("not_before"))
        planned = f"no start is planned{earliest}" if expected is None else f"expected to start {iso_time(expected)}"
        text = f"{head}; {planned}"
    elif job["state"] == "running":
        ends = "" if due is None else f", ends {iso_time(due)} at the latest"
        text = f"{head}{_instant(' since', start)}{ends}"
    else:
        status = "" if job["exit_status"] is None else f" with exit status {job['exit_status']}"
        by = f" by {job['signal']}" if job["signal"] else ""
        lasted = "" if start is None or finished is None else f" after {duration_text(finished - start)}"
        text = f"{head}{status}{by}{lasted}{_instant(', at', finished)}"
    said = [job["message"]] if job["message"] else []
    broken, start = job.get("broken_promise"), promise if start is None else start
    if broken is not None and start is not None and start > broken:
        said.append(f"{duration_text(start - broken)} later than promised, {job['broken_promise_iso']}")
    return as_line(f"{text} ({'; '.join(said)})" if said else text)


def size_of(job: dict[str, Any]) -> str:
    """Return the size of a job: in GPUs if it has any, since its processors come with the GPUs."""
    return many(job["gpus"], "GPU") if job.get("gpus") else many(job["processors"], "processor")


def _predicted(job: dict[str, Any]) -> str:
    """Return the predicted start of a job, where its scheduler gives one."""
    start, low, high = (job.get(f"predicted_{name}") for name in ("start", "low", "high"))
    if start is None or low is None or high is None:
        return ""
    coverage = job.get("predicted_coverage")
    held = "" if coverage is None else f"; {coverage['in_words']}"
    return f"; predicted: {iso_time(start)} (90% interval: {iso_time(low)} to {iso_time(high)}{held})"


def _instant(word: str, instant: int | None) -> str:
    return "" if instant is None else f"{word} {iso_time(instant)}"
