"""Who runs and who waits in a partition of a Slurm, counted in processors: what its queue is simulated forward from.

Which nodes a job has is lost here. Jobs that are held, wait for others or break a limit are left out, as they are in
the plan (`gas.endpoints.slurm.interpretation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from gas.endpoints.slurm.interpretation import Interpretation
from gas.slurm.cluster import Cluster, Job, Partition, Reservation
from gas.slurm.order import end_of
from gas.slurm.passes import Planned

if TYPE_CHECKING:  # imported where it is used: planning needs none of it
    from gas.prediction.entries import Entry
    from gas.prediction.snapshot import Snapshot

__all__ = ["snapshot_of"]


def snapshot_of(
    cluster: Cluster, partition: Partition, seen: Interpretation, users: Mapping[str, int], *, user: str | None = None
) -> Snapshot:
    """Return the snapshot of a partition, in the unit of its interpretation.

    Waiting jobs stand in the order in which Slurm considers them, with the starts that its plans or those of Gas give
    them. Reservations are fixed, and have their nodes to their ends, whatever runs there. So are taken to be CPUs in
    use by jobs that are not shown, for as long as a job may last.

    Parameters
    ----------
    users
        Numbers of known users.
    user
        Who will submit: magnetic reservations of theirs are free for the job.
    """
    from gas.prediction.entries import snapshot_from

    counted = _Counted(cluster, partition, seen, user)
    entries = [*counted.running(users), *counted.waiting(users)]
    return snapshot_from(cluster.now, counted.machine, entries)


class _Counted:
    """The nodes of a partition and what they count for."""

    def __init__(self, cluster: Cluster, partition: Partition, seen: Interpretation, user: str | None) -> None:
        availability = seen.availability
        self._at = {name: place for place, name in enumerate(seen.forecast.state.names)}
        nodes = (self._at[name] for name in availability.names)
        self._units: dict[int, int] = dict(zip(nodes, availability.capacity.tolist(), strict=True))
        self._whole = availability.options.whole or partition.whole_nodes
        self._cluster, self._partition, self._seen = cluster, partition, seen
        self._closed = [one for one in cluster.reservations if not ("MAGNETIC" in one.flags and user in one.users)]
        self.machine = sum(self._units.values())

    def running(self, users: Mapping[str, int]) -> Iterator[Entry]:
        """Yield who has processors, and what is reserved."""
        from gas.prediction.entries import Entry

        now, state = self._cluster.now, self._seen.forecast.state
        kept = {place for one in self._closed if one.start <= now < one.end for place in self._places(one)}
        for number, job in enumerate(state.running_jobs):
            first = int(state.running.first[number])
            shares = range(first, first + int(state.running.shares[number]))
            held = [(int(state.running.node[one]), int(state.running.cpus[one])) for one in shares]
            start = min(job.start or now, now)
            count = sum(self._share(place, cpus) for place, cpus in held if place not in kept)
            end = end_of(job, now)
            end = end if end > now else now + self._cluster.scheduling.resolution  # it should have left already
            yield Entry(count, max(end - start, 1), start, True, users.get(job.user, -1))
        hidden = np.flatnonzero(state.unseen).tolist()
        unseen = [(place, int(state.unseen[place])) for place in hidden if place not in kept]
        if unseen:
            longest = self._partition.longest or self._cluster.scheduling.window
            yield Entry(sum(self._share(*one) for one in unseen), longest, now, True, fixed=True)
        for one in self._closed:
            if one.end > now:
                start = one.start if one.start > now else now
                count = sum(self._units[place] for place in self._places(one))
                yield Entry(count, one.end - start, start, one.start <= now, fixed=True)

    def waiting(self, users: Mapping[str, int]) -> Iterator[Entry]:
        """Yield the waiting jobs in the order of the queue."""
        from gas.prediction.entries import Entry

        state = self._seen.forecast.state
        turn: dict[int, int] = {}
        for place, record in enumerate(state.records):
            turn.setdefault(record.job.id, place)
        closed = {one.name: set(self._places(one)) for one in self._closed}
        for one in sorted(self._seen.forecast.plans, key=lambda one: (turn[one.job.id], one.start)):
            places = set(one.places.tolist()) - closed.get(one.job.reservation, set())
            not_before = None if one.published else one.not_before
            user = users.get(one.job.user, -1)
            yield Entry(self._asked(one, places), one.limit, one.start, False, user, not_before=not_before)

    def _places(self, reservation: Reservation) -> list[int]:
        places = (self._at[name] for name in reservation.nodes if name in self._at)
        return [place for place in places if place in self._units]

    def _share(self, place: int, cpus: int) -> int:
        units = self._units.get(place, 0)
        return units if self._whole else min(units, cpus)

    def _asked(self, one: Planned, places: set[int]) -> int:
        """Return what a waiting job takes of the partition."""
        most = sum(self._units.get(place, 0) for place in places)
        return most if self._whole or one.job.exclusive else min(most, _cpus(one.job))


def _cpus(job: Job) -> int:
    return max(job.cpus, job.least_nodes, 1)
