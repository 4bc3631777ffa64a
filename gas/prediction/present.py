"""Learned waits for requests made now: the log is extended by running and waiting jobs, with the requests at the end.

The features of the queue select, among the last jobs to start, those that found a similar queue, as for the jobs of a
recorded log (`gas.prediction.learnt`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import available, is_ready
from gas.prediction import LEAST_SAMPLES
from gas.prediction.forest import Forest, grow, pick
from gas.prediction.learnt import NOTHING, LearntWaits
from gas.prediction.queue_state import jobs_seen, look, queue_states
from gas.prediction.recorded import RecordedQueue
from gas.prediction.snapshot import Snapshot
from workloads import Log

__all__ = ["LEARNT_FROM", "Request", "compile_learning", "from_now", "learning_is_ready", "waits_now"]

LEARNT_FROM = 4_000
"""Most jobs to learn from, the last to start; fewer if queues are long."""

_SEEN = 2_000_000
"""Most jobs to read, in all the queues that are learned from: some seconds of one core."""

_NOT_YET = 1 << 40
"""Seconds from now: the start of waiting jobs."""


class Request(NamedTuple):
    """A request: processors, seconds, the number of the user, and that of the queue or partition (-1: none).

    A job that already waits has its submission in epoch seconds as `submitted`.
    """

    processors: int
    walltime: int
    user: int
    queue: int
    submitted: int | None = None


def waits_now(
    log: Log, snapshot: Snapshot, requests: Sequence[Request], *, processors: int | None = None, seed: int = 0
) -> list[NDArray[np.int64]]:
    """Return for each request a distribution of its wait as sorted waits; empty if too little is known.

    In seconds from now; for a job that already waits, from similar jobs that have waited longer.

    Parameters
    ----------
    log
        Log of jobs that have ended.
    snapshot
        Running and waiting jobs; of the queues of the log, if it knows queues.
    processors
        Processors of the machine, or of the part of it that these queues share; by default those of the snapshot.

    Raises
    ------
    BadInput
        No job of the log has a wait and a run time.
    """
    recorded = RecordedQueue(log, snapshot.machine if processors is None else processors)
    jobs, now = recorded.jobs, snapshot.now - recorded.zero
    past = np.array([
        jobs.submit, recorded.start, recorded.end, jobs.processors, jobs.estimate, jobs.run_time, jobs.user,
        recorded.queue,
    ])  # fmt: skip
    since = [now if one.submitted is None else min(one.submitted - recorded.zero, now) for one in requests]
    new = np.array([at == now for at in since], np.bool_)
    asked = np.array([
        [at, now + _NOT_YET, now + _NOT_YET, one.processors, max(one.walltime, 1), one.walltime, one.user, one.queue]
        for at, one in zip(since, requests, strict=True)
    ], np.int64).reshape(-1, len(past)).T  # fmt: skip
    there = [past[:, past[0] <= now], _standing(snapshot, recorded.zero), asked[:, ~new]]
    columns = np.concatenate([*there, asked[:, new]], axis=1)
    first = columns.shape[1] - len(since)  # of the requests
    order = np.argsort(columns[0, : len(columns[0]) - int(new.sum())], kind="stable")
    order = np.concatenate([order, np.arange(len(order), columns.shape[1])])
    columns, places = columns[:, order], np.argsort(order)[first:]
    submit, start, end, sizes, walltime, run_time, user, queue = columns
    wanted = _last_to_start(submit, start, end, now)
    wanted[places] = True
    seen = queue_states(
        submit, start, end, sizes, np.maximum(walltime, 1), run_time, user, queue, jobs.machine, wanted,
        last=int(new.sum()),
    )  # fmt: skip
    learnt = LearntWaits(seen, wanted, submit, start, seed=seed)
    found = [NOTHING.waits] * len(requests)
    by_age = np.concatenate([np.flatnonzero(~new), np.flatnonzero(new)])
    for number, place in zip(by_age.tolist(), places.tolist(), strict=True):
        found[number] = from_now(learnt.waits_at(place, now), now - since[number])
    return found


def from_now(waits: NDArray[np.int64], waited: int) -> NDArray[np.int64]:
    """Return how much longer jobs waited that waited longer than `waited` seconds; none if they are few."""
    if not waited:
        return waits
    left = waits[waits > waited] - waited
    return left if left.size >= LEAST_SAMPLES else NOTHING.waits


def _standing(snapshot: Snapshot, zero: int) -> NDArray[np.int64]:
    """Return columns of running and waiting jobs, in seconds of a log."""
    now, runs = snapshot.now, snapshot.running
    start = np.where(runs, snapshot.start, now + _NOT_YET)
    submit = np.minimum(now if snapshot.submit is None else snapshot.submit, np.minimum(start, now))
    end = np.maximum(start + snapshot.walltime, now + 1)
    queue = np.full(len(runs), -1) if snapshot.queue is None else snapshot.queue
    columns = np.array([
        submit - zero, start - zero, end - zero, snapshot.processors, snapshot.walltime, snapshot.walltime,
        snapshot.user, queue,
    ])  # fmt: skip
    return columns if snapshot.queue is None else columns[:, queue >= 0]


def _last_to_start(
    submit: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64], now: int
) -> NDArray[np.bool_]:
    """Return the jobs to learn from: the last ones that have started, as many as time permits to read."""
    order = np.argsort(start, kind="stable")
    last = order[: int(np.searchsorted(start[order], now))][-LEARNT_FROM:]
    costs = np.cumsum(jobs_seen(submit, start, end)[last][::-1])
    wanted = np.zeros(len(submit), np.bool_)
    wanted[last[len(last) - int(np.searchsorted(costs, _SEEN, "right")) :]] = True
    return wanted


def learning_is_ready() -> bool:
    """Return whether all required code is compiled; otherwise it would take minutes in plain Python."""
    return available() and is_ready(look) and is_ready(grow) and is_ready(pick)


def compile_learning() -> None:
    """Compile all required code: some seconds, once per machine."""
    one = np.arange(1, 13, dtype=np.int64)
    seen = queue_states(one, one, one + 1, one, one, one, one, one, 12, one > 0)
    Forest(seen, one).picked(seen[0])
