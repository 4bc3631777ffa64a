"""The history of a log at an instant: how jobs have used their walltimes so far, and which may arrive next.

Nothing that happened later is looked at: of a job that had not been submitted by then nothing, of one that had not
ended no run time. So the same class serves a live machine, whose log is all past, and a simulation.
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
"""Of how many weeks (or days) the arrivals are taken for the time to come."""

_DAY = 86_400
_LONGEST, _MOST = 14 * _DAY, 1000
"""Who arrives later than that, or after so many others, is left out."""


class Past:
    """A log as it is known at an instant that goes forward.

    Parameters
    ----------
    submit, processors, walltime, run_time, end, user
        A column each, int64, in order of submission; an end of -1 is not known. Instants are in the same seconds as
        those that are asked about.
    name
        A number for the script or program of each, -1 where it has none; None where no names are known.
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
        """What is known by now of the shares of their walltimes that jobs use."""
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
            What second 0 of the log is; by default what its header says.
        processors
            Of its machine; by default what its header says.
        """
        log = log.select(log.requested_time > 0)  # else run times would be used as walltimes, which were not known then
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
        """Go forward to an instant: jobs that have ended by then are known.

        Raises
        ------
        ValueError
            The instant is before the last one.
        """
        if self._now is not None and now < self._now:
            raise ValueError(f"the state at {now} is no longer available after {self._now}; start with a new reader")
        self._now = now
        self.usage.learn(now)

    def anew(self) -> Past:
        """Return the same log as it is known at no instant yet, for another thread: they share what they hold."""
        again = copy(self)
        again.usage, again._now, again._of_queue = copy(self.usage), None, {}
        return again

    def of_queue(self, *queue: int) -> Past:
        """Return this past with the arrivals of some queues alone; both know of the same jobs that have ended."""
        if queue not in self._of_queue:
            assert self._queue is not None, "the queues of its jobs are known"
            found, rows = copy(self), np.isin(self._queue, queue)
            for name in ("_submit", "_processors", "_walltime", "_run_time", "_end"):
                setattr(found, name, getattr(self, name)[rows])
            self._of_queue[queue] = found
        return self._of_queue[queue]

    @property
    def ended(self) -> int:
        """How many jobs have ended by now that were learnt from."""
        return len(self.usage)

    def arrivals(self, now: int, horizon: int) -> Arrivals:
        """Return who may arrive within so many seconds: those who did, at this hour of this weekday, in past weeks.

        Where the log is shorter than that, at this hour of past days; none, where it is shorter than a day.
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
