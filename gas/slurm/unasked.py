"""Choices that Gas makes only at the user's request: GPUs that the job would leave idle, and QOS that preempt jobs."""

from __future__ import annotations

from gas.slurm.cluster import Cluster, Partition

__all__ = ["GPUS", "displaced", "only_gpus"]

GPUS = ("gpu", "mps", "shard")
"""Generic resources that are GPUs or parts of them (gres.conf(5))."""


def only_gpus(cluster: Cluster, partition: Partition) -> bool:
    """Return whether every node of a partition has GPUs; False for the default partition, where jobs go anyway."""
    there = frozenset(partition.nodes)
    nodes = [node for node in cluster.nodes if node.name in there]
    return not partition.default and bool(nodes) and all(any(r.name in GPUS for r in node.gres) for node in nodes)


def displaced(cluster: Cluster, qos: str) -> tuple[str, ...]:
    """Return the other QOS whose jobs a QOS may preempt (slurm.conf(5), PreemptType=preempt/qos)."""
    found = None if cluster.accounting is None else cluster.accounting.qos.get(qos)
    settings = cluster.settings
    if found is None or (settings is not None and not (settings.preempts and settings.preempt_type == "qos")):
        return ()
    return tuple(name for name in found.preempts if name != qos)
