"""Jobs of OAR in Gas's own form (`gas.endpoints.records`)."""

from __future__ import annotations

import math
from typing import Any

from gas.endpoints.oar.hierarchy import Hierarchy, property_of
from gas.endpoints.oar.machine import Job, Wanted
from gas.endpoints.records import ACTIVE, job_record

__all__ = ["processors_of", "record_of", "units_of"]


def processors_of(job: Job, resource: str) -> int:
    """Return how many units a job has or requests; 0 if unknown.

    Of several shapes, OAR shows the chosen one only by its walltime.
    """
    if resource == "resource_id" and job.resources:
        return len(job.resources)
    chosen = [one for one in job.wanted if one.walltime == job.walltime] or list(job.wanted[:1])
    counts = (units_of(shape, resource) for shape in chosen)
    return next((count for count in counts if count is not None), len(job.resources))


def units_of(shape: Wanted, resource: str) -> int | None:
    """Return how many units a shape requests; None if that is not specified."""
    hierarchy = Hierarchy.of(resource)
    key = property_of(hierarchy.name)
    names = [property_of(name) for name, _ in shape.levels]
    if key not in names:
        return None
    counts = [count for _, count in shape.levels[: names.index(key) + 1]]
    known = [count for count in counts if count is not None]
    return math.prod(known) // hierarchy.outside if len(known) == len(counts) else None


def record_of(job: Job, resource: str, user: str) -> dict[str, Any]:
    """Return a job as the commands show it.

    Parameters
    ----------
    resource
        The unit of its processors.
    user
        The querying user.
    """
    state = _state(job)
    ended = state not in ACTIVE
    status, signal = _exit(job) if ended else (None, None)
    walltime = job.walltime if job.walltime is not None else next((one.walltime for one in job.wanted), 0)
    start = None if state == "queued" else job.start
    return job_record(
        job.id,
        user=job.user,
        viewer=user,
        tagged_name=job.name,
        state=state,
        processors=processors_of(job, resource),
        walltime=walltime,
        actuator="oar",
        command=job.command,
        exit_status=status,
        signal=signal,
        message=_message(job, state),
        submitted=job.submitted,
        expected=job.expected if start is None and not ended else start,
        start=start,
        due=start + walltime if state == "running" and start is not None else None,
        finished=_finished(job) if ended else None,
    )


def _state(job: Job) -> str:
    if job.waiting:
        return "queued"
    if job.active:
        return "running"
    happened = {event.kind for event in job.events}
    if job.state == "Terminated" and (job.exit_code is not None or "FRAG_JOB_REQUEST" not in happened):
        return "failed" if job.exit_code else "completed"
    if "WALLTIME" in happened:  # OAR ends it in the same way as at a user's request
        return "timeout"
    return "cancelled" if "FRAG_JOB_REQUEST" in happened else "failed"


def _exit(job: Job) -> tuple[int | None, int | None]:
    """Return the exit status, or the signal that ended it."""
    if job.exit_code is None:
        return None, None
    signal = job.exit_code & 127
    return (None, signal) if signal else (job.exit_code >> 8, None)


def _finished(job: Job) -> int | None:
    """Return the end of a job; for one that never started, OAR records it only among its events."""
    return job.stop or max((event.date for event in job.events), default=0) or job.submitted


def _message(job: Job, state: str) -> str | None:
    if job.active and any(event.kind == "FRAG_JOB_REQUEST" for event in job.events):
        return "being cancelled"
    if job.state == "Hold":
        return "held; oarresume releases it"
    message = "" if job.message.startswith("R=") else job.message  # its size again, and its priority
    if state == "queued" and job.expected is None:
        return f"has no planned start: {message}" if message else "has no planned start yet"
    if state != "failed" or job.exit_code:
        return None
    happened = dict.fromkeys(event.kind for event in job.events if not event.kind.startswith("SWITCH_INTO"))
    return message or ", ".join(happened) or None
