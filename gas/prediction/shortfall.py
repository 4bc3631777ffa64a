"""What counts leave out: a scheduler that places jobs on nodes may plan a candidate later than counts allow.

Queues are simulated by counts. Of a Slurm whose plans have its waiting jobs on certain nodes, counts may say that a
candidate starts now, when it is planned for hours from now: never enough processors are free on the same nodes for all
of its walltime. That holds as long as its plan does. In each sample the candidate therefore starts

- when jobs have ended early: with each, all is planned anew, and the candidate, for which there is room by counts, has
  an even chance (`CHANCE`) that this time the nodes suit it;
- else later than by counts by a part of what lies between the two: the share of their walltimes that the jobs ahead of
  it use in that sample, for so much sooner than planned is gone whatever stands in its way.

That is a rule of thumb, not a simulation of nodes. It is right in the limits: where all jobs use up their walltimes
candidates start as planned, and where counts and plans agree nothing is changed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.prediction.snapshot import Snapshot

__all__ = ["CHANCE", "by_nodes", "used_ahead"]

CHANCE = 0.5
"""That a candidate suits the nodes of a new plan."""


def by_nodes(
    snapshot: Snapshot,
    run_times: NDArray[np.int64],
    starts: NDArray[np.int64],
    latest: NDArray[np.int64],
    planned: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return when candidates start in each sample: never before their starts by counts, never after their plans.

    Parameters
    ----------
    run_times
        Of the jobs in the snapshot: shape ``(samples, jobs)``.
    starts
        Of the candidates by counts, at most `latest`: shape ``(samples, candidates)``.
    latest, planned
        When each candidate would start if all jobs used up their walltimes: by counts, and by the scheduler's plan.
    """
    found = starts.copy()
    early = _early_ends(snapshot, run_times)
    for i in np.flatnonzero(planned > latest).tolist():
        late = np.ceil(used_ahead(snapshot, run_times, int(planned[i])) * (planned[i] - latest[i])).astype(np.int64)
        chances = np.column_stack([np.where(starts[:, i] < latest[i], starts[:, i], _NEVER), early])
        chances = np.sort(np.where(chances >= starts[:, [i]], chances, _NEVER), axis=1)
        taken = np.minimum(generator.geometric(CHANCE, len(starts)) - 1, chances.shape[1] - 1)
        chosen = chances[np.arange(len(starts)), taken]
        found[:, i] = np.minimum(np.minimum(chosen, starts[:, i] + late), planned[i])
    return found


_NEVER = np.iinfo(np.int64).max


def _early_ends(snapshot: Snapshot, run_times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return when jobs that run end, one a sample and job; never for those that use up their walltimes."""
    running = snapshot.running
    lasts = run_times[:, running]
    return np.where(lasts < snapshot.walltime[running], snapshot.start[running] + lasts, _NEVER)


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
