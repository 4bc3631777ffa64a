"""Forward simulation of a Slurm queue by its own schedulers (`gas.slurm.forward`).

Each sample draws run times and arrivals; candidates wait among the other jobs with the priority that Slurm would give
them, and start where and when its schedulers start them. In the first samples all candidates are simulated together
without taking resources: a job behind a candidate may take its place. So those that seem to finish first are then
simulated one by one.

If the kernel `gas.slurm.drain` covers all rules that affect the queue, a sample takes milliseconds; otherwise, with
limits of accounts, fair share or dependencies, up to a hundred times as long. In a long queue on many nodes, schedulers
pass less often the further a sample is ahead (`COARSE`); the number of samples depends on the available time, and with
too few there is no prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gas.compiled import WORTH_COMPILING, available, is_ready
from gas.errors import BadInput
from gas.prediction import LEAST_SAMPLES, NotPredicted, fewer_samples
from gas.prediction.alike import Alike
from gas.prediction.forecast import SAMPLES, Forecast
from gas.prediction.forward import Arrivals
from gas.prediction.past import Past
from gas.prediction.present import Request, compile_learning
from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Cluster, Job
from gas.slurm.drain import drain
from gas.slurm.forward import Forward
from gas.slurm.order import HOLDING, end_of, limit_of
from gas.slurm.sampler import Room, Sampler, compile_plans, compile_starts, outside
from gas.times import LONGEST

__all__ = ["SECONDS", "Queue", "compile_ahead", "compile_half", "compile_other_half"]

SECONDS = 10.0
"""Most seconds of simulation: half for all candidates together, half for the best, one by one."""

BY_THEMSELVES = 4
"""Largest number of candidates that are simulated one by one."""

COARSE, PLANS, LARGE = 0.01, 30, 20_000
"""For a queue of more jobs × nodes than LARGE, the schedulers pass again after the share COARSE of the time that a
sample has advanced, and plan at most PLANS jobs that cannot start: mean waits differ by up to 3.5%, on queues of 200 to
2,000 jobs.
"""

WITHIN = 3
"""Possible error of starts in seconds: the time of the main scheduler's last pass is not published, and it passes again
after batch_sched_delay, 3 s by default; and a submission comes a moment after the reading. Without it, 88% of 267
starts of real Slurms would have been in their 90% intervals instead of 91%.
"""

TRUSTED = 0.95
"""Weight of the simulation against learned waits until there are outcomes. With it, 91% of 267 starts of real Slurms
were in their 90% intervals, with a median width of 94 s; 89% (80 s) by the simulation alone; 98% (151 s) with half.
"""

HORIZON = 14 * 86_400
"""Seconds after which a job that has not started is assumed to start; the user is told."""

TASKS = 40
"""Number of tasks of an array for which run times are drawn; other tasks reuse them."""


def compile_ahead() -> None:
    """Compile or load all code for predictions of a Slurm, `drain` last: about a minute, once per version of Gas."""
    compile_half()
    compile_other_half()


def compile_half() -> None:
    """Compile what learns and what starts jobs; nothing of it needs the other half."""
    compile_learning()
    compile_starts()


def compile_other_half() -> None:
    """Compile what plans jobs, then `drain`, which needs the first half by then."""
    compile_plans()


@dataclass(frozen=True, eq=False)
class Queue:
    """The published state of a Slurm, and the jobs of its candidates.

    Attributes
    ----------
    jobs
        With their expected priorities; None for a candidate that cannot be submitted.
    unseen_until
        The latest instant until which hidden jobs hold their CPUs; None if all jobs are shown.
    """

    cluster: Cluster
    jobs: tuple[Job | None, ...]
    unseen_until: int | None = None

    @property
    def partitions(self) -> tuple[tuple[str, ...], ...]:
        """The partitions in which each candidate may start."""
        return tuple(() if job is None else job.partitions for job in self.jobs)

    @property
    def rivals(self) -> frozenset[str]:
        """The partitions whose jobs may take nodes usable by a candidate."""
        nodes = self._nodes
        return frozenset(one.name for one in self.cluster.partitions if not nodes.isdisjoint(one.nodes))

    def uncompiled(self, arrivals: int) -> bool:
        """Return whether its samples need missing machine code, given the number of possible arrivals."""
        if not available() or is_ready(drain):
            return False
        waiting = sum(1 if job.tasks is None else len(job.tasks) for job in self.cluster.jobs if job.pending)
        return (waiting + arrivals + len(self.jobs)) ** 2 * len(self.cluster.nodes) * 10 > WORTH_COMPILING

    @property
    def cpus(self) -> int:
        """Number of CPUs of the partitions in which its candidates may start."""
        return sum(node.cpus for node in self.cluster.nodes if node.name in self._nodes)

    @cached_property
    def _nodes(self) -> frozenset[str]:
        own = {name for names in self.partitions for name in names}
        return frozenset(node for one in self.cluster.partitions if one.name in own for node in one.nodes)

    def requests(self, users: Mapping[str, int], queues: Mapping[str, int]) -> list[Request | None]:
        """Return the requests of its candidates in CPUs, with numbers of users and partitions."""

        def request(job: Job) -> Request:
            user, queue = users.get(job.user, -1), _queue_of(job, queues)
            return Request(max(job.cpus, 1), self._limit(job), user, queue, job.submitted)

        return [None if job is None else request(job) for job in self.jobs]

    def snapshot(
        self,
        users: Mapping[str, int],
        names: Mapping[str, int] | None = None,
        queues: Mapping[str, int] | None = None,
    ) -> Snapshot:
        """Return running and waiting jobs of the whole machine, in CPUs; each array task is a job.

        Parameters
        ----------
        users, names, queues
            Numbers of known users, of the names of jobs, and of partitions; others have -1.
        """
        now, rows = self.cluster.now, list(self._rows())
        machine = max(sum(node.cpus for node in self.cluster.nodes), sum(job.cpus for job in rows if not job.pending))
        start = [UNPLANNED if job.pending else min(job.start or now, now) for job in rows]
        lasts = [
            self._limit(job) if job.pending else max(end_of(job, now) - begun, now - begun + 1)
            for job, begun in zip(rows, start, strict=True)
        ]
        return Snapshot(
            now, machine,
            np.array([min(max(job.cpus, 1), machine) for job in rows], np.int64),
            np.clip(np.array(lasts, np.int64), 1, LONGEST),
            np.array(start, np.int64),
            np.array([not job.pending for job in rows], np.bool_),
            np.array([users.get(job.user, -1) for job in rows], np.int64),
            submit=np.array([now if job.submitted is None else job.submitted for job in rows], np.int64),
            name=np.array([(names or {}).get(job.name, -1) for job in rows], np.int64),
            queue=np.array([_queue_of(job, queues) for job in rows], np.int64) if queues else None,
        )  # fmt: skip

    def forecast(
        self,
        past: Past,
        execution_times: Sequence[int],
        planned: Sequence[int],
        users: Mapping[str, int],
        names: Mapping[str, int] | None = None,
        *,
        samples: int = SAMPLES,
        seed: int = 0,
        threads: int = 1,
        seconds: float = SECONDS,
        clock: Callable[[], float] | None = None,
        compiles: Callable[[], bool] = lambda: True,
    ) -> tuple[Forecast | NotPredicted, list[str]]:
        """Return the forecast for the candidates, and remarks on it.

        There is none with fewer samples than `LEAST_SAMPLES`, unless fewer are requested.

        Parameters
        ----------
        planned
            Expected starts in Slurm if all jobs use their full time limits.
        samples
            Largest number of samples.
        seconds
            Most seconds for all samples, without compilation; unfinished samples do not count.
        clock
            The clock for that limit; without one, all samples are made.
        compiles
            Called if machine code is missing: whether to load it, or else compile it, first. Otherwise there is no
            forecast.

        Raises
        ------
        BadInput
            There are no samples.
        """
        if samples < 1:
            raise BadInput(f"samples {samples}: at least 1 is needed; several hundred are usual")
        clock = clock or (lambda: 0.0)
        now = self.cluster.now
        latest = np.maximum(np.array(planned, np.int64), now)
        ahead = int((latest - now).max(initial=0))
        coming = past.arrivals(now, min(2 * ahead + 3600, HORIZON))
        if self.uncompiled(coming.jobs.shape[0] * coming.jobs.shape[2]):
            if not compiles():
                return NotPredicted(0, "first use: its simulator is still being compiled", soon=True), []
            compile_ahead()
        begun = clock()
        snapshot, generator = self.snapshot(users, names), np.random.default_rng(seed)
        run_times = past.usage.draw(snapshot, samples, generator)
        run_times = past.usage.ended_late(run_times, self._limits(), snapshot.elapsed, generator)
        run = _Runs(self, run_times, coming, generator, clock)
        lasts = np.array(execution_times, np.int64)
        all_of_them, few = range(len(lasts)), len(lasts) <= BY_THEMSELVES
        alone = np.zeros(len(lasts), np.bool_)
        starts, best = np.empty((samples, len(lasts)), np.int64), list(all_of_them)
        if not few:
            starts = run.samples([all_of_them], samples, begun + seconds / 2, threads)
            best = (
                np.argsort(starts.mean(axis=0) + lasts, kind="stable")[:BY_THEMSELVES].tolist() if len(starts) else []
            )
        if best:
            by_itself = run.samples([[one] for one in best], len(starts), begun + seconds, threads)
            if few or len(by_itself) >= min(LEAST_SAMPLES, len(starts)):
                starts = starts[: len(by_itself)]
                starts[:, best], alone[best] = by_itself, True
        remarks = list(run.begin.waiting.remarks)
        count = len(starts)
        if count < min(LEAST_SAMPLES, samples):
            return NotPredicted(count, f"its queue is long, or this computer busy: the limit is {seconds:g} s"), remarks
        if count < samples:
            remarks.append(fewer_samples(count, samples))
        if never := float((starts >= now + HORIZON).mean()):
            remarks.append(f"{never:.0%} of the starts are more than {HORIZON // 86_400} days away and set to that")
        return Forecast(now, latest, starts, lasts, alone, WITHIN), remarks

    def _rows(self) -> list[Job]:
        """Return the jobs with a column in the snapshot; of an array, a part of its tasks."""
        rows: list[Job] = []
        for job in self.cluster.jobs:
            if job.state in HOLDING:
                rows.append(job)
            elif job.pending:
                rows += [job] * (1 if job.tasks is None else min(len(job.tasks), TASKS))
        return rows

    def _limits(self) -> NDArray[np.int64]:
        """Return the time limit of each job with a column in the snapshot, counted from its start."""
        now = self.cluster.now
        found = [
            self._limit(job) if job.pending else end_of(job, now) - min(job.start or now, now) for job in self._rows()
        ]
        return np.clip(np.array(found, np.int64), 1, LONGEST)

    def _limit(self, job: Job) -> int:
        limits = [limit_of(job, one) for one in self.cluster.partitions if one.name in job.partitions]
        return min(limits, default=job.time_limit or LONGEST)


def _queue_of(job: Job, queues: Mapping[str, int]) -> int:
    """Return the number of the first of its partitions that is known."""
    return next((queues[name] for name in job.partitions if name in queues), -1)


class _Runs:
    """A prepared queue and its samples."""

    def __init__(
        self,
        queue: Queue,
        run_times: NDArray[np.int64],
        coming: Arrivals,
        generator: np.random.Generator,
        clock: Callable[[], float],
    ) -> None:
        cluster, now, self._clock = queue.cluster, queue.cluster.now, clock
        self._now, self._run_times, self._streams = now, run_times, len(coming.jobs)
        self._stream = coming.of_samples(len(run_times))
        first = 1 + max((max(job.id, job.array or 0) for job in cluster.jobs), default=0)
        self._columns: dict[int, list[int]] = {}
        for column, job in enumerate(queue._rows()):
            self._columns.setdefault(job.id, []).append(column)
        self._arrays = {job.id: len(job.tasks) for job in cluster.jobs if job.pending and job.tasks is not None}
        there = [(number, job) for number, job in enumerate(queue.jobs) if job is not None]
        probes = [(now, replace(job, id=first + place, submitted=now)) for place, (_, job) in enumerate(there)]
        first += len(probes)
        alike = Alike(cluster, queue.jobs, generator)
        arrivals: list[tuple[int, Job]] = []
        self._come: list[tuple[int, int, int]] = []  # stream, number, run time
        for stream, jobs in enumerate(coming.jobs):
            for at, processors, walltime, run_time in jobs.T.tolist():
                if at < UNPLANNED:
                    new = alike(first + len(arrivals), processors, walltime)
                    if new is not None:
                        self._come.append((stream, new.id, run_time))
                        arrivals.append((at, replace(new, submitted=at)))
        self.begin = Beginning.of(cluster, arrivals, probes, unseen_until=queue.unseen_until)
        waiting = self.begin.waiting
        self._place = {number: waiting.ids[job.id] for (number, _), (_, job) in zip(there, probes, strict=True)}
        self._of_stream = [
            np.array([waiting.ids[id] for stream, id, _ in self._come if stream != own], np.int64)
            for own in range(self._streams)
        ]
        self._hidden = int(self.begin.state.running.total[0]) - len(self.begin.state.running_jobs)
        self._unseen: list[Sequence[int]] = [
            []
            if queue.unseen_until is None
            else generator.integers(1, max(queue.unseen_until - now, 2), self._hidden).tolist()
            for _ in range(len(run_times))
        ]
        size = (len(waiting.jobs) + len(self.begin.state.running_jobs)) * len(cluster.nodes)
        self.coarse, self.most_plans = (COARSE, PLANS) if size > LARGE else (0.0, 0)
        self._rooms: list[Room] = []  # in the end one per thread
        self._sampler: Sampler | None = None
        if outside(self.begin):
            self.begin.main_scheduler(len(run_times))
        else:
            self._sampler = Sampler(self.begin, self.coarse, self.most_plans, len(run_times))
            self._read_columns(self._sampler)

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
            return self._quickly(self._sampler, number, some)
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

    def _quickly(self, sampler: Sampler, number: int, some: Sequence[int]) -> list[int]:
        """Return the same starts, by the kernel for whole samples."""
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
        begun = sampler.run(room, ends, seconds, awaited, gone, late, probes=len(some) > 1)
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
