"""Samples computed in several threads, in slices between which an interruption is noticed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_parts", "in_turn"]

T = TypeVar("T")
R = TypeVar("R")

_SLICE = 7e5
"""Visits to jobs between two looks at the world outside: about a tenth of a second."""


def in_parts(
    some: Callable[[slice], NDArray[np.int64]], samples: int, threads: int, visits: float
) -> NDArray[np.int64]:
    """Return what is computed for all samples, in several threads and in slices between which it can be interrupted.

    Parameters
    ----------
    visits
        About how many visits to jobs a sample takes, see `visits_of`.
    """
    length = max(1, int(_SLICE / max(visits, 1.0)))
    stopped = Event()

    def part(begin: int, end: int) -> list[NDArray[np.int64]]:
        found = []
        for first in range(begin, end, length):
            if stopped.is_set():
                break
            found.append(some(slice(first, min(first + length, end))))
        return found

    threads = max(1, min(threads, samples))
    if threads == 1:
        return np.concatenate(part(0, samples))
    edges = np.linspace(0, samples, threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        parts = [pool.submit(part, begin, end) for begin, end in pairwise(edges)]
        try:
            return np.concatenate([one for each in parts for one in each.result()])
        finally:
            stopped.set()  # nothing is left to do, or this was interrupted


def in_turn(some: Callable[[T], R], parts: Sequence[T], threads: int) -> Iterator[R]:
    """Yield what is computed for each part, in their order; threads compute a few of the next ones meanwhile."""
    if threads <= 1:
        yield from map(some, parts)
        return
    with ThreadPoolExecutor(threads) as pool:
        ahead = deque(pool.submit(some, part) for part in parts[: 2 * threads])
        try:
            for part in [*parts[2 * threads :], *[None] * len(ahead)]:
                found = ahead.popleft().result()
                if part is not None:
                    ahead.append(pool.submit(some, part))
                yield found
        finally:
            pool.shutdown(cancel_futures=True)
