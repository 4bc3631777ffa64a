"""Reservations of a coallocation: a file for each key, written before anything is reserved.

After a crash, the file has every key that may have been sent, so that the same submission can continue where it ended,
or release everything. It is locked while a process submits with its key. The key belongs to one application only, and
to no submission to a single machine (`claimed`).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from gas.agent.options import Run
from gas.application import Application
from gas.endpoints.journal import key_file, locked_file, state_directory, write_through
from gas.times import iso_time

__all__ = ["Holdings", "Part", "abandoned", "claimed", "fingerprint", "open_holdings"]

Phase = Literal["nothing", "planned", "taking", "using", "made"]
"""Nothing or one job at a single machine; planned; parts are being reserved; all parts are reserved and jobs are being
submitted into them; all jobs are submitted.
"""

_LONGEST = 160
"""Characters of a key to which those of its parts are added, so that they stay within the 200 of a key."""


@dataclass(frozen=True)
class Part:
    """A request to one machine; `start` in epoch seconds, `walltime` in seconds.

    Attributes
    ----------
    identity
        An identity that is the same under all addresses of its scheduler; None if it has none.
    """

    scheduler: str
    address: str
    processors: int
    walltime: int
    execution_time: int
    start: int
    identity: str | None = None


class Holdings:
    """The reservations under one key; durable when a method returns.

    Attributes
    ----------
    application
        The fingerprint of the application of the key.
    attempt
        The number of the plan to which the parts belong; each plan has its own keys.
    own
        Whether Gas chose the key; the submission then cannot be repeated.
    """

    def __init__(self, key: str, file: IO[str]) -> None:
        self.key = key
        self._file = file
        found = _content(file.readline())
        self.application = str(found.get("application", ""))
        self.phase: Phase = found.get("phase", "nothing")
        self.attempt = int(found.get("attempt", 0))
        self.own = bool(found.get("own", False))
        self.parts = [Part(**part) for part in found.get("parts", ())]

    def planned(self, application: str) -> None:
        """Record that the key belongs to this application, which has no reservations yet."""
        self.application = application
        self._write("planned")

    def taking(self, parts: Sequence[Part], *, own: bool) -> None:
        """Record, as a new attempt, what will be reserved next."""
        self.parts, self.own, self.attempt = list(parts), own, self.attempt + 1
        self._write("taking")

    def using(self) -> None:
        """Record that all parts are reserved, and that their jobs will be submitted next."""
        self._write("using")

    def made(self) -> None:
        """Record that all jobs are submitted."""
        self._write("made")

    def released(self) -> None:
        """Record that all reservations are released; the key still belongs to the application."""
        self._write("planned")

    def free(self) -> None:
        """Record that nothing was submitted, so that the key may be used for anything."""
        self._write("nothing")

    @property
    def said(self) -> str:
        """What was submitted with the key, in words."""
        return _said(self.phase, self.parts)

    def keys(self, part: int) -> tuple[str, str]:
        """Return the keys of the reservation of a part, and of its job."""
        base = self.key if len(self.key) <= _LONGEST else hashlib.sha256(self.key.encode()).hexdigest()
        return f"{base}/{self.attempt}.{part}/held", f"{base}/{self.attempt}.{part}/job"

    def _write(self, phase: Phase) -> None:
        self.phase = phase
        parts = [asdict(part) for part in self.parts]
        known = {"key": self.key, "application": self.application, "attempt": self.attempt, "own": self.own}
        write_through(self._file, {**known, "phase": phase, "parts": parts})


def _folder() -> Path:
    return state_directory() / "coallocations"


def _content(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line or "{}")
    except ValueError:  # torn by a crash before anything was sent
        return {}
    return found if isinstance(found, dict) else {}


def _said(phase: Phase, parts: Sequence[Part]) -> str:
    if phase in ("nothing", "planned"):
        return "has reserved nothing on several machines"
    sizes = [f"{parts[0].processors} processors on {parts[0].scheduler}"]
    sizes += [f"{part.processors} on {part.scheduler}" for part in parts[1:]]
    verb = "made jobs of" if phase == "made" else "may hold"
    return f"{verb} {' and '.join(sizes)} from {iso_time(parts[0].start)} on"


def fingerprint(application: Application, run: Run) -> str:
    """Return a fingerprint of an application: its command, and its execution times by size."""
    job = run.job
    requests = [column.tolist() for column in application.requests(_COMPARED)]
    what = [job.name, job.command, sorted(job.environment.items()), job.directory, job.native, job.run_time]
    content = json.dumps([requests, what, job.notice, run.simulate])
    return hashlib.sha256(content.encode()).hexdigest()


_COMPARED = 4096
"""Largest processor count for which the times of two applications are compared."""


@contextmanager
def open_holdings(key: str) -> Iterator[Holdings]:
    """Lock the file of a key, and wait for another process that has locked it; raises the errors of `locked_file`.

    The file of a key that no submission can continue is deleted if nothing in it is in doubt.
    """
    with locked_file(_folder(), key) as file:
        holdings = Holdings(key, file)
        try:
            yield holdings
        finally:
            if holdings.own and holdings.phase in ("made", "planned", "nothing"):
                Path(file.name).unlink(missing_ok=True)


def claimed(key: str) -> str | None:
    """Return in words what a coallocation submitted with this key; None if no coallocation has the key.

    Another process need not be waited for: it records the key before it opens the page of the key
    (`gas.endpoints.journal`), which the caller holds.
    """
    path = key_file(_folder(), key)
    while path.exists():
        with path.open(encoding="utf-8") as file:
            line = file.readline()
            if not line or line.endswith("\n"):
                found = _content(line)
                phase = found.get("phase", "nothing")
                return None if phase == "nothing" else _said(phase, [Part(**part) for part in found.get("parts", ())])
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:  # it is being written
                time.sleep(0.01)
            else:
                return None
    return None


def abandoned() -> list[str]:
    """Return the keys that Gas chose and under which a process that has ended still holds reservations."""
    keys = []
    for path in sorted(_folder().glob("*.json")):
        try:
            with path.open("r+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found = _content(file.readline())
        except OSError:  # another process holds it
            continue
        if found.get("own") and found.get("phase") in ("taking", "using"):
            keys.append(str(found["key"]))
    return keys
