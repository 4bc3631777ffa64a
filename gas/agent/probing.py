"""Probes: real jobs that show when a scheduler would start them, if its published state is not enough (``--probe``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.availability import LaidOut, NodeAvailability
from gas.endpoints import Answer, ProbingEndpoint, Request
from gas.errors import GasError
from gas.planner import Candidate, Plan
from gas.profile.flat import NEVER
from speedup_models.model import Layout

__all__ = ["Probing", "spread"]


@dataclass(frozen=True, eq=False)
class _Probed(NodeAvailability):
    """Free processors, with the starts of requests that were probed by real jobs.

    Attributes
    ----------
    starts
        By size, walltime and layout; `NEVER` if the scheduler planned no start.
    """

    starts: dict[tuple[int, int, Layout | None], int] = field(default_factory=dict)
    estimated: Any = None

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the earliest start of each request, as `NodeAvailability.anchors`."""
        if self.estimated is None:
            found = super().anchors(processors, walltimes, first)
        else:
            found = self.estimated.anchors(processors, walltimes, first)
        return self._shown(found, zip(processors.tolist(), walltimes.tolist(), [None] * len(found), strict=True))

    def _shown(self, found: NDArray[np.int64], requests: Iterable[tuple[int, int, Layout | None]]) -> NDArray[np.int64]:
        for k, asked in enumerate(requests):
            if asked in self.starts:
                found[k] = self.starts[asked]
        return found


class _ProbedLayouts(_Probed):
    """Like `_Probed`, for requests with a layout over nodes."""

    def largest_node(self, device: str) -> int:
        """Return the units of the largest node."""
        return int(self.estimated.largest_node(device))

    def anchors_of(
        self, sizes: Sequence[int], walltimes: Sequence[int], layouts: Sequence[Layout | None], first: int
    ) -> NDArray[np.int64]:
        """Return the earliest start of each request in its layout."""
        found = self.estimated.anchors_of(sizes, walltimes, layouts, first)
        return self._shown(found, zip(sizes, walltimes, layouts, strict=True))


class Probing:
    """The answer of one scheduler, with the results of probes.

    Half of the probes go to the candidates that seem to finish first and to candidates of all sizes, since hidden jobs
    may affect any of them. The other probes go to the candidate that then seems best, until the best candidate has been
    probed.

    Attributes
    ----------
    answer
        The answer to plan with: probed requests start when their scheduler plans them.
    """

    def __init__(
        self, answer: Answer, most: int, remark: Callable[[str], object], progress: Callable[[str], object]
    ) -> None:
        self.answer = answer
        self._remark, self._progress = remark, progress
        self._original = answer
        self._left = most if isinstance(answer.endpoint, ProbingEndpoint) else 0
        self._starts: dict[tuple[int, int, Layout | None], int] = {}
        self._sizes: set[int] = set()

    def ask(self, found: Plan) -> bool:
        """Probe the most promising requests of a plan, and return whether anything was learned."""
        own = [c for c in found.candidates if c.scheduler == self.answer.name]
        if self._left < 1 or not isinstance(self.answer.availability, NodeAvailability):
            return False
        if not self._starts:
            hidden = not self.answer.endpoint.shows_all  # any estimate may be wrong then
            chosen = spread(own, self._left if hidden else -(-self._left // 2))
        else:
            best = found.best
            chosen = [c for c in own if c == best and (c.processors, c.walltime, c.layout) not in self._starts]
        return bool(chosen) and self._learn(chosen)

    def _learn(self, chosen: list[Candidate]) -> bool:
        endpoint: Any = self.answer.endpoint
        endpoint.tell = lambda text: self._progress(f"{self.answer.name}: {text}")
        original, one = self._original, self._original.availability
        assert isinstance(one, NodeAvailability)
        self._left -= len(chosen)
        try:
            starts = endpoint.probe([Request(c.processors, c.walltime, layout=c.layout) for c in chosen])
        except GasError as error:
            self._remark(f"{error}; no more probes")
            self._left = 0
            return False
        for c, start in zip(chosen, starts, strict=True):
            self._starts[c.processors, c.walltime, c.layout] = NEVER if start is None else max(start, one.now)
            self._sizes.add(c.processors)
        without = sum(start == NEVER for start in self._starts.values())
        unplanned = f"; {without} got no plan and are left out" if without else ""
        sizes = ", ".join(str(size) for size in sorted(self._sizes))
        counted = {"gpus": "GPUs"}.get(chosen[0].unit, chosen[0].unit)
        real = f"Slurm itself planned real jobs of {sizes} {counted}{unplanned}"
        remark = f"{real}; starts of other sizes are computed by Gas"
        kind = _ProbedLayouts if isinstance(one, LaidOut) else _Probed
        availability = kind(
            one.scheduler, one.kind, one.now, one.version, one.capacity, one.taken, one.names, self._starts, one
        )
        self.answer = replace(original, availability=availability, remarks=(*original.remarks, remark))
        return True


def spread(candidates: list[Candidate], most: int) -> list[Candidate]:
    """Return a limited number of candidates, best first: half are the first to finish, the others have all sizes."""
    if len(candidates) <= most:
        return candidates
    first = candidates[: -(-most // 2)]
    others = sorted((c for c in candidates if c not in first), key=lambda c: c.processors)
    count = most - len(first)
    places = {round(k * (len(others) - 1) / max(count - 1, 1)) for k in range(count)}
    kept = [*first, *(others[place] for place in sorted(places))]
    return [c for c in candidates if c in kept]
