"""The Slurm of the machine one is on, without any configuration: an endpoint for each partition that takes jobs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.generation import configuration_of, tables_of
from gas.endpoints.slurm.reading import Reading

__all__ = ["is_here", "share", "tables_here", "text_here"]


def is_here() -> bool:
    """Return whether this machine has Slurm's commands."""
    return shutil.which("scontrol") is not None and shutil.which("sbatch") is not None


def tables_here() -> dict[str, dict[str, str]]:
    """Return the tables of a configuration, one for each partition that takes jobs; asks Slurm for them."""
    transport = CommandTransport("slurm")
    return tables_of(transport.cluster(transport.cluster_name()), _keys())


def text_here() -> str:
    """Return the same as the text of a ``gas.toml``."""
    transport = CommandTransport("slurm")
    return configuration_of(transport.cluster(transport.cluster_name()), _keys())


def _keys() -> dict[str, str]:
    where = os.environ.get("SLURM_CONF")
    return {} if where is None else {"slurm_conf": str(Path(where).absolute())}


def share(endpoints: Sequence[SlurmEndpoint]) -> None:
    """Have those that are of one Slurm read it together."""
    readings: dict[tuple[object, ...], Reading] = {}
    for one in endpoints:
        key = (type(one.transport), one.transport.address, one.transport.user, one.transport.timeout)
        one.reading = readings.setdefault(key, Reading(one.transport))
