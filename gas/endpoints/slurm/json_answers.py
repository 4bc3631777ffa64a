"""What slurmrestd answers, and commands with ``--json``, from v0.0.36 on.

The forms are those of Slurm's own plug-ins (openapi/v0.0.36 to v0.0.38; data_parser v0.0.39 and later, whose names are
listed in parsers.c of each): from v0.0.39 on a number may be ``{"set", "infinite", "number"}``, the states of a node
are one list, and partitions have their limits in tables. A value whose place has changed is looked for in each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from gas.endpoints.slurm.cluster import Cluster, Job, Node, Partition, Reservation, Scheduling
from gas.endpoints.slurm.notation import node_names, states_against, tasks, words
from gas.errors import BadInput, Unreachable
from speedup_models.fields import quoted, shown

__all__ = ["ANSWERS", "read_cluster", "read_jobs"]

ANSWERS: Mapping[str, str] = MappingProxyType(
    {"nodes": "nodes", "partitions": "partitions", "reservations": "reservations", "jobs": "jobs", "diag": "statistics"}
)
"""Endpoints to ask, and the key of each answer under which the objects are."""

NO_VALUES = frozenset({0xFFFE, 0xFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 2**64 - 2, 2**64 - 1})
"""What Slurm's own integers hold for "not set" and "no limit"; early versions publish some of them."""

REQUIRED: Final[Any] = object()

HOLDING = ("COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED")
"""Of several states of a job, those that say more than the others."""


class _Entry:
    """One object of an answer, whose values are read by path (``maximums/time``) with the place named."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise Unreachable(f"{where}: {shown(value)} is no object")
        self.value: Mapping[str, Any] = value
        self.where = where

    def find(self, *paths: str, default: Any = REQUIRED) -> Any:
        """Return the value at the first of the paths that is there."""
        for path in paths:
            value: Any = self.value
            for key in path.split("/"):
                value = value.get(key, REQUIRED) if isinstance(value, Mapping) else REQUIRED
                if value is REQUIRED:
                    break
            if value is not REQUIRED:
                return value
        if default is REQUIRED:
            others = f" (nor {', '.join(paths[1:])})" if paths[1:] else ""
            raise Unreachable(f"{self.where} has no key {paths[0]}{others}; ask a version from v0.0.36 to v0.0.46")
        return default

    def fail(self, path: str, value: object, wanted: str) -> Unreachable:
        """Return the error to raise for a value."""
        return Unreachable(f"{self.where}, {path}: {shown(value)} is no {wanted}")

    def number(self, *paths: str, default: Any = REQUIRED) -> int | None:
        """Return a whole number in either form; None if it is not set, or there is no limit."""
        value = self.find(*paths, default=default)
        if isinstance(value, Mapping):
            if "number" not in value:
                raise self.fail(paths[0], value, "number")
            value = value["number"] if value.get("set", True) and not value.get("infinite", False) else None
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(paths[0], value, "whole number")
        return None if value < 0 or value in NO_VALUES else value

    def sure(self, *paths: str) -> int:
        """Return a whole number that must be set."""
        value = self.number(*paths)
        if value is None:
            raise Unreachable(f"{self.where}, {paths[0]} is not set")
        return value

    def instant(self, *paths: str, default: Any = REQUIRED) -> int | None:
        """Return an epoch second, None for 0."""
        return self.number(*paths, default=default) or None

    def minutes(self, *paths: str) -> int | None:
        """Return the seconds of a limit in minutes."""
        value = self.number(*paths)
        return None if value is None else 60 * value

    def text(self, *paths: str, default: Any = REQUIRED) -> str:
        """Return a text, empty for null."""
        value = self.find(*paths, default=default)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.fail(paths[0], value, "text")
        return value

    def texts(self, *paths: str, default: Any = REQUIRED) -> tuple[str, ...]:
        """Return a list of texts, which may also be written as one text with commas."""
        value = self.find(*paths, default=default)
        if value is None:
            return ()
        if isinstance(value, str):
            return words(value)
        if not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
            raise self.fail(paths[0], value, "list of texts")
        return tuple(value)

    def names(self, *paths: str, default: Any = REQUIRED) -> tuple[str, ...]:
        """Return the names of a node list."""
        listed = self.texts(*paths, default=default)
        try:
            return node_names(",".join(listed))
        except BadInput as error:
            raise Unreachable(f"{self.where}, {paths[0]}: {error}") from None


def _entries(answers: Mapping[str, str | bytes], endpoint: str, key: str) -> Iterator[_Entry]:
    """Return the objects of an answer, named after what they are and how they are called."""
    found = _document(answers, endpoint).find(ANSWERS[endpoint])
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise Unreachable(f"{endpoint}: {shown(found)} is no list")
    for number, value in enumerate(found):
        entry = _Entry(value, f"{endpoint}[{number}]")
        entry.where = f"{endpoint}[{number}] ({shown(value.get(key))})"
        yield entry


def _document(answers: Mapping[str, str | bytes], endpoint: str) -> _Entry:
    if endpoint not in answers:
        raise BadInput(f"there is no answer of {endpoint}")
    text = answers[endpoint]
    if not text.strip():
        raise Unreachable(f"{endpoint}: the answer is empty")
    try:
        document = _Entry(json.loads(text), endpoint)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
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
    statistics = _Entry(diagnostics.find("statistics"), "diag, statistics")
    asked = [kind for kind in ("nodes", "partitions", "reservations") if kind in answers or kind != "reservations"]
    found = {kind: list(_entries(answers, kind, "name")) for kind in asked}
    for kind in ("nodes", "partitions"):
        if not found[kind]:
            raise Unreachable(f"{kind}: the answer lists none")
    jobs = list(_entries(answers, "jobs", "job_id"))
    threads = {entry.text("name"): entry.number("threads", default=1) or 1 for entry in found["nodes"]}
    cautions = [] if "reservations" in found else ["reservations are not known; v0.0.37 and later publish them"]
    if any("state_flags" not in entry.value and isinstance(entry.find("state"), str) for entry in found["nodes"]):
        cautions.append("this version does not say which nodes are drained; v0.0.37 and later do")
    if any("scheduled_nodes" not in entry.value for entry in jobs):
        cautions.append("this version does not say on which nodes jobs are planned; v0.0.39 and later do, and squeue")
    return Cluster(
        name,
        statistics.sure("req_time") if now is None else now,
        diagnostics.text("meta/slurm/release", "meta/Slurm/release", default=""),
        tuple(map(_node, found["nodes"])),
        tuple(_job(entry, threads) for entry in jobs),
        tuple(map(_reservation, found.get("reservations", ()))),
        tuple(map(_partition, found["partitions"])),
        scheduling or Scheduling(),
        statistics.instant("bf_when_last_cycle"),
        None,
        tuple(cautions),
    )


def _node(entry: _Entry) -> Node:
    states = [*entry.texts("state"), *entry.texts("state_flags", default=())]
    why_not, reserved = states_against(states)
    allocated = entry.number("alloc_cpus", default=None)
    return Node(
        entry.text("name"), entry.sure("cpus"), allocated, why_not, reserved, entry.texts("partitions", default=())
    )


def _partition(entry: _Entry) -> Partition:
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
    )


def _reservation(entry: _Entry) -> Reservation:
    return Reservation(
        entry.text("name"),
        entry.sure("start_time"),
        entry.sure("end_time"),
        entry.names("node_list"),
        tuple(flag.upper() for flag in entry.texts("flags", default=())),
        entry.texts("users", default=()),
        entry.texts("accounts", default=()),
    )


def read_jobs(answers: Mapping[str, str | bytes], threads: Mapping[str, int] | None = None) -> tuple[Job, ...]:
    """Return the jobs; there may be none.

    Parameters
    ----------
    threads
        CPUs of a core of each node, by which allocated cores are counted; 1 for nodes that are not named.
    """
    return tuple(_job(entry, threads or {}) for entry in _entries(answers, "jobs", "job_id"))


def _job(entry: _Entry, threads: Mapping[str, int]) -> Job:
    states = [state.upper() for state in entry.texts("job_state")]
    if not states:
        raise Unreachable(f"{entry.where}, job_state is empty")
    listed = _tasks(entry)
    priority = entry.number("priority")
    nodes = entry.names("nodes")
    pending = states[0] == "PENDING"
    least = entry.number("node_count")
    most = entry.number("max_nodes", default=None)
    shared = entry.find("shared", default=None)  # "none", or a list of that
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
        exclusive=shared is not None and "none" in shared,
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
    )


def _tasks(entry: _Entry) -> Any:
    """Return the tasks that a record stands for: a list while they wait, one number when one runs."""
    text = entry.text("array_task_string", default="")
    if not text and entry.number("array_job_id", default=None):
        task = entry.number("array_task_id", default=None)
        text = "" if task is None else str(task)
    try:
        return tasks(text)
    except BadInput as error:
        raise Unreachable(f"{entry.where}, array_task_string: {error}") from None


def _shares(entry: _Entry, threads: Mapping[str, int]) -> dict[str, int] | None:
    """Return how many CPUs a job has on each node; None where that is not published.

    Up to v0.0.37 the nodes are numbered in the order of the node list and have their CPUs; in v0.0.38 to v0.0.40 they
    are named and have the states of their cores; from v0.0.41 on they are under ``nodes/allocation`` and have both.
    """
    found = entry.find("job_resources/nodes/allocation", "job_resources/allocated_nodes", default=None)
    if not found:
        return None
    names = entry.names("nodes")
    if isinstance(found, Mapping):
        found = [
            {"nodename": names[int(at)] if at.isdecimal() and int(at) < len(names) else at, **value}
            for at, value in found.items()
        ]
    shares = {}
    for number, value in enumerate(found):
        node = _Entry(value, f"{entry.where}, node {number} of job_resources")
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
            return int(any(str(status).lower().startswith("allocated") for status in value["status"]))
        return sum(_cores(one) for one in value.values())
    if isinstance(value, Sequence):
        return sum(_cores(one) for one in value)
    return 0
