"""Samples computed in several threads, in slices between which interruptions are noticed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from threading import Event
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_parts", "in_turn"]

T = TypeVar("T")
R = TypeVar("R")

_SLICE = 7e5
"""Visits to jobs between two checks for interruptions: about a tenth of a second."""


def in_parts(
    some: Callable[[slice], NDArray[np.int64]], samples: int, threads: int, visits: float
) -> NDArray[np.int64]:
    """Return the results for all samples, computed in several threads and in slices that can be interrupted.

    Parameters
    ----------
    visits
        Approximate number of visits to jobs per sample, see `visits_of`.
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
            stopped.set()  # all is done, or this was interrupted


def in_turn(some: Callable[[T], Iterable[R]], parts: Sequence[T], threads: int) -> Iterator[R]:
    """Yield the result for each part, in their order; threads compute a few of the next parts in the meantime.

    When it is closed or interrupted, each thread finishes its current part and begins no other.
    """
    if threads <= 1:
        for part in parts:
            yield from some(part)
        return
    stopped = Event()

    def until_stopped(part: T) -> list[R]:
        found = []
        for one in some(part):
            found.append(one)
            if stopped.is_set():
                break
        return found

    with ThreadPoolExecutor(threads) as pool:
        ahead = deque(pool.submit(until_stopped, part) for part in parts[: 2 * threads])
        try:
            waiting = iter(parts[2 * threads :])
            while ahead:
                found = ahead.popleft().result()
                ahead.extend(pool.submit(until_stopped, part) for part in islice(waiting, 1))
                yield from found
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
