"""Why a job waits: Slurm's reason in words, the jobs ahead of it, the parts of its priority, and its limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from documents.fields import quoted
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.limits import limits
from gas.slurm.priority import Priority, own_priority
from gas.slurm.reasons import of_limit
from gas.slurm.verdict import Verdict

__all__ = ["Ahead", "Explanation", "explanation", "reason_in_words"]

_WORDS = {
    "None": "the scheduler has not considered it yet",
    "Priority": "jobs of higher priority are ahead of it",
    "Resources": "it waits until enough nodes are free",
    "Dependency": "it waits for another job that it depends on",
    "DependencyNeverSatisfied": "its dependency can no longer be met: it will never start",
    "BeginTime": "its earliest start (--begin) is in the future",
    "JobHeldUser": "its user holds it (scontrol release releases it)",
    "JobHeldAdmin": "an administrator holds it",
    "JobHoldMaxRequeue": "it was requeued too often and is held",
    "JobArrayTaskLimit": "the limit of running tasks of its array is reached",
    "Licenses": "the licences that it requests are in use",
    "Reservation": "its reservation has not begun",
    "ReservationDeleted": "its reservation no longer exists: it will never start",
    "ReqNodeNotAvail": "nodes that it needs are down, drained or reserved",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is inactive",
    "PartitionTimeLimit": "it requests more time than its partition allows: it will never start",
    "PartitionNodeLimit": "it requests more or fewer nodes than its partition allows: it will never start",
    "PartitionConfig": "its partition does not accept its account, or does not allow its request",
    "MaxMemPerLimit": "it requests more memory than its partition allows: it will never start",
    "BadConstraints": "no node meets its request: it is held",
    "Constraints": "no node meets its request at present",
    "QOSUsageThreshold": "its fair share is below the threshold of its QOS",
    "DeadLine": "it cannot end before its deadline",
    "Cleaning": "its previous run is still being cleaned up",
    "Prolog": "the nodes are being prepared for it",
}


@dataclass(frozen=True)
class Ahead:
    """The jobs ahead of a job in its partition.

    Attributes
    ----------
    higher_tier, higher_priority, earlier
        Number of waiting jobs on common nodes: in a partition of a higher tier; in the same tier with a higher
        priority; and with the same priority but submitted earlier.
    own
        Number of the user's own jobs among them.
    tasks
        Their number if each array task counts.
    """

    higher_tier: int = 0
    higher_priority: int = 0
    earlier: int = 0
    own: int = 0
    tasks: int = 0

    @property
    def all(self) -> int:
        """Their total number."""
        return self.higher_tier + self.higher_priority + self.earlier


@dataclass(frozen=True)
class Explanation:
    """Why a job waits.

    Attributes
    ----------
    reason
        Slurm's reason in words.
    in_partition
        For each possible partition: the jobs ahead, its priority there, and the verdict of limits.
    """

    job: Job
    reason: str
    in_partition: dict[str, tuple[Ahead, Priority, Verdict]] = field(default_factory=dict)


def explanation(cluster: Cluster, job: Job) -> Explanation:
    """Return why a pending job waits, from the published state."""
    partitions = {one.name: one for one in cluster.partitions}
    found = {}
    for name in job.partitions:
        if name in partitions:
            partition = partitions[name]
            waited = max(cluster.now - job.eligible, 0) if job.eligible is not None else 0
            own = own_priority(cluster, job, partition, waited=waited)
            found[name] = (_ahead(cluster, job, partition), own, limits(cluster, job, partition))
    return Explanation(job, reason_in_words(job, [verdict for _, _, verdict in found.values()]), found)


def reason_in_words(job: Job, verdicts: list[Verdict]) -> str:
    """Return Slurm's reason in words, with the limit and its usage if known."""
    reason = job.reason.strip("()")
    for verdict in verdicts:
        for one in verdict.bindings:
            if one.reason == reason or (of_limit(reason) and one.reason in reason):
                return f"{one.words} ({one.reason})"
    head = reason.partition(",")[0]
    if head in _WORDS:
        detail = ""
        if head in ("Dependency", "DependencyNeverSatisfied") and job.dependency:
            detail = f" ({job.dependency})"
        if head == "Reservation" and job.reservation:
            detail = f" ({quoted(job.reservation)})"
        return f"{_WORDS[head]}{detail}"
    if reason.startswith("Nodes required for job are DOWN"):
        return "too few nodes are available: others are down, drained or reserved for jobs of higher tiers"
    if of_limit(reason):
        return f"a limit holds it back ({reason})"
    return f"Slurm says {quoted(reason)}" if reason else "Slurm gives no reason"


def _ahead(cluster: Cluster, job: Job, partition: Partition) -> Ahead:
    """Count the jobs ahead: by tier, then priority, then submission (job_scheduler.c, sort_job_queue2)."""
    nodes = set(partition.nodes)
    partitions = {one.name: one for one in cluster.partitions}
    own = job.priority_in.get(partition.name, job.priority)
    counts: Counter[str] = Counter()
    for other in cluster.jobs:
        if not other.pending or other.held or other.id == job.id or of_limit(other.reason.strip("()")):
            continue
        best = ""
        for name in other.partitions:
            there = partitions.get(name)
            if there is None or not nodes.intersection(there.nodes):
                continue
            theirs = other.priority_in.get(name, other.priority)
            if there.tier > partition.tier:
                best = "tier"
            elif there.tier == partition.tier and best != "tier":
                if theirs > own:
                    best = "priority"
                elif theirs == own and not best and _before(other, job):
                    best = "earlier"
        if best:
            counts[best] += 1
            counts["own"] += other.user == job.user
            counts["tasks"] += len(other.tasks) if other.tasks else 1
    return Ahead(counts["tier"], counts["priority"], counts["earlier"], counts["own"], counts["tasks"])


def _before(other: Job, job: Job) -> bool:
    return (other.submitted or 0, other.id) < (job.submitted or 0, job.id or 2**62)
