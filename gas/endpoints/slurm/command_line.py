"""What Slurm's commands answer: scontrol, squeue and sdiag; explicit columns, as every version has them.

squeue is asked with ``-o``, whose columns without a width are printed in full, while ``-O`` cuts at a width. Columns
end in the control character US and records in RS. Users may write both in names and comments, so that who asks adds a
mark to them that nobody can guess (`commands`), and a new one whenever it asks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from types import MappingProxyType
from typing import Any

from gas.endpoints.slurm.answer_records import Record, count, limit, whole
from gas.endpoints.slurm.details import DETAILS, detailed, unclear_shares, with_details
from gas.endpoints.slurm.notation import duration, node_names, states_against, tasks, words
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Cluster, Job, Node, Partition, Reservation, Scheduling
from speedup_models.fields import quoted

__all__ = [
    "COMMANDS", "DETAILS", "ENVIRONMENT", "commands", "detailed", "read_cluster", "read_jobs", "unclear_shares",
    "with_details",
]  # fmt: skip

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


def commands(mark: str = "") -> Mapping[str, tuple[str, ...]]:
    """Return what to ask, by the name of its answer.

    Parameters
    ----------
    mark
        Letters and digits that follow each US and RS; as nobody can write them who does not know them, no name and no
        comment can be taken for columns or records.
    """
    columns = (US + mark).join(f"%{c}" for c in COLUMNS.values()) + RS + mark
    return MappingProxyType(
        {
            "nodes": ("scontrol", "-a", "-o", "show", "nodes"),
            "partitions": ("scontrol", "-a", "-o", "show", "partitions"),
            "reservations": ("scontrol", "-o", "show", "reservations"),
            "config": ("scontrol", "show", "config"),
            "jobs": ("squeue", "-a", "-h", "--noconvert", "-o", columns),
            "diagnostics": ("sdiag",),
        }
    )


COMMANDS = commands()
"""The same without a mark, for who trusts all users."""

_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:&]*)=(\S*)")


def _lines(answers: Mapping[str, str], name: str, key: str, zone: tzinfo | None) -> Iterator[Record]:
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
        yield Record(f"{command}, {quoted(values[key])}", values, zone)


def read_cluster(
    answers: Mapping[str, str], *, name: str, zone: tzinfo | None = None, now: int | None = None, mark: str = ""
) -> Cluster:
    """Return what the answers to `commands` say together.

    Parameters
    ----------
    name
        What the user calls the cluster.
    zone
        Of the times, if they were not asked for with `ENVIRONMENT`.
    now
        Epoch second of the answers; by default sdiag's.
    mark
        With which `commands` were asked.

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
    cores = dict(_cores(record) for record in _lines(answers, "nodes", "NodeName", zone))
    listed = () if none else _lines(answers, "reservations", "ReservationName", zone)
    reservations = tuple(_reservation(record, cores) for record in listed)
    private = words(config["PrivateData"])
    jobs, skipped = _read_jobs(answers["jobs"], zone, mark) if "jobs" in answers else ((), [])
    return Cluster(
        name,
        asked if now is None else now,
        config["SLURM_VERSION"],
        nodes,
        jobs,
        reservations,
        partitions,
        _scheduling(config["SchedulerParameters"]),
        planned,
        not {"jobs", "all"} & set(private),
        tuple(_cautions(config, answers["partitions"], skipped)),
    )


def _cautions(config: Mapping[str, str], partitions: str, skipped: Collection[Unreachable]) -> Iterator[str]:
    """Return what is not planned with of how the whole cluster gives out nodes, and what could not be read."""
    if skipped:
        what = "1 job" if len(skipped) == 1 else f"{len(skipped):,} jobs"
        yield f"{what} could not be read and {'is' if len(skipped) == 1 else 'are'} left out ({next(iter(skipped))})"
    selecting = [config.get("SelectTypeParameters", ""), *re.findall(r" SelectTypeParameters=(\S+)", partitions)]
    if any("MEMORY" in one.upper() for one in selecting):
        yield "memory is not planned with: where it is short, jobs start later than said"
    modes = {config.get("PreemptMode", "OFF"), *re.findall(r" PreemptMode=(\S+)", partitions)}
    if config.get("PreemptType", "preempt/none").strip("()") not in ("preempt/none", "null") and modes != {"OFF"}:
        yield "preemption is not planned with: jobs of higher standing may take the place of others"


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
    asked = re.search(r"^sdiag output at .*\((\d{1,11})\)", text, re.MULTILINE)
    if asked is None:
        raise Unreachable("sdiag: the answer does not say when it was made (sdiag output at ...)")
    backfill = text[text.find("Backfilling stats") :] if "Backfilling stats" in text else ""
    cycle = re.search(r"Last cycle when: .*\((\d{1,11})\)", backfill)
    return int(asked[1]), int(cycle[1]) or None if cycle else None


def _scheduling(parameters: str) -> Scheduling:
    given = dict(part.partition("=")[::2] for part in words(parameters))
    known = {"bf_resolution": "resolution", "bf_window": "window", "bf_max_job_test": "depth"}
    known["bf_max_job_array_resv"] = "array_depth"
    found: dict[str, Any] = {"parameters": given}
    for key, attribute in known.items():
        if key in given:
            if re.fullmatch(r"[0-9]{1,9}", given[key]) is None:
                raise Unreachable(
                    f"scontrol show config, SchedulerParameters: {key} is {quoted(given[key])}, no number"
                )
            found[attribute] = int(given[key]) * (60 if key == "bf_window" else 1)  # it is in minutes
    if found.get("resolution") == 0:
        del found["resolution"]
    return replace(Scheduling(), **found)


def _node(record: Record) -> Node:
    why_not, reserved = record.read("State", lambda text: states_against([text]))
    cpus, allocated = record.number("CPUTot"), record.number("CPUAlloc")
    partitions = words(record.text("Partitions", ""))
    return Node(record.text("NodeName"), cpus, allocated, why_not, reserved, partitions)


def _partition(record: Record, linear: bool) -> Partition:
    return Partition(
        record.text("PartitionName"),
        record.read("Nodes", node_names),
        record.read("MaxTime", duration),
        record.read("DefaultTime", duration),
        record.number("MinNodes"),
        record.read("MaxNodes", limit),
        record.text("Default") == "YES",
        record.text("State"),
        record.number("PriorityTier"),
        linear or record.text("OverSubscribe") == "EXCLUSIVE",
        limit(record.text("MaxCPUsPerNode", "UNLIMITED") or "UNLIMITED"),
        whole(record.text("OverSubscribe").partition(":")[2] or "1"),
    )


def _cores(record: Record) -> tuple[str, int]:
    """Return the name and the cores of a node."""
    threads = whole(record.text("ThreadsPerCore", "1") or "1")
    return record.text("NodeName"), record.number("CPUTot") // max(threads, 1)


def _reservation(record: Record, cores: Mapping[str, int]) -> Reservation:
    start, end = record.instant("StartTime"), record.instant("EndTime")
    if start is None or end is None:
        raise Unreachable(f"{record.where} has no times")
    nodes = record.read("Nodes", node_names)
    reserved = whole(record.text("CoreCnt", "0") or "0")
    return Reservation(
        record.text("ReservationName"),
        start,
        end,
        nodes,
        words(record.text("Flags")),
        words(record.text("Users")),
        words(record.text("Accounts")),
        0 < reserved < sum(cores.get(name, 0) for name in nodes),
    )


def read_jobs(answer: str, zone: tzinfo | None = None, mark: str = "") -> tuple[Job, ...]:
    """Return the jobs of squeue's answer; there may be none. All of them can be read, or it is refused."""
    jobs, skipped = _read_jobs(answer, zone, mark)
    if skipped:
        raise skipped[0]
    return jobs


def _read_jobs(answer: str, zone: tzinfo | None, mark: str) -> tuple[tuple[Job, ...], list[Unreachable]]:
    """Return the jobs that can be read, and why others cannot; one that may hold nodes must be."""
    command = "squeue"
    *records, rest = answer.split(RS + mark)
    if rest.strip():
        raise Unreachable(f"{command}: the answer is cut off after {quoted(rest.strip()[-40:])}")
    jobs: list[Job] = []
    skipped: list[Unreachable] = []
    for number, text in enumerate(records, 1):
        values = text.removeprefix("\n").split(US + mark)
        if len(values) < len(COLUMNS):
            problem = f"has {len(values)} columns instead of {len(COLUMNS)}"
            skipped.append(Unreachable(f"{command}, record {number}: {quoted(text.strip()[:80])} {problem}"))
            continue
        values[len(COLUMNS) - 1 :] = [
            (US + mark).join(values[len(COLUMNS) - 1 :])
        ]  # without a mark, users may write US
        record = Record(f"{command}, job {values[0][:20]}", dict(zip(COLUMNS, values, strict=True)), zone)
        try:
            jobs.append(_job(record))
        except Unreachable as error:
            if record.text("state") != "PENDING":
                raise
            skipped.append(error)
    if skipped and not jobs:
        raise skipped[0]
    return tuple(jobs), skipped


def _job(record: Record) -> Job:
    least, most = record.read("node count", count)
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
        comment="" if record.values["comment"] in ("(null)", "N/A") else record.values["comment"],
        array=record.number("array") if listed else None,
        tasks=listed,
    )
