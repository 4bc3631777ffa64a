"""Where each key was sent: a small file for each key, written before the request goes out.

A scheduler knows which keys it has seen, but not which ones another has. What a scheduler has not answered may still
be on its way to it, so the same key must not go to another one, whichever process asks: the file says where it went.
It is locked while a process submits with its key.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gas.errors import BadInput

__all__ = ["Page", "journal_directory", "open_page"]


def journal_directory() -> Path:
    """Return where the files are: under ``$XDG_STATE_HOME``, by default ``~/.local/state``."""
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home / "gas" / "submissions"


class Page:
    """What is known of one key; durable when a method returns.

    Attributes
    ----------
    address
        The scheduler that a request with this key was sent to, None if it is certain that none has it.
    """

    def __init__(self, key: str, file: IO[str]) -> None:
        self.key = key
        self._file = file
        try:
            found = json.loads(file.read() or "{}")
            address = found.get("endpoint") if isinstance(found, dict) else None
        except ValueError:  # torn by a crash before anything was sent
            address = None
        self.address: str | None = address if isinstance(address, str) else None

    def sent_to(self, address: str) -> None:
        """Note that a request is about to go to this scheduler."""
        if self.address != address:
            self._write({"key": self.key, "endpoint": address})
            self.address = address

    def refused(self) -> None:
        """Note that the scheduler has refused it, and that nothing is on its way any more."""
        self._write({})
        self.address = None

    def _write(self, content: dict[str, str]) -> None:
        self._file.seek(0)
        self._file.truncate()
        json.dump(content, self._file)
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def open_page(key: str) -> Iterator[Page]:
    """Hold the page of a key; another process that holds it is waited for.

    Raises
    ------
    BadInput
        It cannot be written.
    """
    directory = journal_directory()
    path = directory / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", encoding="utf-8")
        with_name = os.open(directory, os.O_RDONLY)
        os.fsync(with_name)
        os.close(with_name)
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be written ({error.strerror}), and without it a key could be sent to two schedulers; "
            "name another place in XDG_STATE_HOME"
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield Page(key, file)
