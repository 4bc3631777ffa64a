"""Python programs outside the service, in processes of low priority: long work in the service delays all requests."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

__all__ = ["start_aside"]


def start_aside(code: str, nice: int, **options: Any) -> subprocess.Popen[bytes]:
    """Start Python code with the same module search path as this process.

    It has its own session: keys pressed at the service's terminal do not reach it.

    Parameters
    ----------
    nice
        Its niceness relative to the service, from 0 to 19.
    options
        Options of `subprocess.Popen`; by default, standard input, output and error are discarded.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    return subprocess.Popen(
        [sys.executable, "-c", f"import os; os.nice({nice}); {code}"],
        env=environment,
        cwd="/",
        start_new_session=True,
        **{**streams, **options},
    )
