"""Classifies Slurm's error messages, which commands and slurmrestd share.

The messages have not changed between versions (src/common/slurm_errno.c).
"""

from __future__ import annotations

from collections.abc import Mapping

from gas.endpoints.sending import NotSent, Unclear
from gas.errors import BadInput, Conflict, Forbidden, GasError, NotFound, OverLimit, Unreachable

__all__ = ["AWAY", "KINDS", "LOST", "kind_of"]

AWAY = ("(connect failure)", "Connection refused", "Communication connection failure")
"""Messages if slurmctld was not reached, so that it has not received the request."""

UNABLE = "Unable to contact slurm controller"
"""Precedes one of the other messages; by itself it leaves open whether the request was received."""

LOST = (
    UNABLE, "timed out", "Zero Bytes were transmitted", "Unexpected message received", "Connection reset",
    "Header lengths", "send failure", "receive failure",
)  # fmt: skip
"""Messages if slurmctld may have received the request, but did not answer."""

KINDS: Mapping[str, type[GasError]] = {
    "Invalid job id": NotFound,
    "Unable to find": NotFound,
    "Access/permission denied": Forbidden,
    "Invalid user id": Forbidden,
    "Invalid account": Forbidden,
    "not permitted to use": Forbidden,
    "violates accounting/QOS policy": OverLimit,
    "no longer pending": Conflict,
    "already finished": Conflict,
    "already completing or completed": Conflict,
}
"""The errors for other messages; any further message means that the request is wrong."""


def kind_of(words: str, *, sends: bool, acts: bool) -> type[GasError]:
    """Return the error class for a message.

    Parameters
    ----------
    sends
        Whether the request creates a job, so that a lost answer leaves it in doubt.
    acts
        Whether the request changes something; if a mere query is refused, Slurm counts as unreachable.
    """
    lost = [mark for mark in LOST if mark in words]
    if any(mark in words for mark in AWAY) and set(lost) <= {UNABLE}:
        return NotSent
    if lost:
        return Unclear if sends else Unreachable
    known = (kind for mark, kind in KINDS.items() if mark in words)
    return next(known, BadInput if acts else Unreachable)
