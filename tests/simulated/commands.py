"""What the jobs do: commands that run a while, print who they are, ignore TERM, or leave processes behind."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from typing import Any

from simulated.kernel import Crashed, Kernel, Process

FLAVOURS = ("plain", "plain", "plain", "stubborn", "daemon", "escaped", "stops its wrapper", "fights", "printing")
HOSTILE = ("stops its wrapper", "fights")


def command_line(token: str, seconds: float, status: int, flavour: str) -> tuple[str, ...]:
    """Return the command of a job that runs so long and exits so."""
    return ("job", token, str(seconds), str(status), flavour)


def execute(kernel: Kernel, process: Process, began: Callable[[Process, str], None]) -> None:
    """Have a process that has just called exec do what its command line says."""
    _, token, seconds, status, flavour = process.arguments[:5]
    process.tag = token
    process.death_signal = process.death_signal  # survives exec
    process.blocked = frozenset()
    began(process, token)
    if process.dead:
        return
    _print(kernel, process, token)
    if flavour == "stubborn":
        process.behaviour = _ignores
    if flavour in ("daemon", "escaped"):
        kernel.at(kernel.now + float(seconds) / 2, lambda: _leave_behind(kernel, process, flavour == "escaped"))
    if flavour == "stops its wrapper":
        kernel.at(kernel.now + float(seconds) / 3, lambda: _stop_parent(kernel, process))
    if flavour == "fights":
        _fight(kernel, process)
    if flavour == "printing":
        kernel.at(kernel.now + float(seconds) / 2, lambda: _print(kernel, process, token))
    _later(kernel, process, float(seconds), lambda: process.die(int(status)))


def _later(kernel: Kernel, process: Process, seconds: float, action: Callable[[], Any]) -> None:
    def act() -> None:
        if process.stopped and not process.dead:
            process.deferred.append(act)
        elif not process.dead:
            action()

    kernel.at(kernel.now + seconds, act)


def _ignores(number: int) -> bool:
    return number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _print(kernel: Kernel, process: Process, token: str) -> None:
    file = process.files.get(1)
    if process.dead or file is None or file.node is None:
        return
    with contextlib.suppress(OSError, Crashed):
        kernel.disk.write(file.node, f"{token}\n".encode(), len(file.node.data), file.path)


def _leave_behind(kernel: Kernel, process: Process, escapes: bool) -> None:
    if process.dead:
        return
    child = Process(kernel, process.pid, list(process.arguments), dict(process.environment))
    child.inherit(process)
    if escapes:
        child.group = child.session = child.pid
    child.behaviour = _ignores if escapes else None
    _later(kernel, child, 40.0, lambda: child.die(0))


def _fight(kernel: Kernel, process: Process) -> None:
    """Stop the wrapper again and again."""
    if not process.dead:
        _stop_parent(kernel, process)
        kernel.at(kernel.now + 0.1, lambda: _fight(kernel, process))


def _stop_parent(kernel: Kernel, process: Process) -> None:
    parent = kernel.processes.get(process.parent)
    if not process.dead and parent is not None and parent.pid != 1:
        parent.signal(signal.SIGSTOP)
