"""Sums of each user's jobs in the schedule, updated whenever a job enters or leaves it."""

from __future__ import annotations

from collections.abc import Iterable

from gas.service.jobs import Job

__all__ = ["Usage"]


class Usage:
    """The sums for all users.

    Attributes
    ----------
    by_user
        Jobs in the schedule, their processors × walltime in seconds, and bytes of their commands and environments
        (`JobRequest.size`).
    """

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self.by_user: dict[str, tuple[int, int, int]] = {}
        for job in jobs:
            self.add(job)

    def of(self, user: str) -> tuple[int, int, int]:
        """Return the sums of one user."""
        return self.by_user.get(user, (0, 0, 0))

    def add(self, job: Job) -> None:
        """Count a job that enters the schedule."""
        count, seconds, size = self.of(job.request.user)
        self.by_user[job.request.user] = count + 1, seconds + job.processor_seconds, size + job.request.size

    def remove(self, job: Job) -> None:
        """Count a job that leaves it."""
        user = job.request.user
        count, seconds, size = self.of(user)
        if count > 1:
            self.by_user[user] = count - 1, seconds - job.processor_seconds, size - job.request.size
        else:
            del self.by_user[user]
