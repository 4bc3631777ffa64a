"""Applications in front of several supercomputers, each with its own jobs (the Gas paper, sections 6.1 and 6.2 ii).

Every machine has a simulation of its own. They advance in step: next is always the machine with the earliest next
event; at the same second, machines follow in their order. When an application arrives, all simulations stop, so that
it can read every availability list of that moment and submit to one machine or to several. Of several submissions, the
first to start wins, and the others are withdrawn at that instant: on a later machine before it handles that second, and
on an earlier machine, which has already handled it, as its next event. An application that arrives in this very second
may therefore still find a losing submission in the queue of an earlier machine. Jobs planned around that submission
do not get later when it is withdrawn; they move forward with all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from gas.application import Requests
from gas.availability import AvailabilityList
from gas.coallocation import together
from gas.planner import soonest
from gas.simulation.schedule import NEVER_STARTED, Policy
from gas.simulation.simulate import Simulation
from gas.times import LATEST
from workloads import RigidJobs

__all__ = ["STRATEGIES", "Arriving", "Decide", "Machines", "Strategy", "Submission", "World", "follow", "submissions"]
__all__ += ["world_of"]

Strategy = Literal[
    "home-static", "home", "choose-static", "everywhere-static", "choose", "everywhere", "hedge", "coallocate"
]
"""What an application submits when it arrives.

=================  ====================================================================================================
home-static        its static request, on the machine of the job that it replaces
home               Gas's request there
choose-static      its static request, on the machine that promises the earliest end
everywhere-static  its static request, on every machine
choose             Gas's request, planned with all lists: one submission, to the machine where it ends first
everywhere         Gas's request for each machine, on every machine
hedge              the submission of `choose`; if that has to wait, also on every other machine Gas's request among
                   those that take no longer: whichever starts first ends no later than the chosen one could have
coallocate         the submission of `choose`, or parts on several machines that start together, if these end earlier;
                   each part is reserved and does not move
=================  ====================================================================================================

With `everywhere`: if some requests would start at once, only the one of these that ends first is submitted; otherwise
the application waits in all queues.
"""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


class Submission(NamedTuple):
    """A request to a machine, with its promised start."""

    machine: int
    processors: int
    walltime: int
    time: int
    start: int
    held: bool = False
    """Whether it is one of several parts that start together on several machines."""

    @property
    def end(self) -> int:
        """Return the end if it starts as promised."""
        return self.start + self.time


@dataclass(frozen=True, eq=False)
class Arriving:
    """An application.

    Attributes
    ----------
    submit
        Submission time in seconds.
    home, place
        The machine of the job that it replaces, and the index of that job among the machine's jobs.
    name
        Its name.
    static
        Processors of its static request.
    requests
        Its possible requests on each machine; none where it cannot run.
    together
        Its possible requests on several machines together, with their times.
    """

    submit: int
    home: int
    place: int
    name: str
    static: int
    requests: tuple[Requests, ...]
    together: Requests | None = None


@dataclass(frozen=True, eq=False)
class World:
    """Machines with their jobs, and the applications that choose among them.

    Attributes
    ----------
    lists
        The jobs of each machine. Every application is in each of these lists, in the same order, as a job whose
        request is decided at its submission.
    places
        Indices of the applications in these lists: a row per machine, a column per application.
    applications
        In order of arrival.
    begin
        Jobs submitted before this second only warm up the machines.
    """

    lists: tuple[RigidJobs, ...]
    places: NDArray[np.int64]
    applications: tuple[Arriving, ...]
    begin: int = 0

    def rigid(self, machine: int) -> NDArray[np.int64]:
        """Return the indices of a machine's jobs that no application replaced and that count."""
        stays = self.lists[machine].submit >= self.begin
        stays[self.places[machine]] = False
        return np.flatnonzero(stays)


def world_of(machines: Sequence[RigidJobs], applications: Sequence[Arriving], begin: int = 0) -> World:
    """Return a world of machines where applications replace some jobs.

    Jobs of a machine keep their order. Applications of other machines come before or after jobs of the same second,
    by the order of the machines.
    """
    order = sorted(
        range(len(applications)), key=lambda i: (applications[i].submit, applications[i].home, applications[i].place)
    )
    sorted_applications = tuple(applications[i] for i in order)
    lists, places = [], []
    for own, jobs in enumerate(machines):
        first_id = int(jobs.id.max(initial=0)) + 1
        foreign = [i for i, one in enumerate(sorted_applications) if one.home != own]
        before = [i for i in foreign if sorted_applications[i].home < own]
        after = [i for i in foreign if sorted_applications[i].home > own]
        submit = np.array([sorted_applications[i].submit for i in (*before, *after)], np.int64)
        whole = np.concatenate([submit[: len(before)], jobs.submit, submit[len(before) :]])
        arrival = np.argsort(whole, kind="stable")
        at = np.empty(len(whole), np.int64)
        at[arrival] = np.arange(len(whole))
        mine = np.empty(len(sorted_applications), np.int64)
        mine[before] = at[: len(before)]
        mine[after] = at[len(before) + len(jobs) :]
        for i, one in enumerate(sorted_applications):
            if one.home == own:
                mine[i] = at[len(before) + one.place]
        ids = first_id + np.arange(len(foreign))
        lists.append(_with_foreign(jobs, len(before), ids, whole, arrival, mine))
        places.append(mine)
    return World(tuple(lists), np.array(places, np.int64).reshape(len(machines), -1), sorted_applications, begin)


def _with_foreign(
    jobs: RigidJobs,
    before: int,
    ids: NDArray[np.int64],
    submit: NDArray[np.int64],
    arrival: NDArray[np.int64],
    applications: NDArray[np.int64],
) -> RigidJobs:
    """Return the jobs with those of other machines; the requests of applications are set when they arrive."""

    def merged(own: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.concatenate([others[:before], own, others[before:]])[arrival]
        return found

    unknown, one = np.full(len(ids), -1, np.int64), np.ones(len(ids), np.int64)
    columns: dict[str, Any] = {
        "id": merged(jobs.id, ids),
        "submit": submit[arrival],
        **{name: merged(getattr(jobs, name), one) for name in ("processors", "estimate", "run_time")},
        **{name: merged(getattr(jobs, name), unknown) for name in ("user", "group", "executable", "row")},
    }
    for name in ("processors", "estimate", "run_time"):
        columns[name][applications] = 1
    return replace(jobs, **columns)


# ------------------------------------------------------------------------------------------------------- strategies


def submissions(strategy: Strategy, application: Arriving, lists: Sequence[AvailabilityList]) -> list[Submission]:
    """Return what an application submits, given the lists of the machines; of equal candidates its home comes first."""
    machines = sorted(range(len(lists)), key=lambda machine: (machine != application.home, machine))
    if strategy.startswith("home"):
        machines = machines[:1]
    static = application.static if strategy.endswith("static") else None
    found = [
        one
        for machine in machines
        if (one := _best(machine, application.requests[machine], lists[machine], static)) is not None
    ]
    if not strategy.startswith("everywhere"):
        chosen = min(found, key=_by_end, default=None)
        if strategy == "coallocate" and (parts := _together(application, lists, chosen)):
            return parts
        if chosen is None:
            return []
        if strategy != "hedge" or chosen.start == lists[chosen.machine].now:
            return [chosen]
        others = [machine for machine in machines if machine != chosen.machine]
        hedges = [_best(i, _no_longer(application.requests[i], chosen.time), lists[i], None) for i in others]
        return [chosen, *(one for one in hedges if one is not None)]
    at_once = [one for one in found if one.start == lists[one.machine].now]
    return [min(at_once, key=_by_end)] if at_once else found


def _together(application: Arriving, lists: Sequence[AvailabilityList], chosen: Submission | None) -> list[Submission]:
    """Return parts on several machines that start together; none if a single request ends no later."""
    if application.together is None:
        return []
    before = LATEST if chosen is None else chosen.end
    found = together(application.together, lists, lists[0].now, most=len(lists), before=before)
    if not found:
        return []
    best = min(found, key=lambda one: (one.finish, len(one.parts), one.processors, one.start))
    number = {one.scheduler: machine for machine, one in enumerate(lists)}
    return [
        Submission(number[part.scheduler], part.processors, part.walltime, part.execution_time, part.start, True)
        for part in best.parts
    ]


def _by_end(one: Submission) -> tuple[int, int, int]:
    """Return the key by which Gas orders candidates (`gas.planner`)."""
    return one.end, one.processors, one.start


def _best(machine: int, requests: Requests, availability: AvailabilityList, size: int | None) -> Submission | None:
    """Return the request that ends first on a machine; None if no size is possible."""
    if size is not None:
        requests = _those(requests, requests.sizes == size)
    best = soonest(requests, availability)
    if best is None:
        return None
    return Submission(machine, best.processors, best.walltime, best.execution_time, best.start)


def _no_longer(requests: Requests, time: int) -> Requests:
    return _those(requests, requests.times <= time)


def _those(requests: Requests, chosen: NDArray[np.bool_]) -> Requests:
    return Requests(*(column[chosen] for column in requests))


# --------------------------------------------------------------------------------------------------------- in step


class Machines:
    """The simulations of a world, all at the same instant.

    Attributes
    ----------
    submitted
        The submissions of each application that has arrived.
    won
        Index of the submission that started (of parts that start together the first); -1 if none has started.
    withdrawn
        How many submissions were withdrawn.
    """

    def __init__(self, world: World, policy: Policy = "s3", *, machine_code: bool = True) -> None:
        self.world = world
        self.simulations = [
            Simulation(jobs, policy, ask=places, machine_code=machine_code)
            for jobs, places in zip(world.lists, world.places, strict=True)
        ]
        self.submitted: list[list[Submission]] = []
        self.won = np.full(len(world.applications), -1, np.int64)
        self.withdrawn = 0
        self._waiting: list[set[int]] = [set() for _ in world.lists]
        """For each machine, applications that wait in its queue and in others."""
        self._stands = [False] * len(world.lists)

    def copy(self) -> Machines:
        """Return an independent copy in the present state."""
        other = object.__new__(Machines)
        other.__dict__.update(self.__dict__)
        other.simulations = [simulation.copy() for simulation in self.simulations]
        other.submitted, other.won = list(self.submitted), self.won.copy()
        other._waiting, other._stands = [set(those) for those in self._waiting], list(self._stands)
        return other

    def run(self, until: int | None = None) -> int | None:
        """Advance until an application arrives and return its number; None at the end of all jobs or after `until`.

        Parameters
        ----------
        until
            Number of an application; the simulation need not continue after its start.
        """
        for machine, simulation in enumerate(self.simulations):
            if not self._waiting[machine] and not self._stands[machine]:  # other machines do not affect it
                self._stands[machine] = simulation.run() is not None
        while any(self._waiting):
            if until is not None and self.end(until) is not None:
                return None
            instants = [
                (instant, machine)
                for machine, simulation in enumerate(self.simulations)
                if not self._stands[machine] and (instant := simulation.next_instant) is not None
            ]
            if not instants:
                break
            instant, machine = min(instants)
            self._stands[machine] = self.simulations[machine].run(before=instant + 1) is not None
            self._look(machine)
        else:
            for machine, simulation in enumerate(self.simulations):
                if not self._stands[machine]:
                    self._stands[machine] = simulation.run() is not None
        if not any(self._stands):
            return None
        assert all(self._stands), "every application stands in every list"
        return len(self.submitted)

    def _look(self, machine: int) -> None:
        """For applications that have started on a machine, withdraw their other submissions."""
        waiting = sorted(self._waiting[machine])
        if not waiting:
            return
        starts = self.simulations[machine].starts(self.world.places[machine, waiting])
        for application, start in zip(waiting, starts.tolist(), strict=True):
            if start == NEVER_STARTED:
                continue
            for which, one in enumerate(self.submitted[application]):
                self._waiting[one.machine].discard(application)
                if one.machine == machine:
                    self.won[application] = which
                else:
                    self.simulations[one.machine].cancel(int(self.world.places[one.machine, application]), start)
                    self.withdrawn += 1

    def lists(self) -> list[AvailabilityList]:
        """Return the availability list of each machine."""
        return [simulation.availability(f"machine {i}") for i, simulation in enumerate(self.simulations)]

    def answer(self, submitted: Sequence[Submission]) -> None:
        """Submit these requests of the application that has arrived, at most one per machine."""
        application = len(self.submitted)
        at = {one.machine: one for one in submitted}
        for machine, simulation in enumerate(self.simulations):
            if machine in at:
                one = at[machine]
                reserved = one.start if one.held else None
                simulation.answer(
                    processors=one.processors, estimate=one.walltime, run_time=one.time, reserved_from=reserved
                )
                if len(submitted) > 1 and not one.held:
                    self._waiting[machine].add(application)
            else:
                simulation.answer(submits=False)
            self._stands[machine] = False
        self.submitted.append(list(submitted))
        if len(submitted) == 1 or submitted[0].held:
            self.won[application] = 0

    def end(self, application: int) -> int | None:
        """Return the end of an application; None if it has not started."""
        which = int(self.won[application])
        if which < 0:
            return None
        one = self.submitted[application][which]
        start = int(self.simulations[one.machine].starts(self.world.places[one.machine, [application]])[0])
        return None if start == NEVER_STARTED else start + one.time


Decide: TypeAlias = Callable[[int, Sequence[AvailabilityList]], list[Submission]]
"""Returns what an application (given by its number) submits, given the lists of the machines."""


def follow(machines: Machines, decide: Decide, until: int | None = None) -> None:
    """Submit each arriving application as decided, until all jobs have ended or one application has started.

    Parameters
    ----------
    until
        Number of that application.
    """
    while (application := machines.run(until)) is not None:
        if until is not None and machines.end(until) is not None:
            return
        machines.answer(decide(application, machines.lists()))
