"""The history of a log at an instant: the use of walltimes so far, and the jobs that may arrive next.

Later events are never used: nothing about jobs not yet submitted, and no run time of jobs that have not ended. So the
same class serves a live machine, whose log is all past, and a simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

from gas.prediction.forward import NO_ARRIVALS, Arrivals
from gas.prediction.snapshot import UNPLANNED
from gas.prediction.usage import Ended, Usage
from workloads import Log, rigid_jobs
from workloads.replay import NEVER, ends

__all__ = ["STREAMS", "Past", "queues_of"]

STREAMS = 8
"""Number of past weeks (or days) whose arrivals are used for the future."""

_DAY = 86_400
_LONGEST, _MOST = 14 * _DAY, 1000
"""Arrivals later than this, or after this many others, are left out."""


class Past:
    """A log as known at an instant that advances.

    Parameters
    ----------
    submit, processors, walltime, run_time, end, user
        One column each, int64, in order of submission; an end of -1 is unknown. Instants are in the same seconds as
        those of calls.
    name
        A number for the script or program of each, -1 without one; None if no names are known.
    queue
        A number for the queue or partition of each.
    """

    def __init__(
        self,
        submit: NDArray[np.int64],
        processors: NDArray[np.int64],
        walltime: NDArray[np.int64],
        run_time: NDArray[np.int64],
        end: NDArray[np.int64],
        user: NDArray[np.int64],
        name: NDArray[np.int64] | None = None,
        *,
        queue: NDArray[np.int64] | None = None,
    ) -> None:
        ended = end != NEVER
        name = np.full(len(submit), -1) if name is None else name
        columns = (submit, end, user, name, processors, walltime, run_time)
        self.usage = Usage(Ended(*(column[ended] for column in columns)))
        """The used shares of walltimes known by now."""
        self._submit, self._processors, self._walltime, self._run_time = submit, processors, walltime, run_time
        self._end, self._queue = end, queue
        self._of_queue: dict[tuple[int, ...], Past] = {}
        self._now: int | None = None

    @classmethod
    def of_log(cls, log: Log, *, zero: int | None = None, processors: int | None = None) -> Past:
        """Return the past of a log, in epoch seconds; jobs without a walltime are left out.

        Parameters
        ----------
        zero
            Epoch second of second 0 of the log; by default that of its header.
        processors
            Processors of its machine; by default those of its header.
        """
        log = log.select(log.requested_time > 0)  # otherwise run times, then unknown, would be used as walltimes
        jobs = rigid_jobs(log, processors)
        first = log.start_time if zero is None else zero
        end = ends(log)[jobs.row]
        return cls(
            jobs.submit + first,
            jobs.processors,
            jobs.estimate,
            jobs.run_time,
            np.where(end == NEVER, NEVER, end + first),
            jobs.user,
            jobs.executable,
            queue=queues_of(log)[0][jobs.row],
        )

    def learn(self, now: int) -> None:
        """Advance to an instant: jobs that have ended by then are known.

        Raises
        ------
        ValueError
            The instant is before the previous one.
        """
        if self._now is not None and now < self._now:
            raise ValueError(f"the state at {now} is no longer available after {self._now}; start with a new reader")
        self._now = now
        self.usage.learn(now)

    def anew(self) -> Past:
        """Return the same log before any instant, for another thread; both share their data."""
        again = copy(self)
        again.usage, again._now, again._of_queue = copy(self.usage), None, {}
        return again

    def of_queue(self, *queue: int) -> Past:
        """Return this past with the arrivals of some queues only; both know the same ended jobs."""
        if queue not in self._of_queue:
            assert self._queue is not None, "the queues of its jobs are known"
            found, rows = copy(self), np.isin(self._queue, queue)
            for name in ("_submit", "_processors", "_walltime", "_run_time", "_end"):
                setattr(found, name, getattr(self, name)[rows])
            self._of_queue[queue] = found
        return self._of_queue[queue]

    @property
    def ended(self) -> int:
        """Number of ended jobs that were learned from so far."""
        return len(self.usage)

    def arrivals(self, now: int, horizon: int) -> Arrivals:
        """Return possible arrivals in the next seconds: those at this hour of this weekday in past weeks.

        For a shorter log, at this hour of past days; none if it is shorter than a day.
        """
        horizon = min(horizon, _LONGEST)
        known = int(np.searchsorted(self._submit, now, side="right"))
        if known == 0:
            return NO_ARRIVALS
        last = min(now, int(self._submit[known - 1]) + 1)
        for period in (7 * _DAY, _DAY):
            nearest = max(1, -(-(now + horizon - last) // period))
            streams = []
            for back in range(nearest, nearest + STREAMS):
                shift = back * period
                if self._submit[0] > now - shift:
                    break
                begin, end = np.searchsorted(self._submit[:known], [now - shift + 1, now - shift + horizon + 1])
                streams.append(self._stream(slice(int(begin), min(int(end), int(begin) + _MOST)), now, shift))
            if streams:
                return Arrivals(_padded(streams))
        return NO_ARRIVALS

    def _stream(self, rows: slice, now: int, shift: int) -> NDArray[np.int64]:
        ended = (self._end[rows] != NEVER) & (self._end[rows] <= now)
        walltime = self._walltime[rows]
        run_time = np.where(ended, np.minimum(self._run_time[rows], walltime), walltime)
        return np.array([self._submit[rows] + shift, self._processors[rows], walltime, run_time])


def queues_of(log: Log) -> tuple[NDArray[np.int64], Mapping[int, str]]:
    """Return the queue of each job, and their names by number; partitions where a log has no queues, as sacct's."""
    if (log.queue >= 0).any():
        return log.queue, log.header.queues
    return log.partition, log.header.partitions


def _padded(streams: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    padded = np.ones((len(streams), 4, max(one.shape[1] for one in streams)), np.int64)
    padded[:, 0] = UNPLANNED
    for stream, row in zip(streams, padded, strict=True):
        row[:, : stream.shape[1]] = stream
    return padded
