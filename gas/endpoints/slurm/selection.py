"""On which of some nodes a job of Slurm's runs, and at which end of running jobs (job_test.c of its select plug-ins).

Sets of nodes are whole numbers with a bit for each place: Python intersects those of thousands of nodes in a
microsecond. Places are those of the nodes in the order in which Slurm has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Held", "Request", "Running", "nodes_of", "places_of"]

FIRST_WINDOW = 30
"""Seconds within which ends of running jobs are taken together at first; it doubles each time."""

TOGETHER = 200
"""How many running jobs Slurm takes out before it tries again, unless their ends are close."""

REMEMBERED = 512
"""For how many sets of nodes it is kept when running jobs leave them."""


def nodes_of(places: Iterable[int]) -> int:
    """Return the set of some places."""
    octets = bytearray()
    for place in places:
        if place >> 3 >= len(octets):
            octets.extend(bytes((place >> 3) + 1 - len(octets)))
        octets[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(octets, "little")


def places_of(nodes: int) -> Iterator[int]:
    """Return the places of a set, in ascending order."""
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


@dataclass(frozen=True)
class Held:
    """What a running job has, place by place in CPUs, and when it leaves it."""

    end: int
    shares: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Request:
    """What a job asks for.

    Attributes
    ----------
    cpus, walltime
        At least so many, for so many seconds.
    nodes
        The set of those that it may have.
    least, most
        How many nodes.
    required
        The set of nodes that it must have.
    exclusive
        It shares its nodes with nobody.
    not_before, not_after
        When it may start at the earliest, and must have ended.
    user, reservation
        By which closures are open to it.
    """

    cpus: int
    walltime: int
    nodes: int
    least: int = 1
    most: int | None = None
    required: int = 0
    exclusive: bool = False
    not_before: int = 0
    not_after: int | None = None
    user: str | None = None
    reservation: str = ""


class _Stage:
    """What is free of each node at an instant, in CPUs: any, or of nodes that are quite free."""

    def __init__(self, instant: int, free: NDArray[np.int64], cpus: NDArray[np.int64]) -> None:
        self.instant = instant
        self.shared = np.maximum(free, 0)
        self.whole = np.where(free >= cpus, cpus, 0)
        self.sizes = tuple((int(one.sum()), int(np.count_nonzero(one))) for one in (self.shared, self.whole))

    def enough(self, request: Request) -> bool:
        """Return whether there is as much as a job asks for."""
        cpus, nodes = self.sizes[request.exclusive]
        return cpus >= request.cpus and nodes >= request.least


@dataclass
class _Leaving:
    """What is free of a set of nodes now, and after each window of ends of running jobs, as far as it was asked.

    Attributes
    ----------
    stages
        Instants, and what is free then.
    free
        What is free of each node of the machine after the last of them.
    at, base, window
        The next running job to look at; from what the window is counted.
    """

    nodes: int
    stages: list[_Stage]
    free: NDArray[np.int64]
    at: int = 0
    base: int | None = None
    window: int = FIRST_WINDOW


class Running:
    """The running jobs of a machine, and what they leave when.

    Parameters
    ----------
    cpus
        Of each node.
    """

    def __init__(self, now: int, cpus: NDArray[np.int64], running: Sequence[Held]) -> None:
        self.now, self.cpus = now, cpus
        ordered = sorted(running, key=lambda one: one.end)
        self._ends = [one.end for one in ordered]
        self._masks = [nodes_of(place for place, _ in one.shares) for one in ordered]
        self._shares = [(np.array([p for p, _ in one.shares]), np.array([c for _, c in one.shares])) for one in ordered]
        self._idle = cpus.astype(np.int64).copy()
        for places, taken in self._shares:
            np.subtract.at(self._idle, places, taken)
        self._leaving: dict[int, _Leaving] = {}

    def will_run(self, nodes: int, request: Request, before: int | None) -> tuple[int, int] | None:
        """Return at which end of running jobs a job fits a set of nodes, and the nodes that it gets of them.

        If that is after an instant, nobody asks for the nodes.
        """
        leaving = self._leaving.get(nodes)
        if leaving is None:
            if len(self._leaving) >= REMEMBERED:
                self._leaving.clear()
            leaving = self._leaving[nodes] = _Leaving(nodes, [self._stage(self.now, nodes, self._idle)], self._idle)
        stage = 0
        while stage < len(leaving.stages) or self._leave(leaving):
            there = leaving.stages[stage]
            if there.enough(request):
                late = before is not None and there.instant > before and request.most is None
                chosen = 0 if late else _chosen(there.whole if request.exclusive else there.shared, request)
                if chosen is not None:
                    return there.instant, chosen
            stage += 1
        return None

    def _stage(self, instant: int, nodes: int, free: NDArray[np.int64]) -> _Stage:
        return _Stage(instant, np.where(self._on(nodes), free, 0), self.cpus)

    def _on(self, nodes: int) -> NDArray[np.bool_]:
        count = len(self.cpus)
        octets = np.frombuffer(nodes.to_bytes(-(-count // 8), "little"), np.uint8)
        return np.unpackbits(octets, count=count, bitorder="little").astype(bool)

    def _leave(self, leaving: _Leaving) -> bool:
        """Let the running jobs of one more window leave a set of nodes; return whether there were any."""
        ends, count = self._ends, len(self._ends)
        free = leaving.free.copy()
        last = following = None
        together = 0
        while leaving.at < count:
            job = leaving.at
            leaving.at += 1
            if not self._masks[job] & leaving.nodes:
                continue
            if leaving.base is None:
                leaving.base = ends[job] + leaving.window - ends[job] % leaving.window
            last = job
            np.add.at(free, *self._shares[job])
            following = ends[leaving.at] if leaving.at < count else None
            if following is None or following > leaving.base + leaving.window:
                break
            together += 1
            if together > TOGETHER + 1:
                last, together = None, 0  # it goes on without trying what has become free
        if last is None or leaving.base is None:
            return False
        leaving.window *= 2
        while following is not None and following > leaving.base + leaving.window:
            leaving.window *= 2
        leaving.free = free
        leaving.stages.append(self._stage(ends[last], leaving.nodes, free))
        return True


def _chosen(shares: NDArray[np.int64], request: Request) -> int | None:
    """Return the set of nodes that a job gets of what each has for it; None if that is not enough."""
    there = np.flatnonzero(shares)
    if len(there) < request.least or int(shares.sum()) < request.cpus:
        return None
    required = list(places_of(request.required))
    if any(shares[place] == 0 for place in required):
        return None
    cpus = request.cpus - int(shares[required].sum())
    wanted = max(request.least, request.most or 0) - len(required)
    most = (len(shares) if request.most is None else request.most) - len(required)
    if most < 0:
        return None
    taken = list(required)
    if wanted > 0 or cpus > 0:
        rest = there if not required else np.setdiff1d(there, required)
        floor = 0
        while True:
            more = _of_runs(rest[shares[rest] > floor], shares, cpus, wanted, request.least - len(required), most)
            if more is not None:
                break
            floor += 1  # a knapsack: nodes with few CPUs are left out where the number of nodes is limited
            if request.most is None or floor >= int(shares.max()):
                return None
        taken += more
    return nodes_of(taken)


def _of_runs(
    there: NDArray[np.int64], shares: NDArray[np.int64], cpus: int, wanted: int, least: int, most: int
) -> list[int] | None:
    """Return nodes of runs of neighbours, the tightest fit first, until there is enough."""
    if not len(there):
        return None
    cuts = np.flatnonzero(np.diff(there) > 1) + 1
    firsts = np.concatenate([[0], cuts, [len(there)]])
    totals = np.add.reduceat(shares[there], firsts[:-1])
    runs = {at: (int(totals[at]), int(firsts[at + 1] - firsts[at])) for at in range(len(firsts) - 1)}
    taken: list[int] = []
    while runs and most > 0:
        needed = least - len(taken)
        best, tight, held = -1, False, 0
        for at, (total, count) in runs.items():
            enough = total >= cpus and count >= needed
            if best < 0 or (enough and (not tight or total < held)) or (not enough and total > held):
                best, tight, held = at, enough, total
        del runs[best]
        members = there[firsts[best] : firsts[best + 1]]
        if wanted <= 1:
            single = members[shares[members] >= cpus]
            if len(single):
                members = single[[int(np.argmin(shares[single]))]]
        for place in members.tolist():
            if most <= 0 or (wanted <= 0 and cpus <= 0):
                break
            if most == 1 and shares[place] < cpus:
                continue
            taken.append(place)
            cpus -= int(shares[place])
            wanted -= 1
            most -= 1
        if wanted <= 0 and cpus <= 0:
            return taken
    return taken if cpus <= 0 and len(taken) >= least else None
