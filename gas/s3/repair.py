"""Plans again if processors are not free in time, or if starts were missed.

Normally no promise moves later. A job that cannot be ended at its walltime, an outage of the service, or a smaller
machine can make promises impossible; this keeps every promise that can be kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from gas.compiled import compiled, kernel
from gas.profile.flat import Profile, earliest_fit, fits, take, with_room
from gas.s3.entries import Entry, profile_left_by

__all__ = ["keep_starts", "place_in_turn", "repair"]


def repair(
    running: Collection[Entry],
    waiting: Collection[Entry],
    processors: int,
    now: int,
    soonest: int,
    *,
    missed_first: bool,
    machine_code: bool = False,
) -> tuple[Profile, list[Entry]]:
    """Give every waiting entry a possible start; return the profile and the moved entries.

    Reservations first, then in queue order, entries keep their planned starts if these are still possible. All others
    get their first slot from `soonest` on, higher priorities first; a job with a notice gets none before its own start,
    since it chooses earlier starts itself. After an outage (`missed_first`), entries whose starts were missed come
    before all others, as soon as possible.
    """
    profile = with_room(profile_left_by(running, processors, now), 2 * len(waiting) + 2)
    keep, place_each = (
        (compiled(keep_starts), compiled(place_in_turn)) if machine_code else (keep_starts, place_in_turn)
    )
    missed = [e for e in waiting if missed_first and e.start < now]
    moved: list[Entry] = []

    def find_slots(displaced: list[Entry]) -> None:
        displaced.sort(key=lambda e: e.turn)
        # A hole before a reservation may be free, but that is not what was reserved; a job with a notice must be asked.
        first = [
            max(soonest, e.start if e.state == "reserved" or e.notice is not None else e.earliest) for e in displaced
        ]
        starts = np.array(first, np.int64)
        place_each(profile, _column(e.processors for e in displaced), _column(e.walltime for e in displaced), starts)
        for e, start in zip(displaced, starts.tolist(), strict=True):
            e.start, e.end = start, start + e.walltime
            e.promise = max(e.promise, start)
        moved.extend(displaced)

    find_slots(missed)
    gone = {e.id for e in missed}
    others = [e for e in waiting if e.id not in gone]
    kept = np.zeros(len(others), np.bool_)
    columns = [_column(column) for column in zip(*((e.processors, e.walltime, e.start) for e in others), strict=True)]
    if columns:
        keep(profile, columns[0], columns[1], columns[2], now, kept)
    find_slots([e for e, stays in zip(others, kept.tolist(), strict=True) if not stays])
    return profile, moved


def _column(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, np.int64)


@kernel
def keep_starts(
    profile: Profile,
    processors: NDArray[np.int64],
    walltimes: NDArray[np.int64],
    starts: NDArray[np.int64],
    now: int,
    kept: NDArray[np.bool_],
) -> None:
    """Take the planned slots one after the other if possible, and record in `kept` which entries keep their start."""
    for i in range(len(starts)):
        if starts[i] >= now and fits(profile, starts[i], walltimes[i], processors[i]):
            take(profile, starts[i], starts[i] + walltimes[i], processors[i])
            kept[i] = True


@kernel
def place_in_turn(
    profile: Profile, processors: NDArray[np.int64], walltimes: NDArray[np.int64], starts: NDArray[np.int64]
) -> None:
    """Place one entry after the other in its first slot from `starts` on, and write the new start there."""
    for i in range(len(starts)):
        starts[i] = earliest_fit(profile, processors[i], walltimes[i], starts[i])
        take(profile, starts[i], starts[i] + walltimes[i], processors[i])
