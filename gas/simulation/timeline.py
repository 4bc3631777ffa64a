"""A schedule as step functions of time: free processors, waiting jobs, and their work.

timeline            free processors, waiting jobs and their work after each change
smallest_waiting    the fewest processors requested by any waiting job, over the same steps
left_queue          when each job left the queue
step_means          means of such a function over intervals of time
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.simulation.schedule import Schedule

__all__ = ["Timeline", "change_points", "free_processors", "left_queue", "smallest_waiting", "step_means", "timeline"]


@dataclass(frozen=True, eq=False)
class Timeline:
    """Step functions: value ``i`` holds on ``[times[i], times[i + 1])``, the last one forever."""

    times: NDArray[np.int64]
    """Seconds of the log, increasing."""
    free: NDArray[np.int64]
    """Processors that neither a job nor a reservation holds."""
    waiting: NDArray[np.int64]
    """Jobs in the queue."""
    queued_work: NDArray[np.float64]
    """Processor-seconds (processors times simulated run time) of the jobs in the queue."""


def left_queue(schedule: Schedule) -> NDArray[np.int64]:
    """Return when each job left the queue: its start, or its cancellation if that came first.

    Its submission for a job that never entered the queue.
    """
    left = np.where(schedule.started, schedule.start, schedule.end)
    return np.maximum(left, schedule.jobs.submit)


def timeline(schedule: Schedule) -> Timeline:
    """Return free processors and waiting jobs at every instant; empty arrays for a schedule without jobs.

    A job of zero length holds nothing. n log n steps for n jobs.
    """
    jobs = schedule.jobs
    times = change_points(schedule)
    left = left_queue(schedule)
    return Timeline(
        times,
        free=free_processors(schedule, times),
        waiting=_held(times, jobs.submit, left, None).astype(np.int64),
        queued_work=_held(times, jobs.submit, left, jobs.processors.astype(np.float64) * jobs.run_time),
    )


def change_points(schedule: Schedule) -> NDArray[np.int64]:
    """Return the instants of submissions, starts, ends and cancellations of jobs, and both ends of reservations."""
    ran = schedule.started
    times = np.concatenate(
        [
            schedule.jobs.submit,
            schedule.start[ran],
            schedule.end[ran],
            left_queue(schedule)[~ran],
            schedule.reserved,
            schedule.reserved + np.array([one.walltime for one in schedule.reservations], dtype=np.int64),
        ]
    )
    times.sort()  # np.unique takes many times as long for a million jobs
    distinct: NDArray[np.int64] = times[np.append(True, np.diff(times) > 0)[: len(times)]]
    return distinct


def free_processors(schedule: Schedule, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the processors that neither a job nor a reservation holds, over the steps of `change_points`."""
    ran = schedule.started
    held = _held(times, schedule.start[ran], schedule.end[ran], schedule.jobs.processors[ran])
    if schedule.reservations:
        walltimes = np.array([one.walltime for one in schedule.reservations], dtype=np.int64)
        processors = np.array([one.processors for one in schedule.reservations], dtype=np.int64)
        held += _held(times, schedule.reserved, schedule.reserved + walltimes, processors)
    return schedule.jobs.machine - held.astype(np.int64)


def _held(
    times: NDArray[np.int64],
    since: NDArray[np.int64],
    until: NDArray[np.int64],
    amount: NDArray[np.int64] | NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the sum of the amounts (1 each if None) over the steps; exact below 2**53, as all amounts are whole."""
    change = np.bincount(np.searchsorted(times, since), amount, len(times)).astype(np.float64)
    change -= np.bincount(np.searchsorted(times, until), amount, len(times))
    return np.cumsum(change, out=change)


def smallest_waiting(schedule: Schedule, times: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
    """Return the processors of the smallest waiting job over the steps; the machine + 1 if none waits.

    The minimum over intervals that cover a step, in one array: two intervals of a power of two steps cover any
    interval; from long to short ones, each passes its value to its halves. n log n steps for n jobs.

    Parameters
    ----------
    times
        The `change_points` of the schedule.
    """
    beyond = schedule.jobs.machine + 1
    smallest: NDArray[np.integer[Any]] = np.full(
        len(times), beyond, dtype=np.int32 if beyond < 2**31 else np.int64
    )  # half of the memory
    first = np.searchsorted(times, schedule.jobs.submit)
    behind = np.searchsorted(times, left_queue(schedule))
    waited = np.flatnonzero(behind > first)
    first, behind = first[waited], behind[waited]
    processors = schedule.jobs.processors[waited].astype(smallest.dtype)
    level = (np.frexp((behind - first).astype(np.float64))[1] - 1).astype(np.int8)  # of the largest power of two within
    for k in range(int(level.max(initial=-1)), -1, -1):
        half = 1 << k  # what the blocks of the level above hand down covers two of this one
        handed = smallest.copy()
        np.minimum(handed[half:], smallest[:-half], out=handed[half:])
        here = level == k
        np.minimum.at(handed, first[here], processors[here])
        np.minimum.at(handed, behind[here] - half, processors[here])
        smallest = handed
    return smallest


def step_means(
    times: NDArray[np.int64], values: ArrayLike, edges: NDArray[np.int64], before: float = 0.0
) -> NDArray[np.float64]:
    """Return the mean of a step function over each column, exactly.

    Parameters
    ----------
    times, values
        ``values[i]`` holds on ``[times[i], times[i + 1])``, the last one forever.
    edges
        Boundaries of the columns, increasing.
    before
        Value before the first time.
    """
    points = np.sort(np.concatenate([times, edges]))  # duplicates add an area of 0
    height = np.concatenate([[before], np.asarray(values, dtype=np.float64)])
    here = height[np.searchsorted(times, points, "right")]
    area = np.concatenate([[0.0], np.cumsum(here[:-1] * np.diff(points))])
    means: NDArray[np.float64] = np.diff(area[np.searchsorted(points, edges)]) / np.diff(edges)
    return means
