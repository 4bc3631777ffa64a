"""Forward simulation of a Slurm queue by its own schedulers (`gas.slurm.forward`).

Each sample draws run times and arrivals; candidates wait among the other jobs with the priority that Slurm would give
them, and start where and when its schedulers start them. In the first samples all candidates are simulated together
without taking resources: a job behind a candidate may take its place. So those that seem to finish first are then
simulated one by one.

If the kernel `gas.slurm.drain` covers all rules that affect the queue, a sample takes milliseconds; otherwise, with
limits of accounts, fair share or dependencies, up to a hundred times as long. In a long queue on many nodes, schedulers
pass less often the further a sample is ahead (`slurm_samples.COARSE`); the number of samples depends on the available
time, and with too few there is no prediction.

While machine code is being compiled, and without numba, samples are made in plain Python: as many as there is time for,
with all candidates together and even rarer passes if need be (`slurm_samples.ROUGH`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gas.compiled import WORTH_COMPILING, available, is_ready, only_ready
from gas.errors import BadInput
from gas.prediction import LEAST_SAMPLES, NotPredicted, fewer_samples
from gas.prediction.forecast import SAMPLES, Forecast, spread_out
from gas.prediction.past import Past
from gas.prediction.present import Request, compile_learning
from gas.prediction.slurm_samples import HORIZON, Samples
from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.slurm.cluster import Cluster, Job
from gas.slurm.drain import drain
from gas.slurm.order import HOLDING, end_of, limit_of
from gas.slurm.sampler import compile_plans, compile_starts
from gas.times import LONGEST

__all__ = ["SECONDS", "Queue", "compile_ahead", "compile_half", "compile_other_half"]

SECONDS = 10.0
"""Most seconds of simulation: half for all candidates together, half for the best, one by one."""

WITHIN = 3
"""Possible error of starts in seconds: the time of the main scheduler's last pass is not published, and it passes again
after batch_sched_delay, 3 s by default; and a submission comes a moment after the reading. Without it, 88% of 267
starts of real Slurms would have been in their 90% intervals instead of 91%.
"""

TRUSTED = 0.95
"""Weight of the simulation against learned waits until there are outcomes. With it, 91% of 267 starts of real Slurms
were in their 90% intervals, with a median width of 94 s; 89% (80 s) by the simulation alone; 98% (151 s) with half.
"""

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
            Called if machine code is missing: whether to load it, or else compile it, first. Otherwise samples are made
            in plain Python: fewer, with rarer passes if need be, and all candidates together.

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
        compiling = self.uncompiled(coming.jobs.shape[0] * coming.jobs.shape[2])
        if compiling and compiles():
            compile_ahead()
            compiling = False
        begun = clock()
        snapshot, generator = self.snapshot(users, names), np.random.default_rng(seed)
        run_times = past.usage.draw(snapshot, samples, generator)
        run_times = past.usage.ended_late(run_times, self._limits(), snapshot.elapsed, generator)
        lasts = np.array(execution_times, np.int64)
        alone = np.zeros(len(lasts), np.bool_)
        with only_ready() if compiling else nullcontext():
            run = Samples(self.cluster, self.jobs, self._rows(), run_times, coming, generator, clock, self.unseen_until)
            if compiling or not available():
                starts = run.in_plain_python(len(lasts), samples, begun, seconds)
                alone[:] = len(lasts) == 1
            else:
                starts = run.by_machine_code(lasts, alone, begun, seconds, threads)
        remarks = list(run.begin.waiting.remarks)
        count = len(starts)
        if count < min(LEAST_SAMPLES, samples):
            why = "first use: its simulator is still being compiled" if compiling else _BUSY.format(seconds)
            return NotPredicted(count, why, soon=compiling), remarks
        if count < samples:
            remarks.append(fewer_samples(count, samples, compiling=compiling))
            starts = np.maximum(spread_out(starts), np.minimum(starts, now))
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


_BUSY = "its queue is long, or this computer busy: the limit is {:g} s"


def _queue_of(job: Job, queues: Mapping[str, int]) -> int:
    """Return the number of the first of its partitions that is known."""
    return next((queues[name] for name in job.partitions if name in queues), -1)
