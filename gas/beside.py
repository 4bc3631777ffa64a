"""Compiling kernels in other processes, while this one does something else."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from gas.compiled import cache_directory, make

__all__ = ["compile_beside"]

_beside: dict[tuple[str, ...], list[Any]] = {}


def compile_beside(function: Callable[..., Any], *statements: str) -> bool:
    """Run Python statements that compile a kernel, once, each in a separate process that outlives this one.

    Return whether this or another process of the user is running them; processes start them together, not each their
    own. False if the machine code cannot be cached, or a process failed.
    """
    if statements not in _beside:
        folders = os.pathsep.join(filter(os.path.isabs, sys.path))  # the current folder may belong to anybody
        started: list[Any] = _beside.setdefault(statements, [])
        with contextlib.suppress(OSError):  # read-only, a file system without locks, or the limit on processes
            directory = cache_directory(function)
            make(directory)
            with (directory / "beside").open("w") as lock:  # the new processes hold it until they have all ended
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    del _beside[statements]
                    return True
                started.extend(
                    subprocess.Popen(
                        [sys.executable, "-c", statement], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL, start_new_session=True, cwd="/", pass_fds=[lock.fileno()],
                        env=os.environ | {"PYTHONPATH": folders},
                    )
                    for statement in statements
                )  # fmt: skip
    started = _beside[statements]
    return len(started) == len(statements) and not any(one.poll() for one in started)
