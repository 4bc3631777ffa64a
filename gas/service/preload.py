"""The initial state from a log: its running and waiting jobs at one instant, moved to the present."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from gas.compiled import available
from gas.errors import BadInput
from gas.s3 import Entry, Machine
from gas.s3.replay import replay
from gas.times import parse_duration
from workloads import Log, RigidJobs, apply_overrun, rigid_jobs

__all__ = ["log_instant", "stood"]


def log_instant(log: Log, text: str, processors: int | None = None) -> int:
    """Return the second of a log that a text specifies.

    ``120d`` (and every other duration) counts from second 0 of the log, ``40%`` is a share of the time from its first
    to its last submission, a date and time is one in the log's own time zone, and ``longest-queue`` is the
    submission in the second half of the log at which the most jobs wait while at least a tenth of the machine is free.

    Raises
    ------
    BadInput
        It has none of these forms, or lies outside the log.
    """
    first, last = int(log.submit[0]), int(log.submit[-1])
    given = text.strip()
    if given == "longest-queue":
        return _longest_queue(apply_overrun(rigid_jobs(log, processors), "kill"))
    if match := re.fullmatch(r"(\d{1,3}(?:\.\d*)?)%", given, re.ASCII):
        instant = first + int((last - first) * float(match[1]) / 100)
    elif re.match(r"\d{4}-\d", given):
        try:
            moment = datetime.fromisoformat(given)
        except ValueError:
            raise BadInput(f"--at {given[:40]!r}: is not a date and time; write 1996-12-24T08:00") from None
        instant = int((moment if moment.tzinfo else moment.replace(tzinfo=log.zone)).timestamp()) - log.start_time
    else:
        try:
            instant = parse_duration(given, "--at", minimum=0)
        except BadInput:
            raise BadInput(
                f"--at {given[:40]!r}: is not a time in a log; write 120d (since its start), 40%, 1996-12-24T08:00 "
                "or longest-queue"
            ) from None
    if not first <= instant <= last:
        begins, ends = (datetime.fromtimestamp(log.start_time + s, log.zone).isoformat() for s in (first, last))
        raise BadInput(
            f"--at {given}: is outside {log.name}, which goes from {begins} to {ends} "
            f"(0% to 100%, {first // 86400}d to {last // 86400}d)"
        )
    return instant


def stood(
    log: Log,
    *,
    processors: int | None,
    at: int,
    now: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[Machine, list[tuple[str, Entry, int]], RigidJobs]:
    """Return a machine with the jobs that run and wait at log second `at`, which becomes the instant `now`.

    Each job is a tuple (name, entry, run time); the rigid jobs of the whole log are returned, too, for skipped jobs.
    """
    jobs = apply_overrun(rigid_jobs(log, processors), "kill")
    count = max(1, len(jobs))
    machine = replay(
        jobs,
        processors=jobs.machine,
        until=at,
        offset=now - at,
        machine_code=available(),
        watch=None if progress is None else lambda done, _: progress(done / count),
    )
    standing = [
        (f"no. {jobs.id[id - 1]} in the log", entry, machine.run_times[id])
        for id, entry in machine.schedule.entries.items()
    ]
    machine.run_times = {entry.id: run_time for _, entry, run_time in standing}
    return machine, standing, jobs


def _longest_queue(jobs: RigidJobs) -> int:
    half = len(jobs) // 2
    most, instant = -1, int(jobs.submit[-1])

    def look(done: int, machine: Machine) -> None:
        nonlocal most, instant
        schedule = machine.schedule
        open_hole = 10 * (schedule.processors - schedule.in_use) >= schedule.processors
        if done >= half and open_hole and len(schedule.queued) > most:
            most, instant = len(schedule.queued), int(jobs.submit[done])

    replay(jobs, processors=jobs.machine, until=int(jobs.submit[-1]), machine_code=available(), watch=look)
    return instant
