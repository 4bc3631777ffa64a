"""Writes a file completely or not at all: an interruption or a full disk leaves the old file unchanged."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["sync", "whole_file"]


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for the block to write; it gets its final name when the block ends without an error.

    Until then it is a hidden file in the same folder. An existing file is replaced and keeps its mode; of a link, the
    target is replaced. Anything but a plain file (a pipe, ``/dev/stdout``) is written to directly.

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
        # Replacing it needs permissions on the folder only, but the file's own protection must count.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    shown = os.fsdecode(os.fsencode(target.name)[:200])  # names of files are limited in bytes
    partial = target.with_name(f".{shown}.{os.getpid()}.part")
    try:
        partial.unlink(missing_ok=True)  # left by a killed process with the same number
        with partial.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())  # otherwise the name may survive a power cut, and the content not
        partial.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def sync(path: str | Path) -> None:
    """Make the contents of a file, or the names in a folder, survive a power failure."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
