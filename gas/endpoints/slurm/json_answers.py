"""Answers of slurmrestd, and of commands with ``--json``, from v0.0.36 on.

The formats are those of Slurm's plug-ins (openapi/v0.0.36 to v0.0.38; data_parser v0.0.39 and later, with the names in
parsers.c): from v0.0.39, a number may be ``{"set", "infinite", "number"}``, the states of a node are one list, and
partitions have their limits in tables. A value that has moved is looked for in all places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from documents.fields import quoted, shown
from gas.endpoints.slurm.conf_file import Stated
from gas.endpoints.slurm.configuration import hidden, scheduling, with_default_memory
from gas.endpoints.slurm.json_entries import VERSIONS, Entry
from gas.endpoints.slurm.json_jobs import job
from gas.endpoints.slurm.json_machine import licence, node, partition, reservation
from gas.endpoints.slurm.notation import LATEST
from gas.endpoints.slurm.resources import by_name, is_default_per_gpu, memory_per_gpu
from gas.endpoints.slurm.setting_answers import json_values, read_json_settings
from gas.endpoints.slurm.stand_ins import shown_or_stand_ins
from gas.errors import BadInput, Unreachable
from gas.json_text import parsed, parsed_items
from gas.slurm.cluster import Cluster, Job, Licence
from gas.slurm.versions import release_of

__all__ = ["ANSWERS", "LAST_SHARED", "OPTIONAL", "VERSIONS", "read_cluster", "read_jobs", "tests_of_last_cycle"]

T = TypeVar("T")

NOTHING_STATED = Stated()

ALLOWING = (25, 11, 0)
"""About the first release in which a reservation can be restricted to partitions and QOS (in 26.05, not in 24.11)."""

ANSWERS: Mapping[str, str] = MappingProxyType(
    {"nodes": "nodes", "partitions": "partitions", "reservations": "reservations", "jobs": "jobs", "diag": "statistics"}
)
"""Endpoints to query, and the key of the objects in each answer."""

LAST_SHARED = 44
"""The last version that shows which waiting jobs request whole nodes; v0.0.45 of Slurm 26.05.5 has empty lists."""

OPTIONAL: Mapping[str, str] = MappingProxyType(
    {
        "licenses": "licences are not known: jobs that request some may start later than shown",
        "conf": "SchedulerParameters and the topology are not known: their defaults are assumed",
    }
)
"""Endpoints that a plan can do without, and what it then lacks."""

UNPUBLISHED = ("DefMemPerNode", "MaxMemPerCPU")
"""Keys of slurm.conf that slurmrestd of Slurm 26.05 leaves out of the configuration (seen)."""


def _entries(answers: Mapping[str, str | bytes], endpoint: str, key: str) -> list[Entry]:
    """Return the objects in an answer, each with its kind and name for messages."""
    return _built(answers, endpoint, key, lambda entry: entry)[1]


def _built(
    answers: Mapping[str, str | bytes], endpoint: str, key: str, build: Callable[[Entry], T]
) -> tuple[Entry, list[T]]:
    """Return an answer, and what `build` makes of each object while it is parsed, as there may be very many."""
    number = -1

    def item(value: Any) -> T:
        nonlocal number
        number += 1
        entry = Entry(value, f"{endpoint}[{number}]")
        entry.where = f"{endpoint}[{number}] ({shown(entry.value.get(key))})"
        return build(entry)

    list_ = ANSWERS.get(endpoint, endpoint)

    def read(text: str | bytes) -> Any:
        return parsed_items(text.encode() if isinstance(text, str) else text, list_, item, strict=False)

    document = _document(answers, endpoint, read)
    found = document.find(list_)
    if not isinstance(found, list):
        raise Unreachable(f"{endpoint}: {shown(found)} is not a list")
    return document, found


def _document(
    answers: Mapping[str, str | bytes], endpoint: str, read: Callable[[str | bytes], Any] | None = None
) -> Entry:
    if endpoint not in answers:
        raise BadInput(f"{endpoint} returned nothing")
    text = answers[endpoint]
    if not text.strip():
        raise Unreachable(f"{endpoint}: the answer is empty")
    try:
        # text from users may contain invalid UTF-8 and, in some versions, control characters
        document = Entry((_parsed if read is None else read)(text), endpoint)
    except ValueError as error:
        raise Unreachable(f"{endpoint}: the answer is not JSON, or cut off ({error})") from None
    errors = document.find("errors", default=None) or ()
    if isinstance(errors, Sequence) and errors:
        texts = [one.get("error") or one.get("description") for one in errors if isinstance(one, Mapping)]
        raise Unreachable(f"{endpoint}: Slurm answers {', '.join(quoted(str(one)) for one in texts) or shown(errors)}")
    return document


def _parsed(text: str | bytes) -> Any:
    return parsed(text if isinstance(text, str) else text.decode(errors="replace"), strict=False)


def read_cluster(
    answers: Mapping[str, str | bytes],
    *,
    name: str,
    now: int | None = None,
    failed: Mapping[str, str] = MappingProxyType({}),
    stated: Stated = NOTHING_STATED,
) -> Cluster:
    """Return the state of the cluster from the answers of `ANSWERS`.

    Parameters
    ----------
    answers
        By endpoint; those in `OPTIONAL` may be missing, and reservations, which v0.0.36 does not publish.
    name
        The cluster's name in the configuration.
    now
        Epoch second of the answers; by default diag's.
    failed
        Reasons for missing answers to some of `OPTIONAL`, or to nodes or partitions, which may be hidden.
    stated
        Stated keys of slurm.conf, used if the version does not publish its configuration.

    Raises
    ------
    Unreachable
        An answer cannot be parsed; the message names the endpoint, the object and the key.
    Forbidden
        Neither nodes nor partitions are shown.
    """
    diagnostics = _document(answers, "diag")
    statistics = Entry(diagnostics.find("statistics"), "diag, statistics")
    release = diagnostics.text("meta/slurm/release", "meta/Slurm/release", default="")
    config, licences, cautions = _optional(answers, failed)
    if not config and stated.values:
        config = stated.config(release)
        cautions = [one for one in cautions if not one.startswith(OPTIONAL["conf"])]
        some = "" if stated.whole else "; other settings are not known"
        cautions.append(
            f"this version does not publish its SchedulerParameters: they are read from {stated.source}{some}"
        )
    elif config:
        config |= {key: stated.values[key] for key in UNPUBLISHED if key in stated.values and key not in config}
    private = hidden(config)
    required = [kind for kind in ("nodes", "partitions") if kind not in failed]
    present = [kind for kind in ("nodes", "partitions", "reservations") if kind in answers or kind in required]
    found = {kind: _entries(answers, kind, "name") for kind in present}
    for kind in required:
        if not found[kind] and kind not in private:
            raise Unreachable(f"{kind}: the answer lists none")
    nodes = tuple(map(node, found.get("nodes", ())))
    partitions = tuple(map(partition, found.get("partitions", ())))
    early = any("maximums" not in entry.value for entry in found.get("partitions", ()))
    partitions = tuple(stated.of_partition(one, early=early) for one in partitions)
    partitions = with_default_memory(partitions, config)
    counts = "MEMORY" in config.get("SelectTypeParameters", "").upper() and not stated.values
    if counts and any(one.memory_per_cpu is None and one.memory_per_node is None for one in partitions):
        cautions.append(
            "slurmrestd does not publish DefMemPerNode: if it is set, jobs that request no memory start earlier than "
            "shown"
        )
    nodes, partitions, hiding = shown_or_stand_ins(nodes, partitions)
    cautions += hiding
    if "reservations" not in found:
        cautions.append("reservations are not known; v0.0.37 and later publish them")
    elif "reservations" in private:
        cautions.append(
            "reservations are hidden here (PrivateData): jobs that would run into one start later than shown"
        )
    cores = {one.name: one.cpus // one.core_cpus for one in nodes}
    kept = tuple(reservation(entry, cores) for entry in found.get("reservations", ()))
    if any("MAGNETIC" in one.flags for one in kept) and (release_of(release) or ALLOWING) >= ALLOWING:
        cautions.append(
            "slurmrestd does not publish which partitions and QOS a reservation allows: jobs that a magnetic one "
            "(MAGNETIC) does not attract may start later than shown"
        )
    if any(
        "state_flags" not in entry.value and isinstance(entry.find("state"), str) for entry in found.get("nodes", ())
    ):
        cautions.append("this version does not show which nodes are drained; v0.0.37 and later do")
    if early and not all(one.name in stated.partitions for one in partitions):
        cautions.append("this version does not show which partitions allocate whole nodes; v0.0.39 and later do")
    jobs, lacking, of_gpus = _jobs(answers, {one.name: one.core_cpus for one in nodes})
    partitions = tuple(
        replace(one, memory_per_gpu=of_gpus[one.name]) if one.memory_per_gpu is None and one.name in of_gpus else one
        for one in partitions
    )
    return Cluster(
        name,
        min(statistics.sure("req_time"), LATEST) if now is None else now,
        release,
        nodes,
        jobs,
        kept,
        partitions,
        scheduling(config.get("SchedulerParameters", "")),
        statistics.instant("bf_when_last_cycle"),
        "jobs" not in private if "PrivateData" in config else None,
        (*cautions, *lacking),
        licences,
        read_json_settings(config, release) if config else None,
    )


def tests_of_last_cycle(answers: Mapping[str, str | bytes]) -> int | None:
    """Return how many jobs the last backfill cycle tested, if cycles end at a number of tests or plans.

    Published from 23.11.
    """
    statistics = Entry(_document(answers, "diag").find("statistics"), "diag, statistics")
    why = ("bf_exit/bf_max_job_test", "bf_exit/bf_node_space_size")
    ended = any(statistics.number(one, default=None) for one in why)
    return statistics.number("bf_last_depth_try", default=None) if ended else None


def _jobs(
    answers: Mapping[str, str | bytes], threads: Mapping[str, int]
) -> tuple[tuple[Job, ...], list[str], dict[str, int]]:
    """Return the jobs, what their answer lacks, and by partition the default MB per GPU that jobs show.

    No version publishes the latter for the partition itself.
    """
    unplanned = False
    of_gpus: dict[str, int] = {}

    def build(entry: Entry) -> Job:
        nonlocal unplanned
        unplanned = unplanned or "scheduled_nodes" not in entry.value
        found = job(entry, threads)
        default = entry.text("memory_per_tres", default="")
        if len(found.partitions) == 1 and is_default_per_gpu(default):
            of_gpus[found.partitions[0]] = entry.understood(memory_per_gpu, "memory_per_tres") or 0
        return found

    document, jobs = _built(answers, "jobs", "job_id", build)
    lacking = []
    if unplanned:
        lacking.append("this version does not show on which nodes jobs are planned; v0.0.39 and later do, and squeue")
    spoken = re.fullmatch(r"data_parser/v0\.0\.(\d+)", document.text("meta/plugin/data_parser", default=""))
    if spoken is not None and int(spoken[1]) > LAST_SHARED and any(one.pending for one in jobs):
        lacking.append(
            f"v0.0.{spoken[1]} does not show which waiting jobs request whole nodes; v0.0.{LAST_SHARED} does, and "
            "squeue"
        )
    return tuple(jobs), lacking, of_gpus


def _optional(
    answers: Mapping[str, str | bytes], failed: Mapping[str, str]
) -> tuple[dict[str, str], tuple[Licence, ...] | None, list[str]]:
    """Return the configuration, the licences, and what is missing, with the effects."""
    reasons = {kind: why for kind, why in failed.items() if kind in OPTIONAL}
    config: dict[str, str] = {}
    found: tuple[Licence, ...] | None = None
    several: list[str] = []
    try:
        if "conf" in answers:
            config = json_values(Entry(_document(answers, "conf").find("slurm_conf"), "conf, slurm_conf").value)
            if "MaxMemPerNode" not in config and "MaxMemPerCPU" in config:  # seen on 26.05: it shows one as the other
                config["MaxMemPerNode"] = config.pop("MaxMemPerCPU")
    except Unreachable as error:
        reasons["conf"] = str(error)
    try:
        if "licenses" in answers:
            found, several = by_name(map(licence, _entries(answers, "licenses", "LicenseName")))
    except Unreachable as error:
        reasons["licenses"] = str(error)
    if "conf" not in answers:
        reasons.setdefault("conf", "this version does not publish its configuration")
    return config, found, [*(f"{OPTIONAL[kind]} ({why})" for kind, why in reasons.items()), *several]


def read_jobs(answers: Mapping[str, str | bytes], threads: Mapping[str, int] | None = None) -> tuple[Job, ...]:
    """Return the jobs in an answer.

    Parameters
    ----------
    threads
        CPUs per core of each node, to convert allocated cores to CPUs; 1 for nodes that are not listed.
    """
    return tuple(_built(answers, "jobs", "job_id", lambda entry: job(entry, threads or {}))[1])
