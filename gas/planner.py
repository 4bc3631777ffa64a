"""The planner: finds the request that finishes first among all requests that an application can make.

For every allowed processor count p, with walltime w(p), it takes the earliest start s such that the availability list
has p free throughout [s, s + w(p)); the candidate finishes at s + t(p). If the layout of a size over nodes matters,
each layout is such a request. The earliest finish wins; ties go to fewer processors, then fewer nodes, then the earlier
start, then the order in which schedulers were named (`gas guide formats`). It is exact, and pure: lists in, `Plan` out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from documents.fields import finite_number
from gas.application import Application, Requests
from gas.availability import Availability, AvailabilityList, Kind, LaidOut, NodeAvailability
from gas.compiled import fastest
from gas.errors import BadInput
from gas.printable import Shown, many
from gas.profile.flat import NEVER
from gas.times import LATEST, LONGEST, duration_text, iso_time, relative_text
from speedup_models.model import Layout, LayoutModel, SizeUnit

__all__ = [
    "FASTEST",
    "SCHEMA",
    "SLOWEST",
    "UNIT_NOUNS",
    "Algorithm",
    "Candidate",
    "Limits",
    "Plan",
    "Rejected",
    "Requests",
    "counts_processors",
    "plan",
    "soonest",
]

SCHEMA = "gas.plan/1"

SLOWEST, FASTEST = 0.001, 1000.0
"""The range of `Limits.speed`: factors beyond it come from mistaken units."""

UNIT_NOUNS: dict[SizeUnit, str] = {"processors": "processor", "nodes": "node", "gpus": "GPU"}
"""What a size counts, in the singular."""

Algorithm = Literal["exact", "walk"]

RejectionKind = Literal["constraint", "machine", "no time", "limit", "no hole", "deadline", "cost"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible request; times in epoch seconds, durations in seconds on that scheduler's machine.

    Attributes
    ----------
    processors
        The size, in units: processors, unless `unit` says otherwise.
    layout
        Its layout over nodes; None if the scheduler chooses.
    """

    scheduler: str
    processors: int
    walltime: int
    execution_time: int
    start: int
    kind: Kind
    unit: SizeUnit = "processors"
    layout: Layout | None = None

    @property
    def size_text(self) -> str:
        """Its size in words: "8 GPUs (2x4 a100)"."""
        size = many(self.processors, UNIT_NOUNS[self.unit])
        return size if self.layout is None or not self.layout.per_node else f"{size} ({self.layout})"

    @property
    def finish(self) -> int:
        """When the application is expected to end."""
        return self.start + self.execution_time

    @property
    def processor_seconds(self) -> int:
        """The expected cost of the run: processors × execution time."""
        return self.processors * self.execution_time

    def to_wire(self) -> dict[str, Any]:
        """Return a candidate as JSON (`gas guide formats`)."""
        return {
            "scheduler": self.scheduler,
            "processors": self.processors,
            "walltime": self.walltime,
            "execution_time": self.execution_time,
            "processor_seconds": self.processor_seconds,
            "start": self.start,
            "start_iso": iso_time(self.start),
            "finish": self.finish,
            "finish_iso": iso_time(self.finish),
            "kind": self.kind,
            "unit": self.unit,
            **({} if self.layout is None else {"layout": self.layout._asdict()}),
        }


@dataclass(frozen=True, slots=True)
class Rejected:
    """A processor count that is not possible, and why."""

    scheduler: str
    processors: int
    reason: str
    kind: RejectionKind = "constraint"
    unit: SizeUnit = "processors"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a scheduler on one request, in addition to the size of its machine, and the machine's speed.

    Attributes
    ----------
    speed
        Speed of the machine relative to the times in application files, from `SLOWEST` to `FASTEST`: execution times
        are divided by it, and walltimes follow from them.
    """

    max_processors: int | None = None
    max_walltime: int | None = None
    speed: float = 1.0

    def __post_init__(self) -> None:
        finite_number(self.speed, "speed", minimum=SLOWEST, maximum=FASTEST)


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """A plan: `best` (None if no request is possible), all other candidates, and the rejected requests.

    `candidates` are sorted, best first, by finish, processors, start and the order of the schedulers; `best` is the
    first of them, unless a tolerance selects a smaller one. `lists` are the availability lists of the plan.
    """

    application: str
    algorithm: Algorithm
    now: int
    best: Candidate | None
    candidates: list[Candidate]
    rejected: list[Rejected] = field(default_factory=list)
    lists: Sequence[Availability] = field(default=(), compare=False)

    def __repr__(self) -> str:
        looked_at = f"{many(len(self.candidates), 'candidate')}, {len(self.rejected):,} rejected"
        return f"<{type(self).__name__} of {self.application}: {self.in_words} ({looked_at})>"

    @property
    def in_words(self) -> str:
        """The best request in words, or that there is none."""
        best = self.best
        if best is None:
            return "no request is possible"
        start, finish = relative_text(best.start, self.now), relative_text(best.finish, self.now)
        return f"{best.size_text} on {best.scheduler}, starts {start}, finishes {finish}"

    @property
    def likely_starts(self) -> Mapping[Candidate, tuple[int, int, int]]:
        """For each predicted candidate: the low end of the interval of its start, its mean start, and the high end."""
        return {}

    def turnaround(self, candidate: Candidate) -> int:
        """Return how many seconds from now the candidate finishes."""
        return candidate.finish - self.now

    def score(self, candidate: Candidate) -> int:
        """Return the criterion to minimise: the finish."""
        return candidate.finish

    @property
    def undominated(self) -> list[Candidate]:
        """The trade-offs, sorted by finish: candidates that no other beats in both finish and processor-hours.

        Of two candidates that are equal in both, the first is included.
        """
        front: list[Candidate] = []
        for candidate in sorted(self.candidates, key=lambda c: (self.score(c), c.processor_seconds)):
            if not front or candidate.processor_seconds < front[-1].processor_seconds:
                front.append(candidate)
        return front

    def why_lost(self, candidate: Candidate) -> str:
        """Return in words why the best candidate is better than this one."""
        best = self.best
        if best is None or candidate == best:
            return "best"
        if candidate.finish > best.finish:
            return f"finishes {duration_text(candidate.finish - best.finish)} later"
        if candidate.finish < best.finish:
            sooner = duration_text(best.finish - candidate.finish)
            return f"finishes {sooner} sooner, within the tolerance, on more processors"
        if candidate.processors > best.processors:
            return "finishes at the same time on more processors"
        if _nodes(candidate) > _nodes(best):
            return "finishes at the same time on more nodes"
        if candidate.start > best.start:
            return "finishes at the same time, but starts later"
        if candidate.scheduler == best.scheduler:
            return "equal, in a layout that comes later in the list"
        return "equal, on a scheduler that comes later in the list"

    def to_wire(self, endpoints: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """Return the JSON object of schema gas.plan/1."""
        return {
            "schema": SCHEMA,
            "application": self.application,
            "algorithm": self.algorithm,
            "now": self.now,
            "now_iso": iso_time(self.now),
            "best": self.best.to_wire() if self.best else None,
            "candidates": [c.to_wire() for c in self.candidates],
            "rejected": [
                {"scheduler": r.scheduler, "processors": r.processors, "reason": r.reason} for r in self.rejected
            ],
            "endpoints": list(endpoints),
        }


def plan(
    application: Application,
    availability: Availability | Iterable[Availability],
    *,
    not_before: int | None = None,
    deadline: int | None = None,
    max_processor_hours: float | None = None,
    tolerance: float = 0.0,
    algorithm: Algorithm = "exact",
    limits: Mapping[str, Limits] | None = None,
) -> Plan:
    """Find the request that finishes first.

    Parameters
    ----------
    availability
        One list or several; their order decides ties. No start is before the latest `now` of the lists, so an old
        list has no advantage.
    not_before, deadline
        Earliest start and latest expected finish, in epoch seconds.
    max_processor_hours
        Upper limit on processors × execution time, in hours.
    tolerance
        0.05 takes the fewest processors among the candidates whose turn-around time is within 5% of the best.
    algorithm
        "exact", or "walk" for the algorithm of the paper's Fig. 4.3.
    limits
        The limits of each scheduler on one request, and its speed, by name.

    Raises
    ------
    BadInput
        No list, two lists of the same name, or an option out of range.
    """
    lists = [availability] if isinstance(availability, (AvailabilityList, NodeAvailability)) else list(availability)
    if not lists:
        raise BadInput("no availability list to plan with; give at least one scheduler")
    names = [a.scheduler for a in lists]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f'two availability lists come from a scheduler called "{name}"; give each its own name')
    if not isinstance(algorithm, str) or algorithm not in get_args(Algorithm):
        raise BadInput(f'algorithm "{algorithm}" is not known; there are {" and ".join(get_args(Algorithm))}')
    if not_before is not None and not_before > LATEST:
        raise BadInput(f"not-before {not_before}: is after {LATEST}, the latest possible time")
    if not 0 <= tolerance <= 1:
        raise BadInput(f"tolerance {tolerance}: must be from 0 to 1 (0.05 is 5%)")
    for what, instant in (("not_before", not_before), ("deadline", deadline)):
        if instant is not None and not isinstance(instant, int):
            raise BadInput(f"{what} {instant!r}: must be whole epoch seconds")
    if max_processor_hours is not None and not max_processor_hours > 0:
        raise BadInput(f"max-processor-hours {max_processor_hours}: must be more than 0")
    now = max(a.now for a in lists)
    first = now if not_before is None else max(now, not_before)

    candidates: list[Candidate] = []
    rejected: list[Rejected] = []
    for one in lists:
        found, impossible = _plan_one(application, one, first, algorithm, (limits or {}).get(one.scheduler, Limits()))
        candidates += found
        rejected += impossible
    order = {name: i for i, name in enumerate(names)}
    if len(lists) > 1:  # those of one list come sorted
        # without calls, which take longer than the sorting: there may be thousands of candidates
        candidates.sort(
            key=lambda c: (
                c.start + c.execution_time, c.processors, 0 if c.layout is None else c.layout.nodes, c.start,
                order[c.scheduler],
            )
        )  # fmt: skip
    candidates, refused = _affordable(candidates, deadline, max_processor_hours)
    rejected += refused
    best = candidates[0] if candidates else None
    if best is not None and tolerance > 0:
        latest = now + round((best.finish - now) * (1 + tolerance), 6)  # 20 s and 15% are 23 s, not 22.999999999999996
        near = [c for c in candidates if c.finish <= latest]
        best = min(near, key=lambda c: (c.processors, c.finish, _nodes(c), c.start, order[c.scheduler]))
    return Plan(application.name, algorithm, now, best, candidates, rejected, lists)


def soonest(requests: Requests, availability: Availability, first: int | None = None) -> Candidate | None:
    """Return the request that finishes first, None if none fits: the `best` of a `plan`, without explanations.

    For callers that plan ten thousand times.

    Parameters
    ----------
    requests
        From `Application.requests`, with the speed of the machine.
    first
        Epoch second of the earliest start; None for the list's own `now`.
    """
    if len(requests.sizes) == 0:
        return None
    anchors = _anchors(availability, requests, availability.now if first is None else first, "exact")
    finish = np.where(anchors == NEVER, -NEVER, anchors + requests.times)
    at = int(np.argmin(finish))  # argmin returns the first minimum: sizes ascend, so ties go to fewer processors
    if anchors[at] == NEVER:
        return None
    size, time, walltime = (int(column[at]) for column in requests)
    return Candidate(availability.scheduler, size, walltime, time, int(anchors[at]), availability.kind)


class _Asked(NamedTuple):
    """Requests, each in a layout if that matters; times in seconds."""

    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    walltimes: NDArray[np.int64]
    layouts: tuple[Layout, ...] | None

    def kept(self, keep: NDArray[np.bool_]) -> _Asked:
        """Return the requests in the mask."""
        layouts = self.layouts
        if layouts is not None:
            layouts = tuple(one for one, stays in zip(layouts, keep.tolist(), strict=True) if stays)
        return _Asked(self.sizes[keep], self.times[keep], self.walltimes[keep], layouts)

    def layout(self, place: int) -> Layout | None:
        """Return the layout of the request at this place; None if the scheduler chooses."""
        return None if self.layouts is None else self.layouts[place]


def _nodes(candidate: Candidate) -> int:
    return 0 if candidate.layout is None else candidate.layout.nodes


def _plan_one(
    application: Application, availability: Availability, first: int, algorithm: Algorithm, limits: Limits
) -> tuple[list[Candidate], list[Rejected]]:
    """Return the candidates of one scheduler, and the rejected processor counts."""
    name, unit = availability.scheduler, application.unit
    if application.asks_for_more and not isinstance(availability, LaidOut):
        raise BadInput(counts_processors(name, application))
    if application.is_laid_out and algorithm != "exact":
        raise BadInput(
            f"algorithm {algorithm}: works with numbers of processors only; the times of "
            f"{application.name} depend on nodes"
        )
    rejected = _not_allowed(application, name, availability.processors)

    def reject(left_out: _Asked, why: Callable[[int, int], str], kind: RejectionKind) -> None:
        for place, (size, walltime) in enumerate(
            zip(left_out.sizes.tolist(), left_out.walltimes.tolist(), strict=True)
        ):
            layout = left_out.layout(place)
            text = why(size, walltime)
            rejected.append(Rejected(name, size, text if layout is None else f"as {layout}: {text}", kind, unit))

    sizes = application.sizes(availability.processors)
    layouts: tuple[Layout, ...] | None = None
    if application.is_laid_out and isinstance(availability, LaidOut):
        sizes, layouts, uneven, most = _laid_out(application, sizes, availability)
        rejected += [Rejected(name, size, application.why_uneven(size, most), "constraint", unit) for size in uneven]
    times = application.execution_times(sizes, limits.speed, layouts)
    asked = _Asked(sizes, times, application.walltimes(times), layouts)
    known = times > 0
    reject(asked.kept(~known), lambda size, walltime: f"{application.model.name} has no time for this size", "no time")
    asked = asked.kept(known)
    within = asked.walltimes <= LONGEST
    reject(
        asked.kept(~within),
        lambda size, walltime: f"its walltime of {walltime} s is above {LONGEST} s (136 years), the longest possible",
        "constraint",
    )
    asked = asked.kept(within)
    if limits.max_processors is not None:
        most = limits.max_processors
        too_many = asked.sizes > most
        why = f"above the scheduler's limit of {most} {application.counted}"
        reject(asked.kept(too_many), lambda size, walltime: why, "limit")
        asked = asked.kept(~too_many)
    if limits.max_walltime is not None:
        longest = limits.max_walltime
        too_long = asked.walltimes > longest
        reject(
            asked.kept(too_long),
            lambda size, walltime: (
                f"its walltime of {duration_text(walltime, exact=True)} is above the scheduler's limit of "
                f"{duration_text(longest, exact=True)}"
            ),
            "limit",
        )
        asked = asked.kept(~too_long)

    anchors = _anchors(availability, asked, first, algorithm)
    possible = anchors != NEVER
    never = asked.kept(~possible)
    for place, (p, w) in enumerate(zip(never.sizes.tolist(), never.walltimes.tolist(), strict=True)):
        layout = never.layout(place)
        said = availability.why_never(p, w, layout) if isinstance(availability, NodeAvailability) else ""
        said = said or f"never free for {duration_text(w)} in this list"
        rejected.append(Rejected(name, p, said if layout is None else f"as {layout}: {said}", "no hole", unit))
    return _sorted(asked.kept(possible), anchors[possible], name, availability.kind, unit), rejected


def _sorted(asked: _Asked, starts: NDArray[np.int64], name: str, kind: Kind, unit: SizeUnit) -> list[Candidate]:
    """Return the requests with their starts as candidates of one scheduler, best first."""
    layouts = asked.layouts
    nodes = np.zeros(len(starts), np.int64) if layouts is None else np.array([one.nodes for one in layouts], np.int64)
    order = np.lexsort((starts, nodes, asked.sizes, starts + asked.times))  # by the last key first; stable
    columns = (column[order].tolist() for column in (asked.sizes, asked.walltimes, asked.times, starts))
    if layouts is None:
        return [Candidate(name, p, w, t, s, kind, unit) for p, w, t, s in zip(*columns, strict=True)]
    places = [layouts[at] for at in order.tolist()]
    return [Candidate(name, p, w, t, s, kind, unit, one) for p, w, t, s, one in zip(*columns, places, strict=True)]


def counts_processors(name: str, application: Application) -> str:
    """Return in words that a scheduler accepts only a number of processors, and the way out."""
    unit = application.unit
    what = f'counts {application.counted} (unit = "{unit}")' if unit != "processors" else "has [resources]"
    if isinstance(application.model, LayoutModel):
        what = f"depends on nodes ({application.model.name})"
    return (
        f"{name}: accepts only a number of processors, but {application.name} {what}; plan it on Slurm, or write an "
        "application file in processors for this scheduler"
    )


def _laid_out(
    application: Application, sizes: NDArray[np.int64], machine: LaidOut
) -> tuple[NDArray[np.int64], tuple[Layout, ...], list[int], int]:
    """Return each size in each of its layouts, the sizes without a layout, and the units of the largest node."""
    largest = {device: machine.largest_node(device) for device in application.devices}
    found: list[tuple[int, Layout]] = []
    uneven: list[int] = []
    for size in sizes.tolist():
        layouts = application.layouts(size, {device: most for device, most in largest.items() if most > 0})
        found += [(size, one) for one in layouts]
        uneven += [] if layouts else [size]
    sizes = np.array([size for size, _ in found], np.int64)
    return sizes, tuple(one for _, one in found), uneven, max(largest.values(), default=0)


def _anchors(
    availability: Availability, requests: Requests | _Asked, first: int, algorithm: Algorithm
) -> NDArray[np.int64]:
    """Return the earliest start of each request, NEVER if there is none."""
    sizes, walltimes = requests.sizes, requests.walltimes
    if isinstance(requests, _Asked) and requests.layouts is not None and isinstance(availability, LaidOut):
        return availability.anchors_of(sizes.tolist(), walltimes.tolist(), requests.layouts, first)
    if algorithm == "exact" and len(sizes):
        return availability.anchors(sizes, walltimes, first)
    anchors = np.empty(len(sizes), np.int64)
    if len(sizes):
        from gas.walk import EVERY, walk

        profile = availability.profile
        fastest(walk, len(profile.starts) * len(sizes))(profile, sizes, walltimes, first, anchors, EVERY)
    return anchors


def _not_allowed(application: Application, scheduler: str, machine: int) -> list[Rejected]:
    """Return the counts that the application's author named, or would expect next, and that are not possible."""
    known, wanted, unit = application.model.sizes, application.constraint.sizes, application.unit
    named = set(known or ()) | set(wanted or ())
    if known is not None and application.is_sparse:
        named |= set(application.permitted(min(machine, max(known))).tolist())
    if known is None and application.is_sparse:
        named |= {2 ** machine.bit_length(), (math.isqrt(machine) + 1) ** 2}
    smallest = application.constraint.minimum
    if known is None and smallest is not None and smallest > machine:
        named.add(smallest)
    rejected = []
    for size in sorted(named):
        if why := application.refusal(size):
            if size in (known or ()) or size in (wanted or ()):
                rejected.append(Rejected(scheduler, size, f"constraint: {why}", "constraint", unit))
        elif size > machine:
            why = f"the machine has only {machine} {application.counted}"
            rejected.append(Rejected(scheduler, size, why, "machine", unit))
        elif known is not None and size not in known:
            rejected.append(
                Rejected(scheduler, size, f"{application.model.name} has no time for this size", "no time", unit)
            )
    return rejected


def _affordable(
    candidates: list[Candidate], deadline: int | None, max_processor_hours: float | None
) -> tuple[list[Candidate], list[Rejected]]:
    """Split the candidates by the user's limits on wait and cost; rejected ones that miss by least come first."""
    if deadline is None and max_processor_hours is None:
        return candidates, []
    kept: list[Candidate] = []
    late: list[Candidate] = []
    expensive: list[Candidate] = []
    for c in candidates:
        if deadline is not None and c.finish > deadline:
            late.append(c)
        elif max_processor_hours is not None and c.processor_seconds > round(max_processor_hours * 3600, 6):
            expensive.append(c)
        else:
            kept.append(c)
    refused = []
    for c in sorted(late, key=lambda c: c.finish):
        by = duration_text(c.finish - (deadline or 0))
        refused.append(Rejected(c.scheduler, c.processors, f"would finish {by} after the deadline", "deadline", c.unit))
    for c in sorted(expensive, key=lambda c: c.processor_seconds):
        hours = f"{UNIT_NOUNS[c.unit]}-hours"
        used = f"{c.processor_seconds / 3600:.4g} {hours}, above the {max_processor_hours:g} allowed"
        refused.append(Rejected(c.scheduler, c.processors, f"would use {used}", "cost", c.unit))
    return kept, refused
