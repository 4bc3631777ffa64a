"""Quotas of OAR's scheduler: how much of the machine jobs of one queue, project, type or user hold at a time.

They are what ``oar_sched_gantt_with_timesharing_and_fairsharing_and_quotas`` reads in scheduler_quotas.conf, a file of
Perl with lines like ``$Gantt_quotas->{'*'}->{'proj'}->{'*'}->{'/'} = [80, 10, 200];``: of a user's jobs of a project at
most 80 resources, 10 jobs, 200 resource hours at a time. ``*`` is all together, ``/`` each by itself. A rule that is
more specific takes the place of one that is less so (``check_quotas`` in QuotaStorage.pm, 2.5.9).

A job that would exceed a quota is planned when others have ended; one that exceeds it by itself never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gas.errors import BadInput
from gas.gaps import FOR_EVER
from gas.profile import NEVER
from speedup_models.fields import quoted

__all__ = ["FILE", "Held", "Quota", "Quotas", "Standing", "exceeded_in", "quotas_of"]

FILE = "/etc/oar/scheduler_quotas.conf"
"""Where the scheduler looks for them (fixed in its source)."""

_LINE = re.compile(
    r"""\$Gantt_quotas((?:\s*->\s*\{\s*(?:'[^']*'|"[^"]*"|[\w.*/-]+)\s*\}){4})\s*=\s*(\[[^\]]*\]|-?\d+)\s*;""",
    re.DOTALL,
)
_KEY = re.compile(r"""\{\s*(?:'([^']*)'|"([^"]*)"|([\w.*/-]+))\s*\}""")
_EXCEEDED = re.compile(r"quota_exceeded:Gantt_quotas->\{(.*?)\}->\{(.*?)\}->\{(.*?)\}->\{(.*?)\}=.*?>\[([^\]]*)\]")


@dataclass(frozen=True)
class Quota:
    """How much there may be at a time; None is no limit.

    Attributes
    ----------
    queue, project, kind, user
        Whose; ``*`` for all together and, but for `kind`, ``/`` for each by itself.
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
        """Return it as the file has it."""
        values = ", ".join("-1" if one is None else f"{one:g}" for one in (self.resources, self.jobs, self.hours))
        keys = "->".join(f"{{{one}}}" for one in (self.queue, self.project, self.kind, self.user))
        return f"{keys} = [{values}]"


@dataclass(frozen=True)
class Standing:
    """As what a job counts."""

    queue: str
    project: str
    kinds: tuple[str, ...]
    user: str


@dataclass(frozen=True)
class Held:
    """What a job holds: so many resources from `start` until its walltime and the security time are over."""

    standing: Standing
    resources: int
    start: int
    walltime: int


def quotas_of(text: str, source: str) -> tuple[Quota, ...]:
    """Return the quotas of a file.

    Raises
    ------
    BadInput
        It has something else than comments and lines of the form above.
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
    """Return the quotas that OAR has written to jobs which exceed them."""
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
class Quotas:
    """The quotas that one job must keep, and what is held that counts against each.

    Attributes
    ----------
    security_time
        Seconds that the scheduler adds to walltimes.
    rows
        Of each quota, what the jobs before this one hold that counts.
    instants
        When any job starts or ends: OAR looks at resource hours at the beginning of each of these steps.
    """

    security_time: int
    rows: tuple[tuple[Quota, tuple[Held, ...]], ...]
    instants: tuple[int, ...]

    @classmethod
    def of(cls, rules: Iterable[Quota], asked: Standing, held: Iterable[Held], security_time: int) -> Quotas:
        """Return those for a job of a standing."""
        there = tuple(held)
        rows = [
            (rule, tuple(one for one in there if _counts(rule, asked, one.standing)))
            for rule in _that_hold(tuple(rules), asked)
            if rule.limits
        ]
        made = cls(security_time, tuple(rows), ())
        return replace(made, instants=tuple(sorted({instant for one in there for instant in made._span(one)})))

    def never(self, resources: int, walltime: int) -> Quota | None:
        """Return a quota that a job exceeds by itself, None if there is none."""
        hours = resources * walltime / 3600
        for quota, _ in self.rows:
            if _exceeds(quota, resources, 1, hours):
                return quota
        return None

    def admitted(self, start: int, resources: int, walltime: int) -> int:
        """Return the earliest start, not before `start`, at which a job keeps all quotas; `NEVER` if there is none.

        What is held changes when jobs start and end; the job must keep the quotas in each of these steps that it
        reaches into, and is looked at anew at the end of one in which it does not.
        """
        if self.never(resources, walltime) is not None:
            return NEVER
        while True:
            later = self._step_after(start, resources, walltime)
            if later is None:
                return start
            start = later

    def _step_after(self, start: int, resources: int, walltime: int) -> int | None:
        """Return the end of the first step in which a job that begins at `start` exceeds a quota, None if it fits."""
        end = start + walltime + self.security_time
        ends = []
        for quota, held in self.rows:
            instants = self.instants if quota.hours is not None else {at for one in held for at in self._span(one)}
            steps = sorted(instant for instant in instants if instant > start)
            for begin, until in zip([start, *steps], [*steps, FOR_EVER], strict=True):
                if begin >= end:
                    break
                there = [one for one in held if self._span(one)[0] <= begin < self._span(one)[1]]
                busy = sum(one.resources for one in there)
                hours = sum(one.resources * max(0, one.start + one.walltime - begin) for one in there) / 3600
                own = resources * walltime / 3600
                if _exceeds(quota, busy + resources, len(there) + 1, hours + own):
                    ends.append(until)
                    break
        return min(ends, default=None)

    def _span(self, held: Held) -> tuple[int, int]:
        return held.start, held.start + held.walltime + self.security_time + 1


def _exceeds(quota: Quota, resources: int, jobs: int, hours: float) -> bool:
    return (
        (quota.resources is not None and resources > quota.resources)
        or (quota.jobs is not None and jobs > quota.jobs)
        or (quota.hours is not None and hours > quota.hours)
    )


def _that_hold(rules: tuple[Quota, ...], asked: Standing) -> list[Quota]:
    """Return the rules that hold for a job: those of its names, and the general ones that none of these replaces."""
    kinds = (*asked.kinds, "*")
    tree: dict[str, dict[str, dict[str, dict[str, Quota]]]] = {}
    for rule in (Quota("*", "*", "*", "*"), *rules):
        tree.setdefault(rule.queue, {}).setdefault(rule.project, {}).setdefault(rule.kind, {})[rule.user] = rule

    def any_of(queue: str, projects: Iterable[str], of: Iterable[str]) -> bool:
        """Whether there are rules of a queue for one of these projects, for the asker or all users."""
        users = (asked.user, "*", "/")
        return any(
            user in tree.get(queue, {}).get(project, {}).get(kind, {})
            for project in projects
            for kind in of
            for user in users
        )

    found = []
    for queue, projects in tree.items():
        if queue not in (asked.queue, "*", "/"):
            continue
        if queue != asked.queue and any_of(asked.queue, (asked.project, "*", "/"), kinds):
            continue
        for project, there in projects.items():
            if project not in (asked.project, "*", "/"):
                continue
            if project != asked.project and any_of(queue, (asked.project,), kinds):
                continue
            for kind, users in there.items():
                if kind not in kinds or (kind == "*" and any_of(queue, (project,), asked.kinds)):
                    continue
                found += [
                    rule
                    for user, rule in users.items()
                    if user == asked.user or (user in ("*", "/") and asked.user not in users)
                ]
    return found


def _counts(rule: Quota, asked: Standing, other: Standing) -> bool:
    """Whether what another job holds counts against a rule for a job."""
    return all(
        there == "*" or mine == its
        for there, mine, its in (
            (rule.queue, asked.queue, other.queue),
            (rule.project, asked.project, other.project),
            (rule.user, asked.user, other.user),
        )
    ) and (rule.kind == "*" or rule.kind in other.kinds)
