"""Runs the programs of a scheduler, one at a time, and returns their output.

Each runs in a session of its own, so that it can be ended with all its children, and an interruption in the terminal
does not end one that is submitting. Programs that only query are ended with this process.
"""

from __future__ import annotations

import atexit
import grp
import os
import pwd
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from documents.fields import Fields, quoted
from gas.endpoints.pipes import TooMuchOutput, communicate
from gas.endpoints.sending import NotSent, Unclear
from gas.errors import BadInput, Forbidden, NotFound, Unreachable

__all__ = [
    "SECRETS",
    "Finished",
    "Programs",
    "own_groups",
    "part_of_file",
    "user_name",
    "whole_path",
    "without_secrets",
]

SECRETS = frozenset({"GAS_TOKEN", "SLURM_JWT"})
"""Environment variables for services that Gas calls itself; programs that it starts do not get them."""


class Finished(NamedTuple):
    """The exit status and the output of a program; a negative status is the signal that ended it."""

    status: int
    out: str
    err: str


class Programs:
    """The programs of one scheduler.

    Parameters
    ----------
    name
        The scheduler's name for the user.
    environment
        Environment of the programs; tokens are not passed on.
    missing
        Where to find them if they are not here, for a message.
    timeout
        Seconds to wait for each.
    folder
        Folder of the programs, if not in ``PATH``.
    """

    def __init__(
        self, name: str, environment: Mapping[str, str], missing: str, *, timeout: float, folder: str | None = None
    ) -> None:
        self._name, self._missing, self._timeout = name, missing, timeout
        self.environment = without_secrets(environment)
        if folder is not None:
            self.environment["PATH"] = f"{folder}:{self.environment.get('PATH', os.defpath)}"

    def run(
        self,
        command: Sequence[str],
        text: str = "",
        *,
        called: str | None = None,
        sends: bool = False,
        deadline: float | None = None,
    ) -> Finished:
        """Run a program to its end.

        Parameters
        ----------
        text
            Its standard input.
        called
            Its name in messages.
        sends
            Whether it changes something; without an answer, it is then unknown whether it has.
        deadline
            Instant of the monotonic clock by which it must have ended, in place of the timeout.

        Raises
        ------
        NotSent
            It cannot be run.
        Unclear, Unreachable
            It has not ended in time; `Unclear` if it sends.
        """
        called = f"{self._name}: {called or command[0]}"
        timeout = self._timeout if deadline is None else max(0.05, deadline - time.monotonic())
        try:
            process = subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise NotSent(f"{self._name}: there is no {command[0]} here; {self._missing}") from None
        except OSError as error:
            raise NotSent(f"{called} cannot be run: {error.strerror}") from None
        if not sends:
            _QUERIES.add(process)
        try:
            out, err = communicate(process, text.encode(errors="surrogateescape"), timeout)
        except TooMuchOutput as error:
            _end(process)
            raise (Unclear if sends else Unreachable)(f"{called} {error}") from None
        except subprocess.TimeoutExpired:
            _end(process)
            problem = f"{called} has not answered for {self._timeout:g} s (`timeout` in the endpoint's table)"
            raise (Unclear(problem) if sends else Unreachable(problem)) from None
        except BaseException:  # Ctrl-C, which does not reach a session of its own
            _end(process)
            raise
        finally:
            _QUERIES.discard(process)
        return Finished(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


_QUERIES: set[subprocess.Popen[bytes]] = set()


@atexit.register
def _kill_queries() -> None:
    """Kill the programs that still run at exit: they hang in a thread, or the user has interrupted."""
    for process in list(_QUERIES):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and its children; leave it running if it belongs to another user."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):  # unsent input
                stream.close()
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, daemon=True).start()  # collects it whenever it ends


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a program: without the user's tokens, which jobs would inherit."""
    return {name: value for name, value in environment.items() if name not in SECRETS}


def whole_path(fields: Fields, key: str, text: str) -> str:
    """Return the path of a program or of its configuration; refuse one that depends on the current folder."""
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise fields.fail(
            key, f"{quoted(text)} is a relative path, which depends on the current folder; write its full path"
        )
    return str(path)


def user_name() -> str:
    """Return the name of the user of this process, independently of the environment."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        raise BadInput(
            f"your user id {os.getuid()} has no name on this machine; ask its administrator for one"
        ) from None


def own_groups(user: str | None = None) -> frozenset[str]:
    """Return the groups of a user, by default of this process: some partitions are only for some groups."""
    numbers = {os.getgid(), *os.getgroups()}
    if user is not None and user != user_name():
        try:
            numbers = {*os.getgrouplist(user, pwd.getpwnam(user).pw_gid)}
        except KeyError:
            numbers = set()
    found = set()
    for number in numbers:
        with suppress(KeyError):
            found.add(grp.getgrgid(number).gr_name)
    return frozenset(found)


def part_of_file(path: Path, limit: int, after: int | None, whose: str) -> bytes:
    """Return the last `limit` bytes of a file that a job writes, or the first `limit` bytes after an offset.

    Raises
    ------
    NotFound
        The file is not on this machine.
    Forbidden
        It cannot be read, or only once.
    """
    try:
        # Does not block on a pipe without a writer.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not file.seekable():
                raise Forbidden(f"{path}: is a pipe, which only one program can read ({whose})")
            size = file.seek(0, 2)
            file.seek(max(0, size - limit) if after is None else after)
            return file.read(limit)
    except FileNotFoundError:
        raise NotFound(f"{path}: is not on this machine ({whose}); look for it on the nodes of the scheduler") from None
    except OSError as error:
        raise Forbidden(f"{path}: cannot be read ({error.strerror})") from None
