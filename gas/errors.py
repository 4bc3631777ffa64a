"""What can go wrong, and the one table that says how it leaves the program.

    GasError
    ├── BadInput          something a person or a client wrote cannot be used
    │   └── Untrusted     a configuration that would run programs or send secrets, and that others may have written
    ├── Infeasible        no request meets what was asked
    ├── Unreachable       no scheduler answered
    ├── StalePlan         the schedule moved before the request arrived
    ├── NotFound          there is no such job
    ├── Conflict          the job or the schedule is not in a state for this
    │   ├── Draining      the scheduler accepts nothing new
    │   └── StoreDamaged  what was stored is not as it was written
    ├── StoreFailed       a change could not be made durable, so it was not made
    │   └── StoreInDoubt  it may have been made all the same; the same key finds out
    ├── Unauthorized      who asks is not known: no token, or one that is not valid
    ├── Forbidden         who asks is known and may not do this
    ├── OverLimit         more than one user may have
    ├── TooLarge          a request of more bytes than are taken
    ├── TooMany           requests that come too fast
    └── Missing           a part of Gas that is not installed here

Deciding code raises these; the edges (command line, HTTP) translate them by `ERRORS`.
"""

from __future__ import annotations

import copyreg
from typing import Any, NamedTuple

from speedup_models import FieldError, ModelError
from workloads import LogError
from workloads.archive import ArchiveError, ArchiveUnreachable, NotInArchive

__all__ = [
    "ERRORS",
    "BadInput",
    "Conflict",
    "Draining",
    "Forbidden",
    "GasError",
    "Infeasible",
    "Missing",
    "NotFound",
    "Outcome",
    "OverLimit",
    "StalePlan",
    "StoreDamaged",
    "StoreFailed",
    "StoreInDoubt",
    "TooLarge",
    "TooMany",
    "Unauthorized",
    "Unreachable",
    "Untrusted",
    "outcome_of",
]


class GasError(Exception):
    """An error whose message is meant for a person: the value, the limit and the way out."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are copied, and come over from other processes, by calling their class with their message alone;
        # some of ours take more than that.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class BadInput(GasError, ValueError):
    """Something a person or a client wrote cannot be used."""


class Untrusted(BadInput):
    """A configuration would run programs or send secrets, and the user has not allowed it."""


class Infeasible(GasError):
    """No request meets what was asked."""


class Unreachable(GasError):
    """A scheduler did not answer, or not in a way that can be understood."""


class StalePlan(GasError):
    """The schedule changed between planning and submitting."""


class NotFound(GasError):
    """There is no such job, reservation or endpoint."""


class Conflict(GasError):
    """The job or the schedule is not in a state in which this can be done."""


class Draining(Conflict):
    """The scheduler finishes what it has and accepts nothing new."""


class StoreDamaged(Conflict):
    """The store is not as it was written: a disk, a copy or a person has changed it."""


class Unauthorized(GasError):
    """Who asks is not known: there is no token, or it is not valid."""


class Forbidden(GasError):
    """Who asks is known, and may not do this."""


class OverLimit(GasError):
    """One user would have more of the machine, or of its queue, than one user may have."""


class TooLarge(GasError):
    """A request has more bytes than are taken."""


class TooMany(GasError):
    """Requests come faster than one user may send them.

    Attributes
    ----------
    retry_after
        Seconds after which the next one will be taken.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StoreFailed(GasError):
    """A change could not be made durable (disk full, read-only), so it was not made."""


class StoreInDoubt(StoreFailed):
    """A change may or may not have been made durable: the disk failed while it was written.

    The same request with the same key finds out, or makes it. Until a write succeeds, a crash may bring either.
    """


class Missing(GasError):
    """An optional part of Gas is not installed; the message says which extra brings it."""


class Outcome(NamedTuple):
    """How an error leaves the program."""

    http_status: int
    exit_code: int


ERRORS: dict[type[Exception], Outcome] = {
    BadInput: Outcome(422, 2),
    FieldError: Outcome(422, 2),
    ModelError: Outcome(422, 2),
    LogError: Outcome(422, 2),
    ArchiveError: Outcome(502, 1),
    ArchiveUnreachable: Outcome(503, 4),
    NotInArchive: Outcome(404, 2),
    Infeasible: Outcome(422, 3),
    Unreachable: Outcome(503, 4),
    StalePlan: Outcome(412, 5),
    NotFound: Outcome(404, 1),
    Conflict: Outcome(409, 1),
    Draining: Outcome(409, 1),
    StoreDamaged: Outcome(503, 1),
    StoreFailed: Outcome(503, 1),
    StoreInDoubt: Outcome(503, 4),
    Unauthorized: Outcome(401, 1),
    Forbidden: Outcome(403, 1),
    OverLimit: Outcome(403, 1),
    TooLarge: Outcome(413, 1),
    TooMany: Outcome(429, 1),
    Missing: Outcome(501, 1),
    GasError: Outcome(500, 1),
}
"""The most specific class of an error decides."""


def outcome_of(error: Exception) -> Outcome | None:
    """Return how this error leaves the program, None for one that nobody foresaw."""
    for kind in type(error).__mro__:
        if kind in ERRORS:
            return ERRORS[kind]
    return None
