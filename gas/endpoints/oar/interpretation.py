"""From OAR's Gantt chart to when which resources are free, by the rules of its scheduler (GanttHoleStorage.pm).

- A job has its resources from its start until its walltime is over, waiting jobs from their planned start on; the next
  one starts SCHEDULER_JOB_SECURITY_TIME and a second later. What comes before a planned job must be over for that time
  when it begins.
- Between two jobs a hole of at most SCHEDULER_GANTT_HOLE_MINIMUM_TIME is no hole.
- Besteffort jobs are killed for others, so they hold nothing, unless what is planned is one itself.
- A job keeps its resources, so each is known by its number: two cores of a host, one free before and one after, are not
  a core that is free for the whole time. Units are what requests count: resources, or all of them that have the same
  value of a property (a core with two threads, a host). A unit is free while all of its resources are.
- Units of a host that are taken at the very same times become one node of the `NodeAvailability`: nothing is lost, and
  a machine of many cores is as few nodes as its chart has stripes.
"""

from __future__ import annotations

import hashlib
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gas.endpoints.oar.machine import HOLDING, Job, Machine, Resource
from gas.errors import BadInput, Infeasible
from gas.gaps import FOR_EVER
from gas.node_availability import NodeAvailability, Spans
from speedup_models.fields import nearest, quoted

__all__ = [
    "SECURITY_TIME",
    "SHORTEST_HOLE",
    "Condition",
    "Interpretation",
    "condition_of",
    "fulfils",
    "interpret",
    "property_of",
]

SECURITY_TIME = 60
"""SCHEDULER_JOB_SECURITY_TIME if the site has not changed it (oar.conf)."""

SHORTEST_HOLE = 300
"""SCHEDULER_GANTT_HOLE_MINIMUM_TIME, as it is delivered (oar.conf)."""

_TERM = re.compile(r"\s*(\w+)\s*(<>|!=|<=|>=|=|<|>)\s*(?:'([^'\\]*)'|(\d+))\s*", re.ASCII)

_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip

Condition = tuple[tuple[str, str, str], ...]
"""Names of properties, signs and values."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Interpretation:
    """What there is to plan with.

    Attributes
    ----------
    unplanned
        Numbers of waiting jobs that OAR has no plan for.
    remarks
        How sure it is, in sentences for a person.
    """

    availability: NodeAvailability
    unplanned: tuple[int, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class _Unit:
    """What a request counts: resources that are only given together."""

    host: str
    resources: tuple[int, ...]
    until: int


def property_of(resource: str) -> str:
    """Return the property by which units are told apart that requests name so: ``nodes`` are hosts."""
    return "network_address" if resource == "nodes" else resource


def interpret(
    machine: Machine,
    resource: str = "resource_id",
    *,
    security_time: int = SECURITY_TIME,
    shortest_hole: int = SHORTEST_HOLE,
    standby: bool = False,
    besteffort: bool = False,
) -> Interpretation:
    """Return what is free of a machine, and which jobs are not in its chart.

    Parameters
    ----------
    resource
        What a processor is in requests: ``resource_id``, ``core``, ``nodes`` or another property of the site's.
    security_time, shortest_hole
        Seconds, as oar.conf has them.
    standby
        Whether absent resources that OAR can wake count.
    besteffort
        Whether what is planned is a besteffort job: it kills no others.

    Raises
    ------
    BadInput
        The resources have no such property.
    Infeasible
        There is none on which a job starts.
    """
    units, left_out = _units(machine, property_of(resource), standby)
    if not units:
        states = ", ".join(f"{count} {state}" for state, count in sorted(left_out.items())) or "it has none"
        raise Infeasible(f"{machine.name} has no resource on which a job starts ({states})")
    chart = _chart(machine, units, security_time, besteffort)
    nodes: Counter[tuple[str, tuple[Span, ...]]] = Counter()
    for unit, spans in zip(units, chart, strict=True):
        nodes[unit.host, _without_small_holes(spans, shortest_hole)] += 1
    rows = [
        (place, start - security_time, end, count)
        for place, ((_, spans), count) in enumerate(nodes.items())
        for start, end in spans
    ]
    version = hashlib.sha256(repr(sorted(nodes.items())).encode()).hexdigest()[:16]
    availability = NodeAvailability(
        machine.name,
        "estimate",
        machine.now,
        version,
        np.array(list(nodes.values()), np.int64),
        Spans.of(rows),
        _names([host for host, _ in nodes]),
    )
    unplanned = [job for job in machine.jobs if job.waiting and (job.expected is None or not job.resources)]
    if not besteffort:
        unplanned = [job for job in unplanned if not job.besteffort]
    remarks = (*_remarks_on_jobs(unplanned), *_remarks_on_resources(left_out))
    return Interpretation(availability, tuple(job.id for job in unplanned), remarks)


def _units(machine: Machine, key: str, standby: bool) -> tuple[list[_Unit], Counter[str]]:
    """Return the units that jobs can get, in the order of their resources, and how many resources are left out why.

    A unit of which a part cannot be used is not given; a part that is dead is as if it had never been.
    """
    parts: defaultdict[str, list[Resource]] = defaultdict(list)
    known: set[str] = {"resource_id"}
    left_out: Counter[str] = Counter()
    for one in machine.resources:
        known |= one.properties.keys()
        value = str(one.id) if key == "resource_id" else one.properties.get(key, "")
        if one.kind != "default" or one.desktop:
            continue
        if one.state == "Dead":
            left_out["dead"] += 1
        elif value:
            parts[value].append(one)
    if key not in known:
        hint = nearest(key, known)
        raise BadInput(f"{machine.name}: its resources have no property {quoted(key)} (`resource` in its table){hint}")
    units = []
    for resources in parts.values():
        why = [_why_not(one, machine.now, standby) for one in resources]
        if any(why):
            left_out.update(one or "part of a unit that is not whole" for one in why)
            continue
        until = min(one.until if one.until and standby else FOR_EVER for one in resources)
        units.append(_Unit(resources[0].host, tuple(one.id for one in resources), until))
    return units, left_out


def _why_not(resource: Resource, now: int, standby: bool) -> str:
    """Return why no job starts on a resource, empty if one does."""
    if resource.draining:
        return "draining"
    if resource.state == "Absent" and (resource.until is None or resource.until > now):
        return "" if standby else "in standby"
    return "" if resource.state == "Alive" else resource.state.lower()


def _chart(machine: Machine, units: Sequence[_Unit], security_time: int, besteffort: bool) -> list[list[Span]]:
    """Return when each unit is taken, until the next job can start."""
    unit_of = {id: place for place, unit in enumerate(units) for id in unit.resources}
    chart: list[list[Span]] = [[] if unit.until == FOR_EVER else [(unit.until, FOR_EVER)] for unit in units]
    for job in machine.jobs:
        if job.besteffort and not besteffort:
            continue
        span = _span(job, machine.now, security_time)
        if span is not None:
            for place in {unit_of[id] for id in job.resources if id in unit_of}:
                chart[place].append(span)
    return chart


def _span(job: Job, now: int, security_time: int) -> Span | None:
    """Return from when to when a job has its resources, until the next one can start; None if it has none.

    One that should have left already gets a moment more.
    """
    start = job.expected if job.waiting or job.start is None else job.start
    if not job.active or start is None or job.walltime is None:
        return None
    end = start + job.walltime + security_time + 1
    if job.state in HOLDING and end <= now:
        end = now + security_time + 1
    return start, end


def _without_small_holes(spans: Iterable[Span], shortest: int) -> tuple[Span, ...]:
    """Return spans in order, as one where there is no hole between them, or one of at most `shortest` seconds."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start - merged[-1][1] <= shortest:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return tuple(merged)


def _names(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return one name for each node: its host's, with a number where the host is in several pieces."""
    times = Counter(hosts)
    seen: Counter[str] = Counter()
    names = []
    for host in hosts:
        seen[host] += 1
        names.append(host if times[host] == 1 else f"{host}#{seen[host]}")
    return tuple(names)


def _remarks_on_jobs(unplanned: Sequence[Job]) -> list[str]:
    if not unplanned:
        return []
    held = sum(job.state == "Hold" for job in unplanned)
    one = len(unplanned) == 1
    what = "1 waiting job has" if one else f"{len(unplanned)} waiting jobs have"
    which = "" if not held else " (held)" if one else f" ({held} of them held)"
    return [f"{what} no planned start{which}; starts may come later because of {'it' if one else 'them'}"]


def _remarks_on_resources(left_out: Mapping[str, int]) -> list[str]:
    if not left_out:
        return []
    which = ", ".join(f"{count} {state}" for state, count in sorted(left_out.items()))
    hint = "; `standby = true` in its table counts those that OAR wakes" if "in standby" in left_out else ""
    return [f"resources left out: {which}{hint}"]


def condition_of(text: str) -> Condition:
    """Return the comparisons of ``name = 'value' AND other >= 8``, all of which must hold.

    Raises
    ------
    BadInput
        It is more of SQL than that.
    """
    found = []
    for term in re.split(r"\bAND\b", text, flags=re.IGNORECASE):
        match = _TERM.fullmatch(term)
        if match is None:
            raise BadInput(
                f"{quoted(term.strip())}: over REST, conditions are of the form name = 'value' AND other >= 8; "
                "without url, OAR's own commands understand all of SQL"
            )
        found.append((match[1], match[2], match[4] if match[3] is None else match[3]))
    return tuple(found)


def fulfils(resource: Resource, condition: Condition) -> bool:
    """Return whether a resource has what a condition asks for."""
    return all(
        name in resource.properties and _holds(resource.properties[name], sign, value)
        for name, sign, value in condition
    )


def _holds(left: str, sign: str, right: str) -> bool:
    """Return whether a comparison holds, of numbers if both are."""
    numbers = left.isdecimal() and right.isdecimal()
    a, b = ((int(left), ""), (int(right), "")) if numbers else ((0, left), (0, right))
    return _SIGNS[sign](a, b)
