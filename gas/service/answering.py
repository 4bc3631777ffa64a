"""Answers to offers: checks an answer, and makes the change durable before the response."""

from __future__ import annotations

import logging

from gas.errors import Conflict
from gas.service.book import Book
from gas.service.changes import Answer
from gas.service.jobs import Job

__all__ = ["answer"]

log = logging.getLogger("gas.s3")


def answer(book: Book, job: Job, wanted: Answer) -> Job:
    """Accept or decline the offer to a job, durably; see `LiveScheduler.answer`."""
    if job.state != "queued":
        what = "a reservation" if job.state == "reserved" else job.state
        raise Conflict(f"job {job.id} is {what}; only waiting jobs are offered earlier starts")
    if wanted.accepts:
        assert wanted.start is not None, "an offer is accepted by its start"
        events = book.machine.accept(job.id, wanted.start)
    else:
        events = book.machine.decline(job.id, wanted.start, not_before=wanted.not_before)
    gone = book.apply(events)
    book.write(gone, noted=[] if job in gone else [job], requested=[wanted])
    outcome = "accepted" if wanted.accepts else "declined"
    fields = {"event": "offer", "job": job.id, "user": wanted.user, "answer": outcome}
    log.info("the offer to job %d was %s by %s", job.id, outcome, wanted.user, extra=fields)
    return job.copy()
