"""The usage that counts for a limit, the jobs behind it, and when their ends release enough.

Waiting jobs ahead of the requested one are assumed to start as soon as the limit permits, as if nodes were free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from math import ceil, log
from typing import NamedTuple

from gas.slurm.cluster import Cluster, Job
from gas.slurm.demand import held, minutes, requested
from gas.slurm.settings import Settings

__all__ = ["Counted", "decayed_to", "subtree"]

HOLDING = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT")


AHEAD = 100
"""Largest number of waiting jobs ahead of a job that are considered, among those that count for its limit."""


class Waiting(NamedTuple):
    """A waiting job: the epoch second before which it does not start, or 0; its limit in seconds; its request."""

    first: int
    limit: int
    amounts: Mapping[str, float]


@dataclass(frozen=True)
class Counted:
    """The running jobs that count for a limit, as far as they are shown, with their allocations.

    Attributes
    ----------
    factors
        UsageFactor by QOS.
    ahead
        The waiting jobs ahead of the requested one that count for the limit, in order.
    """

    now: int
    jobs: tuple[tuple[Job, Mapping[str, float]], ...]
    factors: Mapping[str, float]
    ahead: tuple[Waiting, ...] = ()

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        counts: Callable[[Job], bool],
        factors: Mapping[str, float] | None = None,
        before: Job | None = None,
    ) -> Counted:
        """Return the running jobs that count, and the waiting ones ahead of the job `before`."""
        ahead = () if before is None else tuple(islice(_ahead(cluster, counts, before.priority), AHEAD))
        return cls(cluster.now, tuple(pair for pair in _running(cluster) if counts(pair[0])), factors or {}, ahead)

    def number(self) -> int:
        """Return their number."""
        return len(self.jobs)

    def amount(self, resource: str) -> float:
        """Return their amount of a resource; a node shared by several counts once (acct_policy.c)."""
        if resource == "node":
            unknown = sum(amounts.get("node", 0) for job, amounts in self.jobs if not job.nodes)
            return unknown + len({name for job, _ in self.jobs for name in job.nodes})
        return sum(amounts.get(resource, 0) for _, amounts in self.jobs)

    def when_fewer(self, by: int) -> int | None:
        """Return when enough of them have ended, at their time limits, for one more to run; None if unknown."""
        return self._first(by, 1.0, lambda _: 1.0)

    def when_less(self, resource: str, by: float, own: float) -> int | None:
        """Return when they have released enough of a resource for a job to use `own` of it."""
        return self._first(by, own, lambda amounts: amounts.get(resource, 0))

    def _first(self, by: float, own: float, worth: Callable[[Mapping[str, float]], float]) -> int | None:
        """Return the first instant at which a job fits alongside those that run then; jobs ahead of it start first."""
        ends: list[tuple[int, float]] = []
        used = 0.0
        for job, amounts in self.jobs:
            used += worth(amounts)
            if job.end is not None:
                heappush(ends, (max(job.end, self.now), worth(amounts)))
        bound = used - by + own
        ahead, now = list(self.ahead), self.now
        while True:
            while ends and ends[0][0] <= now:
                used -= heappop(ends)[1]
            left = []
            for one in ahead:
                amount = worth(one.amounts)
                if one.first > now or used + amount > bound:
                    left.append(one)
                else:
                    used += amount
                    heappush(ends, (now + one.limit, amount))
            ahead = left
            if used + own <= bound:
                return now
            if not ends:
                return None
            now = max(ends[0][0], now + 1)

    def remaining(self, resource: str, at: int) -> float:
        """Return the minutes of a resource until their time limits, from an instant on, times UsageFactor."""
        return sum(
            amounts.get(resource, 0) * max((job.end or at) - max(at, self.now), 0) / 60 * self.factors.get(job.qos, 1.0)
            for job, amounts in self.jobs
        )

    def when_remaining(self, resource: str, most: float) -> int | None:
        """Return the first second at which `remaining` is at most a bound."""
        last = max((job.end or 0 for job, _ in self.jobs), default=self.now)
        if any(job.end is None for job, _ in self.jobs) or most < 0:
            return None
        early, late = self.now, max(last, self.now)
        while early < late:
            middle = (early + late) // 2
            if self.remaining(resource, middle) <= most:
                late = middle
            else:
                early = middle + 1
        return late


def _running(cluster: Cluster) -> tuple[tuple[Job, Mapping[str, float]], ...]:
    """Return all running jobs by their ends, with their allocations; cached per cluster."""
    known = cluster.worked_out.get("running")
    if not isinstance(known, tuple):
        found = (job for job in cluster.jobs if job.state in HOLDING)
        ordered = sorted(found, key=lambda job: (job.end is None, job.end or 0))
        known = cluster.worked_out["running"] = tuple((job, _held(cluster, job)) for job in ordered)
    return known


def _held(cluster: Cluster, job: Job) -> Mapping[str, float]:
    """Return the allocation of a running job, cached if the cluster is one of several with the same jobs."""
    shared = cluster.worked_out.get("held")
    if not isinstance(shared, dict):
        return held(cluster, job)
    if id(job) not in shared:
        shared[id(job)] = job, held(cluster, job)  # the job, too: otherwise another one may get its id
    amounts: Mapping[str, float] = shared[id(job)][1]
    return amounts


def _ahead(cluster: Cluster, counts: Callable[[Job], bool], priority: int) -> Iterable[Waiting]:
    """Yield the waiting jobs of at least this priority that count, each array task by itself."""
    known = cluster.worked_out.get("waiting")
    if not isinstance(known, tuple):
        found = (job for job in cluster.jobs if job.pending and not job.held and not job.dependency)
        known = cluster.worked_out["waiting"] = tuple(sorted(found, key=lambda job: (-job.priority, job.id)))
    partitions = {one.name: one for one in cluster.partitions}
    for job in known:
        if job.priority < priority:
            return
        of = next((partitions[name] for name in job.partitions if name in partitions), None)
        if of is None or not counts(job):
            continue
        limit = minutes(job, of)
        if limit is not None:
            one = Waiting(max(job.start or 0, job.eligible or 0), 60 * limit, requested(cluster, job, of).amounts)
            yield from [one] * (1 if job.tasks is None else len(job.tasks))


def subtree(parents: Mapping[str, str], account: str) -> Iterable[str]:
    """Return an account and all accounts below it."""
    found = {account}
    while True:
        more = {name for name, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def decayed_to(used: float, bound: float, settings: Settings, now: int) -> int | None:
    """Return when usage has decayed below a bound if nothing is added; None if it does not decay.

    Slurm multiplies usage by 1 - 0.693 / half-life each second (priority_multifactor.c, decay_factor).
    """
    if not settings.half_life or used <= 0 or bound <= 0:
        return None
    step = 1 - 0.693 / settings.half_life
    period = max(settings.calculation_period or 60, 1)
    seconds = log(used / bound) / -log(step)
    return now + max(ceil(seconds / period), 1) * period
