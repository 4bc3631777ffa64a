"""The resources of the machine, and what is allocated of them: plain arrays by node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BOUNDLESS", "OFF", "Machine", "Tree", "Use", "idle_of", "powered_on"]

BOUNDLESS = 1 << 40
"""A number of nodes, or of MB, that means no limit."""


OFF = 1 << 33
"""Added to the weight of a powered-down node, so that it comes after all others (their weights are below 2**32).

Only the main scheduler starts jobs on such nodes; the backfill scheduler never uses or plans them (seen on 22.05, 24.11
and 26.05).
"""


class Tree(NamedTuple):
    """The switches by which nodes are chosen, in Slurm's order; none if nodes are chosen otherwise.

    Attributes
    ----------
    leaf
        By node, the switch that it is on; -1 if it is on none.
    parent, level
        By switch, the one above it (-1: none), and the number of levels below it.
    apart
        Number of links between two switches; `BOUNDLESS` if they are not connected.
    members, first
        The nodes leaf by leaf; and the index of each switch's first node there, with one more entry for the end.
    by_cpus
        Whether a switch must also have enough CPUs, not only nodes.
    """

    leaf: NDArray[np.int64]
    parent: NDArray[np.int64]
    level: NDArray[np.int64]
    apart: NDArray[np.int64]
    members: NDArray[np.int64]
    first: NDArray[np.int64]
    by_cpus: bool


class Machine(NamedTuple):
    """The resources of the nodes, in Slurm's order.

    Attributes
    ----------
    cpus, memory
        CPUs; MB.
    gres
        Generic resources: a column for each name, and one for each of its types; at least one column.
    weight
        Nodes of low weight are allocated first; powered-down nodes have `OFF` more.
    core
        CPUs of a core if jobs get whole cores; else 1.
    gpu
        The columns of generic resources that are GPUs.
    type_of
        For the column of a type, the column of its name; -1 for the others.
    near
        By how much each node's weight is lowered by the last test for a job with GPUs, if that outlasts the test; tests
        change it. Empty if each test sets weights anew.
    tree
        Its switches.
    """

    cpus: NDArray[np.int64]
    memory: NDArray[np.int64]
    gres: NDArray[np.int64]
    weight: NDArray[np.int64]
    core: NDArray[np.int64]
    sockets: NDArray[np.int64]
    gpu: NDArray[np.bool_]
    type_of: NDArray[np.int64]
    near: NDArray[np.int64]
    tree: Tree


def powered_on(machine: Machine) -> NDArray[np.bool_]:
    """Return which nodes are powered on, so that the backfill scheduler may plan them (`OFF`)."""
    return machine.weight < OFF


class Use(NamedTuple):
    """Allocations on each node: CPUs, MB, jobs, jobs with the whole node, generic resources, and CPUs by limit."""

    cpus: NDArray[np.int64]
    memory: NDArray[np.int64]
    jobs: NDArray[np.int64]
    whole: NDArray[np.int64]
    gres: NDArray[np.int64]
    limited: NDArray[np.int64]


def idle_of(use: Use) -> Use:
    """Return the allocations of the same machine without jobs."""
    return Use(*(np.zeros_like(one) for one in use))
