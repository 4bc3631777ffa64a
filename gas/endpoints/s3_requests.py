"""The documents of a job for S³: its command, with placeholders if the service can replace them, or its run time."""

from __future__ import annotations

from typing import Any

from gas.endpoints.endpoint import JobDescription, Request

__all__ = ["actuator_of", "submission_of"]

_VARYING = ("processors", "tasks", "cpus_per_task", "walltime")
"""The placeholders that the service knows."""


def submission_of(request: Request, job: JobDescription, reservation: int | None = None) -> dict[str, Any]:
    """Return the body of ``POST /v1/jobs`` without its key; the job replaces `reservation`, if given."""
    return {
        "name": job.name,
        "processors": request.processors,
        "walltime": request.walltime,
        "not_before": request.not_before,
        "start_by": request.start_by,
        "actuator": actuator_of(job),
        # services of earlier versions know none of these
        **({} if job.job_class is None else {"class": job.job_class}),
        **({} if job.notice is None else {"notice": job.notice}),
        **({} if reservation is None else {"reservation": reservation}),
    }


def actuator_of(job: JobDescription) -> dict[str, Any]:
    """Return how a job runs, in the form of ``POST /v1/jobs``."""
    if job.run_time is not None:
        return {"kind": "simulated", "run_time": job.run_time}
    return {
        "kind": "process",
        "command": list(job.command),
        "environment": dict(job.environment),
        "directory": job.directory,
        **_settled_at_start(job),
    }


def _settled_at_start(job: JobDescription) -> dict[str, Any]:
    """Return the command with its placeholders, which the service fills in when the job starts; {} if it has none.

    By then the job may have another shape. The number of processors per task does not change.
    """
    from gas.placeholders import filled, variable

    sizes = {name: int(job.environment[variable(name)]) for name in _VARYING if variable(name) in job.environment}
    if len(sizes) < len(_VARYING) or job.template == job.command:
        return {}
    if tuple(filled(word, sizes) for word in job.template) != job.command:
        return {}
    return {"command": list(job.template), "cpus_per_task": sizes["cpus_per_task"]}
