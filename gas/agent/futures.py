"""Jobs as futures, with the interface of `concurrent.futures`, on any scheduler that accepts jobs.

One thread per scheduler and user polls all jobs that are waited for. Each future ends, whatever error occurs: with the
job, or with an exception.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gas.agent.following import REMEMBERED, WAITING_PATIENCE, WAITING_PAUSES
from gas.agent.offering import accept, decline
from gas.agent.polling import Poll
from gas.agent.reserving import clock_of
from gas.agent.states import ENDED, describe
from gas.agent.submission import Submitted
from gas.agent.values import When, instant_of
from gas.endpoints import JobEndpoint
from gas.errors import Conflict, JobFailed, NotFound
from gas.planner import Plan
from gas.times import duration_text

__all__ = ["JobFuture", "JobFutureOf", "JobResult"]

SHOWN_BYTES = 2000
"""Bytes of a failed job's output in its error."""

FEW = 3
"""Up to this many jobs are requested one by one; if there are more, all are listed."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, repr=False)
class JobResult:
    """A job that has completed.

    Attributes
    ----------
    job
        The JSON object of ``GET /v1/jobs/{id}``.
    """

    scheduler: str
    job: dict[str, Any]
    endpoint: JobEndpoint

    @property
    def id(self) -> int:
        """Its number."""
        return int(self.job["id"])

    @property
    def exit_status(self) -> int | None:
        """The exit status, 0; None if its scheduler does not report it."""
        status: int | None = self.job["exit_status"]
        return status

    def output(self, *, most: int = 1 << 20) -> str:
        """Return the last bytes of its standard output."""
        return self.endpoint.output(self.id, "stdout", most).decode(errors="replace")

    def __repr__(self) -> str:
        return f"<JobResult of {self.scheduler}: {describe(self.job)}>"


class JobFutureOf(Future[_Result], Generic[_Result]):
    """A job as a future; derived classes define its result.

    `concurrent.futures.wait` and ``as_completed`` accept it too.

    Parameters
    ----------
    remark
        Called when the scheduler does not answer for a while, and when it no longer knows the job.

    Attributes
    ----------
    submitted
        The job at its submission, and the plan of the submission.
    job
        Its latest known state: the JSON object of ``GET /v1/jobs/{id}``.
    """

    def __init__(self, submitted: Submitted, *, remark: Callable[[str], object] | None = None) -> None:
        super().__init__()
        self.submitted = submitted
        self.job: dict[str, Any] = submitted.job
        self._notified = False
        _watching(submitted.endpoint, remark or logging.getLogger("gas.agent").warning).add(self)

    @property
    def id(self) -> int:
        """The number of the job."""
        return int(self.job["id"])

    @property
    def scheduler(self) -> str:
        """The name of its scheduler."""
        return self.submitted.scheduler

    @property
    def plan(self) -> Plan | None:
        """The plan of the submission; None if an earlier submission with the same key made the job."""
        return None if self.submitted.planned is None else self.submitted.planned.plan

    @property
    def state(self) -> str:
        """The latest known state of the job: queued, running, completed, failed, timeout, cancelled or lost."""
        return str(self.job["state"])

    @property
    def offer(self) -> int | None:
        """The start on offer, in epoch seconds, by the latest known state of the job; None without an offer."""
        return self.job.get("offer") if self.state == "queued" else None

    def accept_offer(self) -> None:
        """Accept the offer: move the job to the offered start.

        Raises
        ------
        Conflict
            There is no such offer (any more).
        """
        self.seen(accept(self.submitted.endpoint, self.id))

    def decline_offer(self, not_before: When | None = None) -> None:
        """Decline the offer; later offers have starts from `not_before` on, and with None there are no more offers."""
        where = self.submitted.endpoint
        instant = instant_of(not_before, "not_before")
        self.seen(decline(where, self.id, None if instant is None else instant.at(clock_of(where))))

    def running(self) -> bool:
        """Return whether the job runs, by its latest known state."""
        return not self.done() and self.state == "running"

    def cancel(self) -> bool:
        """Cancel the job, even if it runs; return whether it was cancelled before its end.

        Raises
        ------
        GasError
            The scheduler does not answer, or refuses to cancel it.
        """
        if self.done():
            return self.cancelled()
        try:
            found = self.submitted.endpoint.cancel(self.id)
        except (Conflict, NotFound):  # it has ended
            return False
        if found["state"] in ENDED and found["state"] != "cancelled":
            return False
        self._cancel()
        return True

    def _cancel(self) -> None:
        """Become cancelled, and notify waiting threads."""
        if not super().cancel():
            return
        with _lock:  # only one of several cancelling threads may notify: Python logs further attempts as critical
            first, self._notified = not self._notified, True
        if first:
            self.set_running_or_notify_cancel()

    def seen(self, job: dict[str, Any]) -> None:
        """Record the state of the job; if the job has ended, complete the future."""
        state = job["state"]  # before the state is used
        self.job = job
        if state == "cancelled":
            self._cancel()
        elif state in ENDED and (found := self._outcome(job)) is not None:
            self._end(lambda: self.set_result(found[0]))

    def fail(self, error: BaseException) -> None:
        """Complete the future with an exception."""
        self._end(lambda: self.set_exception(error))

    def _end(self, how: Callable[[], None]) -> None:
        try:
            how()
        except InvalidStateError:  # it was cancelled meanwhile
            return
        except BaseException:  # a callback may fail; other jobs wait, too
            logging.getLogger("gas.agent").exception("a function called at the end of job %s failed", self.id)

    def _outcome(self, job: dict[str, Any]) -> tuple[_Result] | None:
        """Return the result of an ended job, None if there is none yet; raise its error."""
        raise NotImplementedError

    def _failure(self, job: dict[str, Any]) -> JobFailed:
        """Return the error of a failed job, with the end of its output."""
        parts = [describe(job), *self._ends(job)]
        status = job["exit_status"]
        return JobFailed("\n".join(parts), job, status if isinstance(status, int) else None, "\n".join(parts[1:]))

    def _ends(self, job: dict[str, Any]) -> list[str]:
        """Return the ends of both output streams of a job, each after a line with its name."""
        found = []
        for stream in ("stderr", "stdout"):
            try:
                text = self.submitted.endpoint.output(int(job["id"]), stream, SHOWN_BYTES)
            except Exception as error:  # of any plug-in: the failure of the job must be reported anyway
                found.append(f"its {stream} cannot be read: {error}")
                continue
            if text.strip():
                found.append(f"the end of its {stream}:\n{text.decode(errors='replace').rstrip()}")
        return found

    def __repr__(self) -> str:
        said = describe(self.job) if "walltime" in self.job else self.state
        if self.cancelled() and self.state != "cancelled":
            said = f"cancelled; last seen: {said}"
        return f"<{type(self).__name__} on {self.scheduler}: {said}>"


class JobFuture(JobFutureOf[JobResult]):
    """The future of a command's job: its result is a `JobResult`, and a job that fails raises `JobFailed`."""

    def _outcome(self, job: dict[str, Any]) -> tuple[JobResult]:
        if job["state"] == "completed":
            return (JobResult(self.scheduler, job, self.submitted.endpoint),)
        raise self._failure(job)


class _Watch:
    """Polls one scheduler for the jobs of futures, in a thread that ends with the last of them."""

    def __init__(self, where: JobEndpoint, remark: Callable[[str], object]) -> None:
        self._where, self._remark = where, remark
        self._futures: list[JobFutureOf[Any]] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, future: JobFutureOf[Any]) -> None:
        with self._changed:
            self._futures.append(future)
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"jobs on {self._where.name}", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        poll = self._poll()
        known: dict[int, str] = {}
        while True:
            with self._changed:
                self._futures = [one for one in self._futures if not one.done()]
                if not self._futures:
                    self._thread = None
                    return
                waiting = list(self._futures)
            before = dict(known)
            try:
                with poll.asking():
                    self._ask(waiting)
            except BaseException as error:  # no answer for a long time; or a plug-in that exits
                for one in waiting:
                    one.fail(error)
                poll = self._poll()
            known = {id(one): one.state for one in waiting}
            poll.lengthen(WAITING_PAUSES, changed=known != before)
            with self._changed:
                self._changed.wait_for(lambda: len(self._futures) > len(waiting), poll.pause)  # noqa: B023

    def _poll(self) -> Poll:
        poll = Poll(WAITING_PATIENCE, self._remark, f"asking again for {duration_text(WAITING_PATIENCE)}")
        poll.heard()  # it has taken the job
        return poll

    def _ask(self, waiting: list[JobFutureOf[Any]]) -> None:
        """Poll all jobs, and pass on the state of each; an error with one job concerns only that job."""
        listed: dict[int, dict[str, Any]] = {}
        if len(waiting) > FEW:
            listed = {int(job["id"]): job for job in self._where.jobs(REMEMBERED)}
        for one in waiting:
            if one.state == "forgotten":
                one.fail(NotFound(f"{self._where.name}: job {one.id} has ended; its outcome is no longer known"))
                continue
            try:
                job = listed.get(one.id)
                if job is None or job["state"] in ENDED:  # an ended job is requested with all its details
                    job = self._where.job(one.id)
            except NotFound as error:
                one.fail(error)
                continue
            try:
                one.seen(job)
            except BaseException as error:  # any error with the output of a job
                one.fail(error)


_watches: dict[tuple[type, str, str, Hashable], _Watch] = {}
_lock = threading.Lock()


def _watching(where: JobEndpoint, remark: Callable[[str], object]) -> _Watch:
    """Return the poller of a scheduler for a user."""
    with _lock:
        return _watches.setdefault((type(where), where.name, where.target, where.credential), _Watch(where, remark))
