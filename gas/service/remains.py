"""Finds and ends the processes of a job in the process table, without its wrapper.

    wrapper_of       the wrapper that works on a job's directory
    signal_process   send a signal to one process, never to a later one with its pid
    Traces           what identifies the processes of a job
    members, end     the processes; kill all of them

A job's processes descend from its wrapper or are in its session, are in its cgroup, or bear its mark
(``GAS_JOB_DIRECTORY``) in their environment. A process that left the session, cleared its environment and lost its
wrapper is found by the cgroup alone.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from gas.service import cgroup, wrapper
from gas.service.records import Unknown, process_at

__all__ = ["Traces", "end", "members", "signal_process", "wrapper_of"]

_MOST_COMMAND = 2**16
"""Bytes of a command line that are read: a wrapper's has a few hundred."""

_MOST_ENVIRONMENT = 2**23
"""Bytes of an environment that are read; a job's has at most the limit of execve, some 6 MB."""

_ROUNDS = 10
"""Number of times that `end` looks for newly forked processes; a job that forks faster is left to the next call."""


@dataclass(frozen=True)
class Traces:
    """What identifies the processes of a job.

    Parameters
    ----------
    directory
        The job's directory, which is the mark in the environment of its processes.
    wrapper
        Its wrapper, if alive: all its descendants belong to the job.
    group
        Session and process group of its command; None if unknown, or if the session may belong to others by now.
    cgroup
        Its cgroup, if it has one.
    uid
        The user that it runs as: only this user's processes count, because marks can be forged, and because a helper
        that is root does not trust its requests. None if all jobs run as the user of the service.
    """

    directory: Path
    wrapper: wrapper.Process | None = None
    group: tuple[int, int] | None = None
    cgroup: Path | None = None
    uid: int | None = None


def wrapper_of(directory: Path, uid: int | None = None) -> wrapper.Process | None:
    """Return the wrapper of a directory, identified by its command line; `Unknown` if not known at present.

    Parameters
    ----------
    uid
        The user of wrappers, by default this process's: a command line can be forged.
    """
    program, last = os.fsencode(wrapper.__file__), os.fsencode(directory)
    user = [str(os.geteuid() if uid is None else uid).encode()] * 4
    for each in _table():
        if each.lives:
            command = _facts(each.pid, "cmdline", _MOST_COMMAND)
            ours = command.endswith(b"\0" + last + b"\0") and program in command.split(b"\0")
            if ours and _uids(each.pid) == user:
                return each
    return None


def members(traces: Traces) -> list[wrapper.Process]:
    """Return the living processes of a job, without its wrapper; `Unknown` if not known at present."""
    table = [each for each in _table() if each.lives and each.pid != os.getpid()]
    known: set[int] = set()
    if traces.wrapper is not None:
        known = {each.pid for each in wrapper.family(traces.wrapper.pid, table)}
    if traces.cgroup is not None:
        known |= cgroup.pids(traces.cgroup)
    mark = f"\0{wrapper.MARK}={traces.directory}\0".encode(errors="surrogateescape")
    found = []
    for each in table:
        if traces.wrapper is not None and each.pid == traces.wrapper.pid:
            continue
        is_known = each.pid in known or (each.session, each.group) == traces.group
        if _is_of(each, traces.uid) and (is_known or mark in b"\0" + _facts(each.pid, "environ", _MOST_ENVIRONMENT)):
            found.append(each)
    return found


def end(traces: Traces) -> int:
    """Kill the processes of a job, including those forked in the meantime; return their number.

    The wrapper is left alone. A killed process may take a moment to go; once this returns 0, nothing
    of the job is left.
    """
    if traces.cgroup is not None:
        cgroup.kill(traces.cgroup)  # all at once, if the kernel can
    ended: set[tuple[int, int]] = set()
    for _ in range(_ROUNDS):
        new = [each for each in members(traces) if (each.pid, each.ticks) not in ended]
        if not new:
            break
        for each in new:
            ended.add((each.pid, each.ticks))
            signal_process(each.pid, each.ticks, signal.SIGKILL)
    return len(ended)


def signal_process(pid: int, ticks: int, number: signal.Signals) -> bool:
    """Send a signal to the process with this pid and start; return whether there was one.

    The descriptor is opened first and the start compared afterwards: from then on the signal cannot reach another
    process that gets the pid.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except OSError:  # a kernel or sandbox without it: a gap remains between the next two lines
        descriptor = -1
    try:
        found = process_at(pid)
        if found is None or found.ticks != ticks:
            return False
        if descriptor >= 0:
            signal.pidfd_send_signal(descriptor, number)
        else:
            os.kill(pid, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _table() -> list[wrapper.Process]:
    try:
        return wrapper.processes()
    except OSError as error:
        raise Unknown(f"the process table cannot be read at present: {error.strerror}") from error


def _facts(pid: int, name: str, most: int) -> bytes:
    """Return the beginning of a file of a process; nothing if the process is gone or another user's.

    Parameters
    ----------
    most
        Most bytes to read: any user can give a process a command line and an environment of gigabytes.
    """
    try:
        with Path(f"/proc/{pid}/{name}").open("rb", buffering=0) as file:
            pieces: list[bytes] = []
            while most > 0 and (piece := file.read(min(most, 2**16))):
                pieces.append(piece)
                most -= len(piece)
            return b"".join(pieces)
    except OSError as error:
        if error.errno in wrapper.GONE or isinstance(error, PermissionError):
            return b""
        raise Unknown(f"process {pid} cannot be inspected at present: {error.strerror}") from error


def _is_of(each: wrapper.Process, uid: int | None) -> bool:
    # By its status: root owns its files in /proc as soon as it forbids core dumps.
    return uid is None or str(uid).encode() in _uids(each.pid)


def _uids(pid: int) -> list[bytes]:
    """Return the real, effective, saved and file system user of a process."""
    for line in _facts(pid, "status", 2**14).splitlines():
        if line.startswith(b"Uid:"):
            return line.split()[1:]
    return []
