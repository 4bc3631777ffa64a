"""Coallocation: one application on several machines at once, if it finishes sooner than on any single machine.

Its parts start at the same instant and have the same run time: t(P) of all P processors together, at the speed of the
slowest machine involved, times a factor for communication between machines. The total P satisfies the application's
constraint; a part is any number of processors from 1 on. Only machines that promise their starts take part: an estimate
that slips would leave the other parts waiting (Cirne & Berman 1999, section 6.1).

`coallocate` is exact: of all single machines and all combinations of at most `most` machines it finds the request that
finishes first; ties go to fewer machines, then fewer processors, then the earlier start. It needs no search over sets
of machines: for a given start and walltime, the best set of `most` machines is the `most` with the largest numbers of
processors free throughout. So its effort is proportional to sizes × instants at which processors become free ×
machines, and is bounded by `MOST_STEPS`. Pure: lists in, `CoallocatedPlan` out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.application import Application, Requests
from gas.availability import Availability, AvailabilityList, NodeAvailability
from gas.compiled import fastest, kernel
from gas.errors import BadInput
from gas.planner import Candidate, Limits, Plan, counts_processors, plan
from gas.printable import many
from gas.profile.flat import NEVER
from gas.times import LATEST, LONGEST, duration_text, iso_time, relative_text

__all__ = [
    "COST",
    "MOST_COST",
    "MOST_MACHINES",
    "MOST_STEPS",
    "SCHEMA",
    "CoallocatedPlan",
    "Coallocation",
    "coallocate",
    "together",
]

SCHEMA = "gas.coallocation/1"

COST = 1.25
"""Factor by which an application runs longer on several machines than on as many processors of one of them.

Ernemann et al. found jobs over several sites worth while up to about 25% more execution time (On Advantages of Grid
Computing for Parallel Job Scheduling, CCGrid 2002). It depends on the application and the network: measure it."""

MOST_COST = 100.0
"""The largest accepted factor."""

MOST_MACHINES = 2
"""The largest number of machines for one application, unless its user allows more."""

MOST_STEPS = 10**9
"""Sizes × instants × machines × parts of one plan, some ten seconds of machine code."""


@dataclass(frozen=True, slots=True)
class Coallocation:
    """Requests to several machines that start together; times in epoch seconds, durations in seconds."""

    parts: tuple[Candidate, ...]

    @property
    def processors(self) -> int:
        """Processors of all parts together."""
        return sum(part.processors for part in self.parts)

    @property
    def start(self) -> int:
        """When all parts start."""
        return self.parts[0].start

    @property
    def walltime(self) -> int:
        """Walltime of each part."""
        return self.parts[0].walltime

    @property
    def execution_time(self) -> int:
        """Execution time of all parts together."""
        return self.parts[0].execution_time

    @property
    def finish(self) -> int:
        """When the application is expected to end."""
        return self.start + self.execution_time

    @property
    def processor_seconds(self) -> int:
        """The expected cost of the run on all machines."""
        return self.processors * self.execution_time

    @property
    def size_text(self) -> str:
        """Its parts in words: "48 processors on A and 16 on B"."""
        first, *others = self.parts
        said = [f"{first.size_text} on {first.scheduler}", *(f"{one.processors} on {one.scheduler}" for one in others)]
        return " and ".join(filter(None, (", ".join(said[:-1]), said[-1])))

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON (`gas guide formats`)."""
        return {
            "processors": self.processors,
            "walltime": self.walltime,
            "execution_time": self.execution_time,
            "processor_seconds": self.processor_seconds,
            "start": self.start,
            "start_iso": iso_time(self.start),
            "finish": self.finish,
            "finish_iso": iso_time(self.finish),
            "parts": [part.to_wire() for part in self.parts],
        }


@dataclass(frozen=True)
class CoallocatedPlan:
    """The best request to a single machine, and the combinations of machines that finish sooner.

    Attributes
    ----------
    single
        The plan with one machine.
    now
        The latest clock of the machines that may be combined; the clock of a machine left out may be far from it.
    combinations
        Combinations that finish sooner than the best single request, best first; one of each total size.
    most, cost
        The largest number of machines, and the factor on the execution time on several machines.
    left_out
        Why a machine takes no part in combinations, by its name.
    silent
        The machines that were named but did not answer.
    """

    single: Plan
    now: int
    combinations: list[Coallocation]
    most: int
    cost: float
    left_out: Mapping[str, str] = field(default_factory=dict)
    silent: Sequence[str] = ()

    @property
    def best(self) -> Coallocation | None:
        """The request that finishes first, with one part on a single machine; None if no request is possible."""
        return self.combinations[0] if self.combinations else self.alone

    @property
    def alone(self) -> Coallocation | None:
        """The best request to a single machine; None if there is none."""
        return None if self.single.best is None else Coallocation((self.single.best,))

    def now_of(self, one: Coallocation) -> int:
        """Return the present time by the clock on which the times of a request are based."""
        return self.now if len(one.parts) > 1 else self.single.now

    @property
    def why(self) -> str:
        """The reason for several machines, or for one, in a sentence that compares both."""
        single, now = self.single.best, self.single.now
        if not self.combinations:
            able = [one.scheduler for one in self.single.lists if one.scheduler not in self.left_out]
            if len(able) < 2:
                only = f"only {able[0]}" if able else "none"
                may = "can take part" if self.left_out else "answered" if self.silent else "is given"
                return f"coallocation needs two or more machines that promise their starts, and {only} {may}"
            if single is None:
                return f"no combination of up to {many(self.most, 'machine')} has room for it either"
            return f"no combination of up to {many(self.most, 'machine')} finishes sooner than {single.scheduler} alone"
        best = self.combinations[0]
        if single is None:
            return "no single machine can run it"
        gain = duration_text(single.finish - now - (best.finish - self.now))
        return (
            f"{gain} sooner than on one machine: {single.size_text} on "
            f"{single.scheduler} would start {relative_text(single.start, now)} and finish "
            f"{relative_text(single.finish, now)}"
        )

    def to_wire(self, endpoints: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """Return the JSON object of schema gas.coallocation/1."""
        return {
            "schema": SCHEMA,
            "application": self.single.application,
            "now": self.now,
            "now_iso": iso_time(self.now),
            "most_machines": self.most,
            "cost": self.cost,
            "best": self.best.to_wire() if self.best else None,
            "why": self.why,
            "combinations": [one.to_wire() for one in self.combinations],
            "left_out": dict(self.left_out),
            "single": self.single.to_wire(endpoints),
        }


def coallocate(
    application: Application,
    availability: Iterable[Availability],
    *,
    most: int = MOST_MACHINES,
    cost: float = COST,
    lead: int = 0,
    not_before: int | None = None,
    deadline: int | None = None,
    max_processor_hours: float | None = None,
    tolerance: float = 0.0,
    limits: Mapping[str, Limits] | None = None,
    without: Mapping[str, str] | None = None,
) -> CoallocatedPlan:
    """Find the request that finishes first, on one machine or on several that start together.

    Parameters
    ----------
    application, availability
        The application, and one list for each machine; `gas.planner.plan` also explains the options not described here.
    most
        The largest number of machines.
    cost
        Factor on the execution time on several machines, from 1 to `MOST_COST`.
    lead
        Seconds from now before which no combination starts, as reserving its parts takes a moment.
    tolerance
        0.05 uses several machines only where one machine would take more than 5% longer.
    without
        Why a machine must not take part in combinations, by its name.

    Raises
    ------
    BadInput
        As `plan`; an option is out of range, the application needs more than processors, or there are more than
        `MOST_STEPS` to try.
    """
    if not 1 <= cost <= MOST_COST:
        raise BadInput(f"cost {cost}: must be from 1 to {MOST_COST:g}; 1.25 is 25% more execution time")
    if most < 2:
        raise BadInput(f"coallocation over {many(most, 'machine')}: allow 2 or more, or plan without it")
    if lead < 0:
        raise BadInput(f"lead {lead}: must be 0 s or more")
    lists = list(availability)
    if application.asks_for_more:
        raise BadInput(counts_processors("coallocation", application))
    single = plan(
        application,
        lists,
        not_before=not_before,
        deadline=deadline,
        max_processor_hours=max_processor_hours,
        tolerance=tolerance,
        limits=limits,
    )
    left_out = {**{one.scheduler: why for one in lists if (why := _why_not(one))}, **(without or {})}
    machines = [one for one in lists if isinstance(one, AvailabilityList) and one.scheduler not in left_out]
    known = {one.scheduler: (limits or {}).get(one.scheduler, Limits()) for one in machines}
    now = max((one.now for one in machines), default=single.now)
    first = max(now + lead, now if not_before is None else not_before)
    before = LATEST if deadline is None else deadline + 1
    if single.candidates:
        soonest = single.candidates[0].finish - single.now
        before = min(before, now + int(round(soonest / (1 + tolerance), 6)))
    best: dict[int, Coallocation] = {}
    for speed in sorted({one.speed for one in known.values()}, reverse=True):
        fast = [one for one in machines if known[one.scheduler].speed >= speed]
        if len(fast) < 2:
            continue
        requests = application.requests(_most_together(fast, known, most), speed / cost)
        if max_processor_hours is not None:
            allowed = requests.sizes * requests.times <= round(max_processor_hours * 3600, 6)
            requests = Requests(*(column[allowed] for column in requests))
        for found in together(requests, fast, first, most=most, before=before, limits=known):
            other = best.get(found.processors)
            if other is None or _key(found) < _key(other):
                best[found.processors] = found
    return CoallocatedPlan(single, now, sorted(best.values(), key=_key), most, cost, left_out)


def _key(found: Coallocation) -> tuple[int, int, int, int]:
    return found.finish, len(found.parts), found.processors, found.start


def _why_not(one: Availability) -> str | None:
    if isinstance(one, NodeAvailability) or one.kind != "promise":
        return "its starts are estimates: if one slipped, the other parts would wait for it"
    return None


def _most_together(machines: Sequence[AvailabilityList], limits: Mapping[str, Limits], most: int) -> int:
    """Return the most processors that one application can get on the `most` largest of the machines."""
    return sum(sorted((_largest_part(one, limits) for one in machines), reverse=True)[:most])


def _largest_part(machine: AvailabilityList, limits: Mapping[str, Limits]) -> int:
    allowed = limits.get(machine.scheduler, Limits()).max_processors
    return machine.processors if allowed is None else min(allowed, machine.processors)


def together(
    requests: Requests,
    machines: Sequence[AvailabilityList],
    first: int,
    *,
    most: int = MOST_MACHINES,
    before: int = LATEST,
    limits: Mapping[str, Limits] | None = None,
) -> list[Coallocation]:
    """Return the earliest common start of each request that several machines can take, in the order of requests.

    A request that a single machine could take at that instant is left out: there it has no cost of communication.

    Parameters
    ----------
    requests
        Processors in total, with the execution times on several of these machines.
    first
        Epoch second of the earliest start.
    before
        Only requests that finish before this instant are of interest.
    limits
        Limits by the name of the machine: `max_processors` limits a part.

    Raises
    ------
    BadInput
        There are more than `MOST_STEPS` to try.
    """
    if len(machines) < 2 or len(requests.sizes) == 0:
        return []
    known = limits or {}
    rows = _Rows.of(machines, first)
    caps = np.array([_largest_part(one, known) for one in machines], np.int64)
    longest = [known.get(one.scheduler, Limits()).max_walltime for one in machines]
    steps = len(requests.sizes) * len(rows.instants) * len(machines) * min(most, len(machines))
    if steps > MOST_STEPS:
        raise BadInput(
            f"coallocation: {len(requests.sizes):,} sizes × {len(rows.instants):,} instants × {len(machines):,} "
            f"machines in up to {most} parts are {steps:,} steps, above the limit of {MOST_STEPS:,}; name fewer "
            "machines or allow fewer parts, or have fewer sizes: a constraint, or min and max in [processors]"
        )
    anchors = np.empty(len(requests.sizes), np.int64)
    shares = np.zeros((len(requests.sizes), len(machines)), np.int64)
    walltimes = np.array([LONGEST if one is None else one for one in longest], np.int64)
    search = fastest(earliest_together, steps)
    search(
        rows.starts, rows.free, rows.begins, rows.instants, caps, walltimes, *requests, most, before, anchors, shares
    )
    found = []
    for place in np.flatnonzero(anchors != NEVER).tolist():
        time, walltime, start = int(requests.times[place]), int(requests.walltimes[place]), int(anchors[place])
        parts = [
            Candidate(machines[at].scheduler, int(shares[place, at]), walltime, time, start, machines[at].kind)
            for at in np.flatnonzero(shares[place]).tolist()
        ]
        if len(parts) > 1:
            found.append(Coallocation(tuple(parts)))
    return found


class _Rows(NamedTuple):
    """The frames of all machines, concatenated: the first of each machine, and the instants of possible starts."""

    starts: NDArray[np.int64]
    free: NDArray[np.int64]
    begins: NDArray[np.int64]
    instants: NDArray[np.int64]

    @classmethod
    def of(cls, machines: Sequence[AvailabilityList], first: int) -> _Rows:
        starts = np.concatenate([one.starts for one in machines])
        begins = np.cumsum([0, *(len(one.starts) for one in machines)])
        instants = np.unique(np.append(starts[starts > first], first))
        return cls(starts, np.concatenate([one.free for one in machines]), begins.astype(np.int64), instants)


@kernel
def earliest_together(
    starts: NDArray[np.int64],
    free: NDArray[np.int64],
    begins: NDArray[np.int64],
    instants: NDArray[np.int64],
    caps: NDArray[np.int64],
    longest: NDArray[np.int64],
    sizes: NDArray[np.int64],
    times: NDArray[np.int64],
    walltimes: NDArray[np.int64],
    most: int,
    before: int,
    anchors: NDArray[np.int64],
    shares: NDArray[np.int64],
) -> None:
    """Write the earliest common start of each request, `NEVER` if there is none, and each machine's share of it.

    The number of processors that stay free on a machine throughout a walltime rises only at the start of one of its
    frames, so that these instants, and the first, are enough. The minimum over the walltime comes from a monotonic
    queue per machine, which each frame enters and leaves once per request.
    """
    machines = len(caps)
    line = np.empty(len(starts), np.int64)
    head, tail, upcoming = np.empty(machines, np.int64), np.empty(machines, np.int64), np.empty(machines, np.int64)
    least, left = np.empty(machines, np.int64), np.empty(machines, np.int64)
    for request in range(len(sizes)):
        size, walltime = sizes[request], walltimes[request]
        anchors[request] = NEVER
        shares[request] = 0
        for machine in range(machines):
            head[machine] = tail[machine] = upcoming[machine] = begins[machine]
        for start in instants:
            if start + times[request] >= before:
                break
            for machine in range(machines):
                last = begins[machine + 1]
                while upcoming[machine] < last and starts[upcoming[machine]] < start + walltime:
                    frame = upcoming[machine]
                    while tail[machine] > head[machine] and free[line[tail[machine] - 1]] >= free[frame]:
                        tail[machine] -= 1
                    line[tail[machine]] = frame
                    tail[machine] += 1
                    upcoming[machine] += 1
                while line[head[machine]] + 1 < last and starts[line[head[machine]] + 1] <= start:
                    head[machine] += 1
                least[machine] = min(free[line[head[machine]]], caps[machine])
                if walltime > longest[machine]:
                    least[machine] = 0
            left[:] = least
            missing = size
            for _ in range(min(most, machines)):
                largest = 0
                for machine in range(1, machines):
                    if left[machine] > left[largest]:
                        largest = machine
                if left[largest] <= 0:
                    break
                part = min(missing, left[largest])
                shares[request, largest] = part
                left[largest] = 0
                missing -= part
                if missing == 0:
                    break
            if missing == 0:
                anchors[request] = start
                break
            shares[request] = 0
