"""What clients request of a waiting job: another shape, or an answer to what it is offered."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answer", "Change", "Reshape"]


@dataclass(frozen=True, slots=True)
class Reshape:
    """Another shape for a waiting job, as requested by a client: what is None stays as it is.

    `user` is who requests it; of each, a `key` is of one request for this job.
    """

    id: int
    processors: int | None = None
    walltime: int | None = None
    run_time: int | None = None
    start_by: int | None = None
    key: str | None = None
    user: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to what a waiting job is offered, as sent by a client; instants in epoch seconds.

    `accepts` takes the offered `start`. Otherwise what is offered (`start`, if that is given) is declined, and earlier
    starts than `not_before` are not offered from now on; none at all if it is None. `user` and `key` as in `Reshape`.
    """

    id: int
    accepts: bool
    start: int | None = None
    not_before: int | None = None
    key: str | None = None
    user: str = ""


Change = Reshape | Answer
