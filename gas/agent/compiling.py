"""Machine code for predictions of a Slurm, made by two other processes during the first answer."""

from __future__ import annotations

import time

from gas.beside import compile_beside
from gas.compiled import available, is_ready
from gas.endpoints import Answer
from gas.prediction.present import learning_is_ready
from gas.prediction.slurm import SECONDS
from gas.slurm.drain import drain

__all__ = ["compiled_beside", "seconds_left"]

HALVES = tuple(f"from gas.prediction.slurm import {name}; {name}()" for name in ("compile_half", "compile_other_half"))
"""Statements that compile all code for predictions of a Slurm, in two processes at the same time."""

FIRST_SECONDS = 14.0
"""Most seconds from the query of a scheduler to its prediction while machine code is being compiled."""

_LEAST_SECONDS = 3.0


def compiled_beside() -> bool:
    """Return whether samples need missing machine code that other processes are making; start them if none are."""
    if not available() or (is_ready(drain) and learning_is_ready()):
        return False
    return compile_beside(drain, *HALVES)


def seconds_left(answer: Answer) -> float:
    """Return the seconds for samples in plain Python, as long as machine code is being compiled."""
    passed = time.monotonic() - answer.at + answer.seconds
    return min(SECONDS, max(FIRST_SECONDS - passed, _LEAST_SECONDS))
