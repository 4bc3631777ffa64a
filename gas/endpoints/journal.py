"""Records where each key was sent: a small file for each key, written before the request is sent.

A scheduler knows the keys that it has seen, but not those of other schedulers. A request without an answer may still be
on its way, so its key must not go to another scheduler, whichever process submits: the file records where it was sent,
and is locked while a process submits with its key.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from documents.home import user_folder
from documents.whole_file import sync
from gas.errors import BadInput

__all__ = ["Page", "journal_directory", "key_file", "locked_file", "open_page", "state_directory", "write_through"]


def state_directory() -> Path:
    """Return the folder of a user's state: under ``$XDG_STATE_HOME``, by default ``~/.local/state``."""
    return user_folder("XDG_STATE_HOME") / "gas"


def journal_directory() -> Path:
    """Return the folder of the records."""
    return state_directory() / "submissions"


class Page:
    """The record of one key; durable when a method returns.

    Attributes
    ----------
    address
        The scheduler to which a request with this key was sent; None if certainly no scheduler has it.
    identity
        The identity of that scheduler under all of its addresses; None if it has none, or did not report it.
    claim
        The folder of the claim that the job takes (`gas.agent.claims`); None if its submission has no other job.
    sent
        Epoch second at which a request was last about to be sent; None if unknown.
    job
        The number of the job that it created; None if unknown.
    """

    def __init__(self, key: str, file: IO[str]) -> None:
        self.key = key
        self._file = file
        try:
            found = json.loads(file.readline() or "{}")  # the rest belongs to an earlier, longer record
        except ValueError:  # torn by a crash before anything was sent
            found = {}
        found = found if isinstance(found, dict) else {}
        names = ("endpoint", "identity", "sent", "job", "claim")
        address, identity, sent, job, claim = (found.get(name) for name in names)
        self.address: str | None = address if isinstance(address, str) else None
        self.identity: str | None = identity if isinstance(identity, str) else None
        self.sent: int | None = sent if isinstance(sent, int) else None
        self.job: int | None = job if isinstance(job, int) else None
        self.claim: str | None = claim if isinstance(claim, str) else None

    def sent_to(self, address: str, sent: int, identity: str | None = None, claim: str | None = None) -> None:
        """Record that a request is about to be sent to this scheduler, at an epoch second."""
        self.address, self.identity, self.sent, self.claim = address, identity, sent, claim
        self._write(self._request())

    def made(self, job: int) -> None:
        """Record the job that the scheduler has created."""
        self._write({**self._request(), "job": job})
        self.job = job

    def refused(self) -> None:
        """Record that the scheduler has refused the request, and that no request is on its way."""
        self._write({})
        self.address = self.identity = self.sent = self.job = self.claim = None

    def _request(self) -> dict[str, str | int | None]:
        known = {"identity": self.identity, "claim": self.claim}
        known = {name: value for name, value in known.items() if value is not None}
        return {"key": self.key, "endpoint": self.address, **known, "sent": self.sent}

    def _write(self, content: dict[str, str | int | None]) -> None:
        write_through(self._file, content)


def write_through(file: IO[str], content: object) -> None:
    """Replace the contents of a file by JSON; durable when this returns.

    Raises
    ------
    BadInput
        It cannot be written, and keeps its previous contents.
    """
    number, new = file.fileno(), json.dumps(content).encode() + b"\n"
    old = os.pread(number, os.fstat(number).st_size, 0)
    try:
        if os.pwrite(number, new, 0) < len(new):  # overwrites the previous one: a crash leaves one of the two
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.ftruncate(number, len(new))
        os.fsync(number)
    except OSError as error:
        with suppress(OSError):
            os.pwrite(number, old, 0)
            os.ftruncate(number, len(old))
        raise BadInput(
            f"{file.name}: cannot be written ({error.strerror}); make room, or name another place in XDG_STATE_HOME"
        ) from None


@contextmanager
def open_page(key: str) -> Iterator[Page]:
    """Lock the page of a key; wait if another process has locked it.

    Raises
    ------
    BadInput
        It cannot be written.
    """
    with locked_file(journal_directory(), key) as file:
        yield Page(key, file)


def _open_or_create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o600)


def key_file(directory: Path, key: str) -> Path:
    """Return the path of a key's file in a folder."""
    return directory / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


@contextmanager
def locked_file(directory: Path, key: str) -> Iterator[IO[str]]:
    """Lock the file of a key in a folder, creating it if needed; wait if another process has locked it.

    Raises
    ------
    BadInput
        It cannot be written.
    """
    path = key_file(directory, key)
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = open(path, "r+", encoding="utf-8", opener=_open_or_create)  # noqa: SIM115  # closed below
        sync(directory)
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be written ({error.strerror}), and without it a key could be sent to two schedulers; "
            "give another place in XDG_STATE_HOME"
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
