"""Machine code for predictions of a Slurm, made by two other processes during the first answer."""

from __future__ import annotations

from gas.beside import compile_beside
from gas.compiled import available, is_ready
from gas.prediction.present import learning_is_ready
from gas.slurm.drain import drain

__all__ = ["compiled_beside"]

HALVES = tuple(f"from gas.prediction.slurm import {name}; {name}()" for name in ("compile_half", "compile_other_half"))
"""Statements that compile all code for predictions of a Slurm, in two processes at the same time."""


def compiled_beside() -> bool:
    """Return whether samples need missing machine code that other processes are making; start them if none are."""
    if not available() or (is_ready(drain) and learning_is_ready()):
        return False
    return compile_beside(drain, *HALVES)
