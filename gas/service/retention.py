"""Deletes ended jobs after their retention time."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from gas.service.clock import Clock
from gas.service.grace import Grace
from gas.service.jobs import Job
from gas.service.runner import Runner
from gas.service.store import Store
from gas.times import duration_text, iso_time

__all__ = ["Retention"]

log = logging.getLogger("gas.s3")

PAUSE_SECONDS = 3600.0
"""Interval between deletions of ended jobs, in seconds."""

AT_ONCE = 500
"""Number of jobs deleted under one hold of the lock."""


class Retention:
    """Deletes ended jobs and their output a given time after their end.

    Parameters
    ----------
    keep
        Seconds on the scheduler's clock; None keeps everything.
    grace
        Returns the present grace for jobs that only a jump of the clock made old.
    lock
        Held while the store is used.
    """

    def __init__(
        self,
        keep: int | None,
        store: Store,
        runner: Runner,
        clock: Clock,
        grace: Callable[[], Grace],
        lock: AbstractContextManager[object],
    ) -> None:
        self._keep = keep
        self._grace = grace
        self._announced = Grace()
        self._store = store
        self._runner = runner
        self._clock = clock
        self._lock = lock
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Delete old jobs from now on, in a separate thread, because removing many files takes long."""
        if self._keep is not None:
            self._thread = threading.Thread(target=self._run, name="s3-retention", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop deleting; call it without holding the lock."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.delete_old()
            self._stopped.wait(PAUSE_SECONDS)

    def delete_old(self) -> None:
        """Delete the jobs that are old enough."""
        try:
            while old := self._old():
                # First the output, then the record of the job: an interrupted deletion is repeated.
                for job in old:
                    if self._stopped.is_set():
                        return
                    shutil.rmtree(self._runner.directory_of(job), ignore_errors=True)
                with self._lock:
                    self._store.remove([job.id for job in old])
                log.info("%d ended jobs deleted", len(old), extra={"event": "forgotten", "jobs": len(old)})
        except sqlite3.Error as error:
            log.error("ended jobs cannot be deleted: %s", error, extra={"event": "store_failed"})

    def _old(self) -> list[Job]:
        assert self._keep is not None, "started only where there is a rule"
        with self._lock:
            now, grace = self._clock.now(), self._grace()
            if grace != self._announced and grace.lasts(now, self._keep):
                until = iso_time(grace.until(self._keep))
                log.warning(
                    "the clock has jumped by %s: ended jobs that became too old by this are kept at least until %s",
                    duration_text(grace.jumped), until, extra={"event": "grace", "jumped_seconds": grace.jumped},
                )  # fmt: skip
            self._announced = grace
            return self._store.ended_before(grace.oldest(now, self._keep), AT_ONCE)
