"""The job that Slurm would create from a size, a walltime and options.

Sizes that are not given are derived as sbatch and slurmctld do at submission (sbatch(1); sbatch's opt.c, _opt_verify;
slurmctld's job_mgr.c, _validate_job_desc).
"""

from __future__ import annotations

from dataclasses import replace

from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.sizing import shape_of
from gas.endpoints.slurm.transport import Shape
from gas.errors import Infeasible
from gas.slurm.cluster import Cluster, Gres, Job, Partition
from gas.slurm.extent import extent_of
from gas.slurm.versions import Rules
from speedup_models.model import Layout

__all__ = ["requested_job", "within_memory"]


def requested_job(
    options: Options, size: int, walltime: int, *, user: str, partitions: tuple[str, ...], first: int = 0,
    layout: Layout | None = None,
) -> Job:  # fmt: skip
    """Return the job of a size (in the options' unit) and a walltime (seconds).

    Parameters
    ----------
    partitions
        Those that it is submitted to; Slurm uses the one where it starts first.
    first
        Epoch second before which it does not start.
    layout
        Its layout over nodes, if the application states one.

    Raises
    ------
    Infeasible
        The options do not allow this size.
    """
    shape = shape_of(options, size, walltime, layout)
    others = dict(shape.others)
    per_task = options.cpus_per_task or 1
    tasks_per_node = int(others["ntasks-per-node"]) if "ntasks-per-node" in others else options.tasks_per_node
    on_job = _resized(options.gpus, others.get("gpus"))
    on_node = _on_node(options, others)
    on_task = _resized(options.gpus_per_task, others.get("gpus-per-task"))
    tasks = _tasks(options, shape, tasks_per_node, on_job)
    least, most = _nodes(options, shape, tasks, tasks_per_node)
    if options.overcommit:  # all tasks on a node share the CPUs of one (seen on 22.05, 24.11 and 26.05)
        tasks, tasks_per_node = least, None
    if _gpus(on_job) and least > _gpus(on_job) and (shape.nodes or options.nodes):
        raise Infeasible(f"{_gpus(on_job)} GPUs (--gpus) are fewer than {least} nodes, which sbatch refuses")
    cpus = tasks * per_task
    of_tasks = options.cpus_per_task is not None or options.tasks_per_gpu is not None
    if options.cpus_per_gpu is not None:
        known = shape.nodes is not None or tasks_per_node is not None  # else one node may be enough
        gpus = max(_gpus(on_job), _gpus(on_node) * (least if known else 1), _gpus(on_task) * tasks)
        cpus = max(cpus, gpus * options.cpus_per_gpu)
        per_task = max(per_task, _gpus(on_task) * options.cpus_per_gpu)
    return Job(
        0,
        options.name,
        user,
        "PENDING",
        partitions,
        max(cpus, least),
        0 if options.hold else 1,
        time_limit=60 * shape.minutes,
        least_nodes=least,
        most_nodes=most,
        exclusive=options.exclusive or (options.whole and not options.shared_with),
        eligible=max(first, options.begin or 0) or None,
        dependency=options.dependency,
        required_nodes=options.required_nodes,
        excluded_nodes=options.excluded_nodes,
        reservation=options.reservation,
        tasks=options.tasks_of_array,
        account=options.account,
        qos=options.qos,
        # with only a total of GPUs, it may get more nodes than tasks
        tasks_asked=None if shape.tasks is None and on_job and not options.tasks_per_gpu else tasks,
        tasks_stated=shape.tasks is not None or options.tasks_per_gpu is not None,
        cpus_per_task=per_task,
        tasks_per_node=tasks_per_node,
        cpus_per_node=options.cpus_per_node,
        threads_per_core=options.threads_per_core,
        tasks_per_core=options.tasks_per_core,
        # with -c or tasks per GPU, default CPUs per GPU do not apply (seen on all releases)
        cpus_per_gpu=0 if of_tasks and options.cpus_per_gpu is None else options.cpus_per_gpu,
        memory_per_node=options.memory_per_node,
        memory_per_cpu=options.memory_per_cpu,
        memory_per_gpu=options.memory_per_gpu,
        gres_per_job=on_job,
        gres_per_node=on_node,
        gres_per_task=on_task,
        gres_per_socket=options.gpus_per_socket,
        features=options.features,
        licences=options.licences,
        shortest=options.shortest,
        contiguous=options.contiguous,
        reboot=options.reboot,
        shared_with=options.shared_with,
        nice=options.nice,
    )


def within_memory(job: Job, partition: Partition, cluster: Cluster) -> Job:
    """Return a job with the CPUs that Slurm gives it for its memory (slurm.conf(5), MaxMemPerCPU).

    Seen on 22.05, 24.11 and 26.05 with MaxMemPerCPU=400: -n 3 --mem-per-cpu=600 gets two CPUs with 300 MB each per
    task, and --mem=1000 three CPUs for a node's only task; --mem=0 counts as the memory of the partition's first node.
    From 24.11, all tasks on a node, with the least number of nodes, share these CPUs: -n 4 -c 2 --mem=1000 gets one CPU
    per task and four on a node, and nodes of 8 CPUs reject -n 18 --mem=1000.
    """
    most = partition.most_memory_per_cpu
    if not most:
        return job
    unasked = job.memory_per_node is None and job.memory_per_gpu is None and not partition.memory_per_gpu
    per_cpu = job.memory_per_cpu or (partition.memory_per_cpu if unasked else None) or 0
    times = -(-per_cpu // most)
    tasks, on_node, per_task = job.tasks_asked or 1, job.tasks_per_node or 1, job.cpus_per_task
    if times > 1:
        more = replace(job, memory_per_cpu=-(-per_cpu // times), cpus_per_node=job.cpus_per_node or on_node)
        return replace(more, cpus_per_task=per_task * times, cpus=max(job.cpus, tasks * per_task * times))
    memory = extent_of(cluster, partition).first_memory if job.memory_per_node == 0 else job.memory_per_node or 0
    least = -(-memory // most)
    if least <= max(per_task * on_node, job.cpus_per_node or 0):
        return job
    shared = Rules.of(cluster.version).shared_memory_cpus
    if job.tasks_per_node is None and shared:
        on_node = -(-tasks // max(job.least_nodes, 1))
    if job.tasks_per_node or tasks == 1 or shared:
        per_task = -(-least // on_node)
    cpus = max(job.least_nodes, tasks * per_task)
    return replace(job, cpus_per_task=per_task, cpus_per_node=max(least, on_node * per_task), cpus=cpus)


def _tasks(options: Options, shape: Shape, tasks_per_node: int | None, on_job: tuple[Gres, ...]) -> int:
    """Return the number of tasks of a job; sbatch's default is one per node."""
    if shape.tasks is not None:
        return shape.tasks
    if options.tasks_per_gpu is not None and on_job:
        return options.tasks_per_gpu * _gpus(on_job)
    nodes = shape.nodes or (1 if options.nodes is None else options.nodes[0])
    return nodes * (tasks_per_node or 1)


def _nodes(options: Options, shape: Shape, tasks: int, tasks_per_node: int | None) -> tuple[int, int | None]:
    """Return the minimum and maximum number of nodes that a job requests, not the number that it needs."""
    if shape.nodes is not None:
        least: int = shape.nodes
        most: int | None = shape.nodes
    elif options.nodes is not None:
        least, most = options.nodes
    else:
        least, most = 1 if tasks_per_node is None else -(-tasks // tasks_per_node), None
    if shape.tasks is not None:  # as sbatch: "can't run 2 processes on 4 nodes, setting nnodes to 2"
        least, most = min(least, tasks), None if most is None else min(most, tasks)
    return least, most


def _on_node(options: Options, others: dict[str, str]) -> tuple[Gres, ...]:
    """Return the generic resources that a job requests on each node (``--gres``, ``--gpus-per-node``)."""
    gpus = _resized(options.gpus_per_node, others.get("gpus-per-node"))
    if "gres" not in others:
        return gpus + options.gres
    return gpus + tuple(_gres(one) for one in others["gres"].split(","))


def _resized(gpus: tuple[Gres, ...], text: str | None) -> tuple[Gres, ...]:
    """Return an option's GPUs as resized for the job; if it is not resized, as given."""
    return gpus if text is None else tuple(_gres(f"gpu:{one}") for one in text.split(","))


def _gres(text: str) -> Gres:
    name, *kind, count = text.split(":")
    return Gres(name, kind[0] if kind else "", int(count))


def _gpus(gres: tuple[Gres, ...]) -> int:
    return sum(one.count for one in gres if one.name == "gpu")
