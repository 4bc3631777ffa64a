"""The waits of the last jobs of similar size and walltime: they reflect a scheduler's habits, but not the queue."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gas.prediction import LEAST_SAMPLES
from gas.prediction.blend import POINTS, spread
from gas.prediction.forecast import Forecast
from gas.prediction.past import queues_of
from workloads import Log, rigid_jobs

__all__ = ["SIMILAR", "Similar", "forecast_of_similar"]

ANY = -1
"""The queue of all jobs, if jobs of several queues are similar."""

SIMILAR = 50
"""Number of last jobs of a class to which a job is similar."""


class Similar:
    """Waits of jobs that had started by an instant that advances, by size and walltime up to a factor of two.

    Parameters
    ----------
    submit, start, processors, walltime
        One column each, int64; instants in the same seconds as those of calls.
    queue
        The queue or partition of each, if only jobs of the same one are similar; None for all.
    """

    def __init__(
        self,
        submit: NDArray[np.int64],
        start: NDArray[np.int64],
        processors: NDArray[np.int64],
        walltime: NDArray[np.int64],
        queue: NDArray[np.int64] | None = None,
    ) -> None:
        self._queue = np.full(len(submit), ANY) if queue is None else queue
        self._submit, self._start, self._processors, self._walltime = submit, start, processors, walltime
        self._order = np.argsort(start, kind="stable")
        self._known = 0
        self._waits: defaultdict[tuple[int, int, int], deque[int]] = defaultdict(lambda: deque(maxlen=SIMILAR))

    @classmethod
    def of_log(cls, log: Log, processors: int, *, by_queue: bool = False) -> Similar:
        """Return the waits of a log, in its seconds, for a machine size; `by_queue`: similar within queues only."""
        known = log.select((log.requested_time > 0) & (log.wait >= 0))
        jobs = rigid_jobs(known, processors)
        start = np.ceil(known.submit + known.wait).astype(np.int64)[jobs.row]
        return cls(
            jobs.submit, start, jobs.processors, jobs.estimate, queues_of(known)[0][jobs.row] if by_queue else None
        )

    def waits(self, now: int, processors: int, walltime: int, queue: int = ANY) -> NDArray[np.int64]:
        """Return, sorted, the waits of the last jobs similar to a job that had started before an instant."""
        while self._known < len(self._order) and self._start[one := int(self._order[self._known])] < now:
            like = _class_of(int(self._processors[one]), int(self._walltime[one]), int(self._queue[one]))
            self._waits[like].append(int(self._start[one] - self._submit[one]))
            self._known += 1
        return np.sort(np.array(self._waits.get(_class_of(processors, walltime, queue), ()), np.int64))


def forecast_of_similar(
    waits: Sequence[NDArray[np.int64]], now: int, planned: Sequence[int], execution_times: Sequence[int]
) -> Forecast | None:
    """Return a forecast without a simulation: jobs wait as similar ones did; None if too few are similar to one.

    Parameters
    ----------
    waits
        For each candidate, sorted waits of similar jobs.
    planned
        Expected starts if all jobs use their full time limits.
    """
    if not waits or min(one.size for one in waits) < LEAST_SAMPLES:
        return None
    starts = now + np.array([spread(one, POINTS) for one in waits], np.int64).T
    latest = np.maximum(np.array(planned, np.int64), now)
    lasts = np.array(execution_times, np.int64)
    return Forecast(now, latest, starts, lasts, np.zeros(len(lasts), np.bool_))


def _class_of(processors: int, walltime: int, queue: int) -> tuple[int, int, int]:
    return processors.bit_length(), walltime.bit_length(), queue
