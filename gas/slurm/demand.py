"""Amounts of trackable resources (TRES) of a job: as requested, and as allocated.

Slurm checks limits and priorities against the request at submission, and against the allocation at the start
(job_mgr.c, job_get_tres_mem and _set_tres_req...; acct_policy.c): whole cores, whole nodes, and their memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import ceil

from gas.slurm.cluster import Cluster, Gres, Job, Node, Partition
from gas.slurm.extent import extent_of
from gas.slurm.settings import Settings
from gas.slurm.versions import Rules

__all__ = [
    "Demand",
    "allocated",
    "asks_for_gres",
    "billing",
    "counted_cpus",
    "fills_nodes",
    "held",
    "minutes",
    "nodes_asked",
    "requested",
    "selection_of",
    "tasks_per_core",
]

_CORES, _SOCKETS = frozenset({"CR_CORE", "CR_CORE_MEMORY"}), frozenset({"CR_SOCKET", "CR_SOCKET_MEMORY"})
"""SelectTypeParameters that allocate whole cores, or whole sockets."""


@dataclass(frozen=True)
class Demand:
    """Amounts by resource, and the number of nodes.

    Attributes
    ----------
    least_nodes
        Its minimum number of nodes.
    whole
        Whether the amounts are those of whole nodes.
    nodes
        Names of the nodes; empty if unknown.
    """

    amounts: Mapping[str, float]
    least_nodes: int
    whole: bool = False
    nodes: frozenset[str] = frozenset()


def nodes_asked(job: Job, partition: Partition) -> int:
    """Return the minimum number of nodes requested (slurmctld's min_nodes); a partition's MinNodes raises it."""
    by_tasks = ceil(job.tasks_asked / job.tasks_per_node) if job.tasks_asked and job.tasks_per_node else 1
    return max(job.least_nodes, by_tasks, partition.least_nodes, 1)


def requested(cluster: Cluster, job: Job, partition: Partition) -> Demand:
    """Return the minimum request of a job, which counts at submission and for its priority."""
    nodes = nodes_asked(job, partition)
    amounts: dict[str, float] = {"cpu": job.cpus, "node": nodes}
    amounts |= _gres(job, nodes)
    amounts["mem"] = _memory(cluster, job, partition, job.cpus, nodes, amounts.get("gres/gpu", 0))
    amounts |= {f"license/{name}": count for name, count in job.licences.items()}
    amounts["billing"] = billing(amounts, partition, cluster.settings)
    return Demand(amounts, nodes)


def allocated(
    cluster: Cluster, job: Job, partition: Partition, chosen: Collection[str] | Mapping[str, int] | None = None
) -> Demand:
    """Return the expected allocation of a job.

    Parameters
    ----------
    chosen
        Its nodes, and its CPUs on each if known. By default the fewest possible nodes of the partition's usual kind.
    """
    extent = extent_of(cluster, partition)
    nodes, usual = extent.nodes, extent.usual
    whole = job.exclusive or partition.whole_nodes
    if chosen is None:
        each = usual.cpus if usual is not None else 1
        if partition.most_cpus is not None:
            each = max(min(each, partition.most_cpus), 1)
        in_cores = _in_cores(job, usual, cluster, partition, 1)  # a task may need a core of its own
        count = max(nodes_asked(job, partition), ceil(max(job.cpus, in_cores) / max(each, 1)))
        had = [] if usual is None else [usual]
        times = count
    else:
        had = [nodes[name] for name in chosen if name in nodes]
        count, times = max(len(chosen), 1), 1
    if whole and had:
        cpus = times * sum(node.cpus for node in had)
    elif isinstance(chosen, Mapping):
        cpus = counted_cpus(job, partition, cluster.settings, nodes, chosen)
    else:
        cpus = _in_cores(job, usual, cluster, partition, count)
    amounts: dict[str, float] = {"cpu": cpus, "node": count}
    amounts |= _gres(job, count)
    if whole:
        everything: dict[str, float] = {}
        for node in had:
            for one in node.gres:
                _add(everything, replace(one, count=times * one.count))
        amounts |= everything
    amounts["mem"] = _memory(cluster, job, partition, cpus, count, amounts.get("gres/gpu", 0))
    amounts |= {f"license/{name}": number for name, number in job.licences.items()}
    amounts["billing"] = billing(amounts, partition, cluster.settings)
    return Demand(amounts, count, whole, frozenset(chosen or ()))


def held(cluster: Cluster, job: Job) -> Mapping[str, float]:
    """Return the allocation of a running job, as far as it is shown."""
    amounts: dict[str, float] = {"cpu": job.cpus, "node": len(job.nodes) or job.least_nodes}
    if job.memory_on:
        amounts["mem"] = sum(job.memory_on.values())
    for gres in (job.gres_on or {}).values():
        for one in gres:
            _add(amounts, one)
    amounts |= {f"license/{name}": count for name, count in job.licences.items()}
    partition = next((one for one in cluster.partitions if one.name in job.partitions), None)
    if partition is not None:
        if "mem" not in amounts:
            count = int(amounts["node"])
            amounts["mem"] = _memory(cluster, job, partition, job.cpus, count, amounts.get("gres/gpu", 0))
        if job.gres_on is None:
            amounts |= _gres(job, int(amounts["node"]))
        amounts["billing"] = billing(amounts, partition, cluster.settings)
    return amounts


def fills_nodes(job: Job, rules: Rules) -> bool:
    """Return whether each node of a job gets the requested number of tasks per node, even if fewer are left.

    A job of one task needs a node with space for that number, but gets only its own CPUs (seen on 22.05: -n 1
    --ntasks-per-node=4). Without a requested number of tasks, each node gets that number on all releases; NumTasks then
    counts the minimum number of nodes (seen on 22.05, 24.11 and 26.05: -N 2-4 --ntasks-per-node=3 shows NumTasks=6 and
    gets 12 CPUs).
    """
    if not job.tasks_per_node or job.tasks_asked == 1:
        return False
    least, most = job.least_nodes, job.most_nodes
    unasked = bool(job.id) and most is not None and least < most and job.tasks_asked == least * job.tasks_per_node
    return rules.all_tasks or not rules.own_tasks or unasked


def minutes(job: Job, partition: Partition) -> int | None:
    """Return the time limit of a job in minutes, by default the partition's; None if it has none."""
    limit = job.time_limit
    if limit is None:
        limit = partition.default_time if partition.default_time is not None else partition.longest
    return None if limit is None else ceil(limit / 60)


def billing(amounts: Mapping[str, float], partition: Partition, settings: Settings | None) -> float:
    """Return the billing units of some amounts (slurm.conf(5), TRESBillingWeights; by default the CPUs).

    With MAX_TRES, the resources of nodes (CPUs, memory, GRES, nodes) count by their maximum, and others are added;
    MAX_TRES_GRES (25.05) excludes GRES from the maximum. Limits count whole units (seen on 22.05: a job of 0.7 units is
    shown with none, and starts where others wait for GrpTRESRunMins=billing).
    """
    if not partition.billing_weights:
        return amounts.get("cpu", 0)
    parts = {name: weight * amounts.get(name, 0) for name, weight in partition.billing_weights.items()}
    flags = settings.priority_flags if settings is not None else frozenset()
    if not flags & {"MAX_TRES", "MAX_TRES_GRES"}:
        return int(sum(parts.values()))
    among = [name for name in parts if name in ("cpu", "mem", "node") or name.startswith("gres/")]
    if "MAX_TRES_GRES" in flags:
        among = [name for name in among if not name.startswith("gres/")]
    most = max((parts[name] for name in among), default=0)
    return int(most + sum(points for name, points in parts.items() if name not in among))


def _gres(job: Job, nodes: int) -> dict[str, float]:
    """Return the generic resources that a job requests, with and without their types, as Slurm tracks both."""
    tasks = job.tasks_asked or max(job.cpus // max(job.cpus_per_task, 1), 1)
    found: dict[str, float] = {}
    ways = ((job.gres_per_job, 1), (job.gres_per_node, nodes), (job.gres_per_task, tasks), (job.gres_per_socket, nodes))
    for listed, times in ways:
        there = {one.name for one in listed if f"gres/{one.name}" not in found}
        for one in listed:
            if one.name in there:  # --gpus and --gpus-per-node count the same GPUs
                _add(found, Gres(one.name, one.type, one.count * times))
    return found


def _add(amounts: dict[str, float], one: Gres) -> None:
    for name in (f"gres/{one.name}", *([f"gres/{one.name}:{one.type}"] if one.type else [])):
        amounts[name] = amounts.get(name, 0) + one.count


def _memory(cluster: Cluster, job: Job, partition: Partition, cpus: int, nodes: int, gpus: float) -> float:
    """Return MB: as requested, else the partition's default, else the cluster's, else all memory of the nodes."""
    settings = cluster.settings or Settings()
    all_of_it = float(extent_of(cluster, partition).first_memory * nodes)
    if job.memory_per_cpu is not None:
        return job.memory_per_cpu * cpus
    if job.memory_per_node is not None:
        return job.memory_per_node * nodes if job.memory_per_node else all_of_it
    if job.memory_per_gpu is not None:
        return job.memory_per_gpu * gpus
    for per_cpu, per_node in (
        (partition.memory_per_cpu, partition.memory_per_node), (settings.memory_per_cpu, settings.memory_per_node),
    ):  # fmt: skip
        if per_cpu:
            return per_cpu * cpus
        if per_node:
            return per_node * nodes
    return all_of_it


def selection_of(partition: Partition, settings: Settings) -> frozenset[str]:
    """Return the SelectTypeParameters of a partition: its own, else the cluster's."""
    return frozenset(partition.selection.upper().split(",") if partition.selection else settings.selection_parameters)


def counted_cpus(
    job: Job, partition: Partition, settings: Settings | None, nodes: Mapping[str, Node], given: Mapping[str, int]
) -> int:
    """Return how many CPUs of an allocation count for limits and usage.

    Under CR_CPU a job holds the whole cores of its CPUs, but only the requested CPUs count (seen on 22.05, 24.11 and
    26.05: -n 3 holds four threads, with NumCPUs=3 and billing=3).

    Parameters
    ----------
    given
        The CPUs that it holds on each node.
    """
    held = sum(given.values())
    if job.exclusive or partition.whole_nodes or selection_of(partition, settings or Settings()) & (_CORES | _SOCKETS):
        return held
    of_cores = sum(cpus // max(nodes[name].core_cpus, 1) if name in nodes else cpus for name, cpus in given.items())
    return min(held, max(job.cpus, of_cores))


def tasks_per_core(job: Job, selection: frozenset[str]) -> int:
    """Return how many tasks of a job may share a core; 0 means as many as fit."""
    return job.tasks_per_core or int("CR_ONE_TASK_PER_CORE" in selection)


def _in_cores(job: Job, node: Node | None, cluster: Cluster, partition: Partition, count: int) -> int:
    """Return the CPUs of a job in whole cores or sockets of each node (SelectTypeParameters=CR_Core, CR_Socket)."""
    flags = selection_of(partition, cluster.settings or Settings())
    unit, used = 1, 1  # CPUs allocated together, and how many of them it uses
    per_task = max(job.cpus_per_task, 1)
    per_core = tasks_per_core(job, flags)
    if node is not None:
        if flags & _CORES:
            unit = node.core_cpus
            used = min(unit, job.threads_per_core or unit, per_core * per_task or unit)
        elif flags & _SOCKETS:
            unit = used = max(node.cpus // max(node.sockets, 1), 1)
    each, in_all = 1, job.cpus
    if job.tasks_per_node:
        each = per_task
        filled = fills_nodes(job, Rules.of(cluster.version))
        in_all = count * job.tasks_per_node if filled else job.tasks_asked or job.cpus // each
    elif per_core == 1 and per_task > used:  # tasks share no cores
        each, in_all = ceil(per_task / used) * used, ceil(job.cpus / per_task)
    share, more = divmod(in_all, count)  # whole tasks, or single CPUs, are distributed to the nodes in turn
    return more * ceil((share + 1) * each / used) * unit + (count - more) * ceil(share * each / used) * unit


def asks_for_gres(job: Job) -> bool:
    """Return whether a job requests generic resources."""
    return bool(job.gres_per_node or job.gres_per_task or job.gres_per_job or job.gres_per_socket)
