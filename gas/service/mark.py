"""The high-water mark: a file next to the store that records its last write.

A store that was replaced by a backup, or has lost its newest changes to damage, looks like any other; only a comparison
shows the loss. So after every commit, its state is written here (200 bytes) without waiting for the disk. After a power
failure the mark may be behind the store, or missing. It is ahead of the store only if the store has lost changes.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from documents.whole_file import sync
from gas.errors import Conflict

__all__ = ["Mark", "MarkFile"]

_SIZE = 200  # bytes: one write within one sector, so that it is replaced whole


@dataclass(frozen=True)
class Mark:
    """The state of a store after its last write.

    Attributes
    ----------
    store, epoch
        The identity of the store; the epoch grows when an older state is restored.
    commits
        Its number of writes.
    last_id
        The highest number of its jobs.
    """

    store: str
    epoch: int
    commits: int
    last_id: int


class MarkFile:
    """The file with the mark of one store; errors of this file do not affect the store."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def read(self) -> Mark | None:
        """Return the mark; None if there is none that can be trusted.

        Raises
        ------
        Conflict
            It exists but cannot be read at present; without it, job numbers might be reused.
        """
        try:
            sealed = json.loads(self._path.read_bytes())
            known = Mark(**sealed["mark"])
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Conflict(f"{self._path}: cannot be read at present ({error.strerror}); try again") from None
        except (ValueError, KeyError, TypeError):
            return None
        numbers = (known.epoch, known.commits, known.last_id)
        sound = sealed.get("seal") == _seal(known) and all(type(n) is int and n >= 0 for n in numbers)
        return known if sound else None

    def write(self, mark: Mark) -> None:
        """Replace the mark."""
        text = json.dumps({"mark": asdict(mark), "seal": _seal(mark)}).encode()
        with suppress(OSError):  # a full disk: an older mark warns of less, and never wrongly
            if self._file < 0:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                os.pwrite(self._file, text.ljust(_SIZE), 0)
                self._settle()  # its contents may lag after a power failure, but it must exist
            os.pwrite(self._file, text.ljust(_SIZE), 0)

    def _settle(self) -> None:
        os.fsync(self._file)
        sync(self._path.parent)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _seal(mark: Mark) -> int:
    return zlib.crc32(json.dumps(asdict(mark)).encode())
