"""A log whose queue is known at each instant, from the recorded starts and ends of its jobs."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.prediction.forward import NO_ARRIVALS, Arrivals
from gas.prediction.learnt import seen_at
from gas.prediction.partitions import room_of_each
from gas.prediction.past import Past, queues_of
from gas.prediction.similar import Similar
from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.printable import many
from workloads import Log, RigidJobs, rigid_jobs
from workloads.load import processors_in_use
from workloads.replay import ends

__all__ = ["FEWEST", "UNLIMITED", "RecordedQueue"]

FEWEST = 20
"""Number of jobs that must have ended before the first prediction."""

UNLIMITED = 365 * 86_400
"""The walltime, in seconds, of jobs without one: Slurm also plans with it."""

_CANCELLED = 5

_MOST_LATER = 1_000
"""Number of later jobs that are known in hindsight."""


class RecordedQueue:
    """A log whose queue is known at each instant: submissions, starts and ends of jobs.

    Jobs without a walltime are included with `UNLIMITED`, as they use processors like others; no walltime is longer.

    Parameters
    ----------
    processors
        Processors of the machine; by default those of the header.
    still
        The machine after the last line of the log, in epoch seconds: its running jobs are not in the log.

    Raises
    ------
    BadInput
        No job has a wait and a run time.
    """

    def __init__(self, log: Log, processors: int | None = None, *, still: Snapshot | None = None) -> None:
        known = (log.wait >= 0) & (log.run_time >= 0) & ~((log.status == _CANCELLED) & (log.run_time == 0))
        self.left_out = int(np.count_nonzero(~known))
        """Number of omitted jobs: their wait or run time is unknown, or they were cancelled while they waited."""
        if not known.any():
            raise BadInput(f"{log.name}: no job has a wait and a run time, which a comparison needs")
        log = log.select(known)
        limit = np.where(log.requested_time > 0, np.minimum(log.requested_time, UNLIMITED), UNLIMITED)
        self.unlimited = int(np.count_nonzero(log.requested_time <= 0))
        """Number of jobs without a walltime."""
        log = log.with_columns(requested_time=limit)
        self.jobs: RigidJobs = rigid_jobs(log, processors)
        """All other jobs, in order of submission, without those that do not fit the machine."""
        self.rows = np.flatnonzero(known)[self.jobs.row]
        """The line of each in the given log."""
        self.end: NDArray[np.int64] = ends(log)[self.jobs.row]
        self.start: NDArray[np.int64] = np.ceil(log.submit + log.wait).astype(np.int64)[self.jobs.row]
        self.start = np.maximum(self.start, self.jobs.submit)
        queue, self.queues = queues_of(log)
        self.queue: NDArray[np.int64] = queue[self.jobs.row]
        """Number of the queue of each, or of the partition if the log has no queues; names are in `queues`."""
        of_jobs = self.jobs.submit, self.start, self.end, self.jobs.processors, self.queue, self.jobs.machine
        self.room = room_of_each(*of_jobs) if still is None else np.zeros(len(self.rows), np.int64)
        """Processors that the partition of each has to itself at its submission; 0 if partitions share them."""
        self._last_end = np.maximum.accumulate(self.end)

        self._seen: tuple[bytes, NDArray[np.float32], NDArray[np.bool_]] | None = None
        self.zero = log.start_time
        """The epoch second of second 0."""
        self._still: list[NDArray[np.int64]] = []
        if still is not None:
            runs, unknown = still.running, np.full(len(still), -1)
            start = still.start - self.zero
            submit = start if still.submit is None else still.submit - self.zero
            name = unknown if still.name is None else still.name
            self._still = [of[runs] for of in (still.processors, still.walltime, start, still.user, submit, name)]

    def __len__(self) -> int:
        return len(self.rows)

    def past(self) -> Past:
        """Return the past of the log, to be advanced instant by instant."""
        jobs = self.jobs
        columns = jobs.submit, jobs.processors, jobs.estimate, jobs.run_time, self.end, jobs.user, jobs.executable
        return Past(*columns, queue=self.queue)

    def past_of(self, place: int, past: Past) -> Past:
        """Return that past as relevant to a job: only arrivals in its own partition, if that has its own processors."""
        return past.of_queue(int(self.queue[place])) if self.room[place] else past

    def similar(self) -> Similar:
        """Return the waits of jobs of similar size and walltime, instant by instant."""
        return Similar(self.jobs.submit, self.start, self.jobs.processors, self.jobs.estimate)

    def seen(self, places: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the features at submissions, and for which jobs; see `gas.prediction.learnt.seen_at`.

        The last result is cached: several compared methods request the same jobs.
        """
        asked = np.asarray(places, np.int64).tobytes()
        if self._seen is None or self._seen[0] != asked:
            self._seen = asked, *seen_at(self.jobs, self.start, self.end, self.queue, self.room, places)
        return self._seen[1:]

    def places(self, jobs: int | None) -> NDArray[np.intp]:
        """Return the indices of this number of predictable jobs, evenly over the log; all for None.

        Raises
        ------
        BadInput
            Fewer jobs than `FEWEST` have ended before the last submission.
        """
        places = np.arange(self._first, len(self))
        if not places.size:
            known = int(np.count_nonzero(self.end < self.jobs.submit.max(initial=0)))
            raise BadInput(
                f"of {many(len(self), 'usable job')}, {known} ended before the last submission; a prediction needs "
                f"{FEWEST} ended jobs"
            )
        return places if jobs is None or places.size <= jobs else places[np.arange(jobs) * places.size // jobs]

    def asked(self, place: int) -> tuple[int, int, int]:
        """Return submission, processors and walltime of a job."""
        jobs = self.jobs
        return int(jobs.submit[place]), int(jobs.processors[place]), int(jobs.estimate[place])

    def snapshot(self, place: int) -> Snapshot:
        """Return the running and waiting jobs at a job's submission, without it and later ones of the log.

        Only those of its partition, if that has its own processors. Some logs record more processors in use than their
        machine has; the machine then counts as that large.
        """
        jobs, now, here = self.jobs, int(self.jobs.submit[place]), self._here(place)
        running = self.start[here] <= now
        start = np.where(running, self.start[here], UNPLANNED)
        columns = [
            jobs.processors[here], jobs.estimate[here], start, jobs.user[here], jobs.submit[here], jobs.executable[here]
        ]  # fmt: skip
        if self._still:
            ran = self._still[2] <= now
            columns = [np.concatenate([still[ran], of]) for still, of in zip(self._still, columns, strict=True)]
            running = np.concatenate([ran[ran], running])
        processors, walltime, start, user, submit, name = columns
        room = int(self.room[place]) or jobs.machine
        machine = max(room, int(processors[running].sum()), int(processors.max(initial=1)))
        return Snapshot(
            now=now, machine=machine, processors=processors, walltime=walltime, start=start, running=running,
            user=user, submit=submit, name=name,
        )  # fmt: skip

    def hindsight(self, place: int, seconds: int) -> tuple[NDArray[np.int64], Arrivals]:
        """Return what was unknown at a submission: run times of the jobs there, and arrivals of the next `seconds`.

        One row, for the jobs of its `snapshot`; jobs that are not in the log use their whole walltimes.
        """
        jobs, now, here = self.jobs, int(self.jobs.submit[place]), self._here(place)
        elapsed = np.maximum(now - self.start[here], 0)
        walltime = jobs.estimate[here]
        run_time = np.clip(jobs.run_time[here], np.minimum(elapsed + 1, walltime), walltime)
        if self._still:
            _, lasts, start, *_ = self._still
            run_time = np.concatenate([lasts[start <= now], run_time])
        later = np.arange(place + 1, int(np.searchsorted(jobs.submit, now + seconds, side="right")))
        if self.room[place]:
            later = later[self.queue[later] == self.queue[place]]
        if not later.size:
            return run_time[None], NO_ARRIVALS
        later = later[:_MOST_LATER]
        limit = jobs.estimate[later]
        lasts = np.clip(jobs.run_time[later], 1, limit)
        return run_time[None], Arrivals(np.array([[jobs.submit[later], jobs.processors[later], limit, lasts]]))

    def _here(self, place: int) -> NDArray[np.intp]:
        """Return the jobs that ran or waited when a job was submitted, among those before it in the log."""
        now = int(self.jobs.submit[place])
        first = int(np.searchsorted(self._last_end[:place], now, side="right"))  # all earlier jobs have ended
        here = first + np.flatnonzero(self.end[first:place] > now)
        return here[self.queue[here] == self.queue[place]] if self.room[place] else here

    def waiting(self, places: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the number of waiting jobs in the `snapshot` of each of these submissions."""
        found = np.zeros(len(places), np.int64)
        apart = self.room[places] > 0
        found[~apart] = _waiting(self.jobs.submit, self.start, places[~apart])
        for number in np.unique(self.queue[places[apart]]).tolist():
            rows = np.flatnonzero(self.queue == number)
            of = apart & (self.queue[places] == number)
            found[of] = _waiting(self.jobs.submit[rows], self.start[rows], np.searchsorted(rows, places[of]))
        return found

    def known_of_user(self, places: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the number of ended jobs of the same user at these submissions."""
        user, submit = self.jobs.user, self.jobs.submit
        by_user = np.lexsort((self.end, user))
        of_user, ends_of_user = user[by_user], self.end[by_user]
        found = np.zeros(len(places), np.int64)
        for at, place in enumerate(places.tolist()):
            first, last = np.searchsorted(of_user, [user[place], user[place] + 1])
            found[at] = np.searchsorted(ends_of_user[first:last], submit[place], side="right")
        return found

    def overfull(self) -> tuple[float, int]:
        """Return the share of time with more processors in use than the machine has, and the largest number in use."""
        times, used = processors_in_use(self.start, self.end, self.jobs.processors)
        lasts = np.diff(times)
        above = int(lasts[used[:-1] > self.jobs.machine].sum())
        return above / max(int(lasts.sum()), 1), int(used[:-1][lasts > 0].max(initial=0))

    def digest(self) -> str:
        """Return an identifier of all data of predictions: equal for equal jobs, machines and zeros."""
        jobs = self.jobs
        found = hashlib.sha256(f"{jobs.machine} {self.zero} {len(self._still)}".encode())
        columns = jobs.submit, jobs.processors, jobs.estimate, jobs.run_time, jobs.user, jobs.executable
        for column in (*columns, self.start, self.end, self.queue, *self._still):
            found.update(np.ascontiguousarray(column, np.int64).tobytes())
        return found.hexdigest()

    def starts_after(self, instant: int, most: int) -> NDArray[np.int64]:
        """Return the indices of the last jobs that started after an instant, at most `most`, ascending."""
        places = np.arange(self._first, len(self))
        places = places[self.start[places] > instant]
        return np.sort(places[np.argsort(self.start[places], kind="stable")][-most:] if most else places[:0])

    @property
    def _first(self) -> int:
        """The first index at whose submission `FEWEST` jobs had ended."""
        ended = np.sort(self.end)
        return len(self) if len(ended) < FEWEST else int(np.searchsorted(self.jobs.submit, ended[FEWEST - 1], "right"))


def _waiting(submit: NDArray[np.int64], start: NDArray[np.int64], places: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the number of waiting jobs at these submissions, among the jobs before each."""
    now = submit[places]
    at_once = np.concatenate([[0], np.cumsum(start == submit)])
    after_it = at_once[np.searchsorted(submit, now, side="right")] - at_once[places]  # started, and after it in the log
    started = np.searchsorted(np.sort(start), now, side="right") - after_it
    found: NDArray[np.int64] = places - started
    return found
