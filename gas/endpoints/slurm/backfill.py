"""When and where Slurm's backfill scheduler would start a job: its search, step by step, on what it has planned so far.

Slurm keeps a table of spans with the nodes that no planned job has in them (backfill.c), and asks of a set of nodes at
which end of a running job enough of it is free (job_test.c: _will_run_test). The two are tried in turn, which finds no
start that is the earliest of all, but *its* start; one that is exact would miss it. What that means:

- A planned job has whole nodes, also where jobs share nodes, over spans rounded down to bf_resolution.
- Ends of running jobs are taken together in windows that double: 30 s, a minute, two. A job starts at the last end of
  a window, which may be hours after the end that it needs.
- A start is tried where a span opens that has nodes which the one before had not, and it gets the nodes that are
  planned for nobody until it ends, to the very second: a span that begins then is already in its way. At the end of a
  running job only what overlaps after rounding is in its way.
- Where no more nodes are planned for nobody than before until the job would end, the search ends, and a short job has
  no plan at all for a while. It is placed here all the same, behind.
- Reservations are looked at where a start is tried, to the second; after one that takes nodes from the job, the next
  try is a second after the first end of any reservation, rounded up.
- Nodes are chosen from the run of neighbouring nodes that is the tightest fit (_eval_nodes).

Sets of nodes are whole numbers with a bit for each place: Python intersects those of thousands of nodes in a
microsecond. Instants are epoch seconds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gas.endpoints.slurm.selection import Held, Request, Running, nodes_of

__all__ = ["Backfill", "Closure", "Placement"]


@dataclass(frozen=True)
class Closure:
    """Nodes that are closed from one moment to another, but to jobs that name it, and to some users."""

    start: int
    end: int
    nodes: int
    name: str = ""
    open_to: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Placement:
    """Which set of nodes from when to when.

    Attributes
    ----------
    listed
        Whether Slurm's own search gets there, so that the job is given a plan now.
    """

    start: int
    end: int
    nodes: int
    listed: bool = True


@dataclass
class Backfill:
    """The machine, its running jobs, and the plan so far.

    Attributes
    ----------
    cpus
        Of each node, in the order in which Slurm has its nodes.
    resolution
        Seconds to which plans are rounded down.
    """

    now: int
    cpus: NDArray[np.int64]
    running: Sequence[Held] = ()
    closures: Sequence[Closure] = ()
    resolution: int = 60
    begins: list[int] = field(init=False)
    free: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.begins = [self._rounded(self.now)]
        self.free = [(1 << len(self.cpus)) - 1]
        self._classes = [(int(size), nodes_of(np.flatnonzero(self.cpus == size).tolist())) for size in set(self.cpus)]
        self._largest = max(int(self.cpus.max(initial=1)), 1)
        self._busy = Running(self.now, self.cpus, self.running)
        self._tried: dict[Request, list[tuple[int, int, int]]] = {}

    def without_plan(self) -> Backfill:
        """Return the same machine before anything was planned."""
        return Backfill(self.now, self.cpus, self.running, self.closures, self.resolution)

    def again(self) -> Backfill:
        """Return the same machine with the same plan, to plan on separately."""
        other = self.without_plan()
        other.begins, other.free = list(self.begins), list(self.free)
        return other

    def _rounded(self, instant: int) -> int:
        return instant // self.resolution * self.resolution

    def span(self, start: int, walltime: int) -> tuple[int, int]:
        """Return the span that a planned job takes in the table."""
        first = max(self._rounded(start), self.begins[0])
        return first, max(self._rounded(start + walltime), first + self.resolution)

    # -- the plan

    def take(self, start: int, walltime: int, nodes: int) -> None:
        """Plan a job: nobody else gets its nodes in its span."""
        first, last = self.span(start, walltime)
        low, high = self._cut(first), self._cut(last)
        for record in range(low, high):
            self.free[record] &= ~nodes
        for record in (high, low):
            if 0 < record < len(self.free) and self.free[record] == self.free[record - 1]:
                del self.begins[record], self.free[record]

    def _cut(self, instant: int) -> int:
        """Return the record that begins at an instant, which is made if there is none."""
        at = bisect_left(self.begins, instant)
        if at == len(self.begins) or self.begins[at] != instant:
            self.begins.insert(at, instant)
            self.free.insert(at, self.free[at - 1])
        return at

    def taken(self, start: int, walltime: int, nodes: int) -> bool:
        """Return whether some of the nodes are planned for somebody else in the span of a job."""
        first, last = self.span(start, walltime)
        low, high = bisect_right(self.begins, first) - 1, bisect_left(self.begins, last)
        return any(nodes & ~free for free in self.free[max(low, 0) : high])

    # -- the search

    def find(self, request: Request, *, quick: bool = False) -> Placement | None:
        """Return where Slurm would plan a job next, behind all that is planned; None if nowhere, ever.

        The quick search begins where earlier ones for less have ended, which gives the same start; but then it is not
        known for sure whether Slurm's search gets there.
        """
        first = max(self.now, request.not_before)
        kind = replace(request, cpus=0, walltime=0)
        tried = self._tried.setdefault(kind, [])
        # what was too little for less and shorter is too little for more and longer
        less = [one for one in tried if one[0] <= request.cpus and one[1] <= request.walltime] if quick else []
        later = max((start for _, _, start in less), default=first)
        listed = True
        fewest = max(request.least, -(-request.cpus // self._largest))
        while True:
            start = later if self.closures else self._past_few(later, request.nodes, fewest)
            allowed, opening = self._open(request, start)
            record = bisect_right(self.begins, start) - 1
            available, next_start = self._window(record, allowed, start + request.walltime, fewest)
            if opening and (next_start is None or opening < next_start):
                next_start = opening
            found = self._busy.will_run(available, request, next_start) if self._enough(available, request) else None
            if found is not None:
                begin = max(found[0], start)
                if next_start is None or begin <= next_start:
                    if begin <= self.now or not self.taken(begin, request.walltime, found[1]):
                        end = begin + request.walltime
                        if request.not_after is not None and end > request.not_after:
                            return None
                        if listed:
                            tried.append((request.cpus, request.walltime, start))
                        return Placement(begin, end, found[1], listed)
                    next_start = begin if begin > start else start + self.resolution
            if next_start is None:
                listed = False  # nothing becomes free until it would end: Slurm gives up, and tries again next time
                next_start = self._roomier(record, allowed, request)
                if next_start is None:
                    return None
            later = next_start

    def _open(self, request: Request, start: int) -> tuple[int, int | None]:
        """Return which nodes no closure keeps from a job at a start, and when to look again if one does."""
        allowed, closed = request.nodes, False
        for one in self.closures:
            if (one.name and one.name == request.reservation) or (request.user in one.open_to):
                continue
            if one.start < start + request.walltime and one.end > start and one.nodes & request.nodes:
                allowed &= ~one.nodes
                closed = True
        if not closed:
            return allowed, None
        first = min(one.end for one in self.closures if one.end >= start)
        return allowed, -(-first // self.resolution) * self.resolution + 1

    def closed(self, request: Request, found: Placement) -> bool:
        """Return whether a closure keeps a job from nodes that it has in Slurm's plan."""
        allowed, _ = self._open(replace(request, nodes=found.nodes), found.start)
        return allowed != found.nodes

    def _roomier(self, record: int, allowed: int, request: Request) -> int | None:
        for at in range(record + 1, len(self.free)):
            if self._enough(self.free[at] & allowed, request):
                return self.begins[at]
        return None

    def _past_few(self, start: int, nodes: int, fewest: int) -> int:
        """Return the first start that is tried from one on at which there may be enough nodes, or where none is next.

        Of what `_window` returns it is the most frequent case: too few nodes, and others in the very next span.
        """
        free, record, last = self.free, bisect_right(self.begins, start) - 1, len(self.free) - 1
        here = nodes & free[record]
        if here.bit_count() >= fewest:
            return start
        first = record
        while record < last and here.bit_count() < fewest:
            there = nodes & free[record + 1]
            if not there & ~here:
                break
            here = there
            record += 1
        return start if record == first else self.begins[record]

    def _window(self, record: int, allowed: int, end: int, fewest: int) -> tuple[int, int | None]:
        """Return what is planned for nobody from a record to an end, and where there is more for the first time."""
        available, later = allowed, None
        begins, free, count = self.begins, self.free, len(self.begins)
        while True:
            if later is None and record + 1 < count and allowed & free[record + 1] & ~(available & free[record]):
                later = begins[record + 1]
            if begins[record] > end:
                break
            available &= free[record]
            record += 1
            if record == count or (later is not None and available.bit_count() < fewest):
                break
        return available, later

    def _enough(self, nodes: int, request: Request) -> bool:
        return (
            nodes.bit_count() >= request.least and not request.required & ~nodes and self._size(nodes) >= request.cpus
        )

    def _size(self, nodes: int) -> int:
        return sum(size * (nodes & members).bit_count() for size, members in self._classes)
