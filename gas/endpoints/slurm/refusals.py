"""What kind of error Slurm's words are, whether its commands or slurmrestd say them.

Slurm's words have stayed the same from version to version (src/common/slurm_errno.c).
"""

from __future__ import annotations

from collections.abc import Mapping

from gas.endpoints.sending import NotSent, Unclear
from gas.errors import BadInput, Conflict, Forbidden, GasError, NotFound, OverLimit, Unreachable

__all__ = ["AWAY", "KINDS", "LOST", "kind_of"]

AWAY = ("(connect failure)", "Connection refused", "Communication connection failure")
"""What is said when slurmctld has not been reached: it has not heard of anything."""

UNABLE = "Unable to contact slurm controller"
"""Comes before one of the others, in brackets, and says nothing of whether it was heard."""

LOST = (
    UNABLE, "timed out", "Zero Bytes were transmitted", "Unexpected message received", "Connection reset",
    "Header lengths", "send failure", "receive failure",
)  # fmt: skip
"""What is said when slurmctld has been reached, perhaps, and there was no answer."""

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
"""What kind of refusal others are; whatever is in none of these says that the request is wrong."""


def kind_of(words: str, *, sends: bool, acts: bool) -> type[GasError]:
    """Return what kind of error an answer is.

    Parameters
    ----------
    sends
        Whether it answers a request that makes something, so that a lost answer leaves a doubt.
    acts
        Whether it answers a request that changes something; what only asks is not refused but not understood.
    """
    lost = [mark for mark in LOST if mark in words]
    if any(mark in words for mark in AWAY) and set(lost) <= {UNABLE}:
        return NotSent
    if lost:
        return Unclear if sends else Unreachable
    known = (kind for mark, kind in KINDS.items() if mark in words)
    return next(known, BadInput if acts else Unreachable)
