"""Where a record fits regardless of plans: on idle nodes, and on given nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.choosing import choose_with
from gas.slurm.fitting import CPUS, FILLED, HAS_REQUIRED, LONE_TASKS, WHOLE, capable
from gas.slurm.machine import Machine, Use, idle_of
from gas.slurm.node_sets import Words, keep, put, unpacked
from gas.slurm.rows import Records
from gas.slurm.search import Room
from gas.slurm.state import State
from gas.slurm.taking import Choice, work_of
from gas.slurm.versions import Rules

__all__ = ["cpus_on", "fit_idle"]


@lean_kernel
def fit_idle(
    rows: Records,
    sets: Words,
    options: NDArray[np.int64],
    machine: Machine,
    idle: Use,
    rules: Rules,
    room: Room,
    fit: NDArray[np.bool_],
) -> None:
    """Write into `fit` which records fit on an idle machine; Slurm holds the others (BadConstraints)."""
    for at in range(len(rows.job)):
        unpacked(sets[rows.required[at]], room.required)
        lone = rows.need[at, LONE_TASKS]
        rows.need[at, LONE_TASKS] = 0  # Slurm does not hold jobs for this: they may fit when nodes are busier
        for option in range(rows.features[at, 0], rows.features[at, 0] + rows.features[at, 1]):
            put(room.nodes, sets[rows.nodes[at]])
            keep(room.nodes, sets[options[option]])
            unpacked(room.nodes, room.there)
            capable(room.there, rows.need[at], rows.gres[at], machine, idle, room.present)
            choice = Choice(rows.need[at], rows.gres[at], room.required, machine, idle, room.work, room.trial)
            fit[at] = choose_with(room.present, choice, rules.first_node, rules.weakest)
            if fit[at]:
                break
        rows.need[at, LONE_TASKS] = lone


def cpus_on(state: State, record: int, there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return a record's CPUs on each of its given nodes: at least one, and no more than it needs.

    In the simulation other jobs may end slightly late; if the record does not fit alongside them, they are ignored.
    """
    own, gres = state.rows.need[record].copy(), state.rows.gres[record]
    given, chosen = np.zeros(len(there), np.int64), np.zeros(len(there), np.int64)
    for use in (state.use, idle_of(state.use)):
        for required in (False, True):
            own[HAS_REQUIRED] = required
            capable(there, own, gres, state.machine, use, given)
            choice = Choice(own, gres, there, state.machine, use, work_of(state.machine, 0), chosen)
            fits = choose_with(given, choice, state.rules.first_node, state.rules.weakest)
            enough = own[WHOLE] or own[FILLED] or int(chosen.sum()) <= int(own[CPUS])
            if fits and enough and np.array_equal(chosen > 0, there):
                return chosen
    capable(there, own, gres, state.machine, state.use, given)
    left, nodes = int(own[CPUS]), np.flatnonzero(there).tolist()
    chosen[:] = 0
    for at, node in enumerate(nodes):  # fill the first nodes first
        chosen[node] = max(min(int(given[node]), left - (len(nodes) - at - 1)), 1)
        left -= int(chosen[node])
    return chosen
