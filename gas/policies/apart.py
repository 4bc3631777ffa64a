"""Simulates a user's policy in its own process, so that this process continues whatever the policy does.

A policy may end its process, exhaust the stack or the memory, or run for ever. In its own process, this ends only one
simulation, with an error that says where the policy was, and an interruption ends it at once. Its output goes to
standard error.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from gas.compiled import tell_of_compiling
from gas.errors import BadInput, GasError
from gas.policies.deciding import simulate_by
from gas.policies.finding import OwnPolicy
from gas.policies.wording import MAKING, NOTHING, where_in
from gas.simulation.schedule import Schedule
from workloads import Overrun, RigidJobs, apply_overrun

__all__ = ["simulate_apart"]


@dataclass(frozen=True)
class _Done:
    """The result of a finished simulation."""

    start: Any
    end: Any
    engine_seconds: float


def simulate_apart(
    jobs: RigidJobs,
    policy: OwnPolicy,
    *,
    overrun: Overrun = "kill",
    progress: Callable[[float], None] | None = None,
) -> Schedule:
    """Return the schedule of these jobs under a user's policy (see `gas.policies.deciding.simulate_by`).

    Raises
    ------
    BadInput
        The policy cannot be loaded, makes an impossible decision, raises an error, or ends its process.
    """
    context = multiprocessing.get_context("spawn")  # it inherits neither threads nor locks
    marker = context.RawArray("q", [MAKING, 0, NOTHING])
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_simulate, args=(there, marker, jobs, policy, overrun), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # this process ends the other one
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    there.close()
    try:
        done = _answer(here, process, progress)
    finally:
        process.kill()
        process.join()
        here.close()
    if done is None:
        where = where_in(policy.name, marker[0], marker[1], marker[2])
        raise BadInput(f"{where}: it ended its process ({_ending(process.exitcode)}); a policy must return or raise")
    if isinstance(done, GasError):
        raise done
    return Schedule(
        jobs=apply_overrun(jobs, overrun),
        start=done.start,
        end=done.end,
        policy=policy.name,
        overrun=overrun,
        engine_seconds=done.engine_seconds,
    )


def _answer(here: Connection, process: Any, progress: Callable[[float], None] | None) -> _Done | GasError | None:
    """Return the final message of the process; None if it ended without one."""
    while True:
        wait([here, process.sentinel])
        if not here.poll():
            process.join()
            return None
        try:
            found = here.recv()
        except (EOFError, OSError):
            process.join()
            return None
        if isinstance(found, (_Done, GasError)):
            return found
        if progress is not None:
            progress(found)


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit status {code}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


def _simulate(there: Connection, marker: Any, jobs: RigidJobs, policy: OwnPolicy, overrun: Overrun) -> None:
    """Simulate; runs in the separate process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    tell_of_compiling(lambda text: None)  # the parent process reports it
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
    found: _Done | GasError
    try:
        made = simulate_by(jobs, policy.make(), name=policy.name, overrun=overrun, progress=there.send, marker=marker)
        found = _Done(np.ascontiguousarray(made.start), np.ascontiguousarray(made.end), made.engine_seconds)
    except GasError as error:
        found = error
    except MemoryError:
        found = BadInput(f"policy {policy.name}: needs more memory than the machine has")
    except KeyboardInterrupt:  # SIGINT is ignored here, so the policy raised it
        found = BadInput(f"policy {policy.name}: raised KeyboardInterrupt")
    there.send(found)
    there.close()
    os._exit(0)  # at once, even if the policy has started threads


def _end_with_parent() -> None:
    """Make this process end when its parent ends, even if the parent is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
