"""A bounded record of changes for clients that follow the schedule, each at its own pace.

The scheduler appends a change once it is durable, and never waits for a reader. A reader too far behind is notified
and reads everything again.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gas.service.jobs import Job

__all__ = ["Change", "Feed"]

ROOM = 20_000
"""Number of changes that are kept for returning readers."""


@dataclass(frozen=True, slots=True)
class Change:
    """A job after a change or, without a job, the machine after a change."""

    number: int
    job: Job | None
    machine: dict[str, Any] | None = None


class Feed:
    """The latest changes, numbered from 1; safe to use from several threads.

    Attributes
    ----------
    life
        Identifies this run of the service: positions are valid within one run.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.life = os.urandom(4).hex()
        self._changes: deque[Change] = deque(maxlen=room)
        self._last = 0
        self._lock = threading.Lock()
        self._readers: set[Callable[[], None]] = set()
        self.closed = False

    @property
    def last(self) -> int:
        """The number of the latest change."""
        return self._last

    def append(self, jobs: list[Job], machine: dict[str, Any]) -> None:
        """Record copies of changed jobs, then the machine; those without room count as missed."""
        with self._lock:
            if len(jobs) >= (self._changes.maxlen or 0):
                self._changes.clear()
                self._last += len(jobs)
            else:
                for job in jobs:
                    self._last += 1
                    self._changes.append(Change(self._last, job.snapshot()))
            self._last += 1
            self._changes.append(Change(self._last, None, machine))
            readers = list(self._readers)
        _wake(readers)

    def since(self, number: int, most: int | None = None) -> list[Change] | None:
        """Return the changes after a given one, oldest first, up to a limit.

        None means that some are no longer on record, or that the number was never given.
        """
        with self._lock:
            if number == self._last:
                return []
            kept = len(self._changes)
            wanted = self._last - number
            if not 0 < wanted <= kept:
                return None
            latest = list(islice(reversed(self._changes), wanted))  # from the end: most readers are nearly there
            latest.reverse()
            return latest if most is None else latest[:most]

    @property
    def readers(self) -> int:
        """Number of readers."""
        return len(self._readers)

    def follow(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each change, from any thread."""
        with self._lock:
            self._readers.add(wake)

    def unfollow(self, wake: Callable[[], None]) -> None:
        """Stop calling `wake`."""
        with self._lock:
            self._readers.discard(wake)

    def close(self) -> None:
        """Close the feed, and end every reader."""
        with self._lock:
            self.closed = True
            readers = list(self._readers)
        _wake(readers)


def _wake(readers: list[Callable[[], None]]) -> None:
    for wake in readers:
        with suppress(RuntimeError):  # its event loop has closed meanwhile
            wake()
