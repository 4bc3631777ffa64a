"""The offered load of a stream of jobs, and scaling the stream to another load."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads.jobs import RigidJobs
from workloads.log import LARGEST, Log

__all__ = ["most_in_use", "offered_load", "processors_in_use", "scale_interarrivals", "scale_to_load", "submit_at_load"]
__all__ += ["with_interarrivals"]


def offered_load(jobs: RigidJobs) -> float:
    """Return the processor-seconds of all jobs divided by those of the machine between first and last submission.

    0 if there are no jobs or all are submitted in the same second.
    """
    return _load(jobs.submit, jobs.processors, jobs.run_time, jobs.machine)


def most_in_use(log: Log) -> int:
    """Return the most processors that jobs held at once, by the starts in the log; 0 if the log has no starts."""
    size = np.where(log.allocated_processors > 0, log.allocated_processors, log.requested_processors)
    ran = np.flatnonzero((log.wait >= 0) & (log.run_time > 0) & (size > 0))
    start = np.trunc(log.submit[ran]) + np.trunc(log.wait[ran])
    _, used = processors_in_use(start, start + np.trunc(log.run_time[ran]), size[ran])
    return int(used.max(initial=0))


def processors_in_use(
    start: NDArray[Any], end: NDArray[Any], processors: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the instants at which jobs end and start, ascending, and the processors in use from each instant on.

    Each end and each start counts separately; at the same instant, ends come first.
    """
    times = np.concatenate([end, start])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(np.concatenate([-processors, processors])[order])


def scale_interarrivals(submit: ArrayLike, factor: float) -> NDArray[np.int64]:
    """Return submit times with all interarrival times multiplied, to the nearest second; the first stays unchanged.

    Rounding errors do not add up: each job is within half a second of its exact position.
    """
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"interarrival times cannot be multiplied by {factor}; give a number above 0")
    times = np.asarray(submit)
    first = np.trunc(times[:1])  # generators scale before they cut off fractions of seconds
    if times.size and float(first[0]) + (float(times[-1]) - float(first[0])) * factor > LARGEST:
        raise ValueError(
            f"interarrival times multiplied by {factor:g} end beyond 2**53 s; give a smaller factor, or a larger load"
        )
    scaled: NDArray[np.int64] = np.rint((times - first) * factor).astype(np.int64)
    scaled += first.astype(np.int64)
    return scaled


def with_interarrivals(log: Log, factor: float, note: str) -> Log:
    """Return a log with all interarrival times multiplied, and a note in its header.

    Its waits become unknown: they were recorded at another load.
    """
    submit = scale_interarrivals(log.submit, factor).astype(np.float64)
    return replace(log, submit=submit, wait=np.full(len(log), -1.0), header=log.header.with_note(note))


def scale_to_load(jobs: RigidJobs, load: float) -> RigidJobs:
    """Return the jobs with interarrival times multiplied by (offered load) / `load`, so that they offer `load`.

    Sizes and run times stay unchanged. Raising load 0.688 to 0.8 takes the factor 0.86 (Mu'alem & Feitelson 2001,
    section 3.1).

    Raises
    ------
    ValueError
        No factor gives this load: it is not positive, or the jobs have no load.
    """
    return replace(jobs, submit=submit_at_load(jobs.submit, jobs.processors, jobs.run_time, jobs.machine, load))


def submit_at_load(
    submit: ArrayLike, processors: ArrayLike, run_time: ArrayLike, machine: int, load: float
) -> NDArray[np.int64]:
    """Return submit times at which these jobs, in order, offer `load` to the machine; see `scale_to_load`.

    Submit times may have fractions of seconds, which are also scaled.
    """
    times = np.asarray(submit)
    if not (math.isfinite(load) and load > 0):
        raise ValueError(f"load {load:g}: cannot be reached; give a number above 0, for example 0.8")
    present = _load(times, np.asarray(processors), np.asarray(run_time), machine)
    if present == 0:
        raise ValueError(
            f"load {load:g}: {times.size} jobs offer no load to scale; they need two different submit times and some "
            "run time"
        )
    try:
        return scale_interarrivals(times, present / load)
    except ValueError:
        raise ValueError(f"load {load:g}: the arrivals would span more than 2**53 s; give a larger load") from None


def _load(submit: NDArray[Any], processors: NDArray[Any], run_time: NDArray[Any], machine: int) -> float:
    if submit.size == 0:
        return 0.0
    span = float(submit[-1] - submit[0])
    work = processors.astype(np.float64)  # int64 could overflow
    work *= run_time
    return float(work.sum()) / (machine * span) if span else 0.0
