"""Snapshots of the machine of a stopped simulation: no more than a live scheduler would show."""

from __future__ import annotations

import numpy as np

from gas.errors import BadInput
from gas.prediction.forward import PLANNING
from gas.prediction.snapshot import Snapshot
from gas.simulation.simulate import Simulation

__all__ = ["snapshot_of", "snapshot_without"]


def snapshot_of(simulation: Simulation) -> Snapshot:
    """Return the running and waiting jobs, with planned starts.

    Raises
    ------
    BadInput
        The policy does not plan every job, or there are reservations, which a simulation does not show.
    """
    if simulation.policy not in PLANNING:
        raise BadInput(f'policy "{simulation.policy}" has no plan to predict by; those that do: {", ".join(PLANNING)}')
    if simulation.reservations:
        raise BadInput(
            f"{len(simulation.reservations)} reservations: a simulation with reservations cannot be predicted"
        )
    places, start, running = simulation.standing()
    jobs = simulation.shapes
    return Snapshot(
        now=simulation.now,
        machine=jobs.machine,
        processors=jobs.processors[places],
        walltime=jobs.estimate[places],
        start=start,
        running=running,
        user=np.array(jobs.user[places]),
        submit=jobs.submit[places],
        name=np.array(jobs.executable[places]),
    )


def snapshot_without(simulation: Simulation, place: int) -> tuple[Snapshot, int]:
    """Return the snapshot without a waiting job, by its index in `jobs`, and the number of its jobs before that one."""
    before = int(np.searchsorted(simulation.standing()[0], place))
    return snapshot_of(simulation).without(before), before
