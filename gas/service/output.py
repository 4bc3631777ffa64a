"""The output of a job: the ends of its two streams, and of its wrapper's log."""

from __future__ import annotations

import os
from pathlib import Path

from gas.errors import BadInput
from gas.service.records import open_regular

__all__ = ["OUTPUT_LIMIT", "last_words", "output"]

OUTPUT_LIMIT = 64 * 1024
"""Bytes of a stream that `output` returns by default."""


def output(job_directory: Path, stream: str = "stdout", limit: int = OUTPUT_LIMIT, after: int | None = None) -> bytes:
    """Return at most the last `limit` bytes of a job's output so far; nothing if it has not started.

    Parameters
    ----------
    after
        Return the first bytes after this offset instead.

    Raises
    ------
    BadInput
        The stream is neither ``stdout`` nor ``stderr``, or the limit is negative.
    """
    if stream not in ("stdout", "stderr"):
        raise BadInput(f'stream "{stream}": is neither stdout nor stderr')
    if limit < 0:
        raise BadInput(f"limit {limit}: is below 0")
    return _part_of_file(job_directory / stream, limit, after)


def last_words(job_directory: Path) -> str:
    """Return the wrapper's own last output: empty, unless Python could not start or the disk is full."""
    lines = _part_of_file(job_directory / "wrapper.log", 1000).strip().splitlines()
    return f"wrapper.log ends: {lines[-1].decode(errors='replace')}" if lines else "wrapper.log is empty"


def _part_of_file(path: Path, limit: int, after: int | None = None) -> bytes:
    """Return the last bytes of a file, or those after an offset; nothing if it is not a readable file."""
    try:
        number = open_regular(path)
    except OSError:
        return b""
    try:
        return os.pread(number, limit, max(0, os.fstat(number).st_size - limit) if after is None else after)
    finally:
        os.close(number)
