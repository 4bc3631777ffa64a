"""What Slurm's commands answer: scontrol, squeue and sdiag; explicit columns, as every version has them.

squeue is asked with ``-o``, whose columns without a width are printed in full, while ``-O`` cuts at a width. Columns
end in the control character US and records in RS, which nobody has in a job's name by accident; names come last, so
that a US in one shifts no other column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from types import MappingProxyType
from typing import TypeVar

from gas.endpoints.slurm.cluster import Cluster, Job, Node, Partition, Reservation, Scheduling
from gas.endpoints.slurm.notation import duration, instant, node_names, states_against, tasks, words
from gas.errors import BadInput, Unreachable
from speedup_models.fields import quoted

__all__ = ["COMMANDS", "DETAILS", "ENVIRONMENT", "read_cluster", "read_jobs", "unclear_shares", "with_details"]

T = TypeVar("T")

ENVIRONMENT: Mapping[str, str] = MappingProxyType({"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"})
"""To run the commands with: epoch seconds (scontrol, squeue; sdiag gives them anyway), and lists of tasks in full."""

COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "id": "A", "array": "F", "tasks": "K", "user": "u", "state": "T", "partitions": "P", "start": "S", "end": "e",
        "limit": "l", "cpus": "C", "node count": "D", "nodes": "N", "planned nodes": "Y", "sharing": "h",
        "priority": "Q", "reason": "r", "submitted": "V", "dependency": "E", "required nodes": "n",
        "excluded nodes": "x", "reservation": "v", "comment": "k", "name": "j",
    }
)  # fmt: skip
"""Letters of squeue's columns; the last two are what users write."""

US, RS = "\x1f", "\x1e"

COMMANDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "nodes": ("scontrol", "-a", "-o", "show", "nodes"),
        "partitions": ("scontrol", "-a", "-o", "show", "partitions"),
        "reservations": ("scontrol", "-o", "show", "reservations"),
        "config": ("scontrol", "show", "config"),
        "jobs": ("squeue", "-a", "-h", "--noconvert", "-o", US.join(f"%{c}" for c in COLUMNS.values()) + RS),
        "diagnostics": ("sdiag",),
    }
)
"""What to ask, by the name of its answer."""

DETAILS = ("scontrol", "-a", "-o", "-d", "show", "jobs")
"""What to ask besides where `unclear_shares` finds jobs."""

_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:&]*)=(\S*)")
_JOB = re.compile(
    r"^JobId=(\d+) .*?JobName=.* UserId=\S+\(\d+\) GroupId=\S+\(\d+\) (?P<rest>.*?)(?: Command=.*)?$", re.DOTALL
)
_SHARE = re.compile(r" Nodes=(\S+) CPU_IDs=(\S+) ")


class _Record:
    """One line of an answer, whose values are read with the place named."""

    def __init__(self, where: str, values: Mapping[str, str], zone: tzinfo | None) -> None:
        self.where = where
        self.values = values
        self.zone = zone

    def read(self, key: str, reader: Callable[[str], T]) -> T:
        """Return a value as `reader` understands it, or raise `Unreachable` that says where."""
        if key not in self.values:
            raise Unreachable(f"{self.where} has no {key}; is it Slurm that answered?")
        try:
            return reader(self.values[key])
        except BadInput as error:
            raise Unreachable(f"{self.where}, {key}: {error}") from None

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text, empty for what stands for nothing."""
        if default is not None and key not in self.values:
            return default
        value = self.read(key, str.strip)
        return "" if value in ("(null)", "N/A") else value

    def number(self, key: str) -> int:
        """Return a whole number."""
        return self.read(key, _whole)

    def instant(self, key: str) -> int | None:
        """Return a time."""
        return self.read(key, lambda text: instant(text, self.zone))


def _whole(text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdecimal()):
        raise BadInput(f"{quoted(text)} is no whole number")
    return int(text)


def _count(text: str) -> tuple[int, int | None]:
    """Return the least and the most of ``4`` or ``2-4``."""
    least, dash, most = text.partition("-")
    return _whole(least), _whole(most) if dash else None


def _limit(text: str) -> int | None:
    return None if text == "UNLIMITED" else _whole(text)


def _lines(answers: Mapping[str, str], name: str, key: str, zone: tzinfo | None) -> Iterator[_Record]:
    """Return the records of an answer of ``scontrol -o``, each of which starts with `key`."""
    command = " ".join(COMMANDS[name])
    if name not in answers:
        raise BadInput(f"there is no answer of {command}")
    text = answers[name]
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and not text.endswith("\n"):
        raise Unreachable(f"{command}: the answer is cut off after {quoted(lines[-1][-40:])}")
    for number, line in enumerate(lines, 1):
        values: dict[str, str] = {}
        for pair, value in _PAIR.findall(line):
            values.setdefault(pair, value)
        if not line.startswith(f"{key}="):
            raise Unreachable(f"{command}, line {number}: {quoted(line.strip())} does not start with {key}=")
        yield _Record(f"{command}, {quoted(values[key])}", values, zone)


def read_cluster(
    answers: Mapping[str, str], *, name: str, zone: tzinfo | None = None, now: int | None = None
) -> Cluster:
    """Return what the answers to `COMMANDS` say together.

    Parameters
    ----------
    name
        What the user calls the cluster.
    zone
        Of the times, if they were not asked for with `ENVIRONMENT`.
    now
        Epoch second of the answers; by default sdiag's.

    Raises
    ------
    Unreachable
        An answer cannot be understood; the message names the command and the place.
    """
    config = _read_config(answers)
    asked, planned = _read_diagnostics(answers)
    linear = config.get("SelectType", "") == "select/linear"
    nodes = tuple(_node(record) for record in _lines(answers, "nodes", "NodeName", zone))
    partitions = tuple(_partition(record, linear) for record in _lines(answers, "partitions", "PartitionName", zone))
    for kind, found in (("nodes", nodes), ("partitions", partitions)):
        if not found:
            raise Unreachable(f"{' '.join(COMMANDS[kind])}: the answer is empty")
    none = answers.get("reservations", "").strip() in ("", "No reservations in the system")
    reservations = () if none else tuple(map(_reservation, _lines(answers, "reservations", "ReservationName", zone)))
    private = words(config["PrivateData"])
    return Cluster(
        name,
        asked if now is None else now,
        config["SLURM_VERSION"],
        nodes,
        read_jobs(answers["jobs"], zone) if "jobs" in answers else (),
        reservations,
        partitions,
        _scheduling(config["SchedulerParameters"]),
        planned,
        not {"jobs", "all"} & set(private),
    )


def _read_config(answers: Mapping[str, str]) -> dict[str, str]:
    command = " ".join(COMMANDS["config"])
    found = dict(re.findall(r"^(\w+) *= (.*?) *$", answers.get("config", ""), re.MULTILINE))
    for key in ("SLURM_VERSION", "PrivateData", "SchedulerParameters", "SelectType"):
        if key not in found:
            raise Unreachable(f"{command}: the answer has no {key}; is it Slurm that answered?")
    return found


def _read_diagnostics(answers: Mapping[str, str]) -> tuple[int, int | None]:
    """Return when sdiag was asked, and when the last backfill cycle ran."""
    text = answers.get("diagnostics", "")
    asked = re.search(r"^sdiag output at .*\((\d+)\)", text, re.MULTILINE)
    if asked is None:
        raise Unreachable("sdiag: the answer does not say when it was made (sdiag output at ...)")
    backfill = text[text.find("Backfilling stats") :] if "Backfilling stats" in text else ""
    cycle = re.search(r"Last cycle when: .*\((\d+)\)", backfill)
    return int(asked[1]), int(cycle[1]) or None if cycle else None


def _scheduling(parameters: str) -> Scheduling:
    given = dict(part.partition("=")[::2] for part in words(parameters))
    known = {"bf_resolution": "resolution", "bf_window": "window", "bf_max_job_test": "depth"}
    known["bf_max_job_array_resv"] = "array_depth"
    found = {}
    for key, attribute in known.items():
        if key in given:
            if not given[key].isdecimal():
                raise Unreachable(
                    f"scontrol show config, SchedulerParameters: {key} is {quoted(given[key])}, no number"
                )
            found[attribute] = int(given[key]) * (60 if key == "bf_window" else 1)  # it is in minutes
    if found.get("resolution") == 0:
        del found["resolution"]
    return replace(Scheduling(), **found)


def _node(record: _Record) -> Node:
    why_not, reserved = record.read("State", lambda text: states_against([text]))
    cpus, allocated = record.number("CPUTot"), record.number("CPUAlloc")
    partitions = words(record.text("Partitions", ""))
    return Node(record.text("NodeName"), cpus, allocated, why_not, reserved, partitions)


def _partition(record: _Record, linear: bool) -> Partition:
    return Partition(
        record.text("PartitionName"),
        record.read("Nodes", node_names),
        record.read("MaxTime", duration),
        record.read("DefaultTime", duration),
        record.number("MinNodes"),
        record.read("MaxNodes", _limit),
        record.text("Default") == "YES",
        record.text("State"),
        record.number("PriorityTier"),
        linear or record.text("OverSubscribe") == "EXCLUSIVE",
    )


def _reservation(record: _Record) -> Reservation:
    start, end = record.instant("StartTime"), record.instant("EndTime")
    if start is None or end is None:
        raise Unreachable(f"{record.where} has no times")
    return Reservation(
        record.text("ReservationName"), start, end, record.read("Nodes", node_names),
        *(words(record.text(key)) for key in ("Flags", "Users", "Accounts")),
    )  # fmt: skip


def read_jobs(answer: str, zone: tzinfo | None = None) -> tuple[Job, ...]:
    """Return the jobs of squeue's answer; there may be none."""
    command = "squeue"
    *records, rest = answer.split(RS)
    if rest.strip():
        raise Unreachable(f"{command}: the answer is cut off after {quoted(rest.strip()[-40:])}")
    return tuple(_job(record) for record in _values(command, records, zone))


def _values(command: str, records: Collection[str], zone: tzinfo | None) -> Iterator[_Record]:
    for number, record in enumerate(records, 1):
        values = record.removeprefix("\n").split(US)
        if len(values) < len(COLUMNS):
            problem = f"has {len(values)} columns instead of {len(COLUMNS)}"
            raise Unreachable(f"{command}, record {number}: {quoted(record.strip())} {problem}")
        values[len(COLUMNS) - 1 :] = [US.join(values[len(COLUMNS) - 1 :])]  # a user may have written one
        yield _Record(f"{command}, job {values[0]}", dict(zip(COLUMNS, values, strict=True)), zone)


def _job(record: _Record) -> Job:
    least, most = record.read("node count", _count)
    listed = record.read("tasks", tasks)
    nodes = record.read("nodes", node_names)
    state = record.text("state")
    cpus = record.number("cpus")
    return Job(
        id=record.number("id"),
        name=record.values["name"],
        user=record.text("user"),
        state=state,
        partitions=words(record.text("partitions")),
        cpus=cpus,
        priority=record.number("priority"),
        start=record.instant("start"),
        end=record.instant("end"),
        time_limit=record.read("limit", duration),
        least_nodes=max(least, 1),
        most_nodes=most,
        nodes=nodes,
        planned_nodes=record.read("planned nodes", node_names),
        cpus_on={nodes[0]: cpus} if len(nodes) == 1 else None,
        exclusive=record.text("sharing") == "NO",
        reason=record.text("reason"),
        submitted=record.instant("submitted"),
        dependency=record.text("dependency"),
        required_nodes=record.read("required nodes", node_names),
        excluded_nodes=record.read("excluded nodes", node_names),
        reservation=record.text("reservation"),
        comment=record.text("comment"),
        array=record.number("array") if listed else None,
        tasks=listed,
    )


def unclear_shares(cluster: Cluster) -> tuple[int, ...]:
    """Return the jobs of which squeue does not say how many CPUs they have on which node: `DETAILS` does."""
    cpus = {node.name: node.cpus for node in cluster.nodes}
    return tuple(
        job.id
        for job in cluster.jobs
        if job.nodes and job.cpus_on is None and sum(cpus.get(name, 0) for name in job.nodes) != job.cpus
    )


def with_details(jobs: tuple[Job, ...], answer: str, zone: tzinfo | None = None) -> tuple[Job, ...]:
    """Return the jobs with what the answer to `DETAILS` adds: CPUs on each node, node ranges, when they are eligible.

    Jobs that it does not name are returned as they are; they came or went in between.
    """
    command = " ".join(DETAILS)
    found: dict[int, _Record] = {}
    shares: dict[int, dict[str, int]] = {}
    for number, line in enumerate(answer.split("\n"), 1):
        if not line.strip() or line.startswith("No jobs in the system"):
            continue
        parts = _JOB.match(line)
        if parts is None:
            raise Unreachable(f"{command}, line {number}: {quoted(line.strip())} is no job")
        id, rest = int(parts[1]), parts["rest"]
        found[id] = _Record(f"{command}, job {id}", dict(reversed(_PAIR.findall(rest))), zone)
        shares[id] = {}
        for names, numbers in _SHARE.findall(rest):
            listed = _Record(found[id].where, {"Nodes": names, "CPU_IDs": numbers}, zone)
            cpus = listed.read("CPU_IDs", tasks)
            shares[id] |= dict.fromkeys(listed.read("Nodes", node_names), len(cpus) if cpus else 0)
    detailed = []
    for job in jobs:
        if job.id in found:
            least, most = found[job.id].read("NumNodes", _count)
            eligible = found[job.id].instant("EligibleTime")
            cpus_on = shares[job.id] or job.cpus_on
            job = replace(job, least_nodes=max(least, 1), most_nodes=most, eligible=eligible, cpus_on=cpus_on)
        detailed.append(job)
    return tuple(detailed)
