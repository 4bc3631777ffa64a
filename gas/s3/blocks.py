"""The profile in blocks: what a promotion searches and changes thousands of times.

In a profile's two arrays an insertion moves every later frame, and a search reads every frame. While a queue is
promoted, the frames stand in blocks of some dozens instead, so that a change touches one or two blocks.

Each frame knows when processors were last given back in it (a *stamp*, counted by `promote`): a job that fitted nowhere
when it was last looked at can only fit into a hole in which some were given back since. Each block knows its newest
stamp and, for each power of two of processors, the longest such hole, so that most of them say at a glance that there
is nothing.

Neighbouring frames of different blocks may have the same number of free processors; `gather` joins them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel

__all__ = ["Blocks", "change", "earlier_start", "gather", "packed", "roomy", "spread"]

WIDTH = 32
"""The frames of a full block."""

_FILL = 20  # the frames of a new block
_UNKNOWN = 2**62  # longer than any hole: has to be measured

_STARTS, _FREE, _FREED = 0, 1, 2  # of a frame: its start, its free processors, its stamp
_ROW, _LENGTH, _BEGIN, _NEWEST, _HOLES = 0, 1, 2, 3, 4  # of a block; from _HOLES on, one line for each power of two
_USED, _ENOUGH = 0, 1


class Blocks(NamedTuple):
    """Frames of a profile, block after block; few arrays, because compiled calls count references to each.

    Attributes
    ----------
    frames
        Start, free processors and stamp of frame ``[:, row, j]``.
    table
        Of the blocks in order of time: row, number of frames, start of the first, newest stamp, and for each level
        the length of the longest hole of ``2**level`` processors in which some were given back (or more than that).
    sizes
        The number of blocks, and the longest walltime: no hole need be measured any further.
    """

    frames: NDArray[np.int64]
    table: NDArray[np.int64]
    sizes: NDArray[np.int64]


@kernel
def spread(
    starts: NDArray[np.int64], free: NDArray[np.int64], freed: NDArray[np.int64], levels: int, enough: int
) -> Blocks:
    """Return the frames in blocks, with rows for as many blocks more."""
    count = len(starts)
    used = (count + _FILL - 1) // _FILL
    rows = 2 * used + 8
    frames = np.empty((3, rows, WIDTH), np.int64)
    table = np.empty((_HOLES + levels, rows), np.int64)
    sizes = np.empty(2, np.int64)
    sizes[_USED], sizes[_ENOUGH] = used, enough
    blocks = Blocks(frames, table, sizes)
    for k in range(used):
        first = k * _FILL
        length = min(_FILL, count - first)
        for j in range(length):
            frames[_STARTS, k, j] = starts[first + j]
            frames[_FREE, k, j] = free[first + j]
            frames[_FREED, k, j] = freed[first + j]
        table[_ROW, k], table[_LENGTH, k], table[_BEGIN, k] = k, length, starts[first]
        _look_over(blocks, k)
    return blocks


@kernel
def gather(blocks: Blocks, starts: NDArray[np.int64], free: NDArray[np.int64], freed: NDArray[np.int64]) -> int:
    """Write the frames into arrays, neighbours of equal size as one, and return how many they are."""
    frames, table = blocks.frames, blocks.table
    count = 0
    for k in range(blocks.sizes[_USED]):
        row = table[_ROW, k]
        for j in range(table[_LENGTH, k]):
            if count > 0 and frames[_FREE, row, j] == free[count - 1]:
                freed[count - 1] = max(freed[count - 1], frames[_FREED, row, j])
            else:
                starts[count] = frames[_STARTS, row, j]
                free[count] = frames[_FREE, row, j]
                freed[count] = frames[_FREED, row, j]
                count += 1
    return count


@kernel
def roomy(blocks: Blocks) -> bool:
    """Return whether there are rows enough for two changes: each may split two blocks."""
    return blocks.sizes[_USED] + 4 <= blocks.table.shape[1]  # type: ignore[no-any-return]


@kernel
def packed(blocks: Blocks) -> Blocks:
    """Return the same frames in as few blocks as at first."""
    table = blocks.table
    most = 0
    for k in range(blocks.sizes[_USED]):
        most += table[_LENGTH, k]
    starts, free, freed = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    count = gather(blocks, starts, free, freed)
    levels = len(table) - _HOLES
    return spread(starts[:count], free[:count], freed[:count], levels, blocks.sizes[_ENOUGH])


# ---------------------------------------------------------------------------------------------------------- search


@kernel
def earlier_start(
    blocks: Blocks, processors: int, level: int, walltime: int, first: int, start: int, since: int
) -> int:
    """Return the earliest start, from `first` on, of a job planned for `start`; `start` itself if none is earlier.

    The job's own processors count as free for it: whoever comes up to `start` without a gap can go on there. Holes in
    which nothing was given back after the stamp `since` are known to be too small and passed over; nobody who is asked
    for later may have been looked at before that.

    `level` is that of the processors: 2**level is the largest power of two not above them.
    """
    table = blocks.table
    last = _block_at(table, blocks.sizes[_USED], start - 1)
    holes = _HOLES + level
    for k in range(_block_at(table, last + 1, first), last + 1):
        if table[holes, k] < walltime or table[_NEWEST, k] <= since:
            continue
        if table[holes, k] == _UNKNOWN:
            table[holes, k] = _longest_hole(blocks, k, level, since)
            if table[holes, k] < walltime:
                continue
        found = _first_hole(blocks, k, processors, walltime, first, start, since)
        if found < start:
            return found
        table[holes, k] = _longest_hole(blocks, k, level, since)  # as it is by now
    j = _frame_at(blocks, last, start - 1)
    if blocks.frames[_FREE, table[_ROW, last], j] < processors:
        return start
    return _hole_opens(blocks, processors, first, last, j)


@kernel
def _first_hole(blocks: Blocks, k: int, processors: int, walltime: int, first: int, start: int, since: int) -> int:
    """Return what `earlier_start` does, of the holes in which block `k` has processors given back."""
    frames, row = blocks.frames, blocks.table[_ROW, k]
    looked = frames[_STARTS, row, 0]
    for j in range(blocks.table[_LENGTH, k]):
        frame = frames[_STARTS, row, j]
        if frame >= start:
            break
        if frames[_FREED, row, j] > since and frames[_FREE, row, j] >= processors and frame >= looked:
            opened = _hole_opens(blocks, processors, first, k, j)
            wanted = min(start, opened + walltime)
            looked = _hole_closes(blocks, processors, wanted, k, j)
            if looked == wanted:
                return opened
    return start


@kernel
def _longest_hole(blocks: Blocks, k: int, level: int, since: int) -> int:
    """Return the length of the longest hole in which block `k` has processors given back, at most that of a job."""
    frames, row = blocks.frames, blocks.table[_ROW, k]
    processors, enough = 1 << level, blocks.sizes[_ENOUGH]
    looked = frames[_STARTS, row, 0]
    longest = 0
    for j in range(blocks.table[_LENGTH, k]):
        frame = frames[_STARTS, row, j]
        if frames[_FREED, row, j] > since and frames[_FREE, row, j] >= processors and frame >= looked:
            opened = _hole_opens(blocks, processors, frame - enough, k, j)
            looked = _hole_closes(blocks, processors, opened + enough, k, j)
            longest = max(longest, looked - opened)
            if longest == enough:
                break
    return longest


@kernel
def _hole_opens(blocks: Blocks, processors: int, first: int, k: int, j: int) -> int:
    """Return from when on, but not before `first`, processors are free until the frame `j` of block `k`."""
    frames, table = blocks.frames, blocks.table
    row = table[_ROW, k]
    opened = frames[_STARTS, row, j]
    while opened > first:
        if j == 0:
            if k == 0:
                break
            k -= 1
            row = table[_ROW, k]
            j = table[_LENGTH, k]
        j -= 1
        if frames[_FREE, row, j] < processors:
            break
        opened = frames[_STARTS, row, j]
    return max(opened, first)  # type: ignore[no-any-return]


@kernel
def _hole_closes(blocks: Blocks, processors: int, until: int, k: int, j: int) -> int:
    """Return for how long, but no longer than `until`, processors are free from the frame `j` of block `k` on."""
    frames, table = blocks.frames, blocks.table
    row = table[_ROW, k]
    while True:
        j += 1
        if j == table[_LENGTH, k]:
            k += 1
            if k == blocks.sizes[_USED]:
                return until
            row = table[_ROW, k]
            j = 0
        if frames[_STARTS, row, j] >= until:
            return until
        if frames[_FREE, row, j] < processors:
            return frames[_STARTS, row, j]  # type: ignore[no-any-return]


@kernel
def _block_at(table: NDArray[np.int64], used: int, time: int) -> int:
    """Return the block of an instant, the first one for instants before it."""
    low, high = 0, used
    while high - low > 1:
        middle = (low + high) // 2
        if table[_BEGIN, middle] <= time:
            low = middle
        else:
            high = middle
    return low


@kernel
def _frame_at(blocks: Blocks, k: int, time: int) -> int:
    """Return the frame of an instant in its block."""
    frames, row = blocks.frames, blocks.table[_ROW, k]
    j = blocks.table[_LENGTH, k] - 1
    while j > 0 and frames[_STARTS, row, j] > time:
        j -= 1
    return j  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------- change


@kernel
def change(blocks: Blocks, start: int, end: int, processors: int, stamp: int) -> None:
    """Give processors back (or take them, where negative) in ``[start, end)``; what is given back gets the stamp."""
    frames, table = blocks.frames, blocks.table
    _cut(blocks, end)
    first = _cut(blocks, start)
    begin = _frame_at(blocks, first, start)
    k, j, row = first, begin, table[_ROW, first]
    while frames[_STARTS, row, j] < end:
        frames[_FREE, row, j] += processors
        if processors > 0:
            frames[_FREED, row, j] = stamp
        j += 1
        if j == table[_LENGTH, k]:
            k += 1
            row = table[_ROW, k]
            j = 0
    _join(blocks, k, j)
    _join(blocks, first, begin)
    for touched in range(first, k + 1):
        _look_over(blocks, touched)


@kernel
def _cut(blocks: Blocks, time: int) -> int:
    """Make a frame start at `time`, not before the first, and return its block."""
    frames, table = blocks.frames, blocks.table
    k = _block_at(table, blocks.sizes[_USED], time)
    j = _frame_at(blocks, k, time)
    if frames[_STARTS, table[_ROW, k], j] == time:
        return k
    if table[_LENGTH, k] == WIDTH:
        _split(blocks, k)
        if j >= table[_LENGTH, k]:
            j -= table[_LENGTH, k]
            k += 1
    row = table[_ROW, k]
    for i in range(table[_LENGTH, k], j + 1, -1):
        for field in range(3):
            frames[field, row, i] = frames[field, row, i - 1]
    frames[_STARTS, row, j + 1] = time
    frames[_FREE, row, j + 1] = frames[_FREE, row, j]
    frames[_FREED, row, j + 1] = frames[_FREED, row, j]
    table[_LENGTH, k] += 1
    return k


@kernel
def _split(blocks: Blocks, k: int) -> None:
    """Move the second half of a block into a new one after it."""
    frames, table = blocks.frames, blocks.table
    new = blocks.sizes[_USED]  # rows are given out in turn
    for i in range(new, k + 1, -1):
        for line in range(len(table)):
            table[line, i] = table[line, i - 1]
    blocks.sizes[_USED] += 1
    row, half = table[_ROW, k], WIDTH // 2
    for j in range(half):
        for field in range(3):
            frames[field, new, j] = frames[field, row, half + j]
    table[_ROW, k + 1], table[_BEGIN, k + 1] = new, frames[_STARTS, new, 0]
    table[_LENGTH, k], table[_LENGTH, k + 1] = half, half
    _look_over(blocks, k)
    _look_over(blocks, k + 1)


@kernel
def _join(blocks: Blocks, k: int, j: int) -> None:
    """Remove a frame that does not differ from the one before it in its block."""
    frames, row = blocks.frames, blocks.table[_ROW, k]
    if j == 0 or frames[_FREE, row, j] != frames[_FREE, row, j - 1]:
        return
    frames[_FREED, row, j - 1] = max(frames[_FREED, row, j - 1], frames[_FREED, row, j])
    blocks.table[_LENGTH, k] -= 1
    for i in range(j, blocks.table[_LENGTH, k]):
        for field in range(3):
            frames[field, row, i] = frames[field, row, i + 1]


@kernel
def _look_over(blocks: Blocks, k: int) -> None:
    """Note the newest stamp of a block that has changed; its holes are measured when somebody asks."""
    frames, table, row = blocks.frames, blocks.table, blocks.table[_ROW, k]
    newest = frames[_FREED, row, 0]
    for j in range(1, table[_LENGTH, k]):
        newest = max(newest, frames[_FREED, row, j])
    table[_NEWEST, k] = newest
    for line in range(_HOLES, len(table)):
        table[line, k] = _UNKNOWN
