"""What stands in the place of os: processes, and files by `filesystem`."""

from __future__ import annotations

import ast
import errno
import inspect
import os
import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

from simulated import commands
from simulated import kernel as machine
from simulated.descriptors import Open
from simulated.filesystem import FileCalls, Paths, absolute, error, lookup
from simulated.kernel import Crashed, Process, Task

_PURE = {
    "fsencode", "fsdecode", "fspath", "strerror", "waitstatus_to_exitcode", "sep", "defpath", "devnull", "PathLike",
    "error", "pathsep", "linesep", "name", "sysconf", "WIFEXITED", "cpu_count", "getenv", "curdir", "pardir", "altsep",
}  # fmt: skip


class Os(FileCalls):
    """os, as far as the service needs it."""

    path = Paths()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the simulated os has no {name}")

    @property
    def environ(self) -> dict[str, str]:
        return machine.present.caller().environment

    # processes

    def getpid(self) -> int:
        return machine.present.caller().pid

    def getppid(self) -> int:
        return machine.present.caller().parent

    def getpgrp(self) -> int:
        return machine.present.caller().group

    def getuid(self) -> int:
        return 1000

    geteuid = getgid = getegid = getuid

    def getgroups(self) -> list[int]:
        return [1000]

    def getsid(self, pid: int) -> int:
        return self._process(pid).session

    def getpgid(self, pid: int) -> int:
        return self._process(pid).group

    def _process(self, pid: int) -> Process:
        process = machine.present.caller() if pid == 0 else machine.present.processes.get(pid)
        if process is None:
            raise error(errno.ESRCH)
        return process

    def setsid(self) -> int:
        process = machine.present.caller()
        process.session = process.group = process.pid
        return process.pid

    def setpgid(self, pid: int, group: int) -> None:
        self._process(pid).group = group or self._process(pid).pid

    def kill(self, pid: int, number: int) -> None:
        machine.present.caller()
        if pid < -1:
            self.killpg(-pid, number)
            return
        self._process(pid).signal(int(number))
        machine.present.caller()

    def killpg(self, group: int, number: int) -> None:
        members = [p for p in machine.present.processes.values() if p.group == group]
        if not members:
            raise error(errno.ESRCH)
        for each in members:
            each.signal(int(number))
        machine.present.caller()

    def pidfd_open(self, pid: int, flags: int = 0) -> int:
        process = self._process(pid)
        return machine.present.caller().descriptor(Open("pidfd", 0, node=process))

    def waitpid(self, pid: int, options: int) -> tuple[int, int]:
        process = machine.present.caller()
        children = [p for p in machine.present.processes.values() if p.parent == process.pid and pid in (-1, p.pid)]
        if not children:
            raise error(errno.ECHILD)
        for child in children:
            if child.zombie:
                del machine.present.processes[child.pid]
                return child.pid, child.status << 8 if child.status >= 0 else -child.status
        assert options & os.WNOHANG, "waiting for a child is not simulated"
        return 0, 0

    def fork(self) -> int:
        """Run the child's branch, the body of ``if pid == 0``, with what the caller knows, in a new process."""
        process = machine.present.caller()
        child = Process(machine.present, process.pid, process.arguments, dict(process.environment))
        child.inherit(process)
        frame = sys._getframe(1)
        run, names = _branch_of(frame.f_code, frame.f_globals)
        given = [frame.f_locals.get(name) for name in names]
        Task(machine.present, child, lambda: run(*given), "child")
        return child.pid

    def _exit(self, status: int) -> None:
        process = machine.present.caller()
        process.die(status)
        raise Crashed

    def execvpe(self, name: str, arguments: list[str], environment: dict[str, str]) -> None:
        process = machine.present.caller()
        if name != "job":
            raise error(errno.ENOENT, name)
        process.arguments, process.environment = list(arguments), dict(environment)
        process.close_files(above=2)
        process.pending = [each for each in process.pending if each in process.blocked]
        commands.execute(machine.present, process, machine.present.began)
        assert machine.present.current is not None
        process.tasks.remove(machine.present.current)
        machine.present.current.process = _nowhere
        raise Crashed

    execve = execvpe

    def chdir(self, path: Any) -> None:
        if not lookup(path).is_directory:
            raise error(errno.ENOTDIR, path)
        machine.present.caller().directory = absolute(path)

    def nice(self, more: int) -> int:
        return 0

    def sched_yield(self) -> None:
        machine.present.sleep(0)

    def sched_getaffinity(self, pid: int) -> set[int]:
        return set(range(64))


for _name in dir(os):
    if _name in _PURE or _name.isupper():
        _value = getattr(os, _name)
        setattr(Os, _name, staticmethod(_value) if isinstance(_value, types.FunctionType) else _value)


class _Nowhere:
    """What a task belongs to whose process has become another program."""

    dead = True
    stopped = False
    tasks: list[Task] = []  # noqa: RUF012


_nowhere: Any = _Nowhere()


_branches: dict[types.CodeType, tuple[Callable[..., None], list[str]]] = {}


def _branch_of(code: types.CodeType, names: dict[str, Any]) -> tuple[Callable[..., None], list[str]]:
    """Return the body of ``if pid == 0`` of a function that forks, as a function of its local names."""
    if code not in _branches:
        source = textwrap.dedent(inspect.getsource(code))
        function = ast.parse(source).body[0]
        branch = next(
            node
            for node in ast.walk(function)
            if isinstance(node, ast.If)
            and isinstance(node.test, ast.Compare)
            and ast.unparse(node.test).endswith("== 0")
        )
        local = list(code.co_varnames)
        made = ast.parse(f"def child({', '.join(local)}): pass")
        made.body[0].body = branch.body  # type: ignore[attr-defined]
        space: dict[str, Any] = {}
        exec(compile(ast.fix_missing_locations(made), code.co_filename, "exec"), names, space)
        _branches[code] = space["child"], local
    run, local = _branches[code]
    return types.FunctionType(run.__code__, names), local  # type: ignore[attr-defined]


simulated_os = Os()
