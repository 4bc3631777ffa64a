"""Requests that are killed at their walltimes and resubmitted at once with twice the walltime, until none is killed.

Each round simulates the whole month. In the first round each request replaces its job and is simulated to its end. The
second round adds a job at the end of each killed request, and so on. An added job takes part only where its own request
is simulated: there the simulation branches, the earlier requests are submitted again, and are killed at the same
instants as in earlier rounds, since later submissions do not change earlier ends. That is checked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.simulation.schedule import NEVER_STARTED, Policy
from gas.simulation.simulate import Simulation
from workloads import RigidJobs

__all__ = ["Chain", "followed"]

_STRIDE = 64
"""Number of events between checks whether a job has started."""

_COLUMNS = ("id", "submit", "processors", "estimate", "run_time", "user", "group", "executable", "row")


@dataclass(frozen=True)
class Chain:
    """Requests of a job on one size; all but the last one are killed at their walltimes.

    Attributes
    ----------
    place
        Index of the job of the log that the first request replaces.
    time
        Execution time of the job.
    longest
        Largest walltime that the site accepts, at least that time.
    walltimes, ends
        Walltimes and ends of the requests so far, all of which were killed.
    """

    place: int
    size: int
    time: int
    longest: int
    walltimes: tuple[int, ...]
    ends: tuple[int, ...]


def followed(jobs: RigidJobs, chains: Iterable[Chain], policy: Policy) -> dict[Chain, Chain]:
    """Return each chain with all of its requests; the last one is not killed."""
    begun = {chain: chain for chain in chains}
    done: dict[Chain, Chain] = {}
    while begun:
        longer = _round(jobs, list(begun), policy)
        first_of, begun = begun, {}
        for chain, other in longer.items():
            if other.walltimes[-1] < other.time:
                begun[other] = first_of[chain]
            else:
                done[first_of[chain]] = other
    return done


def _round(jobs: RigidJobs, chains: Sequence[Chain], policy: Policy) -> dict[Chain, Chain]:
    """Return each chain with one more request."""
    ends = sorted({end for chain in chains for end in chain.ends})
    together, places, rows = _with_rows(jobs, ends)
    row_at = dict(zip(ends, rows.tolist(), strict=True))
    begin = defaultdict(list)
    for chain in chains:
        begin[int(places[chain.place])].append(chain)
    simulation = Simulation(together, policy, ask=np.array(sorted({*begin, *row_at.values()}), np.int64))
    found = {}
    while (place := simulation.run()) is not None:
        for chain in begin.get(place, ()):
            found[chain] = _next(simulation.copy(), chain, [place, *(row_at[end] for end in chain.ends)], begin)
        _as_ever(simulation, place, begin)
    return found


def _next(branch: Simulation, chain: Chain, places: Sequence[int], begin: Mapping[int, Any]) -> Chain:
    """Return a chain with one more request, from a simulation stopped at its first one.

    Parameters
    ----------
    places
        Indices of its requests so far, and of the next one.
    """
    walltimes = (*chain.walltimes, min(2 * chain.walltimes[-1], chain.longest))
    own = dict(zip(places, walltimes, strict=True))
    place: int | None = places[0]
    # `Simulation.outcomes` would let the requests of other chains take part.
    while branch.starts(places[-1:])[0] == NEVER_STARTED:
        if place in own:
            limit = own[place]
            branch.answer(processors=chain.size, estimate=limit, run_time=min(chain.time, limit))
        elif place is not None:
            _as_ever(branch, place, begin)
        place = branch.run(events=_STRIDE)
    assert branch.ends(places[:-1]).tolist() == list(chain.ends), "a later submission changed an earlier end"
    end = int(branch.starts(places[-1:])[0]) + min(chain.time, walltimes[-1])
    return replace(chain, walltimes=walltimes, ends=(*chain.ends, end))


def _as_ever(simulation: Simulation, place: int, begin: Mapping[int, Any]) -> None:
    """Submit a job of the log unchanged; do not submit any other."""
    simulation.answer(submits=place in begin)


def _with_rows(jobs: RigidJobs, submits: Sequence[int]) -> tuple[RigidJobs, NDArray[np.int64], NDArray[np.int64]]:
    """Return jobs with added ones, each after all others of its second, and the indices of both."""
    instants = np.array(submits, np.int64)
    at = np.searchsorted(jobs.submit, instants, side="right")
    rows = at + np.arange(len(at))
    stays = np.ones(len(jobs) + len(rows), np.bool_)
    stays[rows] = False
    fresh: dict[str, Any] = {
        "id": int(jobs.id.max(initial=0)) + 1 + np.arange(len(rows)),
        "submit": instants,
        **dict.fromkeys(("processors", "estimate", "run_time"), 1),
        **dict.fromkeys(("user", "group", "executable", "row"), -1),
    }
    columns: dict[str, Any] = {name: np.insert(getattr(jobs, name), at, fresh[name]) for name in _COLUMNS}
    return replace(jobs, **columns), np.flatnonzero(stays), rows
