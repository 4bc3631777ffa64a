"""Resources of each unit of a size (memory, CPUs, GPUs of a type, tasks), and the layout of a size over nodes.

They come from ``unit`` and the table [resources] of an application (`gas guide formats`). S³ counts processors and
accepts none of them; Slurm accepts all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from documents.fields import FieldError, Fields, shown
from gas.errors import Infeasible
from gas.printable import many
from speedup_models.model import UNITS, Layout, SizeUnit

__all__ = ["Resources"]

MEMORY: Final = {
    "memory_per_processor": ("processors",), "memory_per_gpu": ("gpus",), "memory_per_node": UNITS,
}  # fmt: skip
COUNTS: Final = {
    "cpus_per_task": ("processors",), "cpus_per_gpu": ("gpus",), "tasks_per_node": UNITS,
}  # fmt: skip
OF_GPUS: Final = ("gpus", "nodes")
MOST: Final = 100_000


@dataclass(frozen=True)
class Resources:
    """The resources of each unit of a size; all optional.

    Attributes
    ----------
    unit
        The unit that a size counts.
    memory
        The given one of `MEMORY` and its MB; None if none is given.
    cpus_per_gpu, cpus_per_task
        CPUs of each GPU, of each task.
    gpu_types
        The acceptable types of GPU; empty for any.
    gpus_per_node
        GPUs of each node: a single number is a maximum, and nodes are filled; of several, the planner chooses one.
    tasks_per_node
        Number of tasks that Slurm starts on each node: 1 for a launcher such as torchrun; None for one per unit (MPI).
    """

    unit: SizeUnit = "processors"
    memory: tuple[str, int] | None = None
    cpus_per_gpu: int | None = None
    cpus_per_task: int | None = None
    gpu_types: tuple[str, ...] = ()
    gpus_per_node: tuple[int, ...] = ()
    tasks_per_node: int | None = None

    @classmethod
    def of(cls, unit: SizeUnit, fields: Fields) -> Resources:
        """Return the resources that a table [resources] describes.

        Raises
        ------
        FieldError
            A key is unknown, cannot be used or does not belong to the unit.
        """
        for key, units in {**MEMORY, **COUNTS, "gpu_type": OF_GPUS, "gpus_per_node": OF_GPUS}.items():
            if key in fields and unit not in units:
                wanted = " or ".join(f'unit = "{one}"' for one in units)
                raise fields.fail(key, f'belongs to {wanted}, and this application has unit = "{unit}"')
        given = [key for key in MEMORY if key in fields]
        if len(given) > 1:
            raise fields.fail(given[1], f"and {given[0]} cannot be used together on Slurm; leave one out")
        memory = (given[0], _megabytes(fields, given[0])) if given else None
        counts = {key: fields.integer(key, None, minimum=1, maximum=MOST) for key in COUNTS}
        found = cls(unit, memory, gpu_types=_types(fields), gpus_per_node=_per_node(fields), **counts)
        fields.done()
        return found

    @property
    def most_per_node(self) -> int | None:
        """Return the most units on a node, if the table gives one number for it."""
        if self.unit == "processors":
            return None if self.tasks_per_node is None else self.tasks_per_node * (self.cpus_per_task or 1)
        return self.gpus_per_node[0] if len(self.gpus_per_node) == 1 else None

    @property
    def laid_out(self) -> bool:
        """Whether the layout of a size over nodes matters."""
        return self.unit == "nodes" or bool(self.gpus_per_node) or self.tasks_per_node is not None

    def layouts(self, size: int, largest: Mapping[str, int], *, free: bool) -> list[Layout]:
        """Return the layouts of a size; none if it cannot be divided evenly.

        Parameters
        ----------
        largest
            Units of the largest node of the machine, by type of GPU to consider.
        free
            Without a given number per node, return all even layouts; otherwise the one with the fewest nodes.
        """
        return [
            Layout(nodes, per_node, device)
            for device, most in largest.items()
            for nodes, per_node in self._even(size, most, free)
            if self.unit == "processors" or per_node <= most
        ]

    def _even(self, size: int, most: int, free: bool) -> list[tuple[int, int]]:
        """Return pairs of nodes and units per node, fewest nodes first."""
        if self.unit == "nodes":
            return [(size, each) for each in sorted(self.gpus_per_node or (0,), reverse=True)]
        if len(self.gpus_per_node) > 1:
            return [(size // each, each) for each in sorted(self.gpus_per_node, reverse=True) if size % each == 0]
        bound = self.most_per_node or most
        if free and self.most_per_node is None:
            return [(size // each, each) for each in range(min(size, bound), 0, -1) if size % each == 0]
        nodes = -(-size // max(bound, 1))
        return [] if size % nodes else [(nodes, size // nodes)]

    def only_gpu_type(self) -> str:
        """Return the type of GPU for jobs with one task per GPU, empty for any; `Infeasible` if there are several."""
        if len(self.gpu_types) > 1:
            types = ", ".join(self.gpu_types)
            raise Infeasible(f"one task per GPU allows one type of GPU, not {types}; add gpus_per_node")
        return "".join(self.gpu_types)

    def why_uneven(self, size: int, largest: int) -> str:
        """Return in words why a size has no layout on a machine whose largest node has this many units."""
        if self.unit != "processors" and self.gpus_per_node and min(self.gpus_per_node) > largest:
            kind = f" of type {' or '.join(self.gpu_types)}" if self.gpu_types else ""
            there = f"more than {many(largest, 'GPU')}" if largest else "GPUs"
            return f"gpus_per_node is {min(self.gpus_per_node)}, and no node has {there}{kind}"
        if len(self.gpus_per_node) > 1:
            numbers = ", ".join(map(str, self.gpus_per_node))
            return f"{size} are not whole nodes of {numbers} GPUs each"
        what = "processors" if self.unit == "processors" else "GPUs"
        most = self.most_per_node or largest
        return f"{size} {what} cannot be spread evenly over the fewest nodes of up to {most}"

    def values(self, size: int, layout: Layout | None) -> dict[str, int]:
        """Return the values of placeholders for a job of this size (`gas.placeholders`)."""
        known: dict[str, int] = {self.unit: size}
        if layout is not None:
            known["nodes"] = layout.nodes
            if self.unit != "processors" and layout.per_node:
                known |= {"gpus_per_node": layout.per_node, "gpus": layout.nodes * layout.per_node}
        if self.unit == "processors":
            each = self.cpus_per_task or 1
            return {**known, "tasks": size // each, "cpus_per_task": each}
        tasks = known.get("gpus", size) if self.unit == "gpus" else size
        if self.tasks_per_node is not None and "nodes" in known:
            tasks = known["nodes"] * self.tasks_per_node
        known["tasks"] = tasks
        if self.cpus_per_gpu is not None:
            known["processors"] = known["gpus"] * self.cpus_per_gpu
            known["cpus_per_task"] = max(1, known["processors"] // tasks)
        return known


def _megabytes(fields: Fields, key: str) -> int:
    text = fields.text(key)
    found = re.fullmatch(r"(\d{1,9})\s*([MGT])I?B?", text.strip().upper())
    if found is None or int(found[1]) == 0:
        raise fields.fail(key, f'{shown(text)} is not an amount of memory; write it like "500M", "32G" or "1T"')
    return int(found[1]) << {"M": 0, "G": 10, "T": 20}[found[2]]


def _listed(fields: Fields, key: str) -> Sequence[object]:
    value = fields.value(key, [])
    found = value if isinstance(value, list) else [value]
    if key in fields and not found:
        raise fields.fail(key, "is empty; leave it out, or name at least one")
    return found


def _types(fields: Fields) -> tuple[str, ...]:
    found = []
    for one in _listed(fields, "gpu_type"):
        if not isinstance(one, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", one):
            raise fields.fail("gpu_type", f'{shown(one)} is not a type of GPU; write it as the site does, like "a100"')
        found.append(one)
    return tuple(dict.fromkeys(found))


def _per_node(fields: Fields) -> tuple[int, ...]:
    found = []
    for one in _listed(fields, "gpus_per_node"):
        if type(one) is not int or not 1 <= one <= MOST:
            raise FieldError(
                fields.where("gpus_per_node"), f"{shown(one)} is not a number of GPUs; write 4, or [1, 2, 4]"
            )
        found.append(one)
    return tuple(sorted(set(found)))
