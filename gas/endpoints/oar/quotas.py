"""Quotas of OAR's scheduler: how much of the machine jobs of one queue, project, type or user may hold at a time.

``oar_sched_gantt_with_timesharing_and_fairsharing_and_quotas`` reads them in scheduler_quotas.conf, a file of Perl with
lines like ``$Gantt_quotas->{'*'}->{'proj'}->{'*'}->{'/'} = [80, 10, 200];``: a user's jobs of a project have at most 80
resources, 10 jobs and 200 resource hours at a time. ``*`` is all together, ``/`` each separately. A more specific rule
replaces a less specific one (``check_quotas`` in QuotaStorage.pm, 2.5.9).

A job that would exceed a quota is planned when others have ended; one that exceeds it alone is never planned.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace

from documents.fields import quoted
from gas.errors import BadInput
from gas.profile.flat import NEVER

__all__ = ["FILE", "Held", "JobNames", "Quota", "Quotas", "exceeded_in", "quotas_of"]

FILE = "/etc/oar/scheduler_quotas.conf"
"""The file in which the scheduler looks for them (fixed in its source)."""

_LINE = re.compile(
    r"""\$Gantt_quotas((?:\s*->\s*\{\s*(?:'[^']*'|"[^"]*"|[\w.*/-]+)\s*\}){4})\s*=\s*(\[[^\]]*\]|-?\d+)\s*;""",
    re.DOTALL,
)
_KEY = re.compile(r"""\{\s*(?:'([^']*)'|"([^"]*)"|([\w.*/-]+))\s*\}""")
_EXCEEDED = re.compile(r"quota_exceeded:Gantt_quotas->\{(.*?)\}->\{(.*?)\}->\{(.*?)\}->\{(.*?)\}=.*?>\[([^\]]*)\]")


@dataclass(frozen=True)
class Quota:
    """The limits of one rule; None means no limit.

    Attributes
    ----------
    queue, project, kind, user
        Those to whom it applies; ``*`` for all together and, except for `kind`, ``/`` for each separately.
    """

    queue: str
    project: str
    kind: str
    user: str
    resources: int | None = None
    jobs: int | None = None
    hours: float | None = None

    @property
    def limits(self) -> bool:
        """Whether it limits anything."""
        return (self.resources, self.jobs, self.hours) != (None, None, None)

    def __str__(self) -> str:
        """Return it in the syntax of the file."""
        values = ", ".join("-1" if one is None else f"{one:g}" for one in (self.resources, self.jobs, self.hours))
        keys = "->".join(f"{{{one}}}" for one in (self.queue, self.project, self.kind, self.user))
        return f"{keys} = [{values}]"


@dataclass(frozen=True)
class JobNames:
    """The names under which a job counts."""

    queue: str
    project: str
    kinds: tuple[str, ...]
    user: str


@dataclass(frozen=True)
class Held:
    """The holdings of a job: resources from `start` until the end of its walltime and the security time."""

    names: JobNames
    resources: int
    start: int
    walltime: int


def quotas_of(text: str, source: str) -> tuple[Quota, ...]:
    """Return the quotas of a file.

    Raises
    ------
    BadInput
        It contains anything other than comments and lines of the form above.
    """
    code = "\n".join(line.split("#")[0] for line in text.splitlines())
    rest = _LINE.sub("", code).strip()
    if rest.rstrip("; \n") not in ("", "1", "return 1"):
        raise BadInput(f"{source}: {quoted(rest.splitlines()[0][:80])} is not of the form of OAR's quotas")
    found: dict[tuple[str, ...], Quota] = {}
    for match in _LINE.finditer(code):
        keys = tuple(a or b or c for a, b, c in _KEY.findall(match[1]))
        found[keys] = _quota(keys, match[2].strip("[] \n").split(","), source)
    return tuple(found.values())


def exceeded_in(messages: Iterable[str]) -> tuple[Quota, ...]:
    """Return the quotas in OAR's messages to jobs that exceed them."""
    found: dict[tuple[str, ...], Quota] = {}
    for message in messages:
        for match in _EXCEEDED.finditer(message):
            keys = tuple(match.group(1, 2, 3, 4))
            found[keys] = _quota(keys, match[5].split(","), "a job's message")
    return tuple(found.values())


def _quota(keys: tuple[str, ...], values: list[str], source: str) -> Quota:
    limits = []
    for value in values[:3]:
        try:
            limit = float(value.strip() or "-1")
        except ValueError:
            raise BadInput(f"{source}: {quoted(value.strip())} is not a number, in the quota of {keys}") from None
        limits.append(None if limit < 0 else limit)
    resources, jobs, hours = [*limits, None, None, None][:3]
    return Quota(
        keys[0], keys[1], keys[2], keys[3], None if resources is None else int(resources),
        None if jobs is None else int(jobs), hours,
    )  # fmt: skip


@dataclass(frozen=True)
class _Use:
    """The holdings of jobs that count against a quota, from the start of a step on."""

    resources: int = 0
    jobs: int = 0
    hours: float = 0.0

    def plus(self, resources: int, hours: float) -> _Use:
        return _Use(self.resources + resources, self.jobs + 1, self.hours + max(0.0, hours))


@dataclass(frozen=True)
class Quotas:
    """The quotas that one job must keep, and the holdings that count against each.

    Attributes
    ----------
    security_time
        Seconds that the scheduler adds to walltimes.
    rules
        The quotas.
    held
        For each quota, the holdings of earlier planned jobs that count.
    steps
        Instants at which holdings change, in order, with the use of each quota from then on; the last has no end.
    """

    security_time: int
    rules: tuple[Quota, ...]
    held: tuple[tuple[Held, ...], ...]
    steps: tuple[tuple[int, tuple[_Use, ...]], ...]

    @classmethod
    def of(cls, rules: Iterable[Quota], job: JobNames, held: Iterable[Held], security_time: int) -> Quotas:
        """Return the quotas for a job with some names.

        Parameters
        ----------
        held
            Holdings of the jobs planned before this one, in planning order.
        """
        there = tuple(held)
        holding = tuple(rule for rule in _applicable(tuple(rules), job) if rule.limits)
        counting = [tuple(one for one in there if _counts(rule, job, one.names)) for rule in holding]
        steps: list[tuple[int, list[_Use]]] = [(0, [_Use()] * len(holding))]
        for one in there if holding else ():
            counts = [_counts(rule, job, one.names) for rule in holding]
            _count(steps, one, counts, security_time)
        return cls(security_time, holding, tuple(counting), tuple((at, tuple(uses)) for at, uses in steps))

    def exceeded_alone(self, resources: int, walltime: int) -> Quota | None:
        """Return a quota that a job exceeds alone; None if there is none."""
        alone = _Use().plus(resources, resources * walltime / 3600)
        return next((quota for quota in self.rules if _exceeds(quota, alone)), None)

    def admitted(self, start: int, resources: int, walltime: int) -> int:
        """Return the earliest start, not before `start`, at which a job keeps all quotas; `NEVER` if there is none.

        It must keep them in each step that it overlaps; at the end of a step in which it does not, it is checked again
        (``check_quotas``).
        """
        if self.exceeded_alone(resources, walltime) is not None:
            return NEVER
        own = resources * walltime / 3600
        ends = [at for at, _ in self.steps[1:]]
        for (begin, uses), end in zip(self.steps, ends, strict=False):
            if begin >= start + walltime + self.security_time:
                break
            if start >= end:
                continue
            past = max(0, start - begin)
            if any(
                _exceeds(quota, replace(use.plus(resources, own), hours=use.hours + own - use.resources * past / 3600))
                for quota, use in zip(self.rules, uses, strict=True)
            ):
                start = end
        return start


def _count(steps: list[tuple[int, list[_Use]]], held: Held, counts: list[bool], security_time: int) -> None:
    """Add the holdings of a job to the steps, as OAR's scheduler does (``update_accounting_counters``).

    Resource hours are the remaining ones of a job at the start of a step; but in a step that begins within another one,
    they are those at the other's start.
    """
    start, stop = held.start, held.start + held.walltime + security_time + 1
    for at in (stop, start):
        place = bisect_right(steps, at, key=lambda step: step[0]) - 1
        if place >= 0 and steps[place][0] < at:
            steps.insert(place + 1, (at, list(steps[place][1])))
    for at, uses in steps:
        if start <= at < stop:
            hours = held.resources * (start + held.walltime - at) / 3600
            uses[:] = [
                use.plus(held.resources, hours) if counted else use for use, counted in zip(uses, counts, strict=True)
            ]


def _exceeds(quota: Quota, use: _Use) -> bool:
    return (
        (quota.resources is not None and use.resources > quota.resources)
        or (quota.jobs is not None and use.jobs > quota.jobs)
        or (quota.hours is not None and use.hours > quota.hours)
    )


def _applicable(rules: tuple[Quota, ...], job: JobNames) -> list[Quota]:
    """Return the rules that apply to a job: those with its names, and the general ones that these do not replace."""
    kinds = (*job.kinds, "*")
    tree: dict[str, dict[str, dict[str, dict[str, Quota]]]] = {}
    for rule in (Quota("*", "*", "*", "*"), *rules):
        tree.setdefault(rule.queue, {}).setdefault(rule.project, {}).setdefault(rule.kind, {})[rule.user] = rule

    def any_of(queue: str, projects: Iterable[str], of: Iterable[str]) -> bool:
        """Whether there are rules of a queue for one of these projects, for the user or all users."""
        users = (job.user, "*", "/")
        return any(
            user in tree.get(queue, {}).get(project, {}).get(kind, {})
            for project in projects
            for kind in of
            for user in users
        )

    found = []
    for queue, projects in tree.items():
        if queue not in (job.queue, "*", "/"):
            continue
        if queue != job.queue and any_of(job.queue, (job.project, "*", "/"), kinds):
            continue
        for project, there in projects.items():
            if project not in (job.project, "*", "/"):
                continue
            if project != job.project and any_of(queue, (job.project,), kinds):
                continue
            for kind, users in there.items():
                if kind not in kinds or (kind == "*" and any_of(queue, (project,), job.kinds)):
                    continue
                found += [
                    rule
                    for user, rule in users.items()
                    if user == job.user or (user in ("*", "/") and job.user not in users)
                ]
    return found


def _counts(rule: Quota, job: JobNames, other: JobNames) -> bool:
    """Whether another job's holdings count against a rule for a job."""
    return all(
        there == "*" or mine == its
        for there, mine, its in (
            (rule.queue, job.queue, other.queue),
            (rule.project, job.project, other.project),
            (rule.user, job.user, other.user),
        )
    ) and (rule.kind == "*" or rule.kind in other.kinds)
