"""The live scheduler: S³ driven by a clock, with its store and its processes.

Every public method brings the schedule up to the present, does its one thing, has what changed written to the store
(`gas.service.book`) and only then answers. One lock makes it safe to call from many threads; a thread of its own
starts what falls due.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gas.availability import AvailabilityList
from gas.compiled import available
from gas.errors import BadInput, Conflict, Draining, GasError, NotFound, StoreFailed, outcome_of
from gas.s3 import Entry, Machine
from gas.s3.core import warm_up
from gas.service.book import LEAD_SECONDS, PATIENCE, Book
from gas.service.clock import Clock
from gas.service.feed import Feed
from gas.service.jobs import BEING, Job, Predicted, Wish
from gas.service.limits import Limits
from gas.service.listing import Page, Wanted, page_of, waiting_in_line
from gas.service.metrics import Metrics
from gas.service.prediction import Predictor, Standing
from gas.service.retention import Retention
from gas.service.rows import DamagedRow
from gas.service.runner import POLL_SECONDS, Host
from gas.service.store import Store, damaged
from gas.service.tokens import the_service_user
from gas.service.turnstile import Turnstile

__all__ = ["Broken", "LiveScheduler"]

log = logging.getLogger("gas.s3")


SLOW_SECONDS = 1.0
"""How late the dispatcher may be, and how long one operation may take, in good health."""

REST = 4.0
"""So many times as long as it has taken the dispatcher to go on with promotion, it rests while requests come in."""

UNFINISHED_SECONDS = 60.0
"""How long promotion may be unfinished in good health."""

LOOK_SECONDS = 5.0
"""How often the dispatcher looks up at least: a wait does not count a suspended machine's sleep, nor end at a step."""


@dataclass(frozen=True)
class Broken:
    """A promise that a change of the machine made impossible; `start` is None for a job that had to be cancelled."""

    job: Job
    promised: int
    start: int | None


class LiveScheduler:
    """A machine that accepts jobs and runs them.

    Parameters
    ----------
    name
        What the availability list calls this scheduler.
    processors
        The size of the machine; a store that was made for another size is refused. None takes the store's.
    state
        The directory of the store and of the jobs' files; made if missing.
    clock
        By default the real one. It goes on from where an earlier life of the store was.
    reset_clock
        Take the wall clock's time even if it is earlier than what the clock has shown; nothing may be scheduled.
    keep
        How many seconds after its end a job is forgotten, with what it wrote; None keeps all.
    limits
        What one user may have in the schedule.
    host
        What jobs run in.
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
    ) -> None:
        self.name = name
        if available():
            warm_up()
        self._directory = state
        (state / "jobs").mkdir(parents=True, exist_ok=True)
        self._store = Store(state / "s3.sqlite", the_service_user().user)
        try:
            clock = clock or Clock(clock_speed)
            self._book = Book.open(name, processors, self._store, clock, state, reset_clock=reset_clock, host=host)
        except BaseException as error:
            self._store.close()
            if isinstance(error, DamagedRow):
                raise damaged(state / "s3.sqlite", str(error)) from None
            if isinstance(error, sqlite3.Error) and not isinstance(error, GasError):
                raise StoreFailed(f"{state}: the store cannot be used at present ({error}); try again") from error
            raise
        self._limits = limits or Limits()
        self._lock = Turnstile()
        book = self._book
        self._retention = Retention(keep, self._store, book.runner, book.clock, lambda: book.grace, self._lock)
        self._predictor = Predictor(self._standing, self.clock.now, self.metrics.prediction.observe)
        self._woken = threading.Event()
        self._sleeps_until = 0.0
        self._unfinished_since: float | None = None
        self._passed = 0  # by the lock, when promotion was last gone on with
        self._stopping = False
        self._draining = False
        self._thread: threading.Thread | None = None

    # ---------------------------------------------------------------------------------------------------- life

    def start(self) -> None:
        """Start what falls due, from now on, in a thread."""
        self._sleeps_until = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="s3-dispatcher", daemon=True)
        self._thread.start()
        self._book.pulse.start()
        self._retention.start()
        self._predictor.start(len(self._book.experience))

    def stop(self) -> None:
        """Stop starting jobs; those that run go on by themselves."""
        self._stopping = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
        self._book.pulse.stop()
        self._retention.stop()
        self._predictor.stop()
        self.feed.close()
        with self._lock:
            with suppress(StoreFailed):
                self._book.remember()  # so that the next life shows no earlier instant
            self._store.close()

    def _run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            with self._lock.first():  # what is due starts before anybody is answered
                pause = self._attend()
            if self._book.machine.schedule.unfinished and pause == 0:
                pause = self._go_on()
            self._woken.wait(pause)

    def _attend(self) -> float:
        """Start what is due; return for how many seconds nothing else is."""
        try:
            if self._book.problem is not None:
                self._book.remember()
            self._book.catch_up()
            pause = self._seconds_to_wait()
        except StoreFailed:
            pause = 1.0
        except Exception:  # whatever it is, the jobs that can be started must be
            log.exception("unforeseen error; trying again")
            pause = 1.0
        self._sleeps_until = time.monotonic() + pause
        return pause

    def _go_on(self) -> float:
        """Go on with promotion for a moment, behind all who wait; return for how long to leave time to others."""
        began = time.monotonic()
        try:
            with self._present():
                began = time.monotonic()
                others = self._lock.passed - self._passed - 2  # the dispatcher has passed twice itself
                self._passed = self._lock.passed
                self._book.go_on()
        except StoreFailed:
            return 1.0
        except Exception:
            log.exception("unforeseen error; trying again")
            return 1.0
        return (time.monotonic() - began) * (REST if others > 0 else 0.5)

    def _seconds_to_wait(self) -> float:
        following = self._book.next_instant()
        unfinished = self._book.machine.schedule.unfinished
        if not unfinished:
            self._unfinished_since = None
        elif self._unfinished_since is None:
            self._unfinished_since = time.monotonic()
        waits = [0.0 if unfinished else LOOK_SECONDS]
        if following is not None:
            waits.append(max(0.001, self.clock.seconds_until(following)))
        if self._book.processes:
            waits.append(POLL_SECONDS)
        if self._book.problem is not None:
            waits.append(1.0)  # the store is tried again
        return min(waits)

    # ----------------------------------------------------------------------------------------------------- ask

    @property
    def clock(self) -> Clock:
        """The scheduler's clock."""
        return self._book.clock

    @property
    def processors(self) -> int:
        """The size of the machine."""
        return self._book.processors

    @property
    def knows_users(self) -> bool:
        """Whether tokens were in force when this state was used last; set it when that changes."""
        return self._book.facts.get("tokens") == "1"

    @knows_users.setter
    def knows_users(self, value: bool) -> None:
        if value != self.knows_users:
            with self._present():
                self._book.write([], {"tokens": "1" if value else "0"})

    @property
    def feed(self) -> Feed:
        """What has changed, for those who follow."""
        return self._book.feed

    @property
    def metrics(self) -> Metrics:
        """What the service counts."""
        return self._book.metrics

    @property
    def is_drained(self) -> bool:
        """Whether it was told to drain, and nothing is left in the schedule."""
        return self._draining and not self._book.jobs

    def availability(self) -> AvailabilityList:
        """Return what is free from now on."""
        with self._present():
            return self._book.machine.schedule.availability(self.name)

    def machine(self) -> dict[str, Any]:
        """Return how the machine stands."""
        with self._present():
            return self._machine()

    def job(self, id: int) -> Job:
        """Return a job of any age, or raise `NotFound`."""
        with self._present():
            return self._find(id)

    def predictions(self, id: int) -> Future[Mapping[int, Predicted]]:
        """Return what will be, by number, the predicted starts of jobs that wait; perhaps not of this one.

        Nothing is waited for here, and whatever goes wrong, there will be an answer.
        """
        book = self._book
        schedule = book.machine.schedule
        return self._predictor.ask(id, str(schedule.version), schedule.counts, len(book.experience))

    def job_with_key(self, user: str, key: str) -> Job | None:
        """Return the job of any age that a user submitted with a key of theirs."""
        with self._present():
            self._book.check_doubt()
            earlier = self._store.by_key(user, key)
            return None if earlier is None else self._book.jobs.get(earlier.id, earlier)

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
        """Return the jobs that come on one page of a list."""
        book = self._book
        with self._present():
            jobs, schedule = book.jobs, book.machine.schedule
            if wanted.states and "queued" not in wanted.states:
                numbers = sorted(entry.id for entry in (*schedule.running, *schedule.reserved))
            else:
                numbers = list(jobs)
        waiting = waiting_in_line(jobs, numbers, wanted)  # however many it has to pass over: nobody waits for this
        with self._present():
            found = [job.snapshot() for id in waiting if (job := book.jobs.get(id)) is not None and job in wanted]
            if wanted.ended:
                found += self._store.ended(wanted)
        return page_of(found, wanted)

    @property
    def known(self) -> int:
        """How many jobs the store holds, whatever has become of them."""
        return self._store.count

    def output(self, id: int, stream: str, limit: int) -> bytes:
        """Return the last `limit` bytes of what a process has written to "stdout" or "stderr"."""
        with self._lock:
            job = self._find(id)
        return self._book.runner.output(job, stream, limit)

    def health(self) -> dict[str, object]:
        """Return how the service is, without waiting for anything: the lock may be held by a disk that hangs."""
        health = {**self._book.health(), "accepting": self._accepting, "durable": self._book.problem is None}
        if health["status"] == "ok" and (problem := self._slowness()) is not None:
            health |= {"status": "degraded", "problem": problem}
        return health

    def _slowness(self) -> str | None:
        """Return in what the service is slow; None if in nothing."""
        held, late = self._lock.held_for, time.monotonic() - self._sleeps_until
        if held > SLOW_SECONDS:
            return f"an operation has taken {held:.0f} s so far, and everything else waits for it"
        if self._thread is not None and late > SLOW_SECONDS:
            return f"the dispatcher is {late:.0f} s late; jobs may start later than promised"
        since = self._unfinished_since
        if since is not None and time.monotonic() - since > UNFINISHED_SECONDS:
            return (
                f"for {time.monotonic() - since:.0f} s, waiting jobs have been moving to earlier starts and there are "
                "more to move; promises are kept, and new jobs may be placed before them"
            )
        return None

    def metrics_text(self) -> bytes:
        """Return the metrics in the format of Prometheus, without waiting for anything."""
        return self.metrics.text({**self._book.gauges(), "accepting": float(self._accepting)})

    @contextmanager
    def frozen(self) -> Iterator[Machine]:
        """Hold the schedule as it is now; the machine may be copied, not changed."""
        with self._present():
            yield self._book.machine

    # -------------------------------------------------------------------------------------------------- change

    def submit(self, wish: Wish) -> tuple[Job, bool]:
        """Accept a job or a reservation and promise its start; durable on return.

        Return the job and whether it is new: a client key that made a job of this user before returns that job.

        Raises
        ------
        BadInput, StalePlan
            As `S3.submit` and `S3.reserve`.
        Conflict
            The key made a job of a different request.
        Draining
            Nothing new is accepted.
        OverLimit
            The user has too much in the schedule already.
        StoreFailed
            The store cannot be written; nothing was accepted.
        """
        began = time.perf_counter()
        with self._counting_refusals():
            self._examine(wish)
        with self._present(changes=True):
            if (earlier := self._earlier(wish)) is not None:
                return earlier, False
            with self._counting_refusals():
                job = self._accept(wish)
        self.metrics.submitted.labels(wish.kind).inc()
        self.metrics.scheduling.observe(time.perf_counter() - began)
        return job, True

    def cancel(self, id: int, by: str | None = None) -> Job:
        """Take a job out of the schedule, ending it if it runs; `by` is the user who wants it, if not its own.

        A process is told to stop; its processors are free when it is gone. A job that has ended stays as it is.
        """
        with self._present(changes=True):
            job, book = self._find(id), self._book
            if not job.active:
                return job
            who = job.wish.user if by is None else by
            log.info("job %d is cancelled by %s", id, who, extra={"event": "cancel", "job": id, "user": who})
            other = None if who == job.wish.user else f"cancelled by {who}"
            if job.state == "running" and job.wish.actuator == "process":
                if job.message is None or not job.message.startswith(BEING):
                    job.message = f"{BEING}{other or 'cancelled'}"
                    book.write([], noted=[job])  # before anything is done: what is answered survives
                book.runner.cancel(job)
                return job
            job.message = other
            if job.state == "running":
                events = book.machine.end(id)
                job.state = "cancelled"
                book.write(book.apply(events))
            else:
                book.machine.schedule.cancel(id)
                book.write([book.leave(job, "cancelled")])
            return job

    def resize(self, processors: int, *, cancel_larger: bool = False, by: str | None = None) -> list[Broken]:
        """Change the size of the machine; return the promises that this made impossible.

        What runs goes on. A job that no longer fits into the machine is cancelled, and its message says so.

        Raises
        ------
        Conflict
            There are such jobs, and `cancel_larger` does not say to cancel them; nothing was changed.
        """
        with self._present(changes=True):
            book = self._book
            larger = [job for job in book.jobs.values() if job.state != "running" and job.wish.processors > processors]
            if larger and not cancel_larger:
                raise Conflict(
                    f"{_named(larger)} would have to be cancelled, needing more than {processors} processors; "
                    "nothing was changed: say cancel_larger (gas machine --cancel-larger) to do so"
                )
            resized = book.machine.resize(processors)
            book.processors = processors
            broken = [Broken(book.jobs[b.id], b.promised, b.start) for b in resized.broken]
            gone = []
            for entry in resized.evicted:
                job = book.jobs[entry.id]
                job.message = f"needs {entry.processors} processors, and the machine was reduced to {processors}"
                told = {"event": "promise_broken", "job": job.id}
                log.warning("job %d had to be cancelled: %s", job.id, job.message, extra=told)
                gone.append(book.leave(job, "cancelled"))
                broken.append(Broken(job, entry.promise, None))
            book.count_broken(len(gone))
            book.write(gone, {"processors": str(processors), "resized": "1"})
            told = {"event": "resized", "processors": processors, "user": by}
            log.info("the machine has %d processors now, by %s", processors, by, extra=told)
            return broken

    def accept(self, accepting: bool, by: str | None = None) -> None:
        """Accept jobs from now on, or no longer; remembered over restarts."""
        with self._present(changes=True):
            self._book.accepting = accepting
            self._book.write([], {"accepting": "1" if accepting else "0"})
            told = {"event": "accepting", "accepting": accepting, "user": by}
            log.info("new jobs are %s, by %s", "accepted" if accepting else "refused", by, extra=told)

    def drain(self) -> None:
        """Accept nothing new in this life of the service."""
        self._draining = True

    def accelerate(self, speed: float) -> None:
        """Let the clock run at another speed from now on."""
        with self._present(changes=True):
            self.clock.accelerate(speed)
            self._book.remember()

    def preload(self, jobs: list[tuple[str, Entry, int]], machine: Machine) -> None:
        """Take over a machine with simulated jobs as they stand: (name, entry, run time) of each, as one write.

        Their user is called "log".

        Raises
        ------
        Conflict
            The store holds jobs already.
        """
        with self._lock:
            if self._store.last_id():
                raise Conflict(f"{self._directory}: holds jobs already; preload a log into a fresh --state")
            self._book.machine = machine
            machine.schedule.lead = LEAD_SECONDS
            machine.schedule.patience = PATIENCE
            for name, entry, run_time in jobs:
                wish = Wish(
                    "job", name, entry.processors, entry.walltime, actuator="simulated", run_time=run_time, user="log"
                )
                self._book.add(_job_of(entry, wish))
            machine.schedule.take_changed()
            self._book.write([])

    # -------------------------------------------------------------------------------------------------- inside

    @property
    def _accepting(self) -> bool:
        return self._book.accepting and not self._draining

    def _machine(self) -> dict[str, Any]:
        return {**self._book.present(), "accepting": self._accepting}

    def _standing(self) -> Standing:
        with self._present():
            return Standing.of(self._book.present(), self._book.jobs.values(), self._book.experience, LEAD_SECONDS)

    @contextmanager
    def _present(self, *, changes: bool = False) -> Iterator[None]:
        """Hold the lock, with the schedule brought up to now; after a change, see that the dispatcher is in time."""
        with self._lock:
            turns = self.clock.turns
            try:
                self._book.catch_up()
                yield
            except StoreFailed:
                self._woken.set()  # the dispatcher tries again until the store can be written
                raise
            except DamagedRow:  # of one job that has ended: the others are not concerned
                raise
            except sqlite3.Error as error:
                raise StoreFailed(f"the store cannot be read ({error}); nothing was changed") from error
            except Exception as error:
                if outcome_of(error) is None:  # nobody foresaw it, so nobody knows what is half done
                    self._book.distrust()
                raise
            changes = changes or self.clock.turns != turns
            if changes and time.monotonic() + self._seconds_to_wait() < self._sleeps_until:
                self._woken.set()

    def _find(self, id: int) -> Job:
        job = self._book.jobs.get(id) or (self._store.job(id) if 0 < id < 2**63 else None)
        if job is None:
            raise NotFound(f"there is no job {id}")
        return job

    def _earlier(self, wish: Wish) -> Job | None:
        """Return what the key of a request made before, None if it is a new one."""
        if wish.key is None:
            return None
        earlier = self._store.by_key(wish.user, wish.key)
        if earlier is not None and earlier.wish != wish:
            raise Conflict(f"key {wish.key!r} was used for a different request, job {earlier.id}; use a new key")
        return None if earlier is None else self._book.jobs.get(earlier.id, earlier)

    @contextmanager
    def _counting_refusals(self) -> Iterator[None]:
        try:
            yield
        except GasError as error:
            self.metrics.refused.labels(type(error).__name__).inc()
            raise

    def _examine(self, wish: Wish) -> None:
        """Refuse what can never start, and find out how long it is: of a long command, while nobody waits for that."""
        if wish.actuator == "process":
            self._book.runner.check(Job(0, wish, 0, "queued", 0, 0, 0, 0))
        _ = wish.size  # remembered

    def _accept(self, wish: Wish) -> Job:
        if not self._accepting:
            raise Draining(f"{self.name} accepts nothing new: it finishes what it has; submit elsewhere, or later")
        active, processor_seconds, size = self._book.used_by(wish.user)
        self._limits.check_queue(wish.user, active, processor_seconds, wish.processors, wish.walltime)
        self._limits.check_bytes(wish.user, size, wish.size)
        start_by, machine = wish.start_by, self._book.machine
        if start_by is not None:
            # On a fast clock, many seconds pass while a request is on its way: grant one real second.
            start_by += max(0, int(self.clock.speed) - 1)
        if wish.kind == "reservation":
            if wish.start is None:
                raise BadInput("start: a reservation needs one")
            entry = machine.reserve(wish.processors, wish.start, wish.walltime, start_by=start_by)
        else:
            run_time = wish.run_time if wish.actuator == "simulated" else None
            entry = machine.submit(wish.processors, wish.walltime, run_time, not_before=wish.start, start_by=start_by)
        job = _job_of(entry, wish)
        self._book.add(job)
        self._book.write([])
        return job


def _job_of(entry: Entry, wish: Wish) -> Job:
    job = Job(entry.id, wish, entry.submitted, entry.state, entry.start, entry.promise, entry.promise, entry.end)
    job.identity = os.urandom(8).hex()
    return job


def _named(jobs: list[Job]) -> str:
    names = ", ".join(str(job.id) for job in jobs[:5]) + (" and more" if len(jobs) > 5 else "")
    return f"job {names}" if len(jobs) == 1 else f"jobs {names}"
