"""Earlier starts that waiting jobs are offered, and answers to them (`gas.s3.offers`)."""

from __future__ import annotations

from typing import Any

from gas.endpoints import Endpoint, OfferingEndpoint
from gas.errors import BadInput, Conflict
from gas.times import duration_text, iso_time

__all__ = ["accept", "checked_notice", "decline", "offer_text", "offering", "without_offers"]


def offering(where: Endpoint, what: str) -> OfferingEndpoint:
    """Return a scheduler as one that offers earlier starts, or raise `BadInput` with `what` that is asked for."""
    if not isinstance(where, OfferingEndpoint):
        raise BadInput(f"{what}: {where.name} offers no earlier starts, only S³ does; use an S³")
    return where


def checked_notice(seconds: int, what: str) -> int:
    """Return the seconds to answer an offer, or raise `BadInput` that begins with `what`."""
    from gas.s3.entries import MOST_NOTICE

    if not 1 <= seconds <= MOST_NOTICE:
        raise BadInput(f"{what}: must be 1 s to {duration_text(MOST_NOTICE)}; processors are held twice for that long")
    return seconds


def without_offers(job: dict[str, Any], now: int) -> str | None:
    """Return why a job that has just been submitted will be offered nothing; None if it may be offered something."""
    notice, promise = job.get("notice"), job.get("promise")
    if notice is None or promise is None or promise - now > notice:
        return None
    return (
        f"job {job['id']} starts in {duration_text(max(0, promise - now))} at the latest, and an offered start is "
        f"at least {duration_text(notice)} (its notice) away: the job gets no offers"
    )


def accept(where: Endpoint, id: int) -> dict[str, Any]:
    """Accept what a waiting job is offered now, and return the job with its new promise.

    Raises
    ------
    Conflict
        It is offered nothing, or something else by now.
    """
    there = offering(where, f"job {id}")
    start = there.job(id).get("offer")
    if start is None:
        raise Conflict(f"job {id} has no offer now; nothing was changed")
    return there.answer(id, accepts=True, start=start)


def decline(where: Endpoint, id: int, not_before: int | None = None) -> dict[str, Any]:
    """Decline what a waiting job is offered, if anything, and return the job.

    Parameters
    ----------
    not_before
        Starts from this epoch second on may be offered; None for no more.
    """
    return offering(where, f"job {id}").answer(id, accepts=False, not_before=not_before)


def offer_text(job: dict[str, Any]) -> str | None:
    """Return in words what a job is offered, None if nothing."""
    offer, until, promise = (job.get(name) for name in ("offer", "answer_by", "promise"))
    if offer is None or until is None or promise is None:
        return None
    earlier = duration_text(promise - offer)
    return f"offered a start at {iso_time(offer)}, {earlier} earlier, answer by {iso_time(until)}"
