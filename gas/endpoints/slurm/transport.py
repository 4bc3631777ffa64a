"""How one speaks to a Slurm: what is sent, and what each transport can do besides (`gas.endpoints.sending`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gas.endpoints.sending import SendingTransport
from gas.slurm.cluster import Cluster, Job

__all__ = ["ACCOUNTED", "Batch", "Shape", "Transport"]

ACCOUNTED = "JobID,User,Timelimit,ElapsedRaw,Submit,Eligible,Start,End,AllocCPUS,AllocNodes,State,JobName"
"""What is asked of each job in the accounting, as sacct calls it."""


@dataclass(frozen=True)
class Shape:
    """How much for how long: so many tasks, nodes or GPUs, for so many minutes.

    Attributes
    ----------
    tasks
        None where another number says how many there are.
    nodes
        Exactly so many; None where Slurm is to choose.
    minutes
        The time limit: Slurm's are in minutes.
    whole
        The nodes are requested whole.
    others
        What else is said of the size, as options of sbatch: ``("gpus", "a100:8")``.
    """

    tasks: int | None
    nodes: int | None
    minutes: int
    whole: bool = True
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Batch:
    """A batch job as it is submitted, whatever the transport.

    Attributes
    ----------
    name
        The job's name with its tag.
    script
        What is run, from its ``#!`` line on.
    options
        Further options of sbatch by their long names without dashes; None for those that take no value.
    directives
        Those that stand in the script itself, where sbatch reads them; the others come before them.
    not_before
        Epoch second before which it does not start.
    """

    name: str
    script: str
    shape: Shape
    options: Mapping[str, str | None] = field(default_factory=dict)
    directory: str | None = None
    not_before: int | None = None
    directives: Mapping[str, str | None] = field(default_factory=dict)


class Transport(SendingTransport[Batch], Protocol):
    """One way to speak to one Slurm."""

    @property
    def is_local(self) -> bool:
        """Return whether paths here mean the same there, as far as that is known."""

    @property
    def place(self) -> str:
        """Return which Slurm it speaks to, and how: the same for all that do so alike, whatever they are called."""

    def cluster(self, name: str) -> Cluster:
        """Return everything that is published; `name` is what the user calls it."""

    def jobs(self, *, user: str | None = None, ids: Collection[int] = ()) -> tuple[Job, ...]:
        """Return the jobs of a user, or those of these numbers, also those that ended lately; unknown ones not."""

    def memory(self) -> int | None:
        """Return for how many seconds ended jobs are remembered at least (MinJobAge), None if that is not published."""

    def accounting(self, partition: str, days: int) -> bytes:
        """Return what sacct prints of a partition's jobs of the last days.

        Raises
        ------
        BadInput
            There is no accounting, or it does not answer.
        """

    def reshape(self, id: int, shape: Shape) -> None:
        """Change how much for how long a waiting job asks for. `Conflict` if it does not wait; `NotFound`."""
