"""The recent history of a recorded queue: waits, use by users, and starts of jobs.

A `Memory` learns from each job twice: at its start, when its wait is over, and at its end.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel

__all__ = ["REMEMBERED", "Memory", "learn_use", "learn_wait", "minutes", "recall", "recent_use", "remember", "used"]

REMEMBERED: Final = (
    "last wait of user", "waits of user", "use of walltimes", "waits in queue", "waits of all", "waits alike",
    "since last start",
    "last wait of request", "waits of request", "since start of request", "use of request",
    "waits of size", "last wait of size", "since start of size", "since start of larger",
    "since user submitted", "since user started", "last wait in queue", "last wait alike",
)  # fmt: skip
"""The features of `recall`. A request is a user, processors and walltime; a size is one up to a factor of two; similar
jobs have the same size and, up to a factor of two, the same walltime. -1 is unknown.
"""

SUBMIT, START, END, PROCESSORS, WALLTIME, RUN_TIME, USER, QUEUE, REQUEST = range(9)
"""Rows of the jobs."""

LAST, WAITS, SINCE, USED, USE, USED_SINCE, SUBMITTED = range(7)
"""The values for a user, and the first ones for requests, sizes, queues and all: the last wait, recent waits, the last
start, the used share of walltimes; recent use, and its instant; the last submission.
"""

_CLASSES: Final = 64
_HALF_LIFE: Final = 7 * 86_400.0
"""Seconds after which use counts half."""

Memory = tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]  # fmt: skip
"""Tables by user, request, queue, size (the last row is all), and kind of similar jobs."""


@kernel
def remember(jobs: NDArray[np.int64]) -> Memory:
    """Return a memory without any of these jobs."""
    users = np.full((7, jobs[USER].max() + 1), -1.0)
    users[USE : USED_SINCE + 1] = 0.0
    requests = np.full((4, jobs[REQUEST].max() + 1), -1.0)
    queues = np.full((3, jobs[QUEUE].max() + 1), -1.0)
    sizes = np.full((3, _CLASSES + 1), -1.0)
    return users, requests, queues, sizes, np.full((3, _CLASSES * _CLASSES), -1.0)


@kernel
def learn_wait(jobs: NDArray[np.int64], job: int, memory: Memory) -> None:
    """Record a wait that is over."""
    users, requests, queues, sizes, alike = memory
    wait, start = minutes(jobs[START, job] - jobs[SUBMIT, job]), jobs[START, job]
    size, length = int(np.log2(jobs[PROCESSORS, job])), int(np.log2(jobs[WALLTIME, job]))
    _learn(users, jobs[USER, job], wait, start, 0.2)
    _learn(requests, jobs[REQUEST, job], wait, start, 0.3)
    _learn(queues, jobs[QUEUE, job], wait, start, 0.1)
    _learn(sizes, size, wait, start, 0.1)
    _learn(sizes, _CLASSES, wait, start, 0.05)
    _learn(alike, size * _CLASSES + length, wait, start, 0.2)


@kernel
def _learn(rows: NDArray[np.float64], of: int, wait: float, start: int, weight: float) -> None:
    rows[WAITS, of] = _recent(rows[WAITS, of], wait, weight)
    rows[LAST, of], rows[SINCE, of] = wait, start


@kernel
def learn_use(jobs: NDArray[np.int64], job: int, memory: Memory, share: float) -> float:
    """Record a job that has ended; return the typical used share of a walltime."""
    users, requests = memory[0], memory[1]
    user, request, end = jobs[USER, job], jobs[REQUEST, job], jobs[END, job]
    part = min(jobs[RUN_TIME, job] / max(jobs[WALLTIME, job], 1), 1.0)
    users[USED, user] = _recent(users[USED, user], part, 0.2)
    requests[USED, request] = _recent(requests[USED, request], part, 0.3)
    users[USE, user] *= 0.5 ** ((end - users[USED_SINCE, user]) / _HALF_LIFE)
    users[USE, user] += jobs[PROCESSORS, job] * float(jobs[RUN_TIME, job])
    users[USED_SINCE, user] = end
    return 0.98 * share + 0.02 * part  # type: ignore[no-any-return]


@kernel
def recall(jobs: NDArray[np.int64], job: int, memory: Memory, said: NDArray[np.float32]) -> None:
    """Write what is known at the submission of a job."""
    users, requests, queues, sizes, alike = memory
    user, request, queue, now = jobs[USER, job], jobs[REQUEST, job], jobs[QUEUE, job], jobs[SUBMIT, job]
    size, length = int(np.log2(jobs[PROCESSORS, job])), int(np.log2(jobs[WALLTIME, job]))
    cell = size * _CLASSES + length
    said[0], said[1], said[2] = users[LAST, user], users[WAITS, user], users[USED, user]
    said[3], said[4], said[5] = queues[WAITS, queue], sizes[WAITS, _CLASSES], alike[WAITS, cell]
    said[6] = _since(sizes[SINCE, _CLASSES], now)
    said[7], said[8] = requests[LAST, request], requests[WAITS, request]
    said[9], said[10] = _since(requests[SINCE, request], now), requests[USED, request]
    said[11], said[12], said[13] = sizes[WAITS, size], sizes[LAST, size], _since(sizes[SINCE, size], now)
    larger = -1.0
    for k in range(size, _CLASSES):
        larger = max(larger, sizes[SINCE, k])
    said[14] = _since(larger, now)
    said[15], said[16] = _since(users[SUBMITTED, user], now), _since(users[SINCE, user], now)
    said[17], said[18] = queues[LAST, queue], alike[LAST, cell]


@kernel
def recent_use(memory: Memory, now: int) -> NDArray[np.float64]:
    """Return the recent use of each user, in processors times seconds."""
    users = memory[0]
    found = np.empty(users.shape[1])
    for k in range(len(found)):
        found[k] = users[USE, k] * 0.5 ** ((now - users[USED_SINCE, k]) / _HALF_LIFE)
    return found


@kernel
def used(memory: Memory, user: int, share: float) -> float:
    """Return the share of walltimes that a user uses."""
    return share if memory[0][USED, user] < 0 else memory[0][USED, user]


@kernel
def minutes(seconds: float) -> float:
    """Return the logarithm of 1 + minutes."""
    return np.log1p(max(seconds, 0.0) / 60.0)  # type: ignore[no-any-return]


@kernel
def _since(instant: float, now: int) -> float:
    return -1.0 if instant < 0 else minutes(now - instant)


@kernel
def _recent(mean: float, value: float, weight: float) -> float:
    """Return a mean with more weight on the latest values."""
    return value if mean < 0 else (1 - weight) * mean + weight * value
