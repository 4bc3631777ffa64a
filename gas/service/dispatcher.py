"""The dispatcher brings the book up to date, for each operation and, in its own thread, between operations."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gas.errors import StoreFailed, outcome_of
from gas.service.book import Book
from gas.service.rows import DamagedRow
from gas.service.runner import POLL_SECONDS
from gas.service.turnstile import Turnstile

__all__ = ["Dispatcher"]

log = logging.getLogger("gas.s3")

SLOW_SECONDS = 1.0
"""Limit of the dispatcher's delay, and of the length of one operation, above which the service is degraded."""

REST_FACTOR = 4.0
"""While requests come in, the dispatcher pauses this many times as long as it has spent on promotion."""

UNFINISHED_SECONDS = 60.0
"""Seconds of unfinished promotion after which the service is degraded."""

LOOK_SECONDS = 5.0
"""Longest wait of the dispatcher: a wait does not count the time a machine is suspended, nor end at a clock step."""


class Dispatcher:
    """Starts due jobs, and continues promotion where patience ended.

    Parameters
    ----------
    lock
        Held by every operation on the book; the dispatcher gets it before all waiting threads.
    """

    def __init__(self, book: Book, lock: Turnstile) -> None:
        self._book = book
        self._lock = lock
        self._woken = threading.Event()
        self._sleeps_until = 0.0
        self._unfinished_since: float | None = None
        self._passed = 0  # count of the lock when promotion was last continued
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start due jobs from now on, in a thread."""
        self._sleeps_until = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="s3-dispatcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Start no more jobs."""
        self._stopping = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join()

    @contextmanager
    def present(self, *, changes: bool = False) -> Iterator[None]:
        """Hold the lock, with the schedule brought up to now; after a change, wake the dispatcher in time."""
        with self._lock:
            turns = self._book.clock.turns
            try:
                self._book.catch_up()
                yield
            except StoreFailed:
                self._woken.set()  # the dispatcher tries again until the store can be written
                raise
            except DamagedRow:  # of one ended job, which affects no other
                raise
            except sqlite3.Error as error:
                raise StoreFailed(f"the store cannot be read ({error}); nothing was changed") from error
            except Exception as error:
                if outcome_of(error) is None:  # unexpected, so the memory may be inconsistent
                    self._book.distrust()
                raise
            changes = changes or self._book.clock.turns != turns
            if changes and time.monotonic() + self._seconds_to_wait() < self._sleeps_until:
                self._woken.set()

    def slowness(self) -> str | None:
        """Return the reason if the service is slow; None if it is not."""
        held, late = self._lock.held_for, time.monotonic() - self._sleeps_until
        if held > SLOW_SECONDS:
            return f"an operation has taken {held:.0f} s so far and blocks all others"
        if self._thread is not None and late > SLOW_SECONDS:
            return f"the dispatcher is {late:.0f} s late; jobs may start later than promised"
        since = self._unfinished_since
        if since is not None and time.monotonic() - since > UNFINISHED_SECONDS:
            return (
                f"moving waiting jobs to earlier starts has taken {time.monotonic() - since:.0f} s so far and is not "
                "finished; promises are kept, but new jobs may be placed before waiting ones"
            )
        return None

    def _run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            with self._lock.first():  # due jobs start before any request is answered
                pause = self._attend()
            if self._book.machine.schedule.unfinished and pause == 0:
                pause = self._go_on()
            self._woken.wait(pause)

    def _attend(self) -> float:
        """Start due jobs; return the seconds until the next one."""
        try:
            if self._book.problem is not None:
                self._book.remember()
            self._book.catch_up()
            pause = self._seconds_to_wait()
        except StoreFailed:
            pause = 1.0
        except Exception:  # even so, all jobs that can start must start
            log.exception("internal error; trying again")
            pause = 1.0
        self._sleeps_until = time.monotonic() + pause
        return pause

    def _go_on(self) -> float:
        """Continue promotion for a moment, after all waiting requests; return the pause for other threads."""
        began = time.monotonic()
        try:
            with self.present():
                began = time.monotonic()
                others = self._lock.passed - self._passed - 2  # the dispatcher has passed twice itself
                self._passed = self._lock.passed
                self._book.go_on()
        except StoreFailed:
            return 1.0
        except Exception:
            log.exception("internal error; trying again")
            return 1.0
        return (time.monotonic() - began) * (REST_FACTOR if others > 0 else 0.5)

    def _seconds_to_wait(self) -> float:
        following = self._book.next_instant()
        unfinished = self._book.machine.schedule.unfinished
        if not unfinished:
            self._unfinished_since = None
        elif self._unfinished_since is None:
            self._unfinished_since = time.monotonic()
        waits = [0.0 if unfinished else LOOK_SECONDS]
        if following is not None:
            waits.append(max(0.001, self._book.clock.seconds_until(following)))
        if self._book.processes:
            waits.append(POLL_SECONDS)
        if self._book.problem is not None:
            waits.append(1.0)  # the store is tried again
        return min(waits)
