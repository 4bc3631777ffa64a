"""Limits per user: jobs, processors × walltime, stored bytes, requests and streams.

This module has no clock and no counters: the caller passes the time and the present amounts. Limits apply to
operators too, so that they mean the same with and without tokens.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from gas.errors import BadInput, OverLimit, TooLarge, TooMany
from gas.printable import many
from gas.times import duration_text

__all__ = ["DEFAULT_QUEUED_BYTES", "DEFAULT_REQUEST_BYTES", "DEFAULT_STREAMS", "Limits", "Pace", "RateLimiter"]

DEFAULT_REQUEST_BYTES = 4 * 2**20
"""Default of the largest request: Linux starts no command whose arguments and environment have more than
2 MiB together (a quarter of the usual limit of a stack), so what can be started can be sent."""

DEFAULT_QUEUED_BYTES = 64 * 2**20
"""Bytes of commands and environments that one user may have in the schedule by default: they are kept in
memory, and 64 MiB are 32 of the longest commands, or 100,000 of 600 bytes."""

DEFAULT_STREAMS = 16
"""How many event streams a user may have open by default: one for each window that shows the schedule."""

_SLACK = 1e-6
"""Seconds by which a request may come early: more than rounding errors, less than a client could exploit."""


@dataclass(frozen=True)
class Limits:
    """The limits of every user; None means no limit.

    Parameters
    ----------
    max_queued
        Jobs and reservations of one user in the schedule: waiting, reserved and running ones together (as the limit of
        this name in PBS).
    max_processor_seconds
        Sum of processors × walltime of these jobs, in seconds.
    max_queued_bytes
        Bytes of the commands and environments of these jobs, in JSON.
    max_request_bytes
        Bytes of a request's body.
    max_rate
        Requests of one user per second, see `RateLimiter`.
    max_streams
        Event streams of one user that are open at the same time.

    Raises
    ------
    BadInput
        A limit that would allow nothing at all.
    """

    max_queued: int | None = None
    max_processor_seconds: int | None = None
    max_queued_bytes: int | None = DEFAULT_QUEUED_BYTES
    max_request_bytes: int | None = DEFAULT_REQUEST_BYTES
    max_rate: float | None = None
    max_streams: int | None = DEFAULT_STREAMS

    def __post_init__(self) -> None:
        for name in ("max_queued", "max_processor_seconds", "max_queued_bytes", "max_request_bytes", "max_streams"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise BadInput(f"{name} {value}: must be at least 1; leave it out for no limit")
        _check_rate(self.max_rate)

    def check_queue(self, user: str, active: int, processor_seconds: int, processors: int, walltime: int) -> None:
        """Raise if one more job would exceed a limit.

        Parameters
        ----------
        user
            User of the job.
        active
            Jobs and reservations that the user has in the schedule.
        processor_seconds
            Sum of processors × walltime of these jobs, in seconds.
        processors, walltime
            Those of the job; walltime in seconds.

        Raises
        ------
        OverLimit
            The job would exceed a limit.
        """
        if self.max_queued is not None and active >= self.max_queued:
            raise OverLimit(
                f"{user} has {many(active, 'job')} waiting, reserved or running, and the limit is {self.max_queued}; "
                "wait until one has ended, or cancel one"
            )
        most, more = self.max_processor_seconds, processors * walltime
        if most is None or processor_seconds + more <= most:
            return
        wanted = f"{processors} processors for {duration_text(walltime)} are {_hours(more)}"
        if more > most:
            raise OverLimit(
                f"{wanted}, and the limit of all jobs of {user} together is {_hours(most)}; request fewer processors "
                "or less walltime"
            )
        raise OverLimit(
            f"{wanted}; with the {_hours(processor_seconds)} of {user} in the schedule that is "
            f"{_hours(processor_seconds + more)}, and the limit is {_hours(most)}; request fewer processors or less "
            "walltime, wait until a job has ended, or cancel one"
        )

    def check_bytes(self, user: str, queued: int, more: int) -> None:
        """Raise `OverLimit` if one more job would exceed the limit on stored bytes.

        Parameters
        ----------
        user
            User of the job.
        queued, more
            Bytes of the commands and environments of the user's jobs in the schedule, and of the new one.
        """
        most = self.max_queued_bytes
        if most is None or queued + more <= most:
            return
        if more > most:
            raise OverLimit(
                f"the command and environment have {more} bytes, and the limit of all jobs of {user} together is "
                f"{most}; put long parts into a file that the command reads"
            )
        raise OverLimit(
            f"the command and environment have {more} bytes; with the {queued} bytes of the jobs of {user} in the "
            f"schedule that is {queued + more}, and the limit is {most}; put long parts into a file that the command "
            "reads, wait until a job has ended, or cancel one"
        )

    def check_size(self, size: int) -> None:
        """Raise `TooLarge` if a request's body of `size` bytes, complete or so far, exceeds the limit."""
        if self.max_request_bytes is not None and size > self.max_request_bytes:
            raise TooLarge(
                f"the request has {size} bytes or more, and the limit is {self.max_request_bytes}; put long parts "
                "into a file that the command reads"
            )


class RateLimiter:
    """Requests per second and user: a bucket of tokens that `rate` refills and that holds `burst` = max(1, 2 × rate).

    In any window of t seconds a user is admitted at most rate × t + burst times. Kept as the instant at which the
    bucket is full again (the generic cell rate algorithm, ITU-T I.371, annex A; the two are the same), so that a user
    costs one number, and none once that instant has passed. Safe to call from many threads.

    Parameters
    ----------
    rate
        Requests per second; None admits everything.
    """

    def __init__(self, rate: float | None) -> None:
        _check_rate(rate)
        self.rate = rate
        self.burst = math.inf if rate is None else max(1.0, 2 * rate)
        self._full_at: dict[str, float] = {}
        self._sweep_above = 64
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of users with a stored bucket; full ones are forgotten from time to time."""
        return len(self._full_at)

    def admit(self, user: str, now: float) -> None:
        """Take one token from a user's bucket; `now` is in seconds of a clock that never goes back.

        Raises
        ------
        TooMany
            The bucket is empty; its `retry_after` is the number of seconds until the next token. Nothing was taken.
        """
        if self.rate is None:
            return
        with self._lock:
            full_at = max(self._full_at.get(user, now), now) + 1 / self.rate
            early = full_at - now - self.burst / self.rate
            if early > _SLACK:
                raise TooMany(
                    f"{user} exceeds the limit of {self.rate:g} requests per second; "
                    f"try again in {max(1, math.ceil(early))} s",
                    early,
                )
            self._full_at[user] = full_at
            if len(self._full_at) > self._sweep_above:
                self._forget(now)

    def _forget(self, now: float) -> None:
        """Forget full buckets, which have no effect; do so again when the number of the others has doubled."""
        self._full_at = {user: full_at for user, full_at in self._full_at.items() if full_at > now}
        self._sweep_above = max(64, 2 * len(self._full_at))


class Pace:
    """Limits bytes per second and user, with a burst of one second: a user who sends more must wait.

    Parameters
    ----------
    rate
        Bytes per second.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._due: dict[str, float] = {}  # when the sent bytes would have arrived at the rate
        self._sweep_above = 64

    def pause(self, user: str, size: int, now: float) -> float:
        """Return the seconds to wait after `size` more bytes; `now` is the time of a clock that never goes back."""
        due = max(self._due.get(user, now), now) + size / self._rate
        self._due[user] = due
        if len(self._due) > self._sweep_above:
            self._due = {user: due for user, due in self._due.items() if due > now}
            self._sweep_above = max(64, 2 * len(self._due))
        return max(0.0, due - now - 1)


def _check_rate(rate: float | None) -> None:
    if rate is not None and not 1e-6 <= rate <= 1e6:  # also where the arithmetic above means what it says
        raise BadInput(f"max_rate {rate:g}: must be from 1e-6 to 1e6 requests a second; leave it out for no limit")


def _hours(processor_seconds: int) -> str:
    if processor_seconds < 3600:
        return f"{processor_seconds} processor-seconds"
    # tenths, cut off: a figure must not be rounded up to its own limit, nor beyond what an int can divide
    tenths = processor_seconds // 360
    return f"{tenths // 10}.{tenths % 10} processor-hours ({processor_seconds} processor-seconds)"
