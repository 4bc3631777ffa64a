"""`python -m gas` from a warm interpreter: a server that has imported everything forks, instead of a cold start.

A cold start takes one to two CPU seconds, nearly all of them for imports, and the tests make hundreds. `install` has
every `subprocess` of a test process that begins ``[sys.executable, "-m", "gas", ...]`` forked from one server. The test
still gets a child process: same `Popen`, same pid to signal and wait for, same streams, folder and environment.

A service in a separate namespace (`nsenter` before the command) is forked from a server in that namespace. A test's
program that begins ``[sys.executable, warm.RUN, TEXT, ...]`` is forked too: as ``python -c TEXT ...``, with Gas
imported.

The workers of a run are also forked once `prepare_workers` has been called: from a server that has imported the tests.

A forked process ends after its registered exit functions: a full teardown as in Python would copy all the memory it
shares with the server, and take longer than most commands.

Whatever a fork could not reproduce starts cold: other programs, Python's own options, other values of variables that
Python, numba or the C library read at start, and everything if ``GAS_TESTS_COLD`` is set.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["RUN", "install", "prepare_workers", "workers_are_started"]

RUN = str(Path(__file__).with_name("run_text.py"))
"""The script that runs the text of a program, started from cold."""

WORKER = ["-u", "-c", "import sys;exec(eval(sys.stdin.readline()))"]
"""The options with which xdist starts Python for a worker, which then reads what to do."""

READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "NUMBA", "OPENBLAS", "OMP_", "TZ", "MPL", "GAS_TESTS_")
"""Prefixes of variables that are read when a process starts, or when a module is imported."""

IMPORTED_BY_MANY = [
    "gas.cli.commands",
    "gas.service.server",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "numba",
    "pandas",
    "scipy.optimize",
    "scipy.stats",
]
"""Modules that functions of many tests import, at any depth."""

MANY = 100
"""The number of test modules from which on workers find these imported."""

PR_SET_CHILD_SUBREAPER = 36


_starters: list[_Starter] = []
"""The instance of this process, once `install` has been called."""


def install() -> None:
    """Have this process's subprocesses that run Gas forked; call once."""
    if sys.platform == "linux" and not os.environ.get("GAS_TESTS_COLD"):
        cold = subprocess.Popen._execute_child  # type: ignore[attr-defined]
        _starters.append(_Starter(cold))
        subprocess.Popen._execute_child = _starters[0].start  # type: ignore[attr-defined]


def prepare_workers(words: list[str]) -> None:
    """Have workers forked with those tests imported that pytest collects for these command-line arguments."""
    for starter in _starters:
        starter.workers = _Server([], *words)


def workers_are_started() -> None:
    """End the server that forks workers; workers that replace others start cold from now on."""
    for starter in _starters:
        if starter.workers is not None:
            starter.workers.end()
            starter.workers = None


def read_at_start(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables whose change a fork would not notice."""
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


class _Starter:
    """Starts processes instead of `subprocess.Popen._execute_child`."""

    def __init__(self, cold: Any) -> None:
        self.cold = cold
        self.server: _Server | None = None
        self.workers: _Server | None = None
        self.inside: tuple[list[str], _Server] | None = None  # the server in the name space that was entered last
        self.lock = threading.Lock()
        self.begun_with = read_at_start(dict(os.environ))
        self.libc = ctypes.CDLL(None)

    @property
    def start(self) -> Any:
        """The method that replaces `Popen`'s."""
        starter = self

        def execute_child(process: Any, *given: Any) -> None:
            (args, executable, preexec, _, pass_fds, cwd, env, _, _, in_shell, *pipes) = given[:16]
            rest = given[16:]  # restore_signals, gid, gids, uid, umask, start_new_session, process_group
            words = [os.fspath(word) for word in args] if isinstance(args, (list, tuple)) else []
            environment = {os.fsdecode(k): os.fsdecode(v) for k, v in (os.environ if env is None else env).items()}
            changes = (
                preexec or pass_fds or in_shell or executable or rest[1:5] != (None, None, None, -1) or rest[6] != -1
            )
            of_workers = starter.workers if words == [sys.executable, *WORKER] else None
            prefix, words = ([], [words[0], RUN, WORKER[-1]]) if of_workers else parted(words)
            if changes or not words or read_at_start(environment) != starter.begun_with:
                starter.cold(process, *given)
                return
            folder = str(Path.cwd()) if cwd is None else os.fspath(cwd)
            text, words = (words[2], ["-c", *words[3:]]) if words[1] == RUN else (None, words[3:])
            request = {
                "text": text,
                "words": words,
                "folder": folder,
                "environment": environment,
                "session": bool(rest[5]),
            }
            streams = [pipes[0], pipes[3], pipes[5]]  # -1 means the stream of this process
            streams = [n if fd == -1 else fd for n, fd in enumerate(streams)]
            process.pid = starter.fork(of_workers or prefix, request, streams)
            process._child_created = True
            process._close_pipe_fds(*pipes)

        return execute_child

    def server_in(self, prefix: list[str]) -> _Server:
        """Return the server that was started with a prefix; only the last server with a prefix is kept."""
        if not prefix:
            self.server = self.server or _Server(prefix)
            return self.server
        if self.inside is None or self.inside[0] != prefix:
            if self.inside is not None:
                self.inside[1].end()
            self.inside = prefix, _Server(prefix)
        return self.inside[1]

    def fork(self, by: _Server | list[str], request: dict[str, Any], streams: list[int]) -> int:
        """Return the pid of a new child of this process, forked by the server, or by the one for a prefix."""
        with self.lock:
            server = (self.server_in(by) if isinstance(by, list) else by).connection
            body = json.dumps(request).encode()
            # The server's child forks and ends; the grandchild, an orphan, becomes a child of this process.
            self.libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(server, [len(body).to_bytes(8, "big")], streams)
                server.sendall(body)
                answer = server.recv(64)
            finally:
                self.libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
            if not answer:
                raise ChildProcessError("the server that forks `python -m gas` has ended")
            return int(answer)


class _Server:
    """A process that forks Gas, started with a prefix to its command; or that forks workers, given pytest arguments."""

    def __init__(self, prefix: list[str], *words: str) -> None:
        self.connection, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, __file__, str(theirs.fileno()), *words],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=None if words else "/",
            )
        atexit.register(self.end)

    def end(self) -> None:
        self.connection.close()
        self.process.wait()


def parted(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the part of a command that enters a namespace, and the rest; nothing if it is not to be forked."""
    start = words.index(sys.executable) if sys.executable in words else 0
    begins = words[start : start + 3]
    is_gas = begins == [sys.executable, "-m", "gas"] or (len(begins) == 3 and begins[:2] == [sys.executable, RUN])
    return words[:start], words[start:] if is_gas and (start == 0 or words[0] == "nsenter") else []


# ---------------------------------------------------------------------------------------------------------- the server


def serve(connection: socket.socket) -> tuple[str | None, list[str]]:
    """Fork for each request; in the forked process, return the text of a program and its command-line arguments."""
    import gc

    gc.collect()
    gc.freeze()
    while True:
        head, streams, _, _ = socket.recv_fds(connection, 8, 3)
        if not head:
            os._exit(0)
        body = b""
        while len(body) < int.from_bytes(head, "big"):
            body += connection.recv(1 << 20)
        back, forth = os.pipe()
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid == 0:
                connection.close()
                os.close(back)
                os.close(forth)
                return become(json.loads(body), streams)
            os.write(forth, str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)  # from here on the process has its new parent
        connection.sendall(os.read(back, 64))
        for handle in (back, forth, *streams):
            os.close(handle)


def become(request: dict[str, Any], streams: list[int]) -> tuple[str | None, list[str]]:
    """Adopt the attributes in which a process differs from its parent."""
    import signal
    import time

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        if stream > 2:
            os.close(stream)
    if request["session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests, by `nohup` too
    return request["text"], list(request["words"])


class Ending:
    """Ends this process as the last registered exit function: create it before any other is registered."""

    def __init__(self) -> None:
        self.status: int | None = None
        atexit.register(self.leave)

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Note the exit status of this process, from how the block ends, by Python's rules."""
        try:
            yield
        except SystemExit as end:
            self.status = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
            raise
        except Exception:
            self.status = 1
            raise
        self.status = 0

    def leave(self) -> None:
        """End this process, unless a message remains: on an interruption, or on output that cannot be written."""
        with contextlib.suppress(Exception):
            if self.status is not None:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(self.status & 0xFF)


def import_all() -> None:
    """Import what the commands import when they run, and load the service's machine code."""
    import gas.cli.commands
    import gas.cli.serve
    import gas.service.live
    import gas.service.server
    import gas.service.tokens  # noqa: F401
    from gas.s3.core import warm_up

    warm_up()


def import_tests(words: list[str]) -> None:
    """Import what pytest collects for these arguments; if that is much, also what other tests import."""
    import gc
    import importlib

    import pytest

    class OnlyImport:
        @pytest.hookimpl(tryfirst=True)
        def pytest_pycollect_makeitem(self) -> list[pytest.Item]:
            return []

        def pytest_collection_finish(self) -> None:  # not later: pytest warns of plugins that it did not import
            if sum(".test_" in name for name in sys.modules) > MANY:
                for name in IMPORTED_BY_MANY:
                    importlib.import_module(name)
                initialize_once()

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_ADDOPTS", raising=False)  # it may have options of the cache
        pytest.main(["--collect-only", "-qq", "-n", "0", "-p", "no:cacheprovider", *words], plugins=[OnlyImport()])
    gc.disable()  # until a worker has collected its tests, as where it imports them itself


def initialize_once() -> None:
    """Do what each worker would do at its first kernel and at its first property, on a fresh clone for some seconds."""
    with contextlib.suppress(ImportError):  # numba may not be installed
        from numba.core.registry import cpu_target

        cpu_target.target_context.refresh()  # lists the implementations of all built-in functions
    with contextlib.suppress(ImportError):  # internal: collects the constants in the sources of all local modules
        from hypothesis.internal.conjecture.providers import _get_local_constants

        _get_local_constants()


if __name__ == "__main__":
    import importlib.util
    import signal

    ending = Ending()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption of the tests is for its children
    del sys.path[0]  # this folder: `python -m gas` does not have it
    if sys.argv[2:]:
        import_tests(sys.argv[2:])
    else:
        import_all()
    control = socket.socket(fileno=int(sys.argv[1]))
    program, given = serve(control)
    with ending.noted():
        if program is not None:
            sys.argv = given
            exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
            sys.exit()
        sys.argv = [str(Path(importlib.util.find_spec("gas").origin).with_name("__main__.py")), *given]  # type: ignore

        from gas.cli.main import main

        main()
