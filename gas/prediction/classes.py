"""Classes of jobs: how accurate their predictions were, and which classes are significantly worse.

A class is judged by two figures: the share of its 90% intervals that held, and, among its jobs that waited for more
than ten minutes, the share predicted within a factor of two. Each is compared with a bound, and counts as missed only
if its own interval is below it. Jobs of a busy afternoon share their fate, so the batches of that interval are
consecutive parts of the log (`gas.intervals.share_by_months`), not single jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.intervals import Interval, share_by_months
from gas.prediction.backtest import Outcome
from gas.prediction.learnt import SHORT
from gas.prediction.recorded import RecordedQueue
from gas.prediction.scores import BASELINES, FACTOR_FROM, WAITS, within_factor_2
from gas.times import duration_text

__all__ = ["FACTOR_SHARE", "FEWEST", "HELD", "JobClass", "best_baseline", "classes_of"]
__all__ += ["members_of", "parts_of", "shortly", "waits_of"]

FEWEST = 50
"""Classes with fewer predictions are not judged."""

HELD = 0.85
"""90% intervals are too narrow for a class if fewer of them hold."""

FACTOR_SHARE = 0.5
"""Predictions are far off for a class if a smaller share of its jobs that waited is within a factor of two."""

_PARTS = 12
"""Consecutive parts of the log with equally many predictions: the batches of intervals."""

_MOST_QUEUES = 12
"""The largest queues, up to this number, are separate classes."""

_PREDICTED = "predicted wait"

_WALLTIMES = ((0, 1_800), (1_800, 14_400), (14_400, 43_200), (43_200, 86_400), (86_400, None))
_SIZES = ((1, 2), (2, 9), (9, 33), (33, 129), (129, 513), (513, None))
_KNOWN = ((0, 1), (1, 10), (10, 100), (100, None))

Bounds = tuple[int, int | None]


@dataclass(frozen=True)
class JobClass:
    """The accuracy of predictions for a class of jobs.

    Attributes
    ----------
    kind
        The property that divides jobs into classes.
    name
        Its value in this class.
    jobs, delayed
        Number of predicted jobs, and of those that waited for more than ten minutes.
    held
        Share of the 90% intervals that held.
    within_factor_2
        Share of the delayed jobs; None without any, or in a class of jobs that are predicted to start sooner than that.
    median_error
        In seconds.
    beaten
        Share of its jobs for which Gas was closer than the best baseline of all jobs, among those for which one was
        closer, `told_apart`; None if there are none.
    width
        Median width of the 90% intervals, in seconds.
    """

    kind: str
    name: str
    jobs: int
    delayed: int
    held: Interval
    within_factor_2: Interval | None
    median_error: float
    beaten: Interval | None
    told_apart: int
    width: float

    @property
    def too_narrow(self) -> bool:
        """Whether its intervals contain the start significantly too rarely."""
        return self.jobs >= FEWEST and _below(self.held, HELD)

    @property
    def far_off(self) -> bool:
        """Whether significantly too few predictions are within a factor of two."""
        return (
            self.delayed >= FEWEST and self.within_factor_2 is not None and _below(self.within_factor_2, FACTOR_SHARE)
        )

    @property
    def no_better(self) -> bool:
        """Whether a baseline is significantly more often closer than Gas."""
        return self.told_apart >= FEWEST and self.beaten is not None and _below(self.beaten, 0.5)


def classes_of(recorded: RecordedQueue, places: NDArray[np.intp], outcomes: Sequence[Outcome]) -> list[JobClass]:
    """Return the classes of the jobs at these places, with the accuracy of each; the first class has all jobs.

    Classes by recorded wait are known only in hindsight; all others at submission.
    """
    wait, median = waits_of(outcomes, "wait"), waits_of(outcomes, "median")
    error = np.abs(median - wait)
    width = waits_of(outcomes, "high") - waits_of(outcomes, "low")
    inside = np.array([one.inside for one in outcomes], np.float64)
    near = within_factor_2(median, wait)
    nearer = np.sign(np.abs(waits_of(outcomes, best_baseline(outcomes)) - wait) - error)  # NaN without a prediction
    part = parts_of(len(wait))
    found = []
    for kind, name, of in members_of(recorded, places, outcomes):
        delayed, told_apart = of & (wait > FACTOR_FROM), of & (np.abs(nearer) == 1)
        possible = delayed.any() and not (kind == _PREDICTED and median[of].max() < SHORT)
        found.append(
            JobClass(
                kind,
                name,
                int(of.sum()),
                int(delayed.sum()),
                _share(inside[of], part[of]),
                _share(near[delayed], part[delayed]) if possible else None,
                float(np.median(error[of])),
                _share(nearer[told_apart] > 0, part[told_apart]) if told_apart.any() else None,
                int(told_apart.sum()),
                float(np.median(width[of])),
            )
        )
    return found


def _share(hits: NDArray[Any], part: NDArray[np.int64]) -> Interval:
    """Return a share, from 0 to 1, with its interval over parts."""
    found = share_by_months(hits, part.tolist())
    return Interval(found.mean / 100, None if found.half_width is None else found.half_width / 100)


def parts_of(count: int) -> NDArray[np.int64]:
    """Return for each prediction its consecutive part; the parts are the batches of intervals."""
    return np.arange(count) * _PARTS // max(1, count)


def members_of(
    recorded: RecordedQueue, places: NDArray[np.intp], outcomes: Sequence[Outcome]
) -> list[tuple[str, str, NDArray[np.bool_]]]:
    """Return kind, name and members of each class with members; the first class has all jobs."""
    wait, median = waits_of(outcomes, "wait"), waits_of(outcomes, "median")
    return [("", "all", np.ones(len(wait), np.bool_)), *_kinds(recorded, places, wait, median)]


def best_baseline(outcomes: Sequence[Outcome]) -> str:
    """Return the one of the `BASELINES` with the least median error, over the jobs that all of them predict.

    Jobs that waited for more than ten minutes decide, if there are any: for most others, every baseline is right.
    """
    wait = waits_of(outcomes, "wait")
    errors = np.abs(np.array([waits_of(outcomes, name) - wait for name in BASELINES]))
    known = ~np.isnan(errors).any(axis=0)
    waited = known & (wait > FACTOR_FROM)
    errors = errors[:, waited if waited.any() else known]
    if not errors.size:
        return BASELINES[-1]
    return BASELINES[int(np.argmin(np.median(errors, axis=1) + 1e-9 * errors.mean(axis=1)))]


def waits_of(outcomes: Sequence[Outcome], name: str) -> NDArray[np.float64]:
    """Return an attribute of the outcomes as numbers; NaN for None."""
    return np.array([np.nan if (one := getattr(each, name)) is None else one for each in outcomes], np.float64)


def _kinds(
    recorded: RecordedQueue, places: NDArray[np.intp], wait: NDArray[np.float64], median: NDArray[np.float64]
) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Yield kind, name and members of each non-empty class."""
    jobs = recorded.jobs
    by_bounds = [
        (_PREDICTED, median, WAITS, _durations),
        ("recorded wait", wait, WAITS, _durations),
        ("processors", jobs.processors[places], _SIZES, _numbers),
        ("walltime", jobs.estimate[places], _WALLTIMES, _durations),
    ]
    if (jobs.user >= 0).any():
        by_bounds.append(("ended jobs of the user", recorded.known_of_user(places), _KNOWN, _numbers))
    for kind, values, classes, named in by_bounds:
        for first, end in classes:
            of = (values >= first) & (values < (np.inf if end is None else end))
            if of.any():
                yield kind, named((first, end)), of
    queue = recorded.queue[places]
    numbers, counts = np.unique(queue, return_counts=True)
    if len(numbers) > 1:
        for number in numbers[np.argsort(-counts, kind="stable")][:_MOST_QUEUES].tolist():
            yield "partition", recorded.queues.get(number, str(number)), queue == number


def _durations(bounds: Bounds) -> str:
    first, end = bounds
    if end is None:
        return f"{shortly(first)} or more"
    return f"under {shortly(end)}" if first == 0 else f"{shortly(first)} to {shortly(end)}"


def shortly(seconds: int) -> str:
    """Return a duration in its two largest units, without a second one of zero: 10m, 1h30m, 1d."""
    return re.sub(r"(?<=[mhd])00[smh]$", "", duration_text(seconds))


def _numbers(bounds: Bounds) -> str:
    first, end = bounds
    if end is None:
        return f"{first} or more"
    return str(first) if end == first + 1 else f"{first}–{end - 1}"


def _below(found: Interval, bound: float) -> bool:
    return found.half_width is not None and found.mean + found.half_width < bound
