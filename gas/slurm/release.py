"""How much of a limit is in use, by whom, and when the ends of running jobs give it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil, log

from gas.slurm.cluster import Cluster, Job
from gas.slurm.demand import held
from gas.slurm.settings import Settings

__all__ = ["Counted", "decayed_to", "subtree"]

HOLDING = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT")


@dataclass(frozen=True)
class Counted:
    """The running jobs that count for a limit, as far as they are shown; each with what it has."""

    now: int
    jobs: tuple[tuple[Job, Mapping[str, float]], ...]
    factors: Mapping[str, float]

    @classmethod
    def of(cls, cluster: Cluster, counts: Callable[[Job], bool], factors: Mapping[str, float] | None = None) -> Counted:
        """Return those of the jobs that hold something and count; `factors` are UsageFactor by QOS."""
        return cls(cluster.now, tuple(pair for pair in _running(cluster) if counts(pair[0])), factors or {})

    def number(self) -> int:
        """Return how many there are."""
        return len(self.jobs)

    def amount(self, resource: str) -> float:
        """Return how much of a resource they have; a node that several have counts once (acct_policy.c)."""
        if resource == "node":
            unknown = sum(amounts.get("node", 0) for job, amounts in self.jobs if not job.nodes)
            return unknown + len({name for job, _ in self.jobs for name in job.nodes})
        return sum(amounts.get(resource, 0) for _, amounts in self.jobs)

    def when_fewer(self, by: int) -> int | None:
        """Return when so many of them have ended by their limits; None if that is not known."""
        return self._first(by, lambda _: 1.0)

    def when_less(self, resource: str, by: float) -> int | None:
        """Return when they have so much less of a resource."""
        return self._first(by, lambda amounts: amounts.get(resource, 0))

    def _first(self, by: float, worth: Callable[[Mapping[str, float]], float]) -> int | None:
        freed = 0.0
        for job, amounts in self.jobs:
            freed += worth(amounts)
            if job.end is None:
                return None
            if freed >= by:
                return max(job.end, self.now)
        return None

    def remaining(self, resource: str, at: int) -> float:
        """Return resource times minutes until their limits, seen from a moment; by the factors of their QOS."""
        return sum(
            amounts.get(resource, 0) * max((job.end or at) - max(at, self.now), 0) / 60 * self.factors.get(job.qos, 1.0)
            for job, amounts in self.jobs
        )

    def when_remaining(self, resource: str, most: float) -> int | None:
        """Return the first second at which resource times minutes until their limits are at most so much."""
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
    """Return all that hold something, by their ends, with what they have; worked out once for each cluster."""
    known = cluster.worked_out.get("running")
    if not isinstance(known, tuple):
        found = (job for job in cluster.jobs if job.state in HOLDING)
        ordered = sorted(found, key=lambda job: (job.end is None, job.end or 0))
        known = cluster.worked_out["running"] = tuple((job, held(cluster, job)) for job in ordered)
    return known


def subtree(parents: Mapping[str, str], account: str) -> Iterable[str]:
    """Return an account and all accounts below it."""
    found = {account}
    while True:
        more = {name for name, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def decayed_to(used: float, bound: float, settings: Settings, now: int) -> int | None:
    """Return when use has decayed below a bound if nothing is added; None if it does not decay.

    Slurm takes 0.693 of the half-life off linearly each second (priority_multifactor.c, decay_factor).
    """
    if not settings.half_life or used <= 0 or bound <= 0:
        return None
    step = 1 - 0.693 / settings.half_life
    period = max(settings.calculation_period or 60, 1)
    seconds = log(used / bound) / -log(step)
    return now + max(ceil(seconds / period), 1) * period
