"""Infers how many jobs Slurm plans in a cycle from the plans of waiting jobs, if the setting is not published.

A cycle stops planning after a number of jobs in all, per user or per partition (slurm.conf(5), bf_max_job_test,
bf_max_job_user and bf_max_job_part).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gas.slurm.cluster import ARRAY_DEPTH, Cluster
from gas.slurm.order import Record, queue

__all__ = ["observed_depth"]

FEWEST = 2
"""Smallest number of jobs without a plan from which a depth is inferred."""


def observed_depth(cluster: Cluster, tested: int | None = None) -> tuple[str, int] | None:
    """Return the parameter that explains the missing plans, and its value; None if none does, or no plan is missing.

    Parameters
    ----------
    tested
        Number of jobs that the last cycle tested, if it stopped at this depth and this is published.
    """
    records = [one for one in queue(cluster) if _was_tested(cluster, one)]
    with_plan = [at for at, one in enumerate(records) if one.job.start is not None]
    if len(records) - len(with_plan) < FEWEST or not with_plan:
        return None
    if len({one.job.id for one in records}) < len(records):  # a job in several partitions shows only one plan
        return None
    if with_plan[-1] == len(with_plan) - 1:
        if tested is not None:
            return "bf_max_job_test", tested
        return "bf_max_job_test", sum(_tests(one) for one in records[: len(with_plan)]) + _started(cluster)
    for key, part in (
        ("bf_max_job_user", lambda one: one.job.user), ("bf_max_job_part", lambda one: one.partition.name),
    ):  # fmt: skip
        count = _first_of_each(records, part)
        if count:
            return key, count
    return None


def _first_of_each(records: Sequence[Record], part: Callable[[Record], str]) -> int:
    """Return how many first jobs have a plan in each part, if later ones have none; 0 if parts differ."""
    planned: Counter[str] = Counter()
    ended: set[str] = set()
    for one in records:
        whose = part(one)
        if one.job.start is None:
            ended.add(whose)
        elif whose in ended:
            return 0
        else:
            planned[whose] += _tests(one)
    counts = {planned[whose] for whose in ended}
    if len(counts) != 1 or max(planned.values()) > max(counts):
        return 0
    return counts.pop()


def _was_tested(cluster: Cluster, record: Record) -> bool:
    """Return whether the last cycle could have planned a record: nothing blocks it, and it was already submitted."""
    job = record.job
    since = job.eligible or job.submitted or 0
    return record.blocked is None and (cluster.planned is None or since < cluster.planned) and not job.shortest


def _started(cluster: Cluster) -> int:
    """Return the number of jobs that the last cycle started, as these were tested too."""
    last = cluster.planned
    if last is None:
        return 0
    return sum(
        job.state == "RUNNING" and job.start is not None and last <= job.start <= last + 1 for job in cluster.jobs
    )


def _tests(record: Record) -> int:
    """Return how often a record counts: once per planned task."""
    tasks = record.job.tasks
    if tasks is None:
        return 1
    return max(1, min(len(tasks), ARRAY_DEPTH, tasks.at_once or ARRAY_DEPTH))
