"""What a coallocation has taken: a file for each key, written before anything is reserved.

Whoever finds it after a crash knows every key that may have been sent, so that the same submission goes on where it
ended, or releases all of it. It is locked while a process submits with its key.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from gas.endpoints.journal import locked_file, state_directory, write_through

__all__ = ["Holdings", "Part", "abandoned", "open_holdings"]

Phase = Literal["nothing", "taking", "using", "made"]
"""Parts are being reserved; all are, and jobs are submitted into them; all jobs are submitted."""

_LONGEST = 160
"""Characters of a key to which those of its parts are added, so that they stay within the 200 of a key."""


@dataclass(frozen=True)
class Part:
    """A request to one machine; `start` in epoch seconds, `walltime` in seconds."""

    scheduler: str
    address: str
    processors: int
    walltime: int
    execution_time: int
    start: int


class Holdings:
    """What has been taken under one key; durable when a method returns.

    Attributes
    ----------
    attempt
        Which plan the parts are of: each has keys of its own.
    own
        Whether the key was made up by Gas, so that the same submission cannot be repeated.
    """

    def __init__(self, key: str, file: IO[str]) -> None:
        self.key = key
        self._file = file
        found = _read(file)
        self.phase: Phase = found.get("phase", "nothing")
        self.attempt = int(found.get("attempt", 0))
        self.own = bool(found.get("own", False))
        self.parts = [Part(**part) for part in found.get("parts", ())]

    def taking(self, parts: Sequence[Part], *, own: bool) -> None:
        """Note what is about to be reserved, as a new attempt."""
        self.parts, self.own, self.attempt = list(parts), own, self.attempt + 1
        self._write("taking")

    def using(self) -> None:
        """Note that all parts are reserved, and jobs about to be submitted into them."""
        self._write("using")

    def made(self) -> None:
        """Note that all jobs are submitted."""
        self._write("made")

    def released(self) -> None:
        """Note that nothing is held any more."""
        self._write("nothing")

    def keys(self, part: int) -> tuple[str, str]:
        """Return the keys of the reservation of a part, and of its job."""
        base = self.key if len(self.key) <= _LONGEST else hashlib.sha256(self.key.encode()).hexdigest()
        return f"{base}/{self.attempt}.{part}/held", f"{base}/{self.attempt}.{part}/job"

    def _write(self, phase: Phase) -> None:
        self.phase = phase
        parts = [asdict(part) for part in self.parts]
        content = {"key": self.key, "phase": phase, "attempt": self.attempt, "own": self.own, "parts": parts}
        write_through(self._file, content)


def _folder() -> Path:
    return state_directory() / "coallocations"


def _read(file: IO[str]) -> dict[str, Any]:
    try:
        found = json.loads(file.readline() or "{}")
    except ValueError:  # torn by a crash before anything was sent
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def open_holdings(key: str) -> Iterator[Holdings]:
    """Hold the file of a key; another process that holds it is waited for (errors as of `locked_file`).

    That of a key which no submission can come back to is deleted when it holds nothing in doubt.
    """
    with locked_file(_folder(), key) as file:
        holdings = Holdings(key, file)
        try:
            yield holdings
        finally:
            if holdings.own and holdings.phase in ("made", "nothing"):
                Path(file.name).unlink(missing_ok=True)


def abandoned() -> list[str]:
    """Return the keys, made up by Gas, under which a process that is gone holds something."""
    keys = []
    for path in sorted(_folder().glob("*.json")):
        try:
            with path.open("r+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found = _read(file)
        except OSError:  # another process is at it
            continue
        if found.get("own") and found.get("phase") in ("taking", "using"):
            keys.append(str(found["key"]))
    return keys
