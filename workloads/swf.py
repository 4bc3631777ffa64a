"""Logs in the Standard Workload Format, version 2.2: reading, with errors that name line and field, and writing.

A file is plain or gzip (recognised by its first bytes, independently of its name), one job per line in 18 fields,
comments after ``;``. Comments between jobs are kept with those of the header, in order, and are written before the
first job.

Reading and writing proceed in pieces of some thousands of lines, so that a log takes little more memory than its
columns. Each piece is parsed by numpy at once. Only if it contains something unusual are its lines parsed one by one,
by `_read_line`, which has a message for each error.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads.cells import Complaints, Malformed, number_of, quoted
from workloads.growing import GrowingColumns
from workloads.header import Header
from workloads.log import FIELDS, LARGEST, PARTIAL, Log, LogError, is_unknown
from workloads.pages import BLOCK, Source, pages_of

__all__ = ["format_swf", "parse_swf", "read_header", "read_swf", "swf_pieces", "write_swf"]

_CUT = ("submit", "run_time", "requested_time")  # numbers that simulations cut to whole seconds
_ROWS = 1 << 11
"""Jobs written at a time."""


def read_swf(source: str | Path | BinaryIO, *, name: str | None = None, lenient: bool = False) -> Log:
    """Read a log from a path, a binary stream, or standard input (``"-"``).

    Parameters
    ----------
    source
        Plain or gzip, independently of its name.
    name
        Its name in messages; by default that of its file.
    lenient
        Leave out malformed lines and count them in `Log.skipped`, instead of raising.

    Raises
    ------
    LogError
        It is not a log, or for the first malformed line.
    OSError
        The file cannot be read.
    """
    if isinstance(source, (str, Path)) and str(source) != "-":
        with Path(source).open("rb") as file:
            return _read(file, name or Path(source).name, lenient)
    stream, own_name = _opened(source)
    return _read(stream, name or own_name, lenient)


def read_header(path: str | Path) -> Header:
    """Return the comments above the first job of a log, without reading the rest; see `read_swf`."""
    comments: list[str] = []
    with Path(path).open("rb") as stream:
        for page in pages_of(Source(stream, Path(path).name), 1 << 14):
            for line in page.split("\n"):
                if line.lstrip()[:1] == ";":
                    comments.append(line)
                elif line.strip():
                    return Header(tuple(comments))
    return Header(tuple(comments))


def parse_swf(data: bytes, *, name: str = "log", lenient: bool = False) -> Log:
    """Return the log in these bytes, plain or gzip; see `read_swf`."""
    return _read(BytesIO(data), name, lenient)


def _read(stream: BinaryIO, name: str, lenient: bool, block: int = BLOCK) -> Log:
    comments: list[str] = []
    columns = GrowingColumns()
    complaints = Complaints(name, lenient)
    source = Source(stream, name)
    pages = pages_of(source, block)
    number = 1
    for page in pages:
        lines = page.removesuffix("\n").split("\n")
        numbered: Iterable[tuple[int, str]] = enumerate(lines, number)
        number += len(lines)
        jobs = lines
        if ";" in page or not all(map(str.strip, lines)):
            comments += [line for line in lines if line.lstrip()[:1] == ";"]
            numbered = [(n, line) for n, line in numbered if line.strip()[:1] not in ("", ";")]
            jobs = [line for _, line in numbered]
        if not jobs:
            continue
        table = _table(jobs)
        if table is None:
            try:
                table = _read_lines(numbered, complaints)
            except LogError:
                for _ in pages if source.packed else ():  # to report damage to the gzip file itself
                    pass
                raise
        columns.append({field.name: table[:, field.number - 1] for field in FIELDS})

    if not (columns.length or complaints.skipped):
        if not comments:
            raise LogError(name, "is empty; a log has one line a job")
        raise LogError(name, f"has no jobs, only {len(comments)} comment lines; is it the right file, and complete?")
    if not columns.length:
        raise LogError(name, f"has no line that could be read; {'; '.join(complaints.summary)}")
    unsorted = _unsorted(columns)
    log = Log.from_columns(columns.taken(), header=Header(tuple(comments)), name=name, copy=False)
    warnings = (*complaints.summary, *unsorted, *_remarks(log))
    return replace(log, warnings=warnings, skipped=dict(complaints.skipped))


def write_swf(
    log: Log | Mapping[str, ArrayLike], target: str | Path | BinaryIO, *, header: Iterable[str] | None = None
) -> None:
    """Write a log to a path (gzip if its name ends in .gz), a binary stream, or standard output (``"-"``).

    Parameters
    ----------
    log
        A log, or columns by name (see `Log.from_columns`).
    header
        Header lines to write instead of the log's own.

    Notes
    -----
    The same log gives the same bytes every time: gzip files carry neither name nor time.
    """
    if not isinstance(log, Log):
        log = Log.from_columns(log)
    pieces = swf_pieces(log if header is None else log.with_header(Header(tuple(header))))
    if isinstance(target, (str, Path)) and str(target) != "-":
        path = Path(target)
        with path.open("wb") as file:
            if path.name.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packer:
                    packer.writelines(pieces)
            else:
                file.writelines(pieces)
    else:
        stream = sys.stdout.buffer if isinstance(target, (str, Path)) else target
        for piece in pieces:
            stream.write(piece)
        stream.flush()


def format_swf(log: Log) -> bytes:
    """Return the log as plain SWF: the header lines as they are, then a line of 18 numbers for each job."""
    return b"".join(swf_pieces(log))


def swf_pieces(log: Log) -> Iterator[bytes]:
    """Yield the text that `format_swf` returns, some thousands of jobs at a time."""
    yield "".join(f"{line}\n" for line in log.header.lines).encode()
    columns = log.columns().values()
    for start in range(0, len(log), _ROWS):
        texts = [_texts(column[start : start + _ROWS]) for column in columns]
        yield "".join(f"{line}\n" for line in map(" ".join, zip(*texts, strict=True))).encode()


def _texts(column: NDArray[Any]) -> Iterable[str]:
    if is_unknown(column):
        return repeat("-1", column.size)
    if column.dtype.kind == "f":
        whole = column.astype(np.int64)
        if not np.array_equal(whole, column):
            return map(_written, column.tolist())
        column = whole
    return map(str, column.tolist())


def _opened(source: str | Path | BinaryIO) -> tuple[BinaryIO, str]:
    """Return a stream, standard input for a dash, and its name in messages."""
    if not isinstance(source, (str, Path)):
        return source, _name_of(source)
    if sys.stdin is None:
        raise LogError("standard input", "is closed; give a file")
    return sys.stdin.buffer, "standard input"


def _unsorted(columns: GrowingColumns) -> list[str]:
    """Sort the jobs by submission; return a warning if they were not sorted."""
    at = columns.backwards()
    if at is None:
        return []
    warning = (
        f"not sorted by submission: job {columns.number(at)} stands below job {columns.number(at - 1)}, which was "
        "submitted later; sorted, equal seconds in the file's order"
    )
    columns.sort()
    return [warning]


def _table(lines: list[str]) -> NDArray[np.float64] | None:
    """Return all lines as numbers, or None if any of them is unusual."""
    try:
        table = np.loadtxt(lines, dtype=np.float64, comments=None, ndmin=2)
    except ValueError:
        return None
    if table.shape != (len(lines), len(FIELDS)):
        return None
    identities = table[:, [field.number - 1 for field in FIELDS if field.kind == "identity"]]
    # Strictly below the limit: at it, only the text distinguishes 2**53 from 2**53 + 1.
    usual = (np.abs(table) < LARGEST).all() and (identities == np.trunc(identities)).all()
    return table if usual else None


def _read_lines(numbered: Iterable[tuple[int, str]], complaints: Complaints) -> NDArray[np.float64]:
    """Return the well-formed lines as numbers."""
    rows: list[list[float]] = []
    for number, line in numbered:
        try:
            rows.append(_read_line(line))
        except Malformed as problem:
            complaints.add(number, problem)
    return np.array(rows, dtype=np.float64).reshape(-1, len(FIELDS))


def _read_line(line: str) -> list[float]:
    tokens = line.split()
    if len(tokens) != len(FIELDS):
        raise Malformed(
            "wrong number of fields", f"a line has {len(FIELDS)} fields, this one {len(tokens)}: {quoted(line)}"
        )
    return [number_of(token, field) for token, field in zip(tokens, FIELDS, strict=True)]


def _remarks(log: Log) -> list[str]:
    """Return warnings about the log's content."""
    found = list(log.epoch.assumed)
    negative = int(np.count_nonzero(log.submit < 0))
    if negative and (log.submit >= -1).all():
        found.append(f"{_many(negative, 'submission')} at second -1, as if not known; taken as written")
    elif negative:
        found.append(f"{_many(negative, 'submission')} before second 0 of the log; taken as written")
    partial = 0 if is_unknown(log.status) else int(np.count_nonzero(np.isin(log.status, PARTIAL)))
    repeated = _repeated(log.job)
    if partial:
        found.append(
            f"{_many(partial, 'line')} with status 2, 3 or 4: partial executions of jobs with a line of their own"
        )
    elif repeated:
        found.append(f"{_many(repeated, 'line')} with the number of another job")
    for field in FIELDS:
        column = log.columns()[field.name]
        if column.dtype != np.int64 and (field.kind == "count" or field.name in _CUT):
            fractions = int(np.count_nonzero(column != np.trunc(column)))
            if fractions:
                found.append(f"{field} has a fraction in {_many(fractions, 'line')}; cut off for simulations")
    return found


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _repeated(numbers: NDArray[np.int64]) -> int:
    """Return how many numbers occur earlier, too."""
    if not (numbers[1:] > numbers[:-1]).all():  # as in most logs
        numbers = np.sort(numbers)
    return int(np.count_nonzero(numbers[1:] == numbers[:-1]))


def _written(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _name_of(stream: BinaryIO) -> str:
    name = getattr(stream, "name", None)
    return Path(name).name if isinstance(name, str) else "stream"
