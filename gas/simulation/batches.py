"""Batch means: the confidence interval of the mean of one long run, and when a run of a model may stop.

The method of Mu'alem & Feitelson (2001, 3.1): jobs in order of their ends are cut into batches of 3,333, the first is
discarded as the warm-up, and the means of the others are treated as independent. A run stops when 100 batches are
complete, when the 90% confidence interval is within 5% of the mean, or when the mean response exceeds 30,000 s. We
decide what the paper leaves open:

* The 100 batches do not include the warm-up. (100,000 jobs of the Jann model in batches of "just under 1,000" are 101
  batches of 990.)
* "Within 5%" is the half-width, the figure after ±: the paper calls its own "an accuracy of about 6-9 percent".
* Neither this rule nor the threshold applies before 10 batches count. An interval from two or three batches is
  sometimes short by chance, and a single batch may be a burst of users as well as an overloaded machine.
* Intervals that are checked repeatedly until they are narrow enough are slightly too short in the end; this applies to
  the interval of a stopped run.

A run need not grow batch by batch. Schedulers do not know the future, so the end of a job does not depend on later
submissions: the first n ends of a long run are the first n ends of a run that stopped there, and a run can be simulated
completely and cut afterwards. There are two limits. After the last submission the machine only drains, and jobs that
end then might have ended at other times if submissions had continued: `terminations` omits them. And the workload must
be the same, not a shorter generated one: most generators draw other jobs for another number of jobs, and a scaled load
depends on all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.simulation.schedule import Schedule

__all__ = ["BATCH", "BatchMeans", "Reason", "Stop", "batch_means", "stopping", "terminations"]

BATCH = 3333
"""Jobs in a batch."""

Reason = Literal["batches", "accuracy", "threshold", "exhausted"]
"""Why a run stopped: enough batches, a narrow enough interval, a mean response beyond bounds, or no jobs left."""


@dataclass(frozen=True)
class BatchMeans:
    """A mean and its confidence interval."""

    mean: float | None
    """Mean over the batches that count; None if there are none."""
    half_width: float | None
    """Half-width of its confidence interval; None for fewer than two batches."""
    batches: int
    """Number of batches that count: complete ones after the warm-up."""
    size: int
    """Jobs in a batch."""
    confidence: float

    @property
    def accuracy(self) -> float | None:
        """The half-width as a share of the mean; None without one."""
        return self.half_width / abs(self.mean) if self.half_width is not None and self.mean else None


@dataclass(frozen=True)
class Stop:
    """The end of a run, and the results up to it."""

    reason: Reason
    means: BatchMeans
    jobs: int
    """Number of ends until then, including the warm-up."""


def batch_means(values: ArrayLike, size: int = BATCH, *, discard: int = 1, confidence: float = 0.9) -> BatchMeans:
    """Return the mean of the batches and its confidence interval (Student's t over the batches' means).

    Parameters
    ----------
    values
        For example response times, in the order in which the jobs ended; an incomplete batch is left out.
    discard
        Batches discarded at the beginning.
    """
    return _interval(counted(values, size, discard), size, confidence)


def stopping(
    values: ArrayLike,
    size: int = BATCH,
    *,
    discard: int = 1,
    most: int = 100,
    accuracy: float = 0.05,
    threshold: float = 30_000,
    least: int = 10,
    confidence: float = 0.9,
) -> Stop:
    """Return the batch after which a run with these response times stops, and the reason.

    If several rules apply at once, the reason is the first of "threshold", "accuracy" and "batches".

    Parameters
    ----------
    values
        Response times in seconds, in the order in which the jobs ended (see `terminations`).
    most
        Number of batches after which it stops in any case.
    accuracy
        It stops when the half-width is below this share of the mean ...
    threshold
        ... or the mean is above this.
    least
        Batches that must count before either of these two rules applies.
    """
    if not 2 <= least <= most:
        raise ValueError(f"least {least}: must be from 2 to the most batches, {most}")
    means = counted(values, size, discard)
    for count in range(least, min(len(means), most) + 1):
        found = _interval(means[:count], size, confidence)
        reason: Reason | None = None
        if found.mean is not None and found.mean > threshold:
            reason = "threshold"
        elif found.accuracy is not None and found.accuracy < accuracy:
            reason = "accuracy"
        elif count == most:
            reason = "batches"
        if reason:
            return Stop(reason, found, (discard + count) * size)
    return Stop("exhausted", _interval(means, size, confidence), len(np.asarray(values)) // size * size)


def terminations(schedule: Schedule, *, drained: bool = False) -> NDArray[np.int64]:
    """Return the response times of the jobs that ran, in the order of their ends (then of the log).

    Parameters
    ----------
    drained
        Whether to include jobs that end after the last submission, when the machine runs empty.
    """
    ran = np.flatnonzero(schedule.started)
    if not drained and len(schedule):
        ran = ran[schedule.end[ran] < schedule.jobs.submit[-1]]
    ran = ran[np.argsort(schedule.end[ran], kind="stable")]
    response: NDArray[np.int64] = schedule.end[ran] - schedule.jobs.submit[ran]
    return response


def counted(values: ArrayLike, size: int, discard: int = 1) -> NDArray[np.float64]:
    """Return the means of the complete batches after the warm-up."""
    if size < 1:
        raise ValueError(f"a batch of {size} jobs has no mean; give 1 or more")
    if discard < 0:
        raise ValueError(f"{discard} batches cannot be thrown away; give 0 or more")
    array = np.asarray(values, dtype=np.float64)
    complete = len(array) // size
    means: NDArray[np.float64] = array[: complete * size].reshape(complete, size).mean(axis=1)
    return means[discard:]


def _interval(means: NDArray[np.float64], size: int, confidence: float) -> BatchMeans:
    count = len(means)
    if count == 0:
        return BatchMeans(None, None, 0, size, confidence)
    half_width = None
    if count > 1:
        from scipy.special import stdtrit

        quantile = float(stdtrit(count - 1, (1 + confidence) / 2))
        half_width = quantile * float(means.std(ddof=1)) / math.sqrt(count)
    return BatchMeans(float(means.mean()), half_width, count, size, confidence)
