"""The flat form of the profile: a step function in two sorted arrays, and its operations.

Frame ``i`` says that ``free[i]`` processors are free from ``starts[i]`` until ``starts[i + 1]``; the last frame lasts
forever. Neighbouring frames differ in `free`.

    ask      earliest_fit, earliest_fits, fits, free_at, free_during
    change   take, give_back, forget
    build    empty_profile, profile_of, with_room
    verify   check

Every function above "build" is a kernel (`gas.compiled`): the same source serves the planner and the live scheduler in
Python, and simulations as machine code. Kernels trust their arguments; callers with data from outside check them first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.compiled import kernel, lean_kernel

__all__ = [
    "ENDLESS",
    "NEVER",
    "Profile",
    "check",
    "earliest_fit",
    "earliest_fits",
    "empty_profile",
    "fits",
    "forget",
    "frame_at",
    "free_at",
    "free_during",
    "give_back",
    "profile_of",
    "take",
    "with_room",
]

NEVER = -(2**62)
"""The answer of a search that finds no time at all (the last frame is too small)."""

ENDLESS = 2**62
"""Longer than any span, and later than any instant: those are below 2**53."""


class Profile(NamedTuple):
    """Free processors over time; `starts` and `free` have spare room behind the first ``used[0]`` frames."""

    starts: NDArray[np.int64]
    free: NDArray[np.int64]
    used: NDArray[np.int64]


# ------------------------------------------------------------------------------------------------------------ ask


@kernel
def frame_at(profile: Profile, time: int) -> int:
    """Return the index of the frame that contains an instant; the first one for instants before it. O(log frames)."""
    low, high = 0, profile.used[0]
    while high - low > 1:
        middle = (low + high) // 2
        if profile.starts[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@kernel
def free_at(profile: Profile, time: int) -> int:
    """Return how many processors are free at an instant."""
    return profile.free[frame_at(profile, time)]  # type: ignore[no-any-return]


@kernel
def free_during(profile: Profile, start: int, end: int) -> int:
    """Return how many processors stay free throughout ``[start, end)``."""
    i = frame_at(profile, start)
    least = profile.free[i]
    i += 1
    while i < profile.used[0] and profile.starts[i] < end:
        least = min(least, profile.free[i])
        i += 1
    return least  # type: ignore[no-any-return]


@kernel
def fits(profile: Profile, start: int, walltime: int, processors: int) -> bool:
    """Return whether `processors` are free throughout ``[start, start + walltime)``."""
    return free_during(profile, start, start + walltime) >= processors


@kernel
def earliest_fit(profile: Profile, processors: int, walltime: int, not_before: int) -> int:
    """Return the anchor: the earliest ``s >= not_before`` with `processors` free on ``[s, s + walltime)``.

    Candidates are the requested instant and the starts of frames. `NEVER` if there is none. O(frames after it).
    """
    starts, free, count = profile.starts, profile.free, profile.used[0]
    i = frame_at(profile, not_before)
    anchor = max(not_before, starts[0])
    while True:
        while free[i] < processors:
            i += 1
            if i == count:
                return NEVER
            anchor = starts[i]
        end = anchor + walltime
        while free[i] >= processors:
            i += 1
            if i == count or starts[i] >= end:
                return anchor  # type: ignore[no-any-return]


@kernel
def earliest_fits(
    profile: Profile,
    processors: NDArray[np.int64],
    walltimes: NDArray[np.int64],
    not_before: int,
    anchors: NDArray[np.int64],
) -> None:
    """Write `earliest_fit` of many requests into `anchors`, in one pass over the frames.

    `processors` ascends strictly. At any instant the requests that fit the free processors are the first ones in that
    order; smaller ones among them have had their processors for longer. So they form a stack of groups of neighbouring
    requests whose holes opened at the same instant. When the free processors decrease, the holes of the largest
    requests close; those whose walltime was no longer than the hole start where it opened. A tree of minima over the
    walltimes of requests without a start finds them.

    O((frames + requests) log requests), whatever the lengths of the frames.
    """
    starts, free, count = profile.starts, profile.free, profile.used[0]
    requests = len(processors)
    leaves = 1
    while leaves < requests:
        leaves *= 2
    shortest = np.full(2 * leaves, ENDLESS, np.int64)
    for k in range(requests):
        anchors[k], shortest[leaves + k] = NEVER, walltimes[k]
    for node in range(leaves - 1, 0, -1):
        shortest[node] = min(shortest[2 * node], shortest[2 * node + 1])

    opened = np.empty(requests + 1, np.int64)  # for each group: when its holes opened ...
    first = np.empty(requests + 1, np.int64)  # ... and its first request
    groups = 0
    fitting = 0  # requests 0 .. fitting - 1 have their processors in the present frame
    begin = frame_at(profile, not_before)
    look_back = begin + 64
    for i in range(begin, count):
        time = max(not_before, starts[i])
        now_fitting = _count_within(processors, free[i])
        while fitting > now_fitting:
            group = first[groups - 1]
            low = max(group, now_fitting)
            _start_those_within(shortest, leaves, low, fitting, time, opened[groups - 1], anchors)
            fitting = low
            if group >= now_fitting:
                groups -= 1
        if fitting < now_fitting:
            opened[groups] = time
            first[groups] = fitting
            groups += 1
            fitting = now_fitting
        if i == look_back:  # at doubling distances: stop if all have a start
            look_back = begin + 2 * (i - begin)
            upper = fitting
            for g in range(groups - 1, -1, -1):
                _start_those_within(shortest, leaves, first[g], upper, time, opened[g], anchors)
                upper = first[g]
            if shortest[1] == ENDLESS:
                return
    for g in range(groups - 1, -1, -1):
        never_closes = opened[g] + ENDLESS - 1  # room for all waiting requests, not for served ones, at ENDLESS
        _start_those_within(shortest, leaves, first[g], fitting, never_closes, opened[g], anchors)
        fitting = first[g]


@lean_kernel
def _count_within(ascending: NDArray[np.int64], limit: int) -> int:
    """Return how many of the values are not above a limit; `np.searchsorted` takes seconds to compile."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _start_those_within(
    shortest: NDArray[np.int64],
    leaves: int,
    low: int,
    high: int,
    closes: int,
    opened: int,
    anchors: NDArray[np.int64],
) -> None:
    """Give the anchor `opened` to the waiting requests of ``low .. high - 1`` that last at most until `closes`."""
    room = closes - opened
    node = low + leaves
    while True:
        # The first leaf at or after `node` that is short enough: climb past subtrees that hold none, then go down.
        while shortest[node] > room:
            while node & 1:
                node >>= 1
            if node == 0:
                return
            node += 1
        while node < leaves:
            node *= 2
            if shortest[node] > room:
                node += 1
        if node - leaves >= high:
            return
        anchors[node - leaves] = opened
        shortest[node] = ENDLESS
        above = node >> 1
        while above:
            shortest[above] = min(shortest[2 * above], shortest[2 * above + 1])
            above >>= 1


# --------------------------------------------------------------------------------------------------------- change


@kernel
def take(profile: Profile, start: int, end: int, processors: int) -> None:
    """Take processors out of ``[start, end)``. Needs room for two more frames; they must be free (`fits`)."""
    give_back(profile, start, end, -processors)


@kernel
def give_back(profile: Profile, start: int, end: int, processors: int) -> None:
    """Put processors back into ``[start, end)``. Needs room for two more frames.

    The part before the profile's beginning is past and ignored. O(frames).
    """
    start = max(start, profile.starts[0])
    if start >= end:
        return
    last = _cut(profile, start)
    i = last
    while i < profile.used[0] and profile.starts[i] < end:
        i += 1
    if i == profile.used[0] or profile.starts[i] != end:
        _insert(profile, i, end, profile.free[i - 1])
    for j in range(last, i):
        profile.free[j] += processors
    _join(profile, i)
    _join(profile, last)


@kernel
def forget(profile: Profile, now: int) -> None:
    """Drop past frames: the first frame now starts at `now`. O(frames)."""
    gone = frame_at(profile, now)
    left = profile.used[0] - gone
    if gone:
        for i in range(left):
            profile.starts[i] = profile.starts[gone + i]
            profile.free[i] = profile.free[gone + i]
        profile.used[0] = left
    profile.starts[0] = max(now, profile.starts[0])


@kernel
def _cut(profile: Profile, time: int) -> int:
    """Make a frame start at `time`, inside the profile, and return its index."""
    i = frame_at(profile, time)
    if profile.starts[i] == time:
        return i
    _insert(profile, i + 1, time, profile.free[i])
    return i + 1


@kernel
def _insert(profile: Profile, index: int, start: int, free: int) -> None:
    for i in range(profile.used[0], index, -1):
        profile.starts[i] = profile.starts[i - 1]
        profile.free[i] = profile.free[i - 1]
    profile.starts[index] = start
    profile.free[index] = free
    profile.used[0] += 1


@kernel
def _join(profile: Profile, index: int) -> None:
    """Remove a frame that equals the one before it."""
    if index == 0 or profile.free[index] != profile.free[index - 1]:
        return
    profile.used[0] -= 1
    for i in range(index, profile.used[0]):
        profile.starts[i] = profile.starts[i + 1]
        profile.free[i] = profile.free[i + 1]


# ---------------------------------------------------------------------------------------------------------- build


def empty_profile(processors: int, now: int, room: int = 16) -> Profile:
    """Return the profile of an idle machine from `now` on, with room for `room` frames."""
    return profile_of([now], [processors], room)


def profile_of(starts: ArrayLike, free: ArrayLike, room: int = 0) -> Profile:
    """Return a profile of the given frames (copied), with room for at least `room` frames in all."""
    given_starts, given_free = np.asarray(starts, np.int64), np.asarray(free, np.int64)
    count = len(given_starts)
    profile = Profile(
        np.zeros(max(count, room), np.int64), np.zeros(max(count, room), np.int64), np.array([count], np.int64)
    )
    profile.starts[:count] = given_starts
    profile.free[:count] = given_free
    return profile


def with_room(profile: Profile, frames: int) -> Profile:
    """Return the profile itself if it has room for this many more frames; otherwise a larger copy."""
    needed = int(profile.used[0]) + frames
    if needed <= len(profile.starts):
        return profile
    count = int(profile.used[0])
    return profile_of(profile.starts[:count], profile.free[:count], 2 * needed)


# --------------------------------------------------------------------------------------------------------- verify


def check(profile: Profile, processors: int) -> None:
    """Raise `AssertionError`, dumping the state, if an invariant does not hold.

    Starts ascend, neighbours differ, ``0 <= free <= processors``.
    """
    count = int(profile.used[0])
    starts, free = profile.starts[:count], profile.free[:count]
    broken: Sequence[tuple[str, bool]] = [
        ("no frame", count < 1),
        ("starts do not ascend", bool(np.any(np.diff(starts) <= 0))),
        ("neighbours do not differ", bool(np.any(np.diff(free) == 0))),
        ("negative", bool(np.any(free < 0))),
        (f"more free than the machine's {processors}", bool(np.any(free > processors))),
    ]
    for problem, holds in broken:
        if holds:
            raise AssertionError(f"profile: {problem}\nstarts {starts.tolist()}\nfree   {free.tolist()}")
