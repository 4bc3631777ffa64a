"""The first code that runs in the one file: it makes Python behave as usual, and starts the command line.

The interpreter of freeze-core is embedded: it handles no signals, and ends silently when its output is closed.
"""

from __future__ import annotations

import signal
import sys

__all__ = ["run"]


def run(name: str) -> None:
    """Run the program; the interpreter calls this with a name derived from its own."""
    sys.frozen = True  # type: ignore[attr-defined]
    sys.path.append(f"{sys.path[-1]}/freeze_core/lib")  # freeze-core's extension modules, below the folder of packages
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_IGN)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.argv[1:3] == ["-P", "-m"]:  # a separate process started by Gas
        import runpy

        del sys.argv[:3]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    from gas.cli.main import main

    main()
