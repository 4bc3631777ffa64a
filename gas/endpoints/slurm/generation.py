"""Generates a configuration for the partitions of a Slurm from its published state, for the user to edit."""

from __future__ import annotations

import json
import re
from collections import Counter

from gas.endpoints.slurm.choices import usable, why_not
from gas.errors import Infeasible
from gas.printable import many
from gas.slurm.cluster import Cluster, Partition
from gas.slurm.unasked import only_gpus
from gas.times import duration_text, iso_time

__all__ = ["configuration_of", "tables_of"]


def configuration_of(
    cluster: Cluster, keys: dict[str, str], user: str = "", groups: frozenset[str] | None = None
) -> str:
    """Return the tables of a ``gas.toml``, one for each partition that accepts jobs of a user.

    Parameters
    ----------
    keys
        Keys of each table that say how to reach the Slurm: ``slurm_conf`` or ``url``.
    groups
        Names of the user's groups, if known.

    Raises
    ------
    Infeasible
        No partition accepts the user's jobs.
    """
    tables = [_text_of(cluster, one, keys) for one in _open(cluster, user, groups)]
    head = f"# Slurm {cluster.version} as of {iso_time(cluster.now)}; limits of partitions are read at each use."
    left_out = [f"# partition {_text(name)} is left out: {why}" for name, why in _closed(cluster, user, groups)]
    return "\n\n".join(["\n".join([head, *left_out]), *tables]) + "\n"


def tables_of(
    cluster: Cluster, keys: dict[str, str], user: str = "", groups: frozenset[str] | None = None
) -> dict[str, dict[str, str]]:
    """Return the same as tables, by name of the endpoint."""
    return {_name(cluster, one): _table(cluster, one, keys) for one in _open(cluster, user, groups)}


def _open(cluster: Cluster, user: str, groups: frozenset[str] | None) -> list[Partition]:
    """Return the partitions that accept jobs of a user, or raise `Infeasible`."""
    found = usable(cluster, user, groups=groups)
    if not found:
        closed = "; ".join(f"{name}: {why}" for name, why in _closed(cluster, user, groups))
        raise Infeasible(f"{cluster.name}: none of its {len(cluster.partitions)} partitions accepts jobs ({closed})")
    return found


def _closed(cluster: Cluster, user: str, groups: frozenset[str] | None) -> list[tuple[str, str]]:
    """Return the partitions that accept no jobs of a user, and why."""
    there = {one.name for one in usable(cluster, user, groups=groups)}
    found = []
    for one in cluster.partitions:
        if one.name not in there:
            binding = why_not(cluster, one, user, groups=groups)
            found.append((one.name, f"it is {one.state}" if binding is None else binding.words))
    return found


def _name(cluster: Cluster, partition: Partition) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", f"{cluster.name}-{partition.name}").strip("-") or "slurm"


def _table(cluster: Cluster, partition: Partition, keys: dict[str, str]) -> dict[str, str]:
    unit = "nodes" if partition.whole_nodes else "gpus" if only_gpus(cluster, partition) else "cpus"
    return {"type": "slurm", **keys, "partition": partition.name, "unit": unit}


def _text_of(cluster: Cluster, partition: Partition, keys: dict[str, str]) -> str:
    usable = {node.name: node.cpus for node in cluster.nodes if node.usable}
    there = [usable[node] for node in partition.nodes if node in usable]
    facts = [f"{len(there)} of {len(partition.nodes)} nodes usable", f"{sum(there)} CPUs"]
    gpus = Counter[str]()
    for node in cluster.nodes:
        if node.usable and node.name in partition.nodes:
            gpus.update({one.type: one.count for one in node.gres if one.name == "gpu"})
    facts += [many(count, f"{kind} GPU".strip()) for kind, count in sorted(gpus.items())]
    if partition.longest is not None:
        facts.append(f"at most {duration_text(partition.longest)}")
    if partition.most_nodes is not None:
        facts.append(f"at most {partition.most_nodes} nodes per job")
    if partition.default:
        facts.insert(0, "the default")
    if partition.whole_nodes:
        facts.append("jobs share no nodes")
    table = [f"{key} = {_text(value)}" for key, value in _table(cluster, partition, keys).items()]
    lines = [
        f"[endpoints.{_name(cluster, partition)}]  # {', '.join(facts)}",
        *table[:-1],
        f'{table[-1]}  # what a size counts: "cpus", "tasks", whole "nodes", or "gpus"',
        "# speed = 1.0 # speed relative to the times in application files",
        '# account = "..." # or what else your site requires: options = ["--constraint=..."]',
    ]
    return "\n".join(lines)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # valid TOML, too
