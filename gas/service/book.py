"""The book keeps jobs, schedule and store consistent.

Changes of the schedule are written to the store before they are reported and before any process is started.
A write that fails changes nothing: the memory is read back from the store. Used by one thread at a time
(`gas.service.live` holds the lock).
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gas.collector import Frozen, uncollected
from gas.compiled import available
from gas.errors import StoreFailed, StoreInDoubt
from gas.s3 import S3, Event, Machine
from gas.service.changes import Change
from gas.service.classes import NO_CLASSES, Classes
from gas.service.clock import RECORD_SECONDS, Clock
from gas.service.database import CommitInDoubt
from gas.service.feed import Feed
from gas.service.grace import Grace
from gas.service.jobs import Job, JobState
from gas.service.journal import count, note, note_broken
from gas.service.metrics import Metrics
from gas.service.outage import DOWN, end_by_itself, missed_starts, restored
from gas.service.prediction import MOST_ENDED, Experience
from gas.service.pulse import PAUSE_SECONDS, Pulse
from gas.service.reconciling import reconcile
from gas.service.runner import POLL_SECONDS, Host, Runner
from gas.service.store import Store
from gas.service.usage import Usage
from gas.times import iso_time

__all__ = ["LEAD_SECONDS", "Book"]

log = logging.getLogger("gas.s3")

LEAD_SECONDS = 1
"""Starts are planned at least this far ahead, so that every job has its whole walltime (`S3.lead`)."""


PATIENCE = 2_000
"""Effort of one operation for promotion (`gas.s3.S3`): some 400 moves, which take 20 ms including their writes. The
dispatcher continues the promotion, so a queue of some thousands takes a moment.
"""


class Book:
    """The jobs of one machine; memory and store are kept consistent.

    Attributes
    ----------
    jobs
        The jobs in the schedule, by number.
    machine
        The schedule, with the simulated jobs on it. Change it, then call `write`.
    processors, accepting
        The size of the machine, and whether it accepts jobs.
    problem
        Why the latest write failed; None after a successful write.
    classes
        The classes of jobs.
    facts
        The contents of the store besides jobs.
    remarks
        Notices for the operator since the last start, for example that the store was restored.
    grace
        Extra time for ended jobs that are old only because the clock jumped.
    usage
        What each user has in the schedule.
    pulse
        Detects pauses of this process, by the clock's real time.
    feed, metrics
        Receive every change.
    experience
        Run times of ended jobs, from which starts are predicted.
    """

    machine: Machine
    jobs: dict[int, Job]
    usage: Usage
    processes: dict[int, Job]

    def __init__(
        self,
        name: str,
        processors: int,
        store: Store,
        clock: Clock,
        grace: Grace,
        directory: Path,
        host: Host | None = None,
        classes: Classes = NO_CLASSES,
    ) -> None:
        self.name = name
        self.classes = classes
        self.processors = processors
        self.store = store
        self.clock = clock
        self.grace = grace
        self.runner = Runner(directory, clock, store.identity, host)
        self.pulse = Pulse(clock.real_now)
        self.feed = Feed()
        self.metrics = Metrics()
        self.experience = Experience(store.instructive(MOST_ENDED))
        self.problem: str | None = None
        self.accepting = store.meta().get("accepting", "1") == "1"
        self._polled = 0.0
        self._recorded = self._looked = clock.real_now()
        self._distrusted = False
        self._just_read = False
        self._outage: str | None = None  # why the next starts were missed, if the service ran
        self.facts: dict[str, str] = {}
        self._broken_before = 0
        self._ended_before: list[Job] = []
        self._started: list[Job] = []  # since the latest write
        self._new: list[Job] = []  # accepted, and not written yet
        self._collected = Frozen()
        self.remember()
        self.remarks = reconcile(store, self.runner, clock, directory)
        self.read_back()

    # --------------------------------------------------------------------------------------------------- read

    @property
    def broken(self) -> int:
        """Number of broken promises since the store was created."""
        return self._broken_before + len(self.machine.schedule.broken)

    def present(self) -> dict[str, Any]:
        """Return the state of the machine for ``GET /v1/machine``, without the caller."""
        schedule = self.machine.schedule
        return {
            "scheduler": self.name,
            "identity": self.store.identity,
            "processors": self.processors,
            "accepting": self.accepting,
            "now": schedule.soonest,
            "now_iso": iso_time(schedule.soonest),
            "version": str(schedule.version),
            "in_use": schedule.in_use,
            "queued": schedule.counts[0],
            "running": schedule.counts[2],
            "reserved": schedule.counts[1],
            "promises_broken": self.broken,
            "clock_offset": None if (offset := self.clock.offset()) is None else round(offset),
        }

    def health(self) -> dict[str, object]:
        """Return the health of the service for ``GET /healthz``."""
        present, problem = self.present(), self.problem or self.clock.remark()
        names = ("scheduler", "processors", "accepting", "in_use", "queued", "running", "promises_broken")
        remarks = [*self.remarks, *self.grace.remarks(self.clock.now())]
        return {
            "status": "ok" if problem is None else "degraded",
            "problem": problem,
            "remarks": [*remarks, *sorted(self.store.damaged)[:10]],
            **{name: present[name] for name in names},
        }

    def gauges(self) -> dict[str, float]:
        """Return the present values of the gauges of `gas.service.metrics`."""
        schedule = self.machine.schedule
        queued, reserved, running = schedule.counts
        return {
            "processors": self.processors,
            "processors_in_use": schedule.in_use,
            "jobs_queued": queued,
            "jobs_reserved": reserved,
            "jobs_running": running,
            "accepting": float(self.accepting),
            "store_writable": float(self.problem is None),
            "promises_broken": self.broken,
            "clock_offset_seconds": self.clock.offset() or 0.0,
        }

    def next_instant(self) -> int | None:
        """Return the next instant at which something is due."""
        return self.machine.next_instant()

    # ------------------------------------------------------------------------------------------------- change

    def catch_up(self) -> None:
        """Bring the schedule up to now: ended processes, due starts, steps of the wall clock."""
        self._report_pause()
        self._advance()
        if step := self.clock.notice():
            log.warning(
                "the machine's clock was set %.0f s %s", abs(step), "forward" if step > 0 else "back",
                extra={"event": "clock_step", "step_seconds": step, "offset_seconds": self.clock.offset()},
            )  # fmt: skip
        if self.problem is None:  # otherwise nothing can be written; the dispatcher retries
            with suppress(StoreFailed):  # reported by /healthz; read-only requests are answered
                if ahead := self.clock.follow():
                    self._jump(ahead)
                elif self.clock.real_now() - self._recorded >= RECORD_SECONDS:
                    self.remember()

    def _report_pause(self) -> None:
        paused, self._looked = self.pulse.paused(self._looked), self.clock.real_now()
        if paused > PAUSE_SECONDS and self.pulse.beats:
            self.metrics.paused.inc(paused)
            log.warning(
                "the service did not run for %.0f s: it was stopped or starved, or the machine was suspended", paused,
                extra={"event": "paused", "seconds": paused},
            )  # fmt: skip

    def _advance(self) -> None:
        """Bring the schedule up to the time of the clock."""
        trusted = not self._distrusted
        missed = missed_starts(self.jobs, self.machine.schedule, self.clock, self.pulse) if trusted else None
        if missed or not trusted:
            self._outage = self._outage or missed
            self.read_back()
        ended: list[tuple[int, int]] = []
        if self.processes and time.monotonic() - self._polled >= POLL_SECONDS / 2:
            self._polled = time.monotonic()
            ended = self.runner.ended(list(self.processes.values()))
        now, schedule = self.clock.now(), self.machine.schedule
        if ended or self._just_read or now > schedule.now:
            # Starts that are due in the second of reading happen then, even if the next second has begun.
            events = self.machine.advance(schedule.now) if self._just_read else []
            self._just_read = False
            gone = self.apply(events + self.machine.advance(now, ended))
        else:
            gone = []
        if gone or schedule.has_changed or schedule.broken or self._ended_before:
            ended_before, self._ended_before = self._ended_before, []
            self.write(ended_before + gone)
        if self.problem is None:
            self._outage = None

    def go_on(self) -> None:
        """Continue promotion where patience ended, and write the moved jobs.

        Raises
        ------
        StoreFailed
            The store cannot be written; everything is as it was before.
        """
        self.write(self.apply(self.machine.go_on()))

    def add(self, job: Job) -> None:
        """Add a job that the schedule has just accepted; `write` makes it durable."""
        self.jobs[job.id] = job
        self._new.append(job)
        self.usage.add(job)

    def apply(self, events: list[Event]) -> list[Job]:
        """Apply the events of the schedule; return the jobs that have left it."""
        gone = []
        for event in events:
            job = self.jobs[event.id]
            if event.kind == "ended":
                if job.state == "running":  # simulated, or a reservation
                    job.state = end_by_itself(job)
                gone.append(self.leave(job, job.state, event.time))
            else:
                job.state, job.start, job.promise = "running", event.time, min(job.promise, event.time)
                self._started.append(job)
        return gone

    def leave(self, job: Job, state: JobState, time: int | None = None) -> Job:
        """Remove a job that has left the schedule, and return it."""
        del self.jobs[job.id]
        self.usage.remove(job)
        self.processes.pop(job.id, None)
        self.machine.run_times.pop(job.id, None)
        job.state, job.offer, job.answer_by = state, None, None
        job.finished = self.machine.schedule.now if time is None else time
        return job

    def write(
        self,
        gone: list[Job],
        meta: dict[str, str] | None = None,
        *,
        noted: Sequence[Job] = (),
        requested: Sequence[Change] = (),
    ) -> None:
        """Make the present schedule durable, publish the changes, then start the processes that are due.

        `gone` are jobs that have left the schedule, `noted` other jobs with a changed message or shape.

        Raises
        ------
        StoreFailed
            The store cannot be written; everything is as it was before.
        """
        schedule = self.machine.schedule
        changed: list[Job] = []
        begin: list[Job] = []
        unwritten, remarked = {job.id for job in self._new}, {job.id for job in noted}
        quiet: set[int] = set()
        promoted = 0
        for entry in schedule.take_changed():
            job = self.jobs[entry.id]
            if entry.state == "running" and job.request.actuator == "process":
                begin.append(job)
            if entry.state == job.state == "queued" and job.id not in unwritten and job.id not in remarked:
                quiet.add(job.id)
                promoted += entry.start != job.start
            job.follow(entry)
            changed.append(job)
        known = {job.id for job in changed}
        changed += [job for job in noted if job.id not in known]
        held = {**self.jobs, **{job.id: job for job in gone}} if schedule.broken else {}
        for broken in schedule.broken:
            note_broken(broken, held.get(broken.id), self.processors, self._outage or DOWN)
        facts = {
            "version": str(schedule.version),
            "broken": str(self.broken),
            "clock": self.clock.record(),
            **(meta or {}),
        }
        facts = {key: value for key, value in facts.items() if self.facts.get(key) != value}
        try:
            old = [job for job in (*gone, *changed) if job.id not in unwritten]
            self.store.write(new=self._new, changed=old, meta=facts, requested=requested)
        except sqlite3.Error as error:
            failed = self._failed(error)
            self.distrust()
            raise failed from error
        self._collected.made(len(self._new))
        self._new = []
        self.problem = None
        self.facts |= facts
        self._broken_before = self.broken
        schedule.broken.clear()
        for job in gone:
            self.runner.forget(job.id)
        count(self.metrics, self._started, gone)
        self._started.clear()
        self.experience.add(gone)
        note([*gone, *(job for job in changed if job.id not in quiet)], promoted)
        self.feed.append([*gone, *changed], self.present())
        for job in begin:
            if job.id not in self.processes:
                self.processes[job.id] = job
                delay = self.clock.real_now() - self.clock.real_time(job.start)
                self.metrics.start_delay.observe(max(0.0, delay))
            self.runner.begin(job)

    def check_doubt(self) -> None:
        """Raise `StoreInDoubt` if a failed change may still be on disk; a later write can resolve this."""
        if self.store.doubtful:
            raise StoreInDoubt(f"{self.problem}; it is not known whether the latest change was made; check again later")

    def distrust(self) -> None:
        """Read the memory back from the store: now if the store is readable, otherwise before the next operation."""
        self._distrusted = True
        with suppress(sqlite3.Error):
            self.read_back()

    def count_broken(self, promises: int) -> None:
        """Count broken promises that the schedule itself does not count."""
        self._broken_before += promises

    def remember(self) -> None:
        """Write the size of the machine and the clock; this also shows whether the store is writable (again).

        Raises
        ------
        StoreFailed
            The store is not writable.
        """
        self._recorded = self.clock.real_now()
        facts = {
            "processors": str(self.processors),
            "accepting": "1" if self.accepting else "0",
            "clock": self.clock.record(),
            "grace": self.grace.text(),
        }
        try:
            self.store.write(meta=facts)
        except sqlite3.Error as error:
            raise self._failed(error) from error
        self.problem = None

    def read_back(self) -> None:
        """Make the memory equal to the store, as of now."""
        self.facts = meta = self.store.meta()
        self.processors = int(meta["processors"])
        self.accepting = meta["accepting"] == "1"
        # A restored older state must not reuse a version that meant another schedule.
        version = max(int(meta.get("version", "0")), self.store.epoch << 40)
        schedule = S3(self.processors, self.clock.now(), machine_code=available(), lead=LEAD_SECONDS, patience=PATIENCE)
        with uncollected():
            last_id = self.store.last_id()
            active = self.store.active()
            for job in active:
                job.priority = self.classes.priority(job.request.job_class)
            found = restored(active, schedule, self.runner, version=version, last_id=last_id)
        self.machine, self.jobs, self.processes = found.machine, found.jobs, found.processes
        self.usage = Usage(self.jobs.values())
        self._ended_before = found.ended
        self._broken_before = int(meta.get("broken", "0"))
        self._started = []
        self._new = []
        self._collected.made(len(self.jobs))
        self._distrusted = False
        self._just_read = True  # entries due in this very second have not been started yet

    # ------------------------------------------------------------------------------------------------- inside

    def _failed(self, error: sqlite3.Error) -> StoreFailed:
        """Record that the store cannot be written, and return the error to raise."""
        self._outage = self._outage or "the store could not be written"
        if self.problem is None:
            log.error("the store cannot be written: %s", error, extra={"event": "store_failed"})
        self.problem = f"the store cannot be written: {error}"
        if isinstance(error, CommitInDoubt):
            return StoreInDoubt(
                f"the store cannot be written ({error}), and it is not known whether this change is on disk; repeat "
                "the request with the same key, or check later"
            )
        return StoreFailed(f"the store cannot be written ({error}); nothing was changed")

    def _jump(self, ahead: int) -> None:
        """Follow a wall clock that was set ahead: an outage of this length, except for running jobs.

        Their walltime is elapsed time, which does not pass in a jump: by the new time of the clock, they have started
        later, and end later.
        """
        running = list(self.processes.values())
        for job in running:
            job.start, job.promise, job.due = job.start + ahead, job.promise + ahead, job.due + ahead
        record, grace = self.clock.record(ahead), self.grace.after(ahead, self.clock.now() + ahead)
        try:
            self.store.write(changed=running, meta={"clock": record, "grace": grace.text()})
        except sqlite3.Error as error:
            failed = self._failed(error)
            self.distrust()
            if self._distrusted or self.facts.get("clock") != record:  # otherwise it was written after all
                raise failed from error
        self.clock.jump(ahead)
        self.grace = grace
        fields = {"event": "clock_jump", "seconds": ahead, "running": len(running)}
        log.warning("the scheduler's clock has followed the machine's, %d s ahead", ahead, extra=fields)
        self._outage = "the machine's clock was set forward"
        self.distrust()
        self._advance()
