"""The profile in blocks: the same step function, indexed for schedules that are searched and changed millions of times.

In two flat arrays (`gas.profile`) an insertion moves every later frame and a search reads every frame. Here the frames
stand in blocks of some dozens, so that a change touches a few blocks, and every block can say at a glance whether a
search may pass it over: by its least and most free processors, and by the longest hole that crosses it
(`gas.s3.holes`, which searches).

Each frame has a *stamp*: the number of the change that last gave processors back in it.

    ask      level_of, block_at, frame_at
    change   take, give_back, forget, clear
    build    empty_blocks, blocks_of, profile_in, with_rows
    verify   check

Kernels here allocate nothing: compiled without reference counting, they are several times as fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.profile import Profile, profile_of
from gas.profile import check as check_profile

__all__ = [
    "Blocks",
    "blocks_of",
    "check",
    "clear",
    "empty_blocks",
    "forget",
    "give_back",
    "level_of",
    "profile_in",
    "room_for",
    "take",
    "with_rows",
]

WIDTH = 32
"""The frames of a full block."""

RING = 1024
"""The steps of the ring of stamps by time."""

UNKNOWN = 2**62
"""The length of a hole that has to be measured: longer than any."""

_FILL = 20  # the frames of a new block
_A_DAY = 86_400

# Of a frame, in `Blocks.frames`:
START, FREE, STAMPED = 0, 1, 2
# Of a block, in `Blocks.table`; from HOLES on, the longest new hole of each level, then the longest hole of each level:
LENGTH, NEWEST, LEAST, MOST, MEASURED, HOLES = 0, 1, 2, 3, 4, 5
# Of the whole, in `Blocks.numbers`:
HEAD, USED, ROWS, FRAMES, BEGIN, ENOUGH, LEVELS, SHIFT, STAMP, GIVEN_MOST, GIVEN_UNTIL = range(11)


class Blocks(NamedTuple):
    """Free processors over time; few arrays, all int64.

    Attributes
    ----------
    frames
        Start, free processors and stamp of frame ``[row, :, j]``.
    table
        By row: number of frames, newest stamp, least and most free processors, the stamp at which holes were last
        measured, then their lengths.
    order
        The rows in order of time, from ``numbers[HEAD]`` to ``numbers[USED]``.
    numbers
        Of the whole: rows given out, frames, the first instant, a length of holes that is seldom wanted, levels,
        seconds of a step of the ring (as a power of two), the last stamp, and what was given back since somebody last
        took note: the most free processors that a frame got by it, and the last instant.
    given
        Stamps by time, modulo the ring: the newest give-back at or around an instant.
    spare
        Room for all frames, used while they are packed.
    """

    frames: NDArray[np.int64]
    table: NDArray[np.int64]
    order: NDArray[np.int64]
    numbers: NDArray[np.int64]
    given: NDArray[np.int64]
    spare: NDArray[np.int64]


# ------------------------------------------------------------------------------------------------------------ ask


@lean_kernel
def level_of(processors: int) -> int:
    """Return the level of a job: 2**level is the largest power of two not above its processors."""
    level = 0
    while processors >> (level + 1):
        level += 1
    return level


@lean_kernel
def block_at(blocks: Blocks, time: int) -> int:
    """Return the block of an instant, the first one for instants before it."""
    low, high = blocks.numbers[HEAD], blocks.numbers[USED]
    while high - low > 1:
        middle = (low + high) >> 1
        if blocks.frames[blocks.order[middle], START, 0] <= time:
            low = middle
        else:
            high = middle
    return low  # type: ignore[no-any-return]


@lean_kernel
def frame_at(blocks: Blocks, row: int, time: int) -> int:
    """Return the frame of an instant in its block."""
    low, high = 0, blocks.table[row, LENGTH]
    while high - low > 1:
        middle = (low + high) >> 1
        if blocks.frames[row, START, middle] <= time:
            low = middle
        else:
            high = middle
    return low


@lean_kernel
def room_for(blocks: Blocks, frames: int) -> bool:
    """Return whether so many frames in all have room, however they come to be spread over the blocks."""
    return 2 * frames <= _FILL * (len(blocks.order) - 4)


# --------------------------------------------------------------------------------------------------------- change


@lean_kernel
def take(blocks: Blocks, start: int, end: int, processors: int) -> None:
    """Take processors out of ``[start, end)``. They must be free, and there must be room for two frames more."""
    _change(blocks, max(start, blocks.numbers[BEGIN]), end, -processors)


@lean_kernel
def give_back(blocks: Blocks, start: int, end: int, processors: int) -> None:
    """Put processors back into ``[start, end)``. Needs room for two frames more.

    What lies before the profile's beginning is past and left out.
    """
    numbers = blocks.numbers
    start = max(start, numbers[BEGIN])
    if start >= end:
        return
    numbers[STAMP] += 1
    most = _change(blocks, start, end, processors)
    numbers[GIVEN_MOST] = max(numbers[GIVEN_MOST], most)
    numbers[GIVEN_UNTIL] = max(numbers[GIVEN_UNTIL], end)
    low, high = start >> numbers[SHIFT], (end - 1) >> numbers[SHIFT]
    for step in range(low, min(high, low + RING - 1) + 1):
        blocks.given[step & (RING - 1)] = numbers[STAMP]


@lean_kernel
def forget(blocks: Blocks, now: int) -> None:
    """Drop what is past: the profile begins at `now`."""
    numbers = blocks.numbers
    numbers[BEGIN] = max(now, numbers[BEGIN])
    while numbers[HEAD] + 1 < numbers[USED]:
        row = blocks.order[numbers[HEAD] + 1]
        if blocks.frames[row, START, 0] > now:
            return
        numbers[FRAMES] -= blocks.table[blocks.order[numbers[HEAD]], LENGTH]
        numbers[HEAD] += 1


@lean_kernel
def clear(blocks: Blocks, now: int, processors: int) -> None:
    """Make it the profile of an idle machine from `now` on."""
    numbers = blocks.numbers
    blocks.spare[START, 0], blocks.spare[FREE, 0], blocks.spare[STAMPED, 0] = now, processors, numbers[STAMP]
    numbers[BEGIN] = now
    _roll(blocks, blocks.spare, 1)


@lean_kernel
def _change(blocks: Blocks, start: int, end: int, processors: int) -> int:
    """Give processors (negative: take) in ``[start, end)``; return the most that are free in a frame of it then."""
    frames, table, order = blocks.frames, blocks.table, blocks.order
    if start >= end:
        return 0
    if blocks.numbers[ROWS] + 2 > len(order):
        _pack(blocks)
    _cut(blocks, end)
    first = _cut(blocks, start)
    row = order[first]
    begin = frame_at(blocks, row, start)
    stamp = blocks.numbers[STAMP]
    k, j, most = first, begin, 0
    while frames[row, START, j] < end:
        frames[row, FREE, j] += processors
        most = max(most, frames[row, FREE, j])
        if processors > 0:
            frames[row, STAMPED, j] = stamp
        j += 1
        if j == table[row, LENGTH]:
            k += 1
            row = order[k]
            j = 0
    _join(blocks, k, j)
    _join(blocks, first, begin)
    for touched in range(first, k + 1):
        _look_over(blocks, order[touched])
        if processors > 0:
            table[order[touched], NEWEST] = stamp
    return most


@lean_kernel
def _cut(blocks: Blocks, time: int) -> int:
    """Make a frame start at `time`, inside the profile, and return its block."""
    frames, table = blocks.frames, blocks.table
    k = block_at(blocks, time)
    row = blocks.order[k]
    j = frame_at(blocks, row, time)
    if frames[row, START, j] == time:
        return k
    if table[row, LENGTH] == WIDTH:
        _split(blocks, k)
        if j >= table[row, LENGTH]:
            j -= table[row, LENGTH]
            k += 1
            row = blocks.order[k]
    for field in range(3):
        for i in range(table[row, LENGTH], j + 1, -1):
            frames[row, field, i] = frames[row, field, i - 1]
    frames[row, START, j + 1] = time
    frames[row, FREE, j + 1] = frames[row, FREE, j]
    frames[row, STAMPED, j + 1] = frames[row, STAMPED, j]
    table[row, LENGTH] += 1
    blocks.numbers[FRAMES] += 1
    return k


@lean_kernel
def _split(blocks: Blocks, k: int) -> None:
    """Move the second half of a block into a new one after it."""
    frames, table, order, numbers = blocks.frames, blocks.table, blocks.order, blocks.numbers
    row, new = order[k], numbers[ROWS]
    for i in range(numbers[USED], k + 1, -1):
        order[i] = order[i - 1]
    order[k + 1] = new
    numbers[ROWS] += 1
    numbers[USED] += 1
    half = WIDTH // 2
    for field in range(3):
        for j in range(half):
            frames[new, field, j] = frames[row, field, half + j]
    for line in range(table.shape[1]):  # what crosses a half is no longer than what crossed the whole
        table[new, line] = table[row, line]
    table[row, LENGTH], table[new, LENGTH] = half, half
    _look_over(blocks, row)
    _look_over(blocks, new)


@lean_kernel
def _join(blocks: Blocks, k: int, j: int) -> None:
    """Remove a frame that does not differ from the one before it in its block."""
    frames, table, row = blocks.frames, blocks.table, blocks.order[k]
    if j == 0 or frames[row, FREE, j] != frames[row, FREE, j - 1]:
        return
    frames[row, STAMPED, j - 1] = max(frames[row, STAMPED, j - 1], frames[row, STAMPED, j])
    table[row, LENGTH] -= 1
    blocks.numbers[FRAMES] -= 1
    for field in range(3):
        for i in range(j, table[row, LENGTH]):
            frames[row, field, i] = frames[row, field, i + 1]


@lean_kernel
def _look_over(blocks: Blocks, row: int) -> None:
    """Note the least and the most free processors of a block that has changed."""
    free = blocks.frames
    least = free[row, FREE, 0]
    most = least
    for j in range(1, blocks.table[row, LENGTH]):
        least = min(least, free[row, FREE, j])
        most = max(most, free[row, FREE, j])
    blocks.table[row, LEAST], blocks.table[row, MOST] = least, most


@lean_kernel
def _pack(blocks: Blocks) -> None:
    """Put the frames into as few blocks as at first, neighbours of equal size as one."""
    count = _unroll(blocks, blocks.spare)
    _roll(blocks, blocks.spare, count)


@lean_kernel
def _unroll(blocks: Blocks, flat: NDArray[np.int64]) -> int:
    """Write start, free processors and stamp of the frames into the rows of `flat`; return how many there are."""
    frames, table, numbers = blocks.frames, blocks.table, blocks.numbers
    count = 0
    for k in range(numbers[HEAD], numbers[USED]):
        row = blocks.order[k]
        for j in range(table[row, LENGTH]):
            if count > 0 and frames[row, START, j] <= numbers[BEGIN]:  # the one before is past
                count = 0
            if count > 0 and frames[row, FREE, j] == flat[FREE, count - 1]:
                flat[STAMPED, count - 1] = max(flat[STAMPED, count - 1], frames[row, STAMPED, j])
                continue
            for field in range(3):
                flat[field, count] = frames[row, field, j]
            count += 1
    flat[START, 0] = max(flat[START, 0], numbers[BEGIN])
    return count


@lean_kernel
def _roll(blocks: Blocks, flat: NDArray[np.int64], count: int) -> None:
    """Put frames into blocks, from the first row on."""
    table, numbers = blocks.table, blocks.numbers
    used = (count + _FILL - 1) // _FILL
    numbers[HEAD], numbers[USED], numbers[ROWS], numbers[FRAMES] = 0, used, used, count
    for k in range(used):
        blocks.order[k] = k
        length = min(_FILL, count - k * _FILL)
        newest = 0
        for j in range(length):
            for field in range(3):
                blocks.frames[k, field, j] = flat[field, k * _FILL + j]
            newest = max(newest, flat[STAMPED, k * _FILL + j])
        table[k, LENGTH], table[k, NEWEST], table[k, MEASURED] = length, newest, -1
        _look_over(blocks, k)


# ---------------------------------------------------------------------------------------------------------- build


def empty_blocks(processors: int, now: int, *, walltime: int = _A_DAY, frames: int = 300) -> Blocks:
    """Return the profile of an idle machine from `now` on; `blocks_of` says more."""
    return blocks_of(np.array([now]), np.array([processors]), processors, walltime=walltime, frames=frames)


def blocks_of(
    starts: NDArray[np.int64],
    free: NDArray[np.int64],
    processors: int,
    *,
    walltime: int = _A_DAY,
    frames: int = 0,
) -> Blocks:
    """Return a profile of the given frames in blocks; all stamps are 0.

    Parameters
    ----------
    processors
        Of the machine.
    walltime
        Seconds that few jobs exceed. Nothing depends on it but how fast searches are.
    frames
        How many have room, at least.
    """
    count = len(starts)
    rows = 2 * max(count, frames) // _FILL + 8
    levels = int(processors).bit_length()
    blocks = Blocks(
        np.zeros((rows, 3, WIDTH), np.int64),
        np.zeros((rows, HOLES + 2 * levels), np.int64),
        np.zeros(rows, np.int64),
        np.zeros(len(range(11)), np.int64),
        np.zeros(RING, np.int64),
        np.zeros((3, rows * WIDTH), np.int64),
    )
    blocks.numbers[[BEGIN, ENOUGH, LEVELS]] = starts[0], walltime, levels
    blocks.numbers[SHIFT] = max(0, int(walltime).bit_length() - 6)
    blocks.numbers[[GIVEN_MOST, GIVEN_UNTIL]] = processors, UNKNOWN  # nobody has taken note of anything yet
    blocks.spare[START, :count], blocks.spare[FREE, :count], blocks.spare[STAMPED, :count] = starts, free, 0
    _roll(blocks, blocks.spare, count)
    return blocks


def with_rows(blocks: Blocks, frames: int) -> Blocks:
    """Return the blocks themselves, packed if need be, if so many frames more have room, else a larger copy."""
    if not room_for(blocks, blocks.numbers[FRAMES] + frames):
        _pack(blocks)
    if room_for(blocks, blocks.numbers[FRAMES] + frames):
        return blocks
    rows = 2 * len(blocks.order) + 2 * frames // _FILL
    table = np.zeros((rows, blocks.table.shape[1]), np.int64)
    table[: len(blocks.table)] = blocks.table
    grown = Blocks(
        np.zeros((rows, 3, WIDTH), np.int64),
        table,
        np.zeros(rows, np.int64),
        blocks.numbers,
        blocks.given,
        np.zeros((3, rows * WIDTH), np.int64),
    )
    grown.frames[: len(blocks.frames)] = blocks.frames
    grown.order[: len(blocks.order)] = blocks.order
    return grown


def profile_in(blocks: Blocks, room: int = 0) -> Profile:
    """Return the frames in two arrays, with room for at least `room` in all."""
    flat = np.empty((3, int(blocks.numbers[FRAMES])), np.int64)
    count = _unroll(blocks, flat)
    return profile_of(flat[START, :count], flat[FREE, :count], room)


# --------------------------------------------------------------------------------------------------------- verify


def check(blocks: Blocks, processors: int) -> None:
    """Raise `AssertionError` if the index contradicts the frames, or these are no profile."""
    numbers, table = blocks.numbers, blocks.table
    rows = blocks.order[numbers[HEAD] : numbers[USED]].tolist()
    assert len(set(rows)) == len(rows) > 0, "a row stands in the order twice"
    assert max(rows) < numbers[ROWS], "a row was never given out"
    starts = np.concatenate([blocks.frames[row, START, : table[row, LENGTH]] for row in rows])
    assert len(starts) == numbers[FRAMES], f"{len(starts)} frames, counted as {numbers[FRAMES]}"
    assert (np.diff(starts) > 0).all(), "starts do not ascend"
    for row in rows:
        free = blocks.frames[row, FREE, : table[row, LENGTH]]
        stamps = blocks.frames[row, STAMPED, : table[row, LENGTH]]
        assert (table[row, LEAST], table[row, MOST]) == (free.min(), free.max()), "least or most are others"
        assert stamps.max() <= table[row, NEWEST] <= numbers[STAMP], "a stamp is newer than its block knows"
    check_profile(profile_in(blocks), processors)
