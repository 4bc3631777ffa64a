"""What is free of a partition's nodes, with starts as Slurm would find them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gas.endpoints.slurm.asked import asked
from gas.endpoints.slurm.backfill import Placement
from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.placing import Machine, Plan
from gas.endpoints.slurm.selection import Request
from gas.errors import Infeasible
from gas.node_availability import NodeAvailability
from gas.profile import NEVER
from gas.slurm.cluster import Partition

__all__ = ["SlurmAvailability"]


@dataclass(frozen=True, eq=False)
class SlurmAvailability(NodeAvailability):
    """What is free of each node, and when Slurm would start a job that is submitted now.

    Attributes
    ----------
    plan
        The machine and all waiting jobs on it.
    machine
        All nodes.
    options
        What every job asks for besides its size and walltime.
    partitions
        Those that jobs are submitted to: Slurm takes the one where a job starts first.
    user
        Who submits.
    """

    plan: Plan | None = None
    machine: Machine | None = None
    options: Options = field(default_factory=Options)
    partitions: tuple[Partition, ...] = ()
    user: str = ""

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the expected start of each request, with a walltime in whole minutes as Slurm's are."""
        if self.plan is None:
            return super().anchors(processors, walltimes, first)
        found = np.full(len(processors), NEVER, np.int64)
        for k, (size, walltime) in enumerate(zip(processors.tolist(), walltimes.tolist(), strict=True)):
            placement = self.placement(size, walltime, first)
            if placement is not None:
                found[k] = placement.start
        return found

    def placement(self, size: int, walltime: int, first: int = 0) -> Placement | None:
        """Return where so many units for so many seconds are expected to go, not before an instant; None if never."""
        plan = self.plan
        found = [plan.find(one) for one in self._requests(size, walltime, first)] if plan is not None else []
        return min((one for one in found if one is not None), key=lambda one: one.start, default=None)

    def slurms_plan(self, size: int, walltime: int) -> Placement | None:
        """Return where Slurm will plan a job that is submitted now.

        That is too early where it comes before jobs that Slurm does not plan yet; and if it is not `listed`, Slurm
        has no plan for it at first.
        """
        plan = self.plan
        found = [plan.backfill.find(one) for one in self._requests(size, walltime, self.now)] if plan else []
        return min((one for one in found if one is not None), key=lambda one: one.start, default=None)

    def _requests(self, size: int, walltime: int, first: int) -> list[Request]:
        """Return what a job asks of each of its partitions; nothing if there is no such job."""
        if self.machine is None:
            return []
        names = tuple(one.name for one in self.partitions)
        try:
            job = asked(self.options, size, walltime, user=self.user, partitions=names, first=max(first, self.now))
        except Infeasible:
            return []
        found = [self.machine.request(job, one, job.eligible or self.now) for one in self.partitions]
        return [one for one in found if one.most is None or one.least <= one.most]
