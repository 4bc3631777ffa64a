"""The interface of transports to Slurm, and the batch jobs that they submit (`gas.endpoints.sending`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gas.endpoints.sending import SendingTransport
from gas.slurm.cluster import Cluster, Job

__all__ = ["ACCOUNTED", "Batch", "Shape", "Transport"]

ACCOUNTED = "JobID,User,Timelimit,ElapsedRaw,Submit,Eligible,Start,End,AllocCPUS,AllocNodes,State,JobName"
"""Fields of jobs requested from accounting, in sacct's names."""


@dataclass(frozen=True)
class Shape:
    """The size and time limit of a request: tasks, nodes or GPUs, and minutes.

    Attributes
    ----------
    tasks
        None if another number determines it.
    nodes
        The exact number; None if Slurm chooses.
    minutes
        The time limit; Slurm's are in minutes.
    whole
        Whether whole nodes are requested.
    others
        Other parts of the size, as options of sbatch: ``("gpus", "a100:8")``.
    """

    tasks: int | None
    nodes: int | None
    minutes: int
    whole: bool = True
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Batch:
    """A batch job for any transport.

    Attributes
    ----------
    name
        The job's name with its tag.
    script
        Its contents, from the ``#!`` line on.
    options
        Further options of sbatch by their long names without dashes; None for those without a value.
    directives
        The options in the script itself, which sbatch reads; the others precede them.
    not_before
        Epoch second before which it must not start.
    """

    name: str
    script: str
    shape: Shape
    options: Mapping[str, str | None] = field(default_factory=dict)
    directory: str | None = None
    not_before: int | None = None
    directives: Mapping[str, str | None] = field(default_factory=dict)


class Transport(SendingTransport[Batch], Protocol):
    """A connection to one Slurm."""

    @property
    def is_local(self) -> bool:
        """Whether this machine and Slurm share a file system, as far as known."""

    @property
    def place(self) -> str:
        """Which Slurm it connects to, and how: equal for equal connections, whatever their names."""

    def cluster(self, name: str) -> Cluster:
        """Return the published state; `name` is the cluster's name in the configuration."""

    def jobs(self, *, user: str | None = None, ids: Collection[int] = ()) -> tuple[Job, ...]:
        """Return the jobs of a user, or with these numbers, including recently ended ones; unknown ones are omitted."""

    def retention(self) -> int | None:
        """Return the seconds for which ended jobs are remembered at least (MinJobAge); None if not published."""

    def accounting(self, partition: str, days: int) -> bytes:
        """Return sacct's output for a partition's jobs of the last days.

        Raises
        ------
        BadInput
            There is no accounting, or slurmdbd does not answer.
        """

    def reshape(self, id: int, shape: Shape) -> None:
        """Change size and time limit of a waiting job; raise `Conflict` if it is not waiting, or `NotFound`."""
