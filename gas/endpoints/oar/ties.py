"""The order of users with the same karma: it is not published, but the plan shows it.

OAR plans the jobs of one such user after those of the other. A job that could start sooner on its planned resources
without another user's jobs comes after these. So the first user is the one without a job that could start sooner
without those of the others; the next, the one without a job that could with those of the first; and so on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gas.endpoints.oar.chart import Chart, Span
from gas.endpoints.oar.machine import Job

__all__ = ["users_in_order"]

MOST_JOBS = 400
"""With more of them, finding the order would take seconds."""

SOONER_SECONDS = 60
"""Only a difference of more than this counts as sooner."""


def users_in_order(tied: Iterable[Job], before: Iterable[Job], now: int, chart: Chart) -> list[set[str]]:
    """Return the users of waiting jobs in planning order; users in the same set have an unknown order.

    Parameters
    ----------
    tied
        Waiting jobs of users of the same karma.
    before
        All jobs that hold resources or are planned before these.
    """
    of_user: defaultdict[str, list[Job]] = defaultdict(list)
    for job in sorted(tied, key=lambda one: one.id):
        of_user[job.user].append(job)
    left = set(of_user)
    if sum(map(len, of_user.values())) > MOST_JOBS:
        return [left]
    taken: defaultdict[int, list[Span]] = defaultdict(list)
    for job in before:
        _take(taken, job, now, chart)
    found: list[set[str]] = []
    while left:
        first = {user for user in left if not _waits_for_others(of_user[user], taken, now, chart)}
        if not first or first == left:
            return [*found, left]
        found.append(first)
        left -= first
        for job in (job for user in first for job in of_user[user]):
            _take(taken, job, now, chart)
    return found


def _take(taken: defaultdict[int, list[Span]], job: Job, now: int, chart: Chart) -> None:
    span = chart.span(job, now)
    if span is not None:
        for id in job.resources:
            taken[id].append(span)


def _waits_for_others(jobs: Iterable[Job], taken: defaultdict[int, list[Span]], now: int, chart: Chart) -> bool:
    """Whether one of a user's jobs could start sooner on its planned resources if only `taken` were in its way."""
    own: defaultdict[int, list[Span]] = defaultdict(list)
    for job in jobs:
        if job.expected is not None and job.walltime is not None and job.resources:
            spans = [chart.joined(taken[id] + own[id]) for id in job.resources]
            if _earliest(spans, job.walltime + chart.security_time, now, job.expected) < job.expected - SOONER_SECONDS:
                return True
        _take(own, job, now, chart)
    return False


def _earliest(resources: list[tuple[Span, ...]], seconds: int, now: int, last: int) -> int:
    """Return the first instant at which all of some resources are free for so long; `last` if not before."""
    for start in sorted({now} | {end for spans in resources for _, end in spans if now < end < last}):
        if all(end <= start or begin >= start + seconds for spans in resources for begin, end in spans):
            return start
    return last
