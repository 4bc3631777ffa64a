"""What stands in the place of threading: tasks that wait in simulated time."""

from __future__ import annotations

import threading
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from simulated import kernel as machine
from simulated.kernel import Crashed, Task


def _waited(waiting: deque[Task], taken: Callable[[Task | None], bool], blocking: bool, timeout: float) -> bool:
    """Wait in a queue while a lock is taken; return whether it is free now."""
    task = machine.present.current
    if task is not None and task.process.dead:
        raise Crashed
    while taken(task):
        if not blocking or task is None:
            return False
        waiting.append(task)
        woken = task.block(timeout if timeout >= 0 else None)
        if task in waiting:
            waiting.remove(task)
        if not woken and timeout >= 0:
            return False
    return True


class Lock:
    """threading.Lock, which one thread may release for another."""

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[Task] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not _waited(self._waiting, lambda task: self._held, blocking, timeout):
            return False
        self._held = True
        return True

    def release(self) -> None:
        self._held = False
        if self._waiting:
            self._waiting.popleft().wake()

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock:
    """threading.RLock."""

    def __init__(self) -> None:
        self._owner: Task | None = None
        self._depth = 0
        self._waiting: deque[Task] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not _waited(self._waiting, lambda task: self._owner not in (None, task), blocking, timeout):
            return False
        self._owner = machine.present.current
        self._depth += 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            if self._waiting:
                self._waiting.popleft().wake()

    def locked(self) -> bool:
        return self._owner is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def give_up(self) -> int:
        depth, self._depth = self._depth, 1
        self.release()
        return depth

    def take_again(self, depth: int) -> None:
        self.acquire()
        self._depth = depth


class Condition:
    """threading.Condition."""

    def __init__(self, lock: Any = None) -> None:
        self._lock = lock if lock is not None else RLock()
        self._waiting: list[Task] = []
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> Any:
        return self._lock.__enter__()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        task = machine.present.current
        assert task is not None
        self._waiting.append(task)
        depth = self._lock.give_up()
        try:
            return task.block(timeout)
        finally:
            if task in self._waiting:
                self._waiting.remove(task)
            if not task.process.dead:
                self._lock.take_again(depth)
            else:
                self._lock._owner, self._lock._depth = task, depth

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        end = None if timeout is None else machine.present.monotonic() + timeout
        while not (result := predicate()):
            left = None if end is None else end - machine.present.monotonic()
            if left is not None and left <= 0:
                break
            self.wait(left)
        return result

    def notify(self, n: int = 1) -> None:
        for task in self._waiting[:n]:
            self._waiting.remove(task)
            task.wake()

    def notify_all(self) -> None:
        self.notify(len(self._waiting))


class Happening:
    """threading.Event."""

    def __init__(self) -> None:
        self._set = False
        self._waiting: list[Task] = []

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            task.wake()

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            assert machine.present.current is not None
            self._waiting.append(machine.present.current)
            machine.present.current.block(timeout)
        return self._set


class Thread:
    """threading.Thread."""

    def __init__(
        self, target: Any = None, name: str = "", args: Any = (), kwargs: Any = None, daemon: Any = None
    ) -> None:
        self._body = lambda: target(*args, **(kwargs or {}))
        self.name = name
        self._task: Task | None = None

    def start(self) -> None:
        self._task = Task(machine.present, machine.present.caller(), self._body, self.name)

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.ended

    def join(self, timeout: float | None = None) -> None:
        if self._task is not None and not self._task.ended:
            assert machine.present.current is not None
            self._task.waiters.append(machine.present.current)
            machine.present.current.block(timeout)


class Threading:
    """threading."""

    Lock, RLock = Lock, RLock
    Condition, Event, Thread = Condition, Happening, Thread
    TIMEOUT_MAX = threading.TIMEOUT_MAX

    def current_thread(self) -> Any:
        return types.SimpleNamespace(name=machine.present.current.name if machine.present.current else "main")

    def get_ident(self) -> int:
        return id(machine.present.current)
