"""Runs: equal jobs that are adjacent in the queue, typically from bulk submissions.

All jobs of a run have the same priority: lower priorities are examined only after higher ones (`gas.s3.placing`).

When a job slides to an earlier start, the next one of its run can often slide to the old start of the first, the one
after it to the old start of the second, and so on. Their spans overlap, so all these moves together take one span at
the front out of the profile and release one at the end: `slide` finds how far that goes and changes the profile once.
"""

from __future__ import annotations

from gas.compiled import lean_kernel
from gas.profile.blocks import BEGINS, EACH, FREE, LENGTH, ORDER, STAMP, START, USED, Blocks, block_at, frame_at
from gas.profile.changes import give_back, take
from gas.profile.flat import ENDLESS
from gas.s3.queue import Q_ANCHOR, Q_EARLIEST, Q_PRIORITY, Q_PROCESSORS, Q_SEEN, Q_START, Q_WALLTIME, Queue

__all__ = ["floor_of", "slide"]


@lean_kernel
def floor_of(queue: Queue, ahead: int, i: int, now: int) -> int:
    """Return an instant before which job `i` cannot start: the start of the job `ahead`, if that needs no more.

    That job starts as early as it can, and only its own move has changed the profile since. If job `i` fitted before
    it, so would the job ahead: where the old and the new span of job `i` overlap, the span of the job ahead, which
    begins between them, held no more processors. If the job ahead needs more or starts later, return `now`.
    """
    jobs = queue.jobs
    if (
        jobs[Q_PROCESSORS, ahead] <= jobs[Q_PROCESSORS, i]
        and jobs[Q_WALLTIME, ahead] <= jobs[Q_WALLTIME, i]
        and jobs[Q_START, ahead] <= jobs[Q_START, i]
    ):
        return max(now, jobs[Q_START, ahead])  # type: ignore[no-any-return]
    return now


@lean_kernel
def slide(blocks: Blocks, queue: Queue, i: int, now: int, start: int, most: int) -> tuple[int, int, int]:
    """Move job `i` to `start`, at most its walltime earlier, and later jobs of its run that can follow.

    A job follows if its earliest start is then exactly the old start of the job before it. In the profile before all
    moves this means: the processors of one job are free up to the follower's old start, but those of two are not free
    in the frame before, into which it would also slide.

    Parameters
    ----------
    now
        Jobs that are due by then are skipped.
    most
        The most jobs to move, at least 1.

    Returns
    -------
    The last examined job, the number of moves, and the end of the released span.
    """
    jobs, frames, numbers = queue.jobs, blocks.frames, blocks.numbers
    processors, walltime, reached = jobs[Q_PROCESSORS, i], jobs[Q_WALLTIME, i], jobs[Q_START, i]
    jobs[Q_START, i] = start
    last, moved = i, 1
    k = j = -1  # the frame in which `reached` - 1 lies
    n = i + 1 if jobs[Q_EARLIEST, i] <= now else queue.used[0]
    while n < queue.used[0] and moved < most:
        before = jobs[Q_START, n]
        if before <= now:
            n += 1
            continue
        if (
            jobs[Q_PROCESSORS, n] != processors
            or jobs[Q_WALLTIME, n] != walltime
            or jobs[Q_PRIORITY, n] != jobs[Q_PRIORITY, i]
            or jobs[Q_ANCHOR, n] < ENDLESS
            or jobs[Q_EARLIEST, n] > now
            or before < reached
            or before > start + walltime
        ):
            break
        if k < 0:
            k = block_at(blocks, reached - 1)
            j = frame_at(blocks, k, reached - 1)
        at = ORDER + EACH * k
        if frames[numbers[at], FREE, j] >= 2 * processors:
            break
        while True:  # to the frame that contains the follower's old start
            after = ENDLESS
            if j + 1 < numbers[at + LENGTH]:
                after = frames[numbers[at], START, j + 1]
            elif k + 1 < numbers[USED]:
                after = numbers[at + EACH + BEGINS]
            if after > reached and before > reached and frames[numbers[at], FREE, j] < processors:
                break
            if after >= before:
                break
            j += 1
            if j == numbers[at + LENGTH]:
                k, j, at = k + 1, 0, at + EACH
        if before > reached:
            if frames[numbers[at], FREE, j] < processors:
                break
            jobs[Q_START, n] = reached
            moved += 1
            reached = before
        last = n
        n += 1
    take(blocks, start, reached, processors)
    give_back(blocks, start + walltime, reached + walltime, processors)
    for n in range(i, last + 1):
        jobs[Q_SEEN, n] = numbers[STAMP]
    return last, moved, reached + walltime
