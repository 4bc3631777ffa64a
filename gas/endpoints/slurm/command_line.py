"""Answers of Slurm's commands scontrol, squeue and sdiag, with columns that all versions have.

squeue runs with ``-o``, which prints columns without a width in full; ``-O`` truncates them. Columns end in the control
character US and records in RS. Users may write both in names and comments, so the caller adds an unguessable mark to
them (`commands`), a new one for each query.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import tzinfo
from types import MappingProxyType

from documents.fields import quoted
from gas.endpoints.slurm.answer_records import Record, count
from gas.endpoints.slurm.configuration import hidden, release, scheduling, with_default_memory
from gas.endpoints.slurm.details import DETAILS, detailed, unclear_shares, with_details
from gas.endpoints.slurm.notation import duration, node_names, tasks, words
from gas.endpoints.slurm.resources import by_name
from gas.endpoints.slurm.scontrol_records import licence, node, partition, reservation
from gas.endpoints.slurm.setting_answers import config_values, read_settings
from gas.endpoints.slurm.stand_ins import shown_or_stand_ins
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Cluster, Job

__all__ = [
    "COMMANDS", "DETAILS", "ENVIRONMENT", "NO_DETAILS", "OPTIONAL", "commands", "detailed", "read_cluster", "read_jobs",
    "unclear_shares", "with_details",
]  # fmt: skip

ENVIRONMENT: Mapping[str, str] = MappingProxyType({"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"})
"""Environment of the commands: epoch seconds (sdiag always prints these), and lists of tasks in full."""

COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "id": "A", "array": "F", "tasks": "K", "user": "u", "state": "T", "partitions": "P", "start": "S", "end": "e",
        "limit": "l", "cpus": "C", "node count": "D", "nodes": "N", "planned nodes": "Y", "sharing": "h",
        "priority": "Q", "reason": "r", "submitted": "V", "dependency": "E", "required nodes": "n",
        "excluded nodes": "x", "reservation": "v", "comment": "k", "name": "j",
    }
)  # fmt: skip
"""Letters of squeue's columns; the last two are text from users."""

US, RS = "\x1f", "\x1e"


def commands(mark: str = "") -> Mapping[str, tuple[str, ...]]:
    """Return the commands, by the names of their answers.

    Parameters
    ----------
    mark
        Letters and digits after each US and RS, without which a name or comment cannot forge columns or records.
    """
    columns = (US + mark).join(f"%{c}" for c in COLUMNS.values()) + RS + mark
    return MappingProxyType(
        {
            "nodes": ("scontrol", "-a", "-o", "-d", "show", "nodes"),
            "partitions": ("scontrol", "-a", "-o", "show", "partitions"),
            "reservations": ("scontrol", "-o", "show", "reservations"),
            "licences": ("scontrol", "-o", "show", "licenses"),
            "config": ("scontrol", "show", "config"),
            "jobs": ("squeue", "-a", "-h", "--noconvert", "-o", columns),
            "diagnostics": ("sdiag",),
        }
    )


OPTIONAL: Mapping[str, str] = MappingProxyType(
    {
        "reservations": "jobs that would run into one start later than shown",
        "licences": "jobs that request some may start later than shown",
    }
)
"""Answers that a plan can do without, and what it then lacks."""

NO_DETAILS = "the jobs' memory, GRES and node ranges cannot be read: jobs may start at other times than shown"
"""The effect of a missing answer to `DETAILS`, for users."""

SHARING_APART = (25, 5)
"""From some release after 24.11 (seen on 26.05), squeue's %h is NO for all jobs; scontrol has Exclusive= instead."""

COMMANDS = commands()
"""The commands without a mark, for callers that trust all users."""

_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:&]*)=(\S*)")


def _lines(answers: Mapping[str, str], name: str, key: str, zone: tzinfo | None) -> Iterator[Record]:
    """Return the records of an answer of ``scontrol -o``, each of which starts with `key`."""
    command = " ".join(COMMANDS[name])
    if name not in answers:
        raise BadInput(f"{command} returned nothing")
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
    answers: Mapping[str, str],
    *,
    name: str,
    zone: tzinfo | None = None,
    now: int | None = None,
    mark: str = "",
    failed: Mapping[str, str] = MappingProxyType({}),
) -> Cluster:
    """Return the state of the cluster from the answers to `commands`.

    Parameters
    ----------
    name
        The cluster's name in the configuration.
    zone
        Time zone of the answers, if they were not made with `ENVIRONMENT`.
    now
        Epoch second of the answers; by default sdiag's.
    mark
        The mark of the `commands`.
    failed
        Reasons for missing answers to some of `OPTIONAL`, or to nodes or partitions, which may be hidden.

    Raises
    ------
    Unreachable
        An answer cannot be parsed; the message names the command and the place.
    Forbidden
        Neither nodes nor partitions are shown.
    """
    config = _read_config(answers)
    queried, planned = _read_diagnostics(answers)
    linear = config.get("SelectType", "") == "select/linear"
    private = hidden(config)
    nodes = () if "nodes" in failed else tuple(map(node, _lines(answers, "nodes", "NodeName", zone)))
    listed = () if "partitions" in failed else _lines(answers, "partitions", "PartitionName", zone)
    partitions = with_default_memory([partition(record, linear) for record in listed], config)
    for kind, found in (("nodes", nodes), ("partitions", partitions)):
        if not found and kind not in private and kind not in failed:
            raise Unreachable(f"{' '.join(COMMANDS[kind])}: the answer is empty")
    nodes, partitions, hiding = shown_or_stand_ins(nodes, partitions)
    cores = {one.name: one.cpus // one.core_cpus for one in nodes}
    kept = _optional(answers, "reservations", "ReservationName", zone, failed)
    reservations = tuple(reservation(record, cores) for record in kept or ())
    counted = _optional(answers, "licences", "LicenseName", zone, failed)
    licences, several = by_name(map(licence, counted or ()))
    distinct = release(config["SLURM_VERSION"]) < SHARING_APART
    jobs, skipped = _read_jobs(answers["jobs"], zone, mark, distinct) if "jobs" in answers else ((), [])
    cautions = (*hiding, *_skipped(skipped), *_missing(failed, private), *several)
    return Cluster(
        name,
        queried if now is None else now,
        config["SLURM_VERSION"],
        nodes,
        jobs,
        reservations,
        partitions,
        scheduling(config["SchedulerParameters"]),
        planned,
        "jobs" not in private,
        cautions,
        None if counted is None else licences,
        read_settings(config),
    )


def _optional(
    answers: Mapping[str, str], name: str, key: str, zone: tzinfo | None, failed: Mapping[str, str]
) -> list[Record] | None:
    """Return the records of an answer; None if there is no answer."""
    if name in failed or name not in answers:
        return None
    none = not answers[name].strip() or answers[name].startswith("No ")  # reservations in the system
    return [] if none else list(_lines(answers, name, key, zone))


def _missing(failed: Mapping[str, str], private: Collection[str]) -> Iterator[str]:
    """Yield the missing answers with their effects."""
    for kind, means in OPTIONAL.items():
        if kind in failed:
            yield f"{kind} cannot be read ({failed[kind]}): {means}"
        elif kind in private:
            yield f"{kind} are hidden here (PrivateData): {means}"


def _skipped(skipped: Collection[Unreachable]) -> Iterator[str]:
    """Yield what is unreadable in the queue."""
    if skipped:
        what = "1 job" if len(skipped) == 1 else f"{len(skipped):,} jobs"
        yield f"{what} could not be read and {'is' if len(skipped) == 1 else 'are'} left out ({next(iter(skipped))})"


def _read_config(answers: Mapping[str, str]) -> dict[str, str]:
    command = " ".join(COMMANDS["config"])
    found = config_values(answers.get("config", ""))
    for key in ("SLURM_VERSION", "PrivateData", "SchedulerParameters", "SelectType"):
        if key not in found:
            raise Unreachable(f"{command}: the answer has no {key}; is it Slurm that answered?")
    return found


def _read_diagnostics(answers: Mapping[str, str]) -> tuple[int, int | None]:
    """Return the time of sdiag's answer, and that of the last backfill cycle."""
    text = answers.get("diagnostics", "")
    queried = re.search(r"^sdiag output at .*\((\d{1,11})\)", text, re.MULTILINE)
    if queried is None:
        raise Unreachable("sdiag: the answer has no time (sdiag output at ...)")
    backfill = text[text.find("Backfilling stats") :] if "Backfilling stats" in text else ""
    cycle = re.search(r"Last cycle when: .*\((\d{1,11})\)", backfill)
    return int(queried[1]), int(cycle[1]) or None if cycle else None


def read_jobs(answer: str, zone: tzinfo | None = None, mark: str = "") -> tuple[Job, ...]:
    """Return the jobs in squeue's answer; `Unreachable` if one of them cannot be read."""
    jobs, skipped = _read_jobs(answer, zone, mark)
    if skipped:
        raise skipped[0]
    return jobs


def _read_jobs(
    answer: str, zone: tzinfo | None, mark: str, distinct: bool = True
) -> tuple[tuple[Job, ...], list[Unreachable]]:
    """Return the readable jobs, and why others are unreadable; a job that may hold nodes must be readable.

    `distinct` says whether this squeue shows which jobs request whole nodes (`SHARING_APART`).
    """
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
        ]  # without a mark, text from users may contain US
        record = Record(f"{command}, job {values[0][:20]}", dict(zip(COLUMNS, values, strict=True)), zone)
        try:
            jobs.append(_job(record, distinct))
        except Unreachable as error:
            if record.text("state") != "PENDING":
                raise
            skipped.append(error)
    if skipped and not jobs:
        raise skipped[0]
    return tuple(jobs), skipped


def _job(record: Record, distinct: bool) -> Job:
    least, most = record.read("node count", count)
    listed = record.read("tasks", tasks)
    nodes = record.read("nodes", node_names)
    state = record.text("state")
    cpus = record.number("cpus")
    sharing = record.text("sharing")
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
        exclusive=distinct and sharing == "NO",
        shared_with=sharing.lower() if sharing in ("USER", "MCS") else "",
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
