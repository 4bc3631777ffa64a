"""The Slurm of this machine, without any configuration: an endpoint for each partition that accepts the user's jobs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gas.endpoints.programs import own_groups
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.generation import configuration_of, tables_of
from gas.endpoints.slurm.reading import Reading
from gas.slurm.cluster import Cluster

__all__ = ["UNCONFIGURED", "Here", "here", "is_here", "share_queries", "text_here"]


UNCONFIGURED = "Could not establish a configuration source"
"""What Slurm's commands print if they are installed, but no Slurm is set up."""


def is_here() -> bool:
    """Return whether this machine has Slurm's commands."""
    return shutil.which("scontrol") is not None and shutil.which("sbatch") is not None


class Here(NamedTuple):
    """The Slurm of this machine: the tables of a configuration, one for each partition, and its published state."""

    tables: dict[str, dict[str, str]]
    cluster: Cluster


def here() -> Here:
    """Query Slurm and return the partitions that accept the user's jobs."""
    transport = CommandTransport("slurm")
    cluster = transport.cluster(transport.cluster_name())
    return Here(tables_of(cluster, _keys(), transport.user, own_groups()), cluster)


def text_here() -> str:
    """Return the same as the text of a ``gas.toml``."""
    transport = CommandTransport("slurm")
    return configuration_of(transport.cluster(transport.cluster_name()), _keys(), transport.user, own_groups())


def _keys() -> dict[str, str]:
    where = os.environ.get("SLURM_CONF")
    return {} if where is None else {"slurm_conf": str(Path(where).absolute())}


def share_queries(endpoints: Sequence[SlurmEndpoint], known: Cluster | None = None) -> None:
    """Let the endpoints of one Slurm share its queries.

    Parameters
    ----------
    known
        The state that has just been read for all of them.
    """
    readings: dict[tuple[object, ...], Reading] = {}
    for one in endpoints:
        transport = one.transport
        key = (type(transport), transport.place, transport.timeout)
        one.reading = readings.setdefault(key, Reading(transport, known))
