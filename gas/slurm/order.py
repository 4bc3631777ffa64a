"""The queue of the backfill scheduler: a record for each waiting job and partition, in scheduling order.

For which records there are and which are skipped, see job_scheduler.c, build_job_queue and job_limits_check, and
job_mgr.c, job_independent; for their order, job_scheduler.c, sort_job_queue2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from gas.slurm.admission import admits_account
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.dependencies import dependencies_of, fulfilled_from
from gas.slurm.preemption import Preempts, preempting
from gas.slurm.reasons import BY_LIMIT, CLOSED_PARTITION
from gas.slurm.reservations import may_start_in, short_of_cores, with_magnetic
from gas.slurm.verdict import FREE, WAITS, Verdict
from gas.slurm.versions import Rules

__all__ = [
    "HOLDING", "NO_LIMIT", "Blocked", "Record", "blocked_by", "end_of", "limit_of", "queue", "running_tasks",
    "sort_key",
]  # fmt: skip

HOLDING = frozenset(
    {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
)
"""States in which a job has nodes."""

NO_LIMIT = 365 * 24 * 3600
"""The planned run time of a job without a time limit, in seconds: a year."""

LAST = 1 << 62


class Blocked(Enum):
    """Why a record does not start now: it has no plan, and holds nothing, except for `ACCOUNT`.

    A job whose account may not use its partition is tested only at its start, which fails. So the backfill scheduler
    plans it in each cycle, and its nodes are held for ever (seen on 22.05, 24.11 and 26.05; its QOS is tested before).
    """

    HELD = "held"
    DEPENDENCY = "waits for another job"
    BEGIN = "waits for its begin time"
    LIMIT = "beyond a limit of its account, user or quality of service"
    PARTITION = "beyond a limit of its partition, or not allowed there"
    ACCOUNT = "its account may not use the partition"
    CONSTRAINT = "requests resources that do not exist"
    FORBIDDEN = "never possible because of a limit, or not accepted"
    TASKS = "the limit of running tasks of its array is reached"
    RESERVATION = "its reservation has not begun, or has ended"


_REASONS = {
    "JobHeldUser": Blocked.HELD, "JobHeldAdmin": Blocked.HELD, "JobHoldMaxRequeue": Blocked.HELD,
    "Dependency": Blocked.DEPENDENCY, "DependencyNeverSatisfied": Blocked.DEPENDENCY, "BeginTime": Blocked.BEGIN,
    "BadConstraints": Blocked.CONSTRAINT, "PartitionTimeLimit": Blocked.PARTITION,
    "PartitionNodeLimit": Blocked.PARTITION, CLOSED_PARTITION: Blocked.PARTITION,
    "PartitionDown": Blocked.PARTITION, "PartitionInactive": Blocked.PARTITION,
    "InvalidAccount": Blocked.LIMIT, "InvalidQOS": Blocked.LIMIT, "AccountNotAllowed": Blocked.PARTITION,
    "ReservationDeleted": Blocked.RESERVATION, "JobArrayTaskLimit": Blocked.TASKS,
}  # fmt: skip


@dataclass(frozen=True)
class Record:
    """A waiting job in one of its partitions, and possibly in a magnetic reservation.

    Attributes
    ----------
    blocked, why
        Why it is skipped, as a category and in words; None if it is considered.
    release
        Epoch second at which the limit that blocks it may release it, or enough licences are free; None if unknown.
    probe
        Its index among the probes; None for a job in the queue.
    attracted
        Whether the reservation is a magnetic one that the job does not name.
    """

    job: Job
    partition: Partition
    blocked: Blocked | None = None
    why: str = ""
    probe: int | None = None
    release: int | None = None
    attracted: bool = False


Limits = Callable[[Job, Partition], Verdict | None]
"""Applies the limits of accounts and QOS to a job in a partition; returns None if nothing is known."""


def limit_of(job: Job, partition: Partition) -> int:
    """Return the seconds for which a job is planned in a partition: --time-min if given, else its time limit."""
    limit = NO_LIMIT if job.time_limit is None else job.time_limit
    if partition.longest is not None:
        limit = min(limit, partition.longest)
    return limit if job.shortest is None else min(limit, job.shortest)


def end_of(job: Job, now: int) -> int:
    """Return the latest end of a running job."""
    if job.end is not None:
        return job.end
    return (job.start or now) + (NO_LIMIT if job.time_limit is None else job.time_limit)


def sort_key(record: Record) -> tuple[bool, int, int, int, int, int]:
    """Return the sort key of records: jobs of reservations, tier, priority, submission, number.

    A probe with priority 0 comes last in its tier, as a new job does under priority/basic.
    """
    job, partition = record.job, record.partition
    return (
        not job.reservation,
        -partition.tier,
        -job.priority_in.get(partition.name, job.priority),
        LAST if record.probe is not None or job.submitted is None else job.submitted,
        LAST if record.probe is not None else (job.array or job.id),
        0 if record.probe is not None or job.array is None else (LAST if job.tasks is not None else job.id),
    )


def queue(
    cluster: Cluster,
    probes: Iterable[Job] = (),
    limits: Limits | None = None,
    *,
    use_plans: bool = True,
    known: Sequence[Record] | None = None,
) -> list[Record]:
    """Return all records in scheduling order.

    Parameters
    ----------
    probes
        Jobs that are not submitted yet.
    limits
        Finds the limit that keeps a job from starting; by default only Slurm's reasons count.
    use_plans
        Whether a job with a published plan is considered regardless of Slurm's reason.
    known
        The queue without probes, if known.
    """
    partitions = {one.name: one for one in cluster.partitions}
    running, rules = running_tasks(cluster), Rules.of(cluster.version)
    records = list(known or ())
    waiting: list[tuple[int | None, Job]] = []
    if known is None:
        waiting += ((None, job) for job in cluster.jobs if job.pending)
    waiting += list(enumerate(probes))
    for probe, job in waiting:
        there = [partitions[name] for name in job.partitions if name in partitions]
        planned = use_plans and job.start is not None and bool(job.planned_nodes)
        for partition, way in ((one, way) for one in there for way in with_magnetic(cluster, job, one.name)):
            end = cluster.now + limit_of(job, partition) if rules.magnetic_ends else cluster.now
            begun = way is job or may_start_in(cluster, way.reservation, cluster.now, end)
            trusted = planned and begun and not job.held and not _account_denied(cluster, job, partition)
            blocked, why = (None, "") if trusted else blocked_by(cluster, way, partition, running)
            if not begun and blocked is None:
                blocked, why = Blocked.RESERVATION, way.reservation
            release = None
            if blocked is None and not planned and limits is not None:
                blocked, why, release = _limited(cluster, limits(job, partition))
            if blocked is Blocked.DEPENDENCY and probe is not None:
                release = _after_others(cluster, job)
                why = why if release is not None else f"{why}, and it is not known when that job ends"
            records.append(Record(way, partition, blocked, why, probe, release, way is not job))
    preempts = preempting(cluster)
    by_qos = preempts is not None and cluster.settings is not None and cluster.settings.preempt_type == "qos"
    if preempts is not None and by_qos:
        return _in_order_of_preemption(records, preempts)
    records.sort(key=sort_key)
    return records


def _after_others(cluster: Cluster, job: Job) -> int | None:
    """Return when the dependencies of a job are fulfilled if jobs run until their limits; None if unknown.

    Jobs that Slurm no longer lists have ended.
    """

    def times(number: int, task: int | None) -> tuple[int | None, int | None]:
        named = [one for one in cluster.jobs if number in (one.id, one.array)]  # task numbers are not read
        begins, ends = [cluster.now], [cluster.now]
        for one in named:
            begin, end = one.start, one.end
            if one.state in HOLDING:
                end = end_of(one, cluster.now)
            elif one.pending:
                end = None if begin is None or one.time_limit is None else begin + one.time_limit
            else:
                begin = end = cluster.now
            if begin is None or end is None:
                return None, None
            begins.append(begin)
            ends.append(end)
        return max(begins), max(ends)

    return fulfilled_from(*dependencies_of(job.dependency), cluster.now, times)


def _in_order_of_preemption(records: list[Record], preempts: Preempts) -> list[Record]:
    """Return records in Slurm's order with preemption by QOS: a preemptor precedes the jobs that it may preempt.

    This comparison (job_scheduler.c, sort_job_queue2, preemption_enabled) is not transitive, so the result depends on
    the sorting algorithm: a merge sort, the C library's qsort, from the order of submission. Slurm does not sort the
    records that it skips; each of several probes is sorted without the others.
    """

    def first(one: Record, other: Record) -> bool:
        if preempts(one.job, one.partition, other.job):
            return True
        if preempts(other.job, other.partition, one.job):
            return False
        return sort_key(one) < sort_key(other)

    def merged(some: list[Record]) -> list[Record]:
        if len(some) < 2:
            return some
        left, right = merged(some[: len(some) // 2]), merged(some[len(some) // 2 :])
        found, at, to = [], 0, 0
        while at < len(left) and to < len(right):
            if first(right[to], left[at]):
                found.append(right[to])
                to += 1
            else:
                found.append(left[at])
                at += 1
        return found + left[at:] + right[to:]

    def submission(one: Record) -> int:
        return LAST if one.probe is not None else one.job.array or one.job.id

    sortable = [one for one in records if one.blocked in (None, Blocked.LIMIT, Blocked.FORBIDDEN)]
    there = sorted((one for one in sortable if one.probe is None), key=submission)
    probes = [one for one in sortable if one.probe is not None]
    those = set(map(id, sortable))
    found = merged([*there, *probes] if len(probes) == 1 else there)
    if len(probes) > 1:
        places = [(next(at for at, one in enumerate(merged([*there, own])) if one is own), own) for own in probes]
        for at, own in sorted(places, key=lambda place: -place[0]):
            found.insert(at, own)
    for one in sorted((one for one in records if id(one) not in those), key=sort_key):
        at = next((at for at, other in enumerate(found) if sort_key(one) < sort_key(other)), len(found))
        found.insert(at, one)
    return found


def _limited(cluster: Cluster, verdict: Verdict | None) -> tuple[Blocked | None, str, int | None]:
    """Return what a verdict means for the cycle; licences, and limits with assoc_limit_stop, are checked later."""
    deciding = None if verdict is None else verdict.deciding
    if verdict is None or deciding is None or verdict.outcome == FREE:
        return None, "", None
    if verdict.outcome != WAITS:
        return Blocked.FORBIDDEN, deciding.words, None
    others = [one for one in verdict.bindings if one.reason != "Licenses"]
    if not others or "assoc_limit_stop" in cluster.scheduling.parameters:
        return None, "", verdict.release
    return Blocked.LIMIT, others[0].words, verdict.release


def running_tasks(cluster: Cluster) -> dict[int, int]:
    """Return the number of running tasks of each array."""
    found: dict[int, int] = {}
    for job in cluster.jobs:
        if job.array is not None and job.state in HOLDING:
            found[job.array] = found.get(job.array, 0) + 1
    return found


def blocked_by(cluster: Cluster, job: Job, partition: Partition, running: dict[int, int]) -> tuple[Blocked | None, str]:
    """Return why a job is skipped in a partition, apart from account limits that Slurm has not reported."""
    reason = job.reason.split(",")[0].strip("() ")
    if job.held and job.id:
        return Blocked.HELD, reason or "its priority is 0"
    if job.eligible is not None and job.eligible > cluster.now and not job.dependency:
        return Blocked.BEGIN, "begin time"
    if job.dependency and job.dependency not in ("(null)", "None"):
        return Blocked.DEPENDENCY, job.dependency
    if reason.startswith(BY_LIMIT) and "assoc_limit_stop" not in cluster.scheduling.parameters:  # else it is planned
        return Blocked.LIMIT, reason
    if _account_denied(cluster, job, partition):
        limited = job.start is not None and not job.planned_nodes and _shows_nodes(cluster)
        return (
            Blocked.PARTITION if limited else Blocked.ACCOUNT, f"AllowAccounts or DenyAccounts of {partition.name}",
        )  # fmt: skip
    found = _REASONS.get(reason)
    if found is not None and (found is not Blocked.PARTITION or len(job.partitions) == 1):
        return found, reason
    at_once = None if job.tasks is None else job.tasks.at_once
    if at_once and running.get(job.array or job.id, 0) >= at_once:
        return Blocked.TASKS, f"{at_once} at once"
    if job.reservation and not may_start_in(cluster, job.reservation, cluster.now):
        return Blocked.RESERVATION, job.reservation
    if short := short_of_cores(cluster, job):
        return Blocked.CONSTRAINT, short
    per_node = job.tasks_per_node or 0
    if per_node > 1 and job.tasks_asked == 1 and Rules.of(cluster.version).no_lone_task:
        return Blocked.CONSTRAINT, f"Slurm {cluster.version} never plans one task with --ntasks-per-node={per_node}"
    if _short_of_last(job) and Rules.of(cluster.version).all_tasks:
        return Blocked.CONSTRAINT, "more CPUs for its memory (MaxMemPerCPU) on a last node with fewer tasks"
    return _beyond_partition(job, partition)


def _short_of_last(job: Job) -> bool:
    """Return whether a job with extra CPUs for its memory has too few for its last node, which gets as many tasks.

    Seen on 26.05, not on 24.11: with MaxMemPerCPU=400, -n 3 --ntasks-per-node=2 --mem-per-cpu=600 stays pending
    forever, with NumCPUs=6 and MinCPUsNode=2; -n 4, or -c 2 --mem-per-cpu=300, starts.
    """
    per_node = job.tasks_per_node or 1
    raised = job.cpus_per_node is not None and job.cpus_per_node < per_node * job.cpus_per_task
    has_gpus = job.gres_per_node or job.gres_per_task or job.gres_per_job
    return raised and (job.tasks_asked or 0) % per_node > 0 and not has_gpus


def _shows_nodes(cluster: Cluster) -> bool:
    """Return whether plans are published with their nodes; one without them is a job's that a limit holds, too."""
    return any(job.pending and job.planned_nodes for job in cluster.jobs)


def _account_denied(cluster: Cluster, job: Job, partition: Partition) -> bool:
    found = admits_account(cluster, partition, job.account)
    if found is None and job.account:  # it depends on accounts that are not shown
        return job.reason.startswith(CLOSED_PARTITION)
    return found is False


def _beyond_partition(job: Job, partition: Partition) -> tuple[Blocked | None, str]:
    if partition.state not in ("", "UP", "DRAIN"):
        return Blocked.PARTITION, f"partition {partition.name} is {partition.state}"
    asked = NO_LIMIT if job.time_limit is None else job.time_limit
    least = asked if job.shortest is None else min(job.shortest, asked)
    if partition.longest is not None and job.time_limit is not None and least > partition.longest:
        return Blocked.PARTITION, f"MaxTime of {partition.name}"
    if partition.most_nodes is not None and job.least_nodes > partition.most_nodes:
        return Blocked.PARTITION, f"MaxNodes of {partition.name}"
    qos = {one for one in job.qos.split(",") if one}
    if qos and partition.allowed_qos is not None and not qos & {*partition.allowed_qos}:
        return Blocked.PARTITION, f"AllowQos of {partition.name}"
    if qos and partition.denied_qos is not None and qos <= {*partition.denied_qos}:
        return Blocked.PARTITION, f"DenyQos of {partition.name}"
    return None, ""
