"""The availability list: the free processors of a scheduler in every future time frame (`gas guide formats`).

The paper's section 4.3 lists frames (from, to, free processors); here they are contiguous and half-open, and the last
one has no end. The planner reads an `AvailabilityList`; `AvailabilityList.from_wire` refuses everything that breaks the
format, naming the frame.

Schedulers that allocate nodes, such as Slurm, plan with nodes: `NodeAvailability` holds the free time of each node, not
only the number of free processors. A list of counts is then too optimistic about one request in five; it is used for
display, and for users who need no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from documents.fields import FieldError, Fields, shown
from gas.compiled import fastest
from gas.errors import BadInput
from gas.printable import Shown, first_control, many
from gas.profile.flat import Profile, earliest_fits, profile_of
from gas.times import LATEST, iso_time
from speedup_models.model import Layout

if TYPE_CHECKING:  # imported on demand: planning with counts does not need it
    from gas.profile.gaps import Gaps

__all__ = [
    "MOST_PROCESSORS",
    "SCHEMA",
    "Availability",
    "AvailabilityList",
    "Frame",
    "Kind",
    "LaidOut",
    "NodeAvailability",
    "Spans",
]

SCHEMA = "gas.availability/1"

MOST_PROCESSORS = 2**31 - 1
"""The size of the largest supported machine."""

Kind = Literal["promise", "estimate"]


class Frame(NamedTuple):
    """One time frame ``[start, end)``; the last one's end is None."""

    start: int
    end: int | None
    free: int


@dataclass(frozen=True, eq=False, repr=False)
class AvailabilityList(Shown):
    """Free processors per future time frame of one scheduler.

    Attributes
    ----------
    kind
        "promise": a start that the list shows never gets later (S³); "estimate": it may.
    now
        The instant (epoch seconds) at which the list was made and its first frame starts.
    version
        Changes with the schedule, never with the clock alone.
    starts, free
        int64, one entry for each frame.
    """

    scheduler: str
    kind: Kind
    now: int
    processors: int
    version: str
    starts: NDArray[np.int64]
    free: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        starts: ArrayLike,
        free: ArrayLike,
        *,
        processors: int | None = None,
        scheduler: str = "machine",
        kind: Kind = "promise",
        version: str = "",
    ) -> AvailabilityList:
        """Return a list from the starts of its frames and the free processors in each, checked like any input."""
        start_list, free_list = np.asarray(starts).tolist(), np.asarray(free).tolist()
        if len(start_list) != len(free_list):
            raise BadInput(f"availability: {len(start_list)} starts of frames, but free processors in {len(free_list)}")
        ends = [*start_list[1:], None][: len(start_list)]
        return cls.from_wire(
            {
                "schema": SCHEMA,
                "scheduler": scheduler,
                "kind": kind,
                "now": start_list[0] if start_list else 0,
                "processors": max(free_list, default=0) if processors is None else processors,
                "version": version,
                "frames": [
                    {"start": s, "end": e, "free": f} for s, e, f in zip(start_list, ends, free_list, strict=True)
                ],
            },
            "availability",
        )

    def __repr__(self) -> str:
        return (
            f"<AvailabilityList of {self.scheduler}: {int(self.free[0]):,} of {many(self.processors, 'processor')} "
            f"free, {many(len(self.starts), 'frame')}, starts are {self.kind}s, as of {iso_time(self.now)}>"
        )

    @property
    def counts(self) -> AvailabilityList:
        """The list itself; the counterpart of `NodeAvailability.counts`."""
        return self

    @property
    def profile(self) -> Profile:
        """The same steps as a `Profile` (a copy)."""
        return profile_of(self.starts, self.free)

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the earliest start, not before `first`, of each request; `gas.profile.flat.NEVER` if there is none.

        Processors ascend strictly.
        """
        found = np.empty(len(processors), np.int64)
        steps = len(self.starts) + len(processors)
        fastest(earliest_fits, steps)(self.profile, processors, walltimes, first, found)
        return found

    @property
    def frames(self) -> list[Frame]:
        """The frames one by one."""
        starts = self.starts.tolist()
        return [Frame(s, e, f) for s, e, f in zip(starts, [*starts[1:], None], self.free.tolist(), strict=True)]

    def to_wire(self) -> dict[str, Any]:
        """Return the list as the JSON object of the wire format."""
        return {
            "schema": SCHEMA,
            "scheduler": self.scheduler,
            "kind": self.kind,
            "now": self.now,
            "processors": self.processors,
            "version": self.version,
            "frames": [frame._asdict() for frame in self.frames],
        }

    @classmethod
    def from_wire(cls, document: object, place: str) -> AvailabilityList:
        """Read the JSON object of the wire format.

        Raises
        ------
        FieldError
            The document breaks the format; the message starts with `place` and names the frame.
        """
        fields = Fields(document, place)
        fields.text("schema", choices=[SCHEMA])
        scheduler = fields.text("scheduler")
        if (control := first_control(scheduler)) is not None:
            raise fields.fail("scheduler", f"{shown(scheduler)} holds {control}; a name is one line of plain text")
        kind = fields.text("kind", choices=["promise", "estimate"])
        now = fields.integer("now", minimum=0, maximum=LATEST)
        processors = fields.integer("processors", minimum=1, maximum=MOST_PROCESSORS)
        version = fields.value("version")
        if not isinstance(version, str):
            raise fields.fail("version", f"{shown(version)} is not a string; write it in quotes")
        frames = fields.value("frames")
        fields.done()
        if not isinstance(frames, list) or not frames:
            raise fields.fail("frames", "must be a list of at least one frame")
        starts, free = _frames(frames, now, processors, place)
        return cls(scheduler, kind, now, processors, version, starts, free)


def _frames(frames: list[Any], now: int, processors: int, place: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check the frames one by one and return their starts and free processors."""
    starts, free = [], []
    expected, before = now, None
    last = len(frames) - 1
    for i, frame in enumerate(frames):
        here = f"{place} frames[{i}]"
        if not isinstance(frame, Mapping) or len(frame) != 3 or not {"start", "end", "free"} <= frame.keys():
            fields = Fields(frame, here)
            for key in ("start", "end", "free"):
                fields.value(key)
            fields.done()
        start, end, count = frame["start"], frame["end"], frame["free"]
        if type(start) is not int or type(count) is not int:
            key = "start" if type(start) is not int else "free"
            raise FieldError(f"{here} {key}", f"{shown(frame[key])} is not a whole number")
        if start != expected:
            if i == 0:
                raise FieldError(f"{here} start", f"{shown(start)} is not now ({now}); the first frame starts at now")
            word = "a gap" if start > expected else "an overlap"
            raise FieldError(
                f"{here} start",
                f"{shown(start)} leaves {word}: frames[{i - 1}] ends at {expected}; they must adjoin",
            )
        if not 0 <= count <= processors:
            raise FieldError(f"{here} free", f"{shown(count)} is outside 0 to {processors}, the machine's processors")
        if count == before:
            raise FieldError(
                f"{here} free", f"is {count} as in frames[{i - 1}]; merge neighbouring frames with the same value"
            )
        if i == last:
            if end is not None:
                raise FieldError(f"{here} end", f"{shown(end)}: the last frame has no end; write null")
        else:
            if type(end) is not int:
                problem = "only the last frame may have no end" if end is None else "is not a whole number"
                raise FieldError(f"{here} end", f"{shown(end)}: {problem}")
            if end <= start:
                raise FieldError(f"{here} end", f"{shown(end)} is not after its start {start}")
            if end > LATEST:
                raise FieldError(f"{here} end", f"{shown(end)} is above {LATEST}, the latest possible time")
            expected = end
        starts.append(start)
        free.append(count)
        before = count
    return np.array(starts, np.int64), np.array(free, np.int64)


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans in which units of nodes are taken: int64 columns of equal length, in any order; epoch seconds."""

    node: NDArray[np.int64]
    """Index of the node."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    units: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int]]) -> Spans:
        """Return spans from rows of node, start, end and units."""
        return cls(*np.array(rows, np.int64).reshape(-1, 4).T.copy())

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False, repr=False)
class NodeAvailability(Shown):
    """The free units of each node from now on; the planner reads it like an `AvailabilityList`.

    Attributes
    ----------
    capacity
        int64, units of each node: processors, or 1 if jobs get whole nodes.
    taken
        Spans in which units of a node are not free. They may exceed the units of the node; then nothing is free.
    names
        Names of the nodes; empty if they have none.
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
            raise BadInput(f"{self.scheduler}: each of the {nodes} nodes must have at least 1 unit")
        if self.names and len(self.names) != nodes:
            raise BadInput(f"{self.scheduler}: {len(self.names)} names for {nodes} nodes; give one for each")
        for what, bad in (
            ("a node that does not exist", (taken.node < 0) | (taken.node >= nodes)),
            ("fewer than 0 units", taken.units < 0),
        ):
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                span = f"node {taken.node[at]}, {taken.units[at]} units"
                raise BadInput(f"{self.scheduler}: span {at} takes {what}: {span}")

    def __repr__(self) -> str:
        return (
            f"<NodeAvailability of {self.scheduler}: {many(len(self.capacity), 'node')}, {self.processors:,} units, "
            f"starts are {self.kind}s, as of {iso_time(self.now)}>"
        )

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
        """The gaps: how long units of each node stay free."""
        from gas.profile.gaps import gaps_of

        taken = self.taken
        return gaps_of(self.capacity, taken.node, taken.start, taken.end, taken.units, self.now)

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the earliest start, not before `first`, of each request; `NEVER` if there is none."""
        from gas.profile.gaps import earliest_in_gaps

        found = np.empty(len(processors), np.int64)
        steps = len(self.gaps.opens) * len(processors)
        fastest(earliest_in_gaps, steps)(self.gaps, processors, walltimes, max(first, self.now), found)
        return found

    def said(self, processors: int, walltime: int, layout: Layout | None = None) -> str:
        """Return a sentence on how certain a start from `anchors` is; empty if unknown."""
        return ""

    def why_never(self, processors: int, walltime: int, layout: Layout | None = None) -> str:
        """Return in words why a request without a start in `anchors` never starts; empty if unknown."""
        return ""

    @cached_property
    def counts(self) -> AvailabilityList:
        """Free units at each moment, over all nodes: an upper bound on the units that a job can get for a walltime."""
        from gas.profile.flat import ENDLESS

        gaps = self.gaps
        instants = np.concatenate([[self.now], gaps.opens, gaps.closes])
        changes = np.concatenate([[0], gaps.units, -gaps.units])
        starts, inverse = np.unique(instants, return_inverse=True)
        free = np.cumsum(np.bincount(inverse, weights=changes, minlength=len(starts)).astype(np.int64))
        last = int(np.searchsorted(starts, ENDLESS))  # spans without an end must not end in the list either
        starts, free = starts[:last], free[:last]
        kept = np.concatenate([[True], free[1:] != free[:-1]])
        return AvailabilityList(
            self.scheduler, self.kind, self.now, self.processors, self.version, starts[kept], free[kept]
        )


@runtime_checkable
class LaidOut(Protocol):
    """An availability that also plans the unit, the layout and the resources of a request.

    Unit and resources are those for which the scheduler was queried.
    """

    def largest_node(self, device: str) -> int:
        """Return the units of its largest node; with a type of GPU, of the largest node with that type."""

    def anchors_of(
        self, sizes: Sequence[int], walltimes: Sequence[int], layouts: Sequence[Layout | None], first: int
    ) -> NDArray[np.int64]:
        """Return the earliest start of each request in its layout, as `NodeAvailability.anchors`."""


Availability: TypeAlias = AvailabilityList | NodeAvailability
"""The inputs of the planner."""
