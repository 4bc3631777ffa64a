"""What starts when and where in a queue that is run forward, and what is known of that beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Known", "Run", "Start"]


@dataclass(frozen=True)
class Start:
    """What has started: a job, or a task of an array.

    Attributes
    ----------
    by
        ``submission``, ``main`` or ``backfill``; ``known`` if it was said beforehand.
    end
        When it really ends.
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
    """A start that is known beforehand: when and where, whatever the schedulers would do.

    Attributes
    ----------
    partition
        Where it runs; empty if it has only one.
    cpus
        Of each node, where that is known.
    by
        Which scheduler starts it: where the main one does, it looks at the others in the same pass.
    """

    start: int
    nodes: tuple[str, ...]
    partition: str = ""
    cpus: Mapping[str, int] | None = None
    by: str = ""


@dataclass(frozen=True)
class Run:
    """What comes of it.

    Attributes
    ----------
    starts
        In their order.
    waiting
        Numbers of the jobs that have not started at its end.
    cycles, passes
        How often the backfill scheduler and the main scheduler ran.
    remarks
        What was not looked at.
    """

    starts: tuple[Start, ...]
    waiting: tuple[int, ...]
    cycles: int
    passes: int
    remarks: tuple[str, ...]
