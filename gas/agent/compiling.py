"""Machine code for predictions of a Slurm, made by two other processes while a plan waits for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from gas.beside import compile_beside, wait_beside
from gas.compiled import available, is_ready
from gas.prediction.present import learning_is_ready
from gas.slurm.drain import drain

__all__ = ["COMPILING_SECONDS", "compiled_beside", "wait_for_code"]

HALVES = tuple(f"from gas.prediction.slurm import {name}; {name}()" for name in ("compile_half", "compile_other_half"))
"""Statements that compile all code for predictions of a Slurm, in two processes at the same time."""

COMPILING_SECONDS = 20.0
"""Most seconds for which a plan waits for machine code; on two free cores, making it should take less."""


def compiled_beside() -> bool:
    """Return whether samples need missing machine code that other processes are making; start them if none are."""
    if not available() or (is_ready(drain) and learning_is_ready()):
        return False
    return compile_beside(drain, *HALVES)


def wait_for_code(say: Callable[[str], object], until: float) -> bool:
    """Have missing machine code for samples made by other processes, and wait for it if two cores are there for them.

    Return whether it is there.

    Parameters
    ----------
    say
        Called with a text for the user if there is something to wait for.
    until
        The instant of `time.monotonic` at which waiting ends.
    """
    if compiled_beside() and len(os.sched_getaffinity(0)) > 1:
        say("first use: compiling the predictor (10 to 20 s)")
        wait_beside(drain, until - time.monotonic())
    return is_ready(drain)
