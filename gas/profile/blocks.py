"""The profile in blocks: the same step function, indexed for schedules that are searched and changed millions of times.

In two flat arrays (`gas.profile.flat`) an insertion moves every later frame and a search reads every frame. Here the
frames are in blocks of some dozens, so that a change touches a few blocks. Numbers of a block tell whether a search can
skip it: its least and most free processors, and the longest hole that crosses it (`gas.profile.holes`, which searches).

Each frame has a *stamp*: the number of the change that last released processors in it.

    ask      level_of, block_at, frame_at, room_for
    pack     look_over, pack, line_up, roll
    build    empty_blocks, blocks_of, profile_in, with_rows
    verify   check

`gas.profile.changes` takes processors out and gives them back.

Kernels here allocate nothing: compiled without reference counting, they are several times as fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import compiled, lean_kernel
from gas.profile.flat import ENDLESS, Profile, profile_of
from gas.profile.flat import check as check_profile

__all__ = [
    "Blocks",
    "blocks_of",
    "check",
    "empty_blocks",
    "level_of",
    "profile_in",
    "room_for",
    "with_rows",
]

WIDTH = 32
"""The frames of a full block."""

RING = 8192
"""The steps of the ring of stamps by time."""

NEVER_LOOKED = -1
"""Older than any stamp."""

MOST_STEPS = 8
"""The most steps of the staircase of a level (`gas.profile.staircase`)."""

_FILL = 20  # the frames of a new block
_A_DAY = 86_400

# Rows of a frame, in `Blocks.frames`:
START, FREE, STAMPED = 0, 1, 2
# Words of a block, in `Blocks.numbers`, side by side because walks along the blocks read them all:
ROW, BEGINS, LENGTH, NEWEST, LEAST_FREE, MOST_FREE = range(6)
EACH = 8  # number of words per block: a line of a processor's cache
# Words for the whole profile, in `Blocks.numbers`:
HEAD, USED, ROWS, FRAMES, BEGIN, ENOUGH, LEVELS, SHIFT, STAMP, GIVEN_MOST, GIVEN_UNTIL = range(11)
RING_AT = 16
COVERED_AT = RING_AT + RING
STAIRCASE_AT = COVERED_AT + 64
LONGEST_AT = STAIRCASE_AT + 64 * (1 + 3 * MOST_STEPS)
ORDER = LONGEST_AT + 64


class Blocks(NamedTuple):
    """Free processors over time, in few arrays, all int64: compiled code passes each array in seven words or more.

    Attributes
    ----------
    frames
        Start, free processors and stamp of frame ``[row, :, j]``; the rows after those of `table` are room to line up
        all frames while they are packed.
    table
        By row: upper bounds of lengths, for each level of the longest new hole and then of the longest hole, and then
        the stamps at which these were measured.
    numbers
        For the whole profile: first and last block in order, used rows, frames, the first instant, a length of holes
        that is rarely requested, levels, seconds of a step of the ring (as a power of two), the last stamp, and the
        releases since this was last read: the most free processors in a frame of them, and the last instant. From
        RING_AT on, stamps by time, modulo the ring: the newest release at or around an instant. From COVERED_AT on, for
        each level the block up to which its staircase reaches; from STAIRCASE_AT on, the staircases: number of steps,
        then length, beginning and block of each (`gas.profile.staircase`). From LONGEST_AT on, for each level the
        longest new hole. From ORDER on, `EACH` words for each block in order of time: its row, its first instant, its
        number of frames, its newest stamp, and its least and most free processors.
    """

    frames: NDArray[np.int64]
    table: NDArray[np.int64]
    numbers: NDArray[np.int64]


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
    """Return the block of an instant; the first one for instants before it."""
    low, high = blocks.numbers[HEAD], blocks.numbers[USED]
    while high - low > 1:
        middle = (low + high) >> 1
        if blocks.numbers[ORDER + EACH * middle + BEGINS] <= time:
            low = middle
        else:
            high = middle
    return low  # type: ignore[no-any-return]


@lean_kernel
def frame_at(blocks: Blocks, k: int, time: int) -> int:
    """Return the frame of an instant in its block."""
    row = blocks.numbers[ORDER + EACH * k]
    low, high = 0, blocks.numbers[ORDER + EACH * k + LENGTH]
    while high - low > 1:
        middle = (low + high) >> 1
        if blocks.frames[row, START, middle] <= time:
            low = middle
        else:
            high = middle
    return low


@lean_kernel
def room_for(blocks: Blocks, frames: int) -> bool:
    """Return whether this total number of frames fits, however the frames are spread over the blocks."""
    return 2 * frames <= _FILL * (len(blocks.table) - 4)


# ----------------------------------------------------------------------------------------------------------- pack


@lean_kernel
def look_over(blocks: Blocks, k: int) -> None:
    """Record the least and the most free processors of a changed block."""
    free, at = blocks.frames, ORDER + EACH * k
    row = blocks.numbers[at]
    least = free[row, FREE, 0]
    most = least
    for j in range(1, blocks.numbers[at + LENGTH]):
        least = min(least, free[row, FREE, j])
        most = max(most, free[row, FREE, j])
    blocks.numbers[at + LEAST_FREE], blocks.numbers[at + MOST_FREE] = least, most


@lean_kernel
def pack(blocks: Blocks) -> None:
    """Pack the frames into as few blocks as in a new profile, and merge neighbouring frames with equal values."""
    roll(blocks, line_up(blocks))


@lean_kernel
def line_up(blocks: Blocks) -> int:
    """Copy the frames, as full rows one after the other, behind the rows of the blocks; return their number."""
    frames, numbers = blocks.frames, blocks.numbers
    spare = len(blocks.table)
    count = 0
    for k in range(numbers[HEAD], numbers[USED]):
        row = numbers[ORDER + EACH * k]
        for j in range(numbers[ORDER + EACH * k + LENGTH]):
            if count > 0 and frames[row, START, j] <= numbers[BEGIN]:  # the previous frame is past
                count = 0
            last, i = spare + (count - 1) // WIDTH, (count - 1) % WIDTH
            if count > 0 and frames[row, FREE, j] == frames[last, FREE, i]:
                frames[last, STAMPED, i] = max(frames[last, STAMPED, i], frames[row, STAMPED, j])
                continue
            for field in range(3):
                frames[spare + count // WIDTH, field, count % WIDTH] = frames[row, field, j]
            count += 1
    frames[spare, START, 0] = max(frames[spare, START, 0], numbers[BEGIN])
    return count


@lean_kernel
def roll(blocks: Blocks, count: int) -> None:
    """Put lined-up frames into blocks, from the first row on."""
    frames, table, numbers = blocks.frames, blocks.table, blocks.numbers
    spare = len(table)
    used = (count + _FILL - 1) // _FILL
    numbers[HEAD], numbers[USED], numbers[ROWS], numbers[FRAMES] = 0, used, used, count
    for k in range(used):
        length = min(_FILL, count - k * _FILL)
        newest = 0
        for j in range(length):
            i = k * _FILL + j
            for field in range(3):
                frames[k, field, j] = frames[spare + i // WIDTH, field, i % WIDTH]
            newest = max(newest, frames[k, STAMPED, j])
        at = ORDER + EACH * k
        numbers[at + ROW], numbers[at + BEGINS] = k, frames[k, START, 0]
        numbers[at + LENGTH], numbers[at + NEWEST] = length, newest
        table[k, 2 * numbers[LEVELS] :] = NEVER_LOOKED
        look_over(blocks, k)
    numbers[COVERED_AT : COVERED_AT + numbers[LEVELS]] = 0


# ---------------------------------------------------------------------------------------------------------- build


def empty_blocks(processors: int, now: int, *, walltime: int = _A_DAY, frames: int = 300) -> Blocks:
    """Return the profile of an idle machine from `now` on; see `blocks_of`."""
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
        Processors of the machine.
    walltime
        Seconds that few jobs exceed. It affects only the speed of searches.
    frames
        Number of frames with room, at least.
    """
    count = len(starts)
    rows = 2 * max(count, frames) // _FILL + 8
    levels = int(processors).bit_length()
    blocks = _empty_rows(rows, levels)
    numbers = blocks.numbers
    numbers[[BEGIN, ENOUGH, LEVELS]] = starts[0], walltime, levels
    numbers[SHIFT] = max(0, int(walltime).bit_length() - 7)
    numbers[[GIVEN_MOST, GIVEN_UNTIL]] = processors, ENDLESS  # nothing has been read yet
    lined_up = np.zeros((3, rows * WIDTH), np.int64)
    lined_up[START, :count], lined_up[FREE, :count] = starts, free
    blocks.frames[rows:] = lined_up.reshape(3, rows, WIDTH).transpose(1, 0, 2)
    roll(blocks, count)
    return blocks


def with_rows(blocks: Blocks, frames: int, *, machine_code: bool = False) -> Blocks:
    """Return the blocks, packed if needed, if they have room for this many more frames; otherwise a larger copy."""
    if not room_for(blocks, blocks.numbers[FRAMES] + frames):
        (compiled(pack) if machine_code else pack)(blocks)
    if room_for(blocks, blocks.numbers[FRAMES] + frames):
        return blocks
    rows = len(blocks.table)
    grown = _empty_rows(2 * rows + 2 * frames // _FILL, int(blocks.numbers[LEVELS]))
    grown.frames[:rows] = blocks.frames[:rows]
    grown.table[:rows] = blocks.table
    grown.numbers[: len(blocks.numbers)] = blocks.numbers
    return grown


def profile_in(blocks: Blocks, room: int = 0, *, machine_code: bool = False) -> Profile:
    """Return the frames in two arrays, with room for at least `room` in all."""
    count = (compiled(line_up) if machine_code else line_up)(blocks)
    rows = blocks.frames[len(blocks.table) :][: count // WIDTH + 1]
    starts, free, _ = rows.transpose(1, 0, 2).reshape(3, -1)[:, :count]
    return profile_of(starts, free, room)


def _empty_rows(rows: int, levels: int) -> Blocks:
    return Blocks(
        np.zeros((2 * rows, 3, WIDTH), np.int64),
        np.zeros((rows, 4 * levels), np.int64),
        np.zeros(ORDER + EACH * rows, np.int64),
    )


# --------------------------------------------------------------------------------------------------------- verify


def check(blocks: Blocks, processors: int) -> None:
    """Raise `AssertionError` if the index contradicts the frames, or these are no profile."""
    numbers = blocks.numbers
    headings = numbers[ORDER:].reshape(-1, EACH)[numbers[HEAD] : numbers[USED]]
    rows = headings[:, ROW].tolist()
    assert len(set(rows)) == len(rows) > 0, "a row stands in the order twice"
    assert max(rows) < numbers[ROWS], "a row was never given out"
    starts = np.concatenate([blocks.frames[h[ROW], START, : h[LENGTH]] for h in headings])
    assert len(starts) == numbers[FRAMES], f"{len(starts)} frames, counted as {numbers[FRAMES]}"
    assert (np.diff(starts) > 0).all(), "starts do not ascend"
    for heading in headings:
        _, free, stamps = blocks.frames[heading[ROW], :, : heading[LENGTH]]
        assert heading[BEGINS] == blocks.frames[heading[ROW], START, 0], "a block begins with its first frame"
        assert (heading[LEAST_FREE], heading[MOST_FREE]) == (free.min(), free.max()), "least or most are others"
        assert stamps.max() <= heading[NEWEST] <= numbers[STAMP], "a stamp is newer than its block knows"
    check_profile(profile_in(blocks), processors)
