"""A ledger of predictions in a file: one for each scheduler in the user's state folder, or next to a service's store.

The file is replaced atomically, under a separate lock, so that processes may write at the same time and a crash leaves
the old or the new state. It is less important than the user's request: if it cannot be read or written, Gas reports
this and predictions start anew; a damaged file is set aside.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from documents.home import NoHome
from documents.whole_file import whole_file
from gas.endpoints.journal import state_directory
from gas.errors import BadInput
from gas.json_text import parsed
from gas.prediction.ledger import Ledger

__all__ = ["SCHEMA", "LedgerFile", "ledger_of"]

SCHEMA = "gas.ledger/1"

_MOST_BYTES = 8_000_000  # a full one has a tenth of this


class LedgerFile:
    """A ledger in a file; a missing file is an empty ledger.

    Parameters
    ----------
    path
        None: the ledger is not stored.
    of
        The scheduler's name in the file.
    remark
        Called with errors of the file.
    """

    def __init__(self, path: Path | None, of: str, remark: Callable[[str], object]) -> None:
        self.path, self._of, self._remark = path, of, remark
        self._unreadable = False  # temporarily: do not replace it by an empty one

    def read(self, *, set_aside: bool = False) -> Ledger:
        """Return the ledger in the file; an empty one if the file is missing, damaged or of a later version.

        Parameters
        ----------
        set_aside
            Whether a damaged file is renamed, so that a new one can be written; only while no other process writes.
        """
        if self.path is None:
            return Ledger()
        self._unreadable = False
        try:
            if self.path.stat().st_size > _MOST_BYTES:
                raise BadInput("is too long")
            found = parsed(self.path.read_bytes(), finite=True)
            if not isinstance(found, dict) or found.get("schema") != SCHEMA:
                raise BadInput(f"is not of the schema {SCHEMA}")
            return Ledger.of_wire(found)
        except (FileNotFoundError, NotADirectoryError):
            return Ledger()
        except OSError as error:
            self._unreadable = True
            self._remark(f"{self.path}: cannot be read ({error.strerror}); earlier predictions do not count")
        except (BadInput, ValueError) as error:
            self._remark(f"{self.path}: {error}; {self._aside(set_aside)}earlier predictions do not count")
        return Ledger()

    def _aside(self, wanted: bool) -> str:
        """Rename a damaged file, replacing the last one with that name; return in words what was done."""
        assert self.path is not None, "it was read"
        kept = self.path.with_suffix(".damaged")
        if wanted:
            with suppress(OSError):  # the next write replaces it
                self.path.replace(kept)
                return f"it is kept as {kept.name}; "
        return ""

    @contextmanager
    def changing(self) -> Iterator[Ledger]:
        """Yield the ledger, and write it back after the block; the file is locked meanwhile."""
        with self._locked():
            ledger = self.read(set_aside=True)
            yield ledger
            self.write(ledger.to_wire())

    def write(self, wire: Mapping[str, Any]) -> bool:
        """Replace the file by a ledger as JSON (`Ledger.to_wire`) without a lock; return False if it cannot be."""
        if self.path is None or self._unreadable:
            return True
        content = {"schema": SCHEMA, "scheduler": self._of, **wire}
        try:
            with whole_file(self.path) as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(json.dumps(content, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            self._remark(f"{self.path}: cannot be written ({error.strerror}); this prediction does not count later")
            return False
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self.path is None:
            yield
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:  # reported when the file itself is written
            yield
            return
        try:
            with suppress(OSError):  # without locks the latest writer wins, and the file is complete anyway
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def ledger_of(scheduler: str, remark: Callable[[str], object]) -> LedgerFile:
    """Return the ledger of a scheduler (`gas.endpoints.Endpoint.target`) under the user's state."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", scheduler)[-60:].strip("-")
    file = f"{name}-{hashlib.sha256(scheduler.encode()).hexdigest()[:8]}.json"
    try:
        return LedgerFile(state_directory() / "predictions" / file, scheduler, remark)
    except NoHome as error:
        remark(f"{error}; predictions are not kept")
        return LedgerFile(None, scheduler, remark)
