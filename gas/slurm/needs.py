"""What a job requests in a partition, as arrays (`gas.slurm.fitting`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gas.slurm import fitting
from gas.slurm.cluster import Cluster, Gres, Job, Partition
from gas.slurm.demand import asks_for_gres, fills_nodes, selection_of, tasks_per_core
from gas.slurm.extent import extent_of
from gas.slurm.levels import most_nodes
from gas.slurm.machine import BOUNDLESS
from gas.slurm.settings import Settings
from gas.slurm.versions import Rules

__all__ = ["Needs", "Resources"]


class Resources:
    """Generic resources by column: one for each name, and one for each of its types."""

    def __init__(self, cluster: Cluster) -> None:
        self.columns: dict[tuple[str, str], int] = {}
        for node in cluster.nodes:
            for one in node.gres:
                self.columns.setdefault((one.name, ""), len(self.columns))
                if one.type:
                    self.columns.setdefault((one.name, one.type), len(self.columns))

    def __len__(self) -> int:
        return max(len(self.columns), 1)

    def type_of(self) -> NDArray[np.int64]:
        """Return for the column of each type the column of its name, and -1 for the others."""
        found = [self.columns[name, ""] if type_ else -1 for name, type_ in self.columns]
        return np.array(found or [-1], np.int64)

    def put(self, row: NDArray[np.int64], found: Iterable[Gres]) -> bool:
        """Add resources to a row; return whether all of them are known."""
        clear = True
        for one in found:
            column = self.columns.get((one.name, ""))
            if column is None:
                clear = False
                continue
            row[column] += one.count
            if one.type:
                typed = self.columns.get((one.name, one.type))
                if typed is None:
                    clear = False
                else:
                    row[typed] += one.count
        return clear


class Needs:
    """What the jobs of one cluster request.

    Parameters
    ----------
    with_memory
        Whether memory is a consumable resource.
    limited
        Numbers of the partitions with MaxCPUsPerNode, by name.
    """

    def __init__(
        self, cluster: Cluster, rules: Rules, resources: Resources, limited: Mapping[str, int], *, with_memory: bool
    ) -> None:
        self.cluster, self.rules, self.resources, self.limited = cluster, rules, resources, limited
        self.settings = cluster.settings or Settings()
        self.with_memory = with_memory

    def write(self, job: Job, partition: Partition, row: NDArray[np.int64], gres: NDArray[np.int64]) -> None:
        """Write what a job requests in a partition."""
        per_task = max(job.cpus_per_task, 1)
        per_node = job.tasks_per_node or 0
        tasks = job.tasks_asked or 0
        whole = job.exclusive or partition.whole_nodes
        selection = selection_of(partition, self.settings)
        in_cores = not selection & {"CR_CPU", "CR_CPU_MEMORY"}
        least, wanted, most = self.numbers_of_nodes(job, partition)
        of_task = sum(one.count for one in job.gres_per_task if one.name == "gpu")
        each = job.cpus_per_gpu
        if each is None:
            each = (partition.cpus_per_gpu or self.settings.cpus_per_gpu or 0) if per_task == 1 else 0
        row[fitting.GPU_CPUS] = each
        per_task = max(per_task, each * of_task)
        of_node = sum(one.count for one in (*job.gres_per_node, *job.gres_per_socket) if one.name == "gpu")
        row[fitting.NODE_CPUS] = each * of_node
        of_job: tuple[Gres, ...] = ()
        gpus = sum(one.count for one in job.gres_per_job if one.name == "gpu")
        if each and gpus and len(job.gres_per_job) == 1 and not of_task and not of_node:
            if max(job.cpus, tasks * per_task) <= gpus * max(each, per_task):
                # like tasks with one GPU each, as its GPUs may be on more nodes than it has tasks (seen on 22.05,
                # 24.11 and 26.05: --gpus=8 --cpus-per-gpu=2 on two nodes of 8 CPUs)
                per_task, tasks, of_job = max(per_task, each), gpus, (replace(job.gres_per_job[0], count=1),)
            of_node = gpus
        if not (of_task or of_node or gpus) and (job.cpus_per_node or 0) > per_task * max(per_node, 1):
            row[fitting.NODE_CPUS] = job.cpus_per_node or 0
        if self.rules.cpus_of_gpus and each * of_node and not per_node and not of_job:
            row[fitting.BOUND] = max(each * of_node, tasks * per_task if most == 1 else 0)
        by_gpus = bool((each and of_task) or of_job)  # on 22.05 this does not raise the published CPUs of the job
        if job.id and job.cpus < tasks * max(job.cpus_per_task, 1) and not (per_node or by_gpus):
            tasks = 0  # none requested: NumTasks is the least number of nodes; each gives the CPUs of one task
        alone = len(job.gres_per_job) == 1 and not (of_task or of_node or of_job or per_node)
        if self.rules.tasks_by_gpus and alone and gpus == tasks:
            of_job = (replace(job.gres_per_job[0], count=1),)
        row[fitting.CPUS] = max(job.cpus, least, tasks * per_task)
        row[fitting.TASK_CPUS] = per_task
        row[fitting.PER_NODE] = per_node
        row[fitting.LEAST], row[fitting.WANTED], row[fitting.MOST] = least, wanted, most
        row[fitting.FILLED] = fills_nodes(job, self.rules)
        has_gres = asks_for_gres(job)
        row[fitting.UNBOUND] = bool(per_node) and not has_gres and (whole or not self.rules.own_tasks)
        shares = _shares(job, self.rules) if has_gres and not per_node else 0
        if shares:
            cpus = max(row[fitting.CPUS], (job.tasks_asked or 0) * max(job.cpus_per_task, 1))
            row[fitting.BOUND] = max(-(-cpus // shares), each * (of_node or gpus))
        row[fitting.WHOLE], row[fitting.CONTIGUOUS] = whole, job.contiguous
        serial = row[fitting.CPUS] == 1 == max(least, wanted)
        row[fitting.ORDER] = self._order(partition, selection, serial=serial, contiguous=job.contiguous)
        row[fitting.THREADS] = job.threads_per_core or 0
        row[fitting.CORE_TASKS] = tasks_per_core(job, selection)
        if in_cores and job.threads_per_core is not None:
            lone = not whole and (per_node == 1 or job.tasks_asked == 1)
            if not self.rules.cpus_of_gpus and lone and each * (of_node or gpus) > 1:
                row[fitting.LONE_TASKS] = -1
            elif self.rules.lone_tasks and not self.rules.tasks_together and of_task:
                row[fitting.LONE_TASKS] = 1
        row[fitting.LIMITED] = self.limited.get(partition.name, -1)
        row[fitting.LIMITED_CPUS] = partition.most_cpus or 0
        row[fitting.HAS_REQUIRED] = bool(job.required_nodes)
        clear = self.resources.put(gres[fitting.OF_NODE], (*job.gres_per_node, *job.gres_per_socket))
        clear &= self.resources.put(gres[fitting.OF_TASK], of_job or job.gres_per_task)
        clear &= self.resources.put(gres[fitting.OF_JOB], () if of_job else job.gres_per_job)
        if not clear:  # a resource that does not exist: request more than any node has
            gres[fitting.OF_NODE, 0] = BOUNDLESS
        row[fitting.HAS_GRES] = bool(gres.any())
        self._need_memory(job, partition, row, per_task)
        on_node = job.cpus_per_node or per_task * max(per_node, 1)
        row[fitting.NODE_MEMORY] = max(row[fitting.MEMORY], row[fitting.CPU_MEMORY] * on_node)
        if not self.with_memory:  # nodes must have it, but jobs may share it (seen on 22.05, 24.11 and 26.05)
            row[fitting.TASK_MEMORY] = row[fitting.CPU_MEMORY] = 0
        row[fitting.CORE_MEMORY] = row[fitting.CPU_MEMORY] if in_cores else 0
        # before `whole_tasks`, leftover CPUs count unless memory or GPUs determine the CPUs (seen on 22.05)
        per_cpu = self.with_memory and row[fitting.TASK_MEMORY] > 0
        row[fitting.MULTIPLES] = self.rules.whole_tasks or bool(job.cpus_per_gpu or job.gres_per_task) or per_cpu
        row[fitting.MULTIPLES] &= row[fitting.ORDER] != fitting.LINEAR

    def _order(self, partition: Partition, selection: frozenset[str], *, serial: bool, contiguous: bool) -> int:
        """Return the order in which nodes of equal weight are allocated; `serial` means a job of one CPU."""
        if partition.least_loaded or "CR_LLN" in selection:
            return fitting.LAST_COUNTED if self.rules.last_counted else fitting.LEAST_LOADED
        if serial and "pack_serial_at_end" in self.cluster.scheduling.parameters:
            return fitting.FROM_THE_END
        if self.settings.selection == "linear" and self.cluster.switches is None:
            return fitting.LINEAR
        return fitting.TIGHTEST if contiguous or self.cluster.switches is None else fitting.BY_SWITCHES

    def numbers_of_nodes(self, job: Job, partition: Partition) -> tuple[int, int, int]:
        """Return the least number of nodes that a job needs, the number that it wants, and the most.

        For ``-N 2-6`` all releases show ``NumNodes=6-6 NumTasks=2``; for ``-n 3`` 26.05 shows ``NumNodes=1-3``, for
        ``-n 1`` ``1-1``, and for ``-n 5 -N 4-8`` it shows ``NumNodes=5-5``, which is what the job gets.
        """
        least, tasks, per_node = job.least_nodes, job.tasks_asked or 0, job.tasks_per_node or 0
        most = BOUNDLESS if job.most_nodes is None else job.most_nodes
        if self.rules.first_node and not job.id and job.tasks_stated and tasks == 1:
            most = min(most, 1)
        if job.id and tasks and not per_node and job.cpus <= tasks < least:
            least = tasks
        unasked = least <= max(partition.least_nodes, 1)
        if job.id and self.rules.first_node and not per_node and unasked and least < most == tasks:
            most = BOUNDLESS
        if job.id and not per_node and unasked and 1 < most == self._filled(job, partition):
            most = BOUNDLESS
        wanted = 0 if most == BOUNDLESS else most
        if per_node and tasks:
            if not self.rules.own_tasks and most != BOUNDLESS:  # no more nodes than tasks (seen on 22.05)
                most = wanted = min(most, max(tasks, least))
            least = max(least, -(-tasks // per_node))
            if self.rules.all_tasks and most == BOUNDLESS and job.least_nodes <= 1:
                most = least
        least = max(least, partition.least_nodes, 1)
        if job.gres_per_job and tasks and (not self.rules.more_nodes or self.rules.few_nodes):
            most = min(most, max(tasks, least)) if tasks > 1 or not job.id else most
        for limit in (partition.most_nodes, most_nodes(self.cluster, job, partition)):
            if limit is not None:
                most, wanted = min(most, limit), min(wanted, limit)
        return least, max(least, wanted), most

    def _filled(self, job: Job, partition: Partition) -> int | None:
        """Return the maximum of nodes that 24.11 shows for a job that has been held: the number that its CPUs fill.

        It does not bind: on nodes of 4 CPUs, -n 11 shows NumNodes=3 if never held, NumNodes=3-3 once it has been held,
        and may get seven nodes. -N 1-3 -n 11 looks the same, but is rare; a job of one node may well be -N 1. 22.05 and
        26.05 do not show this maximum.
        """
        if not self.rules.own_tasks or self.rules.all_tasks:
            return None
        nodes = extent_of(self.cluster, partition).nodes.values()
        return -(-job.cpus * len(nodes) // max(sum(node.cpus for node in nodes), 1))

    def _is_default(self, job: Job, partition: Partition, node: int, gpu: int) -> bool:
        """Return whether a job's memory per node is the default for its GPUs: that amount, or all of the first node.

        Seen: 26.05 shows the former, 24.11 the latter.
        """
        nodes = max(job.least_nodes, 1)
        gpus = sum(one.count for one in job.gres_per_job if one.name == "gpu")
        gpus = gpus or nodes * sum(one.count for one in job.gres_per_node if one.name == "gpu")
        gpus = gpus or (job.tasks_asked or 1) * sum(one.count for one in job.gres_per_task if one.name == "gpu")
        return node in (gpu * gpus // nodes, 0) or node == extent_of(self.cluster, partition).first_memory

    def _need_memory(self, job: Job, partition: Partition, row: NDArray[np.int64], per_task: int) -> None:
        node, cpu, gpu = job.memory_per_node, job.memory_per_cpu, job.memory_per_gpu
        has_gpus = any(one.name == "gpu" for one in (*job.gres_per_node, *job.gres_per_task, *job.gres_per_job))
        if gpu is not None and node is not None:
            node, gpu = (None, gpu) if self._is_default(job, partition, node, gpu) else (node, None)
        if node is None and cpu is None and gpu is None and self.with_memory:
            gpu = (partition.memory_per_gpu or self.settings.memory_per_gpu) if has_gpus else None
            if gpu is None:
                node = partition.memory_per_node or self.settings.memory_per_node
                cpu = None if node else partition.memory_per_cpu or self.settings.memory_per_cpu
                if not node and not cpu:
                    node = 0  # DefMemPerNode=UNLIMITED: all of it
        if gpu is not None:
            per_node = sum(one.count for one in job.gres_per_node if one.name == "gpu")
            of_task = sum(one.count for one in job.gres_per_task if one.name == "gpu")
            of_job = sum(one.count for one in job.gres_per_job if one.name == "gpu")
            if of_job and not per_node and not of_task:  # the GPUs of each task are not known in advance
                of_task = 1
            row[fitting.MEMORY], row[fitting.TASK_MEMORY] = gpu * per_node, gpu * of_task
        elif node is not None:
            row[fitting.MEMORY] = node
            row[fitting.ALL_MEMORY] = self.with_memory and node == 0
        elif cpu is not None:
            row[fitting.TASK_MEMORY], row[fitting.CPU_MEMORY] = cpu * per_task, cpu


def _shares(job: Job, rules: Rules) -> int:
    """Return into how many parts the CPUs of a job with GPUs are divided, one of which bounds what a node counts with.

    0 if a node counts with all CPUs that it can give: then the tightest node comes first, else they are equal. Only a
    stated number of tasks bounds. Before 26.05, jobs without one look like those of a task for each node.
    """
    tasks, least, most = job.tasks_asked, max(job.least_nodes, 1), job.most_nodes
    stated = job.tasks_stated
    if stated is None:
        stated = bool(job.gres_per_task) or tasks != least or (most is None and not rules.first_node)
    if not tasks or not stated:
        return 0
    if tasks == least == most:
        return least
    of_all = rules.bound_tasks or (rules.bound_gpus and bool(job.gres_per_job))
    return int(of_all or tasks == 1 or most == 1)
