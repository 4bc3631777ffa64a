"""The lock of the service: it serves threads in the order of their arrival, and the dispatcher before all others.

Python's locks go to any waiting thread. Under load, a thread may then wait for seconds although each other thread holds
the lock for only milliseconds, and a due start would be late.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turnstile"]


class Turnstile:
    """A reentrant lock that serves threads in order."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()  # held for moments, for changes of the other fields
        self._holder: int | None = None
        self._depth = 0
        self._since = 0.0
        self.passed = 0  # number of threads that have passed so far
        self._queue: deque[tuple[int, threading.Lock]] = deque()

    def __enter__(self) -> None:
        """Acquire the lock when it is this thread's turn."""
        self._acquire(first=False)

    def __exit__(self, *error: object) -> None:
        """Release the lock to the next thread."""
        self._release()

    @contextmanager
    def first(self) -> Iterator[None]:
        """Acquire the lock before all waiting threads."""
        self._acquire(first=True)
        try:
            yield
        finally:
            self._release()

    @property
    def held_for(self) -> float:
        """Seconds for which the present holder has held it, 0 without a holder; does not block."""
        since, held = self._since, self._holder is not None
        return max(0.0, time.monotonic() - since) if held else 0.0

    def _acquire(self, *, first: bool) -> None:
        me = threading.get_ident()
        with self._mutex:
            if self._holder == me:
                self._depth += 1
                return
            if self._holder is None:
                self._give(me)
                return
            turn = threading.Lock()
            turn.acquire()
            (self._queue.appendleft if first else self._queue.append)((me, turn))
        try:
            turn.acquire()  # released by the previous holder, which has chosen this thread as the next
        except BaseException:  # a signal
            with self._mutex:
                if (me, turn) in self._queue:
                    self._queue.remove((me, turn))
                    raise
            self._release()
            raise

    def _release(self) -> None:
        with self._mutex:
            assert self._holder == threading.get_ident(), "only its holder lets the next one through"
            self._depth -= 1
            if self._depth:
                return
            self._holder = None
            if self._queue:
                next, turn = self._queue.popleft()
                self._give(next)
                turn.release()

    def _give(self, thread: int) -> None:
        self._holder, self._depth, self._since = thread, 1, time.monotonic()
        self.passed += 1
