"""Samples of a Slurm queue: each simulates it forward, with run times and arrivals of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gas.prediction import LEAST_SAMPLES
from gas.prediction.alike import Alike
from gas.prediction.forward import Arrivals
from gas.prediction.snapshot import UNPLANNED
from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Cluster, Job
from gas.slurm.forward import Forward
from gas.slurm.sampler import Room, Sampler, outside
from gas.times import LONGEST

__all__ = ["BY_THEMSELVES", "COARSE", "HORIZON", "LARGE", "PLANS", "ROUGH", "Samples"]

BY_THEMSELVES = 4
"""Largest number of candidates that are simulated one by one."""

COARSE, PLANS, LARGE = 0.01, 30, 20_000
"""For a queue of more jobs × nodes than LARGE, the schedulers pass again after the share COARSE of the time that a
sample has advanced, and plan at most PLANS jobs that cannot start: mean waits differ by up to 3.5%, on queues of 200 to
2,000 jobs.
"""

ROUGH = 0.05, 10
"""The same for samples in plain Python that would otherwise be too few: mean waits of jobs in queues of 50 to 500 jobs
on 16 to 300 nodes differ by up to 9%, mostly less than 4%, and a sample takes 4 to 50% of the time.
"""

ENOUGH = 40
"""Number of samples in plain Python below which passes are rarer."""

HORIZON = 14 * 86_400
"""Seconds after which a job that has not started is assumed to start; a remark says so."""


class _TooLate(Exception):
    """The time for samples has passed."""


class Samples:
    """A prepared queue and its samples.

    Parameters
    ----------
    candidates
        As in `gas.prediction.slurm.Queue`.
    rows
        The job of each column of the run times.
    coming
        Jobs that may arrive later, of which each sample takes a stream.
    clock
        The clock for limits of time.
    unseen_until
        The latest instant until which hidden jobs hold their CPUs; None if all jobs are shown.
    """

    def __init__(
        self,
        cluster: Cluster,
        candidates: Sequence[Job | None],
        rows: Sequence[Job],
        run_times: NDArray[np.int64],
        coming: Arrivals,
        generator: np.random.Generator,
        clock: Callable[[], float],
        unseen_until: int | None = None,
    ) -> None:
        now, self._clock = cluster.now, clock
        self._now, self._run_times, self._streams = now, run_times, len(coming.jobs)
        self._stream = coming.of_samples(len(run_times))
        first = 1 + max((max(job.id, job.array or 0) for job in cluster.jobs), default=0)
        self._columns: dict[int, list[int]] = {}
        for column, job in enumerate(rows):
            self._columns.setdefault(job.id, []).append(column)
        self._arrays = {job.id: len(job.tasks) for job in cluster.jobs if job.pending and job.tasks is not None}
        there = [(number, job) for number, job in enumerate(candidates) if job is not None]
        probes = [(now, replace(job, id=first + place, submitted=now)) for place, (_, job) in enumerate(there)]
        first += len(probes)
        alike = Alike(cluster, candidates, generator)
        arrivals: list[tuple[int, Job]] = []
        self._come: list[tuple[int, int, int]] = []  # stream, number, run time
        for stream, jobs in enumerate(coming.jobs):
            for at, processors, walltime, run_time in jobs.T.tolist():
                if at < UNPLANNED:
                    new = alike(first + len(arrivals), processors, walltime)
                    if new is not None:
                        self._come.append((stream, new.id, run_time))
                        arrivals.append((at, replace(new, submitted=at)))
        self.begin = Beginning.of(cluster, arrivals, probes, unseen_until=unseen_until)
        waiting = self.begin.waiting
        self._place = {number: waiting.ids[job.id] for (number, _), (_, job) in zip(there, probes, strict=True)}
        self._of_stream = [
            np.array([waiting.ids[id] for stream, id, _ in self._come if stream != own], np.int64)
            for own in range(self._streams)
        ]
        self._hidden = int(self.begin.state.running.total[0]) - len(self.begin.state.running_jobs)
        self._unseen: list[Sequence[int]] = [
            [] if unseen_until is None else generator.integers(1, max(unseen_until - now, 2), self._hidden).tolist()
            for _ in range(len(run_times))
        ]
        size = (len(waiting.jobs) + len(self.begin.state.running_jobs)) * len(cluster.nodes)
        self._rooms: list[Room] = []  # in the end one per thread
        self._sampler: Sampler | None = None
        self._gives_up = False  # a sample midway, if it takes too long
        self._outside = bool(outside(self.begin))
        if self._outside:
            self.begin.main_scheduler(len(run_times))
        self._pass(*((COARSE, PLANS) if size > LARGE else (0.0, 0)))

    def _pass(self, coarse: float, most_plans: int) -> None:
        """Set how often schedulers pass, and how many jobs they plan."""
        self.coarse, self.most_plans = coarse, most_plans
        if not self._outside:
            self._sampler = Sampler(self.begin, coarse, most_plans, len(self._run_times))
            self._read_columns(self._sampler)
            self._rooms.clear()

    def by_machine_code(
        self, lasts: NDArray[np.int64], alone: NDArray[np.bool_], begun: float, seconds: float, threads: int
    ) -> NDArray[np.int64]:
        """Return the starts of candidates, a row for each sample made in time; mark those simulated one by one."""
        samples, candidates, few = len(self._run_times), len(lasts), len(lasts) <= BY_THEMSELVES
        starts, best = np.empty((samples, candidates), np.int64), list(range(candidates))
        if not few:
            starts = self.samples([range(candidates)], samples, begun + seconds / 2, threads)
            best = (
                np.argsort(starts.mean(axis=0) + lasts, kind="stable")[:BY_THEMSELVES].tolist() if len(starts) else []
            )
        if best:
            by_itself = self.samples([[one] for one in best], len(starts), begun + seconds, threads)
            if few or len(by_itself) >= min(LEAST_SAMPLES, len(starts)):
                starts = starts[: len(by_itself)]
                starts[:, best], alone[best] = by_itself, True
        return starts

    def in_plain_python(self, candidates: int, most: int, begun: float, seconds: float) -> NDArray[np.int64]:
        """Return the starts of candidates, all together, a row for each sample made in time.

        Where a sample takes so long that there would be fewer than `ENOUGH`, schedulers pass less often.
        """
        together, self._gives_up = [range(candidates)], True
        for rarer in ((COARSE, PLANS), ROUGH):
            if self.coarse < rarer[0]:
                if len(self.samples(together, 1, self._clock() + seconds / ENOUGH, 1)):
                    break
                self._pass(*rarer)
        return self.samples(together, most, begun + seconds, 1)

    def _read_columns(self, sampler: Sampler) -> None:
        """Record the drawn run time of each task; running tasks keep theirs, others have fixed ones."""
        waiting, come = self.begin.waiting, {id: run_time for _, id, run_time in self._come}
        self._drawn_at = np.full(int(sampler.first_run[-1]), -1, np.int64)
        self._fixed = np.full(len(self._drawn_at), LONGEST, np.int64)
        for place, job in enumerate(waiting.jobs):
            first, columns = int(sampler.first_run[place]), self._columns.get(job.id, [])
            for task in range(int(sampler.counts[place]) if columns else 0):
                self._drawn_at[first + task] = columns[task % len(columns)]
            if job.id in come:
                self._fixed[first] = come[job.id]
        self._ran_at = np.array([self._columns[job.id][0] for job in self.begin.state.running_jobs], np.int64)

    def samples(self, together: Sequence[Sequence[int]], most: int, deadline: float, threads: int) -> NDArray[np.int64]:
        """Return the starts of candidates, a row for each sample that is finished by an instant of the clock.

        Candidates that are simulated together take no resources; a single one does.
        """
        stopped: list[bool] = []

        def late() -> bool:
            return bool(stopped) or self._clock() > deadline

        def sample(number: int) -> list[int] | None:
            row: list[int] = []
            for some in together:
                made = None if late() else self.sample(number, some, late)
                if made is None:
                    return None
                row += made
            return row

        if threads == 1:
            tried = []
            for number in range(most):
                tried.append(sample(number))
                if tried[-1] is None:
                    break
        else:
            with ThreadPoolExecutor(threads) as pool:
                try:
                    tried = list(pool.map(sample, range(most)))
                finally:
                    stopped.append(True)  # it was interrupted, or all is done
        kept = [made for made in tried if made is not None]
        return np.array(kept, np.int64).reshape(len(kept), sum(len(some) for some in together))

    def sample(self, number: int, some: Sequence[int], late: Callable[[], bool]) -> list[int] | None:
        """Return the starts of candidates, or of one that takes its place, in a sample; None if it is too late."""
        if self._sampler is not None:
            try:
                return self._quickly(self._sampler, number, some, late)
            except _TooLate:
                return None
        forward = Forward(self.begin, self._seconds(number), coarse=self.coarse, most_plans=self.most_plans)
        forward.interrupted = late
        waiting = forward.waiting
        places = [self._place.get(candidate, -1) for candidate in some]
        if len(some) == 1:
            others = [place for candidate, place in self._place.items() if candidate != some[0]]
            waiting.withdraw(np.array(others, np.int64))
            waiting.probes = np.zeros_like(waiting.probes)
        waiting.withdraw(self._of_stream[self._stream[number]])
        forward.awaited = {place for place in places if place >= 0 and waiting.may_start(place)}
        if forward.awaited:
            forward.run(self._now + HORIZON)
            if forward.awaited and late():
                return None
        begun = forward.probed | {
            waiting.ids[start.job]: start.start for start in forward.starts if start.job in waiting.ids
        }
        return [begun.get(place, self._now + HORIZON) for place in places]

    def _quickly(self, sampler: Sampler, number: int, some: Sequence[int], is_late: Callable[[], bool]) -> list[int]:
        """Return the same starts, by the kernel for whole samples; raise `_TooLate` if it is given up."""

        def in_time() -> None:
            if self._gives_up and is_late():
                raise _TooLate

        try:
            room = self._rooms.pop()
        except IndexError:
            room = sampler.room()
        drawn, waiting = np.append(self._run_times[number], LONGEST), self.begin.waiting  # that for those without one
        seconds = np.minimum(self._fixed, drawn[self._drawn_at])
        ran = np.concatenate([drawn[self._ran_at], np.array(self._unseen[number], np.int64)])
        places = np.array([self._place.get(candidate, -1) for candidate in some], np.int64)
        gone = self._of_stream[self._stream[number]]
        if len(some) == 1:
            others = [place for candidate, place in self._place.items() if candidate != some[0]]
            gone = np.concatenate([gone, np.array(others, np.int64)])
        awaited = np.array([place for place in places.tolist() if place >= 0 and waiting.may_start(place)], np.int64)
        late = self._now + HORIZON
        if not len(awaited):
            return [late] * len(places)
        ends = sampler.ends(ran)
        begun = sampler.run(room, ends, seconds, awaited, gone, late, probes=len(some) > 1, meanwhile=in_time)
        found = [int(begun[place]) if place >= 0 and begun[place] >= 0 else late for place in places.tolist()]
        self._rooms.append(room)
        return found

    def _seconds(self, number: int) -> dict[int, int | list[int]]:
        drawn = self._run_times[number].tolist()
        found: dict[int, int | list[int]] = {}
        for id, columns in self._columns.items():
            tasks = self._arrays.get(id)
            found[id] = (
                drawn[columns[0]] if tasks is None else [drawn[columns[task % len(columns)]] for task in range(tasks)]
            )
        found.update((id, run_time) for _, id, run_time in self._come)
        there = len(self.begin.state.running_jobs)
        found.update((~(there + at), lasts) for at, lasts in enumerate(self._unseen[number]))
        return found
