"""Withdraws jobs while a simulation stands between two events.

A cancellation is an instant in a job's column and an index in the list of cancellations, which is in order of time.
Both are kept, so that a simulation that learns of it later equals one that knew it from the beginning.
"""

from __future__ import annotations

import numpy as np

from gas.errors import BadInput
from gas.simulation.schedule import NOT_CANCELLED
from gas.simulation.state import CANCELLED, GONE, NOW, W_CANCEL, W_END, W_STATUS, WAITING, State

__all__ = ["cancelled_at", "never_entering"]


def cancelled_at(state: State, job: int, at: int, name: str) -> State:
    """Return the state with the cancellation of a job, by its index in the work; the given state is consumed.

    Raises
    ------
    BadInput
        The instant is past, or the job runs, has left, or has a cancellation. Then nothing has changed.
    """
    now, work = int(state.now[NOW]), state.work
    status = int(work[W_STATUS, job])
    if at < now:
        raise BadInput(f"{name} cannot be cancelled at {at}: the simulation is at {now}; give a later time")
    if status == GONE:
        raise BadInput(f"{name} cannot be cancelled: it ended at {work[W_END, job]}")
    if status > WAITING:
        raise BadInput(
            f"{name} cannot be cancelled: it is running, and its end is fixed; to end a running job, pass "
            "`cancellations` when the simulation is created"
        )
    if work[W_CANCEL, job] != NOT_CANCELLED:
        raise BadInput(f"{name} cannot be cancelled at {at}: it is cancelled at {work[W_CANCEL, job]} already")
    those = state.cancellations
    ahead = those[state.now[CANCELLED] :]
    instants = work[W_CANCEL, ahead]
    before = (instants < at) | ((instants == at) & (ahead < job))
    work[W_CANCEL, job] = at
    place = int(state.now[CANCELLED]) + int(np.count_nonzero(before))
    return state._replace(cancellations=np.insert(those, place, job))


def never_entering(state: State, job: int) -> State:
    """Return the state with an arriving job withdrawn before it enters; the given state is consumed."""
    now, work = int(state.now[NOW]), state.work
    if work[W_CANCEL, job] <= now:
        return state
    work[W_CANCEL, job] = now
    return state._replace(cancellations=state.cancellations[state.cancellations != job])
