"""Jobs that the main scheduler starts as soon as they are submitted, though the backfill scheduler keeps their nodes.

It closes the partition of a job that finds no nodes, but not if the nodes that are left to it would not do if they were
idle. Then a job behind it in the same partition starts, whatever is planned (`gas.slurm.main_pass`); that needs
partitions with nodes in common.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import fastest
from gas.slurm.cluster import Cluster
from gas.slurm.fitting import Use, work_of
from gas.slurm.main_pass import run_pass
from gas.slurm.node_sets import words_of
from gas.slurm.rows import Plans
from gas.slurm.state import State
from gas.slurm.will_run import Running

__all__ = ["out_of_turn"]

NEVER = ("assoc_limit_stop", "bf_licenses")
"""With these the main scheduler starts little, and what it starts is not looked at here."""


def out_of_turn(cluster: Cluster, state: State) -> dict[int, NDArray[np.int32]]:
    """Return the probes that a pass of the main scheduler starts now, by record, with CPUs by place of a node.

    The state stays as it is.
    """
    rows, given = state.rows, cluster.scheduling.parameters
    waiting = rows.considered & ~rows.probe
    few = not waiting.any() or len(np.unique(rows.partition[rows.considered])) < 2
    if few or not rows.probe.any() or given.get("sched_interval") == "-1" or any(one in given for one in NEVER):
        return {}
    size, count = len(state.names), len(rows.job)
    places = {name: place for place, name in enumerate(state.names)}
    whole = np.zeros((int(rows.partition.max()) + 1, size), np.bool_)
    for number, record in zip(rows.partition.tolist(), state.records, strict=True):
        if not whole[number].any():
            whole[number, [places[name] for name in record.partition.nodes if name in places]] = True
    room = int(np.count_nonzero(rows.probe)) + len(state.running.end)
    plans = Plans(
        np.full(count, 0, np.int64), np.full(count, -1, np.int64), np.full(count, -1, np.int64),
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, size), np.int32),
        np.zeros(1, np.int64),
    )  # fmt: skip
    use, running = Use(*(one.copy() for one in state.use)), Running(*(one.copy() for one in state.running))
    idle = Use(*(np.zeros_like(one) for one in state.use))
    left = words_of(np.ones((1, size), np.bool_))[0]
    closed = np.zeros(len(whole) + len(state.closures.start), np.bool_)
    fastest(run_pass, count * size * 10)(
        0, rows, np.zeros(count, np.bool_), words_of(whole & state.usable), state.closures, words_of(state.sets),
        state.options, state.leaving, state.machine, use, idle, running, state.licences.copy(),
        state.parameters, state.rules, 0, 0, False, left, closed, np.zeros(len(whole) + 1, np.int64),
        work_of(state.machine, 0), plans,
    )  # fmt: skip
    started = np.flatnonzero((plans.start >= 0) & rows.probe).tolist()
    return {at: plans.nodes[plans.best[at]] for at in started}
