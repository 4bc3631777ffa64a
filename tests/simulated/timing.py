"""What stands in the place of time, signal and select."""

from __future__ import annotations

import errno
import signal
import time
import types
from typing import Any

from simulated import kernel as machine
from simulated.filesystem import error


class Time:
    """time."""

    def __getattr__(self, name: str) -> Any:
        if name.isupper() or name in ("gmtime", "strftime", "struct_time", "localtime", "mktime"):
            return getattr(time, name)
        raise AttributeError(f"the simulated time has no {name}")

    CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME = time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME

    def time(self) -> float:
        return machine.present.time()

    def monotonic(self) -> float:
        return machine.present.monotonic()

    perf_counter = monotonic

    def time_ns(self) -> int:
        return int(machine.present.time() * 1e9)

    def monotonic_ns(self) -> int:
        return int(machine.present.monotonic() * 1e9)

    perf_counter_ns = monotonic_ns

    def thread_time(self) -> float:
        return 0.0

    process_time = thread_time

    def clock_gettime(self, which: int) -> float:
        if which == time.CLOCK_REALTIME:
            return machine.present.time()
        return machine.present.boottime() if which == time.CLOCK_BOOTTIME else machine.present.monotonic()

    def clock_gettime_ns(self, which: int) -> int:
        return int(self.clock_gettime(which) * 1e9)

    def sleep(self, seconds: float) -> None:
        machine.present.caller()
        machine.present.sleep(seconds)


class Signals:
    """signal, for a wrapper."""

    def __getattr__(self, name: str) -> Any:
        if name.isupper() or name in ("Signals", "valid_signals", "Handlers", "Sigmasks"):
            return getattr(signal, name)
        raise AttributeError(f"the simulated signal has no {name}")

    def signal(self, number: int, handler: Any) -> None:
        machine.present.caller()

    def pthread_sigmask(self, how: int, mask: Any) -> Any:
        process = machine.present.caller()
        before = process.blocked
        if how == signal.SIG_SETMASK:
            process.blocked = frozenset(map(int, mask))
        elif how == signal.SIG_BLOCK:
            process.blocked |= frozenset(map(int, mask))
        else:
            process.blocked -= frozenset(map(int, mask))
        for number in [n for n in process.pending if n not in process.blocked]:
            process.pending.remove(number)
            process.signal(number)
        machine.present.caller()
        return before

    def sigtimedwait(self, wanted: Any, seconds: float) -> Any:
        process, numbers = machine.present.caller(), frozenset(map(int, wanted))
        if not any(n in numbers for n in process.pending):
            assert machine.present.current is not None
            process.awaiting = machine.present.current, numbers
            machine.present.current.block(seconds)
            process.awaiting = None
        for number in sorted(process.pending):
            if number in numbers:
                process.pending.remove(number)
                return types.SimpleNamespace(si_signo=number)
        return None

    def pidfd_send_signal(self, number: int, which: int, *_: Any) -> None:
        process = machine.present.caller().files[number].node
        if process.pid not in machine.present.processes or machine.present.processes[process.pid] is not process:
            raise error(errno.ESRCH)
        process.signal(int(which))
        machine.present.caller()


class Select:
    """select, for reading from one pipe."""

    def select(self, readers: list[int], writers: Any, others: Any, seconds: float | None = None) -> Any:
        (number,) = readers
        pipe = machine.present.caller().files[number].pipe
        assert pipe is not None
        assert machine.present.current is not None
        if not pipe.data and pipe.writers:
            pipe.waiting.append(machine.present.current)
            machine.present.current.block(seconds)
            if machine.present.current in pipe.waiting:
                pipe.waiting.remove(machine.present.current)
        return [number] if pipe.data or not pipe.writers else [], [], []
