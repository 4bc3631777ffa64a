"""The parameters of the backfill scheduler for its kernels (slurm.conf(5), SchedulerParameters)."""

from __future__ import annotations

from typing import Any

from gas.slurm.cluster import Cluster
from gas.slurm.rows import Parameters

__all__ = ["KILL_WAIT", "number_in", "parameters_of"]

KILL_WAIT = 30  # slurm.conf(5), KillWait


def number_in(parameters: Any, name: str, default: int, least: int = 0) -> int:
    """Return the number in a parameter; the default if it is not a number, or too small."""
    text = str(parameters.get(name, ""))
    value = int(text) if text.isdecimal() and len(text) <= 10 else default
    return value if value >= least else default


def parameters_of(cluster: Cluster, *, grace: int = KILL_WAIT) -> Parameters:
    """Return the parameters of the backfill scheduler."""
    scheduling = cluster.scheduling
    given = scheduling.parameters
    resolution = max(scheduling.resolution, 1)
    licenses = "bf_licenses" in given
    return Parameters(
        cluster.now, cluster.now // resolution * resolution, resolution, scheduling.window, scheduling.depth,
        number_in(given, "bf_max_job_user", 0), number_in(given, "bf_max_job_part", 0),
        number_in(given, "bf_max_job_user_part", 0), number_in(given, "bf_max_job_assoc", 0), scheduling.array_depth,
        number_in(given, "bf_job_part_count_reserve", 0), "bf_one_resv_per_job" in given, licenses,
        number_in(given, "bf_node_space_size", max(scheduling.depth, 2) if scheduling.depth else 0),
        number_in(given, "bf_window_linear", 0), grace, False,
    )  # fmt: skip
