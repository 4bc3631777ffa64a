"""Records of each change: lines of the log, counts for the metrics, and broken promises on their jobs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from gas.s3 import Broken
from gas.service.jobs import Job
from gas.service.metrics import Metrics

__all__ = ["count", "note", "note_broken"]

log = logging.getLogger("gas.s3")


def note(changed: Sequence[Job], promoted: int) -> None:
    """Log the outcomes of jobs, one line each, and the number of others that only start earlier."""
    if not log.isEnabledFor(logging.INFO):
        return
    for job in changed:
        known = {
            "event": "job",
            "job": job.id,
            "user": job.request.user,
            "state": job.state,
            "promise": job.promise,
        }
        log.info("job %d of %s: %s", job.id, job.request.user, job.state, extra=known)
    if promoted:
        log.info("%d waiting jobs start earlier", promoted, extra={"event": "promoted", "jobs": promoted})


def note_broken(broken: Broken, job: Job | None, processors: int, outage: str) -> None:
    """Record a broken promise, with the reason, on its job and in the log.

    `processors` is the size of the machine, `outage` the reason for missed starts.
    """
    why = {
        "outage": outage,
        "overrun": "a job could not be ended at its walltime",
        "resize": f"the machine was reduced to {processors} processors",
    }[broken.cause]
    if job is not None:
        job.broken_promise = broken.promised
        job.remark(f"its promise was broken: {why}")
    late = broken.start - broken.promised
    log.warning(
        "the promise to job %d could not be kept: %d s later than promised, because %s", broken.id, late, why,
        extra={"event": "promise_broken", "job": broken.id, "late_seconds": late},
    )  # fmt: skip


def count(metrics: Metrics, started: Iterable[Job], ended: Iterable[Job]) -> None:
    """Count jobs that have started, with their waits and kept promises, and jobs that have ended."""
    for job in started:
        metrics.wait.observe(max(0, job.start - job.submitted))
        if job.start <= job.first_promise:
            metrics.promises_kept.inc()
    for job in ended:
        metrics.ended.labels(job.state).inc()
