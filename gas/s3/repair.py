"""Planning again around processors that are not free when they should be, or starts that nobody made.

In normal life no promise ever moves later. A job that cannot be ended at its walltime, or an outage of the service, can
make promises impossible; this keeps every promise that can be kept.
"""

from __future__ import annotations

from collections.abc import Collection

from gas.profile import Profile, fits, take, with_room
from gas.s3.entries import Entry, profile_left_by
from gas.s3.placing import place

__all__ = ["outlast", "repair"]


def outlast(running: Collection[Entry], now: int) -> set[int]:
    """Expect jobs that have outlived their walltime to need as long again, at least a second; return which they are."""
    late = [e for e in running if e.end < now]
    for e in late:
        e.end = now + max(1, now - (e.start + e.walltime))
    return {e.id for e in late}


def repair(
    running: Collection[Entry],
    waiting: Collection[Entry],
    processors: int,
    now: int,
    soonest: int,
    *,
    missed_first: bool,
) -> tuple[Profile, list[Entry]]:
    """Give every waiting entry a start that is possible, and return the profile and the entries that had to move.

    In submission order, reservations first, entries whose planned start is still possible keep it; the others get
    their first slot, from `soonest` on. After an outage (`missed_first`), starts that fell due in it come before all
    others, as soon as they can.
    """
    profile = profile_left_by(running, processors, now)
    missed = {e.id for e in waiting if e.start < now} if missed_first else set()
    moved: list[Entry] = []

    def find_slots(homeless: list[Entry]) -> None:
        nonlocal profile
        for e in sorted(homeless, key=lambda e: e.id):
            profile = with_room(profile, 2)
            # A hole before a reservation may be free, but that is not what was reserved.
            first = max(soonest, e.start if e.state == "reserved" else e.earliest)
            e.start = int(place(profile, e.processors, e.walltime, first))
            e.end = e.start + e.walltime
            e.promise = max(e.promise, e.start)
            moved.append(e)

    find_slots([e for e in waiting if e.id in missed])
    homeless = []
    for e in waiting:
        if e.id in missed:
            continue
        if e.start >= now and fits(profile, e.start, e.walltime, e.processors):
            profile = with_room(profile, 2)
            take(profile, e.start, e.end, e.processors)
        else:
            homeless.append(e)
    find_slots(homeless)
    return profile, moved
