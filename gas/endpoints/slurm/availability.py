"""What is free of a partition's nodes, with starts as Slurm would find them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gas.endpoints.slurm.backfill import Placement
from gas.endpoints.slurm.placing import Plan
from gas.endpoints.slurm.selection import Request
from gas.node_availability import NodeAvailability
from gas.profile import NEVER

__all__ = ["SlurmAvailability"]


@dataclass(frozen=True, eq=False)
class SlurmAvailability(NodeAvailability):
    """What is free of each node, and when Slurm would start a job that is submitted now.

    Attributes
    ----------
    plan
        The machine and all waiting jobs on it.
    template
        What every job asks for here, but for its size and walltime.
    """

    plan: Plan | None = None
    template: Request | None = None

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the expected start of each request, with a walltime in whole minutes as Slurm's are."""
        if self.plan is None or self.template is None:
            return super().anchors(processors, walltimes, first)
        found = np.full(len(processors), NEVER, np.int64)
        for k, (size, walltime) in enumerate(zip(processors.tolist(), walltimes.tolist(), strict=True)):
            placement = self.placement(size, walltime, first)
            if placement is not None:
                found[k] = placement.start
        return found

    def placement(self, size: int, walltime: int, first: int = 0) -> Placement | None:
        """Return where so many units for so many seconds are expected to go, not before an instant; None if never."""
        asked = self._asked(size, walltime, first)
        return None if asked is None or self.plan is None else self.plan.find(asked)

    def slurms_plan(self, size: int, walltime: int) -> Placement | None:
        """Return where Slurm will plan a job that is submitted now.

        That is too early where it comes before jobs that Slurm does not plan yet; and if it is not `listed`, Slurm
        has no plan for it at first.
        """
        asked = self._asked(size, walltime, self.now)
        return None if asked is None or self.plan is None else self.plan.backfill.find(asked)

    def _asked(self, size: int, walltime: int, first: int) -> Request | None:
        if self.template is None:
            return None
        whole = self.template.exclusive and bool((self.capacity == 1).all())
        least = max(self.template.least, size) if whole else self.template.least
        if self.template.most is not None and least > self.template.most:
            return None
        return replace(
            self.template, cpus=max(size, least), least=least, walltime=-(-walltime // 60) * 60,
            not_before=max(first, self.template.not_before),
        )  # fmt: skip
