"""What slurmrestd answers, and commands with ``--json``, from v0.0.36 on.

The forms are those of Slurm's own plug-ins (openapi/v0.0.36 to v0.0.38; data_parser v0.0.39 and later, whose names are
listed in parsers.c of each): from v0.0.39 on a number may be ``{"set", "infinite", "number"}``, the states of a node
are one list, and partitions have their limits in tables. A value whose place has changed is looked for in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from gas.endpoints.slurm.json_entries import VERSIONS, Entry
from gas.endpoints.slurm.notation import LATEST, states_against, tasks
from gas.errors import BadInput, Unreachable
from gas.json_text import parsed
from gas.slurm.cluster import Cluster, Job, Node, Partition, Reservation, Scheduling
from speedup_models.fields import quoted, shown

__all__ = ["ANSWERS", "VERSIONS", "read_cluster", "read_jobs"]

ANSWERS: Mapping[str, str] = MappingProxyType(
    {"nodes": "nodes", "partitions": "partitions", "reservations": "reservations", "jobs": "jobs", "diag": "statistics"}
)
"""Endpoints to ask, and the key of each answer under which the objects are."""

HOLDING = ("COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED")
"""Of several states of a job, those that say more than the others."""


def _entries(answers: Mapping[str, str | bytes], endpoint: str, key: str) -> Iterator[Entry]:
    """Return the objects of an answer, named after what they are and how they are called."""
    found = _document(answers, endpoint).find(ANSWERS[endpoint])
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise Unreachable(f"{endpoint}: {shown(found)} is no list")
    for number, value in enumerate(found):
        entry = Entry(value, f"{endpoint}[{number}]")
        entry.where = f"{endpoint}[{number}] ({shown(value.get(key))})"
        yield entry


def _document(answers: Mapping[str, str | bytes], endpoint: str) -> Entry:
    if endpoint not in answers:
        raise BadInput(f"there is no answer of {endpoint}")
    text = answers[endpoint]
    if not text.strip():
        raise Unreachable(f"{endpoint}: the answer is empty")
    try:
        # names are as users wrote them: bytes that are no UTF-8, and in some versions control characters
        written = text if isinstance(text, str) else text.decode(errors="replace")
        document = Entry(parsed(written, strict=False), endpoint)
    except ValueError as error:
        raise Unreachable(f"{endpoint}: the answer is not JSON, or cut off ({error})") from None
    errors = document.find("errors", default=None) or ()
    if isinstance(errors, Sequence) and errors:
        said = [one.get("error") or one.get("description") for one in errors if isinstance(one, Mapping)]
        raise Unreachable(f"{endpoint}: Slurm answers {', '.join(quoted(str(one)) for one in said) or shown(errors)}")
    return document


def read_cluster(
    answers: Mapping[str, str | bytes], *, name: str, scheduling: Scheduling | None = None, now: int | None = None
) -> Cluster:
    """Return what the answers of `ANSWERS` say together.

    Parameters
    ----------
    answers
        By endpoint; reservations may be missing, as v0.0.36 does not publish them.
    name
        What the user calls the cluster.
    scheduling
        How it plans, which is not published here; by default Slurm's defaults.
    now
        Epoch second of the answers; by default that of diag's.

    Raises
    ------
    Unreachable
        An answer cannot be understood; the message names the endpoint, the object and the key.
    """
    diagnostics = _document(answers, "diag")
    statistics = Entry(diagnostics.find("statistics"), "diag, statistics")
    asked = [kind for kind in ("nodes", "partitions", "reservations") if kind in answers or kind != "reservations"]
    found = {kind: list(_entries(answers, kind, "name")) for kind in asked}
    for kind in ("nodes", "partitions"):
        if not found[kind]:
            raise Unreachable(f"{kind}: the answer lists none")
    jobs = list(_entries(answers, "jobs", "job_id"))
    threads = {entry.text("name"): entry.number("threads", default=1) or 1 for entry in found["nodes"]}
    cores = {entry.text("name"): entry.sure("cpus") // threads[entry.text("name")] for entry in found["nodes"]}
    cautions = [] if "reservations" in found else ["reservations are not known; v0.0.37 and later publish them"]
    if any("state_flags" not in entry.value and isinstance(entry.find("state"), str) for entry in found["nodes"]):
        cautions.append("this version does not say which nodes are drained; v0.0.37 and later do")
    if any("scheduled_nodes" not in entry.value for entry in jobs):
        cautions.append("this version does not say on which nodes jobs are planned; v0.0.39 and later do, and squeue")
    return Cluster(
        name,
        min(statistics.sure("req_time"), LATEST) if now is None else now,
        diagnostics.text("meta/slurm/release", "meta/Slurm/release", default=""),
        tuple(map(_node, found["nodes"])),
        tuple(_job(entry, threads) for entry in jobs),
        tuple(_reservation(entry, cores) for entry in found.get("reservations", ())),
        tuple(map(_partition, found["partitions"])),
        scheduling or Scheduling(),
        statistics.instant("bf_when_last_cycle"),
        None,
        tuple(cautions),
    )


def _node(entry: Entry) -> Node:
    states = [*entry.texts("state"), *entry.texts("state_flags", default=())]
    why_not, reserved = states_against(states)
    allocated = entry.number("alloc_cpus", default=None)
    return Node(
        entry.text("name"), entry.sure("cpus"), allocated, why_not, reserved, entry.texts("partitions", default=())
    )


def _partition(entry: Entry) -> Partition:
    flags = entry.texts("flags", default=None) if "flags" in entry.value else None
    shares = entry.number("maximums/oversubscribe/jobs", "maximums/shares", default=None)
    return Partition(
        entry.text("name"),
        entry.names("nodes/configured", "nodes"),
        entry.minutes("maximums/time", "max_time_limit"),
        entry.minutes("defaults/time", "default_time_limit") or None,
        entry.number("minimums/nodes", "min nodes per job", "min_nodes_per_job") or 0,
        entry.number("maximums/nodes", "maximum_nodes_per_job"),
        None if flags is None else "default" in (flag.lower() for flag in flags),
        "+".join(entry.texts("partition/state", "state", default=())).upper(),
        entry.number("priority/tier", "priority_tier", default=1) or 1,
        shares == 0,
        entry.number("maximums/cpus_per_node", "max_cpus_per_node", default=None),
        # the highest bit says that all jobs share, whether they ask for it or not
        max((shares or 1) & 0x7FFF, 1),
    )


def _reservation(entry: Entry, cores: Mapping[str, int]) -> Reservation:
    nodes = entry.names("node_list")
    return Reservation(
        entry.text("name"),
        min(entry.sure("start_time"), LATEST),
        min(entry.sure("end_time"), LATEST),
        nodes,
        tuple(flag.upper() for flag in entry.texts("flags", default=())),
        entry.texts("users", default=()),
        entry.texts("accounts", default=()),
        0 < (entry.number("core_count", default=None) or 0) < sum(cores.get(name, 0) for name in nodes),
    )


def read_jobs(answers: Mapping[str, str | bytes], threads: Mapping[str, int] | None = None) -> tuple[Job, ...]:
    """Return the jobs; there may be none.

    Parameters
    ----------
    threads
        CPUs of a core of each node, by which allocated cores are counted; 1 for nodes that are not named.
    """
    return tuple(_job(entry, threads or {}) for entry in _entries(answers, "jobs", "job_id"))


def _job(entry: Entry, threads: Mapping[str, int]) -> Job:
    states = [state.upper() for state in entry.texts("job_state")]
    if not states:
        raise Unreachable(f"{entry.where}, job_state is empty")
    listed = _tasks(entry)
    priority = entry.number("priority")
    nodes = entry.names("nodes")
    pending = states[0] == "PENDING"
    least = entry.number("node_count")
    most = entry.number("max_nodes", default=None)
    shared = entry.find("shared", default=None) or ()  # "none", or a list of that
    if not isinstance(shared, Sequence):
        raise entry.fail("shared", shared, "list of texts")
    exit_status, signal = _ending(entry)
    stdout, stderr = _files(entry)
    return Job(
        id=entry.sure("job_id"),
        name=entry.text("name"),
        user=entry.text("user_name"),
        state=next((state for state in states if state in HOLDING), states[0]),
        partitions=entry.texts("partition"),
        cpus=entry.sure("cpus"),
        priority=priority if priority is not None else 2**32,
        start=entry.instant("start_time"),
        end=entry.instant("end_time"),
        time_limit=entry.minutes("time_limit"),
        least_nodes=least or 1,
        most_nodes=most or None,
        nodes=() if pending else nodes,
        planned_nodes=entry.names("scheduled_nodes", default=()) if pending else (),
        cpus_on=None if pending else _shares(entry, threads),
        exclusive="none" in shared,
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
        besides=_besides(entry),
    )


def _besides(entry: Entry) -> tuple[str, ...]:
    """Return what else than CPUs and nodes a job asks for."""
    wanted = [
        entry.find(key, default=None) for key in ("tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task")
    ]
    asked = {
        "features": bool(entry.find("features", default=None)),
        "licences": bool(entry.find("licenses", default=None)),
        "GRES": any("gres" in str(one) for one in wanted),
        "parts": bool(entry.number("het_job_id", default=None)),
    }
    return tuple(word for word, there in asked.items() if there)


def _ending(entry: Entry) -> tuple[int | None, int | None]:
    """Return the exit status and the signal of a job's script: up to v0.0.38 as wait(2) has them, then in a table."""
    code = entry.find("exit_code", default=None)
    if not isinstance(code, Mapping) or "number" in code:
        number = entry.number("exit_code", default=None)
        if number is None:
            return None, None
        return number >> 8, number & 0x7F or None
    signal = entry.number("exit_code/signal/id", "exit_code/signal/signal_id", default=None)
    return entry.number("exit_code/return_code", default=None), signal or None


def _files(entry: Entry) -> tuple[str, str]:
    """Return where the output of a batch job goes; nothing of a name that cannot be worked out."""
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
    """Return a file's path with what its ``%j`` and the like stand for (sbatch(1), filename pattern)."""
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
    """Return the tasks that a record stands for: a list while they wait, one number when one runs."""
    text = entry.text("array_task_string", default="")
    if not text and entry.number("array_job_id", default=None):
        task = entry.number("array_task_id", default=None)
        text = "" if task is None else str(task)
    try:
        return tasks(text)
    except BadInput as error:
        raise Unreachable(f"{entry.where}, array_task_string: {error}") from None


def _shares(entry: Entry, threads: Mapping[str, int]) -> dict[str, int] | None:
    """Return how many CPUs a job has on each node; None where that is not published.

    Up to v0.0.37 the nodes are numbered in the order of the node list and have their CPUs; in v0.0.38 to v0.0.40 they
    are named and have the states of their cores; from v0.0.41 on they are under ``nodes/allocation`` and have both.
    """
    found = entry.find("job_resources/nodes/allocation", "job_resources/allocated_nodes", default=None)
    if not found:
        return None
    names = entry.names("nodes")
    if isinstance(found, Mapping):
        numbered = {str(at): name for at, name in enumerate(names)}
        found = [
            {"nodename": numbered.get(at, at), **value} if isinstance(value, Mapping) else value
            for at, value in found.items()
        ]
    if not isinstance(found, list):
        raise entry.fail("job_resources", found, "list of nodes")
    shares = {}
    for number, value in enumerate(found):
        node = Entry(value, f"{entry.where}, node {number} of job_resources")
        name = node.text("name", "nodename")
        cpus = node.number("cpus/count", "cpus", default=None)
        shares[name] = _cores(node.find("sockets")) * threads.get(name, 1) if cpus is None else cpus
    return shares


def _cores(value: object) -> int:
    """Return how many cores are allocated, however deep their states are nested."""
    if isinstance(value, str):
        return int(value.lower().startswith("allocated"))
    if isinstance(value, Mapping):
        if "status" in value:
            return min(1, _cores(value["status"]))
        return sum(_cores(one) for one in value.values())
    if isinstance(value, Sequence):
        return sum(_cores(one) for one in value)
    return 0
