"""The jobs that occupy the machine while its queue is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.slurm.cluster import Cluster
from gas.slurm.machine import Use, idle_of
from gas.slurm.order import end_of
from gas.slurm.state import State
from gas.slurm.will_run import Running, add

__all__ = ["Holder", "Holders"]


@dataclass(frozen=True)
class Holder:
    """A running job or task of an array: number and task, start, and actual end.

    Attributes
    ----------
    place
        The place of its job in the simulated queue; -1 if it ran before.
    """

    job: int
    task: int | None
    place: int
    partition: str
    start: int
    end: int
    licences: NDArray[np.int64]


class Holders:
    """The running jobs in the arrays of the kernels, with their identities, by index.

    Kernels append to the arrays; `append` identifies the new job. Ends in the arrays are those that Slurm expects.
    """

    def __init__(self, running: Running, use: Use, who: list[Holder]) -> None:
        self.running, self.use, self.who = running, use, who

    @classmethod
    def of(cls, cluster: Cluster, state: State, seconds: Mapping[int, int | Sequence[int]]) -> Holders:
        """Return the running jobs, with actual run times in `seconds`; without one, a job runs until its limit.

        In `seconds`, a hidden job has its inverted index as its number (``~index``), and its time counts from now.
        """
        now, none = cluster.now, np.zeros(len(state.licences), np.int64)
        who = []
        for job in state.running_jobs:
            licences = np.array([job.licences.get(name, 0) for name in state.licence_names], np.int64)
            took = seconds.get(job.id)
            begun, limit = job.start or now, end_of(job, now)
            end = limit if not isinstance(took, int) else begun + took
            partition = job.partitions[0] if job.partitions else ""
            who.append(Holder(job.id, None, -1, partition, begun, max(end, now), licences if job.licences else none))
        for at in range(len(who), int(state.running.total[0])):  # hidden jobs
            took, limit = seconds.get(~at), int(state.running.end[at])
            who.append(Holder(~at, None, -1, "", now, min(now + took, limit) if isinstance(took, int) else limit, none))
        return cls(state.running, state.use, who)

    def append(self, holder: Holder) -> None:
        """Identify the next job that a kernel has appended."""
        self.who.append(holder)

    def leave(self, at: int) -> Holder:
        """Remove the job at an index, and return it."""
        running = self.running
        add(self.use, running, at, -1)
        jobs, shares = int(running.total[0]), int(running.total[1])
        first, count = int(running.first[at]), int(running.shares[at])
        for column in (running.node, running.cpus, running.memory, running.gres, running.limited):
            column[first : shares - count] = column[first + count : shares].copy()
        for column in (running.end, running.kind, running.whole, running.sharing, running.first, running.shares):
            column[at : jobs - 1] = column[at + 1 : jobs].copy()
        running.first[: jobs - 1][running.first[: jobs - 1] > first] -= count
        running.total[:] = jobs - 1, shares - count
        running.order[: jobs - 1] = np.argsort(running.end[: jobs - 1], kind="stable")
        return self.who.pop(at)

    def nodes(self, at: int) -> NDArray[np.int64]:
        """Return the numbers of the nodes of the job at an index."""
        first = int(self.running.first[at])
        return self.running.node[first : first + int(self.running.shares[at])].copy()

    def check(self) -> list[str]:
        """Return inconsistencies in words."""
        running, use = self.running, self.use
        jobs, shares = int(running.total[0]), int(running.total[1])
        wrong = []
        if len(self.who) != jobs:
            wrong.append(f"{jobs} jobs run, and {len(self.who)} are known")
        if int(running.shares[:jobs].sum()) != shares:
            wrong.append("shares are not those of the jobs")
        if sorted(running.order[:jobs].tolist()) != list(range(jobs)) or np.any(
            np.diff(running.end[running.order[:jobs]]) < 0
        ):
            wrong.append("the order is not that of the ends")
        again = idle_of(use)
        for at in range(jobs):
            add(again, running, at, 1)
        for name, one, other in zip(Use._fields, use, again, strict=True):
            if not np.array_equal(one, other):
                wrong.append(f"{name} in use are not those of the jobs")
        return wrong
