"""Cancels jobs and reservations, each on its own: one that cannot be cancelled does not keep the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from gas.agent.states import ENDED
from gas.endpoints import JobEndpoint
from gas.errors import outcome_of

__all__ = ["Cancelled", "NotCancelled", "Own", "cancel", "cancel_each", "own"]

_STATES = (("queued", "running"), ("reserved",))
"""Names of the states of jobs, and of reservations."""


class Own(NamedTuple):
    """Numbers of the caller's queued and running jobs, and of the caller's reservations."""

    jobs: list[int]
    reservations: list[int]


class Cancelled(NamedTuple):
    """A job after its cancellation; `had_ended` if there was nothing to cancel."""

    job: dict[str, Any]
    had_ended: bool


class NotCancelled(NamedTuple):
    """A job, as it was named, that was not cancelled, and why."""

    named: str
    error: Exception


def own(where: JobEndpoint) -> Own:
    """Return the caller's jobs and reservations that have not ended."""
    found = [job for job in where.jobs(0) if job["mine"]]
    return Own(*([int(job["id"]) for job in found if job["state"] in states] for states in _STATES))


def cancel(where: JobEndpoint, number: int) -> Cancelled:
    """Cancel a job or a reservation; a running job is terminated, which may take a moment."""
    had_ended = where.job(number)["state"] in ENDED
    return Cancelled(where.cancel(number), had_ended)


def cancel_each(
    named: Iterable[str],
    find: Callable[[str], tuple[JobEndpoint, int]],
    report: Callable[[Cancelled | NotCancelled], object],
) -> list[Cancelled | NotCancelled]:
    """Cancel jobs one after the other, and return what became of each; errors of Gas do not stop it.

    Parameters
    ----------
    find
        Returns the scheduler and the number of a job as it was named.
    report
        Called with the outcome of each job.
    """
    found: list[Cancelled | NotCancelled] = []
    for one in named:
        outcome: Cancelled | NotCancelled
        try:
            outcome = cancel(*find(one))
        except Exception as error:
            if outcome_of(error) is None:
                raise
            outcome = NotCancelled(one, error)
        found.append(outcome)
        report(outcome)
    return found
