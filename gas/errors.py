"""The errors of Gas, and the one table of their exit codes and HTTP statuses.

    GasError
    ├── BadInput          unusable input of a user or client
    │   └── Untrusted     a configuration that would run programs or send secrets, and is not trusted
    ├── Infeasible        no request meets the limits
    │   └── WithoutGpus   the job requests GPUs, and the partition has none
    ├── Unreachable       no scheduler answered
        ├── StalePlan         the schedule changed before the request arrived
    ├── NotFound          there is no such job
    ├── Conflict          the state of the job or the schedule does not allow this
    │   ├── Draining      the scheduler accepts no new jobs
    │   └── StoreDamaged  the contents of the store are damaged
    ├── StoreFailed       a change could not be made durable, so it was not made
        │   └── StoreInDoubt  it is unknown whether it was made; repeating the request with the same key settles it
    ├── Unauthorized      no token, or an invalid one
    ├── Forbidden         the user may not do this
    ├── OverLimit         a limit per user is exceeded
    ├── TooLarge          the request has too many bytes
    ├── TooMany           too many requests
    ├── JobFailed         a job did not complete
    └── Missing           an optional part of Gas is not installed

The modules that decide raise these; the edges (command line, HTTP) translate them by `ERRORS`.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from typing import Any, NamedTuple

from documents.fields import Unusable

__all__ = [
    "ERRORS",
    "BadInput",
    "Conflict",
    "Draining",
    "Forbidden",
    "GasError",
    "Infeasible",
    "JobFailed",
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
    "WithoutGpus",
    "outcome_of",
]


class GasError(Exception):
    """An error with a message for people: the value, the limit and the way out."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Copying an exception, or passing it between processes, calls its class with the message alone; some of our
        # classes need more arguments.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class BadInput(GasError, Unusable):
    """Unusable input of a user or client."""


class Untrusted(BadInput):
    """A configuration would run programs or send secrets, and the user has not trusted it."""


class Infeasible(GasError):
    """No request meets the limits."""


class WithoutGpus(Infeasible):
    """The job requests GPUs, and the partition has none, which is no news if other partitions have some."""


class Unreachable(GasError):
    """A scheduler did not answer, or its answer cannot be understood."""


class StalePlan(GasError):
    """The schedule changed between planning and submitting."""


class NotFound(GasError):
    """There is no such job, reservation or endpoint."""


class Conflict(GasError):
    """The state of the job or the schedule does not allow this."""


class Draining(Conflict):
    """The scheduler finishes its schedule and accepts no new jobs."""


class StoreDamaged(Conflict):
    """The contents of the store are damaged: changed by a disk fault, a bad copy or a person."""


class Unauthorized(GasError):
    """There is no token, or it is not valid."""


class Forbidden(GasError):
    """The user may not do this."""


class OverLimit(GasError):
    """A user would exceed a limit on processors or on jobs in the queue."""


class TooLarge(GasError):
    """A request has too many bytes."""


class TooMany(GasError):
    """A user sends too many requests.

    Attributes
    ----------
    retry_after
        Seconds after which the next one is accepted.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StoreFailed(GasError):
    """A change could not be made durable (disk full, read-only), so it was not made."""


class StoreInDoubt(StoreFailed):
    """A change may or may not have been made durable: the disk failed while it was written.

    Repeating the request with the same key settles it. Until a write succeeds, a crash may lead to either outcome.
    """


class JobFailed(GasError):
    """A job did not complete.

    Attributes
    ----------
    job
        The job as its scheduler describes it; empty if not available.
    exit_status
        None if the job did not start, or a signal ended it.
    output
        The end of its output; a line before each stream names it.
    """

    def __init__(
        self, message: str, job: Mapping[str, Any] | None = None, exit_status: int | None = None, output: str = ""
    ) -> None:
        super().__init__(message)
        self.job: Mapping[str, Any] = job or {}
        self.exit_status = exit_status
        self.output = output


class Missing(GasError):
    """An optional part of Gas is not installed; the message names the extra to install."""


class Outcome(NamedTuple):
    """The HTTP status and exit code of an error."""

    http_status: int
    exit_code: int


ERRORS: dict[type[Exception], Outcome] = {
    BadInput: Outcome(422, 2),
    Unusable: Outcome(422, 2),  # raised by packages below, which do not know this module
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
    """Return the HTTP status and exit code of an error, None for an unexpected one."""
    for kind in type(error).__mro__:
        if kind in ERRORS:
            return ERRORS[kind]
    return None
