"""Lists of jobs in pages: which jobs are wanted, and which come on one page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from gas.service.jobs import Job, JobState

__all__ = ["MOST_A_PAGE", "Page", "Wanted", "page_of", "waiting_in_line"]

MOST_A_PAGE = 1000
"""The jobs of a page, unless fewer are asked for: a list is never longer, however long the queue is."""


@dataclass(frozen=True)
class Wanted:
    """Which jobs a client wants to have listed.

    Attributes
    ----------
    after
        Only jobs with higher numbers: where the page before ended.
    limit
        The most jobs of the page.
    ended
        How many ended jobs to list, the latest ones, beside those in the schedule.
    states
        Only jobs in one of these; an empty set is all.
    user
        Only the jobs of one user; None for all users.
    """

    after: int = 0
    limit: int = MOST_A_PAGE
    ended: int = 0
    states: frozenset[JobState] = field(default_factory=frozenset)
    user: str | None = None

    def __contains__(self, job: Job) -> bool:
        """Whether a job is wanted, by its state and user."""
        return (not self.states or job.state in self.states) and self.user in (None, job.request.user)


@dataclass(frozen=True)
class Page:
    """Jobs in submission order, without what may be long; `next` is the number to go on after, None at the end."""

    jobs: list[Job]
    next: int | None


def waiting_in_line(jobs: Mapping[int, Job], numbers: Sequence[int], wanted: Wanted) -> list[int]:
    """Return the numbers of those in the schedule that may come on the page, and one more if there are more.

    `numbers` ascend. Jobs may change meanwhile: those that come on the page are to be looked at again.
    """
    rest = islice(numbers, bisect_right(numbers, wanted.after), None)
    found = (id for id in rest if (job := jobs.get(id)) is not None and job in wanted)
    return list(islice(found, wanted.limit + 1))


def page_of(candidates: list[Job], wanted: Wanted) -> Page:
    """Return the page that the first of these jobs make; more than its limit say that there is another page."""
    candidates.sort(key=lambda job: job.id)
    jobs = candidates[: wanted.limit]
    return Page(jobs, jobs[-1].id if len(candidates) > wanted.limit else None)
