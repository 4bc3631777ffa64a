"""Why a job waits, as a record: Slurm's reason in words, jobs ahead, priority, limits, and what would start sooner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gas.endpoints.slurm.choices import MOST, choices, usable
from gas.endpoints.slurm.options import Options
from gas.printable import many
from gas.slurm.cluster import Cluster, Job
from gas.slurm.dependencies import cannot_be_met, dependencies_of, successes
from gas.slurm.explanation import Ahead, explanation
from gas.slurm.held_back import limits_in
from gas.slurm.outlook import Outlook
from gas.slurm.priority import Priority
from gas.slurm.sooner import Change, Sooner, sooner
from gas.slurm.unasked import GPUS, displaced, only_gpus
from gas.slurm.verdict import NEVER, REJECTED, Verdict
from gas.times import duration_text

__all__ = ["why"]


def why(cluster: Cluster, job: Job, *, user: str, groups: frozenset[str] | None = None) -> dict[str, Any]:
    """Return why a waiting job waits.

    Parameters
    ----------
    user, groups
        The querying user; other partitions and QOS are tried for the user's own jobs only.
    """
    found = explanation(cluster, job)
    longest = max((one.longest or 0 for one in cluster.partitions), default=0) or cluster.scheduling.window
    unseen_until = None if cluster.others_visible else cluster.now + longest
    others = list(_others(cluster, job, groups)) if job.user == user else []
    limits = limits_in(cluster, groups=groups)
    outlook, changes = sooner(cluster, job, limits=limits, others=others, unseen_until=unseen_until)
    expected, remarks = outlook.expected, list(cluster.cautions)
    reason = job.reason.strip("()")
    planned = None if reason == "BeginTime" else job.start  # with BeginTime, Slurm shows the earliest start instead
    unmet = reason.startswith("DependencyNeverSatisfied") or cannot_be_met(job.dependency)
    beyond = [verdict.outcome in (NEVER, REJECTED) for _, _, verdict in found.in_partition.values()]
    if job.held or unmet:  # it does not start until it is released, or its dependency changed
        expected, changes = None, []
    elif planned is not None:
        expected = max(planned, cluster.now)
        if outlook.expected is None or abs(outlook.expected - expected) > cluster.scheduling.resolution:
            remarks.append("Slurm's plan for it differs from that of Gas: the effects of changes are uncertain")
    elif outlook.crowd:
        remarks.append(
            f"{many(outlook.crowd, 'job')} ahead of it are too many to plan one by one: its expected start is rough"
        )
    changes = [one for one in changes if expected is None or one.start < expected]
    return {
        "id": job.id,
        "name": job.name,
        "now": cluster.now,
        "slurm_says": reason,
        "reason": found.reason,
        "partitions": [
            {"name": name, "ahead": _ahead(ahead), "priority": _priority(job, name, own), "limits": _limits(verdict)}
            for name, (ahead, own, verdict) in found.in_partition.items()
        ],
        "planned": outlook.planned if planned is None else planned,
        "expected": expected,
        "provided": None if expected is None else _provided(job),
        "never": unmet or (expected is None and bool(beyond) and all(beyond)),
        "way_out": _WAY_OUT.format(id=job.id) if unmet else None,
        "no_plan_because": _no_plan(outlook) if planned is None else None,
        "sooner": [_sooner(one, job, expected) for one in changes],
        "remarks": remarks,
    }


_WAY_OUT = "cancel it (gas cancel {id}), or remove its dependency (scontrol update JobId={id} Dependency=)"


def _provided(job: Job) -> str | None:
    """Return the condition on other jobs under which a job starts as expected."""
    jobs = successes(job.dependency)
    if not jobs:
        return None
    if len(jobs) == 1:
        return f"job {jobs[0]} succeeds"
    _, any_of = dependencies_of(job.dependency)
    first = ", ".join(jobs[:-1])
    return f"job {first} or {jobs[-1]} succeeds" if any_of else f"jobs {first} and {jobs[-1]} succeed"


def _ahead(ahead: Ahead) -> dict[str, int]:
    return {
        "jobs": ahead.all, "of_higher_tiers": ahead.higher_tier, "of_higher_priority": ahead.higher_priority,
        "submitted_earlier": ahead.earlier, "own": ahead.own,
    }  # fmt: skip


def _priority(job: Job, partition: str, own: Priority) -> dict[str, Any]:
    """Return the priority that Slurm publishes, and its parts as Gas calculates them."""
    return {
        "value": job.priority_in.get(partition, job.priority),
        "by_submission": own.comes_last,
        "parts": [{"name": one.name, "factor": one.factor, "points": round(one.points)} for one in own.parts],
        "unknown": list(own.unknown),
    }


def _limits(verdict: Verdict) -> dict[str, Any]:
    met = [
        {"reason": one.reason, "words": one.words, "outcome": one.outcome, "release": one.release}
        for one in verdict.bindings
    ]
    return {"met": met, "unknown": list(verdict.unknown)}


def _no_plan(outlook: Outlook) -> str | None:
    if outlook.planned is not None:
        return None
    return outlook.words or (None if outlook.why is None else outlook.why.value)


def _sooner(found: Sooner, job: Job, expected: int | None) -> dict[str, Any]:
    other = found.change.job
    words = {
        "time": f"a time limit of {duration_text(other.time_limit or 0)}",
        "size": _size(other, job),
        "partition": f"partition {','.join(other.partitions)}",
        "qos": " ".join(part for part in (f"QOS {other.qos}", f"account {other.account}") if part.split()[1:]),
    }[found.change.kind]
    earlier = None if expected is None else expected - found.start
    return {"change": found.change.kind, "words": words, "start": found.start, "seconds_sooner": earlier}


def _size(other: Job, job: Job) -> str:
    if other.gres_per_job:
        return " ".join(f"{one.count} × {':'.join(part for part in (one.name, one.type) if part)}" for one in
                        other.gres_per_job)  # fmt: skip
    if other.least_nodes != job.least_nodes:
        return f"{other.least_nodes} node{'' if other.least_nodes == 1 else 's'}"
    return f"{other.cpus} CPU{'' if other.cpus == 1 else 's'}"


def _others(cluster: Cluster, job: Job, groups: frozenset[str] | None) -> Iterator[Change]:
    """Yield the job in other partitions, and with other accounts and QOS, that its user may use.

    Choices that Gas makes only if the user names them are not suggested.
    """
    asked = (*job.gres_per_job, *job.gres_per_node, *job.gres_per_task)
    has_gpus = any(one.name in GPUS for one in asked)
    there = usable(cluster, job.user, groups=groups)
    for partition in there[:MOST]:
        if partition.name not in job.partitions and (has_gpus or not only_gpus(cluster, partition)):
            yield Change("partition", replace(job, partitions=(partition.name,), priority_in={}))
    own = tuple(one for one in there if one.name in job.partitions)
    for choice in choices(cluster, own, Options(account=job.account), job.user, groups=groups)[:MOST] if own else ():
        if choice.qos and choice.qos != job.qos and not displaced(cluster, choice.qos):
            yield Change("qos", replace(job, qos=choice.qos, priority_in={}))
