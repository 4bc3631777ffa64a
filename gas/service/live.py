"""The live scheduler: S³ driven by a clock, with its store and its processes.

Every public method brings the schedule up to the present, does its one thing, writes what changed to the store and
only then answers. A write that fails is answered as failed, and the memory is read back from the store, so that the
two never differ. One lock makes it safe to call from many threads; a thread of its own starts what falls due.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from gas.availability import AvailabilityList
from gas.compiled import available
from gas.errors import BadInput, Conflict, NotFound, StoreFailed
from gas.s3 import S3, Entry, Event, Machine, State
from gas.s3.core import warm_up
from gas.service.clock import Clock
from gas.service.jobs import Job, JobState, Wish
from gas.service.runner import POLL_SECONDS, Runner, command_of
from gas.service.store import Store

__all__ = ["LiveScheduler"]

log = logging.getLogger("gas.s3")

LEAD_SECONDS = 1
"""Starts are planned for the next second, so that every job has its whole walltime (`S3.lead`)."""


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
        By default the real one. One that was left behind by an earlier life of the store goes on from there.
    """

    def __init__(
        self, name: str, processors: int | None, state: Path, *, clock: Clock | None = None, clock_speed: float = 1.0
    ) -> None:
        self.name = name
        if available():
            warm_up()
        self._directory = state
        (state / "jobs").mkdir(parents=True, exist_ok=True)
        self._store = Store(state / "s3.sqlite")
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)
        self._stopping = False
        self._thread: threading.Thread | None = None
        meta = self._store.meta()
        if processors is None:
            if "processors" not in meta:
                self._store.close()
                raise BadInput(f"--processors: say how large the machine is; {state} is new")
            processors = int(meta["processors"])
        self.processors = processors
        if int(meta.get("processors", processors)) != processors:
            self._store.close()
            raise Conflict(
                f"{state}: belongs to a machine of {meta['processors']} processors, not {processors}; "
                "use another --state or that size"
            )
        if clock is None:
            before = meta.get("clock")
            if before is None:
                clock = Clock(clock_speed)
            else:
                origin, real_origin, speed = map(float, before.split())
                shown = Clock(speed, origin=origin, real_origin=real_origin).now()
                clock = Clock(clock_speed, origin=shown if speed != 1 or clock_speed != 1 else None)
        self.clock = clock
        self._runner = Runner(state / "jobs", clock)
        self._ended_before: list[Job] = []
        self._remember_clock()
        self._read_back()

    # ---------------------------------------------------------------------------------------------------- life

    def start(self) -> None:
        """Start what falls due, from now on, in a thread."""
        self._thread = threading.Thread(target=self._run, name="s3-dispatcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop starting jobs; those that run go on by themselves."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._store.close()

    def _run(self) -> None:
        with self._wake:
            while not self._stopping:
                try:
                    self._catch_up()
                    pause = self._seconds_to_wait()
                except StoreFailed as error:
                    log.error("%s; trying again", error)
                    pause = 1.0
                except Exception:  # whatever it is, the jobs that can be started must be
                    log.exception("unforeseen error; trying again")
                    pause = 1.0
                self._wake.wait(pause)

    def _seconds_to_wait(self) -> float:
        following = self._machine.next_instant()
        waits = [60.0]
        if following is not None:
            waits.append(max(0.001, self.clock.seconds_until(following)))
        if any(job.wish.actuator == "process" for job in self._jobs.values() if job.state == "running"):
            waits.append(POLL_SECONDS)
        return min(waits)

    # ----------------------------------------------------------------------------------------------------- ask

    def availability(self) -> AvailabilityList:
        """Return what is free from now on."""
        with self._present():
            return self._machine.schedule.availability(self.name)

    def job(self, id: int) -> Job:
        """Return a job of any age, or raise `NotFound`."""
        with self._present():
            return self._find(id)

    def jobs(self, *, ended: int = 0) -> list[Job]:
        """Return the jobs in the schedule in submission order, after the latest `ended` ones that have ended."""
        with self._present():
            past = self._store.recent(ended) if ended else []
            return [*reversed(past), *self._jobs.values()]

    def output(self, id: int, stream: str, limit: int) -> bytes:
        """Return the last `limit` bytes of what a process has written to "stdout" or "stderr"."""
        with self._lock:
            job = self._find(id)
        return self._runner.output(job, stream, limit)

    def health(self) -> dict[str, object]:
        """Return how the service is."""
        with self._lock:
            schedule = self._machine.schedule
            return {
                "status": "ok",
                "scheduler": self.name,
                "processors": self.processors,
                "in_use": schedule.in_use,
                "queued": len(schedule.queued),
                "running": len(schedule.running),
                "promises_broken": self._broken_before + len(schedule.broken),
            }

    @contextmanager
    def frozen(self) -> Iterator[Machine]:
        """Hold the schedule as it is now; the machine may be copied, not changed."""
        with self._present():
            yield self._machine

    # -------------------------------------------------------------------------------------------------- change

    def submit(self, wish: Wish) -> tuple[Job, bool]:
        """Accept a job or a reservation and promise its start; durable on return.

        Return the job and whether it is new: a client key that was used before returns that job.

        Raises
        ------
        BadInput, StalePlan
            As `S3.submit` and `S3.reserve`.
        Conflict
            The key was used for a different request.
        StoreFailed
            The store cannot be written; nothing was accepted.
        """
        with self._present():
            if wish.key is not None and (earlier := self._store.by_key(wish.key)) is not None:
                if earlier.wish != wish:
                    raise Conflict(
                        f"key {wish.key!r} was used for a different request, job {earlier.id}; use a new key"
                    )
                return self._jobs.get(earlier.id, earlier), False
            if wish.actuator == "process":
                command_of(Job(0, wish, 0, "queued", 0, 0, 0, 0), self._directory)  # refuse now what can never start
            start_by = wish.start_by
            if start_by is not None:
                # On a fast clock, many seconds pass while a request is on its way: grant one real second.
                start_by += max(0, int(self.clock.speed) - 1)
            if wish.kind == "reservation":
                if wish.start is None:
                    raise BadInput("start: a reservation needs one")
                entry = self._machine.reserve(wish.processors, wish.start, wish.walltime, start_by=start_by)
            else:
                run_time = wish.run_time if wish.actuator == "simulated" else None
                entry = self._machine.submit(
                    wish.processors, wish.walltime, run_time, not_before=wish.start, start_by=start_by
                )
            job = Job(
                entry.id, wish, entry.submitted, entry.state, entry.start, entry.promise, entry.promise, entry.end
            )
            self._jobs[job.id] = job
            self._write([])
            self._catch_up()  # a zero-length job has ended already
            return self._jobs.get(job.id, job), True

    def cancel(self, id: int) -> Job:
        """Take a job out of the schedule, ending it if it runs.

        A process is told to stop; its processors are free when it is gone. A job that has ended stays as it is.
        """
        with self._present():
            job = self._find(id)
            if not job.active:
                return job
            if job.state != "running":
                self._machine.schedule.cancel(id)
                self._write([self._leave(job, "cancelled")])
            elif job.wish.actuator == "process":
                self._runner.cancel(job)
            else:
                events = self._machine.end(id)
                job.state = "cancelled"
                self._write(self._apply(events))
            return job

    def accelerate(self, speed: float) -> None:
        """Let the clock run at another speed from now on."""
        with self._present():
            self.clock.accelerate(speed)
            self._remember_clock()

    def preload(self, jobs: list[tuple[str, Entry, int]], machine: Machine) -> None:
        """Take over a machine with simulated jobs as they stand: (name, entry, run time) of each, as one write.

        Raises
        ------
        Conflict
            The store holds jobs already.
        """
        with self._lock:
            if self._store.last_id():
                raise Conflict(f"{self._directory}: holds jobs already; preload a log into a fresh --state")
            self._machine = machine
            machine.schedule.lead = LEAD_SECONDS
            for name, entry, run_time in jobs:
                wish = Wish("job", name, entry.processors, entry.walltime, actuator="simulated", run_time=run_time)
                self._jobs[entry.id] = Job(
                    entry.id, wish, entry.submitted, entry.state, entry.start, entry.promise, entry.promise, entry.end
                )
            self._machine.schedule.take_changed()
            self._write(list(self._jobs.values()))

    # -------------------------------------------------------------------------------------------------- inside

    @contextmanager
    def _present(self) -> Iterator[None]:
        """Hold the lock, with the schedule brought up to now; wake the dispatcher at the end."""
        with self._wake:
            self._catch_up()
            yield
            self._wake.notify_all()

    def _find(self, id: int) -> Job:
        job = self._jobs.get(id) or (self._store.job(id) if 0 < id < 2**63 else None)
        if job is None:
            raise NotFound(f"there is no job {id}")
        return job

    def _catch_up(self) -> None:
        """Bring the schedule up to now: processes that ended, starts that fell due."""
        running = [j for j in self._jobs.values() if j.state == "running" and j.wish.actuator == "process"]
        events = self._machine.advance(self.clock.now(), self._runner.ended(running))
        gone = self._apply(events)
        if gone or events or self._machine.schedule.broken or self._ended_before:
            ended_before, self._ended_before = self._ended_before, []
            self._write(ended_before + gone)

    def _apply(self, events: list[Event]) -> list[Job]:
        """Take over what the schedule says has happened; return the jobs that have left it."""
        gone = []
        for event in events:
            if event.kind == "ended":
                job = self._jobs[event.id]
                if job.state == "running":  # simulated, or a reservation
                    short = job.wish.run_time is not None and job.wish.run_time > job.wish.walltime
                    job.state = "timeout" if short else "completed"
                gone.append(self._leave(job, job.state, event.time))
            else:
                self._jobs[event.id].state = "running"
        return gone

    def _leave(self, job: Job, state: JobState, time: int | None = None) -> Job:
        del self._jobs[job.id]
        self._machine.run_times.pop(job.id, None)
        job.state = state
        job.finished = self._machine.schedule.now if time is None else time
        return job

    def _write(self, gone: list[Job]) -> None:
        """Make the present schedule durable, then start the processes that are due."""
        schedule = self._machine.schedule
        changed: list[Job] = []
        begin: list[Job] = []
        for entry in schedule.take_changed():
            job = self._jobs[entry.id]
            if entry.state == "running" and job.wish.actuator == "process":
                begin.append(job)
            job.start, job.promise, job.due, job.state = entry.start, entry.promise, entry.end, entry.state
            changed.append(job)
        for broken in schedule.broken:
            late = broken.start - broken.promised
            log.warning("the promise to job %d could not be kept: %d s later than promised", broken.id, late)
            if broken.id in self._jobs:
                self._jobs[broken.id].message = f"promised for {broken.promised}, {late} s later now"
        self._broken_before += len(schedule.broken)
        schedule.broken.clear()
        meta = {"version": str(schedule.version), "broken": str(self._broken_before)}
        try:
            self._store.write(jobs=[*gone, *changed], meta=meta)
        except sqlite3.Error as error:
            self._read_back()
            raise StoreFailed(f"the store cannot be written ({error}); nothing was changed") from error
        for job in begin:
            self._runner.begin(job)

    def _read_back(self) -> None:
        """Make the memory equal to the store, as of now."""
        meta = self._store.meta()
        self._jobs: dict[int, Job] = {job.id: job for job in self._store.active()}
        self._broken_before = int(meta.get("broken", "0"))
        self._ended_before = []
        now = self.clock.now()
        self._machine = Machine(S3(self.processors, now, machine_code=available(), lead=LEAD_SECONDS))
        entries: list[Entry] = []
        run_times: dict[int, int] = {}
        for job in list(self._jobs.values()):
            wish = job.wish
            lasts = wish.walltime if wish.kind == "reservation" else wish.run_time
            if job.state == "running" and (end := self._ended_while_away(job, lasts, now)) is not None:
                self._ended_before.append(self._leave(job, job.state, end))
                continue
            if lasts is not None:
                run_times[job.id] = lasts
            entries.append(
                Entry(
                    job.id,
                    wish.processors,
                    wish.walltime,
                    job.submitted,
                    job.start,
                    job.promise,
                    cast(State, job.state),
                    job.due,
                    wish.start or 0,
                )
            )
        version, last_id = int(meta.get("version", "0")), self._store.last_id()
        self._machine.restore(entries, run_times, version=version, last_id=last_id)

    def _ended_while_away(self, job: Job, lasts: int | None, now: int) -> int | None:
        """Return when a running job ended while nobody looked, None if it still runs."""
        if lasts is not None:
            end = job.start + min(lasts, job.wish.walltime)
            if end > now:
                return None
            job.state = "timeout" if lasts > job.wish.walltime else "completed"
            return end
        ended = self._runner.end_of(job)
        return None if ended is None else min(now, ended)

    def _remember_clock(self) -> None:
        now = self.clock.now()
        self._store.write(
            meta={
                "processors": str(self.processors),
                "clock": f"{now} {self.clock.real_time(now)} {self.clock.speed}",
            }
        )
