"""Admission: the checks before a request becomes a job or changes one, and the job that it becomes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from gas.errors import BadInput, Conflict, Draining, GasError, NotFound
from gas.s3 import Entry
from gas.service.answering import answer
from gas.service.book import Book
from gas.service.changes import Answer, Change, Reshape
from gas.service.jobs import Job, JobRequest
from gas.service.limits import Limits
from gas.service.reshaping import reshape
from gas.times import duration_text

__all__ = ["Admission", "job_of"]


class Admission:
    """Accepts requests into a book while it is open and users stay within limits.

    Attributes
    ----------
    draining
        Whether no new jobs are accepted until the next start of the service.
    """

    def __init__(self, book: Book, limits: Limits) -> None:
        self._book = book
        self._limits = limits
        self.draining = False

    @property
    def accepting(self) -> bool:
        """Whether new jobs are accepted."""
        return self._book.accepting and not self.draining

    def examine(self, request: JobRequest) -> None:
        """Refuse a request that can never start, and compute its size: for a long command, outside the lock."""
        with self._counting_refusals():
            if request.actuator == "process":
                self._book.runner.check(Job(0, request, 0, "queued", 0, 0, 0, 0))
            _ = request.size  # cached

    def earlier(self, request: JobRequest) -> Job | None:
        """Return the job that the key of a request created before, None if the key is new."""
        if request.key is None:
            return None
        earlier = self._book.store.by_key(request.user, request.key)
        if earlier is not None and earlier.submission != request:
            raise Conflict(f"key {request.key!r} was used for a different request, job {earlier.id}; use a new key")
        return None if earlier is None else self._book.jobs.get(earlier.id, earlier)

    def accept(self, request: JobRequest) -> Job:
        """Put a request on the schedule and write it; durable on return. `LiveScheduler.submit` names the errors."""
        with self._counting_refusals():
            if request.reservation is not None:
                return self._use(request, request.reservation)
            job = job_of(self._place(request), request)
            self._book.add(job)
            self._book.write([])
            return job

    def reshape(self, job: Job, wanted: Reshape) -> Job:
        """Give a waiting job another shape; `LiveScheduler.reshape` names the errors."""
        with self._counting_refusals():
            return job.copy() if self._made_before(wanted) else reshape(self._book, self._limits, job, wanted)

    def answer(self, job: Job, wanted: Answer) -> Job:
        """Answer an offer to a waiting job; `LiveScheduler.answer` names the errors."""
        with self._counting_refusals():
            return job.copy() if self._made_before(wanted) else answer(self._book, job, wanted)

    def _made_before(self, wanted: Change) -> bool:
        """Return whether a change with this key was made before and must not be repeated."""
        if wanted.key is None:
            return False
        earlier = self._book.store.change_by_key(wanted.id, wanted.user, wanted.key)
        if earlier is not None and earlier != wanted:
            raise Conflict(f"key {wanted.key!r} was used for another change of job {wanted.id}; use a new key")
        return earlier is not None

    def _place(self, request: JobRequest) -> Entry:
        book = self._book
        if not self.accepting:
            why = "it stops after its last job" if self.draining else "its operator refuses them for now"
            raise Draining(f"{book.name} accepts no new jobs: {why}; submit later, or to another scheduler")
        active, processor_seconds, size = book.usage.of(request.user)
        self._limits.check_queue(request.user, active, processor_seconds, request.processors, request.walltime)
        self._limits.check_bytes(request.user, size, request.size)
        start_by = None if request.start_by is None else book.clock.leeway(request.start_by)
        if request.kind == "reservation":
            if request.start is None:
                raise BadInput("start: is required for a reservation")
            size, walltime, lasts = request.processors, request.walltime, request.run_time
            return book.machine.reserve(size, request.start, walltime, start_by=start_by, lasts=lasts)
        book.classes.admit(request.job_class, request.user)  # here, as the answer to a retry does not depend on it
        run_time = request.run_time if request.actuator == "simulated" else None
        return book.machine.submit(
            request.processors,
            request.walltime,
            run_time,
            not_before=request.start,
            start_by=start_by,
            priority=book.classes.priority(request.job_class),
            notice=request.notice,
        )

    def _use(self, request: JobRequest, reservation: int) -> Job:
        """Replace a reservation by a job, in one write; also while draining, because the reservation was promised."""
        book, held = self._book, self._book.jobs.get(reservation)
        if request.notice is not None:
            raise BadInput("notice: a job submitted into a reservation starts with the reservation; leave it out")
        if held is None or held.request.kind != "reservation" or held.request.user != request.user:
            raise NotFound(f"there is no reservation {reservation} of {request.user or 'yours'}: it may have lapsed")
        wanted = request.processors, request.walltime, request.start
        given = held.request.processors, held.request.walltime, held.start
        if wanted != given:
            raise Conflict(
                f"reservation {reservation} holds {given[0]} processors for {duration_text(given[1], exact=True)} from "
                f"{given[2]}, but the job requests {wanted[0]} for {duration_text(wanted[1], exact=True)}, not_before "
                f"{wanted[2]}; request what the reservation holds"
            )
        book.classes.admit(request.job_class, request.user)
        size = book.usage.of(request.user)[2]
        self._limits.check_bytes(request.user, size, request.size)
        job = job_of(book.machine.use(reservation, request.run_time), request)
        book.add(job)
        held.remark(f"job {job.id} took its place")
        book.write([book.leave(held, "cancelled")])
        return job

    @contextmanager
    def _counting_refusals(self) -> Iterator[None]:
        try:
            yield
        except GasError as error:
            self._book.metrics.refused.labels(type(error).__name__).inc()
            raise


def job_of(entry: Entry, request: JobRequest) -> Job:
    """Return the job of a request that is on the schedule."""
    job = Job(entry.id, request, entry.submitted, entry.state, entry.start, entry.promise, entry.promise, entry.end)
    job.identity, job.priority = os.urandom(8).hex(), entry.priority
    return job
