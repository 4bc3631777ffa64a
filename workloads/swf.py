"""Logs in the Standard Workload Format, version 2.2: reading, with every refusal named by line and field, and writing.

A file is plain or gzip (told by its first bytes, whatever its name), one job a line in 18 fields, comments behind
``;``. `parse_swf` and `format_swf` decide what bytes mean; `read_swf` and `write_swf` only move bytes. Comments
between jobs are kept with those of the header, in order, and are written before the first job.

The whole body is handed to numpy at once. Only if something in it is unusual are the lines looked at one by one, by
`_read_line`, which knows what to say about each.
"""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads.header import Header
from workloads.log import FIELDS, LARGEST, Field, Log, LogError

__all__ = ["format_swf", "parse_swf", "read_swf", "write_swf"]

_GZIP = b"\x1f\x8b"
_OTHER_PACKING = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PARTIAL = (2, 3, 4)


def read_swf(source: str | Path | BinaryIO, *, lenient: bool = False) -> Log:
    """Read a log from a path, a binary stream, or standard input (``"-"``).

    Parameters
    ----------
    source
        Plain or gzip, whatever its name says.
    lenient
        Leave malformed lines out and count them in `Log.skipped`, instead of refusing the log.

    Raises
    ------
    LogError
        If this is no log, or for the first malformed line.
    OSError
        If the file cannot be read.
    """
    if isinstance(source, (str, Path)) and str(source) != "-":
        path = Path(source)
        return parse_swf(path.read_bytes(), name=path.name, lenient=lenient)
    stream = sys.stdin.buffer if isinstance(source, (str, Path)) else source
    name = "standard input" if stream is sys.stdin.buffer else _name_of(stream)
    data = stream.read()
    if not isinstance(data, bytes):
        raise TypeError(f'{name} gives {type(data).__name__}, not bytes; open it in binary mode ("rb")')
    return parse_swf(data, name=name, lenient=lenient)


def parse_swf(data: bytes, *, name: str = "log", lenient: bool = False) -> Log:
    """Return the log that these bytes, plain or gzip, hold; see `read_swf`."""
    lines = _text(data, name).split("\n")
    comments = [line for line in lines if line.lstrip()[:1] == ";"]
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and line.lstrip()[0] != ";"]
    header = Header(tuple(comments))
    if not numbered:
        what = f"only {len(comments)} comment lines" if comments else "only blank lines"
        raise LogError(name, f"has no jobs, {what}; is it the right file, and complete?")

    skipped: Counter[str] = Counter()
    warnings: list[str] = []
    table = _table([line for _, line in numbered])
    if table is None:
        table, skipped, first = _read_lines(numbered, name, lenient)
        if first is not None:
            warnings.append(f"{skipped.total()} malformed lines left out; the first: {first}")
    if len(table) == 0:
        raise LogError(name, f"has no line that could be read; {'; '.join(warnings)}")

    second = np.trunc(table[:, 1])  # the simulated world has whole seconds; within one, the file's order stands
    backwards = np.flatnonzero(np.diff(second) < 0)
    if backwards.size:
        warnings.append(
            f"not sorted by submission: job {table[backwards[0] + 1, 0]:.0f} stands below job "
            f"{table[backwards[0], 0]:.0f}, which was submitted later; sorted, equal seconds in the file's order"
        )
        table = table[np.argsort(second, kind="stable")]
    columns = {field.name: table[:, field.number - 1] for field in FIELDS}
    log = Log.from_columns(columns, header=header, name=name)
    return replace(log, warnings=(*warnings, *_remarks(log)), skipped=dict(skipped))


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
    data = format_swf(log if header is None else log.with_header(Header(tuple(header))))
    if isinstance(target, (str, Path)) and str(target) != "-":
        path = Path(target)
        path.write_bytes(_packed(data) if path.name.endswith(".gz") else data)
    else:
        stream = sys.stdout.buffer if isinstance(target, (str, Path)) else target
        stream.write(data)
        stream.flush()


def format_swf(log: Log) -> bytes:
    """Return the log as plain SWF: the header lines as they are, then a line of 18 numbers for each job."""
    texts = (map(_written if column.dtype.kind == "f" else str, column.tolist()) for column in log.columns().values())
    jobs = map(" ".join, zip(*texts, strict=True))
    return "".join(f"{line}\n" for line in (*log.header.lines, *jobs)).encode()


def _text(data: bytes, name: str) -> str:
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except EOFError:
            raise LogError(name, f"the gzip file ends too early ({len(data)} bytes); fetch or copy it again") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise LogError(name, f"the gzip file is damaged ({error}); fetch or copy it again") from None
    if not data.strip():
        raise LogError(name, "is empty; a log has one line a job")
    for magic, packing in _OTHER_PACKING.items():
        if data.startswith(magic):
            raise LogError(name, f"is packed with {packing}; unpack it first (plain text and gzip are read)")
    if b"\0" in data:
        raise LogError(name, "is not text (it has zero bytes); a log is plain text or gzip")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _table(lines: list[str]) -> NDArray[np.float64] | None:
    """Return all lines as numbers, or None if anything is unusual in any of them."""
    try:
        table = np.loadtxt(lines, dtype=np.float64, comments=None, ndmin=2)
    except ValueError:
        return None
    if table.shape != (len(lines), len(FIELDS)):
        return None
    identities = table[:, [field.number - 1 for field in FIELDS if field.kind == "identity"]]
    # Strictly below the limit: at it, only the text tells 2**53 from 2**53 + 1.
    usual = (np.abs(table) < LARGEST).all() and (identities == np.trunc(identities)).all()
    return table if usual else None


def _read_lines(
    numbered: list[tuple[int, str]], name: str, lenient: bool
) -> tuple[NDArray[np.float64], Counter[str], LogError | None]:
    """Return the lines as numbers; with `lenient` also what was left out, by reason, and the first complaint."""
    rows: list[list[float]] = []
    skipped: Counter[str] = Counter()
    first = None
    for number, line in numbered:
        try:
            rows.append(_read_line(line))
        except _MalformedError as problem:
            error = LogError(name, problem.text, line=number, at_field=problem.field)
            if not lenient:
                raise error from None
            first = first or error
            skipped[problem.reason] += 1
    return np.array(rows, dtype=np.float64).reshape(-1, len(FIELDS)), skipped, first


class _MalformedError(Exception):
    def __init__(self, reason: str, text: str, field: Field | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text
        self.field = field


def _read_line(line: str) -> list[float]:
    tokens = line.split()
    if len(tokens) != len(FIELDS):
        raise _MalformedError(
            "wrong number of fields", f"{len(tokens)} fields, a line has {len(FIELDS)}: {_shown(line)}"
        )
    return [_read_number(token, field) for token, field in zip(tokens, FIELDS, strict=True)]


def _read_number(token: str, field: Field) -> float:
    if not _NUMBER.fullmatch(token):
        if token.lstrip("+-").lower() in ("nan", "inf", "infinity"):
            raise _MalformedError("not a finite number", f"{token} is not a finite number; unknown is -1", field)
        raise _MalformedError("not a number", f"{_shown(token)} is not a number; unknown is -1", field)
    value = float(token)
    digits = token.lstrip("+-")
    too_large = abs(value) > LARGEST or (digits.isdigit() and len(digits) < 20 and int(digits) > LARGEST)
    if too_large:
        raise _MalformedError("too large", f"{_shown(token)} is beyond ±2**53, the largest number kept", field)
    if field.kind == "identity" and not value.is_integer():
        raise _MalformedError("fraction in a whole number", f"{_shown(token)} is not a whole number", field)
    return value


def _remarks(log: Log) -> list[str]:
    """Return what the log's content gives reason to warn of."""
    found = list(log.epoch.assumed)
    unknown_submit = int(np.count_nonzero(log.submit < 0))
    if unknown_submit:
        found.append(f"{unknown_submit} jobs have no submit time (negative)")
    partial = int(np.count_nonzero(np.isin(log.status, _PARTIAL)))
    repeated = len(log) - len(np.unique(log.job))
    if partial:
        found.append(f"{partial} lines are partial executions (status 2, 3 or 4) of jobs that have a line of their own")
    elif repeated:
        found.append(f"{repeated} lines repeat the number of another job")
    for field in FIELDS:
        column = log.columns()[field.name]
        if field.kind == "count" and column.dtype != np.int64:
            fractions = int(np.count_nonzero(column != np.trunc(column)))
            found.append(f"{field} has a fraction in {fractions} lines; cut off for simulations")
    return found


def _written(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _packed(data: bytes) -> bytes:
    buffer = BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as packer:
        packer.write(data)
    return buffer.getvalue()


def _shown(text: str) -> str:
    short = text.strip()
    return repr(short if len(short) <= 60 else short[:57] + "...")


def _name_of(stream: BinaryIO) -> str:
    name = getattr(stream, "name", None)
    return Path(name).name if isinstance(name, str) else "stream"
