"""Slurm's jobs as Gas's job records (`gas.endpoints.records`)."""

from __future__ import annotations

from typing import Any

from gas.endpoints.records import ACTIVE, job_record
from gas.endpoints.slurm.sizing import size_of
from gas.slurm.cluster import Job
from gas.slurm.order import HOLDING

__all__ = ["record_of"]

_ENDED = {"COMPLETED": "completed", "CANCELLED": "cancelled", "TIMEOUT": "timeout", "NODE_FAIL": "lost"}
"""How jobs ended; those in any other final state have failed."""

_WAITING_AS_USUAL = ("", "None", "Resources", "Priority")
_STARTING = (*_WAITING_AS_USUAL[1:], "Reservation", "ReqNodeNotAvail", "JobArrayTaskLimit", "Licenses")
"""Reasons with which a planned start is meaningful; with BeginTime, Slurm shows the earliest start instead."""

_MESSAGES = {"OUT_OF_MEMORY": "it used more memory than requested", "NODE_FAIL": "one of its nodes failed",
             "BOOT_FAIL": "its nodes did not boot", "DEADLINE": "it missed its deadline",
             "PREEMPTED": "another job preempted it"}  # fmt: skip

_NO_FILES = 53
"""What Slurm gives as the signal of a job whose output file could not be opened; nothing of it has run."""


def record_of(job: Job, unit: str, user: str) -> dict[str, Any]:
    """Return the record of a job.

    Parameters
    ----------
    unit
        The unit of its processors: CPUs, tasks, nodes or GPUs.
    user
        The querying user.
    """
    state = "queued" if job.pending else "running" if job.state in HOLDING else _ENDED.get(job.state, "failed")
    ended = state not in ACTIVE
    message, signal = _MESSAGES.get(job.state), job.signal
    if state == "failed" and signal == _NO_FILES:
        message, signal = "Slurm could not open its output file on the node, so nothing ran", None
    if job.pending and job.reason not in _WAITING_AS_USUAL:
        message = f"waits because of {job.reason}"
    starting = not job.reason or job.reason.startswith(_STARTING)
    started = None if job.pending or (ended and job.start is not None and not job.nodes) else job.start
    ran = ended and started is not None  # Slurm has exit status 0 for jobs that were cancelled while waiting
    return job_record(
        job.id,
        user=job.user,
        viewer=user,
        tagged_name=job.name,
        state=state,
        processors=size_of(job, unit),
        gpus=size_of(job, "gpus"),
        walltime=job.time_limit,
        actuator="slurm",
        exit_status=job.exit_status if ran and not job.signal else None,
        signal=signal if ran and signal else None,
        message=message,
        submitted=job.submitted,
        not_before=job.eligible if job.pending and job.reason == "BeginTime" else None,
        expected=(job.start if starting else None) if job.pending else started,
        start=started,
        due=job.end if state == "running" else None,
        finished=job.end if ended else None,
    )
