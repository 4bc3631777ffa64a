"""The invariants of every schedule, between any two operations."""

from __future__ import annotations

from collections.abc import Mapping

from gas.profile.flat import Profile, check, fits, take, with_room
from gas.s3.entries import Entry, profile_left_by
from gas.s3.running import Running
from gas.s3.waiting import Waiting

__all__ = ["check_schedule"]


def check_schedule(
    profile: Profile,
    waiting: Waiting,
    running: Running,
    entries: Mapping[int, Entry],
    *,
    processors: int,
    most_in_use: int,
    now: int,
) -> None:
    """Raise `AssertionError` if a schedule contradicts itself.

    `most_in_use` is the most that running entries may hold: more than the machine has, after it was made smaller.
    """
    check(profile, processors)
    assert int(profile.starts[0]) == now, "the profile does not begin now"
    reserved = list(waiting.reserved.values())
    expected = profile_left_by([*running.entries.values(), *reserved], processors, now)
    assert (expected.free >= 0).all(), "reservations overlap others"
    for e in waiting.jobs:
        assert fits(expected, e.start, e.walltime, e.processors), f"job {e.id} overlaps others"
        expected = with_room(expected, 4)
        take(expected, e.start, e.end, e.processors)
    for e in waiting.jobs:
        if e.offer is None:
            assert e.answer_by is None, f"job {e.id} has nothing to answer"
            continue
        begin, end = e.offered
        assert e.notice is not None, f"job {e.id} does not ask for offers"
        assert e.answer_by is not None, f"the offer of job {e.id} has no end"
        assert now < e.answer_by <= e.offer < e.start, f"job {e.id} has an offer that is past, or later than its start"
        assert fits(expected, begin, end - begin, e.processors), f"the offer of job {e.id} overlaps others"
        expected = with_room(expected, 4)
        take(expected, begin, end, e.processors)
    count, wanted = int(profile.used[0]), int(expected.used[0])
    assert profile.starts[:count].tolist() == expected.starts[:wanted].tolist(), "frames differ"
    assert profile.free[:count].tolist() == expected.free[:wanted].tolist(), "free processors differ"
    running.check()
    waiting.check()
    assert running.in_use <= max(processors, most_in_use), "more was started than there is"
    assert len(entries) == len(waiting.entries) + len(running.entries)
    for e in waiting.entries:
        assert e.processors <= processors, f"job {e.id} is larger than the machine"
        assert e.start >= e.earliest, f"job {e.id} is planned before {e.earliest}"
        assert e.start <= e.promise, f"job {e.id} is planned later than promised"
