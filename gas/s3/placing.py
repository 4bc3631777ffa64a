"""Placing and promoting jobs of the queue: kernels on arrays.

The paper's section 4.3: an arriving job is put in the first slot that it fits; whenever processors are released early,
the queue is walked in submission order and jobs are promoted into the hole, until nothing moves. The live scheduler
calls these functions compiled or not; a simulation compiles the same source.

If waiting jobs have several priorities, the queue is ordered by priority, then by submission. A job below the highest
priority is examined only if nothing has moved since the walk was at the head; otherwise the walk begins again there. So
no job moves while one of higher priority could start earlier, and: *a job is never overtaken by one of lower priority
that was submitted later and requests at least as many processors and as much walltime.* At its submission, the later
job was not placed before the first one, which would have fitted there. Suppose that it could move to s, before the
start of the first. Then the first would fit at s, too: where the old span of the later job is still held, the first
holds its own span, which begins no later and which it would release.

A job with an *anchor* is backfilled conditionally (section 6.1): it keeps the slot at its anchor, and the slot to which
it would be moved is held for it as well, until it has chosen (`gas.s3.offers`). Where both overlap, it holds its
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
"""Longer queues are filtered from the second pass on, in which few jobs move."""

NO_LIMIT = 2**62
"""A promotion without a limit on examined jobs."""

A_MOVE = 4
"""The cost of a move, in examined jobs: it changes the profile, and the caller stores it."""

A_PASS = 64
"""The number of skipped jobs in a pass that cost as much as one examined job."""


@lean_kernel
def place(blocks: Blocks, processors: int, walltime: int, not_before: int) -> int:
    """Take the first slot for a job and return its start; `NEVER` if there is none, and then take nothing."""
    start = first_fit(blocks, processors, walltime, not_before)
    if start != NEVER:
        take(blocks, start, start + walltime, processors)
    return start


@lean_kernel
def promote(blocks: Blocks, queue: Queue, now: int, walk: int, patience: int = NO_LIMIT) -> int:
    """Move jobs that are not yet due to their earliest fit, in queue order; return the number of moves.

    The starts are those of the following pass, repeated according to `walk`: take each job out and put it back in the
    first slot that it fits, so that no job gets later. As an optimization, jobs that cannot move are not taken out. A
    job can move only into a hole where processors were released since it was last examined. So it needs at most the
    processors that were free in some frame of a release; and its new hole opens before the end of the last release, or
    such a frame leads up to its present start. `gas.profile.holes` has the details. A second pass over many jobs finds
    few of them, so it is filtered.

    Parameters
    ----------
    now
        The soonest instant to which a job may move; jobs planned for it or earlier stay.
    walk
        `ONCE`, `UNTIL_NOTHING_MOVES` or `AGAIN_FROM_THE_HEAD`.
    patience
        The most jobs to examine; each move counts as `A_MOVE`. When it is used up, the walk stops,
        ``queue.used[UNFINISHED]`` is 1, and the next call continues there: without changes in between, the calls
        together have the result of one call without a limit. Only with `UNTIL_NOTHING_MOVES`.
    """
    numbers, used = blocks.numbers, queue.used
    top = top_priority(queue, now) if walk == UNTIL_NOTHING_MOVES else LOWEST
    # Holes are measured for the present job, and must hold for jobs examined before it. If the walk begins again at the
    # head, jobs further back may not have been examined for long.
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
            # Continue the pass. Processors released since its beginning also matter to the jobs before the next one:
            # these are examined in the following pass.
            used[UNFINISHED] = 0
            i = used[NEXT] - 1
            most, until = max(used[PASS_MOST], numbers[GIVEN_MOST]), max(used[PASS_UNTIL], numbers[GIVEN_UNTIL])
            filtering = used[FILTERED] > 0 and not returns
        else:
            # Every job is examined with the processors released so far, not with those released from now on.
            i = -1
            most, until = numbers[GIVEN_MOST], numbers[GIVEN_UNTIL]
            numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = 0, numbers[BEGIN]
            if passes > 0 and not returns:  # a call examines at least one job
                looks += used[COUNT] // A_PASS
        passes += 1
        ahead = -1  # the last examined job, while it limits the start of the next one
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
                queue.jobs[Q_SEEN, i] = numbers[STAMP]  # also for due jobs: see `Queue`
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
                numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = most, until  # jobs further back are not examined yet
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
            else:  # the old and the new span overlap; the profile does not change there
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
            if walk == AGAIN_FROM_THE_HEAD:  # jobs further back are not examined yet
                numbers[GIVEN_MOST], numbers[GIVEN_UNTIL] = most, until
                break
        again = walk != ONCE and numbers[GIVEN_MOST] > 0
        filtering = walk == UNTIL_NOTHING_MOVES and used[COUNT] > MANY and not returns
    return moves


@lean_kernel
def top_priority(queue: Queue, now: int) -> int:
    """Return the highest priority of jobs not yet due; `LOWEST` if all waiting jobs have the same.

    A continued promotion keeps its initial one, unless there is a higher one by now.
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
    """Return the first job from `i` on that may move, or the end of the queue; the skipped ones count as examined.

    A job certainly stays if nothing was released just before its start (by the ring of stamps), and no new hole of its
    level is as long as its walltime (by the results of `note_longest`).
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
