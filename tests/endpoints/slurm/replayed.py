"""A Slurm that answers as a real one did at recorded instants, with a past of many weeks in its accounting.

`Replayed` is a transport: an endpoint reads it, submits to it and asks it for jobs as it does with a real Slurm, at the
instants of a recorded run (`recorded_runs.Recorded`), whose queue it shows. What is submitted there is what was then.

The past are queues like the recorded one, a week apart, with the same users, whose jobs use their limits as they do in
the recording. When they started, the engine says (`gas.slurm.forward`): a real Slurm would take months.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import replace

from recorded_runs import SPREAD, Habits, Recorded

from gas.endpoints.slurm.transport import Batch, Shape
from gas.slurm.cluster import Cluster, Job
from gas.slurm.forward import run_forward

WEEKS, WEEK = 12, 7 * 86_400
LATEST_KILL = 30
"""Slurm looks every 30 s for jobs that have exceeded their limits (slurmctld, PERIODIC_TIMEOUT)."""
FIELDS = "JobID|User|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS|AllocNodes|State|JobName"
Line = tuple[str, str, int, int, int, int, str]
"""Of a job: its number, its user, its limit in seconds, when it was submitted, started and ended, and its state."""


class Replayed:
    """A recorded Slurm at an instant.

    Attributes
    ----------
    now
        That instant, of which there is a view.
    user
        Who asks.
    submits
        The number of the job that is submitted next.
    sent
        What was submitted last.
    """

    is_local, timeout = True, 60.0

    def __init__(self, found: Recorded) -> None:
        self.found, self.now, self.user = found, found.cluster.now, ""
        self.submits: int | None = None
        self.sent: Batch | None = None
        self.address = self.place = f"slurm-of-{found.release}-{found.seed}"
        self._jobs = {job.id: job for job in found.cluster.jobs} | {job.id: job for _, job in found.arrivals}
        self._views = {found.cluster.now: found.cluster} | {one.now: one for one in found.views.values()}
        self._past = list(_past(found))

    def cluster(self, name: str) -> Cluster:
        """Return the state at the instant, in which those who ask have their own account."""
        found = replace(self._views[self.now], name=name)
        account = next((job.account for job in self._jobs.values() if job.user == self.user), "")
        if found.accounting is None or not account:
            return found
        return replace(found, accounting=replace(found.accounting, user=self.user, default_account=account))

    def jobs(self, *, user: str | None = None, ids: Collection[int] = ()) -> tuple[Job, ...]:
        """Return jobs as they stood at the instant; what is submitted then counts as there."""
        return tuple(
            self._as_it_was(job) for id, job in self._jobs.items()
            if (id == self.submits or (job.submitted or 0) <= self.now)
            and (not ids or id in ids) and user in (None, job.user)
        )  # fmt: skip

    def _as_it_was(self, job: Job) -> Job:
        start, end = self.found.starts.get((job.id, None)), self.found.ends.get((job.id, None))
        if start is None or start > self.now:
            return replace(job, start=None, state="PENDING")
        if end is None or end > self.now:
            return replace(job, start=start, state="RUNNING", nodes=self.found.nodes[job.id, None], reason="")
        return replace(
            job, start=start, end=end, state="COMPLETED", nodes=self.found.nodes[job.id, None], reason="", exit_status=0
        )

    def retention(self) -> int | None:
        return 100_000

    def accounting(self, partition: str, days: int) -> bytes:
        """Return what sacct would print then."""
        lines = [*self._past, *self._lately()]
        return ("\n".join([FIELDS, *(self._printed(*line) for line in lines)]) + "\n").encode()

    def _lately(self) -> Iterator[tuple[Line, int]]:
        """Yield the jobs of the recording that had started."""
        for (id, task), start in self.found.starts.items():
            job = self._jobs[id]
            if start < self.now and job.time_limit is not None:
                end = self.found.ends.get((id, task), self.now)
                name, limit = str(id) if task is None else f"{id}_{task}", job.time_limit
                state = "RUNNING" if end >= self.now else _state(end - start, limit)
                yield (name, job.user, limit, job.submitted or start, start, min(end, self.now), state), job.cpus

    def _printed(self, line: Line, cpus: int) -> str:
        name, user, limit, submit, start, end, state = line
        over = "Unknown" if state == "RUNNING" else end
        return f"{name}|{user}|{limit // 60}:00|{end - start}|{submit}|{start}|{over}|{cpus}|1|{state}|wrap"

    def submit(self, batch: Batch) -> int:
        assert self.submits is not None, "nothing was submitted then"
        self.sent = batch
        return self.submits

    def cancel(self, id: int) -> None:
        raise AssertionError(f"job {id} is cancelled, which it was not")

    def reshape(self, id: int, shape: Shape) -> None:
        raise AssertionError(f"job {id} is changed, which it was not")


def _past(found: Recorded) -> Iterator[tuple[Line, int]]:
    """Yield what was in the weeks before, the earliest first, with the CPUs of each."""
    jobs = [*found.cluster.jobs, *(job for _, job in found.arrivals)]
    there, empty = len(found.cluster.jobs), replace(found.cluster, jobs=())
    habits = {job.user: Habits.of(found.release, found.seed, job.user) for job in jobs}
    number = 1_000_000
    for back in range(WEEKS, 0, -1):
        chance = random.Random(f"past {found.release} {found.seed} {back}")
        killed = random.Random(f"killed {found.release} {found.seed} {back}")
        arrivals: list[tuple[int, Job]] = []
        seconds: dict[int, int | list[int]] = {}
        for place in range(len(jobs)):
            number += 1
            like = chance.choice(jobs)
            at = found.cluster.now + (0 if place < there else chance.randint(1, SPREAD))
            limit = like.time_limit or 60
            lasts = min(habits[like.user].seconds(limit, chance), limit + killed.randint(0, LATEST_KILL))
            seconds[number] = lasts
            if like.tasks is not None:  # all of them sleep as long, as in the recording
                seconds[number] = [lasts] * len(like.tasks)
            arrivals.append((at, replace(
                like, id=number, array=None if like.array is None else number, submitted=at, dependency="",
                eligible=None, priority=0, priority_in={}, start=None, planned_nodes=(), reason="",
            )))  # fmt: skip
        arrivals.sort(key=lambda one: (one[0], one[1].id))
        by_id = {job.id: job for _, job in arrivals}
        ran = run_forward(empty, seconds, arrivals)
        for one in sorted(ran.starts, key=lambda one: (by_id[one.job].submitted or 0, one.job, one.task or 0)):
            job = by_id[one.job]
            limit, key = job.time_limit or 60, str(one.job) if one.task is None else f"{one.job}_{one.task}"
            instants = (at - back * WEEK for at in (job.submitted or 0, one.start, one.end))
            yield (key, job.user, limit, *instants, _state(one.end - one.start, limit)), job.cpus  # type: ignore[misc]


def _state(ran: int, limit: int) -> str:
    return "TIMEOUT" if ran >= limit else "FAILED" if ran <= 3 else "COMPLETED"
