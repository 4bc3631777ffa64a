"""The prepared cluster and queue from which simulations begin: read once, and copied for each run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.compiled import fastest, is_ready
from gas.slurm.cluster import Cluster, Job
from gas.slurm.cycle import run_cycle
from gas.slurm.machine import idle_of
from gas.slurm.main_pass import run_pass
from gas.slurm.node_sets import Words, words_of
from gas.slurm.placement import fit_idle
from gas.slurm.rows import Records
from gas.slurm.search import Room, room_of
from gas.slurm.state import State, state_of
from gas.slurm.waiting import Waiting

__all__ = ["Beginning"]


@dataclass(frozen=True)
class Beginning:
    """A cluster with its waiting and later jobs, also as arrays.

    Attributes
    ----------
    whole
        By partition, as numbered in `waiting`: its nodes on which jobs can start.
    steps
        Approximate number of steps of a pass in plain Python.
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
            Later jobs with their submission (epoch seconds) and unique numbers; probes hold nothing.
        unseen_until
            Epoch second until which hidden jobs hold their CPUs; None if all jobs are shown.
        """
        waiting = Waiting(cluster, arrivals, probes)
        state = state_of(cluster, waiting.records, pinned=False, room=waiting.room, unseen_until=unseen_until)
        size = len(state.names)
        places = {name: place for place, name in enumerate(state.names)}
        whole = np.zeros((int(waiting.partition.max(initial=0)) + 1, size), np.bool_)
        named = dict(zip(waiting.partition.tolist(), (one.partition for one in waiting.records), strict=True))
        for row, partition in named.items():
            whole[row, [places[name] for name in partition.nodes if name in places]] = True
        waiting.dropped |= ~_fit_idle(state)
        steps = waiting.room**2 * size * 10  # about as many passes as jobs try each job
        return cls(cluster, waiting, state, whole & state.usable, words_of(state.sets), steps)

    def room(self) -> Room:
        """Return the working memory of a run."""
        return room_of(self.state.machine, self.sets.shape[1], 0)

    def main_scheduler(self, samples: int = 1) -> Callable[..., Any]:
        """Return the main scheduler in the form that is fastest over some samples.

        The backfill scheduler is loaded, too: machine code that is loaded once is used from then on.
        """
        main, _ = (fastest(one, self.steps * (samples if is_ready(one) else 1)) for one in (run_pass, run_cycle))
        return main


def _fit_idle(state: State) -> NDArray[np.bool_]:
    """Return which records fit on an idle machine; records with the same requests are tried once."""
    rows, sets = state.rows, words_of(state.sets)
    asked = [rows.need, rows.gres.reshape(len(rows.gres), math.prod(rows.gres.shape[1:])), rows.features]
    asked += [one[:, np.newaxis] for one in (rows.nodes, rows.required)]
    _, first, like = np.unique(np.concatenate(asked, axis=1), axis=0, return_index=True, return_inverse=True)
    fit = np.zeros(len(first), np.bool_)
    fastest(fit_idle, len(first) * len(state.names) * 10)(
        Records._make(column[first] for column in rows), sets, state.options, state.machine, idle_of(state.use),
        state.rules, room_of(state.machine, sets.shape[1], 0), fit,
    )  # fmt: skip
    return fit[like.reshape(-1)]
