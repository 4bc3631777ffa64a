"""Entries of the schedule: jobs and reservations that have, or will have, processors."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gas.profile.flat import Profile, profile_of
from gas.times import LATEST

__all__ = ["MOST_NOTICE", "NO_OFFERS", "Broken", "Cause", "Entry", "Resized", "State", "profile_left_by"]

State = Literal["queued", "reserved", "running"]

Cause = Literal["outage", "overrun", "resize"]
"""Why a promise was broken: no service ran, a job exceeded its walltime, or the machine was made smaller."""

NO_OFFERS = LATEST
"""`Entry.offers_from` of a job without offers."""

MOST_NOTICE = 86_400
"""Largest total time for which offers to a job may be held, in seconds."""


@dataclass(slots=True)
class Entry:
    """A job or reservation that holds processors now or in future.

    `start` is planned while it is queued or reserved, and actual while it runs. `promise` is the latest promised start,
    renewed when the job is reshaped. It never starts before `earliest`. `end` is when its processors are due back:
    ``start + walltime``, later only if it could not be ended. Entries with a higher `priority` come first.

    A job with a `notice` does not move to an earlier start but gets an offer of it (`gas.s3.offers`). The `offer` is
    held besides its own slot until `answer_by`. It gets no offers before `offers_from`. All its offers together were
    held for `held` seconds, the present one counted until `answer_by`; at most `MOST_NOTICE`.
    """

    id: int
    processors: int
    walltime: int
    submitted: int
    start: int
    promise: int
    state: State
    end: int
    earliest: int = 0
    priority: int = 0
    notice: int | None = None
    offer: int | None = None
    answer_by: int | None = None
    offers_from: int = 0
    held: int = 0

    def hold_offer(self, now: int, soonest: int) -> None:
        """Give it time to answer its present offer, from `soonest` on: its notice, or the rest of the largest total."""
        self._stop_holding(now)
        self.answer_by = soonest + min(self.notice or 0, MOST_NOTICE - self.held)
        self.held += self.answer_by - now

    def withdraw_offer(self, now: int) -> None:
        """Withdraw its offer."""
        self._stop_holding(now)
        self.offer = self.answer_by = None
        if self.held >= MOST_NOTICE:
            self.offers_from = NO_OFFERS

    def _stop_holding(self, now: int) -> None:
        if self.answer_by is not None:
            self.held -= max(0, self.answer_by - now)

    @property
    def offered(self) -> tuple[int, int]:
        """The span in which processors are held for its offer, besides its own slot; empty if both ends are equal."""
        if self.offer is None:
            return self.start, self.start
        return self.offer, min(self.offer + self.walltime, self.start)

    @property
    def first(self) -> int:
        """The first planned start: that of the offer, if there is one."""
        return self.start if self.offer is None else self.offer

    @property
    def turn(self) -> tuple[int, int]:
        """The key of the queue: highest priority first, and submission order within a priority."""
        return -self.priority, self.id


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken promise: promised for `promised`, now planned for `start`."""

    id: int
    promised: int
    start: int
    noticed: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Resized:
    """The losses of a change of the machine's size: promises that moved later, and entries larger than the machine."""

    broken: list[Broken]
    evicted: list[Entry]


def profile_left_by(entries: Collection[Entry], processors: int, now: int) -> Profile:
    """Return the processors of a machine that are free alongside these entries from now on.

    On a machine that was made smaller, running entries may hold more processors than exist: then none are free. If
    entries are planned on processors that do not exist, `free` is negative.
    """
    rows = [(max(e.start, now), max(e.end, now), e.processors, e.state == "running") for e in entries]
    offers = [(*e.offered, e.processors) for e in entries if e.offer is not None]
    rows += [(max(begin, now), max(end, now), held, False) for begin, end, held in offers]
    start, end, held, runs = np.array(rows, np.int64).reshape(-1, 4).T
    instants, places = np.unique(np.concatenate([[now], start, end]), return_inverse=True)
    _, begins, ends = np.split(places, [1, 1 + len(rows)])
    steps = np.zeros((2, len(instants)), np.int64)
    np.add.at(steps, (runs, begins), held)
    np.subtract.at(steps, (runs, ends), held)
    planned, running = steps.cumsum(axis=1)
    free = np.maximum(processors - running, 0) - planned
    first = np.concatenate([[True], free[1:] != free[:-1]])
    return profile_of(instants[first], free[first])
