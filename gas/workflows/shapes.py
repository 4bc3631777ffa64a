"""Jobs on nodes and GPUs for workflow managers: MPI ranks, or one launcher on each node.

The resources of a size's units (`gas.resources`) become one `JobShape`, from which the parameters of each manager
follow. Sizes are kept; memory and CPUs per GPU become memory and CPUs per node or per task, for managers without such
parameters. Walltimes are rounded up to whole minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gas.errors import BadInput
from gas.resources import Resources

if TYPE_CHECKING:
    from gas.planner import Candidate

__all__ = ["JobShape", "dask_words", "parsl_words", "psij_words", "sbatch_words", "snakemake_words", "submitit_words"]


@dataclass(frozen=True)
class JobShape:
    """The tasks of a job, their nodes, and the resources of each.

    Attributes
    ----------
    nodes, tasks_per_node
        None if the scheduler chooses.
    cpus_per_task
        None if not specified.
    gpus_per_node
        0 if there are none, or if they belong to tasks.
    gpus_per_task
        0 if they belong to nodes.
    memory_per_node, memory_per_cpu
        MB; at most one of the two.
    whole
        Whether its nodes are exclusive.
    minutes
        The walltime.
    """

    tasks: int
    minutes: int
    nodes: int | None = None
    tasks_per_node: int | None = None
    cpus_per_task: int | None = None
    gpus_per_node: int = 0
    gpus_per_task: int = 0
    gpu_type: str = ""
    memory_per_node: int | None = None
    memory_per_cpu: int | None = None
    whole: bool = False

    @classmethod
    def of(cls, best: Candidate, resources: Resources | None) -> JobShape:
        """Return the shape of a request.

        Raises
        ------
        Infeasible
            Several types of GPU are possible, but a task can request only one.
        """
        kept, layout, size = resources or Resources(best.unit), best.layout, best.processors
        known = kept.values(size, layout)
        tasks, minutes = known["tasks"], -(-best.walltime // 60)
        nodes = None if layout is None else layout.nodes
        per_node = None if nodes is None else tasks // nodes
        cpus, gpus, gpu_type, each = kept.cpus_per_task, 0, "", 0
        if best.unit != "processors" and layout is not None:
            gpus, gpu_type = layout.per_node, layout.device
        elif best.unit == "gpus":
            each, gpu_type = 1, kept.only_gpu_type()
        if kept.cpus_per_gpu is not None:
            cpus = -(-kept.cpus_per_gpu * gpus // per_node) if per_node else kept.cpus_per_gpu * each
        memory = dict([kept.memory] if kept.memory else [])
        of_node, of_cpu = memory.get("memory_per_node"), memory.get("memory_per_processor")
        if (of_gpu := memory.get("memory_per_gpu")) is not None and gpus:
            of_node = of_gpu * gpus
        elif of_gpu is not None:
            of_cpu = -(-of_gpu * each // (cpus or 1))
        whole = best.unit == "nodes"
        return cls(tasks, minutes, nodes, per_node, cpus, gpus, each, gpu_type, of_node, of_cpu, whole)

    @property
    def gpus(self) -> dict[str, str]:
        """Return the GPUs as an option of sbatch."""
        kind = f"{self.gpu_type}:" if self.gpu_type else ""
        if self.gpus_per_node:
            return {"gpus-per-node": f"{kind}{self.gpus_per_node}"}
        return {"gpus-per-task": f"{kind}{self.gpus_per_task}"} if self.gpus_per_task else {}

    @property
    def memory(self) -> dict[str, str]:
        """Return the memory as an option of sbatch."""
        if self.memory_per_node is not None:
            return {"mem": f"{self.memory_per_node}M"}
        return {} if self.memory_per_cpu is None else {"mem-per-cpu": f"{self.memory_per_cpu}M"}

    @property
    def cpus_per_node(self) -> int:
        """Return the CPUs of each node, as far as specified."""
        return (self.tasks_per_node or 1) * (self.cpus_per_task or 1)


def sbatch_words(shape: JobShape) -> dict[str, str | None]:
    """Return options of Slurm's ``sbatch`` by their long names; None for those that take no value."""
    words: dict[str, str | None] = {"time": str(shape.minutes)}
    if shape.nodes is not None:
        words["nodes"] = str(shape.nodes)
    words["ntasks"] = str(shape.tasks)
    if shape.tasks_per_node is not None:
        words["ntasks-per-node"] = str(shape.tasks_per_node)
    if shape.cpus_per_task is not None:
        words["cpus-per-task"] = str(shape.cpus_per_task)
    return {**words, **shape.gpus, **shape.memory, **({"exclusive": None} if shape.whole else {})}


def psij_words(shape: JobShape) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields of PSI/J's ``ResourceSpecV1``, and custom attributes for what has no field.

    The number of GPUs per process is a field. The type of GPU and the memory are options of Slurm (PSI/J's memory is
    per job, but its script for Slurm writes it as memory per node). If Slurm chooses the nodes, this is an option too,
    since PSI/J would set one node.
    """
    found: dict[str, Any] = {"process_count": shape.tasks}
    if shape.nodes is not None:
        found = {"node_count": shape.nodes, "processes_per_node": shape.tasks_per_node}
    if shape.cpus_per_task is not None:
        found["cpu_cores_per_process"] = shape.cpus_per_task
    each, rest = divmod(shape.gpus_per_node, shape.tasks_per_node or 1)
    own: dict[str, str] = {}
    if shape.gpu_type or rest:
        own |= {f"slurm.{name}": value for name, value in shape.gpus.items()}
    elif each or shape.gpus_per_task:
        found["gpu_cores_per_process"] = each or shape.gpus_per_task
    own |= {f"slurm.{name}": value for name, value in shape.memory.items()}
    if shape.nodes is None and shape.tasks > 1:
        own["slurm.nodes"] = f"1-{shape.tasks}"
    if shape.whole:
        found["exclusive_node_use"] = True
    return found, own


def submitit_words(shape: JobShape) -> dict[str, Any]:
    """Return the parameters for ``update_parameters`` of submitit's ``AutoExecutor``.

    If Slurm chooses the nodes, this is at most one node per task: submitit always gives a number of nodes.
    """
    found: dict[str, Any] = {"timeout_min": shape.minutes}
    more: dict[str, str] = {**shape.gpus, **shape.memory}
    if shape.nodes is not None:
        found |= {"nodes": shape.nodes, "tasks_per_node": shape.tasks_per_node}
    elif shape.tasks > 1:
        more |= {"nodes": f"1-{shape.tasks}", "ntasks": str(shape.tasks)}
    if shape.cpus_per_task is not None:
        found["cpus_per_task"] = shape.cpus_per_task
    if shape.gpus_per_node and not shape.gpu_type:
        found["gpus_per_node"] = int(more.pop("gpus-per-node"))
    if shape.whole:
        found["slurm_exclusive"] = True
    if more:  # submitit has no parameter for these, or one of another type
        found["slurm_additional_parameters"] = {name.replace("-", "_"): value for name, value in more.items()}
    return found


def dask_words(shape: JobShape) -> tuple[dict[str, Any], int]:
    """Return keyword arguments of dask-jobqueue's ``SLURMCluster``, and its number of jobs: one per node.

    If Slurm chooses the nodes, it is one per task. With one launcher per node, a job is one worker.
    """
    arguments: dict[str, Any] = {
        "cores": shape.cpus_per_node,
        "processes": shape.tasks_per_node or 1,
        "walltime": f"{shape.minutes // 60:02}:{shape.minutes % 60:02}:00",
    }
    if shape.memory_per_node is not None:
        arguments["memory"] = f"{shape.memory_per_node} MiB"
    elif shape.memory_per_cpu is not None:
        arguments["memory"] = f"{shape.memory_per_cpu * shape.cpus_per_node} MiB"
    more = ["--nodes=1"] if shape.nodes is not None else []
    more += [f"--{name}={value}" for name, value in shape.gpus.items()] + (["--exclusive"] if shape.whole else [])
    return {**arguments, "job_extra_directives": more}, shape.nodes or shape.tasks


def snakemake_words(shape: JobShape) -> dict[str, int | str]:
    """Return ``resources`` of a Snakemake rule, for its executor plugin ``slurm``."""
    found: dict[str, int | str] = {} if shape.nodes is None else {"nodes": shape.nodes}
    found |= {"tasks": shape.tasks, "cpus_per_task": shape.cpus_per_task or 1, "runtime": shape.minutes}
    if shape.memory_per_node is not None:
        found["mem_mb"] = shape.memory_per_node
    elif shape.memory_per_cpu is not None:
        found["mem_mb_per_cpu"] = shape.memory_per_cpu
    more = dict(shape.gpus)
    if shape.tasks_per_node is not None:
        more["ntasks-per-node"] = str(shape.tasks_per_node)
    words = [f"--{name}={value}" for name, value in more.items()] + (["--exclusive"] if shape.whole else [])
    return {**found, **({"slurm_extra": " ".join(words)} if words else {})}


def parsl_words(shape: JobShape) -> dict[str, Any]:
    """Return keyword arguments of Parsl's ``SlurmProvider``: one block, with one pool of workers on each node.

    Raises
    ------
    BadInput
        The number of GPUs per node is not specified: Parsl's blocks are nodes.
    """
    if shape.nodes is None:
        raise BadInput("--as parsl: its blocks are nodes; write gpus_per_node or tasks_per_node into the [resources]")
    found: dict[str, Any] = {
        "nodes_per_block": shape.nodes, "init_blocks": 1, "min_blocks": 0, "max_blocks": 1,
        "walltime": f"{shape.minutes // 60:02}:{shape.minutes % 60:02}:00", "exclusive": shape.whole,
    }  # fmt: skip
    if not shape.whole or shape.cpus_per_task is not None:
        found["cores_per_node"] = shape.cpus_per_node
    more: Mapping[str, str] = shape.memory
    if shape.gpus_per_node and not shape.gpu_type:
        found["gpus_per_node"] = shape.gpus_per_node
    else:
        more = {**shape.gpus, **more}
    if more:
        found["scheduler_options"] = "\n".join(f"#SBATCH --{name}={value}" for name, value in more.items())
    return found
