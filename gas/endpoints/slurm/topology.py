"""The switches of a cluster, from ``scontrol show topology`` or topology.conf(5), which have the same keys."""

from __future__ import annotations

import re
from collections.abc import Mapping

from documents.fields import quoted
from gas.endpoints.slurm.notation import node_names, words
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Switch

__all__ = ["TOPOLOGY", "chosen_by_switches", "read_switches"]

TOPOLOGY = ("scontrol", "show", "topology")

OTHERWISE = frozenset({"dragonfly", "topooptional", "switchasnoderank"})
"""Parameters with which nodes are chosen differently (slurm.conf(5), TopologyParam)."""


def chosen_by_switches(config: Mapping[str, str]) -> bool:
    """Return whether Slurm chooses nodes by switches in the way that Gas supports."""
    parameters = {word.lower() for word in words(config.get("TopologyParam", ""))}
    return config.get("TopologyPlugin", "").rpartition("/")[2] == "tree" and not parameters & OTHERWISE


def read_switches(text: str) -> tuple[Switch, ...]:
    """Return the switches in the order of the text.

    Raises
    ------
    Unreachable
        There are none, or a line does not describe a switch.
    """
    joined = re.sub(r"\\\r?\n", "", text)
    lines = [line for one in joined.splitlines() if (line := one.partition("#")[0].strip())]
    found = []
    for number, line in enumerate(lines, 1):
        values = {key.lower(): value for key, value in re.findall(r"(\w+)\s*=\s*(\S+)", line)}
        if "switchname" not in values:
            raise Unreachable(f"the topology, line {number}: {quoted(line[:80])} names no switch (SwitchName=)")
        try:
            below = node_names(values.get("switches", ""))
            nodes = () if below else node_names(values.get("nodes", ""))
        except BadInput as error:
            raise Unreachable(f"the topology, line {number}: {error}") from None
        found.append(Switch(values["switchname"], nodes, below))
    if not found:
        raise Unreachable("the topology has no switches")
    return tuple(found)
