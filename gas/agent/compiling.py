"""Machine code for predictions, made by other processes during the first answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from documents.extras import way_to_install
from gas.beside import compile_beside
from gas.compiled import available, is_ready
from gas.endpoints import Answer, Endpoint, SchedulingEndpoint
from gas.prediction.forward import follow_each
from gas.prediction.present import learning_is_ready
from gas.prediction.slurm import SECONDS
from gas.prediction.together import follow_all
from gas.slurm.drain import drain

__all__ = ["COMPILING", "compiled_beside", "saying_what_takes_long", "seconds_left"]

HALVES = tuple(f"from gas.prediction.slurm import {name}; {name}()" for name in ("compile_half", "compile_other_half"))
"""Statements that compile all code for predictions of a Slurm, in two processes at the same time."""

FORECASTS = "from gas.prediction.forecast import compile_forecasts; compile_forecasts()"
"""The same for predictions of an S³, in one process."""

COMPILING = "first use: compiling the predictor (up to two minutes)"
"""The remark if this process compiles, and the user waits."""

FIRST_SECONDS = 14.0
"""Most seconds from the query of a scheduler to its prediction while machine code is being compiled."""

_LEAST_SECONDS = 3.0
"""Seconds for samples even if the scheduler answered late."""


def compiled_beside(endpoint: Endpoint) -> bool:
    """Return whether samples need missing machine code that other processes are making; start them if none are."""
    if not available():
        return False
    if isinstance(endpoint, SchedulingEndpoint):
        ready = is_ready(drain) and learning_is_ready()
        return not ready and compile_beside(drain, *HALVES)
    ready = is_ready(follow_all) and is_ready(follow_each)
    return not ready and compile_beside(follow_all, FORECASTS)


def seconds_left(answer: Answer) -> float:
    """Return the seconds for samples in plain Python, as long as machine code is being compiled."""
    passed = time.monotonic() - answer.at + answer.seconds
    return min(SECONDS, max(FIRST_SECONDS - passed, _LEAST_SECONDS))


@contextmanager
def saying_what_takes_long(
    scheduler: str, samples: int, remark: Callable[[str], object], scheduling: bool
) -> Iterator[None]:
    """Tell the user what takes so long; `scheduling`: the scheduler's own algorithm is simulated forward."""
    only_one_kept = False
    if not available():
        remark(f"without numba this takes a hundred times as long: {way_to_install('sim')}")
    elif not scheduling and not is_ready(follow_each):
        remark(COMPILING)
    elif not scheduling:
        only_one_kept = not is_ready(follow_all)

    def tell() -> None:
        if only_one_kept and is_ready(follow_all):  # only many candidates need it, and these do
            remark(COMPILING)
        remark(f"{scheduler}: simulating its queue {samples:,} times")

    timer = threading.Timer(1.0, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
