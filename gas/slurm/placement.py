"""Where a record fits, apart from what is planned: on idle nodes, and on nodes that it is known to get."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.slurm.choosing import choose
from gas.slurm.fitting import CPUS, HAS_REQUIRED, WHOLE, capable
from gas.slurm.machine import idle_of
from gas.slurm.state import State

__all__ = ["cpus_on", "fits_nowhere"]


def fits_nowhere(state: State, record: int) -> bool:
    """Return whether a record fits on no nodes, whatever ends (its job is held then: BadConstraints)."""
    rows, idle = state.rows, idle_of(state.use)
    given, chosen = np.zeros(len(state.names), np.int64), np.zeros(len(state.names), np.int64)
    first, count = rows.features[record]
    required, need, gres = state.sets[rows.required[record]], rows.need[record], rows.gres[record]
    for option in state.options[first : first + count].tolist():
        capable(state.sets[rows.nodes[record]] & state.sets[option], need, gres, state.machine, idle, given)
        if choose(given, need, gres, required, state.machine, idle, state.rules.first_node, state.rules.weakest,
                  chosen):  # fmt: skip
            return False
    return True


def cpus_on(state: State, record: int, there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many CPUs each of the nodes gives that a record is known to get: at least one, no more than it needs.

    Other jobs may have ended a little later here than they did: where it does not fit beside them, as if it were alone.
    """
    own, gres = state.rows.need[record].copy(), state.rows.gres[record]
    given, chosen = np.zeros(len(there), np.int64), np.zeros(len(there), np.int64)
    for use in (state.use, idle_of(state.use)):
        for required in (False, True):
            own[HAS_REQUIRED] = required
            capable(there, own, gres, state.machine, use, given)
            fits = choose(given, own, gres, there, state.machine, use, state.rules.first_node, state.rules.weakest,
                          chosen)  # fmt: skip
            enough = own[WHOLE] or int(chosen.sum()) <= int(own[CPUS])
            if fits and enough and np.array_equal(chosen > 0, there):
                return chosen
    capable(there, own, gres, state.machine, state.use, given)
    left, nodes = int(own[CPUS]), np.flatnonzero(there).tolist()
    chosen[:] = 0
    for at, node in enumerate(nodes):  # as many as are free on the first
        chosen[node] = max(min(int(given[node]), left - (len(nodes) - at - 1)), 1)
        left -= int(chosen[node])
    return chosen
