"""Processes of running jobs: starting, watching and ending them through their directories.

`processes` handles one job's directory; this module knows which jobs have one, the scheduler's clock, and the meaning
of a job's record for its state.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gas.errors import Conflict, GasError
from gas.service import cgroup, processes, wrapper
from gas.service.accounts import Account
from gas.service.cgroup import Cgroups
from gas.service.clock import Clock
from gas.service.jobs import Job, JobState
from gas.service.launcher import Launcher
from gas.service.output import output

__all__ = ["POLL_SECONDS", "Runner", "command_of"]

log = logging.getLogger("gas.s3")

POLL_SECONDS = 0.05
"""Seconds between looks at the records of running processes."""

SETTLE_SECONDS = 1.0
"""Seconds between checks that a process without an end record still has its wrapper."""

STOPPED_SECONDS = 2
"""Seconds past its walltime after which a job that is still there is assumed to have stopped its wrapper."""

CANCEL_SECONDS = wrapper.CANCEL_GRACE + STOPPED_SECONDS
"""The same after a cancellation."""

RECORD_SECONDS = 40
"""Further seconds that a wrapper which is not stopped may take to record the end."""

WORK = "work"
"""Default working directory of a job, within its directory: there it cannot damage the records by accident."""

_STATES: dict[str, JobState] = {
    "walltime": "timeout",
    "cancelled": "cancelled",
    "not started": "failed",
    "lost": "lost",
}


@dataclass(frozen=True)
class Host:
    """The environment of jobs on this host.

    Parameters
    ----------
    launcher
        Starts each job as the Unix user of its name; without it, all jobs run as the user of this process.
    cgroups
        The parent of the jobs' cgroups; None if they have none.
    """

    launcher: Launcher | None = None
    cgroups: Cgroups | None = None


class Runner:
    """Runs the jobs with actuator ``process``, each in its own directory below `directory`.

    Parameters
    ----------
    store
        The identity of the store with these jobs.
    host
        The environment of jobs.
    """

    def __init__(self, directory: Path, clock: Clock, store: str = "", host: Host | None = None) -> None:
        self._directory = directory
        _make_durable(directory)
        self._clock = clock
        self._store = store
        self._host = host or Host()
        self._unstarted: dict[int, str] = {}  # reason why a process could not be handed to a wrapper at all
        self._delayed: dict[int, str] = {}  # reason for a temporary failure, such as a full disk
        self._unknown: set[int] = set()  # jobs whose state the system cannot tell at present
        self._uncancelled: set[int] = set()  # jobs that could not be signalled yet
        self._to_cancel: dict[int, float] = {}  # with the time of the first attempt
        self._overpowered: set[int] = set()
        self._begun: set[int] = set()
        self._settled = 0.0

    def directory_of(self, job: Job) -> Path:
        """Return the directory of a job."""
        return self._directory / job.directory_name

    def begin(self, job: Job) -> None:
        """Start the process of a job, unless it was started before.

        A temporary obstacle does not fail the job: `ended` tries again until its walltime is over.
        """
        if job.id in self._begun:
            return
        self._begun.add(job.id)
        directory = self.directory_of(job)
        kill_at = self._clock.deadline(job.start + job.request.walltime)
        # TERM comes a hundredth of the walltime early, at most 5 s: time to save data.
        notice = min(5.0, job.request.walltime / self._clock.speed / 100)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not job.request.directory and self._host.launcher is None:
                (directory / WORK).mkdir(mode=0o700, exist_ok=True)
            if self._host.cgroups is not None:
                self._host.cgroups.make(directory.name, job.request.processors)
            processes.start_process(
                directory,
                command_of(job, directory, self._account_of(job)),
                terminate_at=kill_at - notice,
                kill_at=kill_at,
                now=self._clock.real_now(),
                facts=job.facts(self._store),
                reach=self._reach(job),
            )
        except (GasError, OSError) as error:
            if processes.is_temporary(error):
                if job.id not in self._delayed:
                    log.warning("job %d cannot be started yet: %s", job.id, error)
                self._delayed[job.id] = str(error)
                self._begun.discard(job.id)
                return
            log.error("job %d could not be started: %s", job.id, error)
            self._unstarted[job.id] = str(error)
        self._delayed.pop(job.id, None)

    def was_begun(self, job: Job) -> bool:
        """Return whether a process was handed to a wrapper, or failed for good, perhaps before a restart.

        If not, no wrapper from before a restart will start it, however late. While the system cannot tell, the answer
        is yes: `ended` checks again. A job whose start is delayed since the last restart also counts: it holds its
        processors, and starts as soon as it can.
        """
        if job.id in self._delayed:
            return True
        directory = self.directory_of(job)
        try:
            if job.id not in self._begun and (processes.was_started(directory) or not processes.withdraw(directory)):
                self._begun.add(job.id)  # so that it is not started again, even if it removes all traces
        except processes.Unknown as error:
            log.warning("job %d: %s", job.id, error)
            return True
        return job.id in self._begun

    def forget(self, id: int) -> None:
        """Forget a job whose end is on disk. Before that, its end may have to be determined again."""
        for each in (self._begun, self._unknown, self._uncancelled, self._overpowered):
            each.discard(id)
        self._unstarted.pop(id, None)
        self._delayed.pop(id, None)
        self._to_cancel.pop(id, None)

    def ended(self, running: Iterable[Job]) -> list[tuple[int, int]]:
        """Return (instant, id) of the jobs whose processors are free again, and note the end of each."""
        thorough = time.monotonic() > self._settled + SETTLE_SECONDS
        if thorough:
            self._settled = time.monotonic()
        ended = []
        for job in running:
            instant = self.end_of(job, thorough=thorough)
            if instant is not None:
                ended.append((instant, job.id))
            elif job.id in self._to_cancel:
                self.cancel(job)
        return ended

    def end_of(self, job: Job, *, thorough: bool = True) -> int | None:
        """Return when a process ended, and note its end in the job; None while it runs.

        `thorough` also ends the remains of a job whose wrapper was killed, starts one that was not started, and ends
        one whose wrapper does not end it in time.
        """
        never_begun = job.id in self._delayed or job.id in self._unstarted
        try:
            record = self._end_without_start(job) if never_begun else self._look(job, thorough)
            self._unknown.discard(job.id)
        except processes.Unknown as error:
            if job.id not in self._unknown:
                log.warning("job %d is assumed to be still running: %s", job.id, error)
            self._unknown.add(job.id)
            return None
        if not isinstance(record, processes.Ended):
            if thorough and job.id in self._delayed:
                self.begin(job)
            return None
        if (left := self._reach(job).cgroup) is not None:
            cgroup.remove(left)
        job.state = _STATES.get(record.reason, "completed" if record.exit_status == 0 else "failed")
        job.exit_status, job.signal = record.exit_status, record.signal
        by = job.no_longer()
        job.remark(by if job.state == "cancelled" else None)
        job.remark(record.message)
        return self._clock.instant(record.end)

    def _look(self, job: Job, thorough: bool) -> processes.Started | processes.Ended | processes.Unreadable | None:
        """Return the state of a job by its directory."""
        directory = self.directory_of(job)
        if not thorough:
            return processes.read_state(directory)
        reach = self._reach(job)
        cancelled = self._to_cancel.get(job.id)
        by_us: Literal["walltime", "cancelled"] = "walltime" if cancelled is None else "cancelled"
        reason = by_us if job.id in self._overpowered else "lost"
        record = processes.settle(directory, begun=job.id in self._begun, reach=reach, reason=reason)
        if record is None and not processes.was_started(directory):
            # Its wrapper died before it could take the job, for example because the disk was full.
            self._begun.discard(job.id)
            self._delayed[job.id] = "no wrapper was available"
            return self._end_without_start(job)
        if not isinstance(record, processes.Ended):
            over = (self._clock.now() - job.start - job.request.walltime) / self._clock.speed - STOPPED_SECONDS
            if cancelled is not None:
                over = max(over, time.monotonic() - cancelled - CANCEL_SECONDS)
            if over > 0:
                self._overpowered.add(job.id)
                processes.overpower(directory, reach, patient=over < RECORD_SECONDS)
        return record

    def _reach(self, job: Job) -> processes.Reach:
        """Return the means by which the processes of a job are started and ended."""
        found = None if self._host.cgroups is None else self._host.cgroups.of(self.directory_of(job).name)
        return processes.Reach(self._host.launcher, job.request.user, found)

    def _account_of(self, job: Job) -> Account | None:
        return None if self._host.launcher is None else self._host.launcher.accounts.of(job.request.user)

    def check(self, job: Job) -> None:
        """Raise `BadInput` if a job can never be started: its command, or its user if each job has its own."""
        command_of(job, self._directory, self._account_of(job))

    def _end_without_start(self, job: Job) -> processes.Ended | None:
        """Return the end of a job without a wrapper; None as long as it may still be started.

        A wrapper may have taken it after all: one from before a restart, or from a helper that did not answer in time.
        """
        reason: Literal["cancelled", "not started"] = "not started"
        if job.id in self._unstarted:
            message = self._unstarted[job.id]
        elif job.id in self._to_cancel:
            reason, message = "cancelled", "cancelled before the command was started"
        elif self._clock.now() >= job.start + job.request.walltime:
            message = f"its walltime ended before it could be started: {self._delayed[job.id]}"
        else:
            return None
        if not processes.withdraw(self.directory_of(job)):
            self._delayed.pop(job.id, None)
            self._unstarted.pop(job.id, None)
            self._begun.add(job.id)
            return None
        now = self._clock.real_time(self._clock.now())
        return processes.Ended(None, None, reason, message, now, now)

    def cancel(self, job: Job) -> None:
        """Terminate a process; `ended` reports it when it is gone."""
        self._to_cancel.setdefault(job.id, time.monotonic())
        if job.id in self._delayed:
            return
        try:
            processes.cancel_process(self.directory_of(job), self._reach(job))
        except GasError as error:
            if job.id not in self._uncancelled:
                log.error("job %d cannot be cancelled yet: %s", job.id, error)
            self._uncancelled.add(job.id)

    def output(self, job: Job, stream: str, limit: int, after: int | None = None) -> bytes:
        """Return the last `limit` bytes of "stdout" or "stderr" of a process, or those from an offset on."""
        if job.request.actuator != "process":
            raise Conflict(f"job {job.id} is not a process ({job.request.actuator}); it has no output")
        return output(self.directory_of(job), stream, limit, after)


def _make_durable(directory: Path) -> None:
    """Make the directory of all jobs, on disk with its name and its parent's: claims depend on it."""
    directory.mkdir(parents=True, exist_ok=True)
    for each in (directory.parent, directory.parent.parent):
        with suppress(OSError):  # an unreadable or odd parent; claims are synced in any case
            wrapper.sync(str(each.resolve()))


def command_of(job: Job, directory: Path, account: Account | None = None) -> processes.Command:
    """Return the command of a job with its size variables; raise `BadInput` if it can never be started.

    `directory` has its records; it runs in a folder below, or in the home of its account, unless it names another.
    """
    request = job.request
    environment = {
        **({} if account is None else account.environment),
        "GAS_JOB_ID": str(job.id),
        "GAS_PROCESSORS": str(request.processors),
        "GAS_WALLTIME": str(request.walltime),
        **request.environment,
        **job.variables,
    }
    usual = str(directory / WORK) if account is None else account.home
    return processes.Command(request.words, environment, request.directory or usual)
