"""The predictions of the service and their outcomes: a `gas.prediction.ledger`, kept in a file next to the store.

The scheduler is not involved. Starts are read from the feed of changes, as by a client, and a separate thread writes
the file, at most every `SAVE_SECONDS`: a service that is killed loses some predictions, and a hanging disk delays no
request. After a restart, the outcomes of open predictions are looked up in the store.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from documents.whole_file import whole_file
from gas.errors import GasError
from gas.service.feed import Feed
from gas.service.jobs import Job

if TYPE_CHECKING:  # a service without predictions does not need it
    import numpy as np
    from numpy.typing import NDArray

    from gas.endpoints.ledger_file import LedgerFile
    from gas.prediction.ledger import Ledger, Made

__all__ = ["FILE", "SAVE_SECONDS", "KeptLedger", "put_back", "put_in", "taken_out"]

FILE = "predictions.json"
"""The name of the file in the state directory."""

SAVE_SECONDS = 10.0
"""Least seconds between two writes."""

LOOK_SECONDS = 1.0
"""Seconds between two looks at the feed."""

STOP_SECONDS = 5.0
"""Seconds for which a stopping service waits for the file to be written."""

BATCH = 1_000
"""Number of changes read at a time."""

log = logging.getLogger("gas.s3")


class KeptLedger:
    """The ledger of one scheduler; safe to use from several threads.

    Parameters
    ----------
    directory
        The directory of its file.
    feed
        The feed of the scheduler's changes.
    find
        Returns a job of any age, or raises a `GasError`; called by the thread that reads the feed or predicts.

    Attributes
    ----------
    coverage
        As JSON, the coverage of the last intervals (`gas.prediction.ledger.Coverage.to_wire`); None until the file has
        been read.
    """

    def __init__(self, directory: Path, feed: Feed, find: Callable[[int], Job]) -> None:
        self._path, self._feed, self._find = directory / FILE, feed, find
        self._mutex = threading.Lock()
        self._opened: tuple[LedgerFile, Ledger] | None = None
        self._seen = 0  # position in the feed
        self._changed = False  # since it was written
        self._settled = False  # a job has started since the coverage was counted
        self.coverage: dict[str, Any] | None = None
        self._said: set[str] = set()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    # ---------------------------------------------------------------------------------------------------- life

    def start(self) -> None:
        """Read the file, then follow the feed, in a thread."""
        self._thread = threading.Thread(target=self._run, name="s3-ledger", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what has changed, and stop; call it without holding what `find` needs."""
        self._stopped.set()
        if self._thread is None:
            self._finish()
        else:
            self._thread.join(STOP_SECONDS)  # only a hanging disk takes longer

    def _run(self) -> None:
        written = time.monotonic()
        while not self._stopped.is_set():
            self._guarded(self.settle)
            if time.monotonic() - written >= SAVE_SECONDS:
                self._guarded(self.save)
                written = time.monotonic()
            self._stopped.wait(LOOK_SECONDS)
        self._finish()

    def _finish(self) -> None:
        if self._opened is not None:
            self._guarded(self.settle)
            self._guarded(self.save)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            self._say(f"the ledger of predictions: {type(error).__name__}: {error}", exc_info=True)

    # ------------------------------------------------------------------------------------------------ predict

    @property
    def position(self) -> int:
        """Position in the feed of changes."""
        return self._feed.last

    def predict(self, now: int, waits: NDArray[np.int64], latest: int) -> Made:
        """Return a prediction, corrected by past outcomes (`Ledger.predict`); never later than `latest`."""
        from dataclasses import replace

        with self._mutex:
            made = self._ledger.predict(now, waits, latest)
        return replace(made, low=min(made.low, latest), high=min(made.high, latest))

    def note(self, made: Mapping[int, Made], position: int) -> None:
        """Record the predictions of jobs, by number.

        Parameters
        ----------
        position
            Position in the feed before the schedule was read: later starts count.
        """
        with self._mutex:
            for id, one in made.items():
                self._ledger.predicted(str(id), one)
            self._seen = min(self._seen, position)  # reading changes again has no effect
            self._changed = self._changed or bool(made)
        self.settle()

    # ------------------------------------------------------------------------------------------------- settle

    def settle(self) -> None:
        """Record the starts since the last call."""
        with self._mutex:
            self._ledger  # noqa: B018 -- read before the position: what it holds is looked up once
        while True:
            with self._mutex:
                changes = self._feed.since(self._seen, BATCH)
                if changes is not None:
                    for change in changes:
                        self._take(change.job)
                        self._seen = change.number
            if changes is None:
                self._look_up()
            elif not changes:
                break
        with self._mutex:
            if self._settled or self.coverage is None:
                self._settled, self.coverage = False, self._ledger.coverage().to_wire()

    def _look_up(self) -> None:
        """Look up all jobs without an outcome: some changes were missed."""
        with self._mutex:
            before, open = self._seen, list(self._ledger.open)
            self._seen = self._feed.last  # what another thread notes meanwhile is read from its own position on
        try:
            for who in open:
                try:
                    job = self._find(int(who))
                except (GasError, ValueError):  # it was deleted, or the store is a different one
                    job = None
                with self._mutex:
                    self._changed = True
                    if job is None:
                        self._ledger.withdrawn(who)
                    else:
                        self._take(job)
        except BaseException:
            with self._mutex:
                self._seen = min(self._seen, before)  # all are looked up again
            raise

    def _take(self, job: Job | None) -> None:
        """Record the state of a job; the caller holds the mutex."""
        made = None if job is None else self._ledger.open.get(str(job.id))
        if job is None or made is None:
            return
        who, start = str(job.id), job.started
        # A job of another epoch of the store with this number, or one with another shape since, is a different job.
        another = job.submitted > made.now or (job.reshaped is not None and job.reshaped > made.now)
        if another or (start is None and not job.active):
            self._ledger.withdrawn(who)
        elif start is not None:
            start = max(start, made.now)
            self._ledger.started(who, start)
            self._ledger.learn(start + 1)
            self._settled = True
        else:
            return
        self._changed = True

    # ---------------------------------------------------------------------------------------------------- file

    def save(self) -> None:
        """Write the file if anything has changed, without waiting for the disk."""
        with self._mutex:
            if not self._changed or self._opened is None:
                return
            self._changed = False
            file, ledger = self._opened
            wire = ledger.to_wire()
        if not file.write(wire):  # the next time there may be space
            with self._mutex:
                self._changed = True

    @property
    def _ledger(self) -> Ledger:
        """The ledger, read when it is first needed; the caller holds the mutex."""
        if self._opened is None:
            from gas.endpoints.ledger_file import LedgerFile

            file = LedgerFile(self._path, "s3", self._say)
            self._opened = file, file.read(set_aside=True)
            self._seen = -1 if self._opened[1].open else self._feed.last  # a number that was never given
        return self._opened[1]

    def _say(self, text: str, *, exc_info: bool = False) -> None:
        """Log an error, once: repetitions carry no news."""
        if text not in self._said:
            self._said.add(text)
            log.warning("%s", text, exc_info=exc_info, extra={"event": "ledger"})


# ----------------------------------------------------------------------------------------------------------- backups


def put_in(copy: sqlite3.Connection, state: Path) -> None:
    """Write the ledger of a state directory into a backup, in its own table; nothing if there is none."""
    with suppress(FileNotFoundError):
        content = (state / FILE).read_bytes()
        copy.execute("CREATE TABLE beside (name TEXT PRIMARY KEY, content BLOB NOT NULL)")
        copy.execute("INSERT INTO beside VALUES (?, ?)", (FILE, content))


def taken_out(path: Path) -> bytes | None:
    """Extract the ledger of predictions from a copy of a backup; None if it has none."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'beside'").fetchone() is None:
            return None
        row = database.execute("SELECT content FROM beside WHERE name = ?", (FILE,)).fetchone()
        database.execute("DROP TABLE beside")
    return None if row is None else bytes(row[0])


def put_back(predictions: bytes | None, state: Path, aside: Path | None) -> None:
    """Write the ledger of a backup; the present one is put aside."""
    if predictions is not None:
        path = state / FILE
        if aside is not None and path.exists():
            path.rename(aside / path.name)
        with whole_file(path) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(predictions)
