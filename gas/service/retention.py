"""How long ended jobs are kept: the rule, and keeping to it."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
from contextlib import AbstractContextManager

from gas.service.clock import Clock
from gas.service.runner import Runner
from gas.service.store import Store

__all__ = ["Retention"]

log = logging.getLogger("gas.s3")

PAUSE_SECONDS = 3600.0
"""How often ended jobs that are old enough are forgotten."""

AT_ONCE = 500
"""How many of them under one hold of the lock."""


class Retention:
    """Forgets ended jobs, and what they wrote, so many seconds after their end.

    Parameters
    ----------
    keep
        Seconds on the scheduler's clock; None keeps everything.
    lock
        Held while the store is used.
    """

    def __init__(
        self, keep: int | None, store: Store, runner: Runner, clock: Clock, lock: AbstractContextManager[object]
    ) -> None:
        self._keep = keep
        self._store = store
        self._runner = runner
        self._clock = clock
        self._lock = lock
        self._next = time.monotonic()

    def stop(self) -> None:
        """Forget nothing more."""
        self._keep = None

    def keep_to(self) -> None:
        """Forget what is old enough, if it is time to look again; call it without holding the lock."""
        if self._keep is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PAUSE_SECONDS
        try:
            while old := self._old():
                # First what it wrote, then that it was: what is interrupted in between is found again.
                for id in old:
                    shutil.rmtree(self._runner.directory_of(id), ignore_errors=True)
                with self._lock:
                    self._store.remove(old)
                log.info("%d ended jobs forgotten", len(old), extra={"event": "forgotten", "jobs": len(old)})
        except sqlite3.Error as error:
            log.error("ended jobs cannot be forgotten: %s", error, extra={"event": "store_failed"})

    def _old(self) -> list[int]:
        with self._lock:
            if self._keep is None:
                return []
            return self._store.ended_before(self._clock.now() - self._keep, AT_ONCE)
