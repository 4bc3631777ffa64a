"""Waiting, in tests, for events in other processes: of jobs, of a service, or in the output of a program."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from typing import Any


def until(condition: Callable[[], Any], what: str = "it", seconds: float = 30, every: float = 0.01) -> Any:
    """Return the first true answer of a function that is called at intervals."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"in {seconds} s never: {what}"
        time.sleep(every)
    return answer


def living(directory: Path, *, wrappers: bool = True) -> list[int]:
    """Return the pids of all processes of jobs below a directory: by their environment, and wrappers by their name."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            environment, arguments = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
            named = wrappers and f"wrapper.py\0{directory}".encode() in arguments
            if state != "Z" and (named or f"GAS_JOB_DIRECTORY={directory}".encode() in environment):
                found.append(int(entry.name))
    return found


def event(watch: Popen[str], wanted: str) -> Any:
    """Return the next event of a kind in the output of ``gas watch``."""
    seen = []
    for line in watch.stdout:
        seen.append(json.loads(line))
        if seen[-1]["event"] == wanted:
            return seen[-1]
    raise AssertionError(f"the watch ended without {wanted}: {seen} {watch.stderr.read() if watch.stderr else ''}")
