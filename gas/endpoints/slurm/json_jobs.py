"""Jobs in the answers of slurmrestd, in the formats of its versions (see `json_answers`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gas.endpoints.slurm.json_entries import Entry
from gas.endpoints.slurm.notation import tasks
from gas.endpoints.slurm.resources import amounts, gres, is_default_per_gpu, licences, memory_per_gpu, most_nodes
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Gres, Job

__all__ = ["job"]

HOLDING = ("COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED")
"""States that decide if a job has several."""


def job(entry: Entry, threads: Mapping[str, int]) -> Job:
    """Return a job; `threads` are the CPUs per core of each node, which convert allocated cores to CPUs."""
    states = [state.upper() for state in entry.texts("job_state")]
    if not states:
        raise Unreachable(f"{entry.where}, job_state is empty")
    listed = _tasks(entry)
    priority = entry.number("priority")
    nodes = entry.names("nodes")
    pending = states[0] == "PENDING"
    alive = states[0] in ("PENDING", "RUNNING", *HOLDING)
    least = entry.number("node_count")
    most = entry.number("max_nodes", default=None)
    if pending and (asked := entry.understood(amounts, "tres_req_str").get("node")):
        # node_count is the estimated minimum, or the maximum requested
        most = most_nodes(int(asked), least or 0, most, entry.number("tasks", default=None))
        least = int(asked)
    exclusive, shared_with = _sharing(entry, pending)
    exit_status, signal = _ending(entry)
    stdout, stderr = _files(entry)
    return Job(
        id=entry.sure("job_id"),
        name=entry.text("name"),
        user=entry.text("user_name"),
        state=next((state for state in states if state in HOLDING), states[0]),
        partitions=entry.texts("partition"),
        # on 22.05, a job that was cancelled while waiting may have none
        cpus=entry.sure("cpus") if alive else entry.number("cpus") or entry.number("tasks", default=None) or 0,
        priority=priority if priority is not None else 2**32,
        start=entry.instant("start_time"),
        end=entry.instant("end_time"),
        time_limit=entry.minutes("time_limit"),
        least_nodes=least or 1,
        most_nodes=most or None,
        nodes=() if pending else nodes,
        planned_nodes=entry.names("scheduled_nodes", default=()) if pending else (),
        **({} if pending else _shares(entry, threads)),
        exclusive=exclusive,
        reason=entry.text("state_reason"),
        submitted=entry.instant("submit_time"),
        eligible=entry.instant("eligible_time"),
        dependency=entry.text("dependency", default=""),
        required_nodes=entry.names("required_nodes", default=()),
        excluded_nodes=entry.names("excluded_nodes", default=()),
        reservation=entry.text("resv_name", default=""),
        comment=entry.text("comment", default=""),
        array=(entry.number("array_job_id", default=None) or None) if listed else None,
        tasks=listed,
        exit_status=exit_status,
        signal=signal,
        stdout=stdout,
        stderr=stderr,
        shared_with=shared_with,
        nice=entry.number("nice", default=None) or 0,
        restarts=entry.number("restart_cnt", default=None) or 0,
        preemptable=entry.instant("preemptable_time", default=None) or None,
        **_request(entry),
    )


def _sharing(entry: Entry, pending: bool) -> tuple[bool, str]:
    """Return whether a job gets whole nodes, and the only jobs that may share them.

    v0.0.45 has an empty list for all jobs (seen on 26.05): for running jobs, the nodes show it.
    """
    shared = entry.find("shared", default=None) or ()  # "none", or a list with it
    if not isinstance(shared, Sequence):
        raise entry.fail("shared", shared, "list of strings")
    with_whom = next((word for word in ("user", "mcs", "topo") if word in shared), "")
    whole = not pending and not with_whom and entry.find("job_resources/nodes/whole", default=False) is True
    return "none" in shared or whole, with_whom


def _request(entry: Entry) -> dict[str, Any]:
    """Return the request of a job; None for values not published."""
    found: dict[str, Any] = {
        "account": entry.text("account", default=""),
        "qos": entry.text("qos", default=""),
        "tasks_asked": entry.number("tasks", default=None),
        "cpus_per_task": entry.number("cpus_per_task", default=None) or _cpus_of_a_task(entry),
        "tasks_per_node": entry.number("tasks_per_node", default=None) or None,
        "cpus_per_node": entry.number("minimum_cpus_per_node", default=None),
        "threads_per_core": entry.number("threads_per_core", default=None) or None,
        "tasks_per_core": entry.number("tasks_per_core", default=None) or None,
        "gres_per_node": entry.understood(gres, "tres_per_node"),
        "gres_per_socket": entry.understood(gres, "tres_per_socket"),
        "gres_per_task": entry.understood(gres, "tres_per_task"),
        "gres_per_job": entry.understood(gres, "tres_per_job"),
        "features": entry.text("features", default=""),
        "shortest": entry.minutes("time_minimum", default=None) or None,
        "contiguous": entry.find("contiguous", default=False) is True,
        "reboot": entry.find("reboot", default=False) is True,
        "leader": entry.number("het_job_id", default=None) or None,
        "priority_in": _priorities(entry),
    }
    found["cpus_per_gpu"] = (
        sum(one.count for one in entry.understood(gres, "cpus_per_tres") if one.name == "gpu") or None
    )
    for_each_gpu = entry.understood(memory_per_gpu, "memory_per_tres")
    cpu, node = entry.number("memory_per_cpu", default=None), entry.number("memory_per_node", default=None)
    of_gpus = for_each_gpu is not None  # it is also shown as memory per node
    if of_gpus and is_default_per_gpu(entry.text("memory_per_tres", default="")):
        of_gpus = not cpu and not node
    if of_gpus:
        found["memory_per_gpu"] = for_each_gpu
    else:
        found["memory_per_cpu"], found["memory_per_node"] = cpu, node
        if "memory_per_node" in entry.value and cpu is node is None:
            found["memory_per_node"] = 0  # null in v0.0.38; Slurm sets a value if none was requested
    try:
        found["licences"] = licences(entry.text("licenses", default=""))
    except BadInput:  # alternatives
        found["unclear"] = (f"licences {entry.text('licenses')}",)
    if switches := entry.number("required_switches", default=None):
        found["unclear"] = (*found.get("unclear", ()), f"switches={switches}")
    flags = entry.find("flags", default=None)
    if isinstance(flags, Sequence) and isinstance(entry.find("tasks", default=None), Mapping):  # up to v0.0.38: no flag
        found["tasks_stated"] = "EXACT_TASK_COUNT_REQUESTED" in flags
    if isinstance(flags, Sequence) and {"GRES_ENFORCE_BIND", "GRES_BINDING_ENFORCED"}.intersection(flags):
        found["unclear"] = (*found.get("unclear", ()), "gres-flags=enforce-binding")
    return found


def _cpus_of_a_task(entry: Entry) -> int:
    """Return the CPUs per task of a job that does not show them, as in v0.0.38, from its other requests."""
    asked = entry.understood(amounts, "tres_req_str").get("cpu", 0)
    tasks_asked = entry.number("tasks", default=None) or 0
    return int(asked) // tasks_asked if 0 < tasks_asked < asked and asked % tasks_asked == 0 else 1


def _priorities(entry: Entry) -> dict[str, int]:
    """Return the job's priority by partition, if it has several."""
    listed = entry.find("priority_by_partition", default=None) or ()
    if not isinstance(listed, Sequence):
        raise entry.fail("priority_by_partition", listed, "list")
    found = {}
    for number, value in enumerate(listed):
        one = Entry(value, f"{entry.where}, priority_by_partition[{number}]")
        found[one.text("partition")] = one.number("priority") or 0
    return found


def _ending(entry: Entry) -> tuple[int | None, int | None]:
    """Return exit status and signal of a job's script: up to v0.0.38 in the format of wait(2), later a table."""
    code = entry.find("exit_code", default=None)
    if not isinstance(code, Mapping) or "number" in code:
        number = entry.number("exit_code", default=None)
        if number is None:
            return None, None
        return number >> 8, number & 0x7F or None
    signal = entry.number("exit_code/signal/id", "exit_code/signal/signal_id", default=None)
    return entry.number("exit_code/return_code", default=None), signal or None


def _files(entry: Entry) -> tuple[str, str]:
    """Return the output files of a batch job; empty for names that cannot be resolved."""
    if not entry.find("batch_flag", default=False):
        return "", ""
    folder = entry.text("current_working_directory", default="")
    out, err = entry.text("standard_output", default=""), entry.text("standard_error", default="")
    array = entry.number("array_job_id", default=None)
    usual = out or ("slurm-%A_%a.out" if array else "slurm-%j.out")
    return (
        entry.text("stdout_expanded", default="") or _path(entry, folder, usual),
        entry.text("stderr_expanded", default="") or _path(entry, folder, err or usual),
    )


def _path(entry: Entry, folder: str, pattern: str) -> str:
    """Return a file's path with ``%j`` and the like replaced (sbatch(1), filename pattern)."""
    id, array = entry.sure("job_id"), entry.number("array_job_id", default=None)
    values: dict[str, object] = {"%": "%", "j": id, "J": id, "A": array or id, "u": entry.text("user_name")}
    values |= {"x": entry.text("name"), "a": entry.number("array_task_id", default=None) if array else 2**32 - 2}
    known = True

    def value_of(found: re.Match[str]) -> str:
        nonlocal known
        value = values.get(found[2])
        known = known and value is not None
        return str(value).zfill(min(int(found[1] or 0), 10)) if isinstance(value, int) else str(value)

    path = re.sub(r"%(\d*)(.)", value_of, pattern)
    if not known or "\\" in pattern or not (path.startswith("/") or folder):
        return ""
    return path if path.startswith("/") else f"{folder.rstrip('/')}/{path}"


def _tasks(entry: Entry) -> Any:
    """Return the array tasks of a record: a list while they wait, one number when one runs."""
    text = entry.text("array_task_string", default="")
    if not text and entry.number("array_job_id", default=None):
        task = entry.number("array_task_id", default=None)
        text = "" if task is None else str(task)
    try:
        return tasks(text)
    except BadInput as error:
        raise Unreachable(f"{entry.where}, array_task_string: {error}") from None


def _shares(entry: Entry, threads: Mapping[str, int]) -> dict[str, Any]:
    """Return the share of a job on each node, if published.

    Up to v0.0.37, nodes are numbered in the order of the node list and have their CPUs; from v0.0.38 to v0.0.40, they
    have names and the states of their cores; from v0.0.41, they are in ``nodes/allocation`` with both.
    """
    found = entry.find("job_resources/nodes/allocation", "job_resources/allocated_nodes", default=None)
    if not found:
        return {}
    names = entry.names("nodes")
    if isinstance(found, Mapping):
        numbered = {str(at): name for at, name in enumerate(names)}
        found = [
            {"nodename": numbered.get(at, at), **value} if isinstance(value, Mapping) else value
            for at, value in found.items()
        ]
    if not isinstance(found, list):
        raise entry.fail("job_resources", found, "list of nodes")
    cpus_on, memory_on = {}, {}
    for number, value in enumerate(found):
        node = Entry(value, f"{entry.where}, node {number} of job_resources")
        name = node.text("name", "nodename")
        cpus = node.number("cpus/count", "cpus", default=None)
        # under CR_CPU, fewer CPUs than those of its cores are shown; and none where a job has fewer tasks than nodes
        # (seen on 24.11: one task on two nodes has all cores of the second)
        if not cpus or threads.get(name, 1) > 1:
            cpus = max(_cores(node.find("sockets", default=())) * threads.get(name, 1), cpus or 0)
        cpus_on[name] = cpus
        memory = node.number("memory/allocated", "memory_allocated", "memory", default=None)
        if memory is not None:
            memory_on[name] = memory
    return {"cpus_on": cpus_on, "memory_on": memory_on or None, "gres_on": _gres_on(entry, list(cpus_on))}


def _gres_on(entry: Entry, names: Sequence[str]) -> dict[str, tuple[Gres, ...]] | None:
    """Return the generic resources on each node, which are listed in the order of the nodes."""
    listed = entry.find("gres_detail", default=None)
    if not isinstance(listed, Sequence) or isinstance(listed, str) or len(listed) not in (0, len(names)):
        return None
    try:
        each = [gres(text) if isinstance(text, str) else () for text in listed] or [()] * len(names)
    except BadInput as error:
        raise Unreachable(f"{entry.where}, gres_detail: {error}") from None
    return dict(zip(names, each, strict=True))


def _cores(value: object) -> int:
    """Return the number of allocated cores, at any depth of nesting."""
    if isinstance(value, str):
        return int(value.lower().startswith("allocated"))
    if isinstance(value, Mapping):
        if "status" in value:
            return min(1, _cores(value["status"]))
        return sum(_cores(one) for one in value.values())
    if isinstance(value, Sequence):
        return sum(_cores(one) for one in value)
    return 0
