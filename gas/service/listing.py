"""Lists of jobs in pages: the selection of jobs, and the jobs of one page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from gas.service.jobs import Job, JobState

__all__ = ["MOST_A_PAGE", "Page", "Wanted", "candidates_of", "page_of"]

MOST_A_PAGE = 1000
"""Largest number of jobs on a page, however long the queue is; a client may request fewer."""


@dataclass(frozen=True)
class Wanted:
    """The jobs that a client wants to list.

    Attributes
    ----------
    after
        Only jobs with higher numbers: the last number of the previous page.
    limit
        Largest number of jobs on the page.
    ended
        Number of the latest ended jobs to list, in addition to those in the schedule.
    states
        Only jobs in one of these states; an empty set means all.
    user
        Only the jobs of one user; None for all users.
    """

    after: int = 0
    limit: int = MOST_A_PAGE
    ended: int = 0
    states: frozenset[JobState] = field(default_factory=frozenset)
    user: str | None = None

    def __contains__(self, job: Job) -> bool:
        """Whether a job is selected by its state and user."""
        return (not self.states or job.state in self.states) and self.user in (None, job.request.user)


@dataclass(frozen=True)
class Page:
    """Jobs in submission order, without long fields; the following page begins after `next`, None on the last page."""

    jobs: list[Job]
    next: int | None


def candidates_of(jobs: Mapping[int, Job], numbers: Sequence[int], wanted: Wanted) -> list[int]:
    """Return the numbers of jobs in the schedule that may be on the page, and one more if there are more.

    `numbers` ascend. Jobs may change in the meantime, so the caller must check the jobs of the page again.
    """
    rest = islice(numbers, bisect_right(numbers, wanted.after), None)
    found = (id for id in rest if (job := jobs.get(id)) is not None and job in wanted)
    return list(islice(found, wanted.limit + 1))


def page_of(candidates: list[Job], wanted: Wanted) -> Page:
    """Return the page of the first of these jobs; if there are more than its limit, another page follows."""
    candidates.sort(key=lambda job: job.id)
    jobs = candidates[: wanted.limit]
    return Page(jobs, jobs[-1].id if len(candidates) > wanted.limit else None)
