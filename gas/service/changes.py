"""Client requests that change a waiting job: another shape, or an answer to an offer."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answer", "Change", "Reshape"]


@dataclass(frozen=True, slots=True)
class Reshape:
    """Another shape for a waiting job, as requested by a client; values of None do not change.

    `user` is the requesting user; each user uses a `key` for only one request for this job.
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
    """An answer to an offer, as sent by a client; instants in epoch seconds.

    If it `accepts`, the job moves to the offered `start`. Otherwise the offer (with `start`, if given) is declined, and
    from now on only starts from `not_before` on are offered; none if it is None. `user` and `key` as in `Reshape`.
    """

    id: int
    accepts: bool
    start: int | None = None
    not_before: int | None = None
    key: str | None = None
    user: str = ""


Change = Reshape | Answer
