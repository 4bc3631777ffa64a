"""The lengths of holes of the profile by block, and the *staircases* that find the first long one.

A *hole* of a level is a span in which 2**level processors stay free. The table of the blocks (`gas.profile.blocks`)
has, for each block and level, a bound: no hole of the level that crosses the block was longer when it was measured.
There are two bounds, one for all holes and one for *new* ones, which have a frame with a stamp after the last
examination of the requesting job. A block is measured on request, and again when processors were released in it since
then; of the new holes, only those through frames with a release. A hole that grew elsewhere is bounded by the block in
which it grew. Taking processors only shortens holes; the bound may then be too high.

The bound for new holes is measured for one job and used for others. So a requesting job must not have been examined
before an earlier requesting one; `gas.s3.placing.promote` examines jobs in submission order, in which that holds.

The *staircase* of a level is the list of blocks, in order of time, with a longer new hole than all earlier blocks:
steps of increasing lengths. One or two steps tell, without a walk along the blocks, whether there is a hole long enough
before a job's own start. It is built as far as jobs have requested, and cut back to the block in which a hole grew or
blocks were split.
"""

from __future__ import annotations

from gas.compiled import lean_kernel
from gas.profile.blocks import (
    BEGINS,
    COVERED_AT,
    EACH,
    ENOUGH,
    FREE,
    HEAD,
    LEAST_FREE,
    LENGTH,
    LEVELS,
    LONGEST_AT,
    MOST_FREE,
    MOST_STEPS,
    NEVER_LOOKED,
    NEWEST,
    ORDER,
    STAIRCASE_AT,
    STAMP,
    STAMPED,
    START,
    USED,
    Blocks,
    block_at,
    level_of,
)
from gas.profile.flat import ENDLESS

__all__ = [
    "NOWHERE",
    "any_hole",
    "clear_staircases",
    "closes",
    "first_long_hole",
    "look_again",
    "new_hole",
    "note_longest",
    "opens",
]

NOWHERE = -1
"""No block has such a hole."""


@lean_kernel
def first_long_hole(blocks: Blocks, level: int, walltime: int, since: int, until: int) -> int:
    """Return the first block that has a new hole as long as `walltime` and begins before `until`, or `NOWHERE`.

    It may return a block that has no such hole (any more), but never skips one that has. `since` is as in
    `gas.profile.holes.earlier_start`.
    """
    numbers = blocks.numbers
    staircase = STAIRCASE_AT + level * (1 + 3 * MOST_STEPS)
    covered = numbers[COVERED_AT + level]
    last = staircase + 1 + 3 * numbers[staircase]
    step = staircase + 1
    while step < last and numbers[step + 2] < covered:
        if numbers[step] >= walltime:
            return numbers[step + 2] if numbers[step + 1] < until else NOWHERE
        step += 3
    longest = numbers[step - 3] if step > staircase + 1 else 0
    count = (step - staircase - 1) // 3
    k = max(covered, numbers[HEAD])
    found = NOWHERE
    while k < numbers[USED]:
        at = ORDER + EACH * k
        begin = numbers[at + BEGINS]
        if begin >= until:
            break
        if numbers[at + NEWEST] > since and numbers[at + MOST_FREE] >> level > 0:
            length = new_hole(blocks, k, level, since)
            if length > longest:
                longest = length
                if count == MOST_STEPS:  # raises the last step, so more is searched than necessary
                    numbers[step - 3] = longest
                else:
                    numbers[step], numbers[step + 1], numbers[step + 2] = longest, begin, k
                    count += 1
                    step += 3
                if longest >= walltime:
                    found = numbers[step - 1]
                    k += 1
                    break
        k += 1
    numbers[staircase] = count
    numbers[COVERED_AT + level] = k
    return found


@lean_kernel
def clear_staircases(blocks: Blocks) -> None:
    """Clear all staircases, including holes in past blocks."""
    for level in range(blocks.numbers[LEVELS]):
        blocks.numbers[COVERED_AT + level] = 0


@lean_kernel
def note_longest(blocks: Blocks, start: int, end: int, most: int, since: int) -> None:
    """Raise the recorded bounds of the longest new holes so that they also hold for the blocks in ``[start, end)``.

    `most` is the largest number of free processors in a frame there; `since` is as in `first_long_hole`.
    """
    numbers = blocks.numbers
    highest = min(level_of(most), numbers[LEVELS] - 1)
    k = block_at(blocks, start)
    while k < numbers[USED] and numbers[ORDER + EACH * k + BEGINS] < end:
        at = ORDER + EACH * k
        if numbers[at + NEWEST] > since:
            for level in range(highest + 1):
                if numbers[at + MOST_FREE] >> level > 0:
                    length = new_hole(blocks, k, level, since)
                    numbers[LONGEST_AT + level] = max(numbers[LONGEST_AT + level], length)
        k += 1


@lean_kernel
def new_hole(blocks: Blocks, k: int, level: int, since: int) -> int:
    """Return a bound for the longest hole of block `k` with a frame whose stamp is after `since`.

    Only releases after the last examination are measured; processors taken since then may leave the bound too high.
    """
    table, levels, at = blocks.table, blocks.numbers[LEVELS], ORDER + EACH * k
    row, line = blocks.numbers[at], level
    looked = table[row, line + 2 * levels]
    if looked < blocks.numbers[at + NEWEST]:
        length = longest_hole(blocks, k, level, max(since, looked))
        if length > table[row, line] or looked == NEVER_LOOKED:
            table[row, line] = length
        table[row, line + 2 * levels] = blocks.numbers[STAMP]
    return table[row, line]  # type: ignore[no-any-return]


@lean_kernel
def any_hole(blocks: Blocks, k: int, level: int) -> int:
    """Return a bound for the longest hole of block `k`."""
    table, levels, at = blocks.table, blocks.numbers[LEVELS], ORDER + EACH * k
    row, line = blocks.numbers[at], levels + level
    if table[row, line + 2 * levels] < blocks.numbers[at + NEWEST]:
        table[row, line] = longest_hole(blocks, k, level, NEVER_LOOKED)
        table[row, line + 2 * levels] = blocks.numbers[STAMP]
    return table[row, line]  # type: ignore[no-any-return]


@lean_kernel
def look_again(blocks: Blocks, k: int, level: int, since: int) -> None:
    """Measure the present new holes of block `k`."""
    row = blocks.numbers[ORDER + EACH * k]
    blocks.table[row, level] = longest_hole(blocks, k, level, since)
    blocks.table[row, level + 2 * blocks.numbers[LEVELS]] = blocks.numbers[STAMP]


@lean_kernel
def longest_hole(blocks: Blocks, k: int, level: int, since: int) -> int:
    """Return the length of the longest hole of a level with stamps after `since` in block `k`.

    A hole of `ENOUGH` or longer counts as endless and is not measured further.
    """
    frames, numbers, at = blocks.frames, blocks.numbers, ORDER + EACH * k
    processors, enough = 1 << level, numbers[ENOUGH]
    if numbers[at + MOST_FREE] < processors:
        return 0
    row, looked = numbers[at], numbers[at + BEGINS]
    longest = 0
    for j in range(numbers[at + LENGTH]):
        frame = frames[row, START, j]
        if frame >= looked and frames[row, STAMPED, j] > since and frames[row, FREE, j] >= processors:
            opened = opens(blocks, processors, frame - enough, k, j)
            looked = closes(blocks, processors, opened + enough, k, j)
            longest = max(longest, looked - opened)
            if longest >= enough:
                return ENDLESS
    return longest


@lean_kernel
def opens(blocks: Blocks, processors: int, first: int, k: int, j: int) -> int:
    """Return the instant, at least `first`, from which processors are free until frame `j` of block `k`."""
    frames, numbers, at = blocks.frames, blocks.numbers, ORDER + EACH * k
    row, head = numbers[at], ORDER + EACH * numbers[HEAD]
    opened = frames[row, START, j]
    while opened > first:
        if j == 0:
            if at == head:
                break
            at -= EACH
            if numbers[at + LEAST_FREE] >= processors:
                opened = numbers[at + BEGINS]
                continue
            row, j = numbers[at], numbers[at + LENGTH]
        j -= 1
        if frames[row, FREE, j] < processors:
            break
        opened = frames[row, START, j]
    return max(opened, first)  # type: ignore[no-any-return]


@lean_kernel
def closes(blocks: Blocks, processors: int, until: int, k: int, j: int) -> int:
    """Return the instant, at most `until`, until which processors are free from frame `j` of block `k` on."""
    frames, numbers, at = blocks.frames, blocks.numbers, ORDER + EACH * k
    row, behind = numbers[at], ORDER + EACH * numbers[USED]
    while True:
        j += 1
        if j == numbers[at + LENGTH]:
            at += EACH
            while at < behind and numbers[at + LEAST_FREE] >= processors and numbers[at + BEGINS] < until:
                at += EACH
            if at == behind:
                return until
            row, j = numbers[at], 0
        if frames[row, START, j] >= until:
            return until
        if frames[row, FREE, j] < processors:
            return frames[row, START, j]  # type: ignore[no-any-return]
