"""The garbage collector, left out where many objects are made and none of them is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the collector: it would look at all that has been made, again and again, and find nothing.

    Reading a Slurm of 5,000 nodes and 23,000 jobs takes a fifth less with it. Where several threads do so at the same
    time, the first to end resumes it for all.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
