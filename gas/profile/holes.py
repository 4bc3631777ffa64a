"""Holes in the profile: the first fit of a job, and whether it can now start earlier.

For each block of the profile (`gas.profile.blocks`) there is an upper bound on the length of its holes
(`gas.profile.staircase`), so that most blocks are skipped after reading one number, or none.

Why skipping is exact: consider the holes of exactly the processors that a job needs. They do not overlap, and each is
part of a hole of the job's level. For a hole that fits the job, the bound of some block that it crosses is at least its
length; if it grew, that of the block where processors were released since the measurement. So walking the blocks in
order of time finds the fitting holes in order of time, each in one of its blocks.

Most searches concern a job that was examined before and had no earlier start then. Since then processors were taken or
released, and instants have passed; only a release can help. So a hole that now fits the job either contains a frame
with a stamp newer than the last examination, or it reaches the job's own planned start and the last frame before that
has such a stamp (otherwise the job would have slid there before). That is why new holes have bounds of their own.
"""

from __future__ import annotations

from gas.compiled import inlined_kernel, lean_kernel
from gas.profile.blocks import (
    BEGIN,
    BEGINS,
    COVERED_AT,
    EACH,
    FREE,
    HEAD,
    LEAST_FREE,
    LENGTH,
    LEVELS,
    MOST_FREE,
    NEWEST,
    ORDER,
    RING,
    RING_AT,
    SHIFT,
    STAMPED,
    START,
    USED,
    Blocks,
    block_at,
    frame_at,
    level_of,
)
from gas.profile.flat import NEVER
from gas.profile.staircase import NOWHERE, any_hole, closes, first_long_hole, look_again, new_hole, opens

__all__ = ["earlier_start", "first_fit", "given_since"]

_FEW = 5  # for so few blocks, reading them is faster than using their bounds


@lean_kernel
def first_fit(blocks: Blocks, processors: int, walltime: int, not_before: int) -> int:
    """Return the anchor: the earliest ``s >= not_before`` with `processors` free on ``[s, s + walltime)``.

    `NEVER` if there is none. Reads the frames of the blocks whose holes are long enough, and one number of all others.
    """
    frames, numbers = blocks.frames, blocks.numbers
    used = blocks.numbers[USED]
    first = max(not_before, blocks.numbers[BEGIN])
    k = numbers[HEAD] if first == numbers[BEGIN] else block_at(blocks, first)
    few = used - k <= _FEW
    level = min(level_of(processors), blocks.numbers[LEVELS] - 1)
    at = ORDER + EACH * k
    row = numbers[at]
    j = frame_at(blocks, k, first)
    passed_over = False
    while True:
        length = numbers[at + LENGTH]
        while j < length and frames[row, FREE, j] < processors:
            j += 1
        if j == length:
            k += 1
            j = 0
            passed_over = False
            while k < used:
                at += EACH
                if numbers[at + MOST_FREE] >= processors:
                    if few or any_hole(blocks, k, level) >= walltime:
                        break
                    passed_over = True
                else:
                    passed_over = False
                k += 1
            if k == used:
                return NEVER
            row = numbers[at]
            continue
        anchor = max(first, frames[row, START, j])
        if passed_over and j == 0:  # the hole may have opened in a block with too low a bound for it
            anchor = opens(blocks, processors, first, k, 0)
        passed_over = False
        end = anchor + walltime
        while True:
            j += 1
            if j == numbers[at + LENGTH]:
                k += 1
                at += EACH
                while k < used and numbers[at + LEAST_FREE] >= processors and numbers[at + BEGINS] < end:
                    k += 1
                    at += EACH
                if k == used:
                    return anchor  # type: ignore[no-any-return]
                row = numbers[at]
                j = 0
            if frames[row, START, j] >= end:
                return anchor  # type: ignore[no-any-return]
            if frames[row, FREE, j] < processors:
                break


@inlined_kernel
def earlier_start(
    blocks: Blocks, processors: int, level: int, walltime: int, first: int, start: int, since: int, until: int
) -> int:
    """Return the earliest start, from `first` on, of a job planned for `start`; `start` itself if none is earlier.

    The job's own processors count as free for it: a span that reaches `start` without a gap continues there.

    Parameters
    ----------
    level
        Level of the processors (`level_of`), at most the highest level of the blocks.
    since
        The stamp at which the job was last found to start as early as it could; later calls have no older one.
    until
        No processors were released at or after this instant since then.
    """
    if start > first + walltime:
        if blocks.numbers[USED] - blocks.numbers[HEAD] <= _FEW:
            found = _read_for_hole(blocks, processors, walltime, first, start, min(start, until))
        else:
            found = _ask_for_hole(blocks, processors, level, walltime, first, start, since, until)
        if found < start:
            return found
    # The remaining case is a span that reaches `start`. The frames just before it were too small for the job, or it
    # would have been planned there. So it can slide to the left only if processors were released in the last of them.
    if start > until or not given_since(blocks, start - 1, since):
        return start
    last = block_at(blocks, start - 1)
    j = frame_at(blocks, last, start - 1)
    if blocks.frames[blocks.numbers[ORDER + EACH * last], FREE, j] < processors:
        return start
    return opens(blocks, processors, first, last, j)


@lean_kernel
def given_since(blocks: Blocks, instant: int, since: int) -> bool:
    """Return whether processors may have been released at an instant after a stamp; False is certain."""
    return blocks.numbers[RING_AT + ((instant >> blocks.numbers[SHIFT]) & (RING - 1))] > since  # type: ignore[no-any-return]


@inlined_kernel
def _read_for_hole(blocks: Blocks, processors: int, walltime: int, first: int, start: int, until: int) -> int:
    """Return where the first hole opens, before `until`, that is long enough or reaches `start`; otherwise `start`."""
    frames, numbers = blocks.frames, blocks.numbers
    k = numbers[HEAD] if first <= numbers[BEGIN] else block_at(blocks, first)
    at, behind = ORDER + EACH * k, ORDER + EACH * numbers[USED]
    row, length = numbers[at], numbers[at + LENGTH]
    j = frame_at(blocks, k, first)
    while True:
        while True:
            while j < length and frames[row, FREE, j] < processors:
                j += 1
            if j < length:
                break
            at += EACH
            while numbers[at + MOST_FREE] < processors:
                at += EACH
            row, length, j = numbers[at], numbers[at + LENGTH], 0
        opened = frames[row, START, j]
        if opened >= until:
            return start
        opened = max(first, opened)
        end = min(opened + walltime, start)
        while True:
            j += 1
            if j == length:
                at += EACH
                if at == behind:
                    return opened  # type: ignore[no-any-return]
                row, length, j = numbers[at], numbers[at + LENGTH], 0
            if frames[row, START, j] >= end:
                return opened  # type: ignore[no-any-return]
            if frames[row, FREE, j] < processors:
                break


@lean_kernel
def _ask_for_hole(
    blocks: Blocks, processors: int, level: int, walltime: int, first: int, start: int, since: int, until: int
) -> int:
    """Return where the first hole with a stamp after `since` opens that is long enough or reaches `start`."""
    frames, numbers = blocks.frames, blocks.numbers
    until = min(start, until)
    likely = first_long_hole(blocks, level, walltime, since, until)
    if likely == NOWHERE:
        return start
    numbers[COVERED_AT + level] = min(numbers[COVERED_AT + level], likely)  # a bound found too high is measured anew
    for k in range(max(likely, block_at(blocks, first)), block_at(blocks, until - 1) + 1):
        at = ORDER + EACH * k
        if numbers[at + NEWEST] <= since or numbers[at + MOST_FREE] < processors:
            continue
        if new_hole(blocks, k, level, since) < walltime:
            continue
        row, looked = numbers[at], numbers[at + BEGINS]
        for j in range(numbers[at + LENGTH]):
            frame = frames[row, START, j]
            if frame >= start:
                break
            if frame >= looked and frames[row, STAMPED, j] > since and frames[row, FREE, j] >= processors:
                opened = opens(blocks, processors, first, k, j)
                wanted = min(start, opened + walltime)
                looked = closes(blocks, processors, wanted, k, j)
                if looked == wanted:
                    return opened
        look_again(blocks, k, level, since)
    return start
