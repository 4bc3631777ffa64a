"""Reads the records that wrappers write into the directories of jobs.

    read_state   the latest record of a job: `Started`, `Ended`, or the error in it
    alive        whether the wrapper of a job runs, the same process
    claim_of     the wrapper that has claimed a job, or its cancellation or withdrawal

All knowledge of a job is in its directory, so a restarted service reads the same.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from documents.fields import FieldError, Fields
from gas.errors import GasError
from gas.service import wrapper

__all__ = [
    "CANCELLED",
    "WITHDRAWN",
    "Ended",
    "Started",
    "Unknown",
    "Unreadable",
    "alive",
    "boot_now",
    "claim_of",
    "is_running",
    "open_regular",
    "process_at",
    "read_state",
]

Reason = Literal["exited", "walltime", "cancelled", "not started", "lost"]

_REASONS: tuple[Reason, ...] = ("exited", "walltime", "cancelled", "not started", "lost")
_RECORD_LIMIT = 1_000_000  # bytes; records have a few hundred

# Errors of an open that concern the file itself and will recur. Others are temporary.
_OF_THE_FILE = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR, errno.ENAMETOOLONG)

CANCELLED = 0
"""The pid in the claim of a cancellation."""

WITHDRAWN = -2
"""The pid in a claim that keeps all wrappers from a job that waits again (`processes.withdraw`)."""


@dataclass(frozen=True)
class Started:
    """The record of a start: the wrapper, the process of the job, and the time.

    `wrapper_ticks` (the start of the wrapper in clock ticks since boot) and `boot` distinguish the wrapper from later
    processes with its pid. `start` is in epoch seconds.
    """

    wrapper_pid: int
    wrapper_ticks: int
    boot: str
    command_pid: int
    process_group: int
    start: float


@dataclass(frozen=True)
class Ended:
    """The record of an end: no process of the job is left.

    Either `exit_status` or `signal` tells how the command ended; both are None if it was never started, or if this is
    unknown. `reason` is ``lost`` if the wrapper was killed or the machine went down. `start` and `end` are epoch
    seconds.
    """

    exit_status: int | None
    signal: str | None
    reason: Reason
    message: str | None
    start: float
    end: float


@dataclass(frozen=True)
class Unreadable:
    """A record that exists but is unreadable."""

    path: Path
    problem: str


class Unknown(GasError):
    """The state of a job is unknown at present (for example, no descriptors or memory left); nothing may be changed."""


def read_state(job_directory: Path) -> Started | Ended | Unreadable | None:
    """Return the latest record of a job; None if it has none yet.

    Raises
    ------
    Unknown
        The state is not known at present.
    """
    end = _record(job_directory / wrapper.ENDED)
    if isinstance(end, Unreadable):
        return end
    if end is not None:
        try:
            return Ended(
                exit_status=end.integer("exit_status") if end.value("exit_status") is not None else None,
                signal=end.text("signal") if end.value("signal") is not None else None,
                reason=end.text("reason", choices=_REASONS),
                message=end.text("message") if end.value("message") is not None else None,
                start=end.number("start"),
                end=end.number("end"),
            )
        except FieldError as error:
            return Unreadable(job_directory / wrapper.ENDED, str(error))
    start = _record(job_directory / wrapper.STARTED)
    if start is None or isinstance(start, Unreadable):
        return start
    try:
        return Started(
            wrapper_pid=start.integer("wrapper_pid", minimum=1),
            wrapper_ticks=start.integer("wrapper_ticks", minimum=0),
            boot=start.value("boot") if not _is_copy(job_directory) else "",
            command_pid=start.integer("command_pid", minimum=1),
            process_group=start.integer("process_group", minimum=1),
            start=start.number("start"),
        )
    except FieldError as error:
        return Unreadable(job_directory / wrapper.STARTED, str(error))


def _is_copy(job_directory: Path) -> bool:
    claim = _record(job_directory / wrapper.CLAIM)
    return isinstance(claim, Fields) and _is_elsewhere(claim, job_directory)


def alive(started: Started) -> bool:
    """Return whether the wrapper of a job runs: the same process, not a later one with its pid, and not a zombie."""
    return is_running(started.wrapper_pid, started.wrapper_ticks, started.boot)


def open_regular(path: Path) -> int:
    """Return a descriptor for reading a regular file.

    A job can write to its directory: a pipe, a terminal or a link in place of a file must neither block the service nor
    lead it elsewhere.

    Raises
    ------
    OSError
        ENXIO if it is not a regular file.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.ENXIO, "it is not a regular file")
    except BaseException:
        os.close(number)
        raise
    return number


def _record(path: Path) -> Fields | Unreadable | None:
    """Return the table in a file."""
    try:
        with open(open_regular(path), "rb") as file:
            text = file.read(_RECORD_LIMIT)
    except OSError as error:
        if error.errno in wrapper.GONE:
            return None
        if error.errno in _OF_THE_FILE:
            return Unreadable(path, f"cannot be read: {error.strerror}")
        raise Unknown(f"{path}: cannot be read at present: {error.strerror}") from error
    try:
        return Fields(json.loads(text), path.name)
    except (ValueError, RecursionError, FieldError) as error:
        return Unreadable(path, f"is not a record: {error}")


def claim_of(job_directory: Path) -> tuple[int, int, str] | None:
    """Return pid, start in ticks and boot of the process that has claimed a job; no process if unreadable.

    Instead of a pid, it may be `CANCELLED` or `WITHDRAWN`.
    """
    record = _record(job_directory / wrapper.CLAIM)
    if record is None:
        return None
    try:
        if not isinstance(record, Unreadable) and not _is_elsewhere(record, job_directory):
            if "command" in record:  # the command for its wrapper: job.json is in place of the claim
                return WITHDRAWN, 0, ""
            return record.integer("pid", minimum=0), record.integer("ticks", minimum=0), str(record.value("boot"))
    except FieldError:
        pass
    return -1, 0, ""


def _is_elsewhere(claim: Fields, job_directory: Path) -> bool:
    """Return whether a claim was made in another directory, and this one is a copy.

    A directory that was moved, or is reached by another path, is the same.
    """
    place = Path(claim.text("place", str(job_directory)))
    try:
        return place != job_directory and place.is_dir() and not place.samefile(job_directory)
    except OSError:
        return False


def is_running(pid: int, ticks: int, boot: str) -> bool:
    """Return whether the process with this pid, start and boot still runs; `Unknown` if not known at present."""
    if pid <= 0 or boot != boot_now():
        return False
    found = process_at(pid)
    return found is not None and found.lives and found.ticks == ticks


def boot_now() -> str:
    """Return the identity of this boot; `Unknown` if not known at present."""
    try:
        return wrapper.boot_identity()
    except OSError as error:
        raise Unknown(f"the boot cannot be identified at present: {error.strerror}") from error


def process_at(pid: int) -> wrapper.Process | None:
    """Return a process by its pid; None if there is none; `Unknown` if not known at present."""
    try:
        return wrapper.process(pid)
    except OSError as error:
        raise Unknown(f"process {pid} cannot be inspected at present: {error.strerror}") from error
