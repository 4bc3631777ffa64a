"""The planner: of all requests that an application could make, the one that finishes first.

For every allowed processor count p, with walltime w(p), it takes the earliest start s such that the availability list
has p free throughout [s, s + w(p)); the candidate finishes at s + t(p). The least finish wins; ties go to fewer
processors, then the earlier start, then the order in which schedulers were named (`gas guide formats`). It is
exact, and pure: lists in, `Plan` out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from documents.fields import finite_number
from gas.application import Application, Requests
from gas.availability import Availability, AvailabilityList, Kind, NodeAvailability
from gas.compiled import fastest
from gas.errors import BadInput
from gas.profile.flat import NEVER
from gas.times import LATEST, LONGEST, duration_text, iso_time

__all__ = [
    "FASTEST",
    "SCHEMA",
    "SLOWEST",
    "Algorithm",
    "Candidate",
    "Limits",
    "Plan",
    "Rejected",
    "Requests",
    "plan",
    "soonest",
]

SCHEMA = "gas.plan/1"

SLOWEST, FASTEST = 0.001, 1000.0
"""The range of `Limits.speed`: no two machines lie further apart, but mistaken units do."""

Algorithm = Literal["exact", "walk"]

RejectionKind = Literal["constraint", "machine", "no time", "limit", "no hole", "deadline", "cost"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One request that could be made; times in epoch seconds, durations in seconds on that scheduler's machine."""

    scheduler: str
    processors: int
    walltime: int
    execution_time: int
    start: int
    kind: Kind

    @property
    def finish(self) -> int:
        """When the application is expected to end."""
        return self.start + self.execution_time

    @property
    def processor_seconds(self) -> int:
        """What the run is expected to use up of an allocation."""
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
        }


@dataclass(frozen=True, slots=True)
class Rejected:
    """A processor count that was looked at and is impossible, and why."""

    scheduler: str
    processors: int
    reason: str
    kind: RejectionKind = "constraint"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a scheduler accepts from one request, beyond the size of its machine, and how fast that is.

    Attributes
    ----------
    speed
        How many times as fast an application runs there as its file says, from `SLOWEST` to `FASTEST`: its execution
        times are divided by this, and walltimes follow from them.
    """

    max_processors: int | None = None
    max_walltime: int | None = None
    speed: float = 1.0

    def __post_init__(self) -> None:
        finite_number(self.speed, "speed", minimum=SLOWEST, maximum=FASTEST)


@dataclass(frozen=True)
class Plan:
    """What the planner found: `best` (None if nothing is possible) and everything that it looked at.

    `candidates` stand best first, by finish, processors, start and the order of the schedulers; `best` is the first
    of them unless a tolerance asked for a smaller one.
    """

    application: str
    algorithm: Algorithm
    now: int
    best: Candidate | None
    candidates: list[Candidate]
    rejected: list[Rejected] = field(default_factory=list)

    def turnaround(self, candidate: Candidate) -> int:
        """Return how many seconds from now the candidate finishes."""
        return candidate.finish - self.now

    def score(self, candidate: Candidate) -> int:
        """Return what is to be least: when it finishes."""
        return candidate.finish

    @property
    def undominated(self) -> list[Candidate]:
        """The candidates than which none both finishes as early and uses as few processor-hours, by finish.

        Of two that are alike in both, the first is one.
        """
        front: list[Candidate] = []
        for candidate in sorted(self.candidates, key=lambda c: (self.score(c), c.processor_seconds)):
            if not front or candidate.processor_seconds < front[-1].processor_seconds:
                front.append(candidate)
        return front

    def why_lost(self, candidate: Candidate) -> str:
        """Return in words what the best candidate has over this one."""
        best = self.best
        if best is None or candidate == best:
            return "best"
        if candidate.finish > best.finish:
            return f"finishes {duration_text(candidate.finish - best.finish)} later"
        if candidate.finish < best.finish:
            sooner = duration_text(best.finish - candidate.finish)
            return f"finishes {sooner} sooner, within the tolerance, on more processors"
        if candidate.processors > best.processors:
            return "finishes at the same instant on more processors"
        if candidate.start > best.start:
            return "finishes at the same instant, starts later"
        return "the same on a scheduler named later"

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
        One list or several, in the order in which ties are decided. Nothing starts before the latest of their
        instants, so that an old list gains nothing from its age.
    not_before, deadline
        Epoch seconds: no start before, no expected finish after.
    max_processor_hours
        The most that the run may be expected to use up.
    tolerance
        0.05 takes the fewest processors among the candidates whose turn-around time is within 5% of the best.
    algorithm
        "exact", or "walk" for the paper's Fig. 4.3.
    limits
        By scheduler, what it accepts from one request, and how fast it is.

    Raises
    ------
    BadInput
        No list at all, two of one name, or an option out of range.
    """
    lists = [availability] if isinstance(availability, (AvailabilityList, NodeAvailability)) else list(availability)
    if not lists:
        raise BadInput("no availability list to plan with; name at least one scheduler")
    names = [a.scheduler for a in lists]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f'two availability lists come from a scheduler called "{name}"; give each its own name')
    if algorithm not in get_args(Algorithm):
        raise BadInput(f'algorithm "{algorithm}" is not known; there are {" and ".join(get_args(Algorithm))}')
    if not_before is not None and not_before > LATEST:
        raise BadInput(f"not-before {not_before}: is after {LATEST}, the last instant possible")
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
    candidates.sort(key=lambda c: (c.finish, c.processors, c.start, order[c.scheduler]))
    candidates, refused = _affordable(candidates, deadline, max_processor_hours)
    rejected += refused
    best = candidates[0] if candidates else None
    if best is not None and tolerance > 0:
        latest = now + round((best.finish - now) * (1 + tolerance), 6)  # 20 s and 15% are 23 s, not 22.999999999999996
        near = [c for c in candidates if c.finish <= latest]
        best = min(near, key=lambda c: (c.processors, c.finish, c.start, order[c.scheduler]))
    return Plan(application.name, algorithm, now, best, candidates, rejected)


def soonest(requests: Requests, availability: Availability, first: int | None = None) -> Candidate | None:
    """Return the request that finishes first, None if none fits: the `best` of a `plan` without all that it explains.

    For who plans ten thousand times.

    Parameters
    ----------
    requests
        See `Application.requests`; for a machine of another speed, with that.
    first
        Epoch second before which nothing starts; the list's own instant if None.
    """
    if len(requests.sizes) == 0:
        return None
    anchors = _anchors(availability, requests, availability.now if first is None else first, "exact")
    finish = np.where(anchors == NEVER, -NEVER, anchors + requests.times)
    at = int(np.argmin(finish))  # the first of the least: sizes ascend, so that ties go to fewer processors
    if anchors[at] == NEVER:
        return None
    size, time, walltime = (int(column[at]) for column in requests)
    return Candidate(availability.scheduler, size, walltime, time, int(anchors[at]), availability.kind)


def _plan_one(
    application: Application, availability: Availability, first: int, algorithm: Algorithm, limits: Limits
) -> tuple[list[Candidate], list[Rejected]]:
    """Return the candidates of one scheduler, and the counts that it cannot take."""
    name = availability.scheduler
    rejected = _not_allowed(application, name, availability.processors)
    sizes = application.sizes(availability.processors)
    times = application.execution_times(sizes, limits.speed)
    keep = times > 0
    unknown = f"{application.model.name} has no time for it"
    rejected += [Rejected(name, p, unknown, "no time") for p in sizes[~keep].tolist()]
    sizes, times = sizes[keep], times[keep]
    walltimes = application.walltimes(times)

    within = walltimes <= LONGEST
    rejected += [
        Rejected(name, p, f"its walltime of {w} s is above {LONGEST} s (136 years), the longest possible")
        for p, w in zip(sizes[~within].tolist(), walltimes[~within].tolist(), strict=True)
    ]
    if limits.max_processors is not None:
        too_many = within & (sizes > limits.max_processors)
        rejected += [
            Rejected(name, p, f"above the scheduler's limit of {limits.max_processors} processors", "limit")
            for p in sizes[too_many].tolist()
        ]
        within &= ~too_many
    if limits.max_walltime is not None:
        too_long = within & (walltimes > limits.max_walltime)
        rejected += [
            Rejected(
                name, p, f"its walltime of {w} s is above the scheduler's limit of {limits.max_walltime} s", "limit"
            )
            for p, w in zip(sizes[too_long].tolist(), walltimes[too_long].tolist(), strict=True)
        ]
        within &= ~too_long
    sizes, times, walltimes = sizes[within], times[within], walltimes[within]

    anchors = _anchors(availability, Requests(sizes, times, walltimes), first, algorithm)
    candidates = []
    for p, t, w, s in zip(sizes.tolist(), times.tolist(), walltimes.tolist(), anchors.tolist(), strict=True):
        if s == NEVER:
            why = availability.why_never(p, w) if isinstance(availability, NodeAvailability) else ""
            rejected.append(Rejected(name, p, why or f"no hole: never free for {w} s in this list", "no hole"))
        else:
            candidates.append(Candidate(name, p, w, t, s, availability.kind))
    return candidates, rejected


def _anchors(availability: Availability, requests: Requests, first: int, algorithm: Algorithm) -> NDArray[np.int64]:
    """Return the earliest start of each request, NEVER where there is none."""
    sizes, walltimes = requests.sizes, requests.walltimes
    if algorithm == "exact" and len(sizes):
        return availability.anchors(sizes, walltimes, first)
    anchors = np.empty(len(sizes), np.int64)
    if len(sizes):
        from gas.walk import walk

        profile = availability.profile
        fastest(walk, len(profile.starts) * len(sizes))(profile, sizes, walltimes, first, anchors)
    return anchors


def _not_allowed(application: Application, scheduler: str, machine: int) -> list[Rejected]:
    """Return the counts that the application's author named, or would expect next, and that cannot be taken."""
    known, wanted = application.model.sizes, application.constraint.sizes
    named = set(known or ()) | set(wanted or ())
    if known is not None and application.is_sparse:
        named |= set(application.permitted(min(machine, max(known))).tolist())
    if known is None and application.is_sparse:
        named |= {2 ** machine.bit_length(), (math.isqrt(machine) + 1) ** 2}
    rejected = []
    for size in sorted(named):
        if why := application.refusal(size):
            if size in (known or ()) or size in (wanted or ()):
                rejected.append(Rejected(scheduler, size, f"constraint: {why}", "constraint"))
        elif size > machine:
            rejected.append(Rejected(scheduler, size, f"machine too small: it has {machine} processors", "machine"))
        elif known is not None and size not in known:
            rejected.append(Rejected(scheduler, size, f"{application.model.name} has no time for it", "no time"))
    return rejected


def _affordable(
    candidates: list[Candidate], deadline: int | None, max_processor_hours: float | None
) -> tuple[list[Candidate], list[Rejected]]:
    """Part the candidates by what the user wants to wait and to spend; those that miss by least come first."""
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
        refused.append(Rejected(c.scheduler, c.processors, f"would finish {by} after the deadline", "deadline"))
    for c in sorted(expensive, key=lambda c: c.processor_seconds):
        used = f"{c.processor_seconds / 3600:.4g} processor-hours, above the {max_processor_hours:g} allowed"
        refused.append(Rejected(c.scheduler, c.processors, f"would use {used}", "cost"))
    return kept, refused
