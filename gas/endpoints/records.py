"""Jobs of other schedulers in Gas's own form: the object of S³'s ``GET /v1/jobs/{id}``.

Their starts are no promises; ``expected`` is the planned start.
"""

from __future__ import annotations

import json
from typing import Any

from gas.endpoints.wording import name_without_tag
from gas.times import iso_time

__all__ = ["ACTIVE", "job_record", "signal_name"]

ACTIVE = frozenset({"queued", "running"})
"""States of jobs that have not ended."""

_SIGNALS = {1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
            13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}  # fmt: skip
"""Signals of Linux, on which these schedulers run; others are named by their number."""


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    return _SIGNALS.get(number, f"signal {number}")


def job_record(
    id: int,
    *,
    user: str,
    viewer: str,
    tagged_name: str,
    state: str,
    processors: int,
    gpus: int = 0,
    walltime: int | None,
    actuator: str,
    command: str = "",
    exit_status: int | None,
    signal: int | None,
    message: str | None,
    submitted: int | None,
    not_before: int | None = None,
    expected: int | None,
    start: int | None,
    due: int | None,
    finished: int | None,
) -> dict[str, Any]:
    """Return a job as commands show it, for a scheduler whose starts are no promises.

    Parameters
    ----------
    viewer
        The querying user.
    gpus
        Number of GPUs that it has or requests, independent of its processors.
    tagged_name
        Its name on the scheduler, possibly with a tag.
    signal
        Number of the signal that ended it.
    submitted, not_before, expected, start, due, finished
        Epoch seconds.
    """
    record: dict[str, Any] = {
        "id": id,
        "kind": "job",
        "user": user,
        "mine": user == viewer,
        "name": name_without_tag(tagged_name)[0],
        "state": state,
        "processors": processors,
        **({"gpus": gpus} if gpus else {}),
        "walltime": walltime,
        "class": None,  # only in S³
        "priority": None,
        "actuator": actuator,
        "command": [command] if command else [],
        "command_bytes": len(json.dumps([command] if command else [])),
        "run_time": None,
        "notice": None,  # only in S³, like the offers
        "exit_status": exit_status,
        "signal": None if signal is None else signal_name(signal),
        "message": message,
    }
    instants = {
        "submitted": submitted,
        "not_before": not_before,
        "reshaped": None,  # not published
        "promise": None,
        "offer": None,
        "answer_by": None,
        "offers_from": None,
        "first_promise": None,
        "broken_promise": None,
        "expected": expected,
        "start": start,
        "due": due,
        "finished": finished,
    }
    for name, instant in instants.items():
        record[name] = instant
        record[f"{name}_iso"] = None if instant is None else iso_time(instant)
    return record
