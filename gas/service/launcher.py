"""Jobs as their own Unix users: a small process remains root, and the service does not.

    privileged    become the account of the service; return a `Launcher`, which calls the process that remains root
    Launcher      start the wrapper of a job as a user; kill what is left of a job

``gas serve --user ACCOUNT``, as root, forks the helper before anything else and then gives up root for good. The
parties and their rights:

    helper    root       starts wrappers, kills a user's processes. It has two requests, accepts the names of job
                         directories, never paths, and looks each user up by itself.
    service   ACCOUNT    HTTP, schedule and store. Its state directory is closed to all others.
    wrapper   ACCOUNT    with CAP_SETUID, CAP_SETGID and CAP_CHOWN until its command has started, CAP_KILL to the
                         end. It writes files as ACCOUNT, so that nothing put into a job's directory can lead it to a
                         file of root. Its user is not that of its job, which therefore cannot stop, kill or trace it;
                         and the service can signal it but not trace it, having fewer capabilities.
    command   the user   with that user's groups and no capability. It cannot enter the directory of its records; its
                         output files there belong to it (its quota pays), are open for appending, and readable by
                         ACCOUNT.

So a job has no place where a link or a pipe could mislead any of the others. A service that was taken over can run
programs as any ordinary user, as a scheduler must, but neither as root nor as a system user.
"""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import re
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gas.errors import BadInput, GasError
from gas.service import remains, wrapper
from gas.service.accounts import Account, Accounts, lowest_uid
from gas.service.cgroup import Cgroups
from gas.service.records import Unknown

__all__ = ["Helper", "Launcher", "privileged"]

_JOB = re.compile(r"[0-9]{1,19}(\.[0-9a-f]{16})?", re.ASCII)
_LONGEST = 4096  # bytes of a request or an answer
_PATIENCE = 30.0  # seconds for an answer
_PR_SET_KEEPCAPS = 8
_WRAPPERS = (wrapper.CAP_CHOWN, wrapper.CAP_KILL, wrapper.CAP_SETGID, wrapper.CAP_SETUID)


class Launcher:
    """Requests of a service without privileges to its privileged helper; safe to call from many threads.

    Attributes
    ----------
    accounts
        The users that jobs may run as.
    """

    def __init__(self, connection: socket.socket, accounts: Accounts) -> None:
        self.accounts = accounts
        self._connection = connection
        self._connection.settimeout(_PATIENCE)
        self._lock = threading.Lock()

    def start(self, job: str, user: str) -> None:
        """Start the wrapper of a job; its command will run as a user.

        Raises
        ------
        GasError
            The helper refuses: jobs may not have this user or this directory.
        Unknown
            The helper does not answer.
        """
        self._ask({"do": "start", "job": job, "user": user})

    def end(self, job: str, user: str, owner: wrapper.Process | None, group: tuple[int, int] | None) -> int:
        """Kill the processes of a job except its wrapper; return their number."""
        pid = None if owner is None else owner.pid
        request: dict[str, object] = {"do": "end", "job": job, "user": user, "wrapper": pid, "group": group}
        return int(self._ask(request)["ended"])

    def _ask(self, request: dict[str, object]) -> dict[str, Any]:
        with self._lock:
            try:
                self._connection.send(json.dumps(request).encode())
                answer = self._connection.recv(_LONGEST)
            except OSError as error:
                self._connection.close()  # a late answer must not be taken for that of a later request
                raise Unknown(f"the helper that starts jobs does not answer ({error}); {_RESTART}") from error
        if not answer:
            raise Unknown(f"the helper that starts jobs has ended; {_RESTART}")
        result: dict[str, Any] = json.loads(answer)
        if "error" in result:
            raise GasError(result["error"]) from (OSError(result["errno"], "") if result.get("errno") else None)
        return result


_RESTART = "restart the service; running jobs continue"


def privileged(account: str, state: Path, cgroup: Path | None = None) -> tuple[Launcher, Cgroups | None]:
    """Fork a helper that stays root, and become the account of the service, with its state directory.

    Call it before threads are started and files are opened.

    Raises
    ------
    BadInput
        This process is not root, or the account or the directory cannot be used by the service.
    """
    if os.geteuid() != 0:
        raise BadInput(
            f"--user {account}: needs root, to start each job as its own user; run gas serve as root, or leave --user "
            "out to run all jobs as you"
        )
    try:
        own = pwd.getpwnam(account)
    except KeyError:
        raise BadInput(
            f"--user {account}: is not a Unix user of this machine; create a system user for the service: "
            f"useradd --system --no-create-home --shell /usr/sbin/nologin {account}"
        ) from None
    if own.pw_uid == 0:
        raise BadInput(f"--user {account}: has uid 0; give an unprivileged account for the service")
    accounts = Accounts(account, lowest_uid())
    jobs = _prepared(state, own.pw_uid, own.pw_gid)
    cgroups = Cgroups.found() if cgroup is None else Cgroups.at(cgroup)
    if cgroups is not None:
        cgroups.give_to(own.pw_uid, own.pw_gid)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork() == 0:
        try:
            ours.close()
            _serve(theirs, Helper(jobs, own.pw_uid, own.pw_gid, accounts))
        finally:
            os._exit(0)
    theirs.close()
    os.initgroups(account, own.pw_gid)
    os.setresgid(own.pw_gid, own.pw_gid, own.pw_gid)
    os.setresuid(own.pw_uid, own.pw_uid, own.pw_uid)
    os.umask(0o077)
    os.environ |= {"HOME": own.pw_dir, "USER": account, "LOGNAME": account}
    os.environ.setdefault("GAS_CACHE", str(state.absolute() / "cache"))  # a system user has no home to write to
    if not (os.access(sys.executable, os.X_OK) and os.access(wrapper.__file__, os.R_OK)):
        raise BadInput(
            f"--user {account}: may not run {sys.executable} or read {wrapper.__file__}; install Gas where all users "
            "can read it, such as /opt"
        )
    accounts.write(state)
    return Launcher(ours, accounts), cgroups


def _prepared(state: Path, uid: int, gid: int) -> Path:
    """Return the directory of the jobs in a state directory that only the service may use, created if missing."""
    jobs = state.absolute() / "jobs"
    for each in (state, jobs):
        try:
            made = not each.exists()
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise BadInput(f"--state {state}: {each} cannot be used: {error.strerror}") from None
        try:
            if made or _is_fresh(handle):
                os.fchown(handle, uid, gid)
                for name in ("tokens", "tokens.lock"):  # root creates them before the first start
                    with suppress(FileNotFoundError):
                        os.chown(name, uid, gid, dir_fd=handle, follow_symlinks=False)
            found = os.fstat(handle)
            if found.st_uid != uid:
                raise BadInput(
                    f"--state {state}: {each} belongs to uid {found.st_uid}, not to the account of the service (uid "
                    f"{uid}); change that with chown -R, or name another --state"
                )
            os.fchmod(handle, 0o700)
        finally:
            os.close(handle)
    return jobs


def _is_fresh(directory: int) -> bool:
    """Return whether root has created a directory for tokens that no service has used yet."""
    found = os.fstat(directory)
    used = set(os.listdir(directory)) - {"tokens", "tokens.lock"}
    return found.st_uid == 0 and not found.st_mode & 0o022 and not used


# ------------------------------------------------------------------------------------------------------------ helper


class Helper:
    """The operations of the process that stays root for the service.

    Parameters
    ----------
    jobs
        The directory of all jobs.
    uid, gid
        Those of the service, the owner of each job's directory.
    program
        The command of a wrapper without account and directory.
    """

    def __init__(
        self, jobs: Path, uid: int, gid: int, accounts: Accounts, program: Callable[[], list[str]] = wrapper.program
    ) -> None:
        self._jobs = jobs
        self._handle = os.open(jobs, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._uid, self._gid = uid, gid
        self._accounts = accounts
        self._program = program()

    def answer(self, text: bytes) -> dict[str, object]:
        """Return the answer to a request; no request can raise an exception."""
        try:
            request = json.loads(text)
            job, account = str(request["job"]), self._accounts.of(str(request["user"]))
            if not _JOB.fullmatch(job):
                raise BadInput(f"{job!r}: is not the directory of a job")
            if request["do"] == "start":
                self._start(job, account)
                return {}
            if request["do"] == "end":
                return {"ended": self._end(job, account, request["wrapper"], request["group"])}
            raise BadInput(f"{request['do']!r}: is not an operation of this helper")
        except GasError as error:
            return {"error": str(error)}
        except OSError as error:
            return {"error": str(error), "errno": error.errno}
        except Exception as error:
            return {"error": f"not understood: {type(error).__name__}: {error}"}

    def _start(self, job: str, account: Account) -> None:
        """Start a wrapper in its own session, as the account of the service, with the capabilities that it needs."""
        directory = self._directory(job)
        try:
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    self._become_wrapper(directory, str(self._jobs / job), account)
                except BaseException as error:
                    os.write(writer, json.dumps([str(error), getattr(error, "errno", None)]).encode()[:_LONGEST])
                finally:
                    os._exit(127)
            os.close(writer)
            with os.fdopen(reader, "rb") as file:  # it ends when the program has begun
                problem = file.read(_LONGEST)
        finally:
            os.close(directory)
        if problem:
            text, number = json.loads(problem)
            raise OSError(number, text)

    def _directory(self, job: str) -> int:
        """Return a descriptor of a job's directory, if it is one of the service's own."""
        try:
            handle = os.open(job, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._handle)
        except OSError as error:
            raise BadInput(f"the directory of job {job} cannot be used: {error.strerror}") from None
        found = os.fstat(handle)
        if found.st_uid != self._uid or stat.S_IMODE(found.st_mode) & 0o022:
            os.close(handle)
            raise BadInput(
                f"the directory of job {job} is not the service's own (uid {found.st_uid}, mode "
                f"{stat.S_IMODE(found.st_mode):04o})"
            )
        return handle

    def _become_wrapper(self, directory: int, path: str, account: Account) -> None:
        """Turn this process, just forked, into a wrapper; if it returns, it has failed and raises."""
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_DFL)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "capabilities cannot be kept")
        os.setgroups([])
        os.setresgid(self._gid, self._gid, self._gid)
        os.setresuid(self._uid, self._uid, self._uid)
        wrapper.keep_capabilities(libc, *_WRAPPERS, over_exec=True)
        os.umask(0o077)
        os.chdir("/")
        create = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        log = os.open("wrapper.log", create, 0o600, dir_fd=directory)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        command = [*self._program, account.to_text(), path]
        os.execve(command[0], command, {"LANG": "C.UTF-8"})

    def _end(self, job: str, account: Account, pid: object, group: object) -> int:
        """Kill the processes of a job that are this user's."""
        found = wrapper.process(pid) if isinstance(pid, int) and pid > 1 else None
        known = (int(group[0]), int(group[1])) if isinstance(group, list) and len(group) == 2 else None
        return remains.end(remains.Traces(self._jobs / job, found, known, uid=account.uid))


def _serve(connection: socket.socket, helper: Helper) -> None:
    """Answer requests until the service is gone."""
    os.setsid()  # signals of a terminal are for the service
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)  # for SIGCHLD this means that the kernel collects ended wrappers
    os.chdir("/")
    with suppress(OSError):
        while request := connection.recv(_LONGEST):
            connection.send(json.dumps(helper.answer(request)).encode()[:_LONGEST])
