"""Runs one command until none of its processes is left, independently of the service that started it.

A separate program, one process per job: ``python -I -S -X utf8 wrapper.py [ACCOUNT] DIRECTORY``. It uses only the
standard library, and as little of it as possible (no pathlib, contextlib, dataclasses, typing), because every job waits
for its start. Its files in DIRECTORY:

    job.json       read: command, environment, directory, terminate_at, kill_at (epoch seconds), clock_offset, cgroup
    claim.json     who took the job: created only once, so that a command runs at most once, however often it is
                   started; on disk, with the directories that lead to it, before the command starts (`take`)
    started.json   wrapper and command by pid, and when the command started
    ended.json     how it ended; written when no process of the job is left, and the last thing that happens
    stdout, stderr what the command printed

Records appear atomically (written under another name, synced, renamed). After a power failure, a job without a claim
never ran, and one with a claim may have run and is not started again. The time for the disk counts as walltime, which
begins with the planned start.

    exits by itself ── leftovers get 0.1 s, then TERM, 1 s later KILL ──┐
    walltime        ── TERM at terminate_at, KILL at kill_at ───────────┼── nothing left ── ended.json
    TERM to wrapper ── TERM, 2 s later (at most kill_at) KILL ──────────┘

Signals go to all descendants of the command. As a *child subreaper* the wrapper inherits every orphan below it, so that
it also finds a process that leaves the group by setsid or double fork, and "no child left" means "nothing left".
Otherwise (an old kernel, a sandbox) it finds only processes in its session. A process that it may not kill, or that
does not die, keeps it waiting: its processors are not free.

ACCOUNT (``UID:GID:GROUP,...``) is the Unix user that the command becomes; `gas.service.launcher` has given the wrapper
the capabilities for that. It never comes from DIRECTORY.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

JOB, CLAIM, STARTED, ENDED = "job.json", "claim.json", "started.json", "ended.json"

MARK = "GAS_JOB_DIRECTORY"
"""A variable in the environment of every job: it identifies a job's processes if the wrapper was killed."""

LINGER = 0.1  # seconds for leftovers to end by themselves: a `tee` after the command still has lines to write
LEFTOVER_GRACE = 1.0  # seconds between TERM and KILL for leftovers
CANCEL_GRACE = 2.0  # seconds between TERM and KILL of a cancelled job

GONE = (errno.ENOENT, errno.ESRCH, errno.ENOTDIR)
"""Errors which show that a file or a process does not exist; others (EMFILE, ENOMEM) show nothing about it."""

PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT)
"""Temporary errors: a retry may succeed."""

_EXEC_PATIENCE = 5.0  # seconds to wait for the exec of the command, after which it counts as started anyway
_LOOK = 5.0  # longest interval between two looks at the clock, in seconds
_RECORD_PATIENCE = 30.0  # seconds of attempts to write the end record: a job may have filled the disk
_NEVER = float("inf")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_CAP_AMBIENT = 1, 36, 47
_AMBIENT_RAISE, _AMBIENT_CLEAR_ALL = 2, 4
_CAPABILITY_VERSION = 0x20080522
CAP_CHOWN, CAP_KILL, CAP_SETGID, CAP_SETUID = 0, 5, 6, 7


# ---------------------------------------------------------------------------------------------------------- deciding


class Deadlines:
    """The next action on a job and its time, from times and events alone.

    Parameters
    ----------
    terminate_at, kill_at
        Seconds on the clock of the callers of `step`.
    """

    def __init__(self, terminate_at: float, kill_at: float) -> None:
        self.terminate_at = terminate_at
        self.kill_at = kill_at
        self.reason = "exited"
        self.exited = False
        self._kill_pause = 0.001

    def cancel(self, now: float) -> None:
        """Begin to end the job now; ignored if its end has begun already."""
        if self.exited or self.reason != "exited":
            return
        self.reason = "cancelled"
        self.terminate_at = min(self.terminate_at, now)
        self.kill_at = min(self.kill_at, now + CANCEL_GRACE)

    def command_ended(self, now: float, killed: bool = False) -> None:
        """Record that the command itself has ended; from now on the deadlines apply to its remaining processes.

        If it was `killed` after its time, the service has ended it because it had stopped its wrapper.
        """
        if killed and self.reason == "exited" and now >= min(self.terminate_at, self.kill_at):
            self.reason = "walltime"
        self.exited = True
        self.terminate_at = min(self.terminate_at, now + LINGER)
        self.kill_at = min(self.kill_at, now + LINGER + LEFTOVER_GRACE)

    def step(self, now: float) -> int:
        """Return the signal that is due, 0 for none. KILL is due repeatedly, at growing intervals."""
        if now < min(self.terminate_at, self.kill_at):
            return 0
        if not self.exited and self.reason == "exited":
            self.reason = "walltime"
        if now >= self.kill_at:
            self.kill_at = now + self._kill_pause
            self._kill_pause = min(0.25, 2 * self._kill_pause)
            return signal.SIGKILL
        self.terminate_at = _NEVER
        return signal.SIGTERM

    def pause(self, now: float) -> float:
        """Return the seconds until an action is due."""
        return max(0.0, min(self.terminate_at, self.kill_at) - now)


def why_not(error: Exception, arguments: list[str], directory: str, path: str | None) -> str:
    """Return a sentence for the owner of a job whose command could not be started.

    Parameters
    ----------
    directory
        The working directory of the job.
    path
        The PATH of its environment.
    """
    name = arguments[0]
    if not os.path.isdir(directory):
        problem = "is not a directory" if os.path.lexists(directory) else "does not exist"
        return f"working directory {directory} {problem}; nothing was started"
    if isinstance(error, FileNotFoundError):
        if "/" not in name:
            return f"{name}: command not found in PATH {path or os.defpath}; give its full path or set PATH"
        if os.path.exists(os.path.join(directory, name)):
            return f"{name}: the interpreter named in its first line (#!) or in the program does not exist"
        return f"{name}: no such file (seen from {directory})"
    if isinstance(error, PermissionError):
        if not os.access(directory, os.X_OK):
            return f"working directory {directory} may not be entered: permission denied"
        return f"{name}: permission denied; is it an executable file (chmod +x)?"
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return f"{name}: neither a program of this machine nor a script whose first line names its interpreter (#!)"
    return f"{name}: could not be started: {error}"


# ----------------------------------------------------------------------------------------------------------- records


def write_record(path: str, record: dict[str, object], *, once: bool = False, durable: bool = True) -> None:
    """Write a JSON record that appears whole or not at all.

    Parameters
    ----------
    once
        Raise FileExistsError, and leave the record that is there, if there is one.
    durable
        Survive a power failure too.
    """
    aside = f"{path}.{os.urandom(6).hex()}.tmp"
    file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            data = json.dumps(record).encode()
            while data:
                data = data[os.write(file, data) :]
            if durable:
                os.fsync(file)
        finally:
            os.close(file)
        if once:
            os.link(aside, path)
            os.unlink(aside)
        else:
            os.rename(aside, path)
    except BaseException:
        try:
            os.unlink(aside)
        except OSError:
            pass  # the job may have removed its directory; the first error is reported
        raise
    if durable:
        try:
            sync(os.path.dirname(path) or ".")
        except FileNotFoundError:
            return  # it appeared, and the job has since removed it with its directory


def sync(path: str) -> None:
    """Make the contents of a file, or the names in a directory, survive a power failure."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system without it for directories
            raise
    finally:
        os.close(handle)


def take(directory: str, claim: dict[str, object]) -> None:
    """Create the claim to a job, on disk with the directories above it; after an error there is none.

    All names are made before the first sync, so that one commit of a file system's journal covers them.

    Raises
    ------
    FileExistsError
        The job was taken before; that claim stays.
    OSError
        It could not be put on disk.
    """
    path = os.path.join(directory, CLAIM)
    write_record(path, claim, once=True, durable=False)
    try:
        sync(path)
        try:
            sync(os.path.join(directory, JOB))
        except FileNotFoundError:
            pass  # a cancellation may come first
        sync(directory)
        sync(os.path.dirname(directory))
    except OSError:
        try:
            os.unlink(path)  # nothing was started by it
        except OSError:
            pass
        raise


def end_record(
    reason: str, start: float, end: float, *, status: int | None = None, message: str | None = None
) -> dict[str, object]:
    """Return the record of an end.

    Parameters
    ----------
    reason
        ``exited``, ``walltime``, ``cancelled``, ``not started`` or ``lost`` (`gas.service.processes.settle`).
    start, end
        Epoch seconds.
    status
        The exit status, or minus the number of the signal that ended the command; None if it is not known.
    """
    killed = status is not None and status < 0
    return {
        "exit_status": None if killed else status,
        "signal": signal_name(-status) if status is not None and killed else None,
        "reason": reason,
        "message": message[:2000] if message else None,
        "start": start,
        "end": end,
    }


def signal_name(number: int) -> str:
    """Return the usual name of a signal, ``SIGTERM`` or ``SIGRTMIN+3``."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


# --------------------------------------------------------------------------------------------------------- processes


class Process:
    """One line of the process table.

    `ticks`, the start in clock ticks since boot, distinguishes a process from a later one with the same pid.
    """

    __slots__ = ("group", "parent", "pid", "session", "state", "ticks")

    def __init__(self, pid: int, state: str, parent: int, group: int, session: int, ticks: int) -> None:
        self.pid = pid
        self.state = state
        self.parent = parent
        self.group = group
        self.session = session
        self.ticks = ticks

    @property
    def lives(self) -> bool:
        """Whether it is alive and not a zombie (which pid 1 of many containers never reaps)."""
        return self.state not in "ZXx"


def process(pid: int) -> Process | None:
    """Return a process by its pid, None if there is none; OSError if not known at present."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError as error:
        if error.errno in GONE:
            return None
        raise
    fields = text[text.rindex(b")") + 2 :].split()  # a name may contain spaces and brackets
    return Process(pid, fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def processes() -> list[Process]:
    """Return the process table, without processes hidden from this user; OSError if not known at present."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                each = process(int(name))
            except PermissionError:
                continue
            if each is not None:
                found.append(each)
    return found


def patient_processes() -> list[Process]:
    """Return the process table; wait as long as the system lacks descriptors or memory for it."""
    while True:
        try:
            return processes()
        except OSError:
            time.sleep(0.05)


def boot_identity() -> str:
    """Return an identifier of this boot of the machine: pids and ticks start again with each boot.

    Empty if a sandbox hides it; OSError if it cannot be read at present.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError as error:
        if error.errno in GONE or isinstance(error, PermissionError):
            return ""
        raise


def family(ancestor: int, table: list[Process]) -> list[Process]:
    """Return the living descendants of a process, and those in its session, without itself."""
    children: dict[int, list[Process]] = {}
    for each in table:
        children.setdefault(each.parent, []).append(each)
    members = {each.pid: each for each in table if each.session == ancestor}
    waiting = [ancestor, *members]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            members[child.pid] = child
            waiting.append(child.pid)
    return [each for each in members.values() if each.lives and each.pid != ancestor]


def send(number: int) -> None:
    """Send a signal to everything below this process.

    By group, so that no member can escape by forking. A group of a descendant contains
    descendants only: no other process can join it, since sessions are inherited.
    """
    own = os.getpgrp()
    members = family(os.getpid(), patient_processes())
    targets = {-each.group if each.group != own else each.pid for each in members}
    for target in targets:
        try:
            os.kill(target, number)
        except (ProcessLookupError, PermissionError):
            pass  # gone meanwhile; or another user's (a setuid program), which keeps the job from ending


# ---------------------------------------------------------------------------------------------------------- one job


def clock() -> float:
    """Return seconds that are independent of the wall clock; suspended time counts."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def program() -> list[str]:
    """Return the command of a wrapper without its last argument, the directory."""
    # Isolated (no PYTHON* variables, no user site) and without site; UTF-8 in any locale.
    return [sys.executable, "-I", "-S", "-X", "utf8", __file__]


def load_libc() -> ctypes.CDLL | None:
    """Return the C library if it has prctl, else None."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return libc if hasattr(libc, "prctl") else None
    except OSError:
        return None


def keep_capabilities(libc: ctypes.CDLL, *kept: int, over_exec: bool = False) -> None:
    """Drop all capabilities of this process except some; `over_exec` keeps these for the program that it executes."""
    mask = sum(1 << each for each in kept)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    data = (ctypes.c_uint32 * 6)(mask, mask, mask if over_exec else 0, 0, 0, 0)  # effective, permitted, inheritable
    done = libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 and libc.capset(header, data) == 0
    for each in kept if over_exec else ():
        done = done and libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, each, 0, 0) == 0
    if not done:
        raise OSError(ctypes.get_errno(), "capabilities cannot be set")


def become_user(libc: ctypes.CDLL, account: str) -> None:
    """Make this process run as a Unix user, without capabilities and with the limits of a login."""
    import resource  # only if jobs have their own users

    uid, gid, groups = account.split(":")
    os.setgroups([int(each) for each in groups.split(",") if each])
    os.setresgid(int(gid), int(gid), int(gid))
    os.setresuid(int(uid), int(uid), int(uid))
    keep_capabilities(libc)
    for what, usual in ((resource.RLIMIT_NOFILE, 1024), (resource.RLIMIT_CORE, 0)):
        most = resource.getrlimit(what)[1]
        resource.setrlimit(what, (usual if most == resource.RLIM_INFINITY else min(usual, most), most))
    os.umask(0o022)
    if 0 in (*os.getresuid(), *os.getresgid(), *os.getgroups()):
        raise PermissionError(errno.EPERM, "no job runs as root")


def start(job: dict[str, Any], directory: str, libc: ctypes.CDLL | None, account: str = "") -> tuple[int, int]:
    """Start the command of a job in a process group of its own.

    Parameters
    ----------
    account
        The Unix user that it runs as; this process's own if empty.

    Returns
    -------
    pid, report
        `report` is a file descriptor: a sentence can be read from it if the command could not be started, nothing if
        it could.
    """
    create = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
    files = [
        os.open(os.devnull, os.O_RDONLY),
        os.open(os.path.join(directory, "stdout"), create, 0o600),
        os.open(os.path.join(directory, "stderr"), create, 0o600),
    ]
    if account:  # the file belongs to the user, whose quota pays; the service's group may read it
        for file in files[1:]:
            os.fchmod(file, 0o640)
            os.fchown(file, int(account.split(":")[0]), -1)
    report, writer = os.pipe()
    wrapper = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _become(job, files, libc, wrapper, account)
        except BaseException as error:
            os.write(writer, str(error).encode("utf-8", "backslashreplace")[:4000])
        finally:
            os._exit(127)
    os.close(writer)
    for file in files:
        os.close(file)
    try:
        os.setpgid(pid, pid)  # the child does the same; either way the group exists from here on
    except OSError:
        pass
    return pid, report


def _become(job: dict[str, Any], files: list[int], libc: ctypes.CDLL | None, wrapper: int, account: str) -> None:
    """Turn this process, just forked, into the command of a job; on failure it raises."""
    arguments, environment, directory = job["command"], job["environment"], job["directory"]
    try:
        os.setpgid(0, 0)
        if job.get("cgroup"):
            write_to(os.path.join(job["cgroup"], "cgroup.procs"), b"0")
        if account and libc is None:
            raise OSError(errno.ENOSYS, "the C library cannot set capabilities")
        if account and libc is not None:
            become_user(libc, account)  # before the following calls, which a change of user would undo
        if libc is not None:
            # Without the wrapper nothing enforces the walltime, so the command ends with it.
            libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            if os.getppid() != wrapper:
                os._exit(127)
        for number in signal.valid_signals():
            try:
                signal.signal(number, signal.SIG_DFL)  # nohup and Python ignore some, and exec would pass that on
            except (OSError, ValueError):
                pass
        for standard, file in enumerate(files):
            os.dup2(file, standard)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.chdir(directory)
        os.execvpe(arguments[0], arguments, environment)
    except Exception as error:
        raise RuntimeError(why_not(error, arguments, directory, environment.get("PATH"))) from error


def write_to(path: str, data: bytes) -> None:
    """Write to a file of a cgroup, if this is possible: jobs also run and end without a cgroup."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(file, data)
    except OSError:
        pass
    finally:
        os.close(file)


def supervise(command: int, deadlines: Deadlines, subreaper: bool, cgroup: str | None = None) -> int | None:
    """Wait until no process of a job is left; send signals when they are due.

    Returns
    -------
    status
        Of the command: its exit status or minus the number of a signal; None if it was collected by an earlier call.
    """
    status = None
    wanted = None
    while True:
        childless = False
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == command:
                    status = os.waitstatus_to_exitcode(ended[1])
                    killed = status == -signal.SIGKILL
                    if killed and wanted is not None and wanted.si_signo in _CANCELLING:
                        deadlines.cancel(clock())
                    deadlines.command_ended(clock(), killed)
        except ChildProcessError:
            childless = True
        if childless and (subreaper or not family(os.getpid(), patient_processes())):
            return status
        # By name: CPython returns an invalid siginfo when it is stopped and continued after the timeout.
        if wanted is not None and wanted.si_signo in _CANCELLING:
            deadlines.cancel(clock())
        due = deadlines.step(clock())
        if due:
            if due == signal.SIGKILL and cgroup:
                write_to(os.path.join(cgroup, "cgroup.kill"), b"1")  # all at once, forks too
            send(due)
            if due == signal.SIGTERM:
                send(signal.SIGCONT)  # a stopped process would not see the TERM
        # Seconds at most: a wait does not count a suspended machine's sleep; only children cause SIGCHLD.
        limit = 0.02 if childless else _LOOK
        wanted = signal.sigtimedwait(_AWAITED, min(limit, deadlines.pause(clock())))


_CANCELLING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_AWAITED = (signal.SIGCHLD, *_CANCELLING)


def run(directory: str, claim: dict[str, object], account: str = "") -> dict[str, object]:
    """Run the job of a directory, which this process has claimed, and return the record of its end."""
    arrived = time.time()
    try:
        with open(os.path.join(directory, JOB), encoding="utf-8") as file:
            job = json.load(file)
        terminate_at, kill_at = float(job["terminate_at"]), float(job["kill_at"])
        # Times are by the service's clock, which steps of the wall clock do not move; so are all records below.
        offset = float(job.get("clock_offset", clock() - arrived))
        if not (job["command"] and isinstance(job["environment"], dict) and isinstance(job["directory"], str)):
            raise ValueError("the command is empty, or environment or directory is of the wrong type")
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{os.path.join(directory, JOB)} cannot be used: {type(error).__name__}: {error}"
        return end_record("not started", arrived, arrived, message=message)
    arrived = clock() - offset
    late = arrived - kill_at
    if late >= 0:
        message = f"its walltime ended {late:.1f} s before it could be started"
        return end_record("not started", arrived, arrived, message=message)

    deadlines = Deadlines(terminate_at + offset, kill_at + offset)
    libc = load_libc()
    subreaper = libc is not None and libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    job["environment"][MARK] = directory
    command, report = start(job, directory, libc, account)
    if account and libc is not None:
        keep_capabilities(libc, CAP_KILL)
    cgroup = job.get("cgroup")

    started = arrived
    try:
        # Not forever: a working directory on an unavailable file server must not disable the walltime.
        patience = min(_EXEC_PATIENCE, deadlines.pause(clock()))
        answered = bool(select.select([report], [], [], patience)[0])
        message = os.read(report, 4096).decode() if answered else ""
        started = clock() - offset
        if not message:
            record: dict[str, object] = {
                "wrapper_pid": claim["pid"],
                "wrapper_ticks": claim["ticks"],
                "boot": claim["boot"],
                "command_pid": command,
                "process_group": command,
                "start": started,
            }
            # It is used in this boot only, and a slow disk must not delay the walltime.
            write_record(os.path.join(directory, STARTED), record, durable=False)
        status = supervise(command, deadlines, subreaper, cgroup)
        if not answered:
            message = os.read(report, 4096).decode()
        if message:
            return end_record("not started", started, clock() - offset, message=message)
    except Exception as error:
        deadlines.kill_at = clock()
        status = supervise(command, deadlines, subreaper, cgroup)
        message = f"the wrapper failed and killed the command: {type(error).__name__}: {error}"
        return end_record("exited", started, clock() - offset, status=status, message=message)
    return end_record(deadlines.reason, started, clock() - offset, status=status)


def main(directory: str, account: str = "") -> int:
    """Run the job of a directory unless another process has claimed it; return 0 once its end is on record.

    1 means that the job has removed its directory, so no record can be written.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # handled one by one, on request
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # inherited as ignored, it would discard exit statuses
    if os.getpid() != os.getsid(0) and os.getpid() != os.getpgrp():
        os.setsid()
    directory = os.path.realpath(directory)
    own = process(os.getpid())
    claim: dict[str, object] = {
        "pid": os.getpid(),
        "ticks": own.ticks if own else 0,
        "boot": boot_identity(),
        "place": directory,  # a copy of it belongs to another job
    }
    try:
        take(directory, claim)
    except FileExistsError:
        return 0
    except OSError as error:
        if error.errno in PASSING or error.errno in GONE:
            raise  # there is no claim, so the service starts another wrapper
        try:  # a job that is recorded here as ended must not be started by another wrapper
            write_record(os.path.join(directory, CLAIM), claim, once=True, durable=False)
        except FileExistsError:
            return 0
        except OSError:
            pass  # nor can another wrapper make a claim there
        now = time.time()
        message = f"the claim to the job cannot be written to disk: {error.strerror}; nothing was started"
        return write_end(directory, end_record("not started", now, now, message=message), patience=0)
    try:
        record = run(directory, claim, account)
    except Exception as error:
        now = time.time()
        record = end_record("not started", now, now, message=f"the wrapper failed: {type(error).__name__}: {error}")
    return write_end(directory, record)


def write_end(directory: str, record: dict[str, object], patience: float = _RECORD_PATIENCE) -> int:
    """Write the record of the end as soon as possible; after `patience` seconds even without a sync.

    Returns
    -------
    status
        0, or 1 if the job has removed its directory.
    """
    path = os.path.join(directory, ENDED)
    until = clock() + patience
    while True:
        try:
            write_record(path, record)
            return 0
        except OSError as error:
            if error.errno in GONE and not os.path.isdir(directory):
                return 1
            if clock() > until:
                write_record(path, record, durable=False)
                return 0
            time.sleep(min(0.5, patience))


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1], *sys.argv[1:-1]))
