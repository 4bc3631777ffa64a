"""What the schedule holds: jobs and reservations that have, or will have, processors."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from gas.profile import Profile, empty_profile, take

__all__ = ["Broken", "Entry", "State", "profile_left_by"]

State = Literal["queued", "reserved", "running"]


@dataclass(slots=True)
class Entry:
    """A job or reservation that holds processors now or in future.

    `start` is planned while it is queued or reserved and actual while it runs; `promise` is the latest start that it
    was told. It is not started before `earliest`. `end` is when its processors are due back: ``start + walltime``,
    later only if it could not be ended.
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


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that could not be kept: told `promised`, now planned for `start`."""

    id: int
    promised: int
    start: int
    noticed: int


def profile_left_by(entries: Collection[Entry], processors: int, now: int) -> Profile:
    """Return what these entries leave free of a machine from now on."""
    profile = empty_profile(processors, now, 2 * len(entries) + 4)
    for e in entries:
        take(profile, max(e.start, now), e.end, e.processors)
    return profile
