"""The usual names of columns in tables of timings, and their meaning.

A name may start with "n", "num" or "number of", hold a unit in brackets or after its last word, and be in any case:
``GPUs``, ``n_gpus``, ``num_nodes``, ``step time (ms)``, ``time_min``, ``s/it``, ``images/sec``.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from documents.fields import nearest, shown
from speedup_models.model import SizeUnit

__all__ = ["KNOWN", "Column", "Each", "Role", "column", "problem"]

Role = Literal["size", "nodes", "per_node", "batch", "local_batch", "accumulation", "type", "time", "unused"]
Each = Literal["run", "step", "sample"]
"""What a time measures."""


class Column(NamedTuple):
    """The meaning of a column.

    Attributes
    ----------
    unit
        The unit that sizes count, or of which nodes have a number.
    factor
        Seconds per value of 1; for a rate, the period in seconds of one unit of it.
    rate
        Whether values are numbers per time, not times.
    """

    name: str
    role: Role
    unit: SizeUnit = "processors"
    each: Each = "run"
    factor: float = 1.0
    rate: bool = False


SIZES: Final[dict[str, SizeUnit]] = {
    "processors": "processors", "procs": "processors", "processes": "processors", "cores": "processors",
    "cpus": "processors", "ranks": "processors", "mpi_ranks": "processors", "tasks": "processors",
    "threads": "processors", "np": "processors", "gpus": "gpus", "gpu": "gpus", "gpu_count": "gpus", "devices": "gpus",
    "replicas": "gpus", "world_size": "gpus",
}  # fmt: skip
PER_NODE: Final[dict[str, SizeUnit]] = {
    "gpus_per_node": "gpus", "devices_per_node": "gpus", "nproc_per_node": "gpus", "local_world_size": "gpus",
    "ppn": "processors", "cores_per_node": "processors", "ranks_per_node": "processors",
    "tasks_per_node": "processors", "processors_per_node": "processors", "procs_per_node": "processors",
}  # fmt: skip
ROLES: Final[dict[str, Role]] = {
    "nodes": "nodes", "hosts": "nodes",
    "global_batch": "batch", "global_batch_size": "batch", "global_bsz": "batch", "total_batch": "batch",
    "total_batch_size": "batch", "train_batch_size": "batch",
    "local_batch": "local_batch", "local_batch_size": "local_batch", "local_bsz": "local_batch",
    "micro_batch": "local_batch", "micro_batch_size": "local_batch", "batch_per_gpu": "local_batch",
    "batch_size_per_gpu": "local_batch", "per_gpu_batch_size": "local_batch", "per_device_batch_size": "local_batch",
    "per_device_train_batch_size": "local_batch", "train_micro_batch_size_per_gpu": "local_batch",
    "accumulation": "accumulation", "accumulation_steps": "accumulation", "grad_accum": "accumulation",
    "gradient_accumulation_steps": "accumulation",
    "type": "type", "gpu_type": "type", "device_type": "type",
    "speedup": "unused", "speed_up": "unused", "efficiency": "unused", "parallel_efficiency": "unused",
    "scaling_efficiency": "unused", "run": "unused", "repeat": "unused", "trial": "unused",
}  # fmt: skip
TIMES: Final[dict[str, Each]] = {
    "time": "run", "runtime": "run", "run_time": "run", "elapsed": "run", "elapsed_time": "run", "wall_time": "run",
    "walltime": "run", "wall_clock": "run", "wall_clock_time": "run", "execution_time": "run", "total_time": "run",
    "duration": "run", "step_time": "step", "time_per_step": "step", "iteration_time": "step", "iter_time": "step",
    "time_per_iteration": "step", "time_per_iter": "step", "time_per_batch": "step", "batch_time": "step",
}  # fmt: skip
SECONDS: Final = {
    "us": 1e-6, "ms": 1e-3, "msec": 1e-3, "milliseconds": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0,
    "seconds": 1.0, "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0,
    "hours": 3600.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip
COUNTED: Final[dict[str, Each]] = {
    **dict.fromkeys(("step", "steps", "it", "its", "iter", "iters", "iteration", "iterations", "batches"), "step"),
    **dict.fromkeys(("sample", "samples", "image", "images", "img", "imgs", "token", "tokens", "sentence"), "sample"),
    **dict.fromkeys(("sentences", "sequence", "sequences", "seqs", "example", "examples", "ns"), "sample"),
}  # fmt: skip
"""What rates count and times are for: steps, or samples, many of which make a step (also nanoseconds of a
simulation).
"""

AMBIGUOUS: Final = {
    "batch": "whether samples of a step are those of all GPUs or of each; call it global_batch or local_batch",
    "throughput": "what is counted in which time; call it samples/s, images/s or steps/s",
}
AMBIGUOUS["batch_size"] = AMBIGUOUS["bsz"] = AMBIGUOUS["batchsize"] = AMBIGUOUS["batch"]

KNOWN: Final = (
    *SIZES, *PER_NODE, *ROLES, *TIMES, "seconds", "minutes", "hours", "seconds_per_step", "samples/s", "images/s",
    "steps/s", "it/s", "ns/day",
)  # fmt: skip

PREFIX: Final = re.compile(r"^(?:n|num|nr|no|number_of|no_of|#)_+|^n(?=gpus$|nodes$|procs$|cores$|ranks$|tasks$|cpus$)")


def column(name: str) -> Column | None:
    """Return the meaning of a column with this name; None if it is not known."""
    text, unit = _plain(name)
    if text in SIZES and unit is None:
        return Column(name, "size", SIZES[text])
    if text in PER_NODE and unit is None:
        return Column(name, "per_node", PER_NODE[text])
    if text in ROLES:
        return Column(name, ROLES[text])
    if text in TIMES and (unit is None or unit in SECONDS):
        return Column(name, "time", each=TIMES[text], factor=SECONDS[unit or "s"])
    if text in SECONDS and unit is None and len(text) > 2:
        return Column(name, "time", factor=SECONDS[text])
    for whole in (text, unit or ""):
        top, slash, bottom = whole.replace("_per_", "/").partition("/")
        top = top.strip("_").rpartition("_")[2]
        bottom = bottom.strip("_")
        if slash and top in SECONDS and bottom in COUNTED:
            return Column(name, "time", each=COUNTED[bottom], factor=SECONDS[top])
        if slash and top in COUNTED and bottom in SECONDS:
            return Column(name, "time", each=COUNTED[top], factor=SECONDS[bottom], rate=True)
    stem, _, last = text.rpartition("_")
    if last in SECONDS and stem in TIMES:
        return Column(name, "time", each=TIMES[stem], factor=SECONDS[last])
    return None


def problem(name: str) -> str:
    """Return in words why a column is not understood, and the way out."""
    text, _ = _plain(name)
    if text in AMBIGUOUS:
        return f"{shown(name)}, does not say {AMBIGUOUS[text]}"
    needed = '; rename or remove it: sizes and times suffice, like "processors,seconds" (gas guide fit lists all names)'
    return f"{shown(name)}, is not known{nearest(text, KNOWN, otherwise=needed)}"


def _plain(name: str) -> tuple[str, str | None]:
    """Return a name in lower case without prefix, its words joined by "_", and the unit in its brackets."""
    found = re.fullmatch(r"([^(\[]{1,100})[(\[]([^)\]]{1,100})[)\]]\s*", name.lower().strip())
    text, unit = (found[1], found[2].strip()) if found else (name.lower(), None)
    text = re.sub(r"[\s\-.]+", "_", text.strip().replace("#", "# "))
    return PREFIX.sub("", text).strip("_"), unit
