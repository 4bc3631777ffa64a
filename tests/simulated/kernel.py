"""Simulated time, tasks (greenlets that wait), processes and signals.

One task runs at a time and goes on until it waits; what comes next is decided by time, then by order of asking. So a
run is one sequence, equal in each repetition. A process that dies raises `Crashed` in all its tasks: each of its
system calls does so from then on.
"""

from __future__ import annotations

import heapq
import random
import signal
from collections.abc import Callable
from typing import Any

from greenlet import greenlet

from simulated.descriptors import Open
from simulated.disk import Disk

INIT = 1
TICKS = 100  # a second


MOST_AT_ONCE = 50_000


class Endless(AssertionError):
    """Time stands still."""


class Crashed(BaseException):
    """The process is dead."""


class Event:
    """Something that happens at an instant, unless `action` is taken away."""

    __slots__ = ("action", "order", "when")

    def __init__(self, when: float, order: int, action: Callable[[], None]) -> None:
        self.when, self.order = when, order
        self.action: Callable[[], None] | None = action

    def __lt__(self, other: Event) -> bool:
        return (self.when, self.order) < (other.when, other.order)


class Task:
    """A thread of a process."""

    def __init__(self, kernel: Kernel, process: Process, body: Callable[[], object], name: str) -> None:
        self.kernel, self.process, self.name = kernel, process, name
        self._body = body
        self._event: Event | None = None
        self._woken = False
        self.ended = False
        self.waiters: list[Task] = []  # who joins it
        self.held = 0.0  # its watch: no task may go on for ever without time passing
        self.greenlet = greenlet(self._run, kernel.hub)
        process.tasks.append(self)
        self._event = kernel.at(kernel.now, self._resume)

    def _run(self) -> None:
        try:
            if not self.process.dead:
                self._body()
        except Crashed:
            pass
        except BaseException as error:
            self.kernel.unforeseen(self, error)
        finally:
            self.ended = True
            if self in self.process.tasks:
                self.process.tasks.remove(self)
            for each in self.waiters:
                each.wake()

    def _resume(self) -> None:
        if self.ended:
            return
        if self.process.stopped and not self.process.dead:
            self.process.deferred.append(self._resume)
            return
        self._event = None
        self.kernel.current = self
        try:
            self.greenlet.switch()
        finally:
            self.kernel.current = None

    def reap(self) -> None:
        """Unwind it, its process being dead."""
        if not self.ended:
            self._drop()
            self._resume()

    def _drop(self) -> None:
        if self._event is not None:
            self._event.action = None
            self._event = None

    def block(self, seconds: float | None) -> bool:
        """Wait to be woken, at most so long; return whether it was."""
        if self.process.dead:
            raise Crashed
        self._woken = False
        if seconds is not None:
            self._event = self.kernel.at(self.kernel.now + max(1e-6, seconds), self._resume)
        self.greenlet.parent.switch()
        if self.process.dead:
            raise Crashed
        return self._woken

    def wake(self) -> None:
        if not self._woken and not self.ended:
            self._drop()
            self._woken = True
            self._event = self.kernel.at(self.kernel.now, self._resume)


class Process:
    """A line of the process table.

    Attributes
    ----------
    behaviour
        What it does with a signal, for what is no Python: called with the number, returns whether it is caught.
    tag
        Which job it belongs to; descendants inherit it.
    """

    def __init__(self, kernel: Kernel, parent: int, arguments: list[str], environment: dict[str, str]) -> None:
        self.kernel = kernel
        self.pid = kernel.next_pid()
        self.parent = parent
        self.arguments, self.environment = arguments, environment
        self.group = self.session = self.pid
        self.ticks = int((kernel.now - kernel.booted) * TICKS)
        self.tasks: list[Task] = []
        self.dead = False
        self.zombie = False
        self.stopped = False
        self.deferred: list[Callable[[], None]] = []
        self.status = 0
        self.blocked: frozenset[int] = frozenset()
        self.pending: list[int] = []
        self.awaiting: tuple[Task, frozenset[int]] | None = None
        self.behaviour: Callable[[int], bool] | None = None
        self.death_signal = 0
        self.subreaper = False
        self.directory = "/"
        self.files: dict[int, Open] = {}
        self.tag: Any = None
        self.on_death: Callable[[int], None] | None = None
        kernel.processes[self.pid] = self

    def inherit(self, other: Process) -> None:
        """Become what fork makes of a process."""
        self.group, self.session, self.directory = other.group, other.session, other.directory
        self.blocked, self.tag = other.blocked, other.tag
        self.files = dict(other.files)
        for each in self.files.values():
            each.references += 1

    def descriptor(self, file: Open) -> int:
        number = 3
        while number in self.files:
            number += 1
        self.files[number] = file
        return number

    def close_files(self, above: int = -1) -> None:
        for number in [n for n in self.files if n > above]:
            self.files.pop(number).release()

    @property
    def state(self) -> str:
        return "Z" if self.zombie else "T" if self.stopped else "S"

    # -------------------------------------------------------------------------------------------------- signals

    def signal(self, number: int) -> None:
        if self.dead:
            return
        if number == signal.SIGKILL:
            self.die(-number)
        elif number == signal.SIGSTOP:
            self.stopped = True
        elif number == 0:
            pass
        else:
            if number == signal.SIGCONT and self.stopped:
                self.resume()
            if number in self.blocked:
                if number not in self.pending:
                    self.pending.append(number)
                if self.awaiting is not None and number in self.awaiting[1]:
                    self.awaiting[0].wake()
            elif number in (signal.SIGCHLD, signal.SIGCONT) or (self.behaviour is not None and self.behaviour(number)):
                pass
            else:
                self.die(-number)

    def resume(self) -> None:
        """Let it go on after a stop."""
        self.stopped = False
        deferred, self.deferred = self.deferred, []
        for each in deferred:
            self.kernel.at(self.kernel.now, each)

    def die(self, status: int) -> None:
        """End it: an exit status, or minus a signal's number."""
        if self.dead:
            return
        kernel = self.kernel
        self.dead, self.status, self.zombie = True, status, True
        self.close_files()
        if self.on_death is not None:
            self.on_death(status)
        reaper = self._reaper()
        for child in [p for p in kernel.processes.values() if p.parent == self.pid]:
            child.parent = reaper
            if child.zombie and reaper == INIT:
                kernel.processes.pop(child.pid, None)
            if child.death_signal and not child.dead:
                child.signal(child.death_signal)
        parent = kernel.processes.get(self.parent)
        if parent is None or parent.dead:
            kernel.processes.pop(self.pid, None)
        else:
            parent.signal(signal.SIGCHLD)
        current = kernel.current
        for task in list(self.tasks):
            if task is not current:
                kernel.at(kernel.now, task.reap)
        kernel.changed(self)

    def _reaper(self) -> int:
        each = self.kernel.processes.get(self.parent)
        while each is not None and not each.dead:
            if each.subreaper:
                return each.pid
            each = self.kernel.processes.get(each.parent)
        return INIT


class Kernel:
    """The machine: its time, its processes and its disk."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0  # true seconds
        self.booted = -5000.0
        self.suspended = 0.0  # seconds since boot
        self.wall = 1_800_000_000.0  # what the wall clock shows at true 0
        self.disk = Disk(random.Random(self.rng.random()))
        self.hub = greenlet.getcurrent()
        self.current: Task | None = None
        self.events: list[Event] = []
        self._order = 0
        self._pids = 300
        self.processes: dict[int, Process] = {}
        self.boots = 0
        self.boot_id = ""
        self.failures: list[str] = []
        self.changed: Callable[[Process], None] = lambda process: None
        self.began: Callable[[Process, str], None] = lambda process, token: None  # a job's command is executed
        # returns for how long the wrapper of a job's directory cannot be seen, and how long it takes to come up then
        self.wrapper_began: Callable[[str], tuple[float, float]] = lambda directory: (0.0, 0.0)
        self.unforeseen: Callable[[Task, BaseException], None] = self._unforeseen
        self.descriptors_exhausted = False
        self.boot()

    def _unforeseen(self, task: Task, error: BaseException) -> None:
        raise error

    # ----------------------------------------------------------------------------------------------------- time

    def at(self, when: float, action: Callable[[], None]) -> Event:
        self._order += 1
        event = Event(when, self._order, action)
        heapq.heappush(self.events, event)
        return event

    def run(self, until: float) -> None:
        """Let time pass."""
        events = self.events
        at_once = 0
        while events and events[0].when <= until:
            event = heapq.heappop(events)
            if event.action is not None:
                at_once = 0 if event.when > self.now else at_once + 1
                if at_once > MOST_AT_ONCE:
                    raise Endless(f"{at_once} things happen at {self.now}, and time stands still: {event.action}")
                self.now = max(self.now, event.when)
                event.action()
        self.now = max(self.now, until)

    def sleep(self, seconds: float) -> None:
        """Have the present task wait."""
        task = self.current
        if task is not None:
            task.block(seconds)

    def suspend(self, seconds: float) -> None:
        """Have the whole machine asleep for a while."""
        self.now += seconds
        self.suspended += seconds
        for event in self.events:
            event.when += seconds

    def time(self) -> float:
        return self.wall + self.now

    def monotonic(self) -> float:
        return self.now - self.booted - self.suspended

    def boottime(self) -> float:
        return self.now - self.booted

    # ------------------------------------------------------------------------------------------------ processes

    def next_pid(self) -> int:
        self._pids += 1
        while self._pids in self.processes:
            self._pids += 1
        return self._pids

    def caller(self) -> Process:
        """Return the process that makes a system call."""
        assert self.current is not None, "a system call outside of any process"
        process = self.current.process
        if process.dead:
            raise Crashed
        return process

    def boot(self) -> None:
        """Start the machine: no process, pids and ticks from the beginning."""
        self.boots += 1
        self.boot_id = f"{self.rng.getrandbits(64):016x}"
        self._pids = 300
        self.suspended = 0.0
        if self.boots > 1:
            self.booted = self.now
        self.processes = {}
        init = Process(self, 0, ["init"], {})
        del self.processes[init.pid]
        init.pid = init.group = init.session = INIT
        self._pids = 300
        self.processes[INIT] = init

    def lose_power(self, how: str) -> None:
        """End everything at once, and forget what the disk has not synced."""
        current = self.current
        for process in list(self.processes.values()):
            process.dead = True
            process.on_death = None
            for task in list(process.tasks):
                if task is not current:
                    self.at(self.now, task.reap)
        gone, self.processes = list(self.processes.values()), {}
        for process in gone:
            self.changed(process)
        self.disk.lose_power(how)
        self.boot()

    def living(self) -> list[Process]:
        return [p for p in self.processes.values() if not p.dead]


present: Kernel
"""The machine of the present run."""
