"""Jobs that may be submitted to Slurm later, with the shapes of jobs in its queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gas.slurm.cluster import Cluster, Job
from gas.slurm.order import HOLDING
from gas.slurm.priority import own_priority

__all__ = ["Alike"]


class Alike:
    """Later jobs: shapes like those of jobs in the queue, with sizes and time limits of past jobs."""

    def __init__(self, cluster: Cluster, candidates: Sequence[Job | None], generator: np.random.Generator) -> None:
        named = {name for job in candidates if job is not None for name in job.partitions}
        self._cluster, self._generator = cluster, generator
        self._partition = next((one for one in cluster.partitions if one.name in named), None)
        self._jobs = [
            job for job in cluster.jobs
            if named & set(job.partitions) and (job.state in HOLDING or job.pending) and job.leader is None and job.id
        ]  # fmt: skip
        self._sizes = np.log([max(job.cpus, 1) for job in self._jobs] or [1])
        inside = set() if self._partition is None else set(self._partition.nodes)
        self._per_node = max((node.cpus for node in cluster.nodes if node.name in inside), default=1)
        self._priorities: dict[tuple[str, str, str, int], int] = {}

    def __call__(self, id: int, cpus: int, walltime: int) -> Job | None:
        """Return a job of this size and walltime in seconds; None if no partition is known."""
        if self._partition is None:
            return None
        plain = Job(0, "", "", "PENDING", (self._partition.name,), cpus, 0)
        if self._jobs:  # one of the dozen nearest in size
            near = np.argsort(np.abs(self._sizes - np.log(cpus)), kind="stable")[:12]
            like = self._jobs[int(self._generator.choice(near))]
            plain = Job(
                0, like.name, like.user, "PENDING", plain.partitions, cpus, 0, account=like.account, qos=like.qos,
                exclusive=like.exclusive, memory_per_cpu=like.memory_per_cpu, features=like.features,
                gres_per_node=like.gres_per_node,
            )  # fmt: skip
        nodes = -(-cpus // self._per_node)
        job = replace(plain, time_limit=max(walltime, 1), least_nodes=nodes, tasks_asked=cpus)
        key = job.user, job.account, job.qos, cpus
        if key not in self._priorities:
            self._priorities[key] = own_priority(self._cluster, job, self._partition).value or 0
        return replace(job, id=id, priority=self._priorities[key])
