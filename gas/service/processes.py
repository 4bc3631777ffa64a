"""The processes of S³'s jobs on this machine: starting, watching and cancelling their wrappers.

    start_process    pass a command to its own wrapper (`gas.service.wrapper`)
    was_started      whether this was ever done
    withdraw         keep every wrapper, however late it starts, from a waiting job
    settle           the state of a job; ends a job whose wrapper was killed
    cancel_process   terminate it, also before its wrapper has started
    overpower        end a job that its wrapper does not end in time
    Reach            the means to start and end the processes of a job
    read_state, alive, job_environment, reap_wrappers

If the system cannot tell the state of a job (no descriptors left), these raise `Unknown` and change nothing.
All knowledge of a job is in its directory, so after a restart the service calls the same functions as before. Starting
twice is harmless: the first to create ``claim.json``, a wrapper, a cancellation or a withdrawal, claims the job. Only
Linux has the required ``/proc``.

A service that was killed may have started a wrapper that leaves no trace for a while, so the contents of a directory
do not tell what will happen; a claim does. Therefore a waiting job either has no ``job.json``, without which a wrapper
starts nothing, or is withdrawn: what is known about it stays true.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gas.errors import GasError, Missing
from gas.service import cgroup, remains, wrapper
from gas.service.command import Command, job_environment
from gas.service.launcher import Launcher
from gas.service.output import last_words
from gas.service.records import (
    CANCELLED,
    WITHDRAWN,
    Ended,
    Started,
    Unknown,
    Unreadable,
    alive,
    boot_now,
    claim_of,
    is_running,
    process_at,
    read_state,
)
from gas.service.remains import signal_process, wrapper_of

__all__ = [
    "Command",
    "Ended",
    "Reach",
    "Started",
    "Unknown",
    "Unreadable",
    "alive",
    "cancel_process",
    "is_temporary",
    "job_environment",
    "overpower",
    "read_state",
    "reap_wrappers",
    "settle",
    "start_process",
    "was_started",
    "withdraw",
]

_TRACES = (wrapper.CLAIM, wrapper.STARTED, wrapper.ENDED, "stdout")
"""Files in the directory of a job only if a wrapper (or a cancellation) took it."""


_CANCELLED_CLAIM: dict[str, object] = {"pid": CANCELLED, "ticks": 0, "boot": ""}


@dataclass(frozen=True)
class Reach:
    """The means to start and end the processes of a job.

    Parameters
    ----------
    launcher
        The helper that starts each job as its own Unix user; without it, this process starts them as its own user.
    user
        The Unix user of the job; only a launcher needs it.
    cgroup
        The job's cgroup, if it has one.
    """

    launcher: Launcher | None = None
    user: str = ""
    cgroup: Path | None = None


_ALONE = Reach()


# --------------------------------------------------------------------------------------------------------- starting


class _Wrapper(subprocess.Popen[bytes]):
    """A child that is meant to outlive this process, without a warning."""

    def __del__(self) -> None:
        """Omit the ResourceWarning of a Popen that is dropped while its process runs."""


_wrappers: list[_Wrapper] = []
_wrappers_lock = threading.Lock()


def start_process(
    job_directory: Path,
    command: Command,
    *,
    terminate_at: float,
    kill_at: float,
    now: float | None = None,
    facts: dict[str, Any] | None = None,
    reach: Reach = _ALONE,
) -> None:
    """Hand a command to a wrapper, which starts it within some 30 ms; do nothing if that was done before.

    The wrapper is an ordinary child, collected by `reap_wrappers`, in a session of its own. (A double fork would leave
    the collecting to pid 1, which does not do it in many containers, nor if it is this service.)

    Parameters
    ----------
    job_directory
        Created if missing. It must belong to this job alone and be on a local file system.
    terminate_at, kill_at
        Epoch seconds at which the wrapper sends TERM and KILL.
    now
        The present by the clock of these times; by default the wall clock's.
    facts
        Further facts on the job for the directory (`Job.facts`).

    Raises
    ------
    GasError
        The directory cannot be written, or no process can be made. Errors in the command itself are reported in an end
        record (``not started``).
    """
    if not Path("/proc/self/stat").exists():
        raise Missing("actuator process: needs Linux (/proc); use the actuator simulated here")
    reap_wrappers()
    try:
        job_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        job_directory = _place(job_directory)
        withdrawn = _is_withdrawn(job_directory)
        if any(_is_there(job_directory / name) for name in _TRACES if not (withdrawn and name == wrapper.CLAIM)):
            return
        record: dict[str, object] = {
            "command": list(command.arguments),
            "environment": job_environment(command.environment, os.environ),
            "directory": str(Path(command.directory).absolute()),
            "clock_offset": wrapper.clock() - (time.time() if now is None else now),
            "terminate_at": terminate_at,
            "kill_at": kill_at,
            "facts": facts or {},
            "cgroup": None if reach.cgroup is None else str(reach.cgroup),
        }
        # The wrapper syncs it, and the directory's own name, before it starts the command: no need to wait here.
        wrapper.write_record(str(job_directory / wrapper.JOB), record, durable=False)
        if withdrawn:  # an older wrapper that takes the job from here on finds the present command
            (job_directory / wrapper.CLAIM).unlink()
        if reach.launcher is not None:
            reach.launcher.start(job_directory.name, reach.user)
        else:
            _start_wrapper(job_directory)
    except OSError as error:
        raise GasError(f"job directory {job_directory}: the job cannot be started there: {error}") from error


def _start_wrapper(job_directory: Path) -> None:
    create = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(job_directory / "wrapper.log", create, 0o600), "ab") as log:
        process = _Wrapper(
            [*wrapper.program(), str(job_directory)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
            close_fds=True,  # also the service's listening socket, which uvicorn makes inheritable
        )
    with _wrappers_lock:
        _wrappers.append(process)


def reap_wrappers() -> None:
    """Collect the wrappers that have ended, so that no zombies are left; `start_process` and `settle` do so too."""
    with _wrappers_lock:
        _wrappers[:] = [each for each in _wrappers if each.poll() is None]


def was_started(job_directory: Path) -> bool:
    """Return whether `start_process` ever made a wrapper for a job: it left a record, or is about to.

    A job that was withdrawn since counts as not started.
    """
    if _is_withdrawn(job_directory):
        return False
    if any(_is_there(job_directory / name) for name in _TRACES) or wrapper_of(_place(job_directory)) is not None:
        return True
    # It may have written its record between the two checks.
    return _is_there(job_directory / wrapper.CLAIM)


def withdraw(job_directory: Path) -> bool:
    """Keep every wrapper from starting a job that was not started; return False if one has taken it.

    `start_process` reverses it. It needs no disk space, and nothing is synced: no wrapper survives a power failure.

    Raises
    ------
    Unknown
        It is not possible at present.
    """
    if not _is_there(job_directory / wrapper.JOB):
        return True
    try:
        os.link(job_directory / wrapper.JOB, job_directory / wrapper.CLAIM)
    except FileExistsError:
        return _is_withdrawn(job_directory)
    except OSError as error:
        if error.errno in wrapper.GONE:
            return True
        raise Unknown(f"{job_directory}: the job cannot be withdrawn from its wrapper: {error.strerror}") from error
    return True


def _is_withdrawn(job_directory: Path) -> bool:
    claim = claim_of(job_directory)
    return claim is not None and claim[0] == WITHDRAWN


def is_temporary(error: BaseException) -> bool:
    """Return whether an error of `start_process` is temporary (disk, descriptors or memory full), not one of the job.

    A job whose state is unknown at present counts as temporary too.
    """
    if isinstance(error, Unknown):
        return True
    cause = error if isinstance(error, OSError) else error.__cause__
    return isinstance(cause, OSError) and cause.errno in wrapper.PASSING


# --------------------------------------------------------------------------------------------------------- watching


def settle(
    job_directory: Path,
    *,
    begun: bool = False,
    reach: Reach = _ALONE,
    reason: Literal["lost", "walltime", "cancelled"] = "lost",
) -> Started | Ended | Unreadable | None:
    """Return the state of a job, after ending it if its wrapper cannot.

    A wrapper that was killed (by hand, out of memory, with the machine) leaves a job without an end record and without
    a walltime. The remaining processes of such a job are killed here; once none is left, the end record is written in
    place of the wrapper, with the reason ``lost``, or another if `overpower` killed the wrapper. Repeated calls
    therefore lead to an `Ended` for every job that a wrapper ever took. None means that no wrapper did, or that the job
    was withdrawn: `start_process` may be called (again).

    A job may remove its own directory. `begun` means that `start_process` was called for this job: without wrapper and
    records it is then lost, unless its ``job.json`` shows that its wrapper died before it could take the job.
    """
    reap_wrappers()
    state = read_state(job_directory)
    if isinstance(state, Ended):
        return state
    claim = claim_of(job_directory)
    if claim is not None and claim[0] == WITHDRAWN:
        return None
    if (claim is not None and is_running(*claim)) or (isinstance(state, Started) and alive(state)):
        return state
    place = _place(job_directory)
    if wrapper_of(place) is not None:  # it has not made its claim yet, or the job has removed or damaged that
        # Never None: when the caller acts on that, the wrapper may have run the job and ended.
        return state or Unreadable(job_directory, "has a wrapper but no records (any more)")
    taken = claim is not None or state is not None or _is_there(job_directory / wrapper.CLAIM)
    if not taken and not (begun and _has_run(job_directory)):
        return None
    # It may have written its last record between the two reads.
    state = read_state(job_directory)
    if isinstance(state, Ended):
        return state
    if _end(place, state, None, reach):
        return state or Unreadable(
            job_directory, "the records were removed; the remaining processes of the job are being killed"
        )
    now = time.time()
    if claim is not None and claim[0] == CANCELLED:
        record = wrapper.end_record("cancelled", now, now, message="cancelled before the command was started")
    else:
        began = state.start if isinstance(state, Started) else now
        message = f"its wrapper was killed, or the machine was restarted; {last_words(job_directory)}"
        if not taken:
            message = (
                f"its directory {job_directory} was removed, or the records in it, probably by the job itself; its "
                "outcome is not known"
            )
        if isinstance(state, Unreadable):
            message += f"; {state.path}: {state.problem}"
        ends_as: str = reason
        if reason != "lost":
            message = f"its wrapper could not end it, so the service killed it; {last_words(job_directory)}"
            if reason == "walltime" and not isinstance(state, Started) and not _is_there(job_directory / "stdout"):
                ends_as, message = "not started", "its wrapper had not started it by the end of its walltime"
        record = wrapper.end_record(ends_as, began, max(began, now), message=message)
    with contextlib.suppress(OSError):  # a full disk must not block the processors; the next call retries
        wrapper.write_record(str(job_directory / wrapper.ENDED), record)
    return Ended(**record)  # type: ignore[arg-type]  # the keys of an end record are these fields


# ------------------------------------------------------------------------------------------------------- cancelling


def cancel_process(job_directory: Path, reach: Reach = _ALONE) -> bool:
    """Terminate a job (TERM, KILL 2 s later); return whether there was anything left to cancel.

    A job whose wrapper has not started yet never runs. The end is recorded later, see `settle`.

    Raises
    ------
    GasError
        The directory cannot be written, which is needed only to cancel a job without a wrapper.
    """
    if isinstance(read_state(job_directory), Ended):
        return False
    claimed, problem = False, None
    try:
        wrapper.take(str(_place(job_directory)), _CANCELLED_CLAIM)
        claimed = True
    except OSError as error:
        if error.errno != errno.EEXIST and error.errno not in wrapper.GONE:
            problem = error
    # Despite the claim made just now there may be a wrapper: it comes too late, or its claim was removed.
    owner = _owner(job_directory)
    if owner is not None and signal_process(owner.pid, owner.ticks, signal.SIGTERM):
        signal_process(owner.pid, owner.ticks, signal.SIGCONT)  # the job may have stopped it
        return True
    if problem is not None:
        message = f"job directory {job_directory}: the job cannot be cancelled there: {problem}"
        raise GasError(message) from problem
    return not isinstance(settle(job_directory, reach=reach), Ended | None) or claimed


def overpower(job_directory: Path, reach: Reach = _ALONE, *, patient: bool = True) -> None:
    """End a job that its wrapper has not ended in time, because the job stops it repeatedly (SIGSTOP).

    First the job's processes are killed and the wrapper is woken: it writes the end record with the signal. A wrapper
    that stays stopped is killed when no other process of the job is left; then `settle` writes the record.

    Parameters
    ----------
    patient
        Spare a wrapper that is not stopped: it may be waiting for space on a full disk.
    """
    owner = _owner(job_directory)
    if owner is None:
        return
    if not _end(_place(job_directory), read_state(job_directory), owner, reach):
        found = process_at(owner.pid)
        if not patient or (found is not None and found.state in "Tt"):
            signal_process(owner.pid, owner.ticks, signal.SIGKILL)
    signal_process(owner.pid, owner.ticks, signal.SIGCONT)


# -------------------------------------------------------------------------------------------- records and processes


def _place(job_directory: Path) -> Path:
    """Return the full path of a job's directory, even if the job has replaced it by something else."""
    return job_directory.parent.resolve() / job_directory.name


def _is_there(path: Path) -> bool:
    """Return whether a file of this name exists, even in a directory that the job has made unreadable."""
    try:
        os.lstat(path)
    except PermissionError:
        return True
    except OSError as error:
        if error.errno in wrapper.GONE:
            return False
        raise Unknown(f"{path}: cannot be inspected at present: {error.strerror}") from error
    return True


def _has_run(job_directory: Path) -> bool:
    """Return whether a job without records whose wrapper is gone has run.

    The input of its wrapper still exists only if the wrapper did not get far enough to let the job remove it.
    """
    return not _is_there(job_directory / wrapper.JOB) or _is_there(job_directory / "stdout")


def _owner(job_directory: Path) -> wrapper.Process | None:
    """Return the wrapper of a job: by its claim, or by its name if that is missing or damaged."""
    claim = claim_of(job_directory)
    if claim is not None and is_running(*claim):
        return process_at(claim[0])
    return wrapper_of(_place(job_directory))


def _end(place: Path, state: Started | Ended | Unreadable | None, owner: wrapper.Process | None, reach: Reach) -> int:
    """Kill the processes of a job except its wrapper; return their number."""
    group = _group(state)
    if reach.launcher is None:
        return remains.end(remains.Traces(place, owner, group, reach.cgroup))
    try:
        found = reach.launcher.end(place.name, reach.user, owner, group)
    except GasError as error:  # the user may be deleted: whether processes are left is unknown
        raise Unknown(f"{place}: the remaining processes of the job cannot be killed: {error}") from error
    if reach.cgroup is not None and (left := cgroup.pids(reach.cgroup)):
        cgroup.kill(reach.cgroup)
        found += len(left)
    return found


def _group(started: object) -> tuple[int, int] | None:
    """Return session and process group of a job's command; None if they may belong to others by now."""
    if not isinstance(started, Started) or started.boot != boot_now():
        return None
    # The kernel does not reuse a pid that is the number of a session, so a reused one means an empty session.
    reused = process_at(started.wrapper_pid)
    if reused is not None and reused.ticks != started.wrapper_ticks:
        return None
    return started.wrapper_pid, started.process_group
