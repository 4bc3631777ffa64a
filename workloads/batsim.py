"""Workloads of the simulator Batsim: JSON with ``jobs``, ``profiles`` and ``nb_res`` (Batsim's manual, "Workload").

A job has ``id``, ``subtime``, ``res``, ``profile`` and perhaps ``walltime``; its run time is that of its profile. Only
profiles whose run time does not depend on a platform can be read: delays (``delay``, named ``DelayProfile`` in releases
from 5 on) and sequences of them. All written profiles are of type ``delay``, which every release up to 4 reads.

Data without a field in the format are in each job's ``extra_data``, which Batsim passes on unread, and the log's header
is in ``swf_header``; so a log can be restored exactly.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from workloads.cells import Complaints, Malformed, quoted
from workloads.header import Header
from workloads.log import FIELDS, LARGEST, Log, LogError

__all__ = ["format_batsim", "parse_batsim"]

_DELAYS = ("delay", "DelayProfile")
_SEQUENCES = ("composed", "SequentialCompositionProfile", "sequence")
_DEEPEST = 20
_KINDS = {each.name: each.kind for each in FIELDS}


def format_batsim(log: Log) -> tuple[bytes, Mapping[str, int]]:
    """Return a log as a workload of Batsim, and the number of omitted jobs by reason.

    Raises
    ------
    LogError
        None of its jobs has a run time and processors.
    """
    size = np.where(log.requested_processors > 0, log.requested_processors, log.allocated_processors)
    columns = {name: column.tolist() for name, column in log.columns().items() if not (column == -1).all()}
    left_out: Counter[str] = Counter()
    jobs, profiles = [], {}
    for row, (ran, res) in enumerate(zip(log.run_time.tolist(), size.tolist(), strict=True)):
        if ran < 0 or res < 1 or res != int(res):
            left_out["without a run time" if ran < 0 else "without a whole number of processors"] += 1
            continue
        fields = {name: _plain(column[row]) for name, column in columns.items()}
        given = {"job": log.job[row], "submit": log.submit[row], "run_time": ran, "requested_processors": res}
        job: dict[str, Any] = {"id": str(log.job[row]), "subtime": _plain(float(log.submit[row])), "res": int(res)}
        if log.requested_time[row] > 0:
            job["walltime"] = given["requested_time"] = _plain(float(log.requested_time[row]))
        failed = fields.get("status") == 0
        job["profile"] = f"delay{_plain(ran)}{'-failed' if failed else ''}"
        profiles[job["profile"]] = {"type": "delay", "delay": _plain(ran), **({"ret": 1} if failed else {})}
        given["status"] = 0 if failed else -1
        names = [*fields, *(name for name in given if name not in fields)]
        extra = {name: fields.get(name, -1) for name in names if fields.get(name, -1) != given.get(name, -1)}
        if extra:
            job["extra_data"] = json.dumps(extra)
        jobs.append(job)
    if not jobs:
        raise LogError(log.name, f"has no job for Batsim: {', '.join(f'{n} {why}' for why, n in left_out.items())}")
    machine = next((n for n in (log.header.max_procs, log.header.max_nodes) if n), max(job["res"] for job in jobs))
    document = {"nb_res": machine, "jobs": jobs, "profiles": profiles, "swf_header": list(log.header.lines)}
    return (json.dumps(document, indent=1) + "\n").encode(), dict(left_out)


def parse_batsim(data: bytes, *, name: str = "workload", lenient: bool = False) -> Log:
    """Return the log in a workload of Batsim.

    Jobs are numbered as in their ids if all of these end in whole numbers (``w0!17`` is 17), otherwise from 1.

    Parameters
    ----------
    lenient
        Leave out unreadable jobs, counted by reason, instead of raising. Messages number them by their place in
        ``jobs``, from 1, like lines.

    Raises
    ------
    LogError
        It is not such a workload, or, unless lenient, for the first unreadable job.
    """
    document = _document(data, name)
    times = _Times(document["profiles"])
    complaints = Complaints(f"{name} (jobs are counted as lines)", lenient)
    rows: list[dict[str, float]] = []
    ids: list[str] = []
    for number, job in enumerate(document["jobs"], 1):
        try:
            rows.append(_row(job, times))
            ids.append(str(job["id"]).rpartition("!")[2])
        except Malformed as problem:
            complaints.add(number, problem)
    if not rows:
        raise LogError(name, "; ".join(["has no jobs", *complaints.summary]))
    whole = all(re.fullmatch(r"\d{1,15}", each, re.ASCII) for each in ids)
    for number, (row, each) in enumerate(zip(rows, ids, strict=True), 1):
        row.setdefault("job", int(each) if whole else number)
    rows.sort(key=lambda row: int(row["submit"]))
    names = [each.name for each in FIELDS if any(each.name in row for row in rows)]
    columns = {key: np.array([row.get(key, -1) for row in rows]) for key in names}
    log = Log.from_columns(columns, header=_header(document), name=name)
    return replace(log, warnings=tuple(complaints.summary), skipped=dict(complaints.skipped))


def _document(data: bytes, name: str) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise LogError(name, f"is not JSON: {error}; a workload of Batsim is one object") from None
    if not isinstance(document, dict):
        raise LogError(name, "is not a Batsim workload, an object with jobs, profiles and nb_res")
    first = next(iter(jobs), None) if isinstance(jobs := document.get("jobs"), list) else None
    if "profiles" not in document and isinstance(first, dict) and "job_id" in first:
        raise LogError(
            name,
            "looks like what Slurm prints as JSON, which is no log here; print it as text: sacct -aXP -o JobID,User,"
            "Account,Partition,Timelimit,ElapsedRaw,Submit,Eligible,Start,End,AllocCPUS,AllocNodes,State",
        )
    for key, kind in (("jobs", list), ("profiles", dict)):
        if not isinstance(document.get(key), kind):
            raise LogError(name, f'has no "{key}"; a workload of Batsim has jobs, profiles and nb_res')
    return document


def _header(document: Mapping[str, Any]) -> Header:
    """Return the header of the written log, or one with only the size of the machine."""
    lines = document.get("swf_header")
    machine = document.get("nb_res")
    header = Header()
    if isinstance(lines, list):
        kept = [line for line in lines if isinstance(line, str) and line.lstrip().startswith(";")]
        header = Header(tuple(line for line in kept if "\n" not in line and "\r" not in line))
    if header.max_procs is None and header.max_nodes is None and _is_number(machine) and int(machine) > 0:
        header = Header.of([("Version", "2.2"), ("MaxProcs", int(machine))]) if not header.lines else header
        header = header if header.max_procs else header.with_value("MaxProcs", int(machine))
    return header


def _row(job: Any, times: _Times) -> dict[str, float]:
    """Return the fields of a job."""
    if not isinstance(job, dict):
        raise Malformed("no job", f"{quoted(json.dumps(job))} is not a job, which is an object")
    for key in ("id", "subtime", "res", "profile"):
        if key not in job:
            raise Malformed(f"no {key}", f'has no "{key}"')
    row = {
        "submit": _number(job, "subtime"),
        "requested_processors": _number(job, "res"),
        "requested_time": _number(job, "walltime") if "walltime" in job else -1.0,
    }
    if row["requested_processors"] < 1 or row["requested_processors"] != int(row["requested_processors"]):
        raise Malformed("no whole number of resources", f"{job['res']} is not a whole number of resources")
    row["run_time"] = times.of(str(job["profile"]))
    if times.profiles[str(job["profile"])].get("ret", 0) != 0:
        row["status"] = 0
    return row | _extra(job.get("extra_data"))


def _extra(text: Any) -> dict[str, float]:
    """Return the fields of a log that Batsim lacks; ignore anything that others write there."""
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    kept = {name: each for name, each in found.items() if name in _KINDS and _is_number(each) and abs(each) <= LARGEST}
    return {name: each for name, each in kept.items() if _KINDS[name] != "identity" or each == int(each)}


class _Times:
    """Run times of profiles."""

    def __init__(self, profiles: Mapping[str, Any]) -> None:
        self.profiles = profiles
        self._known: dict[str, float] = {}

    def of(self, profile: str, deepest: int = _DEEPEST) -> float:
        """Return the run time of a profile in seconds."""
        if profile not in self._known:
            self._known[profile] = self._taken(profile, deepest)
        return self._known[profile]

    def _taken(self, profile: str, deepest: int) -> float:
        found = self.profiles.get(profile)
        if not isinstance(found, dict):
            raise Malformed("unknown profile", f"there is no profile {quoted(profile)}")
        kind = found.get("type")
        if kind in _DELAYS:
            return _number(found, "delay")
        if kind in _SEQUENCES and isinstance(found.get("seq"), list) and deepest:
            times = next((_number(found, key) for key in ("repeat", "nb") if key in found), 1)
            return times * sum(self.of(str(each), deepest - 1) for each in found["seq"])
        raise Malformed(
            "a profile whose run time depends on a platform",
            f"profile {quoted(profile)} is of type {quoted(str(kind))}: how long it takes depends on a platform, or is "
            "not known; run times are read from delays, and sequences of them",
        )


def _number(holder: Mapping[str, Any], key: str) -> float:
    value = holder.get(key)
    if not _is_number(value) or not -LARGEST <= value <= LARGEST:
        raise Malformed(f"{key} is not a number", f'"{key}": {quoted(json.dumps(value))} is not a number within ±2**53')
    return float(value)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else value
