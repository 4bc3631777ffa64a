"""Features of a recorded queue at each submission, as numbers from which waits are learned.

They describe the job itself; the waiting and running jobs, with their processors and work, by walltimes and by the
users' typical use of them; recent waits of all jobs, of similar jobs and of the user's jobs; and the start in several
orders (`gas.prediction.orders`). A row depends only on what happened before its submission.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.prediction.forward import machine_of
from gas.prediction.lately import (
    END,
    PROCESSORS,
    QUEUE,
    REMEMBERED,
    REQUEST,
    START,
    SUBMIT,
    SUBMITTED,
    USER,
    WAITS,
    WALLTIME,
    Memory,
    learn_use,
    learn_wait,
    minutes,
    recall,
    recent_use,
    remember,
    used,
)
from gas.prediction.orders import EASY, GREEDY, ascending, start_in_order

__all__ = ["FEATURES", "ROW", "jobs_seen", "queue_states"]

ORDERS: Final = (
    "submission",
    "submission, greedy",
    "small",
    "large",
    "short",
    "least use",
    "quick queue",
    "quick user",
)
"""Orders of service; unless stated otherwise, backfilled as by EASY."""

LAST_HOUR: Final = ("submitted in an hour", "started in an hour", "ended in an hour")

FEATURES: Final = (
    "processors", "walltime", "hour", "weekday", "queue",
    "waiting", "waiting of user", "waiting in queue", "processors waiting", "largest waiting", "work waiting",
    "used work waiting", "smaller work waiting", "shorter work waiting", "oldest", "mean age", "oldest alike",
    "oldest of user", "free", "free beside", "room for all", "work running", "used work running", "running of user",
    "free by walltimes", "free by use",
    *REMEMBERED,
    "recent use",
    "processors waiting of user", "waiting of request", "oldest of request", "waiting of size", "late for size",
    "oldest in queue", "running", "jobs running of user", "running in queue",
    *LAST_HOUR,
    *(f"start: {order}" for order in ORDERS),
)  # fmt: skip
"""Times and work (in seconds of the whole machine) are logarithms of minutes; -1 is unknown. The delay of the longest
waiting job of a size is relative to the last waits of that size.
"""

_REMEMBERED, _MORE, _STARTS = (
    FEATURES.index(name) for name in (REMEMBERED[0], "processors waiting of user", f"start: {ORDERS[0]}")
)

ROW: Final = 200
"""Cost of a row besides its waiting and running jobs, in waiting jobs."""


def queue_states(
    submit: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    processors: NDArray[np.int64],
    walltime: NDArray[np.int64],
    run_time: NDArray[np.int64],
    user: NDArray[np.int64],
    queue: NDArray[np.int64],
    machine: int,
    wanted: NDArray[np.bool_],
    *,
    room: NDArray[np.int64] | None = None,
    last: int = 0,
    machine_code: bool = True,
) -> NDArray[np.float32]:
    """Return the features at each submission: shape ``(jobs, len(FEATURES))``.

    Parameters
    ----------
    submit
        Ascending.
    wanted
        Requested jobs; the rows of others are zeros.
    room
        Processors that the queue of each job has to itself at its submission, 0 if queues share those of the machine.
        With room of their own, jobs of other queues are ignored.
    last
        Number of last jobs that are requests only: other jobs do not see them.
    """
    columns = [submit, start, end, processors, walltime, run_time]
    request = np.array([user, processors, walltime])
    named = (np.unique(one, axis=-1, return_inverse=True)[1].ravel() for one in (user, queue, request))
    jobs = np.array([*columns, *named], np.int64)
    seen = np.zeros((len(submit), len(FEATURES)), np.float32)
    room = np.zeros(len(submit), np.int64) if room is None else room
    by_start, there = np.argsort(start, kind="stable"), len(submit) - last
    machine_of(machine_code)(look)(jobs, queue, machine, room, by_start, there, wanted, seen)
    for name, instants in zip(LAST_HOUR, (submit, start, end), strict=True):
        since, now = np.searchsorted(np.sort(instants), [submit - 3_600, submit])
        seen[wanted, FEATURES.index(name)] = (now - since)[wanted]
    return seen


def jobs_seen(submit: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cost of the row of each submission, in jobs that are read."""
    before = np.arange(len(submit))
    started, ended = (np.searchsorted(np.sort(instants), submit) for instants in (start, end))
    costs: NDArray[np.int64] = np.maximum(before - started, 0) + np.maximum(started - ended, 0) // 4 + ROW
    return costs


@kernel
def look(
    jobs: NDArray[np.int64],
    queue: NDArray[np.int64],
    machine: int,
    room: NDArray[np.int64],
    by_start: NDArray[np.int64],
    there: int,
    wanted: NDArray[np.bool_],
    seen: NDArray[np.float32],
) -> None:
    """Fill in the features at each requested submission; jobs from `there` on are not seen by others."""
    count = jobs.shape[1]
    memory = remember(jobs)
    waits, runs = np.empty(count, np.int64), np.empty(count, np.int64)  # some of `waits` may have started
    has_started = np.zeros(count, np.bool_)
    waiting = running = started = passed = 0
    share = 0.5
    for job in range(count):
        now = jobs[SUBMIT, job]
        while started < count and jobs[START, by_start[started]] < now:
            other = by_start[started]
            started += 1
            learn_wait(jobs, other, memory)
            has_started[other] = True
            passed += 1
            runs[running] = other
            running += 1
        kept = 0
        for k in range(running):
            other = runs[k]
            if jobs[END, other] <= now:
                share = learn_use(jobs, other, memory, share)
            else:
                runs[kept] = other
                kept += 1
        running = kept
        if wanted[job] or 2 * passed > waiting:
            kept = 0
            for k in range(waiting):
                if not has_started[waits[k]]:
                    waits[kept] = waits[k]
                    kept += 1
            waiting, passed = kept, 0
        if wanted[job]:
            those, size = (waits[:waiting], runs[:running]), machine
            if room[job] > 0:
                those, size = (_of_queue(jobs, job, those[0]), _of_queue(jobs, job, those[1])), room[job]
            _describe(jobs, job, those, size, memory, share, seen[job])
            seen[job, 4] = queue[job]
        if job < there:
            memory[0][SUBMITTED, jobs[USER, job]] = jobs[SUBMIT, job]
            waits[waiting] = job
            waiting += 1


@kernel
def _of_queue(jobs: NDArray[np.int64], job: int, others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of the other jobs that are in the queue of a job."""
    found, kept = np.empty(len(others), np.int64), 0
    for other in others:
        if jobs[QUEUE, other] == jobs[QUEUE, job]:
            found[kept] = other
            kept += 1
    return found[:kept]


@kernel
def _describe(
    jobs: NDArray[np.int64],
    job: int,
    those: tuple[NDArray[np.int64], NDArray[np.int64]],
    machine: int,
    memory: Memory,
    share: float,
    seen: NDArray[np.float32],
) -> None:
    """Fill in the features at the submission of a job, except those of waiting and running jobs.

    In loops: numba takes as long to compile one expression on arrays as a page of them.
    """
    waits, runs = those
    now, size, walltime = jobs[SUBMIT, job], jobs[PROCESSORS, job], jobs[WALLTIME, job]
    seen[0], seen[1], seen[2], seen[3] = np.log2(size), np.log2(walltime), now % 86_400 / 3600, now // 86_400 % 7
    recall(jobs, job, memory, seen[_REMEMBERED : _MORE - 1])
    recent, total = recent_use(memory, now), 0.0
    for use in recent:
        total += use
    seen[_MORE - 1] = recent[jobs[USER, job]] / max(total, 1.0)

    queued = np.empty((3, len(waits) + 1), np.int64)
    asked = _see_waiting(jobs, job, waits, machine, memory, share, queued, seen)
    running, left = np.empty((3, len(runs)), np.int64), np.empty((2, len(runs)))
    free = machine - _see_running(jobs, job, runs, machine, memory, share, running, left, seen)
    seen[18], seen[19], seen[20] = free / machine, (free - size) / machine, free - size >= asked
    for k in range(2):
        seen[24 + k] = minutes(_enough(free, running[0], left[k], size))

    key, as_submitted = np.empty(len(waits) + 1), np.arange(len(waits) + 1)
    ends, bounds = ascending(left[1]), ascending(left[0])
    for k in range(8):
        for at in range(len(key) if k > 1 else 0):
            other = waits[at] if at < len(waits) else job
            if k < 4:
                key[at] = queued[0, at] if k == 2 else -queued[0, at]
            elif k == 4:
                key[at] = queued[1, at]
            elif k == 5:
                key[at] = recent[jobs[USER, other]]
            else:
                key[at] = memory[2][WAITS, jobs[QUEUE, other]] if k == 6 else memory[0][WAITS, jobs[USER, other]]
        order, rule = ascending(key) if k > 1 else as_submitted, GREEDY if k == 1 else EASY
        start = start_in_order(max(free, 0), running, ends, bounds, queued, order, rule)
        seen[_STARTS + k] = minutes(start)


@kernel
def _see_waiting(
    jobs: NDArray[np.int64],
    job: int,
    waits: NDArray[np.int64],
    machine: int,
    memory: Memory,
    share: float,
    queued: NDArray[np.int64],
    seen: NDArray[np.float32],
) -> int:
    """Fill in the features of waiting jobs, and return the sum of their processors.

    `queued` gets processors, walltime and a guess of the run time of each of them, and of the job.
    """
    now, size, walltime = jobs[SUBMIT, job], jobs[PROCESSORS, job], jobs[WALLTIME, job]
    own = alike = same_queue = processors = largest = ages = oldest = oldest_alike = oldest_own = 0
    of_user = of_request = of_size = oldest_request = oldest_in_queue = 0
    work = work_used = smaller = shorter = 0.0
    sizes, own_size = memory[3], int(np.log2(size))
    late = -1.0
    for at in range(len(waits) + 1):
        other = waits[at] if at < len(waits) else job
        asked, length = jobs[PROCESSORS, other], jobs[WALLTIME, other]
        guess = max(length * used(memory, jobs[USER, other], share), 1.0)
        queued[0, at], queued[1, at], queued[2, at] = asked, length, int(guess)
        if other == job:
            continue
        age, its_work = now - jobs[SUBMIT, other], asked * length / machine
        processors, largest = processors + asked, max(largest, asked)
        ages, oldest = ages + age, max(oldest, age)
        work, work_used = work + its_work, work_used + asked * guess
        smaller += its_work if asked <= size else 0.0
        shorter += its_work if length <= walltime else 0.0
        if jobs[QUEUE, other] == jobs[QUEUE, job]:
            same_queue, oldest_in_queue = same_queue + 1, max(oldest_in_queue, age)
        if jobs[USER, other] == jobs[USER, job]:
            own, of_user, oldest_own = own + 1, of_user + asked, max(oldest_own, age)
        if jobs[REQUEST, other] == jobs[REQUEST, job]:
            of_request, oldest_request = of_request + 1, max(oldest_request, age)
        if int(np.log2(asked)) == own_size:
            of_size, late = of_size + 1, max(late, minutes(1.0 * age) - max(sizes[WAITS, own_size], 0.0))
        if _alike(asked, size) and _alike(length, walltime):
            alike, oldest_alike = alike + 1, max(oldest_alike, age)
    seen[5], seen[6], seen[7] = len(waits), own, same_queue
    seen[8], seen[9] = processors / machine, largest / machine
    seen[10], seen[11], seen[12], seen[13] = (
        minutes(work), minutes(work_used / machine), minutes(smaller), minutes(shorter)
    )  # fmt: skip
    seen[14], seen[15] = minutes(1.0 * oldest), minutes(ages / max(len(waits), 1))
    seen[16], seen[17] = minutes(1.0 * oldest_alike) if alike > 0 else -1.0, minutes(1.0 * oldest_own)
    seen[_MORE], seen[_MORE + 1], seen[_MORE + 3], seen[_MORE + 4] = of_user / machine, of_request, of_size, late
    seen[_MORE + 2] = minutes(1.0 * oldest_request) if of_request > 0 else -1.0
    seen[_MORE + 5] = minutes(1.0 * oldest_in_queue) if same_queue > 0 else -1.0
    return processors


@kernel
def _see_running(
    jobs: NDArray[np.int64],
    job: int,
    runs: NDArray[np.int64],
    machine: int,
    memory: Memory,
    share: float,
    running: NDArray[np.int64],
    left: NDArray[np.float64],
    seen: NDArray[np.float32],
) -> int:
    """Fill in the features of running jobs, and return the sum of their processors.

    `running` gets the processors of each, its remaining run time by typical use, and by its walltime; `left` the same
    times, by walltimes first.
    """
    now = jobs[SUBMIT, job]
    processors = own = own_jobs = in_queue = 0
    by_walltimes = by_use = 0.0
    for at in range(len(runs)):
        other = runs[at]
        held, length, elapsed = jobs[PROCESSORS, other], jobs[WALLTIME, other], now - jobs[START, other]
        bound = max(length - elapsed, 1)
        rest = length * used(memory, jobs[USER, other], share) - elapsed
        rest = rest if rest > 0 else 0.3 * max(length - elapsed, 3)
        running[0, at], running[1, at], running[2, at] = held, int(max(rest, 1.0)), bound
        left[0, at], left[1, at] = bound, rest
        processors += held
        in_queue += held if jobs[QUEUE, other] == jobs[QUEUE, job] else 0
        if jobs[USER, other] == jobs[USER, job]:
            own, own_jobs = own + held, own_jobs + 1
        by_walltimes, by_use = by_walltimes + held * bound, by_use + held * rest
    seen[21], seen[22], seen[23] = minutes(by_walltimes / machine), minutes(by_use / machine), own / machine
    seen[_MORE + 6], seen[_MORE + 7], seen[_MORE + 8] = len(runs), own_jobs, in_queue / machine
    return processors


@kernel
def _enough(free: int, held: NDArray[np.int64], left: NDArray[np.float64], size: int) -> float:
    """Return after how many seconds `size` processors are free if no other job takes them."""
    if free >= size:
        return 0.0
    for k in ascending(left):
        free += held[k]
        if free >= size:
            return float(left[k])
    return 0.0


@kernel
def _alike(other: int, one: int) -> bool:
    return 2 * other >= one and other <= 2 * one
