"""Schedules in files: written as SWF or as the CSV of Batsim and evalys, read in any form that states when jobs ran.

SWF has no field for promised starts; the CSV has the column ``promised_start`` for them. Reservations are rows of the
CSV, numbered below 0 and marked in the column ``metadata``, which also gives the processors of the machine; in SWF each
is a Note that can be read back.

`format_schedule_swf`, `format_schedule_csv` and `parse_schedule` define the meaning of bytes; `write_schedule` and
`read_schedule` only move them, piece by piece, so that a file needs no memory besides its columns.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from documents.whole_file import whole_file
from gas.errors import BadInput
from gas.reading import all_of_pipe
from gas.simulation.allocation import Allocation, allocate
from gas.simulation.recorded import NOT_ENDED, UNKNOWN, Recorded
from gas.simulation.schedule import NEVER_STARTED, Schedule
from gas.simulation.tables import recorded_table, resolution_of, sizes_of, units_of
from workloads import Header, Log, format_swf, read_swf
from workloads.formats import Format, format_of, read_log
from workloads.pages import Source, pages_of
from workloads.swf import swf_pieces

__all__ = [
    "CSV_COLUMNS",
    "format_schedule_csv",
    "format_schedule_swf",
    "parse_schedule",
    "read_schedule",
    "write_schedule",
]

CSV_COLUMNS = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time",
    "success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time",
    "stretch", "allocated_resources", "consumed_energy", "metadata", "promised_start",
)  # fmt: skip
"""The columns of Batsim's ``_jobs.csv`` in its order, and ours."""

_ROWS = 1 << 11
"""Jobs written at a time."""

_CANCELLED = 5
_RESERVATION = re.compile(
    r"Reservation (\d{1,15}): (\d{1,15}) processors from second (-?\d{1,15}) to (-?\d{1,15}), "
    r"asked for at second (-?\d{1,15})",
    re.ASCII,
)


def write_schedule(schedule: Schedule, log: Log, target: str | Path) -> None:
    """Write a schedule in the format of the file name: .swf, .csv, or either with .gz; ``-`` is SWF on stdout.

    A file is written atomically.

    Parameters
    ----------
    log
        The simulated log.

    Raises
    ------
    BadInput
        The name has no known format, the file cannot be written, or the simulation has not finished.
    """
    name = str(target)
    plain = name.removesuffix(".gz")
    if name == "-" or plain.endswith(".swf"):
        pieces = swf_pieces(_simulated_log(schedule, log))
    elif plain.endswith(".csv"):
        pieces = _csv_pieces(schedule, log)
    else:
        raise BadInput(f"{name}: its name must end in .swf, .csv, .swf.gz or .csv.gz")
    if name == "-":
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
        return
    try:
        with whole_file(name) as file:
            file.writelines(pieces if plain == name else _packed(pieces))
    except OSError as error:
        raise BadInput(f"{name}: cannot be written: {error.strerror}") from None


def format_schedule_swf(schedule: Schedule, log: Log) -> bytes:
    """Return the log as simulated: the simulated jobs with their waits and run times.

    Fields 5 and, if the log has it, 8 are the simulated processors. Field 9 is the simulated estimate, unless the log's
    own line is equivalent. A job cancelled while it waited has status 5, run time -1 and as wait the time until then;
    one cancelled while it ran has status 5. The header is the log's, with corrected numbers of jobs, the size of the
    machine if it differs, and Notes on the simulation.
    """
    return format_swf(_simulated_log(schedule, log))


def _simulated_log(schedule: Schedule, log: Log) -> Log:
    jobs = schedule.finished().jobs
    own = log.select(jobs.row)
    started = schedule.started
    ran = np.where(started, schedule.end - schedule.start, -1)
    left = np.where(started, schedule.start, schedule.end)
    cut = started & (ran < jobs.run_time)
    same = (own.requested_time <= 0) & (np.maximum(ran, 1) == jobs.estimate)
    lines = own.with_columns(
        submit=jobs.submit,
        wait=left - jobs.submit,
        run_time=ran,
        allocated_processors=np.where(started, jobs.processors, -1),
        requested_processors=np.where((own.requested_processors > 0) | ~started, jobs.processors, -1),
        requested_time=np.where(same, own.requested_time, jobs.estimate),
        status=np.where(cut | ~started, _CANCELLED, own.status),
    )
    header = _without_reservations(log.header).with_value("MaxJobs", len(jobs)).with_value("MaxRecords", len(jobs))
    if jobs.machine != next((size for size in (header.max_procs, header.max_nodes) if size and size > 0), None):
        header = header.with_value("MaxProcs", jobs.machine)
    for text in _notes(schedule):
        header = header.with_note(text)
    return lines.with_header(header)


def _notes(schedule: Schedule) -> list[str]:
    jobs = schedule.jobs
    rules = f"policy {schedule.policy or 'unknown'}, order {schedule.order}, overrun {schedule.overrun}"
    if schedule.queue != "fcfs":
        rules += f", queue {schedule.queue}"
    if schedule.adjustment is not None:
        rules += f", {schedule.adjustment} adjustment of walltimes"
    notes = [
        f"Simulated schedule, not a record of the machine: wait and run times are those of {rules}, "
        f"{jobs.machine} processors"
    ]
    if jobs.skipped:
        notes.append(f"Jobs left out: {', '.join(f'{count} ({why})' for why, count in jobs.skipped.items())}")
    if schedule.reservations:
        notes.append(
            f"Reservations held processors in addition to the jobs: {len(schedule.reservations)}, one Note each"
        )
    for number, (one, start) in enumerate(zip(schedule.reservations, schedule.reserved.tolist(), strict=True), 1):
        notes.append(
            f"Reservation {number}: {one.processors} processors from second {start} to {start + one.walltime}, "
            f"asked for at second {one.submit}"
        )
    if schedule.promise is not None:
        notes.append("Promised starts have no field here; they are in the CSV form, column promised_start")
    return notes


def _without_reservations(header: Header) -> Header:
    """Return a header without reservations of an earlier simulation, whose schedule is now the log of another one."""
    return Header(
        tuple(line for line in header.lines if not _RESERVATION.fullmatch(line.partition("Note:")[2].strip()))
    )


def format_schedule_csv(schedule: Schedule, log: Log) -> bytes:
    """Return the schedule in the form of Batsim and evalys, with the additional column ``promised_start``.

    A job cancelled while it waited is REJECTED at that instant, on no processors; one cancelled while it ran is
    COMPLETED_KILLED. Reservations are at the end, numbered -1, -2, …. The ``metadata`` of every row has ``machine=N``,
    of a reservation also ``reservation``, of a job ``priority=N`` if there are priorities. Processor numbers are those
    of `gas.simulation.allocation`.
    """
    return b"".join(_csv_pieces(schedule, log))


def _csv_pieces(schedule: Schedule, log: Log) -> Iterator[bytes]:
    jobs = schedule.finished().jobs
    places = allocate(schedule)
    workload = log.name.removesuffix(".gz").removesuffix(".swf")
    machine = f"machine={jobs.machine}"
    yield _csv_text([CSV_COLUMNS])
    for first in range(0, len(jobs), _ROWS):
        yield _csv_text(_csv_rows(schedule, log, slice(first, first + _ROWS), places, (workload, machine)))
    rows = []
    held = places.texts(slice(len(jobs), None))
    for number, (one, start, place) in enumerate(
        zip(schedule.reservations, schedule.reserved.tolist(), held, strict=True), 1
    ):
        end = start + one.walltime
        stretch = repr((end - one.submit) / one.walltime)
        about = (-number, workload, -1, one.submit, one.processors, one.walltime, 1, "COMPLETED_SUCCESSFULLY")
        times = (start, one.walltime, end, start - one.submit, end - one.submit, stretch)
        rows.append((*about, *times, place, -1, f"{machine} reservation", start))
    yield _csv_text(rows)


def _csv_rows(
    schedule: Schedule, log: Log, rows: slice, places: Allocation, names: tuple[str, str]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of some jobs; `names` are those of the workload and the machine."""
    jobs, (workload, machine) = schedule.jobs, names
    started, end, of_log = schedule.start[rows] != NEVER_STARTED, schedule.end[rows], jobs.row[rows]
    left = np.where(started, schedule.start[rows], end)
    ran = end - left
    states = np.select(
        [~started, ran < jobs.run_time[rows], np.trunc(log.run_time[of_log]) > ran, log.status[of_log] == 0],
        ["REJECTED", "COMPLETED_KILLED", "COMPLETED_WALLTIME_REACHED", "COMPLETED_FAILED"],
        default="COMPLETED_SUCCESSFULLY",
    ).tolist()
    columns = (jobs.id, jobs.executable, jobs.submit, jobs.processors, jobs.estimate)
    promise = [""] * len(states) if schedule.promise is None else map(str, schedule.promise[rows].tolist())
    meta = [machine] * len(states)
    if schedule.priority is not None:
        meta = [f"{machine} priority={each}" for each in schedule.priority[rows].tolist()]
    for job, profile, submit, size, estimate, state, start, took, until, place, promised, said in zip(
        *(column[rows].tolist() for column in columns),
        states,
        *(column.tolist() for column in (left, ran, end)),
        places.texts(slice(rows.start, min(rows.stop, len(jobs)))),
        promise,
        meta,
        strict=True,
    ):
        stretch = repr((until - submit) / took) if took else ""
        times = (start, took, until, start - submit, until - submit, stretch)
        success = int(state == "COMPLETED_SUCCESSFULLY")
        about = (job, workload, profile, submit, size, estimate, success, state)
        yield (*about, *times, place, -1, said, promised)


def _csv_text(rows: Iterable[Sequence[object]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces as gzip, without name and time, so that the bytes are reproducible."""
    packer = zlib.compressobj(9, wbits=31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def read_schedule(source: str | Path) -> Recorded:
    """Read a schedule from a path or standard input (``"-"``); see `parse_schedule`.

    Raises
    ------
    BadInput
        The file cannot be read or is no schedule.
    LogError
        It is SWF and malformed.
    """
    if str(source) == "-":
        return parse_schedule(all_of_pipe(sys.stdin.buffer, "standard input"), name="standard input")
    path = Path(source)
    try:
        with path.open("rb") as file:
            if not path.is_file():  # a pipe can be read only once
                return parse_schedule(all_of_pipe(file, str(path)), name=path.name)
            return _read(file, path.name, format_of(path))
    except OSError as error:
        raise BadInput(f"{source}: cannot be read: {error.strerror}") from None


def parse_schedule(data: bytes, *, name: str = "schedule") -> Recorded:
    """Return the schedule in these bytes, plain or gzip; the format is recognised by the content.

    * SWF: a job starts at submit + wait and ends after its run time; its size and estimate are read as in a log,
      reservations in the Notes that `format_schedule_swf` writes.
    * CSV with a header: the columns of Batsim and evalys in any order, others ignored; short names are also accepted
      (id, submit, start, end, processors, estimate). Without processors and estimates it needs the log.
    * Lines of ``id submit start end``, separated by blanks or commas.
    * Output of sacct (malformed lines are left out, with a remark), and logs in CSV and Parquet.
    """
    return _read(io.BytesIO(data), name, format_of(data))


def _read(stream: BinaryIO, name: str, form: Format) -> Recorded:
    """Return the schedule in a stream that can be read again from its beginning."""
    if form in ("sacct", "parquet"):
        return _from_log(read_log(stream, form, name=name, lenient=True))
    if form == "batsim":
        raise BadInput(f"{name}: is a workload of Batsim, which has no starts; gas simulate {name} gives a schedule")
    pages = pages_of(Source(stream, name))
    said = (line for page in pages for line in page.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    first = next(said, None)
    if first is None:
        raise BadInput(f"{name}: is empty; a schedule has one line a job")
    stream.seek(0)
    titles = set(first.split(","))
    if form == "csv" and {"wait", "run_time"} <= titles and titles & {"requested_processors", "allocated_processors"}:
        return _from_log(read_log(stream, form, name=name))
    if first.lstrip().startswith(";") or ("," not in first and len(first.split()) > 8):
        return _from_log(read_swf(stream, name=name))
    return recorded_table(pages_of(Source(stream, name)), name)


def _from_log(whole: Log) -> Recorded:
    open_ended = (whole.wait >= 0) & (whole.run_time < 0) & (whole.status != _CANCELLED)
    log = whole.select(~open_ended)
    count = int(np.count_nonzero(open_ended))
    remarks = [text.removeprefix(f"{log.name}: ") for text in log.warnings if text not in log.epoch.assumed]
    if count:
        remarks.append(f"{count:,} job{'' if count == 1 else 's'} left out: {NOT_ENDED}")
    resolution = resolution_of([log.submit, log.wait, log.run_time])
    ran = log.run_time >= 0
    started = ran & (log.wait >= 0)
    withdrawn = log.status == _CANCELLED
    submit, wait = units_of(log.submit, resolution), units_of(np.maximum(log.wait, 0), resolution)
    # Unlike for a log to be simulated, the allocated processors count.
    size = np.where(log.allocated_processors > 0, log.allocated_processors, log.requested_processors)
    estimate = np.maximum(np.trunc(np.where(log.requested_time > 0, log.requested_time, log.run_time)), 1)
    header = log.header
    machines = [size for size in (header.max_procs, header.max_nodes) if size is not None and size > 0]
    start = submit + wait
    return _with_reservations(
        header,
        Recorded(
            id=log.job,
            submit=submit,
            processors=sizes_of(size),
            estimate=units_of(estimate, resolution),
            run_time=np.full(len(log), UNKNOWN, np.int64),
            start=np.where(started, start, NEVER_STARTED),
            end=np.where(started, start + units_of(log.run_time, resolution), start),
            withdrawn=withdrawn & (started | ~ran),
            machine=machines[0] if machines else None,
            epoch=header.unix_start_time if (header.unix_start_time or 0) > 0 else None,
            resolution=resolution,
            name=log.name,
            remarks=tuple(remarks),
        ),
    )


def _with_reservations(header: Header, jobs: Recorded) -> Recorded:
    """Return a schedule's jobs followed by the reservations in Notes of its header."""
    found = [match for text in header.notes if (match := _RESERVATION.fullmatch(" ".join(text.split())))]
    if not found:
        return jobs
    for match in found:
        if not (int(match[2]) > 0 and int(match[3]) < int(match[4])):
            raise BadInput(
                f'{jobs.name}: the Note "{match[0]}" is not a reservation, since it holds nothing; correct or remove it'
            )
    number, size, *seconds = np.array([match.groups() for match in found], dtype=np.int64).T
    start, end, submit = (units_of(column, jobs.resolution) for column in seconds)
    of_rows = {
        "id": -number,
        "submit": submit,
        "processors": size,
        "estimate": end - start,
        "run_time": end - start,
        "start": start,
        "end": end,
        "withdrawn": np.zeros(len(found), np.bool_),
    }
    columns: dict[str, Any] = {name: np.concatenate([getattr(jobs, name), column]) for name, column in of_rows.items()}
    return replace(jobs, **columns, reservation=np.arange(len(jobs) + len(found)) >= len(jobs))
