"""Changes the shape of a waiting job: checks the request, and makes the change durable before the response."""

from __future__ import annotations

import logging
from dataclasses import replace

from gas.errors import BadInput, Conflict
from gas.service.book import Book
from gas.service.changes import Reshape
from gas.service.jobs import Job, Shape
from gas.service.limits import Limits

__all__ = ["reshape"]

log = logging.getLogger("gas.s3")


def reshape(book: Book, limits: Limits, job: Job, wanted: Reshape) -> Job:
    """Give a job the requested shape, durably; see `LiveScheduler.reshape`."""
    if job.state != "queued":
        what = "a reservation" if job.state == "reserved" else job.state
        raise Conflict(f"job {job.id} is {what}; only waiting jobs can be reshaped")
    shape = _wanted_shape(job, wanted)
    _check_limits(book, limits, job, shape)
    start_by = None if wanted.start_by is None else book.clock.leeway(wanted.start_by)
    entry, events = book.machine.reshape(job.id, shape.processors, shape.walltime, shape.run_time, start_by=start_by)
    book.usage.remove(job)
    job.reshape(replace(shape, promise=entry.promise), book.machine.schedule.now)
    book.usage.add(job)
    gone = book.apply(events)
    book.write(gone, noted=[] if job in gone else [job], requested=[wanted])
    book.metrics.reshaped.inc()
    log.info(
        "job %d was given %d processors for %d s by %s", job.id, shape.processors, shape.walltime, wanted.user,
        extra={"event": "reshaped", "job": job.id, "user": wanted.user},
    )  # fmt: skip
    return job.copy()


def _wanted_shape(job: Job, wanted: Reshape) -> Shape:
    """Return the shape that a job would have, without a promise yet."""
    present = job.shape
    processors, walltime = wanted.processors or present.processors, wanted.walltime or present.walltime
    run_time = job.reshaped_run_time(walltime)
    if wanted.run_time is not None:
        if job.request.actuator != "simulated":
            raise BadInput(f"run_time: job {job.id} runs a command, which determines its run time; leave it out")
        run_time = wanted.run_time
    return Shape(processors, walltime, run_time, present.promise)


def _check_limits(book: Book, limits: Limits, job: Job, shape: Shape) -> None:
    """Raise `OverLimit` if a job would use more than before, and its user more than allowed."""
    user = job.request.user
    _, processor_seconds, _ = book.usage.of(user)
    if shape.processors * shape.walltime > job.processor_seconds:
        others = processor_seconds - job.processor_seconds
        limits.check_queue(user, 0, others, shape.processors, shape.walltime)
