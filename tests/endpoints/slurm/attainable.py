"""Predicts recorded queues by the true distributions of run times and arrivals, which no user can know.

How long jobs last in these queues is drawn (`recorded_runs.Habits`). `by_habits` simulates a queue as Gas does, by the
same engine, but draws the run times of running and waiting jobs from their true distributions, given the user, the
limit and the time that a job has run for; and the jobs to come from the true process, with as many as really came. The
central 90% of these starts is the narrowest interval that can be right: a model that learns from past jobs can at best
come near it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from recorded_runs import SPREAD, Habits, Recorded

import gas.prediction.slurm_samples
from gas.prediction.forecast import Forecast
from gas.prediction.forward import NO_ARRIVALS, Arrivals
from gas.prediction.ledger import INTERVAL
from gas.prediction.slurm import Queue
from gas.prediction.snapshot import Snapshot
from gas.slurm.cluster import Job

DRAWN = 5_000
"""Run times that stand for a distribution."""

STREAMS = 20
"""Drawn sequences of jobs to come."""


@dataclass
class Asked:
    """The last queue that Gas has simulated, and how it was called."""

    queue: Queue
    execution_time: int
    planned: int
    users: Any
    names: Any


@contextmanager
def observed() -> Iterator[list[Asked]]:
    """Record which queues Gas simulates."""
    asked: list[Asked] = []
    real = Queue.forecast

    def forecast(self: Queue, past: Any, lasts: Any, planned: Any, users: Any, names: Any = None, **rest: Any) -> Any:
        asked.append(Asked(self, lasts[0], planned[0], users, names))
        return real(self, past, lasts, planned, users, names, **rest)

    with patch.object(Queue, "forecast", forecast):
        yield asked


class ByHabits:
    """The true distributions of a recorded queue; it stands for a `gas.prediction.past.Past`."""

    def __init__(self, found: Recorded) -> None:
        self.found, self.generator = found, np.random.default_rng(1)
        self.jobs = {job.id: job for job in [*found.cluster.jobs, *(job for _, job in found.arrivals)]}
        self.usage = self
        self.come: list[Job] = []
        self._queue: Queue | None = None
        self._know_running = False
        self._pools: dict[tuple[str, int], NDArray[np.int64]] = {}

    @property
    def possible(self) -> bool:
        """Whether the queue has no arrays, which arrivals would have to keep whole."""
        return all(job.tasks is None for job in self.jobs.values())

    def waits(self, asked: Asked, samples: int, *, know_running: bool = False) -> NDArray[np.int64]:
        """Return sorted waits of the first candidate.

        Parameters
        ----------
        know_running
            Whether the run times of running jobs are known, too.
        """
        queue = replace(asked.queue, jobs=asked.queue.jobs[:1])
        self._queue, self._know_running = queue, know_running
        with patch.object(gas.prediction.slurm_samples, "Alike", self._alike):
            made, _ = queue.forecast(
                self,
                [asked.execution_time],
                [asked.planned],
                asked.users,
                asked.names,
                samples=samples,  # type: ignore[arg-type]
            )
        assert isinstance(made, Forecast)
        return np.sort(np.maximum(made.starts[:, 0] - queue.cluster.now, 0))

    def draw(self, snapshot: Snapshot, samples: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return run times: a row for each sample, a column for each job of the snapshot."""
        assert self._queue is not None
        drawn = np.empty((samples, len(snapshot)), np.int64)
        for column, job in enumerate(self._queue._rows()):
            key = job.id, None
            if self._know_running and not job.pending and key in self.found.ends:
                drawn[:, column] = self.found.ends[key] - self.found.starts[key]
                continue
            possible, ran = self._pool(job), 0 if job.pending else snapshot.now - (job.start or snapshot.now)
            possible = possible[np.searchsorted(possible, ran, side="right") :]
            drawn[:, column] = generator.choice(possible, samples) if possible.size else ran + 1
        return drawn

    def ended_late(self, drawn: NDArray[np.int64], *_: object) -> NDArray[np.int64]:
        """Return drawn run times, which go beyond the limits already."""
        return drawn

    def arrivals(self, now: int, horizon: int) -> Arrivals:
        """Return drawn sequences of as many jobs as really came, like those of the queue, without dependencies."""
        count, jobs = sum(at > now for at, _ in self.found.arrivals), list(self.jobs.values())
        self.come = []
        if not count:
            return NO_ARRIVALS
        last = max(self.found.cluster.now + SPREAD, now + 1)
        streams = np.empty((STREAMS, 4, count), np.int64)
        for stream in streams:
            stream[0] = np.sort(self.generator.integers(now + 1, last + 1, count))
            for number, job in enumerate(jobs[at] for at in self.generator.integers(0, len(jobs), count).tolist()):
                stream[1:, number] = max(job.cpus, 1), job.time_limit or 60, self.generator.choice(self._pool(job))
                self.come.append(job)
        return Arrivals(streams)

    def _pool(self, job: Job) -> NDArray[np.int64]:
        """Return run times of jobs like this one, ascending."""
        known = self.jobs.get(job.id, job)
        limit = known.time_limit or 60
        if (known.user, limit) not in self._pools:
            habits = Habits.of(self.found.release, self.found.seed, known.user)
            chance = random.Random(f"{known.user} {limit}")
            drawn = np.array([habits.seconds(limit, chance) for _ in range(DRAWN)])
            self._pools[known.user, limit] = np.sort(drawn)
        return self._pools[known.user, limit]

    def _alike(self, *_: object) -> Any:
        """Return what makes the jobs to come, as `gas.prediction.alike.Alike` does."""
        come = iter(self.come)

        def made(id: int, cpus: int, walltime: int) -> Job:
            return replace(
                next(come), id=id, array=None, submitted=None, dependency="", eligible=None, priority=0, priority_in={},
                start=None, planned_nodes=(), reason="",
            )  # fmt: skip

        return made


def middle_of(waits: NDArray[np.int64]) -> tuple[int, int]:
    """Return the interval that another draw lies in with the probability of intervals."""
    count, outside = len(waits), (1 - INTERVAL) / 2
    low = max(math.floor(round(outside * (count + 1), 9)), 1)
    return int(waits[low - 1]), int(waits[count - low])
