"""Availability of resources from OAR's Gantt chart, by the rules of its scheduler.

- Waiting jobs that the scheduler plans after a new one (`gas.endpoints.oar.order`) do not delay it.
- Besteffort jobs are killed for others, so they hold nothing, unless the planned job is one itself.
- A job keeps its resources, so each is identified by its number: two cores of a host, one free before and one after an
  instant, do not make a core that is free throughout. Units are what requests count: resources, or all of them with the
  same value of a property (a core with two threads, a host). A unit is free while all of its resources are.
- Units of a host that are taken at exactly the same times become one node of the `NodeAvailability`: nothing is lost,
  and a machine of many cores becomes as few nodes as its chart has stripes.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from documents.fields import nearest, quoted
from gas.availability import Spans
from gas.endpoints.oar.availability import Charted, Nested, OarAvailability
from gas.endpoints.oar.chart import DELIVERED, Chart, Span
from gas.endpoints.oar.hierarchy import Hierarchy
from gas.endpoints.oar.machine import Job, Machine, Resource
from gas.endpoints.oar.order import Policy, order_of
from gas.endpoints.oar.quotas import Held, JobNames, Quota, Quotas, exceeded_in
from gas.errors import BadInput, Infeasible
from gas.profile.flat import ENDLESS

__all__ = ["Interpretation", "Rules", "interpret"]


@dataclass(frozen=True)
class Rules:
    """The published rules of the site's scheduler, and properties of this endpoint's jobs.

    Attributes
    ----------
    chart
        The rules of its chart.
    standby
        Whether absent resources that OAR can wake count.
    queue, project, kinds
        Queue and project of jobs, and their types.
    policy
        The order of the queue; None if it must be inferred from its jobs.
    priorities
        Priorities of the queues; None for OAR's defaults.
    quotas
        The site's quotas; None if they cannot be read.
    """

    chart: Chart = DELIVERED
    standby: bool = False
    queue: str = "default"
    project: str = "default"
    kinds: tuple[str, ...] = ()
    policy: Policy | None = None
    priorities: Mapping[str, int] | None = None
    quotas: tuple[Quota, ...] | None = None

    @property
    def besteffort(self) -> bool:
        """Whether the planned job is a besteffort job: it kills no others."""
        return self.queue == "besteffort" or "besteffort" in self.kinds


@dataclass(frozen=True)
class Interpretation:
    """The availability of a machine, and what planning needs.

    Attributes
    ----------
    unplanned
        Numbers of waiting jobs without a plan.
    remarks
        Remarks on its reliability, as sentences.
    """

    availability: OarAvailability
    unplanned: tuple[int, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class _Unit:
    """The unit of requests: resources that are only allocated together."""

    path: tuple[str, ...]
    host: str
    resources: tuple[int, ...]
    until: int


def interpret(machine: Machine, resource: str = "resource_id", rules: Rules | None = None) -> Interpretation:
    """Return the availability of a machine, and the jobs that are not in its chart.

    Parameters
    ----------
    resource
        The unit of a request's processors: ``resource_id``, ``core``, ``nodes`` or another property of the site, or
        levels of them (`gas.endpoints.oar.hierarchy`).

    Raises
    ------
    BadInput
        The resources have no such property.
    Infeasible
        No job starts on any of them.
    """
    rules = Rules() if rules is None else rules
    hierarchy = Hierarchy.of(resource)
    units, left_out = _units(machine, hierarchy, rules.standby)
    if not units:
        states = ", ".join(f"{count} {state}" for state, count in sorted(left_out.items()))
        if not states:
            raise Infeasible(
                f"{machine.name}: has no resources for jobs, or none that match the endpoint's `properties`; oarnodes "
                "lists the properties of each resource"
            )
        raise Infeasible(
            f"{machine.name}: no job can start, since none of its resources is usable ({states}); oarnodes -s shows "
            "their states"
        )
    order = order_of(machine, rules.queue, policy=rules.policy, priorities=rules.priorities, chart=rules.chart)
    ahead = [job for job in machine.jobs if job.id not in order.behind and (rules.besteffort or not job.besteffort)]
    if rules.besteffort:
        ahead = _with_resources(ahead, machine, rules)
    taken = [rules.chart.joined(spans) for spans in _chart(machine, ahead, units, rules)]
    unplanned = [job for job in ahead if job.waiting and (job.expected is None or not job.resources)]
    quotas, about_quotas = _quotas(machine, ahead, order.sequence, rules)
    about = (
        [
            "besteffort jobs are planned with 5 minutes, whatever they request, and killed when others need their "
            "resources"
        ]
        if rules.besteffort
        else []
    )
    remarks = (
        *order.remarks, *about_quotas, *about, *_remarks_on_jobs(unplanned), *_remarks_on_resources(left_out),
    )  # fmt: skip
    availability = _availability(machine, hierarchy, units, taken, rules, quotas)
    return Interpretation(availability, tuple(job.id for job in unplanned), remarks)


def _availability(
    machine: Machine,
    hierarchy: Hierarchy,
    units: Sequence[_Unit],
    taken: Sequence[tuple[Span, ...]],
    rules: Rules,
    quotas: Quotas | None,
) -> OarAvailability:
    """Return the availability of units that are taken in these spans."""
    security = rules.chart.security_time
    nested = None
    names: Sequence[str]
    if len(hierarchy.levels) == 1:
        nodes: Counter[tuple[str, tuple[Span, ...]]] = Counter()
        for unit, spans in zip(units, taken, strict=True):
            nodes[unit.host, spans] += 1
        capacity, names = list(nodes.values()), _names([host for host, _ in nodes])
        rows = [
            (place, start - security, end, count)
            for place, ((_, spans), count) in enumerate(nodes.items())
            for start, end in spans
        ]
        version = repr(sorted(nodes.items()))
    else:
        charted = [
            Charted(unit.path, tuple((start - security, end) for start, end in spans))
            for unit, spans in zip(units, taken, strict=True)
        ]
        nested = Nested(hierarchy, tuple(charted))
        most = hierarchy.most([unit.path for unit in units])
        if most == 0:
            raise Infeasible(f"{machine.name} cannot hold one {hierarchy.name} of {hierarchy.text(1)}")
        steps = [*nested.steps(machine.now), (ENDLESS, most)]
        rows = [(0, start, end, most - free) for (start, free), (end, _) in itertools.pairwise(steps) if free < most]
        capacity, names, version = [most], [], repr(sorted((one.path, one.taken) for one in charted))
    largest = max(len(unit.resources) for unit in units) * hierarchy.inside * hierarchy.outside
    return OarAvailability(
        machine.name,
        "estimate",
        machine.now,
        hashlib.sha256(version.encode()).hexdigest()[:16],
        np.array(capacity, np.int64),
        Spans.of(rows),
        tuple(names),
        duration=rules.chart.besteffort_seconds - security if rules.besteffort else None,
        quotas=quotas,
        resources_each=largest,
        nested=nested,
    )


# ------------------------------------------------------------------------------------------------ units


def _units(machine: Machine, hierarchy: Hierarchy, standby: bool) -> tuple[list[_Unit], Counter[str]]:
    """Return the usable units, in the order of their resources, and the number of resources left out by reason.

    A unit with an unusable part is not allocated; dead parts are ignored.
    """
    parts: defaultdict[tuple[str, ...], list[Resource]] = defaultdict(list)
    known: set[str] = {"resource_id"}
    left_out: Counter[str] = Counter()
    for one in machine.resources:
        known |= one.properties.keys()
        path = tuple(str(one.id) if key == "resource_id" else one.properties.get(key, "") for key in hierarchy.keys)
        if one.kind != "default" or one.desktop:
            continue
        if one.state == "Dead":
            left_out["dead"] += 1
        elif all(path):
            parts[path].append(one)
    for key in hierarchy.keys:
        if key not in known:
            problem = f"{machine.name}: its resources have no property {quoted(key)} (`resource` in its table)"
            raise BadInput(f"{problem}{nearest(key, known)}")
    units = []
    for path, resources in parts.items():
        why = [_why_not(one, machine.now, standby) for one in resources]
        if any(why):
            left_out.update(one or "usable, but in a unit with an unusable part" for one in why)
            continue
        until = min(one.until if one.until and standby else ENDLESS for one in resources)
        units.append(_Unit(path, resources[0].host, tuple(one.id for one in resources), until))
    return units, left_out


def _why_not(resource: Resource, now: int, standby: bool) -> str:
    """Return why no job starts on a resource; empty if jobs do.

    An absent resource is in standby if it has a time until which OAR may wake it. Without one, the default, it has
    probably been removed; but with energy saving, OAR wakes it too (``get_gantt_hostname_to_wake_up``).
    """
    if resource.draining:
        return "draining"
    if resource.state == "Absent" and (resource.until is None or resource.until > now):
        return "" if standby else "absent" if resource.never_halted else "in standby"
    return "" if resource.state == "Alive" else resource.state.lower()


# ------------------------------------------------------------------------------------------------ the chart


def _chart(machine: Machine, ahead: Iterable[Job], units: Sequence[_Unit], rules: Rules) -> list[list[Span]]:
    """Return the spans in which each unit is taken by earlier planned jobs, until the next job can start."""
    unit_of = {id: place for place, unit in enumerate(units) for id in unit.resources}
    chart: list[list[Span]] = [[] if unit.until == ENDLESS else [(unit.until, ENDLESS)] for unit in units]
    for job in ahead:
        span = rules.chart.span(job, machine.now)
        if span is not None:
            for place in {unit_of[id] for id in job.resources if id in unit_of}:
                chart[place].append(span)
    return chart


def _with_resources(jobs: Sequence[Job], machine: Machine, rules: Rules) -> list[Job]:
    """Return jobs with the resources planned for besteffort jobs, which OAR's commands do not show.

    They are the first free ones at that time, in OAR's order (SCHEDULER_RESOURCE_ORDER).
    """
    ordered = sorted(
        (one for one in machine.resources if one.state == "Alive" and one.kind == "default"),
        key=lambda one: (one.host, one.id),
    )
    spans: defaultdict[int, list[Span]] = defaultdict(list)
    for job in jobs:
        span = rules.chart.span(job, machine.now)
        for id in job.resources if span is not None else ():
            spans[id].append(span)  # type: ignore[arg-type]
    found = []
    for job in sorted(jobs, key=lambda one: (one.waiting, one.expected or 0, one.id)):
        span = rules.chart.span(job, machine.now)
        if span is None or job.resources or not (job.waiting and job.besteffort):
            found.append(job)
            continue
        free = [
            one for one in ordered if all(end <= span[0] or start >= span[1] for start, end in spans[one.id])
        ]  # fmt: skip
        taken = tuple(one.id for one in free[: _planned_size(job)])
        for id in taken:
            spans[id].append(span)
        found.append(replace(job, resources=taken))
    return found


def _planned_size(job: Job) -> int:
    """Return the number of resources planned for a waiting job, from OAR's message to it."""
    match = re.match(r"R=(\d+),", job.message)
    return int(match[1]) if match else 1


def _names(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each node: that of its host, with a number if the host is split into several nodes."""
    times = Counter(hosts)
    seen: Counter[str] = Counter()
    names = []
    for host in hosts:
        seen[host] += 1
        names.append(host if times[host] == 1 else f"{host}#{seen[host]}")
    return tuple(names)


# ------------------------------------------------------------------------------------------------ quotas


def _quotas(
    machine: Machine, ahead: Iterable[Job], sequence: Sequence[int], rules: Rules
) -> tuple[Quotas | None, list[str]]:
    """Return the known quotas that a job must keep, and remarks on them."""
    messages = [job.message for job in machine.jobs if job.queue == rules.queue]
    seen = exceeded_in(messages)
    known = rules.quotas if rules.quotas is not None else seen
    remarks = []
    if rules.quotas is None and (any("quota_" in one for one in messages) or not any(messages)):
        remarks.append(
            "its scheduler may have quotas, which cannot be read here (scheduler_quotas.conf; give a copy as `quotas` "
            "in the endpoint's table): jobs at a quota start later"
        )
    if not known or not machine.user:
        return None, remarks
    kinds = (*rules.kinds, "besteffort") if rules.besteffort and "besteffort" not in rules.kinds else rules.kinds
    new_job = JobNames(rules.queue, rules.project, kinds, machine.user)
    turn = {id: place for place, id in enumerate(sequence)}
    ordered = sorted(ahead, key=lambda job: (turn.get(job.id, -1), job.start or job.expected or 0, job.id))
    quotas = Quotas.of(known, new_job, _held(machine, ordered, rules), rules.chart.security_time)
    if not quotas.rules:
        return None, remarks
    for quota, held in zip(quotas.rules, quotas.held, strict=True):
        busy = [one for one in held if one.start <= machine.now]
        remarks.append(
            f"quota {quota} applies to you (resources, jobs, resource-hours at a time); now {len(busy)} jobs have "
            f"{sum(one.resources for one in busy)} resources of it"
        )
    return quotas, remarks


def _held(machine: Machine, ahead: Iterable[Job], rules: Rules) -> list[Held]:
    """Return what jobs hold, as counted by quotas."""
    usual = {one.id for one in machine.resources if one.kind == "default"}
    found = []
    for job in ahead:
        span = rules.chart.span(job, machine.now)
        if span is None or "container" in job.types:
            continue
        names = JobNames(job.queue, job.project, tuple(one.split("=")[0] for one in job.types), job.user)
        seconds = span[1] - span[0] - rules.chart.security_time - 1
        resources = sum(id in usual for id in job.resources)
        found.append(Held(names, resources, span[0], seconds))
    return found


# ------------------------------------------------------------------------------------------------ remarks


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
