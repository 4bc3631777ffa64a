"""The expected priority of a job, its parts, and what is unknown.

Multifactor priority (priority_multifactor.c; slurm.conf(5), PriorityWeight...) is a weighted sum of factors from 0 to
1, truncated to an integer at the end; a new job has age 0 until the next calculation. Basic priority is the order of
submission: a new job is last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.factors import Factors, Part
from gas.slurm.observed import basic_priority, observed
from gas.slurm.settings import FACTORS

__all__ = ["Part", "Priority", "own_priority"]

LARGEST = 2**32 - 1


@dataclass(frozen=True)
class Priority:
    """A priority.

    Attributes
    ----------
    value
        None if it cannot be calculated; unknown parts count as 0.
    later
        Its value once the scheduler has tried the job, which rounds its CPUs up.
    parts
        The terms of the sum.
    comes_last
        All jobs of the same tier precede the job, whatever the value.
    unknown
        Unpublished values that it depends on, in words.
    observed
        Number of waiting jobs from whose priorities it was inferred; 0 if it was calculated.
    share
        The assumed fair share of the user, if not published (`gas.slurm.observed.Observed`).
    """

    value: int | None
    later: int | None = None
    parts: tuple[Part, ...] = ()
    comes_last: bool = False
    unknown: tuple[str, ...] = ()
    observed: int = 0
    share: str = ""

    @property
    def sure(self) -> bool:
        """Whether all of it is known."""
        return not self.unknown


def own_priority(
    cluster: Cluster, job: Job, partition: Partition, *, qos: str = "", account: str = "", waited: int = 0
) -> Priority:
    """Return the priority of a job.

    Parameters
    ----------
    job
        As requested; its user is the one with the accounts.
    qos, account
        By default those of the job, else the user's defaults.
    waited
        Seconds since it became eligible; 0 for a new job.
    """
    settings = cluster.settings
    if settings is None:
        return _observed(cluster, job, partition, "how priorities are calculated (the configuration is not published)")
    if settings.priority_type == "basic":
        value = None if job.id else basic_priority(cluster, job)
        return Priority(value, comes_last=value is None)
    if settings.priority_type != "multifactor":
        kind = settings.priority_type or "not published"
        return _observed(cluster, job, partition, f"how priorities are calculated (PriorityType is {kind})")
    if missing := [key for name, key in FACTORS.items() if name not in settings.weights]:
        return _observed(cluster, job, partition, f"{' and '.join(missing)} (not published)")
    calculation = Factors(cluster, settings, job, partition, qos, account)
    now = calculation.parts(waited, given=False)
    then = calculation.parts(waited, given=True)
    if calculation.unknown and not job.id:
        seen = _observed(cluster, replace(job, qos=qos or job.qos, account=account or job.account), partition, "")
        if seen.sure:
            return replace(seen, parts=tuple(now))
    return Priority(
        _sum(now, job.nice), _sum(then, job.nice), tuple(now), unknown=tuple(dict.fromkeys(calculation.unknown))
    )


def _observed(cluster: Cluster, job: Job, partition: Partition, missing: str) -> Priority:
    """Return the priority inferred from those of waiting jobs; if impossible, the missing part is unknown."""
    found = observed(cluster, job, partition)
    if found.comes_last:
        return Priority(None, comes_last=True, observed=found.jobs)
    if found.value is None:
        return Priority(None, unknown=(missing,))
    return Priority(found.value, found.value, observed=found.jobs, share=found.share)


def _sum(parts: list[Part], nice: int) -> int:
    """Return the truncated sum: at least 1, as 0 means held (priority_p_set)."""
    return int(min(max(sum(part.points for part in parts) - nice, 1.0), LARGEST))
