"""What a queue is run forward from: read from a cluster once, and copied for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.compiled import fastest
from gas.slurm.cluster import Cluster, Job
from gas.slurm.machine import idle_of
from gas.slurm.node_sets import Words, words_of
from gas.slurm.placement import fit_idle
from gas.slurm.search import Room, room_of
from gas.slurm.state import State, state_of
from gas.slurm.waiting import Waiting

__all__ = ["Beginning"]


@dataclass(frozen=True)
class Beginning:
    """A cluster, the jobs that wait and come, and both as arrays.

    Attributes
    ----------
    whole
        By partition, as numbered in `waiting`: its nodes on which jobs start.
    steps
        About how many steps a pass of a scheduler takes in plain Python.
    """

    cluster: Cluster
    waiting: Waiting
    state: State
    whole: NDArray[np.bool_]
    sets: Words
    steps: int

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        arrivals: Sequence[tuple[int, Job]] = (),
        probes: Sequence[tuple[int, Job]] = (),
        *,
        unseen_until: int | None = None,
    ) -> Beginning:
        """Return the beginning of a cluster.

        Parameters
        ----------
        arrivals, probes
            Who comes later, at which epoch second, with numbers of their own; probes hold nothing.
        unseen_until
            Until when CPUs are taken that are in use by jobs which are not shown; None if all jobs are.
        """
        waiting = Waiting(cluster, arrivals, probes)
        state = state_of(cluster, waiting.records, pinned=False, room=waiting.room, unseen_until=unseen_until)
        size = len(state.names)
        places = {name: place for place, name in enumerate(state.names)}
        whole = np.zeros((int(waiting.partition.max(initial=0)) + 1, size), np.bool_)
        named = dict(zip(waiting.partition.tolist(), (one.partition for one in waiting.records), strict=True))
        for row, partition in named.items():
            whole[row, [places[name] for name in partition.nodes if name in places]] = True
        fit = np.zeros(len(waiting.records), np.bool_)
        room = room_of(state.machine, words_of(state.sets).shape[1], 0)
        fastest(fit_idle, len(fit) * size * 10)(
            state.rows, words_of(state.sets), state.options, state.machine, idle_of(state.use), state.rules, room, fit
        )
        waiting.dropped |= ~fit
        steps = waiting.room**2 * size * 10  # each is looked at by about as many passes as there are jobs
        return cls(cluster, waiting, state, whole & state.usable, words_of(state.sets), steps)

    def room(self) -> Room:
        """Return what a run works in."""
        return room_of(self.state.machine, self.sets.shape[1], 0)
