"""Replaces nodes or partitions that a site hides from its users (PrivateData) by stand-ins from what it shows."""

from __future__ import annotations

from collections.abc import Collection

from gas.errors import Forbidden
from gas.slurm.cluster import Gres, Node, Partition

__all__ = ["HIDDEN_NODES", "HIDDEN_PARTITIONS", "nodes_of", "partitions_of", "shown_or_stand_ins"]

HIDDEN_NODES = "nodes are hidden here (PrivateData): those of a partition are assumed to be identical and up"
HIDDEN_PARTITIONS = "partitions are hidden here (PrivateData): their limits, priorities and allowed users are not known"
"""Cautions about stand-ins, for users."""


def shown_or_stand_ins(
    nodes: tuple[Node, ...], partitions: tuple[Partition, ...]
) -> tuple[tuple[Node, ...], tuple[Partition, ...], tuple[str, ...]]:
    """Return nodes and partitions, and a caution if one kind is hidden and derived from the other.

    Raises
    ------
    Forbidden
        Neither is shown; or no partitions, and nodes do not name theirs (as in 24.11).
    """
    named = partitions or partitions_of(nodes)
    if not named:
        what = "partitions are not shown to you" if nodes else "neither nodes nor partitions are shown to you"
        raise Forbidden(f"{what} (PrivateData), so nothing can be planned; jobs may still be submitted")
    if not nodes:
        return nodes_of(named), named, (HIDDEN_NODES,)
    return nodes, named, () if partitions else (HIDDEN_PARTITIONS,)


def nodes_of(partitions: Collection[Partition]) -> tuple[Node, ...]:
    """Return the nodes of partitions, each with an equal share of the resources of its smallest partition."""
    named: dict[str, list[Partition]] = {}
    for partition in sorted(partitions, key=lambda one: len(one.nodes)):
        for name in partition.nodes:
            named.setdefault(name, []).append(partition)
    return tuple(
        _node(name, its[0], tuple(one.name for one in partitions if one in its)) for name, its in sorted(named.items())
    )


def _node(name: str, partition: Partition, partitions: tuple[str, ...]) -> Node:
    count = len(partition.nodes)
    typed = {key for key in partition.tres if key.startswith("gres/") and ":" in key}
    kinds = typed | {
        key for key in partition.tres if key.startswith("gres/") and not any(one.startswith(f"{key}:") for one in typed)
    }
    found = []
    for key in sorted(kinds):
        word, _, kind = key.removeprefix("gres/").partition(":")
        found.append(Gres(word, kind, -int(-partition.tres[key] // count)))
    memory = partition.tres.get("mem")
    return Node(
        name,
        max(int(partition.tres.get("cpu", count)) // count, 1),
        partitions=partitions,
        memory=None if memory is None else int(memory) // count,
        gres=tuple(found),
    )


def partitions_of(nodes: Collection[Node]) -> tuple[Partition, ...]:
    """Return the partitions that nodes name, of which nothing else is known."""
    named: dict[str, list[str]] = {}
    for node in nodes:
        for name in node.partitions:
            named.setdefault(name, []).append(node.name)
    return tuple(Partition(name, tuple(its), state="") for name, its in named.items())
