"""Jobs started through a wrapper, and waiting for their results."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from eventually import until

from gas.service.output import output
from gas.service.processes import (
    Command,
    Ended,
    Started,
    read_state,
    settle,
    start_process,
)

__all__ = ["ended", "printed", "settable", "start", "started"]


def settable(mask: str | bytes) -> int:
    """Return the signals of a mask in /proc that a program can set: glibc reserves some that its posix_spawn ignores.

    Python 3.13 starts programs by posix_spawn.
    """
    return int(mask, 16) & sum(1 << (number - 1) for number in signal.valid_signals())


def start(directory: Path, *arguments: str, walltime: float = 60, **environment: str) -> None:
    """Start a job that gets TERM and KILL at the end of its walltime."""
    now = time.time()
    command = Command(arguments, environment, "/")
    start_process(directory, command, terminate_at=now + walltime, kill_at=now + walltime)


def started(directory: Path) -> Started:
    state = until(lambda: read_state(directory), "started")
    assert isinstance(state, Started)
    return state


def ended(directory: Path) -> Ended:
    state = until(lambda: (state := settle(directory)) and isinstance(state, Ended) and state, "ended")
    assert isinstance(state, Ended)
    return state


def printed(directory: Path, text: bytes) -> None:
    until(lambda: text in output(directory), f"{text!r} printed")
