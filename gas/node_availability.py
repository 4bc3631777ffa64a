"""Availability with node identity: which nodes are free when, and not only how many processors.

Schedulers that give jobs nodes, as Slurm does, plan with nodes. A list of counts is then too hopeful about one request
in five; it is a projection for the eye, and for who needs no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gas.availability import AvailabilityList, Kind
from gas.compiled import fastest
from gas.errors import BadInput
from gas.profile import Profile

if TYPE_CHECKING:  # imported where it is needed: planning with counts needs none of it
    from gas.gaps import Gaps

__all__ = ["Availability", "NodeAvailability", "Spans"]


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans in which units of nodes are taken: int64 columns of equal length, in any order; epoch seconds."""

    node: NDArray[np.int64]
    """Place of the node."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    units: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int]]) -> Spans:
        """Return spans from rows of node, start, end and units."""
        return cls(*np.array(rows, np.int64).reshape(-1, 4).T.copy())

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class NodeAvailability:
    """What is free of each node from now on; the planner reads it as it does an `AvailabilityList`.

    Attributes
    ----------
    capacity
        int64, units of each node: processors, or 1 where jobs get whole nodes.
    taken
        When how much of a node is not free. More than there is may be taken; then nothing is free.
    names
        Of the nodes; empty if they have none.
    """

    scheduler: str
    kind: Kind
    now: int
    version: str
    capacity: NDArray[np.int64]
    taken: Spans
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        nodes, taken = len(self.capacity), self.taken
        if nodes == 0 or int(self.capacity.min()) < 1:
            raise BadInput(f"{self.scheduler}: a machine of {nodes} nodes, each of which must have at least 1 unit")
        if self.names and len(self.names) != nodes:
            raise BadInput(f"{self.scheduler}: {len(self.names)} names for {nodes} nodes; give one for each")
        for what, bad in (
            ("a node that there is not", (taken.node < 0) | (taken.node >= nodes)),
            ("fewer than 0 units", taken.units < 0),
        ):
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                span = f"node {taken.node[at]}, {taken.units[at]} units"
                raise BadInput(f"{self.scheduler}: span {at} takes {what}: {span}")

    @property
    def processors(self) -> int:
        """Units of all nodes together."""
        return int(self.capacity.sum())

    @property
    def profile(self) -> Profile:
        """The counts as a `Profile`."""
        return self.counts.profile

    @cached_property
    def gaps(self) -> Gaps:
        """For how long units stay free."""
        from gas.gaps import gaps_of

        taken = self.taken
        return gaps_of(self.capacity, taken.node, taken.start, taken.end, taken.units, self.now)

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the earliest start, not before `first`, of each request; `gas.profile.NEVER` where there is none."""
        from gas.gaps import earliest_in_gaps

        found = np.empty(len(processors), np.int64)
        steps = len(self.gaps.opens) * len(processors)
        fastest(earliest_in_gaps, steps)(self.gaps, processors, walltimes, max(first, self.now), found)
        return found

    def why_never(self, processors: int, walltime: int) -> str:
        """Return in words why a request that `anchors` finds no start for never starts; empty if nothing is known."""
        return ""

    @cached_property
    def counts(self) -> AvailabilityList:
        """How much is free at each moment, on whichever nodes: an upper bound of what a job can get for a while."""
        from gas.gaps import FOR_EVER

        gaps = self.gaps
        instants = np.concatenate([[self.now], gaps.opens, gaps.closes])
        changes = np.concatenate([[0], gaps.units, -gaps.units])
        starts, inverse = np.unique(instants, return_inverse=True)
        free = np.cumsum(np.bincount(inverse, weights=changes, minlength=len(starts)).astype(np.int64))
        last = int(np.searchsorted(starts, FOR_EVER))  # what never closes has no end in a list either
        starts, free = starts[:last], free[:last]
        kept = np.concatenate([[True], free[1:] != free[:-1]])
        return AvailabilityList(
            self.scheduler, self.kind, self.now, self.processors, self.version, starts[kept], free[kept]
        )


Availability: TypeAlias = AvailabilityList | NodeAvailability
"""What the planner reads."""
