"""What is free of a partition's nodes, with starts as Slurm would find them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gas.endpoints.slurm.asked import asked
from gas.endpoints.slurm.options import Options
from gas.errors import Infeasible
from gas.node_availability import NodeAvailability
from gas.profile import NEVER
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.order import Limits
from gas.slurm.outlook import Outlook, forecast

__all__ = ["SlurmAvailability"]

NOWHERE = Outlook(None, words="the options leave no such size", never=True)


@dataclass(frozen=True, eq=False)
class SlurmAvailability(NodeAvailability):
    """What is free of each node, and when Slurm would start a job that is submitted now.

    Attributes
    ----------
    cluster
        All that Slurm publishes.
    options
        What every job asks for besides its size and walltime.
    partitions
        Those that jobs are submitted to: Slurm takes the one where a job starts first.
    user
        Who submits.
    unseen_until
        Until when CPUs are taken that are in use by jobs which are not shown; None if all jobs are.
    priority
        The priority that a job of the user's would have in a partition; None if it comes last.
    limits
        Which limit keeps a job from starting now; None where nothing is known of them.
    """

    cluster: Cluster | None = None
    options: Options = field(default_factory=Options)
    partitions: tuple[Partition, ...] = ()
    user: str = ""
    unseen_until: int | None = None
    priority: Callable[[Job, Partition], int] | None = None
    limits: Limits | None = None

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the expected start of each request, with a walltime in whole minutes as Slurm's are."""
        if self.cluster is None:
            return super().anchors(processors, walltimes, first)
        requests = list(zip(processors.tolist(), walltimes.tolist(), strict=True))
        starts = [one.expected for one in self.outlooks(requests, first)]
        return np.array([NEVER if start is None else start for start in starts], np.int64)

    def outlooks(self, requests: list[tuple[int, int]], first: int = 0) -> list[Outlook]:
        """Return what becomes of jobs of so many units for so many seconds each, which do not start before an instant.

        What Slurm will plan is too early where a job comes before others that Slurm does not plan yet: what is expected
        is behind these.
        """
        if self.cluster is None:
            return [NOWHERE] * len(requests)
        jobs = [self._job(size, walltime, first) for size, walltime in requests]
        there = [job for job in jobs if job is not None]
        found = iter(forecast(self.cluster, there, unseen_until=self.unseen_until, limits=self.limits).outlooks)
        return [NOWHERE if job is None else next(found) for job in jobs]

    def outlook(self, size: int, walltime: int, first: int = 0) -> Outlook:
        """Return what becomes of one such job."""
        return self.outlooks([(size, walltime)], first)[0]

    def _job(self, size: int, walltime: int, first: int) -> Job | None:
        """Return the job that a request is submitted as; None if there is no such job."""
        names = tuple(one.name for one in self.partitions)
        try:
            job = asked(self.options, size, walltime, user=self.user, partitions=names, first=max(first, self.now))
        except Infeasible:
            return None
        if self.priority is None:
            return replace(job, priority=0)
        own = {one.name: self.priority(job, one) for one in self.partitions}
        return replace(job, priority=max(own.values(), default=0), priority_in=own)
