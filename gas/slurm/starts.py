"""Starts in a queue that is simulated forward, and starts known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Known", "Run", "Start"]


@dataclass(frozen=True)
class Start:
    """A start of a job, or of a task of an array.

    Attributes
    ----------
    by
        ``main`` or ``backfill``; ``known`` if it was given beforehand.
    end
        Its actual end.
    """

    job: int
    task: int | None
    partition: str
    start: int
    end: int
    nodes: tuple[str, ...]
    by: str


@dataclass(frozen=True)
class Known:
    """A start known beforehand: time and nodes, independent of the schedulers.

    Attributes
    ----------
    partition
        Where it runs; empty if it has only one.
    cpus
        Of each node, if known.
    by
        The scheduler that starts it: if it is the main one, the same pass looks at other jobs.
    """

    start: int
    nodes: tuple[str, ...]
    partition: str = ""
    cpus: Mapping[str, int] | None = None
    by: str = ""


@dataclass(frozen=True)
class Run:
    """The result of a forward simulation.

    Attributes
    ----------
    starts
        In order of time.
    waiting
        Numbers of the jobs that have not started by the end.
    cycles, passes
        Number of runs of the backfill scheduler and of the main scheduler.
    remarks
        Aspects that were ignored.
    """

    starts: tuple[Start, ...]
    waiting: tuple[int, ...]
    cycles: int
    passes: int
    remarks: tuple[str, ...]
