"""The service on its machine: its lives, the requests to it, and what the kernel tells of it."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import sqlite3
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gas.errors import BadInput, GasError
from gas.service import live
from gas.service.classes import Classes
from gas.service.clock import STEP_SECONDS
from gas.service.limits import Limits
from simulated import calls, commands, database
from simulated.kernel import INIT, Crashed, Kernel, Process, Task
from simulated.oracle import Oracle
from simulated.sizes import Sizes

STATE = "/state"
DAY = 86400.0
CLASSES = Classes(("urgent", "normal", "low"), "normal", {"urgent": frozenset({"ann", "bob"})})

FAULTS: dict[str, bool] = {
    "kill": True,  # kill -9 of the service
    "power cut": True,
    "power cut at an operation": True,
    "kill at an operation": True,
    "stop": True,  # an orderly restart
    "failing sync": True,
    "failing write": True,
    "full disk": True,
    "no descriptors": True,
    "slow disk": True,
    "stall": True,  # SIGSTOP of the service
    "suspend": True,
    "clock step": True,
    "restart with another clock": True,
    "restored backup": True,
    "killed wrapper": True,
    "stopped wrapper": True,
    "slow wrapper": True,
    "late wrapper": True,  # kill -9 of the service with a wrapper made that comes up when the service does again
}
"""The kinds of faults, and which are put in unless a run says otherwise."""


MENDED: dict[str, bool] = {
    # A restore that is killed after it has put the store aside: the next one does not look there for numbers.
    "interrupted restore": True,
}
"""Faults of the service that runs have shown; False excuses what one that is not mended yet leads to."""


@dataclass
class Backup:
    """A copy of the store, and what it knows."""

    content: bytes
    known: dict[str, str]
    size: int
    accepting: bool


@dataclass
class DiskFaults:
    """What is wrong with the disk at present."""

    fails: dict[str, float] = field(default_factory=dict)  # kinds of operations that fail, with the end of the fault
    rate: float = 1.0
    full_until: float = -1.0
    slow_until: float = -1.0
    slow_seconds: float = 3.0
    crash_in: int | None = None
    crash_how: str = "power"
    crash_done: bool = False
    crash_kind: str = ""  # the kind of operation that counts; all of them if empty
    where: str = ""
    then_kill: bool = False  # the service is killed soon after a sync of its store has failed


class Service:
    """A machine with S³ on it.

    Parameters
    ----------
    seed
        Everything follows from it.
    operations
        What users, operators and faults do, in all.
    faults
        Which kinds of faults may occur.
    """

    def __init__(self, seed: int, operations: int = 200, faults: dict[str, bool] | None = None) -> None:
        self.seed, self.operations = seed, operations
        self.rng = rng = random.Random(seed)
        self.kernel = Kernel(seed)
        self.oracle = Oracle(lambda: self.kernel.now)
        self.trace: list[str] = []
        self.counts: Counter[str] = Counter()
        self.faults_done: Counter[str] = Counter()
        allowed = [name for name, on in {**FAULTS, **(faults or {})}.items() if on]
        # Swarm testing: each seed has some kinds of faults only, so that none hides another; some seeds have none.
        share = rng.choice([0.0, 0.2, 0.5, 0.8])
        self.enabled = [name for name in allowed if rng.random() < share]
        self.size = rng.randint(2, 8)
        self.oracle.sizes = Sizes(self.size)
        self.limits = Limits(max_queued=rng.choice([None, None, 10]))
        self.keep = rng.choice([None, 7 * int(DAY)])
        self.poll = rng.choice([0.05, 0.3, 0.3, 0.3, 0.3])
        self.gap = rng.choice([0.3, 1.0, 2.0])
        self.longest = rng.choice([3, 10, 30])
        self.disk = DiskFaults()
        self.process: Process | None = None
        self.scheduler: Any = None
        self.restarting = False
        self.mended = False  # for good
        self.backups: list[Backup] = []
        self.restoring: Backup | None = None
        self.restore_began = False
        self.tokens = 0
        self.next_comes_late = False  # of the wrappers that are made
        self.down_since = 0.0
        self.why_down = ""

    # ------------------------------------------------------------------------------------------------------ run

    def note(self, text: str) -> None:
        self.trace.append(f"{self.kernel.now:10.3f} {text}")

    # -------------------------------------------------------------------------------------------------- service

    def start_service(self) -> None:
        """Start the service; it is up a little later, unless something is in the way."""
        for connection in database.connections:
            connection.abandon()
        database.connections.clear()
        calls.fresh_process()
        self.restarting = False
        if self.restoring is not None:
            return self.restore(self.restoring)
        environment = {"PATH": "/bin", "HOME": "/home"}
        process = Process(self.kernel, INIT, ["gas", "serve"], environment)
        self.process = process
        process.on_death = lambda status: self.service_died(process)
        self.note("the service starts")

        def body() -> None:
            try:
                scheduler = self._scheduler()
                scheduler.start()
            except (GasError, OSError, sqlite3.Error) as error:
                self.why_down = f"{type(error).__name__}: {error}"
                self.note(f"the service cannot start: {self.why_down}")
                if not self.faults_done:
                    self.oracle.fail(f"the service cannot start: {error}")
                process.die(1)
                return
            self.scheduler = scheduler
            beside = scheduler.clock.now() - int(self.kernel.time())
            self.note(f"the service is up: {beside} s beside the wall clock")
            if abs(beside) > STEP_SECONDS:  # it follows once that has stood for a minute of its own life
                self.oracle.disturb(self.kernel.now + 90, runs=False)
            self.oracle.disturb(self.kernel.now + 3)
            began = self.kernel.now
            with contextlib.suppress(GasError):
                jobs = scheduler.jobs(ended=100_000)
                self.oracle.began = began
                self.oracle.account(jobs)

        Task(self.kernel, process, body, "main")
        return None

    def restore(self, backup: Backup) -> None:
        """Bring a backup back before the service starts."""
        raise NotImplementedError

    def _scheduler(self) -> live.LiveScheduler:
        place, options = calls.SimulatedPath(STATE), {"keep": self.keep, "limits": self.limits, "classes": CLASSES}
        try:
            return live.LiveScheduler("s3", None, place, **options)
        except BadInput:  # a new store
            return live.LiveScheduler("s3", self.size, place, **options)

    def service_died(self, process: Process) -> None:
        """Note the end of the service, and have it started again by and by."""
        if self.process is not process:
            return
        self.process = self.scheduler = None
        self.oracle.sizes.service_died()
        self.oracle.accepting.service_died()
        self.oracle.disturb(self.kernel.now + 5)
        if not self.restarting:
            self.restarting = True
            pause = self.rng.choice([0.1, 0.5, 2.0, 5.0, 30.0])
            self.kernel.at(self.kernel.now + pause, self._restart)

    def _restart(self) -> None:
        if self.process is None and self.restarting:
            self.oracle.disturb(self.kernel.now + 5)
            self.start_service()

    def request(self, name: str, call: Callable[[Any], Any], then: Callable[[Any], None]) -> bool:
        """Have a client ask; `then` gets the answer, or the error that is one. Return whether the service was there."""
        scheduler, process = self.scheduler, self.process
        if scheduler is None or process is None:
            return False

        began = self.kernel.now

        def body() -> None:
            try:
                answer = call(scheduler)
            except GasError as error:
                answer = error
            self.oracle.began = began
            then(answer)

        self.counts["requests"] += 1
        Task(self.kernel, process, body, name)
        return True

    def unforeseen(self, task: Task, error: BaseException) -> None:
        if task.process.dead:
            return  # it had no more to say
        if isinstance(error, Exception):
            where = "".join(traceback.format_exception(error)[-4:])
            self.oracle.fail(f"an error that was not foreseen in {task.name}: {type(error).__name__}: {error}\n{where}")
        else:
            raise error

    # --------------------------------------------------------------------------------------------------- kernel

    def command_began(self, process: Process, token: str) -> None:
        environment = process.environment
        names = ("GAS_JOB_ID", "GAS_PROCESSORS", "GAS_WALLTIME")
        id, processors, walltime = (int(environment[name]) for name in names)
        self.note(f"{token} is executed as job {id} on {processors}")
        self.counts["executions"] += 1
        other, clock = 0, None
        if self.scheduler is not None and self.process is not None and not self.process.stopped:
            clock = self.scheduler.clock.now()
            if not self.oracle.clock_moved:
                running = [j for j in self.scheduler._book.jobs.values() if j.state == "running"]
                other = sum(j.request.processors for j in running if j.request.actuator != "process")
        if self.scheduler is not None:
            job = self.scheduler._book.jobs.get(id)
            if job is not None and job.state == "queued" and job.request.name == token:
                self.oracle.fail(f"{token} (job {id}) is executed while it waits, promised {job.promise}")
        process.on_death = lambda status: self.oracle.command_ended(token, status)
        self.oracle.executes(token, id, processors, walltime, other, clock)
        if process.arguments[4] in commands.HOSTILE:  # which then cannot end it
            self.oracle.disturb(self.kernel.now + walltime + 10)

    def process_ended(self, process: Process) -> None:
        token = process.tag
        if token is not None and not any(p.tag == token for p in self.kernel.living()):
            if token in self.oracle.executing:
                self.note(f"{token} is gone")
            self.oracle.ends(token)

    def wrapper_began(self, directory: str) -> tuple[float, float]:
        if self.next_comes_late:
            self.next_comes_late = False
            return self.comes_late(directory), 0.0
        if "slow wrapper" in self.enabled and self.rng.random() < 0.05:
            self.faults_done["slow wrapper"] += 1
            self.oracle.outages += 1
            pause = self.rng.choice([1.0, 4.0, 15.0])
            self.oracle.disturb(self.kernel.now + pause + 5)
            return (pause, 0.0) if self.rng.random() < 0.5 else (0.0, pause)
        return 0.0, self.rng.choice([0.0, 0.02, 0.05])

    def comes_late(self, directory: str) -> float:
        """Return for how long the wrapper of a job, which is made at present, cannot be seen."""
        raise NotImplementedError

    def watch(self, kind: str, path: str, done: bool) -> None:
        """Put in what is wrong with the disk, and count down to a crash."""
        disk, kernel = self.disk, self.kernel
        if disk.crash_in is not None and disk.crash_kind in ("", kind):
            if not done:
                disk.crash_in -= 1
            if disk.crash_in < 0 and done == disk.crash_done:
                disk.crash_in = None
                self.note(f"at {kind} of {path}, {'after' if done else 'before'} it:")
                self.counts[f"crash at {kind}"] += 1
                self.crash(disk.crash_how)
                if kernel.current is None or kernel.current.process.dead:
                    raise Crashed
        if done:
            return
        if disk.full_until > kernel.now and kind in ("create", "mkdir", "write"):
            self.counts["refused operations"] += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if disk.fails.get(kind, -1.0) > kernel.now and disk.where in path and self.rng.random() < disk.rate:
            self.counts["refused operations"] += 1
            if disk.then_kill and kind == "fsync" and "s3.sqlite" in path:
                disk.then_kill = False
                kernel.at(kernel.now + self.rng.choice([0.05, 0.3, 2.0]), self.kill_service)
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        if disk.slow_until > kernel.now and kind == "fsync" and kernel.current is not None:
            kernel.sleep(disk.slow_seconds * self.rng.random())

    def crash(self, how: str) -> None:
        """Cut the power, or kill the service."""
        if how == "power":
            self.cut_power()
        elif self.process is not None:
            self.kill_service()

    def cut_power(self) -> None:
        how = self.rng.choice(["all", "all", "some", "some", "moment", "none"])
        self.note(f"the power is cut; of what was not synced, {how} is lost" if how != "moment" else "the power is cut")
        self.oracle.outages += 1
        self.oracle.disturb(self.kernel.now + 40)
        process = self.process
        for asked in self.oracle.asked.values():
            if asked.pending:
                asked.pending, asked.maybe = 0, True
            asked.reshaping = False
        self.disk.crash_in = None
        self.kernel.lose_power(how)
        if process is not None:
            self.service_died(process)

    def kill_service(self) -> None:
        if self.process is not None:
            self.note("kill -9 of the service")
            self.oracle.outages += 1
            for asked in self.oracle.asked.values():
                if asked.pending:
                    asked.pending, asked.maybe = 0, True
                asked.reshaping = False
            self.oracle.disturb(self.kernel.now + 40)
            self.process.die(-signal.SIGKILL)
