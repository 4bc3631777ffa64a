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
    """Later jobs: requests like those of jobs in the queue, with sizes and time limits of past jobs.

    They go to all partitions whose jobs may take nodes of the candidates: jobs of a higher tier overtake these.
    """

    def __init__(self, cluster: Cluster, candidates: Sequence[Job | None], generator: np.random.Generator) -> None:
        named = {name for job in candidates if job is not None for name in job.partitions}
        self._cluster, self._generator = cluster, generator
        self._partitions = {one.name: one for one in cluster.partitions}
        self._own = next((one.name for one in cluster.partitions if one.name in named), None)
        nodes = {node for one in cluster.partitions if one.name in named for node in one.nodes}
        self._rivals = {one.name for one in cluster.partitions if not nodes.isdisjoint(one.nodes)}
        self._jobs = [
            job for job in cluster.jobs
            if self._rivals & set(job.partitions) and (job.state in HOLDING or job.pending) and job.leader is None
            and job.id
        ]  # fmt: skip
        self._sizes = np.log([max(job.cpus, 1) for job in self._jobs] or [1])
        cpus = {node.name: node.cpus for node in cluster.nodes}
        self._per_node = {
            one.name: max((cpus[name] for name in one.nodes if name in cpus), default=1) for one in cluster.partitions
        }
        self._priorities: dict[tuple[str, str, str, int, str], int] = {}

    def __call__(self, id: int, cpus: int, walltime: int) -> Job | None:
        """Return a job of this size and walltime in seconds; None if no partition is known."""
        if self._own is None:
            return None
        plain = Job(0, "", "", "PENDING", (self._own,), cpus, 0, tasks_asked=cpus)
        if self._jobs:  # one of the dozen nearest in size
            near = np.argsort(np.abs(self._sizes - np.log(cpus)), kind="stable")[:12]
            plain = self._like(self._jobs[int(self._generator.choice(near))], cpus)
        most = max(self._per_node[name] for name in plain.partitions)
        least = max(plain.least_nodes, -(-cpus // most))
        job = replace(
            plain, time_limit=max(walltime, 1), least_nodes=least,
            most_nodes=None if plain.most_nodes is None else max(plain.most_nodes, least),
        )  # fmt: skip
        priorities = {name: self._priority(job, name) for name in job.partitions}
        return replace(job, id=id, priority=max(priorities.values()), priority_in=priorities)

    def _like(self, like: Job, cpus: int) -> Job:
        """Return a waiting job with the request of another, for this number of CPUs."""

        def scaled(nodes: int) -> int:  # one node is the default
            return nodes if nodes == 1 else max(round(nodes * cpus / max(like.cpus, 1)), 1)

        partitions = tuple(name for name in like.partitions if name in self._rivals)
        per_task = like.cpus_per_task if cpus % max(like.cpus_per_task, 1) == 0 else 1
        return Job(
            0, like.name, like.user, "PENDING", partitions, cpus, 0,
            least_nodes=scaled(like.least_nodes),
            most_nodes=None if like.most_nodes is None else scaled(like.most_nodes),
            account=like.account, qos=like.qos, exclusive=like.exclusive, tasks_asked=cpus // max(per_task, 1),
            cpus_per_task=per_task, memory_per_node=like.memory_per_node, memory_per_cpu=like.memory_per_cpu,
            features=like.features, gres_per_node=like.gres_per_node, licences=like.licences,
        )  # fmt: skip

    def _priority(self, job: Job, name: str) -> int:
        key = job.user, job.account, job.qos, job.cpus, name
        if key not in self._priorities:
            self._priorities[key] = own_priority(self._cluster, job, self._partitions[name]).value or 0
        return self._priorities[key]
