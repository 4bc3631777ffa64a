"""Offers of earlier starts to waiting jobs, and answers to these offers (`gas.s3.offers`)."""

from __future__ import annotations

from typing import Any

from gas.endpoints import Endpoint, OfferingEndpoint
from gas.errors import BadInput, Conflict
from gas.times import duration_text, iso_time

__all__ = ["accept", "checked_notice", "decline", "offer_text", "offering", "without_offers"]


def offering(where: Endpoint, what: str) -> OfferingEndpoint:
    """Return a scheduler if it offers earlier starts; else raise `BadInput`, which names the request `what`."""
    if not isinstance(where, OfferingEndpoint):
        raise BadInput(f"{what}: {where.name} offers no earlier starts, only S³ does; use an S³")
    return where


def checked_notice(seconds: int, what: str) -> int:
    """Return the seconds in which to answer an offer, or raise a `BadInput` that begins with `what`."""
    from gas.s3.entries import MOST_NOTICE

    if not 1 <= seconds <= MOST_NOTICE:
        raise BadInput(f"{what}: must be 1 s to {duration_text(MOST_NOTICE)}; processors are held twice for that long")
    return seconds


def without_offers(job: dict[str, Any], now: int) -> str | None:
    """Return why a job that was just submitted will get no offers; None if it may get some."""
    notice, promise = job.get("notice"), job.get("promise")
    if notice is None or promise is None or promise - now > notice:
        return None
    return (
        f"job {job['id']} starts in {duration_text(max(0, promise - now))} at the latest, and an offered start is "
        f"at least {duration_text(notice)} (its notice) away: the job gets no offers"
    )


def accept(where: Endpoint, id: int) -> dict[str, Any]:
    """Accept the present offer to a waiting job, and return the job with its new promise.

    Raises
    ------
    Conflict
        There is no offer, or it has changed.
    """
    there = offering(where, f"job {id}")
    start = there.job(id).get("offer")
    if start is None:
        raise Conflict(f"job {id} has no offer now; nothing was changed")
    return there.answer(id, accepts=True, start=start)


def decline(where: Endpoint, id: int, not_before: int | None = None) -> dict[str, Any]:
    """Decline the offer to a waiting job, if there is one, and return the job.

    Parameters
    ----------
    not_before
        Starts from this epoch second on may be offered; None ends all offers.
    """
    return offering(where, f"job {id}").answer(id, accepts=False, not_before=not_before)


def offer_text(job: dict[str, Any]) -> str | None:
    """Return the offer to a job in words; None without an offer."""
    offer, until, promise = (job.get(name) for name in ("offer", "answer_by", "promise"))
    if offer is None or until is None or promise is None:
        return None
    earlier = duration_text(promise - offer)
    return f"offered a start at {iso_time(offer)}, {earlier} earlier, answer by {iso_time(until)}"
