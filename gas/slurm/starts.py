"""Starts in a forward simulation, and starts known in advance."""

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
        ``main`` or ``backfill``; ``known`` if it was known in advance.
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
    """A start known in advance: its time and nodes, whatever the schedulers would do.

    Attributes
    ----------
    partition
        Where it runs; empty if it has only one.
    cpus
        Of each node, if known.
    by
        The scheduler that starts it; the main scheduler tries other jobs in the same pass.
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
        What was ignored.
    """

    starts: tuple[Start, ...]
    waiting: tuple[int, ...]
    cycles: int
    passes: int
    remarks: tuple[str, ...]
