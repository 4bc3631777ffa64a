"""Everything that the service's modules get in the place of the operating system, and how they get it.

`installed` replaces modules, functions and classes in every module of the service for the time of a run, whichever
modules there are: what is not simulated raises AttributeError, so that nothing reaches the real machine unseen.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import errno
import os
import pathlib
import posixpath
import secrets
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from typing import Any

from simulated import database
from simulated import kernel as machine
from simulated.descriptors import Open
from simulated.filesystem import NULL, absolute, error
from simulated.kernel import Process, Task
from simulated.paths import SimulatedPath, simulated_open
from simulated.system import simulated_os
from simulated.threads import RLock, Threading
from simulated.timing import Select, Signals, Time

__all__ = ["SimulatedPath", "fresh_process", "installed"]


class _Library:
    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def prctl(self, option: int, value: int, *_: int) -> int:
        process = machine.present.caller()
        if option == 1:
            process.death_signal = value
        elif option == 36:
            process.subreaper = bool(value)
        return 0


class Ctypes:
    """ctypes, for prctl."""

    def __getattr__(self, name: str) -> Any:
        return getattr(ctypes, name)

    def CDLL(self, name: Any, **_: Any) -> Any:
        return _Library()


class Popen:
    """A wrapper: a process that runs `gas.service.wrapper.main` here."""

    def __class_getitem__(cls, _: Any) -> type[Popen]:
        return cls

    def __init__(self, program: list[str], *, stdout: Any = None, env: Any = None, **_: Any) -> None:
        from gas.service import wrapper

        process = machine.present.caller()
        if machine.present.descriptors_exhausted:
            raise error(errno.EMFILE)
        child = Process(machine.present, process.pid, list(process.arguments), dict(env or process.environment))
        child.files = {n: Open(os.devnull, 0, NULL) for n in range(3)}
        if stdout is not None and hasattr(stdout, "fileno"):
            child.files[1] = child.files[2] = process.files[stdout.fileno()]
            process.files[stdout.fileno()].references += 2
        self.args, self.pid, self.returncode = program, child.pid, None
        unseen, pause = machine.present.wrapper_began(program[-1])

        def become_wrapper() -> None:
            child.arguments = list(program)

        def run() -> None:
            if unseen:  # it goes by the name of the service until it calls exec
                machine.present.sleep(unseen)
                become_wrapper()
            machine.present.sleep(pause)
            status = 1
            try:
                status = wrapper.main(*program[program.index(wrapper.__file__) + 1 :])
            except Exception as problem:  # a traceback in wrapper.log
                with contextlib.suppress(OSError):
                    machine.present.disk.write(child.files[1].node, f"{problem!r}\n".encode(), 0, "wrapper.log")
            child.die(status)

        if not unseen:
            become_wrapper()
        Task(machine.present, child, run, "wrapper")

    def poll(self) -> int | None:
        if self.returncode is None:
            process = machine.present.processes.get(self.pid)
            if process is None:
                self.returncode = 0
            elif process.zombie and process.parent == machine.present.caller().pid:
                del machine.present.processes[self.pid]
                self.returncode = process.status
        return self.returncode


class Subprocess:
    """subprocess."""

    DEVNULL, PIPE, STDOUT = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
    Popen = Popen
    SubprocessError = subprocess.SubprocessError


class Shutil:
    """shutil."""

    def rmtree(self, path: Any, ignore_errors: bool = False, **_: Any) -> None:
        try:
            full = absolute(path)
            for name in simulated_os.listdir(full):
                each = posixpath.join(full, name)
                if simulated_os.path.isdir(each):
                    self.rmtree(each, ignore_errors)
                else:
                    simulated_os.unlink(each)
            simulated_os.rmdir(full)
        except OSError:
            if not ignore_errors:
                raise

    def copyfile(self, source: Any, target: Any, **_: Any) -> Any:
        SimulatedPath(target).write_bytes(SimulatedPath(source).read_bytes())
        return target

    copy = copy2 = copyfile

    def disk_usage(self, path: Any) -> Any:
        return types.SimpleNamespace(total=10**13, used=0, free=10**13)


class Secrets:
    """secrets."""

    def token_hex(self, size: int = 32) -> str:
        return machine.present.rng.randbytes(size).hex()

    def token_bytes(self, size: int = 32) -> bytes:
        return machine.present.rng.randbytes(size)

    def randbits(self, bits: int) -> int:
        return machine.present.rng.getrandbits(bits)


_times, _signals, _subprocess, _threading = Time(), Signals(), Subprocess(), Threading()

_MODULES: dict[int, Any] = {
    id(os): simulated_os,
    id(time): _times,
    id(signal): _signals,
    id(select): Select(),
    id(subprocess): _subprocess,
    id(shutil): Shutil(),
    id(secrets): Secrets(),
    id(ctypes): Ctypes(),
    id(threading): _threading,
    id(sqlite3): database.Sqlite(),
    id(pathlib.Path): SimulatedPath,
    id(builtins.open): simulated_open,
}

_KEPT = ("gas.service.tokens", "gas.service.token_file", "gas.service.server", "gas.service.app", "gas.service.page")


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Have the service's modules, and the one that syncs for them, use all this."""
    from gas.compiled import available
    from gas.service import processes

    replaced: list[tuple[Any, str, Any]] = []
    opened: list[Any] = []
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(("gas.service.", "documents.whole_file")) or name in _KEPT:
            continue
        for key, value in list(vars(module).items()):
            new = _MODULES.get(id(value))
            if new is None and value is available:
                new = _no
            elif new is None and isinstance(value, type) and issubclass(value, subprocess.Popen):
                new = Popen
            elif new is None and isinstance(value, type(threading.Lock())) and key.startswith("_"):
                new = RLock()
            if new is not None:
                replaced.append((module, key, value))
                setattr(module, key, new)
            elif isinstance(value, type) and value.__module__ == name:
                _simulate_defaults(value, replaced)
        module.open = simulated_open  # type: ignore[attr-defined]
        opened.append(module)
    try:
        yield
    finally:
        for module, key, value in replaced:
            setattr(module, key, value)
        for module in opened:
            del module.open
        processes._wrappers.clear()  # wrappers of the simulation must not affect later tests in this process


def _simulate_defaults(kind: type, replaced: list[tuple[Any, str, Any]]) -> None:
    """Have a class whose default clock is the real one, by a default argument, use the simulated one."""
    begin = vars(kind).get("__init__")
    defaults = getattr(begin, "__defaults__", None) or ()
    real = {
        id(getattr(time, each)): each for each in ("time", "monotonic", "process_time", "perf_counter", "thread_time")
    }
    if any(id(each) in real for each in defaults):
        replaced.append((begin, "__defaults__", defaults))
        new = tuple(getattr(_times, real[id(each)]) if id(each) in real else each for each in defaults)
        setattr(begin, "__defaults__", new)  # noqa: B010


def _no() -> bool:
    return False


def fresh_process() -> None:
    """Forget what the modules keep for the life of a process."""
    from gas.service import processes

    processes._wrappers.clear()
    processes._wrappers_lock = RLock()  # type: ignore[assignment]
