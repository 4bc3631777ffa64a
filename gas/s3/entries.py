"""What the schedule holds: jobs and reservations that have, or will have, processors."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gas.profile.flat import Profile, profile_of

__all__ = ["Broken", "Cause", "Entry", "Resized", "State", "profile_left_by"]

State = Literal["queued", "reserved", "running"]

Cause = Literal["outage", "overrun", "resize"]
"""Why a promise could not be kept: no service ran, a job outlived its walltime, or the machine was made smaller."""


@dataclass(slots=True)
class Entry:
    """A job or reservation that holds processors now or in future.

    `start` is planned while it is queued or reserved and actual while it runs; `promise` is the latest start that it
    was given, anew when it was reshaped. It is not started before `earliest`. `end` is when its processors are due
    back: ``start + walltime``, later only if it could not be ended. Who has the higher `priority` stands in front.
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

    @property
    def turn(self) -> tuple[int, int]:
        """What the queue is ordered by: the highest priority first, each in submission order."""
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
    """What a machine of another size could not keep: promises that moved later, and entries larger than it is."""

    broken: list[Broken]
    evicted: list[Entry]


def profile_left_by(entries: Collection[Entry], processors: int, now: int) -> Profile:
    """Return what these entries leave free of a machine from now on.

    Those that run may hold more than there is, on a machine that was made smaller: then nothing is free. Where others
    are planned for processors that there are not, `free` is negative.
    """
    rows = [(max(e.start, now), max(e.end, now), e.processors, e.state == "running") for e in entries]
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
