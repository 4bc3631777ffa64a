"""Slurm's names for the limits that hold a job back, as shown by squeue (job_state_reason.c)."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = [
    "BY_LIMIT",
    "CLOSED_PARTITION",
    "LIMITS",
    "by_nodes",
    "of_limit",
    "of_minutes",
    "of_use",
    "stem_of",
    "with_nodes",
]


def stem_of(name: str, memory: str = "Mem") -> str:
    """Return the name of a resource in reasons."""
    known: Mapping[str, str] = {"cpu": "Cpu", "mem": memory, "node": "Node", "billing": "Billing", "energy": "Energy"}
    kinds = {"gres": "GRES", "license": "License", "bb": "BB"}
    return known.get(name) or kinds.get(name.partition("/")[0], "Unknown")


def of_use(name: str, tail: str, *, memory: str) -> str:
    """Return the end of a reason: ``CpuLimit``, ``MemLimit``, ``GRES``; ``CpuPerUserLimit``, ``MemoryPerUser``."""
    stem = stem_of(name, memory)
    with_limit = ("Cpu", "Node", "Mem") if not tail else () if tail in ("PerNode", "PerAccount") else ("Cpu", "Node")
    return f"{stem}{tail}{'Limit' if stem in with_limit else ''}"


def of_minutes(stem: str, name: str, minutes: str) -> str:
    """Return ``QOSGrpCPUMinutesLimit``, ``AssocGrpMemRunMinutes`` and the like."""
    if name == "cpu":
        return f"{stem}CPU{minutes}Limit"
    return f"{stem}{stem_of(name, 'Memory' if stem.startswith('QOS') else 'Mem')}{minutes}"


BY_LIMIT = ("Assoc", "QOS", "Max")
"""How reasons begin that name a limit of an account, a user or a QOS."""

CLOSED_PARTITION = "PartitionConfig"
"""A partition is not open to a job, and never will be (from 23.02 on)."""

LIMITS = frozenset(
    {"Licenses", "PartitionTimeLimit", "PartitionNodeLimit", CLOSED_PARTITION, "MaxMemPerLimit", "AccountNotAllowed"}
    | {"QOSNotAllowed", "InvalidAccount", "InvalidQOS", "AccountingPolicy", "PartitionDown", "PartitionInactive"}
)
"""Reasons that name limits, besides those that begin so (`BY_LIMIT`)."""


def of_limit(reason: str) -> bool:
    """Whether a job with this reason is held back by a limit: it then has no plan, even with a published start."""
    return reason in LIMITS or reason.startswith(BY_LIMIT) or "permitted to use this partition" in reason


def with_nodes(reason: str) -> bool:
    """Whether a limit is on resources, and so checked after node selection (acct_policy_job_runnable_post_select).

    Limits on jobs and walltime, and permissions, are checked before.
    """
    early = reason in LIMITS or "permitted to use this partition" in reason or "Jobs" in reason or "Wall" in reason
    return not early and reason.startswith(BY_LIMIT)


_BY_NODES = re.compile(r"(QOS|Assoc)(Grp|Max)Node|MaxNodePer|.*PerNode")


def by_nodes(reason: str) -> bool:
    """Whether a limit depends on the number of nodes, which is unknown before node selection."""
    return _BY_NODES.match(reason) is not None
