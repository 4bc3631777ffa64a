"""The parts of a cluster's configuration that Gas reads, for any transport: texts by their names in slurm.conf."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from documents.fields import quoted
from gas.endpoints.slurm.notation import NOTHING, words
from gas.endpoints.slurm.resources import megabytes
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Partition, Scheduling

__all__ = ["hidden", "release", "scheduling", "with_default_memory"]

_KNOWN = {"bf_resolution": "resolution", "bf_window": "window", "bf_max_job_test": "depth"}
_KNOWN |= {"bf_max_job_array_resv": "array_depth"}


def release(version: str) -> tuple[int, int]:
    """Return year and month of ``24.11.5``; (0, 0) if it is not a release."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", version)
    return (0, 0) if found is None else (int(found[1]), int(found[2]))


def hidden(config: Mapping[str, str]) -> frozenset[str]:
    """Return what is hidden from users (PrivateData): "jobs", "nodes", "partitions", "reservations", ..."""
    found = {word.lower() for word in words(config.get("PrivateData", ""))}
    every = {"accounts", "events", "jobs", "nodes", "partitions", "reservations", "usage", "users"}
    return frozenset(every if "all" in found else found)


def scheduling(parameters: str) -> Scheduling:
    """Return the settings in SchedulerParameters; `Unreachable` names a value that is not a number."""
    given = dict(part.partition("=")[::2] for part in words(parameters))
    found: dict[str, Any] = {"parameters": given}
    for key, attribute in _KNOWN.items():
        if key in given:
            if re.fullmatch(r"[0-9]{1,9}", given[key]) is None:
                raise Unreachable(
                    f"scontrol show config, SchedulerParameters: {key} is {quoted(given[key])}, not a number"
                )
            found[attribute] = int(given[key]) * (60 if key == "bf_window" else 1)  # bf_window is in minutes
    if found.get("resolution") == 0:
        del found["resolution"]
    return replace(Scheduling(), **found)


def with_default_memory(partitions: Collection[Partition], config: Mapping[str, str]) -> tuple[Partition, ...]:
    """Return the partitions with the cluster's default and maximum memory of jobs, unless they have their own.

    Of each pair, at most one is set (slurm.conf(5), DefMemPerCPU and DefMemPerNode); 0 means no limit.
    """
    default: dict[str, Any] = {
        "memory_per_cpu": _memory(config, "DefMemPerCPU"),
        "memory_per_node": _memory(config, "DefMemPerNode"),
    }
    most: dict[str, Any] = {"most_memory_per_cpu": _memory(config, "MaxMemPerCPU")}
    most |= {"most_memory_per_node": _memory(config, "MaxMemPerNode")}
    found = []
    for one in partitions:
        own = one.memory_per_cpu is not None or one.memory_per_node is not None
        own_most = one.most_memory_per_cpu is not None or one.most_memory_per_node is not None
        found.append(replace(one, **({} if own else default), **({} if own_most else most)))
    return tuple(found)


def _memory(config: Mapping[str, str], key: str) -> int | None:
    text = config.get(key, "")
    try:
        return None if text.strip() in NOTHING else megabytes(text) or None
    except BadInput as error:
        raise Unreachable(f"scontrol show config, {key}: {error}") from None
