"""Requests to slurmrestd in the formats of its versions: a batch job, or another shape for a waiting job.

Up to v0.0.38, slurmrestd parses requests with sbatch's option parser (openapi/v0.0.38/jobs.c), so values may be as on a
command line. From v0.0.39 on it fills Slurm's job descriptor (data_parser, parsers.c, JOB_DESC_MSG), whose fields have
types, and values that sbatch would derive must be given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from documents.fields import quoted
from gas.endpoints.slurm.options import megabytes, minutes_of
from gas.endpoints.slurm.transport import Batch, Shape
from gas.errors import BadInput

__all__ = ["FIRST_TYPED", "OPTIONS", "change", "submission"]

FIRST_TYPED = 39
"""The first version (v0.0.39) with typed fields."""

SEARCHED = "/usr/local/bin:/usr/bin:/bin"
"""The job's PATH if none is given, as slurmrestd accepts no job without an environment."""


class _Option(NamedTuple):
    """The field name of an sbatch option; empty if a version has none."""

    early: str
    late: str
    kind: Callable[[str], Any] = str
    alone: Any = None  # what it means without a value


def _number(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+", text.strip()):
        raise BadInput("is not a whole number")
    return int(text)


def _set(number: int) -> dict[str, Any]:
    """Return a number in the format of typed fields."""
    return {"set": True, "infinite": False, "number": number}


def _words(text: str) -> list[str]:
    return [word for word in text.upper().split(",") if word]


def _listed(text: str) -> list[str]:
    return [text]  # slurmrestd joins elements with commas; splitting would break the brackets of node lists


def _shared(text: str) -> list[str]:
    return ["none" if text.lower() in ("", "exclusive") else text.lower()]


def _resources(text: str) -> str:
    return ",".join(one if one.startswith("gres/") else f"gres/{one}" for one in text.split(","))


def _gpus(text: str) -> str:
    return ",".join(f"gres/gpu:{one}" for one in text.split(","))


def _each_gpu(kind: Callable[[str], int]) -> Callable[[str], str]:
    return lambda text: f"gres/gpu:{kind(text)}"


def _minutes(text: str) -> int:
    minutes = minutes_of(text)
    if minutes is None:
        raise BadInput("is not a time limit that slurmrestd accepts")
    return minutes


def _optional(kind: Callable[[str], int]) -> Callable[[str], dict[str, Any]]:
    return lambda text: _set(kind(text))


OPTIONS: Mapping[str, _Option] = MappingProxyType(
    {
        "account": _Option("account", "account"),
        "acctg-freq": _Option("account_gather_frequency", "account_gather_frequency"),
        "array": _Option("array", "array"),
        "batch": _Option("batch_features", "batch_features"),
        "bb": _Option("burst_buffer", "burst_buffer"),
        "begin": _Option("begin_time", "begin_time"),
        "cluster-constraint": _Option("cluster_constraint", "cluster_constraint"),
        "comment": _Option("comment", "comment"),
        "constraint": _Option("constraints", "constraints"),
        "container": _Option("container", "container"),
        "contiguous": _Option("", "contiguous", alone=True),
        "core-spec": _Option("core_specification", "core_specification", _number),
        "cores-per-socket": _Option("cores_per_socket", "", _number),
        "cpus-per-gpu": _Option("cpus_per_gpu", "cpus_per_tres", _each_gpu(_number)),
        "cpus-per-task": _Option("cpus_per_task", "cpus_per_task", _number),
        "deadline": _Option("deadline", "deadline"),
        "delay-boot": _Option("delay_boot", "delay_boot", _number),
        "dependency": _Option("dependency", "dependency"),
        "distribution": _Option("distribution", ""),
        "error": _Option("standard_error", "standard_error"),
        "exclude": _Option("exclude_nodes", "excluded_nodes", _listed),
        "exclusive": _Option("exclusive", "shared", _shared, ["none"]),
        "extra": _Option("", "extra"),
        "gpu-bind": _Option("gpu_binding", ""),
        "gpu-freq": _Option("gpu_frequency", ""),
        "gpus": _Option("gpus", "tres_per_job", _gpus),
        "gpus-per-node": _Option("gpus_per_node", "tres_per_node", _gpus),
        "gpus-per-socket": _Option("gpus_per_socket", "tres_per_socket", _gpus),
        "gpus-per-task": _Option("gpus_per_task", "tres_per_task", _gpus),
        "gres": _Option("gres", "tres_per_node", _resources),
        "gres-flags": _Option("gres_flags", ""),
        "hint": _Option("cpu_binding_hint", ""),
        "hold": _Option("hold", "hold", alone=True),
        "input": _Option("standard_input", "standard_input"),
        "kill-on-invalid-dep": _Option("kill_on_invalid_dependency", ""),
        "licenses": _Option("licenses", "licenses"),
        "mail-type": _Option("mail_type", "mail_type", _words),
        "mail-user": _Option("mail_user", "mail_user"),
        "mcs-label": _Option("mcs_label", "mcs_label"),
        "mem": _Option("memory_per_node", "memory_per_node", _optional(megabytes)),
        "mem-per-cpu": _Option("memory_per_cpu", "memory_per_cpu", _optional(megabytes)),
        "mem-per-gpu": _Option("memory_per_gpu", "memory_per_tres", _each_gpu(megabytes)),
        "mincpus": _Option("minimum_cpus_per_node", "minimum_cpus_per_node", _number),
        "network": _Option("", "network"),
        "ntasks": _Option("tasks", "tasks", _number),
        "nice": _Option("nice", "nice", _number, 100),
        "no-kill": _Option("no_kill", "", alone=True),
        "no-requeue": _Option("no_requeue", "requeue", alone=True),
        "nodelist": _Option("nodelist", "required_nodes", _listed),
        "ntasks-per-core": _Option("tasks_per_core", "tasks_per_core", _number),
        "ntasks-per-gpu": _Option("ntasks_per_gpu", "ntasks_per_tres", _number),
        "ntasks-per-node": _Option("tasks_per_node", "tasks_per_node", _number),
        "ntasks-per-socket": _Option("tasks_per_socket", "tasks_per_socket", _number),
        "open-mode": _Option("open_mode", "open_mode", _words),
        "output": _Option("standard_output", "standard_output"),
        "overcommit": _Option("", "overcommit", alone=True),
        "partition": _Option("partition", "partition"),
        "prefer": _Option("prefer", "prefer"),
        "priority": _Option("priority", "priority", _optional(_number)),
        "profile": _Option("profile", ""),
        "qos": _Option("qos", "qos"),
        "reboot": _Option("", "reboot", alone=True),
        "requeue": _Option("requeue", "requeue", alone=True),
        "reservation": _Option("reservation", "reservation"),
        "signal": _Option("signal", "kill_warning_signal"),
        "sockets-per-node": _Option("sockets_per_node", "sockets_per_node", _number),
        "spread-job": _Option("spread_job", "", alone=True),
        "switches": _Option("", "required_switches", _optional(_number)),
        "thread-spec": _Option("thread_specification", "thread_specification", _number),
        "threads-per-core": _Option("threads_per_core", "threads_per_core", _number),
        "time-min": _Option("time_minimum", "time_minimum", _optional(_minutes)),
        "tmp": _Option("temporary_disk_per_node", "temporary_disk_per_node", megabytes),
        "umask": _Option("umask", ""),
        "use-min-nodes": _Option("minimum_nodes", "", alone=True),
        "wckey": _Option("wckey", "wckey"),
    }
)
"""Options of sbatch by their long names."""

OF_THE_PROGRAM = frozenset({"ignore-pbs", "parsable", "verbose"})
"""Options that affect only sbatch itself, not the job."""

STORED_ELSEWHERE = frozenset({"chdir", "job-name", "ntasks", "time"})
"""Options of a script that are stored elsewhere in a batch."""

_FIRST_NAMES = MappingProxyType({"standard_input": "standard_in", "standard_output": "standard_out"})
"""Their names in v0.0.36."""


def submission(batch: Batch, version: int) -> dict[str, Any]:
    """Return the request that submits a batch job.

    Parameters
    ----------
    version
        The last part of slurmrestd's version, 38 for v0.0.38.

    Raises
    ------
    BadInput
        slurmrestd does not accept an option or the script; the message names it and the way out.
    """
    if re.search("[\udc80-\udcff]", batch.script):
        raise BadInput("the script is not UTF-8 text, which slurmrestd requires; sbatch accepts it (leave out `url`)")
    environment = {"PATH": SEARCHED}
    job: dict[str, Any] = {"name": batch.name}
    directory = batch.directory or batch.directives.get("chdir")
    if directory is not None:
        job["current_working_directory"] = directory
    if version < FIRST_TYPED:
        job["environment"] = environment
    else:
        job["environment"] = [f"{name}={value}" for name, value in environment.items()]
    if batch.not_before is not None:
        job["begin_time"] = f"uts{batch.not_before}" if version < FIRST_TYPED else _set(batch.not_before)
    shape = batch.shape
    options = {**_of_script(batch), **batch.options, **dict(shape.others)}
    if shape.nodes is not None:
        options.pop("nodes", None)
        if shape.whole:
            options.setdefault("exclusive", None)
    for name, value in options.items():
        for key, one in _option(name, value, version).items():
            both = key in job and key.startswith("tres_")
            job[key] = f"{job[key]},{one}" if both else one
    job |= _shape(shape, version)
    if shape.nodes is not None and not shape.whole and "ntasks-per-node" not in options:
        job.setdefault("tasks", shape.nodes)  # one per node, like sbatch
    if "ntasks-per-gpu" in options and "gpus" in options:
        gpus = sum(_number(one.rpartition(":")[2]) for one in (options["gpus"] or "").split(","))
        job.setdefault("tasks", gpus * _number(options["ntasks-per-gpu"] or ""))
    if version >= FIRST_TYPED and "tasks" in job and "cpus_per_tres" not in job:  # which determines CPUs per task
        job.setdefault("cpus_per_task", 1)
        job["minimum_cpus"] = job["tasks"] * job["cpus_per_task"]
    if version == 36:
        job = {_FIRST_NAMES.get(key, key): value for key, value in job.items()}
    return {"script": batch.script, "job": job}


def _of_script(batch: Batch) -> dict[str, str | None]:
    """Return the options in the script, as slurmrestd does not parse it."""
    left_out = OF_THE_PROGRAM | (STORED_ELSEWHERE - ({"ntasks"} if batch.shape.tasks is None else set()))
    if batch.not_before is not None:
        left_out |= {"begin"}
    return {name: value for name, value in batch.directives.items() if name not in left_out}


def change(shape: Shape, version: int) -> dict[str, Any]:
    """Return the request that gives a waiting job another shape.

    Without CPUs per task, Slurm 22.05 keeps the number of CPUs, and a job with fewer tasks loses its plan. It ignores
    node counts in the documented form, a list of two.
    """
    body = _shape(shape, version)
    count = shape.tasks if shape.nodes is None else shape.nodes
    body |= {"tasks": count, "cpus_per_task": 1}
    if version >= FIRST_TYPED:
        body["minimum_cpus"] = count
    return body


def _shape(shape: Shape, version: int) -> dict[str, Any]:
    late = version >= FIRST_TYPED
    body: dict[str, Any] = {"time_limit": _set(shape.minutes) if late else shape.minutes}
    if shape.nodes is not None:
        body |= (
            {"minimum_nodes": shape.nodes, "maximum_nodes": shape.nodes}
            if late
            else {"nodes": f"{shape.nodes}-{shape.nodes}"}
        )
    if shape.tasks is not None:
        body["tasks"] = shape.tasks
    return body


def _option(name: str, value: str | None, version: int) -> dict[str, Any]:
    """Return the field, or the fields, of an option."""
    if name == "nodes":
        return _node_range(value or "", version)
    option = OPTIONS.get(name, _Option("", ""))
    late = version >= FIRST_TYPED
    key = option.late if late else option.early
    if not key:
        raise BadInput(
            f"slurmrestd v0.0.{version} does not accept sbatch's --{name}; leave it out, or submit with Slurm's "
            "commands (an endpoint without url)"
        )
    if value is None and option.alone is None:
        raise BadInput(f"--{name} needs a value, as in --{name}=...")
    if not late:
        return {key: _early(name, option, value)}
    if name == "signal" and value is not None:
        return _signal(value)
    if name == "no-requeue":
        return {key: False}
    try:
        return {key: option.alone if value is None else option.kind(value)}
    except BadInput as error:
        raise BadInput(f"--{name}={quoted(value or '')} {error}") from None


def _node_range(text: str, version: int) -> dict[str, Any]:
    """Return the fields of ``2-4``."""
    if version < FIRST_TYPED:
        return {"nodes": text}
    least, dash, most = text.partition("-")
    try:
        return {"minimum_nodes": _number(least), "maximum_nodes": _number(most if dash else least)}
    except BadInput:
        raise BadInput(
            f"--nodes={quoted(text)} is not a number of nodes that slurmrestd accepts; write it like 2-4"
        ) from None


def _early(name: str, option: _Option, value: str | None) -> Any:
    """Return the value in the format of sbatch's parser."""
    if name == "exclusive":
        return value or "exclusive"
    return option.alone if value is None else value


def _signal(text: str) -> dict[str, Any]:
    """Return the fields of ``B:USR1@120``."""
    found = re.fullmatch(r"(?:([A-Za-z]+):)?(\w+)(?:@(\d+))?", text)
    if found is None or (found[1] or "B").upper() != "B":
        raise BadInput(f"--signal={quoted(text)} is not a signal that slurmrestd accepts; write it like B:USR1@120")
    fields: dict[str, Any] = {"kill_warning_signal": found[2], "kill_warning_delay": _set(int(found[3] or 60))}
    return fields | ({"kill_warning_flags": ["BATCH_JOB"]} if found[1] else {})
