"""Effects of an outage on jobs: missed starts, and jobs of the store put on a schedule again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from gas.s3 import S3, Entry, Machine, State
from gas.service.clock import Clock
from gas.service.jobs import Job, JobState
from gas.service.pulse import Pulse
from gas.service.runner import Runner

__all__ = ["DOWN", "Restored", "end_by_itself", "missed_starts", "restored"]

log = logging.getLogger("gas.s3")

DOWN = "the service did not run"
LATE_SECONDS = 2.0
"""Real seconds that the service may pause, or start a process late, without treating it as an outage."""


@dataclass
class Restored:
    """The active jobs of a store on a fresh schedule.

    Attributes
    ----------
    machine
        The schedule, with the simulated jobs on it.
    jobs, processes
        Jobs in the schedule, and among them the running processes, by number.
    ended
        Jobs that have left the schedule since, or that have no place in it; not written yet.
    """

    machine: Machine
    jobs: dict[int, Job]
    processes: dict[int, Job] = field(default_factory=dict)
    ended: list[Job] = field(default_factory=list)

    def leave(self, job: Job, state: JobState, instant: int) -> None:
        """Take a job out as ended at an instant."""
        del self.jobs[job.id]
        self.processes.pop(job.id, None)
        self.machine.run_times.pop(job.id, None)
        job.state, job.finished, job.offer, job.answer_by = state, instant, None, None
        self.ended.append(job)


def restored(jobs: list[Job], schedule: S3, runner: Runner, *, version: int, last_id: int) -> Restored:
    """Put the active jobs of a store on a fresh schedule, as of its now."""
    now = schedule.now
    result = Restored(Machine(schedule), {job.id: job for job in jobs})
    entries: list[Entry] = []
    run_times: dict[int, int] = {}
    for job in jobs:
        request = job.request
        lasts = request.walltime if request.kind == "reservation" and not request.lapses else request.run_time
        if job.state == "running" and job.start > now:
            # It started by a clock ahead of the restored one. It holds its processors now, and for its walltime.
            job.start, job.due = now, now + request.walltime
            job.promise = min(job.promise, now)
        if job.state == "running" and lasts is None and not runner.was_begun(job):
            # The service ended after recording the start and before making it. If started now, the job would lose the
            # elapsed part of its walltime; like a missed start, it is planned again, unless it was cancelled.
            if job.being_ended:
                job.remark(job.no_longer())
                result.leave(job, "cancelled", now)
                continue
            job.state = "queued"
        if job.state == "reserved" and request.lapses and job.start < now:
            result.leave(job, end_by_itself(job), job.start)  # planned again, it would hold processors for no one
            continue
        if job.state == "running" and (end := _ended_while_away(job, lasts, runner, now)) is not None:
            result.leave(job, job.state, end)
            continue
        if lasts is not None:
            run_times[job.id] = lasts
        elif job.state == "running":
            result.processes[job.id] = job
            if job.being_ended:
                runner.cancel(job)  # the cancellation was answered before the restart, but perhaps not carried out
        entries.append(
            Entry(
                job.id, request.processors, request.walltime, job.submitted, job.start, job.promise,
                cast(State, job.state), job.due, request.start or 0, job.priority, request.notice, job.offer,
                job.answer_by, job.offers_from, job.offers_held,
            )
        )  # fmt: skip
    for entry in result.machine.restore(entries, run_times, version=version, last_id=last_id):
        job = result.jobs[entry.id]
        job.remark(f"needs {entry.processors} processors, but the machine has {schedule.processors}")
        result.leave(job, "cancelled", now)
    return result


def missed_starts(jobs: Mapping[int, Job], schedule: S3, clock: Clock, pulse: Pulse) -> str | None:
    """Return why due processes were not started: the service was stopped, suspended or starved.

    This is an outage like any other. If started as usual, the jobs would lose the elapsed part of their walltime; read
    again from the store, they are planned again, and the broken promises are reported. A service that ran but was slow
    breaks no promise: it starts them late, unless most of a walltime would be lost.
    """
    now, late = clock.now(), int(LATE_SECONDS * max(1.0, clock.speed))
    if now - schedule.now <= late or schedule.first_start() >= now - late:
        return None
    due = [job for job in jobs.values() if job.state in ("queued", "reserved") and job.start < now - late]
    missed = [job for job in due if job.request.actuator == "process"]
    if not missed:
        return None
    first = min(job.start for job in missed)
    paused = pulse.paused(clock.real_time(first))
    ran = pulse.beats and paused < LATE_SECONDS
    slow = ran and all(2 * (now - j.start) <= j.request.walltime for j in missed)
    why = "the service was slow" if ran else DOWN
    log.warning(
        "%s for %d s: jobs %s are started late" if slow else "%s for %d s: jobs %s were not started",
        why,
        now - first,
        [job.id for job in missed[:10]],
        extra={"event": "slow" if slow else "stalled", "jobs": len(missed)},
    )  # fmt: skip
    return None if slow else why


def end_by_itself(job: Job) -> JobState:
    """Return the state in which a simulated job or a reservation ends by itself; a lapsed one gets a message."""
    if job.request.lapses:
        job.remark("lapsed at its start: no job was submitted into it")
        return "cancelled"
    return "timeout" if (job.request.run_time or 0) > job.request.walltime else "completed"


def _ended_while_away(job: Job, lasts: int | None, runner: Runner, now: int) -> int | None:
    """Return when a running job ended during an outage, None if it still runs, and set its state."""
    if lasts is not None:
        end = job.start + min(lasts, job.request.walltime)
        if end > now:
            return None
        job.state = end_by_itself(job)
        return end
    ended = runner.end_of(job)
    return None if ended is None else min(now, max(job.start, ended))
