"""Placing and promoting jobs of the queue: kernels on arrays.

The paper's section 4.3: an arriving job is put in the first slot that it fits; whenever processors get free before
they were due, the queue is walked in submission order and jobs are promoted into the hole, until nothing moves. The
live scheduler calls these functions as they stand or compiled, and a simulation compiles the same source.

Where jobs of several priorities wait, the queue is in the order of priority, and of submission within each. A job below
the highest is looked at only if nothing has moved since the walk was at the head; else it begins again there. So no job
moves while one of higher priority could start earlier, and: *a job is never overtaken by one of lower priority that was
submitted after it and asks for no fewer processors and no less walltime.* For the later one was not placed before the
first, which would have fitted there. When it is about to move to s before the first one's start, the first would fit at
s: where the later one's old span is still held, the first holds its own, which begins no later and which it gives back.

A job with an *anchor* is backfilled conditionally (section 6.1): it keeps the slot at its anchor, and what it would be
moved to is held for it as well, until it has chosen between the two (`gas.s3.offers`). Where they overlap, it holds its
processors once.
"""

from __future__ import annotations

from gas.compiled import inlined_kernel, lean_kernel
from gas.profile.blocks import BEGIN, GIVEN_MOST, GIVEN_UNTIL, LEVELS, LONGEST_AT, RING, RING_AT, SHIFT, STAMP, Blocks
from gas.profile.changes import give_back, take
from gas.profile.flat import ENDLESS, NEVER
from gas.profile.holes import earlier_start, first_fit
from gas.profile.staircase import clear_staircases, note_longest
from gas.s3.queue import (
    COUNT,
    FILTERED,
    LOWEST,
    NEXT,
    NOT_LOOKED_AT,
    PASS_MOST,
    PASS_UNTIL,
    Q_ANCHOR,
    Q_EARLIEST,
    Q_LEVEL,
    Q_PRIORITY,
    Q_PROCESSORS,
    Q_SEEN,
    Q_START,
    Q_WALLTIME,
    TOP,
    UNFINISHED,
    Queue,
)
from gas.s3.runs import floor_of, slide

__all__ = ["AGAIN_FROM_THE_HEAD", "NO_LIMIT", "ONCE", "UNTIL_NOTHING_MOVES", "place", "promote"]

ONCE, UNTIL_NOTHING_MOVES, AGAIN_FROM_THE_HEAD = 0, 1, 2
"""How a promotion walks the queue: policies `conservative`, `s3` and `s3-1999` (`gas guide rules`, 5)."""

MANY = 1000
"""Queues of more jobs are filtered from the second pass on, in which few jobs move."""

NO_LIMIT = 2**62
"""A promotion without a limit on examined jobs."""

A_MOVE = 4
"""The cost of a move in looks: it changes the profile, and the caller stores it."""

A_PASS = 64
"""The number of skipped jobs in a pass that count as one look."""


@lean_kernel
def place(blocks: Blocks, processors: int, walltime: int, not_before: int) -> int:
    """Take the first slot for a job and return its start; `NEVER` if there is none, and nothing is taken."""
    start = first_fit(blocks, processors, walltime, not_before)
    if start != NEVER:
        take(blocks, start, start + walltime, processors)
    return start


@lean_kernel
def promote(blocks: Blocks, queue: Queue, now: int, walk: int, patience: int = NO_LIMIT) -> int:
    """Move jobs that are not yet due to their earliest fit, in the order of the queue; return how many moves that took.

    The starts are those of this pass, repeated as `walk` says: take each job out and put it back in the first slot that
    it fits, so that no job gets later. What is known to stay where it is, is only not taken out: a job can move only
    into a hole in which processors were given back since it was last looked at, so it needs no more of them than some
    frame got then, and either a hole that opens before the last of those instants or a start that such a frame leads up
    to. `gas.profile.holes` looks closer. A second pass over many jobs finds few of them, so these are filtered.

    Parameters
    ----------
    now
        The soonest instant that a job may move to; what is planned for it, or before, stays.
    walk
        `ONCE`, `UNTIL_NOTHING_MOVES` or `AGAIN_FROM_THE_HEAD`.
    patience
        The most looks for a new start, with each move counted as `A_MOVE`. When they are used up, the walk is left
        where it is, ``queue.used[UNFINISHED]`` is 1, and the next call goes on from there: without changes in between,
        the calls together do what one call without a limit does. Only with `UNTIL_NOTHING_MOVES`.
    """
    numbers, used = blocks.numbers, queue.used
    top = top_priority(queue, now) if walk == UNTIL_NOTHING_MOVES else LOWEST
    # Holes are measured for the job at hand, and must hold for those that were looked at before it. Where the
    # walk begins again at the head, those behind may not have been looked at for long.
    returns = walk == AGAIN_FROM_THE_HEAD or top > LOWEST
    oldest = numbers[STAMP]
    if returns:
        for i in range(queue.used[0]):
            if queue.jobs[Q_START, i] > now:
                oldest = min(oldest, queue.jobs[Q_SEEN, i])
    clear_staircases(blocks)
    moves, looks, passes = 0, 0, 0
    filtering = False
    again = True
    while again:
        if used[UNFINISHED]:
            # The pass goes on. What was given back since it began is for those in front of the next job as well: they
            # are looked at in the pass after this one.
            used[UNFINISHED] = 0
            i = used[NEXT] - 1
            most, until = max(used[PASS_MOST], numbers[GIVEN_MOST]), max(used[PASS_UNTIL], numbers[GIVEN_UNTIL])
            filtering = used[FILTERED] > 0 and not returns
        else:
            # Every job is looked at after what was given back up to here, not after what is given back from now on.
            i = -1
            most, until = numbers[GIVEN_MOST], numbers[GIVEN_UNTIL]
            numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = 0, numbers[BEGIN]
            if passes > 0 and not returns:  # a call looks at one job at least
                looks += used[COUNT] // A_PASS
        passes += 1
        ahead = -1  # the job looked at last, while it says something of the next one
        oldest_look = NOT_LOOKED_AT
        if filtering:
            oldest_look = queue.jobs[Q_SEEN, min(i + 1, used[COUNT] - 1)]
            numbers[LONGEST_AT : LONGEST_AT + numbers[LEVELS]] = 0
            note_longest(blocks, numbers[BEGIN], until, most, oldest_look)
        again = False
        while True:
            i += 1
            if filtering:
                i = next_candidate(blocks, queue, i, now)
            if i >= used[COUNT]:
                break
            before, seen = queue.jobs[Q_START, i], queue.jobs[Q_SEEN, i]
            if before <= now:
                queue.jobs[Q_SEEN, i] = numbers[STAMP]  # also of those who are due: see `Queue`
                continue
            processors = queue.jobs[Q_PROCESSORS, i]
            first = max(now, queue.jobs[Q_EARLIEST, i])
            if ahead >= 0 and first == now:
                first = floor_of(queue, ahead, i, now)
            ahead = i if queue.jobs[Q_EARLIEST, i] <= now else -1
            if before <= first or processors > most or seen == numbers[STAMP]:
                queue.jobs[Q_SEEN, i] = numbers[STAMP]
                continue
            if queue.jobs[Q_PRIORITY, i] < top and numbers[GIVEN_MOST] > 0:
                looks += i // A_PASS
                numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = most, until  # those behind have not been looked at yet
                break
            if looks >= patience:
                used[UNFINISHED], used[NEXT], used[FILTERED], used[TOP] = 1, i, int(filtering), top
                used[PASS_MOST], used[PASS_UNTIL] = most, until
                if returns:
                    for behind in range(i, used[COUNT]):
                        queue.jobs[Q_SEEN, behind] = oldest
                return moves
            looks += 1
            queue.jobs[Q_SEEN, i] = numbers[STAMP]
            if returns:
                seen = oldest
            walltime = queue.jobs[Q_WALLTIME, i]
            start = earlier_start(blocks, processors, queue.jobs[Q_LEVEL, i], walltime, first, before, seen, until)
            if start == before:
                continue
            anchor = queue.jobs[Q_ANCHOR, i]
            if anchor < ENDLESS:
                moved = 1
                take(blocks, start, min(start + walltime, before), processors)
                begin, end = max(start + walltime, before), min(before + walltime, anchor)
                if begin < end:
                    give_back(blocks, begin, end, processors)
                queue.jobs[Q_START, i], queue.jobs[Q_SEEN, i] = start, numbers[STAMP]
            elif start + walltime < before:
                moved = 1
                begin, end = before, before + walltime
                take(blocks, start, start + walltime, processors)
                give_back(blocks, begin, end, processors)
                queue.jobs[Q_START, i], queue.jobs[Q_SEEN, i] = start, numbers[STAMP]
            else:  # where the old span and the new one overlap, nothing changes
                alone = walk == AGAIN_FROM_THE_HEAD or queue.jobs[Q_PRIORITY, i] < top
                most_moves = 1 if alone else 1 + (patience - looks) // (1 + A_MOVE)
                i, moved, end = slide(blocks, queue, i, now, start, most_moves)
                ahead = i if ahead >= 0 else -1
                begin = start + walltime
            most, until = max(most, numbers[GIVEN_MOST]), max(until, numbers[GIVEN_UNTIL])
            if filtering and begin < end:
                note_longest(blocks, begin, end, most, oldest_look)
            moves += moved
            looks += moved * (1 + A_MOVE) - 1
            if walk == AGAIN_FROM_THE_HEAD:  # those behind have not been looked at yet
                numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = most, until
                break
        again = walk != ONCE and numbers[GIVEN_MOST] > 0
        filtering = walk == UNTIL_NOTHING_MOVES and used[COUNT] > MANY and not returns
    return moves


@lean_kernel
def top_priority(queue: Queue, now: int) -> int:
    """Return the highest priority of those not yet due; `LOWEST` if all that wait have the same.

    A promotion that goes on keeps the one that it began with, unless there is a higher one by now.
    """
    jobs, count = queue.jobs, queue.used[COUNT]
    if count == 0 or jobs[Q_PRIORITY, 0] == jobs[Q_PRIORITY, count - 1]:
        return LOWEST
    top = queue.used[TOP] if queue.used[UNFINISHED] else LOWEST
    for i in range(count):
        if jobs[Q_START, i] > now:
            return max(top, jobs[Q_PRIORITY, i])  # type: ignore[no-any-return]
    return top


@inlined_kernel
def next_candidate(blocks: Blocks, queue: Queue, i: int, now: int) -> int:
    """Return the first job from `i` on that may move, or the end of the queue; those before it have been looked at.

    A job stays for certain if nothing was given back just before its start, and no new hole of its level is as long as
    it: one glance at the ring of stamps, and one at what `note_longest` has noted.
    """
    jobs, numbers = queue.jobs, blocks.numbers
    shift, stamp = numbers[SHIFT], numbers[STAMP]
    while i < queue.used[0]:
        start = jobs[Q_START, i]
        if start > now and (
            numbers[RING_AT + (((start - 1) >> shift) & (RING - 1))] > jobs[Q_SEEN, i]
            or numbers[LONGEST_AT + jobs[Q_LEVEL, i]] >= jobs[Q_WALLTIME, i]
        ):
            return i
        jobs[Q_SEEN, i] = stamp
        i += 1
    return i
