"""Free resources of an OAR, with starts as its scheduler finds them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.availability import NodeAvailability
from gas.endpoints.oar.hierarchy import Hierarchy
from gas.endpoints.oar.quotas import Quotas
from gas.profile.flat import ENDLESS, NEVER

__all__ = ["Charted", "Nested", "OarAvailability"]

Span = tuple[int, int]


@dataclass(frozen=True)
class Charted:
    """One unit: its position, and the spans, in order and disjoint, in which jobs cannot have it."""

    path: tuple[str, ...]
    taken: tuple[Span, ...]

    def free(self, start: int, end: int) -> bool:
        """Whether it is free throughout a span."""
        place = bisect_right(self.taken, start, key=lambda span: span[1])
        return place == len(self.taken) or self.taken[place][0] >= end


@dataclass(frozen=True)
class Nested:
    """Units in a hierarchy of several levels."""

    hierarchy: Hierarchy
    units: tuple[Charted, ...]

    def most(self, start: int, end: int) -> int:
        """Return the number of processors that are free throughout a span."""
        return self.hierarchy.most([unit.path for unit in self.units if unit.free(start, end)])

    def earliest(self, processors: int, walltime: int, first: int) -> int:
        """Return the earliest start of a request, not before `first`; `NEVER` if there is none."""
        for start in [first, *self.ends(first)]:
            if self.most(start, start + walltime) >= processors:
                return start
        return NEVER

    def ends(self, first: int) -> list[int]:
        """Return the instants after `first` at which units become free."""
        return sorted({end for unit in self.units for _, end in unit.taken if first < end < ENDLESS})

    def steps(self, now: int) -> Sequence[tuple[int, int]]:
        """Return the instants from which on the number of free processors changes, with that number."""
        instants = {at for unit in self.units for span in unit.taken for at in span if now < at < ENDLESS}
        return [(at, self.most(at, at + 1)) for at in sorted({now} | instants)]


@dataclass(frozen=True, eq=False)
class OarAvailability(NodeAvailability):
    """The free units of each node, and the starts that OAR would plan for a job submitted now.

    Attributes
    ----------
    duration
        Walltime that OAR plans for any job, as it does for besteffort jobs; None if it plans with their own.
    quotas
        The quotas that a job must keep; None if there are none.
    resources_each
        The largest number of resources per processor, as quotas count them.
    nested
        The units, if requests have several levels.
    """

    duration: int | None = None
    quotas: Quotas | None = None
    resources_each: int = 1
    nested: Nested | None = None

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the expected start of each request."""
        planned = walltimes if self.duration is None else np.full_like(walltimes, self.duration)
        found = self._earliest(processors, planned, first)
        if self.quotas is None:
            return found
        for k in range(len(found)):
            size, seconds = int(processors[k]), int(planned[k])
            start = int(found[k])
            while start != NEVER:
                admitted = self.quotas.admitted(start, size * self.resources_each, seconds)
                if admitted == start:
                    break
                start = admitted
                if start != NEVER:
                    start = int(self._earliest(processors[k : k + 1], planned[k : k + 1], start)[0])
            found[k] = start
        return found

    def _earliest(self, processors: NDArray[np.int64], seconds: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the earliest start of each request by free units."""
        if self.nested is None:
            return super().anchors(processors, seconds, first)
        rows = zip(processors.tolist(), seconds.tolist(), strict=True)
        return np.array([self.nested.earliest(size, time, max(first, self.now)) for size, time in rows], np.int64)
