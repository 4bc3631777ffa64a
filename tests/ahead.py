"""Machine code that many tests need, compiled while the tests are imported.

One process imports the tests for all workers, and leaves a core idle. If the workers compiled this code, the first that
needs it would do so, and the others would soon need it too and wait.
"""

from __future__ import annotations

import subprocess
import sys

from gas.compiled import available

__all__ = ["CORE", "Ahead"]

CORE = (
    "from gas.s3.core import warm_up; warm_up()",
    "from experiments.framework.compiling import compile_simulator; compile_simulator()",
    "from gas.prediction.present import compile_learning; compile_learning()",
)
"""Statements that compile the scheduler, the simulator and what learns, those first that are needed first."""


class Ahead:
    """A process that runs statements; it ends with the run of the tests."""

    def __init__(self, *statements: str) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        if available():
            self.process = subprocess.Popen(
                [sys.executable, "-c", "\n".join(statements)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # a test that needs the code fails, and says why
            )

    def pytest_unconfigure(self) -> None:
        """End it, if the tests have ended sooner; what it compiled counts in the budget."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
