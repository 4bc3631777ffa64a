"""The total resources of a partition, cached per cluster, as large sites need them often."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from gas.slurm.cluster import Cluster, Node, Partition

__all__ = ["Extent", "extent_of"]


@dataclass(frozen=True)
class Extent:
    """The nodes of a partition.

    Attributes
    ----------
    names
        Names of the nodes, in the partition's order.
    nodes
        By name.
    usual
        A node of the most frequent kind, if possible one on which jobs can start; None if there are no nodes.
    sizes
        CPUs of each, the largest first.
    memory
        MB of the largest; None if none is published.
    first_memory
        MB of the first node in the partition's list.
    """

    names: tuple[str, ...]
    nodes: dict[str, Node]
    usual: Node | None
    sizes: tuple[int, ...]
    memory: int | None
    first_memory: int

    @cached_property
    def cpus(self) -> int:
        """Total CPUs of all nodes."""
        return sum(self.sizes)

    @property
    def largest(self) -> int:
        """CPUs of the largest node; 1 without nodes."""
        return self.sizes[0] if self.sizes else 1


def extent_of(cluster: Cluster, partition: Partition) -> Extent:
    """Return the total resources of a partition."""
    key = ("extent", partition.name)
    known = cluster.worked_out.get(key)
    if not isinstance(known, Extent) or known.names is not partition.nodes:  # comparing thousands of names takes time
        known = cluster.worked_out[key] = _extent(cluster, partition)
    return known


def _extent(cluster: Cluster, partition: Partition) -> Extent:
    names = set(partition.nodes)
    nodes = {node.name: node for node in cluster.nodes if node.name in names}
    there = [node for node in nodes.values() if node.usable] or list(nodes.values())
    usual = None
    if there:
        (cpus, _), *_ = Counter(node.cpus for node in there).most_common(1)
        usual = next(node for node in there if node.cpus == cpus)
    first = next((nodes[name] for name in partition.nodes if name in nodes), None)
    return Extent(
        partition.nodes,
        nodes,
        usual,
        tuple(sorted((node.cpus for node in nodes.values()), reverse=True)),
        max((node.memory for node in nodes.values() if node.memory is not None), default=None),
        (first.memory or 0) if first is not None else 0,
    )
