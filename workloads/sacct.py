"""Reading what Slurm's accounting prints: ``sacct --parsable2 --format=JobID,User,Account,Timelimit,Elapsed,…``.

Fields are known by the header line, and may come in any order with any others among them. Needed are JobID, User,
Submit, Start, Timelimit (or TimelimitRaw, in minutes), Elapsed (or ElapsedRaw, or End), and what the job had: AllocCPUS
(or NCPUS, or the cpu= of AllocTRES) for CPUs, AllocNodes (or NNodes, or the node= of AllocTRES) for nodes. Account,
Partition, State and JobIDRaw are read if they are there. Instants are in the local time of where sacct ran, or epoch
seconds (``SLURM_TIME_FORMAT=%s``); durations are ``[days-]hours:minutes:seconds``.

A line is a job, a task of an array (``12_3``), a component of a heterogeneous job (``12+1``), which all count as jobs
here, or a step of one (``12.batch``), which is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np

from workloads.cells import Malformed, places
from workloads.header import Header
from workloads.log import LARGEST, Log, LogError
from workloads.pages import Source, pages_of

__all__ = ["UNITS", "Accounting", "Unit", "is_sacct", "parse_sacct", "read_sacct", "why_no_sacct"]

Unit = Literal["cpus", "nodes"]
"""What the processors of a job are."""

UNITS: tuple[Unit, ...] = ("cpus", "nodes")

_COUNTS: Mapping[Unit, tuple[str, ...]] = {
    "cpus": ("alloccpus", "ncpus"),
    "nodes": ("allocnodes", "nnodes"),
}
_TRES: Mapping[Unit, str] = {"cpus": "cpu", "nodes": "node"}
_NOT_YET = frozenset({"", "unknown", "none", "n/a"})
_NO_LIMIT = frozenset({"", "unlimited", "partition_limit"})
_DURATION = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2})(?:\.\d*)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,15}", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)
_JOB = re.compile(r"\d+(?:_(?:\d+|\[.*\]?))?(?:\+\d+)?", re.ASCII)
_STATUS = {"COMPLETED": 1, "CANCELLED": 5, "FAILED": 0, "TIMEOUT": 0, "NODE_FAIL": 0, "OUT_OF_MEMORY": 0,
           "BOOT_FAIL": 0, "DEADLINE": 0, "PREEMPTED": 0}  # fmt: skip

_WITHDRAWN = frozenset({"CANCELLED", "DEADLINE", "REVOKED"})

_NEVER_STARTED = "not started"
_RESIZED = "what a job had before it was resized"
_UNLIMITED = "no time limit of its own"


class _Job(NamedTuple):
    number: int
    submit: int
    start: int
    run_time: int
    limit: int
    user: int
    account: int
    partition: int
    status: int
    counts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Accounting:
    """Jobs that have started, in the order of their submission.

    Attributes
    ----------
    users, accounts, partitions
        The number that each name has in the logs, from 0 in the order in which they appear.
    left_out
        Jobs that are not in the logs, counted by reason.
    lines
        Where those stand in the file that a lenient reader could not understand, by reason.
    """

    name: str
    users: Mapping[str, int]
    accounts: Mapping[str, int]
    partitions: Mapping[str, int]
    left_out: Mapping[str, int]
    lines: Mapping[str, Sequence[int]]
    _jobs: Sequence[_Job] = field(repr=False)
    _units: Sequence[Unit] = field(repr=False)

    def log(self, unit: Unit = "cpus", *, unlimited: bool = False) -> Log:
        """Return the jobs as a log in which processors are CPUs, or nodes.

        Second 0 is the first submission; where the end of a job is not known, its run time is -1. Jobs have Slurm's
        numbers, if all that are given are whole ones (JobIDRaw, or JobID without arrays), else they are counted from 1.

        Parameters
        ----------
        unlimited
            With the jobs that had no time limit of their own, whose requested time is -1.

        Raises
        ------
        LogError
            The fields do not say how many there are.
        """
        if unit not in self._units:
            wanted = {"cpus": "AllocCPUS", "nodes": "AllocNodes"}[unit]
            raise LogError(self.name, f"does not say how many {unit} jobs had; add {wanted} to sacct's --format")
        at = self._units.index(unit)
        jobs = self._jobs if unlimited else [job for job in self._jobs if job.limit >= 0]
        table = np.array([(*job[:-1], job.counts[at]) for job in jobs], np.int64).reshape(-1, len(_Job._fields))
        number, submit, start, run_time, limit, user, account, partition, status, count = table.T
        first = int(submit[0]) if len(submit) else 0
        names = [("Partition", f"{number} {name}") for name, number in self.partitions.items()]
        header = Header.of(
            [("Version", "2.2"), ("UnixStartTime", first), ("TimeZoneString", "UTC"), *names, ("Note", "sacct")]
        )
        log = Log.from_columns(
            {
                "job": number if (number >= 0).all() else np.arange(1, len(number) + 1),
                "submit": submit - first,
                "wait": np.maximum(start - submit, 0),
                "run_time": run_time,
                "allocated_processors": count,
                "requested_processors": count,
                "requested_time": limit,
                "status": status,
                "user": user,
                "group": account,
                "partition": partition,
            },
            header=header,
            name=self.name,
        )
        left_out = {why: each for why, each in self.left_out.items() if why != _UNLIMITED or not unlimited}
        remarks = replace(self, left_out=left_out).remarks
        return replace(log, warnings=remarks, skipped=self.malformed)

    @property
    def malformed(self) -> dict[str, int]:
        """Lines that a lenient reader could not understand, counted by reason."""
        return {reason: len(lines) for reason, lines in self.lines.items()}

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out, in words."""
        jobs = [f"{self.name}: {_many(count, 'job')} left out: {reason}" for reason, count in self.left_out.items()]
        lines = [
            f"{self.name}: {_many(len(lines), 'malformed line')} left out: {reason} ({places(lines, len(lines))})"
            for reason, lines in self.lines.items()
        ]
        return (*jobs, *lines)


def is_sacct(source: str | Path | bytes) -> bool:
    """Return whether a file, or what was read of one, plain or gzip, begins as what sacct prints, with a header."""
    return _is_header(_first_line(source))


def why_no_sacct(source: str | Path | bytes) -> str:
    """Return why sacct's output cannot be used: it lacks bars, or its header; nothing if it is not sacct's at all."""
    line = _first_line(source)
    words = line.lower().split()
    way_out = "; print it with sacct --parsable2, and with its header line (without --noheader)"
    if line.lstrip().startswith(";"):
        return ""
    if {"jobid", "jobidraw"} & set(words):
        return f"looks like what sacct prints in columns of blanks, which cannot be separated{way_out}"
    if line.count("|") >= 4 or (_INSTANT.search(line) and _JOB.match(line.strip())):
        return f"looks like what sacct prints, without its header line{way_out}"
    return ""


def _first_line(source: str | Path | bytes) -> str:
    """Return the first line that is not empty; nothing if there is none."""
    name = "sacct" if isinstance(source, bytes) else Path(source).name
    with BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as stream:
        for page in pages_of(Source(stream, name), 1 << 14):
            for line in page.split("\n"):
                if line.strip():
                    return line
    return ""


def read_sacct(path: str | Path, *, lenient: bool = False, zone: tzinfo | None = None) -> Accounting:
    """Read a file, plain or gzip, of what sacct printed; see `parse_sacct`."""
    with Path(path).open("rb") as stream:
        return _read(stream, Path(path).name, lenient, zone)


def parse_sacct(data: bytes, *, name: str = "sacct", lenient: bool = False, zone: tzinfo | None = None) -> Accounting:
    """Return the jobs in what sacct printed.

    Parameters
    ----------
    lenient
        Leave malformed lines out and count them, instead of refusing all.
    zone
        In which instants are; by default that of this machine.

    Raises
    ------
    LogError
        It has no header line, or one that lacks a field; or, unless lenient, for the first malformed line.
    """
    return _read(BytesIO(data), name, lenient, zone)


def _is_header(line: str) -> bool:
    names = {name.strip().lower() for name in line.split("|")}
    return len(names) > 1 and bool(names & {"jobid", "jobidraw"})


def _read(stream: BinaryIO, name: str, lenient: bool, zone: tzinfo | None) -> Accounting:
    lines = _lines(stream, name)
    number, header = next(lines, (0, ""))
    if not number:
        raise LogError(name, "is empty; sacct prints one line a job below a header line")
    if not _is_header(header):
        raise LogError(
            name, "does not begin with a header line that has JobID, as sacct --parsable2 prints it", line=number
        )
    reader = _Reader(name, header, zone)
    malformed: dict[str, list[int]] = {}
    jobs = []
    for number, line in lines:
        try:
            job = reader.job(line)
        except Malformed as problem:
            if not lenient:
                raise LogError(name, problem.text, line=number) from None
            malformed.setdefault(problem.reason, []).append(number)
            continue
        if job is not None:
            jobs.append(job)
    jobs.sort(key=lambda job: job.submit)  # stable
    return Accounting(
        name,
        reader.users,
        reader.accounts,
        reader.partitions,
        dict(reader.left_out),
        malformed,
        tuple(jobs),
        reader.units,
    )


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, with their numbers."""
    number = 0
    for page in pages_of(Source(stream, name)):
        for line in page.removesuffix("\n").split("\n"):
            number += 1
            if line.strip():
                yield number, line


class _Reader:
    """What the header says, and which users the lines have named."""

    def __init__(self, name: str, header: str, zone: tzinfo | None) -> None:
        self.users: dict[str, int] = {}
        self.accounts: dict[str, int] = {}
        self.partitions: dict[str, int] = {}
        self.left_out: Counter[str] = Counter()
        self._zone = zone
        self._trailing = header.rstrip().endswith("|")  # --parsable ends each line with one
        given = [field.strip().lower() for field in header.rstrip().removesuffix("|").split("|")]
        self._width = len(given)
        self._at = {field: place for place, field in enumerate(given)}
        self._id = self._one_of(name, "JobID", "jobid", "jobidraw")
        self._user = self._one_of(name, "User", "user")
        self._submit = self._one_of(name, "Submit", "submit")
        self._start = self._one_of(name, "Start", "start")
        self._limit = self._one_of(name, "Timelimit", "timelimitraw", "timelimit")
        self._ran = self._one_of(name, "Elapsed", "elapsedraw", "elapsed", "end")
        counts = {unit: [*self._found(_COUNTS[unit]), *self._found(("alloctres",))] for unit in UNITS}
        self.units: tuple[Unit, ...] = tuple(unit for unit in UNITS if counts[unit])
        self._counts = {unit: counts[unit][0] for unit in self.units}
        if not self.units:
            raise LogError(name, "its header has neither AllocCPUS nor AllocNodes; add one to sacct's --format", line=1)

    def _found(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self._at]

    def _one_of(self, log: str, wanted: str, *names: str) -> str:
        found = self._found(names)
        if not found:
            raise LogError(log, f"its header has no {wanted}; add it to sacct's --format", line=1)
        return found[0]

    def job(self, line: str) -> _Job | None:
        """Return the job of a line; None for a step, and for one that is left out."""
        values = (line.rstrip().removesuffix("|") if self._trailing else line).split("|")
        if len(values) != self._width:
            found = f"{len(values)} where the header has {self._width}"
            raise _malformed("another number of fields than the header", found)
        cells = {name: values[place].strip() for name, place in self._at.items()}
        id = cells[self._id]
        if "." in id:
            return None
        if not _JOB.fullmatch(id):
            raise _malformed("no job number", repr(id[:40]))
        start = self._instant(cells[self._start], "Start")
        counts = tuple(_count(cells[field], _TRES[unit]) for unit, field in self._counts.items())
        state = (cells.get("state", "").split() or [""])[0].rstrip("+").upper()  # "CANCELLED by 1000"
        # who is cancelled while it waits may get a start, and as AllocCPUS what it asked for, but no AllocNodes
        if start is None or not all(counts):
            self.left_out[_NEVER_STARTED] += 1
            return None
        if state == "RESIZING":  # another line has all of its time, from the first start on
            self.left_out[_RESIZED] += 1
            return None
        limit = _limit(cells[self._limit], raw=self._limit == "timelimitraw")
        submit = self._instant(cells[self._submit], "Submit")
        if submit is None:
            raise _malformed("no submission", repr(cells[self._submit]))
        run_time = self._run_time(cells, start)
        if run_time == 0 and state in _WITHDRAWN and not {"allocnodes", "alloctres"} & set(self._at):
            self.left_out[_NEVER_STARTED] += 1
            return None
        if limit is None:
            self.left_out[_UNLIMITED] += 1
        raw = cells.get("jobidraw", id)
        return _Job(
            int(raw) if _WHOLE.fullmatch(raw) else -1,
            min(submit, start),  # of one that was resized, the instant of that is its submission
            start,
            run_time,
            -1 if limit is None else limit,
            _numbered(self.users, cells[self._user]),
            _numbered(self.accounts, cells.get("account", "")),
            _numbered(self.partitions, cells.get("partition", "")),
            _STATUS.get(state, -1),
            counts,
        )

    def _run_time(self, cells: Mapping[str, str], start: int) -> int:
        """Return how long a job ran; -1 if it still does."""
        if "end" in cells:
            end = self._instant(cells["end"], "End")
            if end is None:
                return -1
            if self._ran == "end":
                return max(end - start, 0)
        elif cells.get("state", "").upper().startswith(("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING")):
            return -1
        text = cells[self._ran]
        return _whole(text, "Elapsed") if self._ran == "elapsedraw" else _seconds(text, "Elapsed")

    def _instant(self, text: str, what: str) -> int | None:
        """Return epoch seconds; None for what has not happened."""
        if text.lower() in _NOT_YET:
            return None
        if _WHOLE.fullmatch(text):
            return int(text)
        try:
            moment = datetime.fromisoformat(text)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=self._zone)).timestamp())
        except (ValueError, OverflowError, OSError):
            raise _malformed(f"{what} is no instant", repr(text[:40])) from None


def _malformed(reason: str, found: str) -> Malformed:
    return Malformed(reason, f"{reason}: {found}")


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def _numbered(known: dict[str, int], name: str) -> int:
    return known.setdefault(name, len(known)) if name else -1


def _limit(text: str, *, raw: bool) -> int | None:
    if text.lower() in _NO_LIMIT:
        return None
    seconds = 60 * _whole(text, "Timelimit") if raw else _seconds(text, "Timelimit")
    if not 1 <= seconds <= LARGEST:
        raise _malformed("Timelimit is no time", repr(text[:40]))
    return seconds


def _count(text: str, resource: str) -> int:
    """Return a number, which may stand among others: ``billing=4,cpu=4,mem=8G,node=1``."""
    if "=" in text:
        text = dict(each.partition("=")[::2] for each in text.split(",")).get(resource, "")
    return _whole(text, "the number of processors") if text else 0


def _whole(text: str, what: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise _malformed(f"{what} is no whole number", repr(text[:40]))
    return int(text)


def _seconds(text: str, what: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise _malformed(f"{what} is no duration", repr(text[:40]))
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = ((24 * days + hours) * 60 + minutes) * 60 + seconds
    if total > LARGEST:
        raise _malformed(f"{what} is no duration", repr(text[:40]))
    return total
