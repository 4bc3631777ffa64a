"""What counts leave out: a scheduler that places jobs on nodes may plan a candidate later than counts allow.

Queues are simulated by counts. Of a Slurm whose plans have its waiting jobs on certain nodes, counts may say that a
candidate starts now, when it is planned for hours from now: never enough processors are free on the same nodes for all
of its walltime. Each candidate is then taken to start later than in the simulation by a part of what is between the
two: by the share of their walltimes that the jobs ahead of it use in that sample, for that is how much sooner than
planned whatever stands in its way is gone.

That is a rule of thumb, not a simulation of nodes. It is right in both limits: where all jobs use up their walltimes
candidates start as planned, and where counts and plans agree nothing is changed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.prediction.snapshot import Snapshot

__all__ = ["shortfall", "used_ahead"]


def shortfall(
    snapshot: Snapshot, run_times: NDArray[np.int64], latest: NDArray[np.int64], planned: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return by how many seconds each candidate starts later than by counts: shape ``(samples, candidates)``.

    Parameters
    ----------
    run_times
        Of the jobs in the snapshot: shape ``(samples, jobs)``.
    latest, planned
        When each candidate would start if everybody used up their walltimes: by counts, and by the scheduler's plan.
    """
    behind = np.maximum(planned - latest, 0)
    found = np.zeros((len(run_times), len(behind)), np.int64)
    for start in np.unique(planned[behind > 0]).tolist():
        those = (planned == start) & (behind > 0)
        found[:, those] = np.ceil(np.outer(used_ahead(snapshot, run_times, start), behind[those]))
    return found


def used_ahead(snapshot: Snapshot, run_times: NDArray[np.int64], start: int) -> NDArray[np.float64]:
    """Return which share of the work that is still planned the jobs ahead of an instant do, one a sample.

    Work is processors times seconds, from now on; ahead are those that run, and those planned to start before.
    """
    elapsed = snapshot.elapsed
    ahead = snapshot.start < start
    processors = snapshot.processors[ahead]
    planned = float((processors * (snapshot.walltime - elapsed)[ahead]).sum())
    if planned <= 0:
        return np.ones(len(run_times))
    used: NDArray[np.float64] = ((run_times - elapsed)[:, ahead] @ processors) / planned
    return np.clip(used, 0.0, 1.0)
