"""The queue as time passes: submitted jobs, startable jobs, remaining array tasks, and jobs held by limits."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gas.slurm.ageing import Ageing
from gas.slurm.cluster import Cluster, Job
from gas.slurm.dependencies import dependencies_of, fulfilled
from gas.slurm.order import LAST, Blocked, Record, blocked_by, running_tasks
from gas.slurm.reasons import CLOSED_PARTITION
from gas.slurm.reservations import may_start_in, with_magnetic
from gas.slurm.restraints import Restraints

__all__ = ["Waiting"]

FINAL = frozenset({Blocked.PARTITION, Blocked.ACCOUNT, Blocked.CONSTRAINT, Blocked.FORBIDDEN, Blocked.HELD})
Key = tuple[int, int | None]


class Waiting:
    """Waiting and later jobs: by place, one for each job, and by record, one for each of its partitions.

    Attributes
    ----------
    records
        Of all jobs.
    place
        By record: the place of its job.
    partition
        By record: the number of its partition, as in `gas.slurm.rows`.
    tasks
        By record: the number of its tasks that have not started.
    probes
        By place: whether it is a probe, which reserves nothing and delays no job.
    keys
        By record: the sort keys apart from its priority, the last first.
    begins
        By place: epoch second before which it does not start; 0 if there is none.
    bound, throttled
        Whether any jobs wait for other jobs or in reservations, and whether any are arrays with a limit of tasks.
    room
        Largest number of jobs that can run at once.
    restraints
        The limits of accounts and QOS.
    one_by_one
        Whether a start may hold back other jobs otherwise than by what it takes of the machine.
    remarks
        What is ignored.
    """

    def __init__(
        self, cluster: Cluster, arrivals: Sequence[tuple[int, Job]], probes: Sequence[tuple[int, Job]] = ()
    ) -> None:
        self.cluster = cluster
        self.remarks: list[str] = []
        self.records: list[Record] = []
        self.place: list[int] = []
        self.attracted: list[str] = []
        dropped: list[int] = []
        named = {one.name: number for number, one in enumerate(cluster.partitions)}
        there = [(cluster.now, job) for job in cluster.jobs if job.pending]
        everybody = (*there, *probes, *arrivals)
        self.jobs = [_waiting(job) for _, job in everybody]
        self.comes_at = np.array([at for at, _ in everybody], np.int64)
        self.probes = np.zeros(len(self.jobs), np.bool_)
        self.probes[len(there) : len(there) + len(probes)] = True
        self.arrived = np.zeros(len(self.jobs), np.bool_)
        self.arrived[: len(there)] = True
        self.eligible = np.zeros(len(self.jobs), np.int64)
        self.ids = {job.id: place for place, job in enumerate(self.jobs)}
        self.of_task = [list(_tasks(job)) for job in self.jobs]
        self.done = [0] * len(self.jobs)
        self.begun: dict[Key, int] = {}
        self.over: dict[Key, int] = {}
        self.failed: set[Key] = set()
        self.running = running_tasks(cluster)
        self._ran = {job.id: job for job in cluster.jobs if not job.pending}
        self.depends = [dependencies_of(job.dependency) for job in self.jobs]
        self.held = np.array([job.priority == 0 and at < len(there) for at, job in enumerate(self.jobs)], np.bool_)
        for place, job in enumerate(self.jobs):
            probe = place - len(there) if self.probes[place] else None
            for name in job.partitions:
                for way in with_magnetic(cluster, job, name) if name in named else ():
                    record = Record(way, cluster.partitions[named[name]], probe=probe, attracted=way is not job)
                    blocked, _ = blocked_by(
                        cluster, replace(job, dependency="", eligible=None, priority=1, reservation=""),
                        record.partition, {},
                    )  # fmt: skip
                    if blocked in FINAL:
                        dropped.append(len(self.records))
                    self.records.append(record)
                    self.place.append(place)
                    self.attracted.append(way.reservation if way is not job else "")
        self.places = np.array(self.place, np.int64)
        self.dropped = np.zeros(len(self.records), np.bool_)
        self.dropped[dropped] = True
        numbers = {name: at for at, name in enumerate(dict.fromkeys(one.partition.name for one in self.records))}
        self.partition = np.array([numbers[one.partition.name] for one in self.records], np.int64)
        self.tasks = np.array([len(self.of_task[place]) for place in self.place], np.int64)
        total = int(sum(len(one) for one in self.of_task))
        self.room = min(total, sum(max(node.cpus, 1) for node in cluster.nodes)) + 1
        self.keys = np.array(
            [
                (LAST if one.job.tasks is not None else one.job.id if one.job.array is not None else 0,
                 one.job.array or one.job.id, one.job.submitted or LAST, -one.partition.tier, not one.job.reservation)
                for one in self.records
            ], np.int64,
        ).reshape(len(self.records), 5)  # fmt: skip
        self.ageing = Ageing(cluster, self.records, self.places >= len(there))
        self.remarks += self.ageing.remarks
        self.restraints = Restraints(cluster, self.records)
        several = any(job.tasks is not None and len(job.partitions) > 1 for job in self.jobs)
        self.one_by_one = self.restraints.count or several
        self.begins = np.array([job.eligible or 0 for job in self.jobs], np.int64)
        bound = [bool(found) or bool(job.reservation) for (found, _), job in zip(self.depends, self.jobs, strict=True)]
        self._bound = np.array(bound, np.bool_)
        self.bound = bool(self._bound.any()) or any(self.attracted)
        throttled = [job.tasks is not None and bool(job.tasks.at_once) for job in self.jobs]
        self._throttled = np.array(throttled, np.bool_)[self.places]
        self.throttled = bool(self._throttled.any())
        for place, (found, _) in enumerate(self.depends):
            strange = {one.kind for one in found} - {"after", "afterany", "afterok", "afternotok", "singleton"}
            if strange:
                self.remarks.append(f"job {self.jobs[place].id} waits for {', '.join(sorted(strange))}: not understood")
        if any(job.leader is not None for job in self.jobs):
            self.remarks.append("heterogeneous jobs are planned but never start")
        if cluster.settings is not None and cluster.settings.preempts:
            self.remarks.append("jobs are not preempted")

    def copied(self) -> Waiting:
        """Return an independent copy."""
        other = copy.copy(self)
        other.arrived, other.eligible, other.tasks = self.arrived.copy(), self.eligible.copy(), self.tasks.copy()
        other.comes_at, other.done, other.running = self.comes_at.copy(), self.done.copy(), self.running.copy()
        other.begun, other.over, other.failed = self.begun.copy(), self.over.copy(), self.failed.copy()
        other.ageing, other.restraints = self.ageing.copied(), self.restraints.copied()
        return other

    def withdraw(self, places: NDArray[np.int64]) -> None:
        """Remove jobs from the queue, whether they are submitted yet or not."""
        self.arrived[places] = True
        self.tasks[np.isin(self.places, places)] = 0
        for place in places.tolist():
            self.done[place] = len(self.of_task[place])

    def may_start(self, place: int) -> bool:
        """Return whether a job can fit in any of its partitions."""
        return bool((~self.dropped & (self.places == place)).any())

    def age(self, now: int) -> None:
        """Recalculate priorities if it is time."""
        if now < self.ageing.next:
            return
        there = self.arrived[self.places]
        self.ageing.calculate(now, np.where(there, self.eligible[self.places], 0), there & (self.tasks > 0))

    # -- who waits

    def next_event(self, now: int) -> int | None:
        """Return when the next job is submitted, or reaches its begin time."""
        coming, beginning = self.comes_at[~self.arrived], self.begins[self.begins > now]
        due = [int(one.min()) for one in (coming, beginning) if one.size]
        return min(due, default=None)

    def arriving(self, now: int) -> Iterator[int]:
        """Yield the places of the jobs that are submitted now."""
        for place in np.flatnonzero(~self.arrived & (self.comes_at <= now)).tolist():
            self.arrived[place] = True
            self.ageing.arrives(np.flatnonzero(self.places == place))
            yield place

    def comes(self) -> bool:
        """Whether any job is still to be submitted."""
        return not self.arrived.all()

    def any(self) -> bool:
        """Whether any waiting job may still start."""
        return bool(((self.arrived & ~self.held)[self.places] & (self.tasks > 0) & ~self.dropped).any())

    def left(self) -> list[int]:
        """Return the numbers of the jobs that have not started."""
        return [job.id for place, job in enumerate(self.jobs) if self.done[place] < len(self.of_task[place])]

    def drop(self, never: Callable[[int], bool]) -> None:
        """Remove the records for which a condition holds."""
        for at in np.flatnonzero(~self.dropped).tolist():
            self.dropped[at] = never(at)

    def waits(self, job: int, task: int | None) -> bool:
        """Whether a job, or a task of it, has not started."""
        place = self.ids.get(job)
        return place is not None and task in self.of_task[place][self.done[place] :]

    def next_task(self, record: int) -> Key:
        """Return the next task of a record."""
        place = self.place[record]
        left = self.of_task[place][self.done[place] :]
        return self.jobs[place].id, left[0] if left else None

    def number_of(self, record: int) -> int:
        """Return the index of the next waiting task, from 0 on."""
        return self.done[self.place[record]]

    def record_of(self, key: Key, partition: str) -> int | None:
        """Return the record with which a job or task starts in a partition; None if it is not waiting."""
        if key[0] not in self.ids or not self.arrived[self.ids[key[0]]]:
            return None
        own = [at for at, place in enumerate(self.place) if place == self.ids[key[0]]]
        own = [at for at in own if partition in ("", self.records[at].partition.name)] or own
        return own[0] if own and self.waits(*key) else None

    def started(self, record: int, running: Job, now: int) -> None:
        """Record that the next task of a record has started, as the running job."""
        place = self.place[record]
        key = self.next_task(record)
        self.done[place] += 1
        self.begun[key] = now
        self.restraints.forget(running)
        self.ageing.began(key, running, now)
        job = self.jobs[place]
        if job.array is not None:
            self.running[job.array] = self.running.get(job.array, 0) + 1
        self.tasks[self.places == place] -= 1

    def ended(self, key: Key, now: int, *, well: bool = True) -> None:
        """Record that a job has ended, successfully or not."""
        self.over[key] = now
        if not well:
            self.failed.add(key)
        place = self.ids.get(key[0])
        self.restraints.forget(self.jobs[place] if place is not None else self._ran.get(key[0]))
        self.ageing.ended(key, now)
        array = None if place is None else self.jobs[place].array
        if place is None:
            array = next((job.array for job in self.cluster.jobs if job.id == key[0]), None)
        if array is not None:
            self.running[array] = self.running.get(array, 1) - 1

    # -- order

    def order(self, now: int) -> NDArray[np.int64]:
        """Return the records to try, in scheduling order (job_scheduler.c, build_job_queue, sort_job_queue2)."""
        may = self.arrived & ~self.held
        may &= self.begins <= now
        for place in np.flatnonzero(may & self._bound).tolist():
            may[place] = self.done[place] < len(self.of_task[place]) and self._independent(place, now)
        wait = may[self.places] & (self.tasks > 0)
        new = np.zeros(len(self.jobs), np.bool_)
        new[self.places[wait]] = True
        new &= self.eligible == 0
        self.eligible[new] = np.where(self.begins[new] > 0, self.begins[new], now)
        for at, name in enumerate(self.attracted):
            wait[at] = wait[at] and (not name or may_start_in(self.cluster, name, now))
        index = np.flatnonzero(wait & ~self.dropped)
        if self.throttled:
            index = index[self.rooms(index) > 0]
        keys = self.keys[index]
        ranks = np.lexsort((keys[:, 0], keys[:, 1], keys[:, 2], -self.ageing.values[index], keys[:, 3], keys[:, 4]))
        return index[ranks]

    def rooms(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many tasks of each array may start in addition to its running ones."""
        found = np.full(len(index), 1 << 40, np.int64)
        if not self.throttled:
            return found
        for row in np.flatnonzero(self._throttled[index]).tolist():
            job = self.records[index[row]].job
            if job.tasks is not None and job.tasks.at_once:
                found[row] = max(job.tasks.at_once - self.running.get(job.array or 0, 0), 0)
        return found

    def _independent(self, place: int, now: int) -> bool:
        """Return whether an eligible job waits for nothing but its turn (job_mgr.c, job_independent)."""
        job = self.jobs[place]
        found, any_of = self.depends[place]
        alone = any(one.kind == "singleton" for one in found) and self._alone(place)
        if found and not fulfilled(found, any_of, now, self._times, alone, self._failed):
            return False
        return not job.reservation or may_start_in(self.cluster, job.reservation, now)

    def _times(self, job: int, task: int | None) -> tuple[int | None, int | None]:
        """Return the start and end of a job or task."""
        place = self.ids.get(job)
        if place is None:
            if any(one.id == job and not one.pending for one in self.cluster.jobs):
                return 0, self.over.get((job, None))
            return 0, 0  # it has gone
        wanted = [(job, one) for one in self.of_task[place] if task is None or one == task]
        begun = [self.begun[one] for one in wanted if one in self.begun]
        over = [self.over[one] for one in wanted if one in self.over]
        return (
            max(begun) if len(begun) == len(wanted) else None,
            max(over) if len(over) == len(wanted) else None,
        )

    def _failed(self, job: int, task: int | None) -> bool:
        """Return whether a job, or one of its tasks, has failed."""
        return any(key[0] == job and task in (None, key[1]) for key in self.failed)

    def _alone(self, place: int) -> bool:
        own = self.jobs[place]
        for other, job in enumerate(self.jobs):
            if other != place and (job.user, job.name) == (own.user, own.name) and self.arrived[other]:
                runs = self.done[other] > 0 and self._times(job.id, None)[1] is None
                waits = self.done[other] < len(self.of_task[other]) and job.id < own.id
                if runs or waits:
                    return False
        return True


def _waiting(job: Job) -> Job:
    """Return a job as a waiting job, without Slurm's plan, and without a reason that may pass."""
    reason = job.reason if job.reason.startswith(CLOSED_PARTITION) else ""
    return replace(job, state="PENDING", reason=reason, start=None, end=None, planned_nodes=())


def _tasks(job: Job) -> Iterator[int | None]:
    if job.tasks is None:
        yield None
    else:
        for one in job.tasks.ranges:
            yield from one
