"""Python programs that work beside the service, in processes of low priority; in its own, long work makes all wait."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

__all__ = ["start_aside"]


def start_aside(code: str, nice: int, **options: Any) -> subprocess.Popen[bytes]:
    """Start Python code that finds the modules which this process finds.

    It has a session of its own: a key pressed at the service's terminal does not reach it.

    Parameters
    ----------
    nice
        How much less than the service it is favoured, from 0 to 19.
    options
        Of `subprocess.Popen`; what is not said of standard input, output and error is discarded.
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
