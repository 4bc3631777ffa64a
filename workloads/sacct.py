"""Reading the output of Slurm's accounting: ``sacct --parsable2 --format=JobID,User,Account,Timelimit,Elapsed,…``.

The header line names the fields, which may be in any order with others among them. Required are JobID, User, Submit,
Start, Timelimit (or TimelimitRaw, in minutes), Elapsed (or ElapsedRaw, or End), and the allocation: AllocCPUS (or
NCPUS, or the cpu= of AllocTRES) for CPUs, AllocNodes (or NNodes, or the node= of AllocTRES) for nodes. Account,
Partition, State, JobIDRaw and Eligible are optional. Instants are in the local time of the machine on which sacct ran,
or epoch seconds (``SLURM_TIME_FORMAT=%s``); durations are ``[days-]hours:minutes:seconds``.

Fields are separated by bars, or by the delimiter of ``--delimiter`` or a spreadsheet: commas, semicolons, tabs, carets.
Several outputs with the same fields may follow each other; a line that is in two of them counts once.

A job counts as submitted when it became eligible: before that, it waited for another job, its ``--begin``, the end of a
hold or other tasks of its array, not for processors.

A line is a job, a task of an array (``12_3``) or a component of a heterogeneous job (``12+1``), which all count as jobs
here; or a step of one (``12.batch``), which is left out. Jobs that have not started or not ended are left out and
counted.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from workloads.cells import Malformed, places
from workloads.header import Header
from workloads.log import Log, LogError
from workloads.pages import Source, pages_of
from workloads.sacct_cells import WHOLE, bad_cell, count_of, limit_of, seconds_of, whole_of
from workloads.sacct_header import TRES, Columns, Unit, is_content, is_header

__all__ = ["LATEST", "Accounting", "parse_sacct", "read_sacct"]

_NOT_YET = frozenset({"", "unknown", "none", "n/a"})
_JOB = re.compile(r"\d+(?:_(?:\d+|\[.*\]?))?(?:\+\d+)?", re.ASCII)
_STATUS = {"COMPLETED": 1, "CANCELLED": 5, "FAILED": 0, "TIMEOUT": 0, "NODE_FAIL": 0, "OUT_OF_MEMORY": 0,
           "BOOT_FAIL": 0, "DEADLINE": 0, "PREEMPTED": 0}  # fmt: skip

_WITHDRAWN = frozenset({"CANCELLED", "DEADLINE", "REVOKED"})
_RUNNING = ("RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "CONFIGURING")

LATEST = 2**32 - 3
"""The last second of an accounting, in 2106: Slurm's numbers for "none" and "infinite" come next."""

_SKEW = 60
"""Seconds by which the clocks of a cluster may differ."""

_NEVER_STARTED = "not started"
_NOT_ENDED = "not ended"
_TWICE = "the same line as another"
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
    name: int
    status: int
    counts: tuple[int, ...]
    id: str


@dataclass(frozen=True, eq=False)
class Accounting:
    """Jobs that have ended, in order of submission.

    Attributes
    ----------
    users, accounts, partitions, names
        The number of each name in the logs, from 0 in the order in which they appear; `names` are those of jobs, which
        the logs have as executables.
    left_out
        Jobs that are not in the logs, counted by reason.
    lines
        Line numbers that a lenient reader could not understand, by reason.
    early
        Line numbers whose Start is before their Submit.
    later
        Number of jobs that became eligible more than a minute after their Submit.
    zone
        The time zone in which months of the logs begin: that of the instants, or UTC if it has no name.
    """

    name: str
    users: Mapping[str, int]
    accounts: Mapping[str, int]
    partitions: Mapping[str, int]
    names: Mapping[str, int]
    left_out: Mapping[str, int]
    lines: Mapping[str, Sequence[int]]
    early: Sequence[int]
    later: int
    zone: str
    _jobs: Sequence[_Job] = field(repr=False)
    _units: Sequence[Unit] = field(repr=False)

    def log(self, unit: Unit = "cpus", *, unlimited: bool = False) -> Log:
        """Return the jobs as a log in which processors are CPUs, or nodes.

        Second 0 is the first submission. Jobs have Slurm's numbers if these are whole numbers (JobIDRaw, or JobID
        without arrays) and unique; otherwise they are numbered from 1, with a remark.

        Parameters
        ----------
        unlimited
            Whether to include jobs without a time limit of their own, whose requested time is -1.

        Raises
        ------
        LogError
            The fields do not give the number of processors in this unit.
        """
        if unit not in self._units:
            wanted = {"cpus": "AllocCPUS", "nodes": "AllocNodes"}[unit]
            raise LogError(self.name, f"does not say how many {unit} jobs had; add {wanted} to sacct's --format")
        at = self._units.index(unit)
        jobs = self._jobs if unlimited else [job for job in self._jobs if job.limit >= 0]
        table = np.array([(*job[:-2], job.counts[at]) for job in jobs], np.int64).reshape(-1, len(_Job._fields) - 1)
        number, submit, start, run_time, limit, user, account, partition, name, status, count = table.T
        first = int(submit[0]) if len(submit) else 0
        names = [("Partition", f"{number} {name}") for name, number in self.partitions.items()]
        header = Header.of(
            [("Version", "2.2"), ("UnixStartTime", first), ("TimeZoneString", self.zone), *names, ("Note", "sacct")]
        )
        own = (number >= 0).all() and len(np.unique(number)) == len(number)
        log = Log.from_columns(
            {
                "job": number if own else np.arange(1, len(number) + 1),
                "submit": submit - first,
                "wait": np.maximum(start - submit, 0),
                "run_time": run_time,
                "allocated_processors": count,
                "requested_processors": count,
                "requested_time": limit,
                "status": status,
                "user": user,
                "group": account,
                "executable": name,
                "partition": partition,
            },
            header=header,
            name=self.name,
        )
        left_out = {why: each for why, each in self.left_out.items() if why != _UNLIMITED or not unlimited}
        remarks = replace(self, left_out=left_out).remarks
        if not own:
            why = "array tasks have no number of their own (add JobIDRaw to -o of sacct), or requeued jobs share one"
            remarks = (*remarks, f"{self.name}: jobs are numbered from 1, not as in Slurm: {why}")
        return replace(log, warnings=remarks, skipped=self.malformed)

    @property
    def malformed(self) -> dict[str, int]:
        """Lines that a lenient reader could not understand, counted by reason."""
        return {reason: len(lines) for reason, lines in self.lines.items()}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Skipped and changed jobs, in words."""
        jobs = []
        if self.left_out:
            total = sum(self.left_out.values())
            reasons = [f"{count:,} {reason}" for reason, count in self.left_out.items()]
            why = ", ".join(reasons if len(reasons) > 1 else self.left_out)
            jobs = [f"{self.name}: {_many(total, 'job')} left out: {why}"]
        if self.early:
            count = len(self.early)
            jobs.append(
                f"{self.name}: {_many(count, 'job')} with Start before Submit: taken as submitted when they started "
                f"({places(self.early, count)})"
            )
        if self.later:
            jobs.append(
                f"{self.name}: {_many(self.later, 'job')} taken as submitted at Eligible, after dependencies, "
                "--begin, holds or array limits"
            )
        lines = [
            f"{self.name}: {_many(len(lines), 'malformed line')} left out: {reason} ({places(lines, len(lines))})"
            for reason, lines in self.lines.items()
        ]
        return (*jobs, *lines)


def read_sacct(path: str | Path, *, lenient: bool = False, zone: tzinfo | None = None) -> Accounting:
    """Read a file with the output of sacct, plain or gzip; see `parse_sacct`."""
    with Path(path).open("rb") as stream:
        return _read(stream, Path(path).name, lenient, zone)


def parse_sacct(data: bytes, *, name: str = "sacct", lenient: bool = False, zone: tzinfo | None = None) -> Accounting:
    """Return the jobs in the output of sacct.

    Parameters
    ----------
    lenient
        Leave out malformed lines and count them, instead of raising.
    zone
        The time zone of instants; by default that of this machine.

    Raises
    ------
    LogError
        It has no header line, or one that lacks a field; or, unless lenient, for the first malformed line.
    """
    return _read(BytesIO(data), name, lenient, zone)


def _read(stream: BinaryIO, name: str, lenient: bool, zone: tzinfo | None) -> Accounting:
    lines = _lines(stream, name)
    number, first = next(lines, (0, ""))
    if not number:
        raise LogError(name, "is empty; sacct prints one line a job below a header line")
    if not is_header(first):
        raise LogError(
            name, "does not begin with a header line that has JobID, as sacct --parsable2 prints it", line=number
        )
    header = Columns.of(first, name)
    reader = _Reader(header, zone)
    malformed: dict[str, list[int]] = {}
    jobs = []
    for number, line in lines:
        if line.strip() == first.strip():  # the header of the next of several outputs
            continue
        try:
            job = reader.job(line, number)
        except Malformed as problem:
            if is_header(line):
                why = "is another header line, of other fields than the first; print all with the same --format"
                raise LogError(name, why, line=number) from None
            if not lenient:
                raise LogError(name, problem.text, line=number) from None
            malformed.setdefault(problem.reason, []).append(number)
            continue
        if job is not None:
            jobs.append(job)
    unique = sorted(dict.fromkeys(jobs), key=lambda job: job.submit)  # stable
    if len(unique) < len(jobs):
        reader.left_out[_TWICE] += len(jobs) - len(unique)
    return Accounting(
        name,
        reader.users,
        reader.accounts,
        reader.partitions,
        reader.names,
        dict(reader.left_out),
        malformed,
        reader.early,
        reader.later,
        _name_of(zone),
        tuple(unique),
        tuple(header.counts),
    )


def _name_of(zone: tzinfo | None) -> str:
    """Return the name of a time zone, by default of this machine's, in the time zone database; UTC if it has none."""
    name = zone.key or "" if isinstance(zone, ZoneInfo) else ""
    if zone is None:
        name = os.environ.get("TZ", os.path.realpath("/etc/localtime").rpartition("zoneinfo/")[2]).removeprefix(":")
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):  # unknown, not a relative path, or a folder of zones
        return "UTC"


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Yield the non-empty lines, with their numbers."""
    number = 0
    for page in pages_of(Source(stream, name)):
        for line in page.removesuffix("\n").split("\n"):
            number += 1
            if is_content(line):
                yield number, line


class _Reader:
    """Names in the lines so far, and omissions."""

    def __init__(self, header: Columns, zone: tzinfo | None) -> None:
        self.users: dict[str, int] = {}
        self.accounts: dict[str, int] = {}
        self.partitions: dict[str, int] = {}
        self.names: dict[str, int] = {}
        self.left_out: Counter[str] = Counter()
        self.early: list[int] = []
        self.later = 0
        self._zone = zone
        self._header = header

    def job(self, line: str, number: int) -> _Job | None:
        """Return the job of a line; None for a step, and for an omitted job."""
        header = self._header
        cells = header.cells(line)
        id = cells[header.id]
        if "." in id:
            return None
        if not _JOB.fullmatch(id):
            raise bad_cell("no job number", repr(id[:40]))
        start = self._instant(cells["start"], "Start")
        counts = tuple(count_of(cells[field], TRES[unit]) for unit, field in header.counts.items())
        state = (cells.get("state", "").split() or [""])[0].rstrip("+").upper()  # "CANCELLED by 1000"
        # A job cancelled while it waited may have a start, and the request as AllocCPUS, but no AllocNodes.
        if start is None or not all(counts):
            self.left_out[_NEVER_STARTED] += 1
            return None
        if state == "RESIZING":  # another line has all of its time, from the first start on
            self.left_out[_RESIZED] += 1
            return None
        limit = limit_of(cells[header.limit], raw=header.limit == "timelimitraw")
        submit = self._instant(cells["submit"], "Submit")
        if submit is None:
            raise bad_cell("no submission", repr(cells["submit"]))
        ready = self._instant(cells.get("eligible", ""), "Eligible", submit)
        before = submit if ready is None else max(submit, ready)
        if start < before:
            start = self._instant(cells["start"], "Start", before) or start
        if ready is not None and submit < ready <= start:  # otherwise clocks were set
            self.later += ready - submit > _SKEW
            submit = ready
        run_time = self._run_time(cells, start)
        if run_time is None:
            self.left_out[_NOT_ENDED] += 1
            return None
        if run_time == 0 and state in _WITHDRAWN and not {"allocnodes", "alloctres"} & cells.keys():
            self.left_out[_NEVER_STARTED] += 1
            return None
        if limit is None:
            self.left_out[_UNLIMITED] += 1
        if start + run_time + _SKEW < submit:
            raise bad_cell("ended before its Submit", f"{cells['submit'][:40]!r}")
        if start < submit:  # for a resized job, Submit is the instant of that
            self.early.append(number)
        raw = cells.get("jobidraw", id)
        return _Job(
            int(raw) if WHOLE.fullmatch(raw) else -1,
            min(submit, start),
            start,
            run_time,
            -1 if limit is None else limit,
            _numbered(self.users, cells["user"]),
            _numbered(self.accounts, cells.get("account", "")),
            _numbered(self.partitions, cells.get("partition", "")),
            _numbered(self.names, cells.get("jobname", "")),
            _STATUS.get(state, -1),
            counts,
            id,
        )

    def _run_time(self, cells: Mapping[str, str], start: int) -> int | None:
        """Return the run time of a job; None if it still runs."""
        if "end" in cells:
            end = self._instant(cells["end"], "End", start)
            if end is None:
                return None
            if end < start:
                raise bad_cell("End is before Start", f"{cells['end'][:40]!r} and {cells['start'][:40]!r}")
            if self._header.ran == "end":
                return end - start
        elif cells.get("state", "").upper().startswith(_RUNNING):
            return None
        text = cells[self._header.ran]
        return whole_of(text, "Elapsed") if self._header.ran == "elapsedraw" else seconds_of(text, "Elapsed")

    def _instant(self, text: str, what: str, after: int = 0) -> int | None:
        """Return epoch seconds; None for an event that has not happened.

        At the end of summer time, the same local time occurs twice; the second one is meant if the first one is before
        the event that came before.
        """
        if text.lower() in _NOT_YET:
            return None
        try:
            seconds = int(text) if WHOLE.fullmatch(text) else self._seconds(text, after)
        except (ValueError, OverflowError, OSError):
            raise bad_cell(f"{what} is not a time", repr(text[:40])) from None
        if seconds > LATEST:
            raise bad_cell(f"{what} is after 2106", repr(text[:40]))
        return seconds

    def _seconds(self, text: str, after: int) -> int:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=self._zone)
        first = int(moment.timestamp())
        if first >= after:
            return first
        second = int(moment.replace(fold=1).timestamp())
        return second if second >= after else first


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def _numbered(known: dict[str, int], name: str) -> int:
    return known.setdefault(name, len(known)) if name else -1
