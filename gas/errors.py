"""What can go wrong, and the one table that says how it leaves the program.

    GasError
    ├── BadInput          something a person or a client wrote cannot be used
    ├── Infeasible        no request meets what was asked
    ├── Unreachable       no scheduler answered
    ├── StalePlan         the schedule moved before the request arrived
    ├── NotFound          there is no such job
    ├── Conflict          the job or the schedule is not in a state for this
    ├── StoreFailed       a change could not be made durable, so it was not made
    └── Missing           a part of Gas that is not installed here

Deciding code raises these; the edges (command line, HTTP) translate them by `ERRORS`.
"""

from __future__ import annotations

from typing import NamedTuple

from speedup_models import FieldError, ModelError
from workloads import LogError

__all__ = [
    "ERRORS",
    "BadInput",
    "Conflict",
    "GasError",
    "Infeasible",
    "Missing",
    "NotFound",
    "Outcome",
    "StalePlan",
    "StoreFailed",
    "Unreachable",
    "outcome_of",
]


class GasError(Exception):
    """An error whose message is meant for a person: the value, the limit and the way out."""


class BadInput(GasError, ValueError):
    """Something a person or a client wrote cannot be used."""


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


class StoreFailed(GasError):
    """A change could not be made durable (disk full, read-only), so it was not made."""


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
    Infeasible: Outcome(422, 3),
    Unreachable: Outcome(503, 4),
    StalePlan: Outcome(412, 5),
    NotFound: Outcome(404, 1),
    Conflict: Outcome(409, 1),
    StoreFailed: Outcome(503, 1),
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
