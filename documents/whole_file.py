"""Writes a file completely or not at all: an interruption or a full disk leaves the old file unchanged."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file"]


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file that the block writes; it gets its final name when the block ends without an error.

    Until then it stands beside, hidden. A file of that name is replaced and hands its mode on; a link stays and what
    it leads to is replaced. What is no plain file (a pipe, ``/dev/stdout``) is written to directly.

    Raises
    ------
    OSError
        The file cannot be written; nothing has changed then.
    """
    target = Path(os.path.realpath(path))
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = target.stat().st_mode
    if mode is not None and not stat.S_ISREG(mode):
        with Path(path).open("wb") as direct:
            yield direct
        return
    if mode is not None and not os.access(target, os.W_OK):
        # To replace it would need leave for the folder only, but its protection was meant.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    partial = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    try:
        partial.unlink(missing_ok=True)  # of a process of that number which was killed
        with partial.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())  # or the name may survive a power cut, and the content not
        partial.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
