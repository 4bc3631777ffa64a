"""Changing the profile in blocks: take processors, give them back, forget past frames, start anew.

Nothing here searches, and nothing is allocated: an insertion moves the frames of one block, or splits it.
"""

from __future__ import annotations

from gas.compiled import lean_kernel
from gas.profile.blocks import (
    BEGIN,
    BEGINS,
    COVERED_AT,
    EACH,
    FRAMES,
    FREE,
    GIVEN_MOST,
    GIVEN_UNTIL,
    HEAD,
    LENGTH,
    LEVELS,
    NEWEST,
    ORDER,
    RING,
    RING_AT,
    ROW,
    ROWS,
    SHIFT,
    STAMP,
    STAMPED,
    START,
    USED,
    WIDTH,
    Blocks,
    block_at,
    frame_at,
    level_of,
    look_over,
    pack,
    roll,
)
from gas.profile.flat import ENDLESS

__all__ = ["clear", "forget", "give_back", "take"]


@lean_kernel
def take(blocks: Blocks, start: int, end: int, processors: int) -> None:
    """Take processors out of ``[start, end)``. They must be free, and there must be room for two frames more."""
    _change(blocks, max(start, blocks.numbers[BEGIN]), end, -processors)


@lean_kernel
def give_back(blocks: Blocks, start: int, end: int, processors: int) -> None:
    """Put processors back into ``[start, end)``. Needs room for two frames more.

    The part before the profile's beginning is past and ignored.
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
        numbers[RING_AT + (step & (RING - 1))] = numbers[STAMP]


@lean_kernel
def forget(blocks: Blocks, now: int) -> None:
    """Drop past frames: the profile begins at `now`."""
    numbers = blocks.numbers
    numbers[BEGIN] = max(now, numbers[BEGIN])
    while numbers[HEAD] + 1 < numbers[USED]:
        first = ORDER + EACH * numbers[HEAD]
        if numbers[first + EACH + BEGINS] > now:
            return
        numbers[FRAMES] -= numbers[first + LENGTH]
        numbers[HEAD] += 1


@lean_kernel
def clear(blocks: Blocks, now: int, processors: int) -> None:
    """Make it the profile of an idle machine from `now` on."""
    numbers = blocks.numbers
    spare = len(blocks.table)
    blocks.frames[spare, START, 0], blocks.frames[spare, FREE, 0] = now, processors
    blocks.frames[spare, STAMPED, 0] = numbers[STAMP]
    numbers[BEGIN] = now
    roll(blocks, 1)


@lean_kernel
def _change(blocks: Blocks, start: int, end: int, processors: int) -> int:
    """Give processors (negative: take) in ``[start, end)``; return the most free processors in a frame of it then."""
    frames, numbers = blocks.frames, blocks.numbers
    if start >= end:
        return 0
    if numbers[ROWS] + 2 > len(blocks.table):
        pack(blocks)
    place = _cut(blocks, start)
    first, begin = place // WIDTH, place % WIDTH
    at = ORDER + EACH * first
    row = numbers[at]
    stamp = numbers[STAMP]
    k, j, most = first, begin, 0
    while True:
        after = ENDLESS
        if j + 1 < numbers[at + LENGTH]:
            after = frames[row, START, j + 1]
        elif k + 1 < numbers[USED]:
            after = numbers[at + EACH + BEGINS]
        if after > end:
            _insert(blocks, k, j, end)
            after = end
            if j >= numbers[at + LENGTH]:  # the block was split
                if k == first and begin >= numbers[at + LENGTH]:
                    first, begin = k + 1, begin - numbers[at + LENGTH]
                k, j = k + 1, j - numbers[at + LENGTH]
                at += EACH
                row = numbers[at]
        frames[row, FREE, j] += processors
        most = max(most, frames[row, FREE, j])
        if processors > 0:
            frames[row, STAMPED, j] = stamp
        j += 1
        if j == numbers[at + LENGTH]:
            k += 1
            at += EACH
            row = numbers[at]
            j = 0
        if after == end:
            break
    _join(blocks, k, j)
    _join(blocks, first, begin)
    for touched in range(first, k + 1):
        look_over(blocks, touched)
    if processors > 0:
        _note_growth(blocks, first, k, min(level_of(most), numbers[LEVELS] - 1))
    return most  # type: ignore[no-any-return]


@lean_kernel
def _note_growth(blocks: Blocks, first: int, last: int, level: int) -> None:
    """Mark holes up to a level as possibly grown in some blocks."""
    numbers = blocks.numbers
    for k in range(first, last + 1):
        numbers[ORDER + EACH * k + NEWEST] = numbers[STAMP]
    for covered in range(COVERED_AT, COVERED_AT + level + 1):
        numbers[covered] = min(numbers[covered], first)


@lean_kernel
def _cut(blocks: Blocks, time: int) -> int:
    """Make a frame start at `time`, inside the profile; return its block and its index there, as one number."""
    frames = blocks.frames
    k = block_at(blocks, time)
    row = blocks.numbers[ORDER + EACH * k]
    j = frame_at(blocks, k, time)
    if frames[row, START, j] == time:
        return k * WIDTH + j
    if time == blocks.numbers[BEGIN]:  # earlier frames are past, so the present frame may begin now
        frames[row, START, j] = time
        if j == 0:
            blocks.numbers[ORDER + EACH * k + BEGINS] = time
        return k * WIDTH + j
    return _insert(blocks, k, j, time)


@lean_kernel
def _insert(blocks: Blocks, k: int, j: int, time: int) -> int:
    """Cut a frame in two; return the block and the index of the second, as one number."""
    frames, numbers = blocks.frames, blocks.numbers
    at = ORDER + EACH * k
    if numbers[at + LENGTH] == WIDTH:
        _split(blocks, k)
        if j >= numbers[at + LENGTH]:
            j -= numbers[at + LENGTH]
            k += 1
            at += EACH
    row = numbers[at]
    for field in range(3):
        for i in range(numbers[at + LENGTH], j + 1, -1):
            frames[row, field, i] = frames[row, field, i - 1]
    frames[row, START, j + 1] = time
    frames[row, FREE, j + 1] = frames[row, FREE, j]
    frames[row, STAMPED, j + 1] = frames[row, STAMPED, j]
    numbers[at + LENGTH] += 1
    numbers[FRAMES] += 1
    return k * WIDTH + j + 1


@lean_kernel
def _split(blocks: Blocks, k: int) -> None:
    """Move the second half of a block into a new one after it."""
    frames, table, numbers = blocks.frames, blocks.table, blocks.numbers
    at, after = ORDER + EACH * k, ORDER + EACH * (k + 1)
    for i in range(ORDER + EACH * (numbers[USED] + 1) - 1, after - 1, -1):
        numbers[i] = numbers[i - EACH]
    row, new = numbers[at], numbers[ROWS]
    numbers[ROWS] += 1
    numbers[USED] += 1
    for covered in range(COVERED_AT, COVERED_AT + numbers[LEVELS]):
        numbers[covered] = min(numbers[covered], k)
    half = WIDTH // 2
    for field in range(3):
        for j in range(half):
            frames[new, field, j] = frames[row, field, half + j]
    for line in range(table.shape[1]):  # holes that cross a half are no longer than those that crossed the whole
        table[new, line] = table[row, line]
    numbers[after + ROW], numbers[after + BEGINS] = new, frames[new, START, 0]
    numbers[at + LENGTH], numbers[after + LENGTH] = half, half
    look_over(blocks, k)
    look_over(blocks, k + 1)


@lean_kernel
def _join(blocks: Blocks, k: int, j: int) -> None:
    """Remove a frame that equals the one before it in its block."""
    frames, numbers, at = blocks.frames, blocks.numbers, ORDER + EACH * k
    row = numbers[at]
    if j == 0 or frames[row, FREE, j] != frames[row, FREE, j - 1]:
        return
    frames[row, STAMPED, j - 1] = max(frames[row, STAMPED, j - 1], frames[row, STAMPED, j])
    numbers[at + LENGTH] -= 1
    numbers[FRAMES] -= 1
    for field in range(3):
        for i in range(j, numbers[at + LENGTH]):
            frames[row, field, i] = frames[row, field, i + 1]
