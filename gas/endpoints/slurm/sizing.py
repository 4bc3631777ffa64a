"""Turns a size and a walltime into a shape in Slurm's units: numbers of tasks, nodes and GPUs.

The size replaces the options' own. Their other numbers keep their proportion: a script with ``--nodes=2 --ntasks=32``
gets 64 tasks on 4 nodes; a size that does not divide evenly is refused. If an application states the resources per
unit, these apply.
"""

from __future__ import annotations

from collections.abc import Iterable

from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.transport import Shape
from gas.errors import Infeasible
from gas.resources import Resources
from gas.slurm.cluster import Gres, Job, Node
from speedup_models.model import Layout

__all__ = [
    "gpu_types",
    "gpus_in",
    "gpus_on",
    "gres_of",
    "laid_out",
    "own_size",
    "shape_of",
    "size_of",
    "units_on",
    "whole_minutes",
]


def whole_minutes(walltime: int) -> int:
    """Return a walltime in minutes, rounded up."""
    return -(-walltime // 60)


def shape_of(options: Options, size: int, walltime: int, layout: Layout | None = None) -> Shape:
    """Return the shape of a request of this size (in the options' unit) and walltime (seconds).

    Parameters
    ----------
    layout
        Its layout over nodes, if the application states one.

    Raises
    ------
    Infeasible
        The options do not allow this size; the message says why.
    """
    minutes = whole_minutes(walltime)
    if layout is not None and options.resources is not None:
        return laid_out(options.resources, layout, minutes)
    if options.unit == "nodes":
        own = None if options.nodes is None else options.nodes[0]
        tasks = _scaled(options.tasks, size, own, "tasks", "nodes")
        return Shape(tasks, size, minutes, options.whole, _total_gpus(options, size, own))
    if options.unit == "gpus":
        return _of_gpus(options, size, minutes)
    tasks = size
    if options.unit == "cpus":
        per_task = options.cpus_per_task or 1
        tasks = _even(size, per_task, f"{size} CPUs are not a multiple of {per_task} CPUs per task (--cpus-per-task)")
    own_nodes = _fixed_nodes(options)
    nodes = _scaled(own_nodes, tasks, options.tasks, "nodes", "tasks") if options.tasks else None
    return Shape(tasks, nodes, minutes, options.whole, _total_gpus(options, tasks, options.tasks))


def laid_out(resources: Resources, layout: Layout, minutes: int) -> Shape:
    """Return the shape of a size with a layout over nodes: tasks, nodes, and resources per node."""
    nodes, each, device = layout
    if resources.unit == "processors":
        per_node = each // (resources.cpus_per_task or 1)
        return Shape(nodes * per_node, nodes, minutes, False, (("ntasks-per-node", str(per_node)),))
    whole = resources.unit == "nodes"
    per_node = resources.tasks_per_node or (1 if whole else each)
    others = [("ntasks-per-node", str(per_node))]
    if each:
        others.append(("gpus-per-node", f"{device}:{each}" if device else str(each)))
    return Shape(nodes * per_node, nodes, minutes, whole, tuple(others))


def own_size(options: Options) -> int:
    """Return the size that the options themselves request, in their unit."""
    nodes = 1 if options.nodes is None else options.nodes[0]
    tasks = options.tasks or nodes * (options.tasks_per_node or 1)
    if options.unit == "nodes":
        return nodes
    if options.unit == "cpus":
        return tasks * (options.cpus_per_task or 1)
    if options.unit == "tasks":
        return tasks
    if options.gpus:
        return _count(options.gpus)
    per_node = _per_node(options)
    return _count(per_node) * nodes if per_node else tasks * (_count(options.gpus_per_task) or 1)


def units_on(node: Node, options: Options) -> int:
    """Return the largest number of units on a node."""
    if options.unit == "nodes":
        return 1
    if options.unit == "gpus":
        return gpus_on(node, gpu_types(options))
    if options.unit == "cpus":
        return node.cpus
    most = node.cpus // (options.cpus_per_task or 1)
    return most if options.tasks_per_node is None else min(most, options.tasks_per_node)


def gpu_types(options: Options) -> frozenset[str]:
    """Return the acceptable types of GPU; empty if any type will do."""
    types = () if options.resources is None else options.resources.gpu_types
    asked = options.gpus or _per_node(options) or options.gpus_per_task
    return frozenset(types or {one.type for one in asked} - {""})


def gpus_on(node: Node, types: Iterable[str] = ()) -> int:
    """Return the number of a node's GPUs, only of these types if any are given."""
    return gpus_in(node.gres, types)


def gpus_in(gres: Iterable[Gres], types: Iterable[str] = ()) -> int:
    """Return the number of GPUs among generic resources, only of these types if any are given."""
    wanted = set(types)
    return sum(one.count for one in gres if one.name == "gpu" and (not wanted or one.type in wanted))


def gres_of(job: Job, node: str) -> tuple[Gres, ...] | None:
    """Return the generic resources of a running job on a node; None if unknown."""
    if job.gres_on is not None:
        return job.gres_on.get(node, ())
    return None if job.gres_per_job or job.gres_per_task or job.gres_per_socket else job.gres_per_node


def size_of(job: Job, unit: str) -> int:
    """Return the size of a job: what it holds, else what it requests."""
    nodes = len(job.nodes) or job.least_nodes
    if unit == "nodes":
        return nodes
    if unit == "tasks":
        return job.tasks_asked or job.cpus // max(job.cpus_per_task, 1)
    if unit != "gpus":
        return job.cpus
    if held := sum(gpus_in(one) for one in (job.gres_on or {}).values()):  # an ended job holds none
        return held
    tasks = job.tasks_asked or 1
    kinds = (job.gres_per_job, 1), (job.gres_per_node, nodes), (job.gres_per_task, tasks)
    return max(gpus_in(gres) * times for gres, times in kinds)


def _of_gpus(options: Options, size: int, minutes: int) -> Shape:
    nodes, own = _fixed_nodes(options), own_size(options)
    if options.gpus:
        gpus = (("gpus", _text(options.gpus, size)),)
        tasks = _scaled(options.tasks, size, own, "tasks", "GPUs")
        return Shape(tasks, _scaled(nodes, size, own, "nodes", "GPUs"), minutes, options.whole, gpus)
    if per_node := _per_node(options):
        most = _count(per_node)
        count = -(-size // most)
        each = _even(size, count, f"{size} GPUs do not fill {count} nodes of up to {most} evenly")
        others = [_on_each_node(options, each)]
        if options.tasks_per_node is not None and options.tasks is None and each != most:
            others.append(("ntasks-per-node", str(_scaled(options.tasks_per_node, each, most, "tasks", "GPUs"))))
        tasks = _scaled(options.tasks, size, own, "tasks", "GPUs")
        return Shape(tasks, count, minutes, options.whole, tuple(others))
    if options.gpus_per_task:
        each = _count(options.gpus_per_task)
        tasks = _even(size, each, f"{size} GPUs are not a multiple of {each} GPUs per task (--gpus-per-task)")
        return Shape(tasks, _scaled(nodes, size, own, "nodes", "GPUs"), minutes, options.whole)
    if options.tasks_per_gpu:
        return Shape(None, None, minutes, options.whole, (("gpus", str(size)),))
    kind = "" if options.resources is None else options.resources.only_gpu_type()
    one = f"{kind}:1" if kind else "1"
    return Shape(size, None, minutes, options.whole, (("gpus-per-task", one),))


def _per_node(options: Options) -> tuple[Gres, ...]:
    """Return the GPUs per node in the options (``--gpus-per-node`` or ``--gres``)."""
    return options.gpus_per_node or tuple(one for one in options.gres if one.name == "gpu")


def _on_each_node(options: Options, count: int) -> tuple[str, str]:
    """Return the option for this number of GPUs per node."""
    if options.gpus_per_node:
        return "gpus-per-node", _text(options.gpus_per_node, count)
    gpus = [one for one in options.gres if one.name == "gpu"]
    kinds = [one for one in options.gres if one.name != "gpu"]
    written = [f"gpu:{_text(tuple(gpus), count)}"]
    written += [":".join([one.name, *([one.type] if one.type else []), str(one.count)]) for one in kinds]
    return "gres", ",".join(written)


def _total_gpus(options: Options, size: int, own: int | None) -> tuple[tuple[str, str], ...]:
    """Return the total of GPUs, scaled to the size, if the options request one for another size."""
    if not options.gpus or own is None or size == own:
        return ()
    count = _count(options.gpus)
    scaled = _scaled(count, size, own, "GPUs", options.unit)
    return (("gpus", _text(options.gpus, scaled or count)),)


def _text(gpus: tuple[Gres, ...], count: int) -> str:
    """Return this number of GPUs in sbatch's notation; several types keep their proportion."""
    whole = _count(gpus)
    if whole == count:
        counts = [one.count for one in gpus]
    else:
        types = ", ".join(one.type or "any" for one in gpus)
        problem = f"{count} GPUs cannot be split over the types {types} in proportion"
        counts = [_even(one.count * count, whole, problem) for one in gpus]
    return ",".join(f"{one.type}:{n}" if one.type else str(n) for one, n in zip(gpus, counts, strict=True))


def _fixed_nodes(options: Options) -> int | None:
    least, most = options.nodes or (None, None)
    return least if least == most else None


def _count(gres: Iterable[Gres]) -> int:
    return sum(one.count for one in gres)


def _scaled(value: int | None, size: int, own: int | None, what: str, unit: str) -> int | None:
    """Return a number of the options, given for the size `own`, scaled to another size; None if they give none."""
    if value is None or own is None:
        return value
    return _even(
        value * size,
        own,
        f"a size of {size} {unit} does not give a whole number of {what}: the options request {value} on {own}",
    )


def _even(number: int, divisor: int, problem: str) -> int:
    if number % divisor:
        raise Infeasible(problem)
    return number // divisor
