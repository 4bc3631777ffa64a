"""Caches answers of Slurm that change slowly."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

__all__ = ["LIFETIMES", "KeptAnswers"]

T = TypeVar("T")

LIFETIMES: Mapping[str, float] = MappingProxyType(
    {
        "config": 600.0, "conf": 600.0, "topology": 600.0,  # changed by administrators, with a reconfiguration
        "partitions": 60.0,  # changed by administrators, too
        "reservations": 15.0, "licences": 15.0, "licenses": 15.0,
    }
)  # fmt: skip
"""Seconds for which answers are cached; those not listed change with every job."""


class KeptAnswers(Generic[T]):
    """The cached answers of one Slurm."""

    def __init__(self, lifetimes: Mapping[str, float] = LIFETIMES, clock: Callable[[], float] = time.monotonic) -> None:
        self._lifetimes = dict(lifetimes)
        self._clock = clock
        self._kept: dict[str, tuple[float, T]] = {}

    def get(self, kind: str, query: Callable[[], T], lifetime: float | None = None) -> T:
        """Return an answer, from the cache if it is recent enough; failures are not cached."""
        lifetime = self._lifetimes.get(kind, 0.0) if lifetime is None else lifetime
        kept = self._kept.get(kind)
        if kept is not None and self._clock() < kept[0] + lifetime:
            return kept[1]
        queried = self._clock()
        answer = query()
        if lifetime > 0:
            self._kept[kind] = (queried, answer)
        return answer
