"""The partial results of an interrupted backtest, in a file from which the same command continues."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.compiled import sources_digest
from gas.endpoints.journal import state_directory
from gas.json_text import parsed
from gas.prediction import forward
from gas.prediction.backtest import Simulated
from gas.prediction.forward import follow_each
from gas.prediction.recorded import RecordedQueue

__all__ = ["PartialFile", "partial_file"]

_LATEST = 2**53  # waits are shorter


class PartialFile(dict[int, Simulated]):
    """Simulated results by place; each is written to a line of the file as soon as it is known, from any thread.

    Parameters
    ----------
    path
        The file; it is created, with its folder, if it is missing. All from the first damaged line on is dropped.
    remark
        Called with the reason if results cannot be kept.
    """

    def __init__(self, path: Path, remark: Callable[[str], object]) -> None:
        super().__init__()
        self.path, self._file = path, -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = _locked(path)
        except BlockingIOError:
            remark("the same backtest is running already; this one cannot be continued after an interruption")
            return
        except OSError as error:
            remark(
                f"{path}: cannot be written ({error.strerror}); an interrupted backtest will start from the beginning"
            )
            return
        try:
            whole = 0
            with open(file, "rb", closefd=False) as lines:
                for line in lines:
                    one = _simulated_of(line)
                    if one is None:
                        break
                    super().__setitem__(one.place, one)
                    whole += len(line)
            os.ftruncate(file, whole)
        except OSError as error:
            os.close(file)
            self.clear()
            remark(f"{path}: {error.strerror}; an interrupted backtest will start from the beginning")
            return
        self._file = file

    def __setitem__(self, place: int, one: Simulated) -> None:
        """Store a result; with a full disk, only the continuation is lost, not the backtest."""
        super().__setitem__(place, one)
        if self._file >= 0:
            row = [one.place, one.waiting, one.latest, *one.waits.tolist()]
            with suppress(OSError):
                os.write(self._file, json.dumps(row, separators=(",", ":")).encode() + b"\n")

    @property
    def keeps(self) -> bool:
        """Whether an interrupted backtest can continue from the file."""
        return self._file >= 0 and len(self) > 0

    def close(self, *, done: bool) -> None:
        """Close the file, and remove it when all is done."""
        if self._file < 0:
            return
        if done:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = -1


def partial_file(
    recorded: RecordedQueue, places: NDArray[np.intp], remark: Callable[[str], object], **options: Any
) -> PartialFile:
    """Return the file of a backtest with these places and options, by this version of Gas, under the user's state.

    Raises
    ------
    NoHome
        The user has no home directory.
    """
    asked = f"{_sources()} {sources_digest(follow_each)} {recorded.digest()} {sorted(options.items())}".encode()
    name = hashlib.sha256(asked + np.ascontiguousarray(places, np.int64).tobytes()).hexdigest()[:20]
    return PartialFile(state_directory() / "backtests" / f"{name}.jsonl", remark)


def _locked(path: Path) -> int:
    """Return the file of this name, opened and locked; `BlockingIOError` if another process has locked it.

    A process that is done may remove the file between opening and locking; later writes would be lost.
    """
    while True:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except OSError:
            os.close(file)
            raise
        os.close(file)


def _sources() -> str:
    """Return a digest of the sources that affect predictions, besides those of the kernel."""
    found = hashlib.sha256()
    for path in sorted(Path(forward.__file__).parent.glob("*.py")):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _simulated_of(line: bytes) -> Simulated | None:
    """Return the result in a line; None if the line is damaged."""
    try:
        row = parsed(line)
        if not line.endswith(b"\n") or len(row) < 3 or any(type(one) is not int for one in row):
            return None
    except (ValueError, TypeError):
        return None
    place, waiting, latest, *waits = row
    if min(place, waiting, *waits) < 0 or max((latest, *waits)) > _LATEST or waits != sorted(waits):
        return None
    return Simulated(place, waiting, latest, np.array(waits, np.int64))
