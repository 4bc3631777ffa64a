"""What has changed, for those who follow: a bounded record of changes that readers go through at their own pace.

The scheduler appends after a change is durable and never waits for a reader; one who falls too far behind is notified
and reads everything anew.
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
"""How many changes are kept for readers that come back."""


@dataclass(frozen=True, slots=True)
class Change:
    """A job as it became, or (without one) the machine as it became."""

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
        """Record copies of jobs as they became, then the machine; more than there is room for count as missed."""
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
        """Return what came after a change, oldest first, at most so many.

        None says that some of it is no longer on record, or that the number was never given.
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
        """How many follow."""
        return len(self._readers)

    def follow(self, wake: Callable[[], None]) -> None:
        """Call `wake`, from any thread, whenever there is something new."""
        with self._lock:
            self._readers.add(wake)

    def unfollow(self, wake: Callable[[], None]) -> None:
        """Stop calling `wake`."""
        with self._lock:
            self._readers.discard(wake)

    def close(self) -> None:
        """Close the feed: every reader gets its end."""
        with self._lock:
            self.closed = True
            readers = list(self._readers)
        _wake(readers)


def _wake(readers: list[Callable[[], None]]) -> None:
    for wake in readers:
        with suppress(RuntimeError):  # its event loop has closed meanwhile
            wake()
