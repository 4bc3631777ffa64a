"""Jobs that are watched while they wait, as by `gas watch`, each in a simulation of its own.

Every ten minutes, and less often after longer waits, the job is replanned in its place of the queue (`gas.reshaping`).
Another size is requested if it is worth it: by the plan, or by predictions (`gas.prediction.reshaping`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from experiments.moldable.outcomes import Stop
from gas.prediction.past import Past
from gas.prediction.reshaping import likely_reshaping, starts_in_place, worth_following
from gas.prediction.simulated import snapshot_without
from gas.reshaping import Reshaping, reshaping
from gas.simulation.schedule import NEVER_STARTED, Policy
from gas.simulation.simulate import Simulation

__all__ = ["Decide", "Watched", "by_plans", "by_predictions", "watched"]

EVERY = 600
"""Seconds between two replans, or `_SHARE` of the wait so far if that is more."""

_SHARE = 1 / 8

Decide: TypeAlias = Callable[[Simulation, int, Reshaping], Reshaping]
"""Returns what to do with a job, from a stopped simulation, the job's index in the log, and its planned reshaping."""


class Watched(NamedTuple):
    """The outcome of a job: its turn-around time in seconds, its last size, and the number of reshapes."""

    turnaround: int
    processors: int
    changes: int


def watched(stop: Stop, processors: int, decide: Decide) -> Watched:
    """Return the outcome of the benchmark of a stop if it requests `processors` and is watched from then on."""
    simulation, place = stop.simulation.copy(), stop.substitute.place
    of_size = {size: (limit, time) for size, time, limit in zip(*(one.tolist() for one in stop.asked), strict=True)}
    submit = int(simulation.jobs.submit[place])
    limit, lasts = of_size[processors]
    simulation.answer(processors=processors, estimate=limit, run_time=lasts)
    at, changes = submit, 0
    while True:
        at += max(EVERY, round(_SHARE * (at - submit)))
        while simulation.stand_at(at) is not None:  # a job that is replaced in another run
            simulation.answer()
        start = int(simulation.starts([place])[0])
        if start != NEVER_STARTED:
            return Watched(start + lasts - submit, processors, changes)
        without, standing = simulation.availability(without=place), simulation.standing()
        planned = int(standing[1][np.searchsorted(standing[0], place)])
        found = reshaping(stop.application, without, processors, limit, expected=planned)
        found = decide(simulation, place, found)
        if found.worth_it and found.best is not None:
            processors, changes = found.best.processors, changes + 1
            limit, lasts = of_size[processors]
            simulation.reshape(place, processors=processors, estimate=limit, run_time=lasts)


def by_plans(_simulation: Simulation, _place: int, found: Reshaping) -> Reshaping:
    """Decide by the planned end in each size."""
    return found


def by_predictions(past: Past, samples: int, seed: int, policy: Policy) -> Decide:
    """Return a function that decides by the distribution of the end in each size.

    Parameters
    ----------
    past
        What is known; it is copied, not changed.
    """
    known = past.anew()

    def decide(simulation: Simulation, place: int, found: Reshaping) -> Reshaping:
        assert found.current is not None, "it fits the machine"
        shapes = [found.current, *worth_following(found)]
        if len(shapes) == 1:
            return replace(found, best=None)
        snapshot, before = snapshot_without(simulation, place)
        known.learn(snapshot.now)
        arrivals = known.arrivals(snapshot.now, max(one.start for one in shapes) - snapshot.now)
        run_times = known.usage.draw(snapshot, samples, np.random.default_rng(seed))
        sizes = [(one.processors, one.walltime) for one in shapes]
        _, starts = starts_in_place(snapshot, before, sizes, run_times, arrivals, policy=policy)
        return likely_reshaping(found, dict(zip(shapes, starts.T, strict=True)))

    return decide
