"""The live scheduler: S³ driven by a clock, with its store and its processes.

Every public method updates the schedule to the present, does its work, writes the changes to the store
(`gas.service.book`) and only then answers. One lock makes it safe to call from many threads; between calls, the
dispatcher starts due jobs.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gas.availability import AvailabilityList
from gas.compiled import available
from gas.errors import Conflict, GasError, NotFound, StoreFailed
from gas.s3 import Entry, Machine
from gas.s3.core import warm_up
from gas.service.admission import Admission, job_of
from gas.service.book import LEAD_SECONDS, PATIENCE
from gas.service.changes import Answer, Reshape
from gas.service.classes import NO_CLASSES, Classes
from gas.service.clock import Clock
from gas.service.database import is_damage
from gas.service.dispatcher import Dispatcher
from gas.service.feed import Feed
from gas.service.jobs import BEING, Job, JobRequest, Predicted
from gas.service.ledger import KeptLedger
from gas.service.limits import Limits
from gas.service.listing import Page, Wanted, candidates_of, page_of
from gas.service.metrics import Metrics
from gas.service.opening import open_book
from gas.service.prediction import Predictor, Standing
from gas.service.resizing import Broken, resize
from gas.service.retention import Retention
from gas.service.rows import DamagedRow
from gas.service.runner import Host
from gas.service.store import Store, damaged
from gas.service.tokens import the_service_user
from gas.service.turnstile import Turnstile

__all__ = ["LiveScheduler"]

log = logging.getLogger("gas.s3")


class LiveScheduler:
    """A machine that accepts jobs and runs them.

    Parameters
    ----------
    name
        The name of this scheduler in the availability list.
    processors
        The size of the machine; a store for another size is refused. None takes the store's.
    state
        The directory of the store and of the jobs' files; made if missing.
    clock
        By default the real one. It continues from the last time before a restart.
    reset_clock
        Take the wall clock's time even if it is earlier than what the clock has shown; nothing may be scheduled.
    keep
        Seconds after its end at which a job and its output are deleted; None keeps all.
    limits
        Limits per user.
    host
        The environment in which jobs run.
    classes
        The classes of jobs.
    """

    def __init__(
        self,
        name: str,
        processors: int | None,
        state: Path,
        *,
        clock: Clock | None = None,
        clock_speed: float = 1.0,
        reset_clock: bool = False,
        keep: int | None = None,
        limits: Limits | None = None,
        host: Host | None = None,
        classes: Classes = NO_CLASSES,
    ) -> None:
        self.name = name
        if available():
            warm_up()
        self._directory = state
        (state / "jobs").mkdir(parents=True, exist_ok=True)
        self._store = Store(state / "s3.sqlite", the_service_user().user)
        try:
            clock = clock or Clock(clock_speed)
            self._book = open_book(
                name, processors, self._store, clock, state, reset_clock=reset_clock, host=host, classes=classes
            )
        except BaseException as error:
            self._store.close()
            if isinstance(error, DamagedRow) or is_damage(error):
                raise damaged(state / "s3.sqlite", str(error)) from None
            if isinstance(error, sqlite3.Error) and not isinstance(error, GasError):
                raise StoreFailed(f"{state}: the store cannot be used now ({error}); try again later") from error
            raise
        book = self._book
        self._admission = Admission(book, limits or Limits())
        self._lock = Turnstile()
        self._dispatcher = Dispatcher(book, self._lock)
        self._present = self._dispatcher.present
        self._retention = Retention(keep, self._store, book.runner, book.clock, lambda: book.grace, self._lock)
        self._ledger = KeptLedger(state, self.feed, self._found)
        observe = self.metrics.prediction.observe
        self._predictor = Predictor(self._standing, self.clock.now, observe, self._ledger)

    # ---------------------------------------------------------------------------------------------------- life

    def start(self) -> None:
        """Start due jobs from now on, in a thread."""
        self._dispatcher.start()
        self._book.pulse.start()
        self._retention.start()
        self._predictor.start(len(self._book.experience))

    def stop(self) -> None:
        """Stop starting jobs; running ones continue by themselves."""
        self._dispatcher.stop()
        self._book.pulse.stop()
        self._retention.stop()
        self._predictor.stop()
        self.feed.close()
        with self._lock:
            with suppress(StoreFailed):
                self._book.remember()  # so that the clock never goes back across a restart
            self._store.close()

    # ---------------------------------------------------------------------------------------------------- read

    @property
    def clock(self) -> Clock:
        """The scheduler's clock."""
        return self._book.clock

    @property
    def processors(self) -> int:
        """The size of the machine."""
        return self._book.processors

    @property
    def classes(self) -> Classes:
        """The classes of jobs."""
        return self._book.classes

    @property
    def knows_users(self) -> bool:
        """Whether tokens were required when this state was last used; set it when that changes."""
        return self._book.facts.get("tokens") == "1"

    @knows_users.setter
    def knows_users(self, value: bool) -> None:
        if value != self.knows_users:
            with self._present():
                self._book.write([], {"tokens": "1" if value else "0"})

    @property
    def feed(self) -> Feed:
        """The changes, for clients that follow."""
        return self._book.feed

    @property
    def metrics(self) -> Metrics:
        """The metrics of the service."""
        return self._book.metrics

    @property
    def is_drained(self) -> bool:
        """Whether it was draining and the schedule is empty."""
        return self._admission.draining and not self._book.jobs

    def availability(self, *, without: int | None = None) -> AvailabilityList:
        """Return the availability list from now on; `without` is a waiting job that is left out."""
        with self._present():
            return self._book.machine.schedule.availability(self.name, without=without)

    def machine(self) -> dict[str, Any]:
        """Return the state of the machine."""
        with self._present():
            return self._machine()

    def job(self, id: int) -> Job:
        """Return a job of any age, or raise `NotFound`."""
        with self._present():
            return self._find(id).copy()

    def predictions(self, id: int) -> Future[Mapping[int, Predicted]]:
        """Return a future of the predicted starts of waiting jobs by number; this one may be missing.

        This call does not block, and the future completes even after an error.
        """
        book = self._book
        schedule = book.machine.schedule
        return self._predictor.ask(id, str(schedule.version), schedule.counts, len(book.experience))

    @property
    def coverage(self) -> dict[str, Any] | None:
        """Coverage of the last predicted intervals, as JSON; None until known. This does not block."""
        return self._ledger.coverage

    def job_with_key(self, user: str, key: str) -> Job | None:
        """Return the job of any age that a user submitted with this key; None if there is none."""
        with self._present():
            self._book.check_doubt()
            earlier = self._store.by_key(user, key)
            return None if earlier is None else self._book.jobs.get(earlier.id, earlier).copy()

    def jobs(self, *, ended: int = 0) -> list[Job]:
        """Return the jobs in the schedule and the latest `ended` ones that have ended, in submission order."""
        found: list[Job] = []
        after: int | None = 0
        while after is not None:
            page = self.page(Wanted(after=after, ended=ended))
            found += page.jobs
            after = page.next
        return found

    def page(self, wanted: Wanted) -> Page:
        """Return one page of a list of jobs."""
        book = self._book
        with self._present():
            jobs, schedule = book.jobs, book.machine.schedule
            if wanted.states and "queued" not in wanted.states:
                numbers = sorted(entry.id for entry in (*schedule.running, *schedule.reserved))
            else:
                numbers = list(jobs)
        candidates = candidates_of(jobs, numbers, wanted)  # outside the lock: it may skip many jobs
        with self._present():
            found = [job.snapshot() for id in candidates if (job := book.jobs.get(id)) is not None and job in wanted]
            if wanted.ended:
                found += self._store.ended(wanted)
        return page_of(found, wanted)

    @property
    def known(self) -> int:
        """The number of jobs in the store, in any state."""
        return self._store.count

    def output(self, id: int, stream: str, limit: int, after: int | None = None) -> bytes:
        """Return the last `limit` bytes of "stdout" or "stderr" of a process, or those from an offset on."""
        with self._lock:
            job = self._find(id)
        return self._book.runner.output(job, stream, limit, after)

    def health(self) -> dict[str, object]:
        """Return the health of the service without blocking: the lock may be held by an operation on a hanging disk."""
        health = {**self._book.health(), "accepting": self._admission.accepting, "durable": self._book.problem is None}
        if health["status"] == "ok" and (problem := self._dispatcher.slowness()) is not None:
            health |= {"status": "degraded", "problem": problem}
        return health

    def metrics_text(self) -> bytes:
        """Return the metrics in the format of Prometheus, without blocking."""
        coverage = self.coverage or {"outcomes": 0, "held": 0}
        return self.metrics.text(
            {
                **self._book.gauges(),
                "accepting": float(self._admission.accepting),
                "predictions_settled": coverage["outcomes"],
                "predictions_held": coverage["held"],
            }
        )

    @contextmanager
    def frozen(self) -> Iterator[Machine]:
        """Lock the schedule; the machine may be copied, not changed."""
        with self._present():
            yield self._book.machine

    # -------------------------------------------------------------------------------------------------- change

    def submit(self, request: JobRequest) -> tuple[Job, bool]:
        """Accept a job or a reservation and promise its start; durable on return.

        Return the job and whether it is new: a key that this user has used before returns the job created then.

        Raises
        ------
        BadInput, StalePlan
            As `S3.submit` and `S3.reserve`; there is no such class.
        NotFound
            This user has no such reservation for the job.
        Forbidden
            The user may not submit in this class.
        Conflict
            The key was used for a different request, or the reservation differs or has begun.
        Draining
            No new jobs are accepted.
        OverLimit
            A limit per user is exceeded.
        StoreFailed
            The store cannot be written; nothing was accepted.
        """
        began = time.perf_counter()
        self._admission.examine(request)
        with self._present(changes=True):
            if (earlier := self._admission.earlier(request)) is not None:
                return earlier.copy(), False
            job = self._admission.accept(request).copy()
        self.metrics.submitted.labels(request.kind).inc()
        self.metrics.scheduling.observe(time.perf_counter() - began)
        return job, True

    def cancel(self, id: int, by: str | None = None) -> Job:
        """Take a job out of the schedule, terminating it if it runs; `by` is the user who cancels it, if not its own.

        A process gets TERM; its processors are free when it is gone. A job that has ended stays as it is.
        """
        with self._present(changes=True):
            job, book = self._find(id), self._book
            if not job.active:
                return job.copy()
            who = job.request.user if by is None else by
            log.info("job %d is cancelled by %s", id, who, extra={"event": "cancel", "job": id, "user": who})
            other = None if who == job.request.user else f"cancelled by {who}"
            if job.state == "running" and job.request.actuator == "process":
                if not job.being_ended:
                    said, job.message = job.message, f"{BEING}{other or 'cancelled'}"
                    job.remark(said)
                    book.write([], noted=[job])  # before the cancellation: an answered request must survive a crash
                book.runner.cancel(job)
                return job.copy()
            job.remark(other)
            if job.state == "running":
                events = book.machine.end(id)
                job.state = "cancelled"
                book.write(book.apply(events))
            else:
                book.machine.schedule.cancel(id)
                book.write([book.leave(job, "cancelled")])
            return job.copy()

    def reshape(self, wanted: Reshape) -> Job:
        """Give a waiting job another shape, in the first slot that delays no other job; durable on return.

        A key that was used before changes nothing again. A simulated job uses the same part of its walltime unless its
        run time is given.

        Raises
        ------
        NotFound
            There is no such job.
        Conflict
            It is not waiting, or the key was used for another change of it.
        StalePlan, BadInput
            As `S3.reshape`.
        OverLimit
            A limit on its user would be exceeded.
        StoreFailed
            The store cannot be written; nothing was changed.
        """
        with self._present(changes=True):
            return self._admission.reshape(self._find(wanted.id), wanted)

    def answer(self, wanted: Answer) -> Job:
        """Accept or decline the offer to a waiting job; keys, durability and errors as in `reshape`.

        Raises
        ------
        Conflict, BadInput
            As `S3.accept` and `S3.decline`.
        """
        with self._present(changes=True):
            return self._admission.answer(self._find(wanted.id), wanted)

    def resize(self, processors: int, *, cancel_larger: bool = False, by: str | None = None) -> list[Broken]:
        """Change the size of the machine; return the broken promises.

        Running jobs continue. A job that is larger than the machine is cancelled, with a message.

        Raises
        ------
        Conflict
            There are such jobs and `cancel_larger` is false; nothing was changed.
        """
        with self._present(changes=True):
            return resize(self._book, processors, cancel_larger=cancel_larger, by=by)

    def accept(self, accepting: bool, by: str | None = None) -> None:
        """Accept or refuse new jobs from now on; kept across restarts."""
        with self._present(changes=True):
            self._book.accepting = accepting
            self._book.write([], {"accepting": "1" if accepting else "0"})
            fields = {"event": "accepting", "accepting": accepting, "user": by}
            log.info("new jobs are %s from now on, by %s", "accepted" if accepting else "refused", by, extra=fields)

    def drain(self) -> None:
        """Accept no new jobs until the next start of the service."""
        self._admission.draining = True

    def accelerate(self, speed: float) -> None:
        """Change the speed of the clock."""
        with self._present(changes=True):
            self.clock.accelerate(speed)
            self._book.remember()

    def preload(self, jobs: list[tuple[str, Entry, int]], machine: Machine) -> None:
        """Take over a machine with simulated jobs as they are: (name, entry, run time) of each, in one write.

        Their user is called "log".

        Raises
        ------
        Conflict
            The store holds jobs already.
        """
        with self._lock:
            if self._store.last_id():
                raise Conflict(f"{self._directory}: already contains jobs; preload a log into an empty --state")
            self._book.machine = machine
            machine.schedule.lead = LEAD_SECONDS
            machine.schedule.patience = PATIENCE
            for name, entry, run_time in jobs:
                request = JobRequest(
                    "job", name, entry.processors, entry.walltime, actuator="simulated", run_time=run_time, user="log"
                )
                self._book.add(job_of(entry, request))
            machine.schedule.take_changed()
            self._book.write([])

    # -------------------------------------------------------------------------------------------------- inside

    def _machine(self) -> dict[str, Any]:
        return {**self._book.present(), "accepting": self._admission.accepting}

    def _standing(self) -> Standing:
        with self._present():
            return Standing.of(self._book.present(), self._book.jobs.values(), self._book.experience, LEAD_SECONDS)

    def _found(self, id: int) -> Job:
        with self._lock:
            return self._find(id).copy()

    def _find(self, id: int) -> Job:
        job = self._book.jobs.get(id) or (self._store.job(id) if 0 < id < 2**63 else None)
        if job is None:
            raise NotFound(f"there is no job {id}")
        return job
