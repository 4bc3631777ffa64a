"""Waits learnt from what was seen of a recorded queue when other jobs were submitted, and what they waited.

A forest (`gas.prediction.forest`) is grown from the last jobs that have started, and again as more have. What a job's
submission looks like (`gas.prediction.queue_state`) then picks those past waits that its own is likely to be among.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.prediction.blend import POINTS
from gas.prediction.forest import Forest
from gas.prediction.queue_state import queue_states
from workloads import RigidJobs

__all__ = ["FEWEST", "LAST", "LearntWaits", "seen_at"]

FEWEST = 30
"""How many jobs must have started before anything is learnt."""

LAST = 8_000
"""The forest is grown from so many jobs, the last that have started."""

_MOST = 20_000
"""What is learnt from is thinned out to so many jobs of a log, evenly."""

_AGAIN = 100
"""It is grown again when so many more have started, or a fiftieth of those known."""

_LEVELS = (np.arange(POINTS) + 0.5) / POINTS
_NOBODY = np.zeros(0, np.int64)


class LearntWaits:
    """Waits of a recorded queue, as they can be known at instants that go forward.

    Parameters
    ----------
    seen
        See `seen_at`.
    submit, start
        Of each job; instants in the log's seconds.
    """

    def __init__(
        self,
        seen: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        submit: NDArray[np.int64],
        start: NDArray[np.int64],
        *,
        seed: int = 0,
    ) -> None:
        self._seen, self._submit, self._waits, self._seed = seen, submit, start - submit, seed
        by_start = np.argsort(start, kind="stable")
        self._order = by_start[wanted[by_start]]
        self._starts = start[self._order]
        self._grown = 0
        self._forest: Forest | None = None

    def waits(self, place: int) -> NDArray[np.int64]:
        """Return `POINTS` waits among which that of a job is likely to be, sorted; none before enough have started."""
        known = int(np.searchsorted(self._starts, self._submit[place]))  # those that started before
        if known < FEWEST:
            return _NOBODY
        if self._forest is None or known - self._grown >= max(_AGAIN, known // 50):
            rows = self._order[max(0, known - LAST) : known]
            self._forest = Forest(self._seen[rows], self._waits[rows], seed=self._seed)
            self._grown = known
        return self._forest.quantiles(self._seen[place], _LEVELS)


def seen_at(
    jobs: RigidJobs,
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    queue: NDArray[np.int64],
    places: NDArray[np.intp],
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return what was seen at submissions (`queue_states`), and of which jobs: some, and others to learn from."""
    count = len(start)
    wanted = np.zeros(count, np.bool_)
    wanted[places] = True
    wanted[:: -(-count // _MOST)] = True
    of_jobs = jobs.processors, jobs.estimate, jobs.run_time, jobs.user, queue
    return queue_states(jobs.submit, start, end, *of_jobs, jobs.machine, wanted), wanted
