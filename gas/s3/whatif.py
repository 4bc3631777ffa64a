"""The outcome of a hypothetical request: the same machine and other jobs, with this request instead."""

from __future__ import annotations

from dataclasses import dataclass

from gas.s3.machine import Machine

__all__ = ["Fate", "fate_of"]


@dataclass(frozen=True, slots=True)
class Fate:
    """The outcome of a request: its promised start, and its real start and finish (epoch seconds)."""

    processors: int
    promised: int
    start: int
    finish: int


def fate_of(machine: Machine, processors: int, walltime: int, run_time: int) -> Fate:
    """Submit a simulated job to a copy of the machine, and advance time until it has ended.

    Jobs that end early make it start earlier than promised; no other job is submitted after it.
    """
    other = machine.copy()
    other.schedule.patience = None
    other.go_on()
    entry = other.submit(processors, walltime, run_time)
    promised = entry.promise
    ended = None
    while ended is None:
        instant = other.next_instant()
        assert instant is not None, "a job in the schedule has a start or an end to come"
        for event in other.advance(max(instant, other.schedule.now)):
            if event.kind == "ended" and event.id == entry.id:
                ended = event.time
    return Fate(processors, promised, entry.start, ended)
