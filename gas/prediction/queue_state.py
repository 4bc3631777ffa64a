"""What can be seen of a recorded queue at each submission, as numbers from which waits are learnt.

The job itself; who waits and runs, how many processors and how much work that is, by walltimes and by what share of
them the users usually use; how long others, those like it and those of its user have waited lately; and after how long
it would start in several orders (`gas.prediction.orders`). A row of it is made of what happened before its submission.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.prediction.forward import machine_of
from gas.prediction.orders import EASY, GREEDY, ascending, start_in_order

__all__ = ["FEATURES", "queue_states"]

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
"""Who is served first; where that is not said otherwise, backfilled as EASY does."""

FEATURES: Final = (
    "processors", "walltime", "hour", "weekday", "queue",
    "waiting", "waiting of user", "waiting in queue", "processors waiting", "largest waiting", "work waiting",
    "used work waiting", "smaller work waiting", "shorter work waiting", "oldest", "mean age", "oldest alike",
    "oldest of user", "free", "free beside", "room for all", "work running", "used work running", "running of user",
    "free by walltimes", "free by use",
    "last wait of user", "waits of user", "use of walltimes", "recent use", "waits in queue", "waits of all",
    "waits alike", "since last start",
    *(f"start: {order}" for order in ORDERS),
)  # fmt: skip
"""Times and work (in seconds of the whole machine) are logarithms of minutes; -1 is not known."""

SUBMIT, START, END, PROCESSORS, WALLTIME, RUN_TIME, USER, QUEUE = range(8)
"""Rows of the jobs."""

_HALF_LIFE: Final = 7 * 86_400.0
"""After so many seconds, use counts half."""

_LAST, _WAITS, _USED, _USE, _SINCE = range(5)
"""What is known of a user: the last wait, recent waits, the share of walltimes used, recent use, and as of when."""


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
    machine_code: bool = True,
) -> NDArray[np.float32]:
    """Return what is seen at each submission: shape ``(jobs, len(FEATURES))``.

    Parameters
    ----------
    submit
        Ascending.
    wanted
        Jobs of which it is asked; the rows of others are zeros.
    """
    columns = [submit, start, end, processors, walltime, run_time]
    jobs = np.array([*columns, *(np.unique(one, return_inverse=True)[1] for one in (user, queue))], np.int64)
    seen = np.zeros((len(submit), len(FEATURES)), np.float32)
    machine_of(machine_code)(look)(jobs, queue, machine, np.argsort(start, kind="stable"), wanted, seen)
    return seen


@kernel
def look(
    jobs: NDArray[np.int64],
    queue: NDArray[np.int64],
    machine: int,
    by_start: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    seen: NDArray[np.float32],
) -> None:
    """Fill in what is seen at each submission that is asked about."""
    count = jobs.shape[1]
    users = np.full((5, jobs[USER].max() + 1), -1.0)
    users[_USE:] = 0.0
    queues = np.full(jobs[QUEUE].max() + 1, -1.0)
    alike = np.full((64, 64), -1.0)
    everybody = np.array([-1.0, 0.0, 0.0, 0.5])  # waits, last start, all use and since when
    waits, runs = np.empty(count, np.int64), np.empty(count, np.int64)
    waiting = running = started = 0
    share = 0.5
    for job in range(count):
        now = jobs[SUBMIT, job]
        while started < count and jobs[START, by_start[started]] < now:
            other = by_start[started]
            started += 1
            _learn_wait(jobs, other, users, queues, alike, everybody)
            at = 0
            while waits[at] != other:
                at += 1
            waiting -= 1
            waits[at:waiting] = waits[at + 1 : waiting + 1]
            runs[running] = other
            running += 1
        kept = 0
        for k in range(running):
            other = runs[k]
            if jobs[END, other] <= now:
                share = _learn_use(jobs, other, users, share)
            else:
                runs[kept] = other
                kept += 1
        running = kept
        if wanted[job]:
            those = waits[:waiting], runs[:running]
            _describe(jobs, job, those, machine, users, queues, alike, everybody, share, seen[job])
            seen[job, 4] = queue[job]
        waits[waiting] = job
        waiting += 1


@kernel
def _learn_wait(
    jobs: NDArray[np.int64],
    job: int,
    users: NDArray[np.float64],
    queues: NDArray[np.float64],
    alike: NDArray[np.float64],
    everybody: NDArray[np.float64],
) -> None:
    """Take note of a wait that is over."""
    wait = _minutes(jobs[START, job] - jobs[SUBMIT, job])
    user, queue = jobs[USER, job], jobs[QUEUE, job]
    size, length = int(np.log2(jobs[PROCESSORS, job])), int(np.log2(jobs[WALLTIME, job]))
    users[_LAST, user] = wait
    users[_WAITS, user] = _recent(users[_WAITS, user], wait, 0.2)
    queues[queue] = _recent(queues[queue], wait, 0.1)
    alike[size, length] = _recent(alike[size, length], wait, 0.2)
    everybody[0] = _recent(everybody[0], wait, 0.05)
    everybody[1] = jobs[START, job]


@kernel
def _learn_use(jobs: NDArray[np.int64], job: int, users: NDArray[np.float64], share: float) -> float:
    """Take note of a job that has ended; return which share of a walltime is used as a rule."""
    user, end = jobs[USER, job], jobs[END, job]
    used = min(jobs[RUN_TIME, job] / max(jobs[WALLTIME, job], 1), 1.0)
    users[_USED, user] = _recent(users[_USED, user], used, 0.2)
    users[_USE, user] *= 0.5 ** ((end - users[_SINCE, user]) / _HALF_LIFE)
    users[_USE, user] += jobs[PROCESSORS, job] * float(jobs[RUN_TIME, job])
    users[_SINCE, user] = end
    return 0.98 * share + 0.02 * used  # type: ignore[no-any-return]


@kernel
def _describe(
    jobs: NDArray[np.int64],
    job: int,
    those: tuple[NDArray[np.int64], NDArray[np.int64]],
    machine: int,
    users: NDArray[np.float64],
    queues: NDArray[np.float64],
    alike: NDArray[np.float64],
    everybody: NDArray[np.float64],
    share: float,
    seen: NDArray[np.float32],
) -> None:
    """Fill in what is seen at the submission of a job, beside those that wait and run.

    In loops: an expression on arrays takes numba as long to compile as a page of them.
    """
    waits, runs = those
    now, size, walltime = jobs[SUBMIT, job], jobs[PROCESSORS, job], jobs[WALLTIME, job]
    user = jobs[USER, job]
    seen[0], seen[1], seen[2], seen[3] = np.log2(size), np.log2(walltime), now % 86_400 / 3600, now // 86_400 % 7
    seen[26], seen[27], seen[28] = users[_LAST, user], users[_WAITS, user], users[_USED, user]
    recent, total = np.empty(users.shape[1]), 0.0
    for k in range(len(recent)):
        recent[k] = users[_USE, k] * 0.5 ** ((now - users[_SINCE, k]) / _HALF_LIFE)
        total += recent[k]
    seen[29], seen[30], seen[31] = recent[user] / max(total, 1.0), queues[jobs[QUEUE, job]], everybody[0]
    seen[32], seen[33] = alike[int(seen[0]), int(seen[1])], _minutes(now - everybody[1]) if everybody[0] >= 0 else -1.0

    queued = np.empty((3, len(waits) + 1), np.int64)
    asked = _see_waiting(jobs, job, waits, machine, users, share, queued, seen)
    running, left = np.empty((3, len(runs)), np.int64), np.empty((2, len(runs)))
    free = machine - _see_running(jobs, job, runs, machine, users, share, running, left, seen)
    seen[18], seen[19], seen[20] = free / machine, (free - size) / machine, free - size >= asked
    for k in range(2):
        seen[24 + k] = _minutes(_enough(free, running[0], left[k], size))

    key = np.empty(len(waits) + 1)
    for k in range(8):
        for at in range(len(key)):
            other = waits[at] if at < len(waits) else job
            if k < 2:
                key[at] = at
            elif k < 4:
                key[at] = queued[0, at] if k == 2 else -queued[0, at]
            elif k == 4:
                key[at] = queued[1, at]
            elif k == 5:
                key[at] = recent[jobs[USER, other]]
            else:
                key[at] = queues[jobs[QUEUE, other]] if k == 6 else users[_WAITS, jobs[USER, other]]
        order, rule = ascending(key), GREEDY if k == 1 else EASY
        seen[34 + k] = _minutes(start_in_order(max(free, 0), running[0], running[1], running[2], queued, order, rule))


@kernel
def _see_waiting(
    jobs: NDArray[np.int64],
    job: int,
    waits: NDArray[np.int64],
    machine: int,
    users: NDArray[np.float64],
    share: float,
    queued: NDArray[np.int64],
    seen: NDArray[np.float32],
) -> int:
    """Fill in what is seen of those that wait, and return for how many processors.

    Of each, and of the job, `queued` gets the processors, the walltime and a guess of the run time.
    """
    now, size, walltime = jobs[SUBMIT, job], jobs[PROCESSORS, job], jobs[WALLTIME, job]
    own = alike = same_queue = processors = largest = ages = oldest = oldest_alike = oldest_own = 0
    work = used = smaller = shorter = 0.0
    for at in range(len(waits) + 1):
        other = waits[at] if at < len(waits) else job
        asked, length = jobs[PROCESSORS, other], jobs[WALLTIME, other]
        guess = max(length * _used(users, jobs[USER, other], share), 1.0)
        queued[0, at], queued[1, at], queued[2, at] = asked, length, int(guess)
        if other == job:
            continue
        age, its_work = now - jobs[SUBMIT, other], asked * length / machine
        processors, largest = processors + asked, max(largest, asked)
        ages, oldest = ages + age, max(oldest, age)
        work, used = work + its_work, used + asked * guess
        smaller += its_work if asked <= size else 0.0
        shorter += its_work if length <= walltime else 0.0
        same_queue += 1 if jobs[QUEUE, other] == jobs[QUEUE, job] else 0
        if jobs[USER, other] == jobs[USER, job]:
            own, oldest_own = own + 1, max(oldest_own, age)
        if _alike(asked, size) and _alike(length, walltime):
            alike, oldest_alike = alike + 1, max(oldest_alike, age)
    seen[5], seen[6], seen[7] = len(waits), own, same_queue
    seen[8], seen[9] = processors / machine, largest / machine
    seen[10], seen[11], seen[12], seen[13] = (
        _minutes(work), _minutes(used / machine), _minutes(smaller), _minutes(shorter)
    )  # fmt: skip
    seen[14], seen[15] = _minutes(1.0 * oldest), _minutes(ages / max(len(waits), 1))
    seen[16], seen[17] = _minutes(1.0 * oldest_alike) if alike > 0 else -1.0, _minutes(1.0 * oldest_own)
    return processors


@kernel
def _see_running(
    jobs: NDArray[np.int64],
    job: int,
    runs: NDArray[np.int64],
    machine: int,
    users: NDArray[np.float64],
    share: float,
    running: NDArray[np.int64],
    left: NDArray[np.float64],
    seen: NDArray[np.float32],
) -> int:
    """Fill in what is seen of those that run, and return on how many processors.

    Of each, `running` gets the processors, for how long it may run on by its use, and by its walltime; `left` the same
    times, by walltimes first.
    """
    now = jobs[SUBMIT, job]
    processors = own = 0
    by_walltimes = by_use = 0.0
    for at in range(len(runs)):
        other = runs[at]
        held, length, elapsed = jobs[PROCESSORS, other], jobs[WALLTIME, other], now - jobs[START, other]
        bound = max(length - elapsed, 1)
        rest = length * _used(users, jobs[USER, other], share) - elapsed
        rest = rest if rest > 0 else 0.3 * max(length - elapsed, 3)
        running[0, at], running[1, at], running[2, at] = held, int(max(rest, 1.0)), bound
        left[0, at], left[1, at] = bound, rest
        processors += held
        own += held if jobs[USER, other] == jobs[USER, job] else 0
        by_walltimes, by_use = by_walltimes + held * bound, by_use + held * rest
    seen[21], seen[22], seen[23] = _minutes(by_walltimes / machine), _minutes(by_use / machine), own / machine
    return processors


@kernel
def _enough(free: int, held: NDArray[np.int64], left: NDArray[np.float64], size: int) -> float:
    """Return after how many seconds so many processors are free if no other job takes them."""
    if free >= size:
        return 0.0
    for k in ascending(left):
        free += held[k]
        if free >= size:
            return float(left[k])
    return 0.0


@kernel
def _used(users: NDArray[np.float64], user: int, share: float) -> float:
    """Return which share of a walltime a user uses."""
    return share if users[_USED, user] < 0 else users[_USED, user]


@kernel
def _alike(other: int, one: int) -> bool:
    return 2 * other >= one and other <= 2 * one


@kernel
def _recent(mean: float, value: float, weight: float) -> float:
    """Return a mean in which the last ones count most."""
    return value if mean < 0 else (1 - weight) * mean + weight * value


@kernel
def _minutes(seconds: float) -> float:
    return np.log1p(max(seconds, 0.0) / 60.0)  # type: ignore[no-any-return]
