"""The formats of logs: recognised by content when read, chosen by suffix when written.

=========  ============================================================  ===================
swf        Standard Workload Format                                      .swf
sacct      output of ``sacct --parsable2``                               .sacct, .txt, .psv
csv        a table with a column for each field (`workloads.tables`)     .csv
parquet    the same table                                                .parquet
batsim     a workload of Batsim                                          .json
=========  ============================================================  ===================

All except Parquet may be gzip, with an additional suffix, ``.gz``.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from workloads.accounting import format_sacct
from workloads.batsim import format_batsim, parse_batsim
from workloads.log import Log, LogError
from workloads.sacct import parse_sacct
from workloads.sacct_header import Unit, is_sacct, why_no_sacct
from workloads.swf import format_swf, read_swf
from workloads.tables import format_csv, format_parquet, is_table_header, read_csv, read_parquet

__all__ = ["FORMATS", "SUFFIXES", "Format", "format_log", "format_named", "format_of", "parse_log"]
__all__ += ["read_log", "read_log_file"]

Format = Literal["swf", "sacct", "csv", "parquet", "batsim"]

FORMATS: tuple[Format, ...] = get_args(Format)

SUFFIXES: Mapping[str, Format] = {
    ".swf": "swf",
    ".sacct": "sacct",
    ".txt": "sacct",
    ".psv": "sacct",
    ".csv": "csv",
    ".parquet": "parquet",
    ".json": "batsim",
}

_PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"
_HEAD = 1 << 18

MOST_JSON_BYTES = 2**28
"""256 MiB, unpacked: about three million jobs, which take ten times as much memory while they are parsed."""


def format_named(name: str) -> Format | None:
    """Return the format of a file name's suffix; None if it has none."""
    return SUFFIXES.get(Path(name.removesuffix(".gz")).suffix.lower())


def format_of(source: str | Path | bytes) -> Format:
    """Return the format of a file, or of its beginning, by its content; SWF if it looks like no other format."""
    head = _head(source)
    if head.startswith(_PARQUET):
        return "parquet"
    lines = (line.strip() for line in head.decode("utf-8-sig", "replace").splitlines())
    line = next((line for line in lines if line and not line.startswith("#")), "")
    if line.startswith("{"):
        return "batsim"
    try:
        if is_sacct(line.encode()) or why_no_sacct(line.encode()):
            return "sacct"
    except LogError:  # not text: the reader reports it, with the file's name
        return "swf"
    # A schedule in CSV is not a log, but the reader for logs refuses it with a clear message.
    return "csv" if is_table_header(line) or "submission_time" in line.split(",") else "swf"


def _head(source: str | Path | bytes) -> bytes:
    """Return the beginning of a file, unpacked."""
    with BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as stream:
        head = stream.read(_HEAD)
    if not head.startswith(_GZIP):
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error:
        return b""  # the reader reports that it is damaged


def read_log_file(path: str | Path, *, lenient: bool = False, unit: Unit = "cpus") -> Log:
    """Return the log in a file of any of the formats; see `parse_log`.

    Raises
    ------
    LogError
        It is not a log, or malformed.
    OSError
        The file cannot be read.
    """
    with Path(path).open("rb") as stream:
        return read_log(stream, format_of(path), name=Path(path).name, lenient=lenient, unit=unit)


def parse_log(data: bytes, *, name: str = "log", lenient: bool = False, unit: Unit = "cpus") -> Log:
    """Return the log in these bytes; see `read_log`."""
    return read_log(BytesIO(data), format_of(data), name=name, lenient=lenient, unit=unit)


def read_log(stream: BinaryIO, form: Format, *, name: str = "log", lenient: bool = False, unit: Unit = "cpus") -> Log:
    """Return the log in a stream; SWF, CSV and Parquet are read in pieces, with little memory besides the log.

    Parameters
    ----------
    lenient
        Leave out malformed lines and count them in `Log.skipped`, instead of raising.
    unit
        The unit of processors, if sacct printed both.
    """
    match form:
        case "sacct":
            data = stream.read()
            if not is_sacct(data):
                raise LogError(name, why_no_sacct(data))
            log = parse_sacct(data, name=name, lenient=lenient).log(unit, unlimited=True)
            if not len(log):
                raise LogError(
                    name, "; ".join(["has no job that ran", *(w.removeprefix(f"{name}: ") for w in log.warnings)])
                )
            unlimited = int((log.requested_time < 0).sum())
            if unlimited:
                log = replace(log, warnings=(*log.warnings, f"{name}: {unlimited:,} of {len(log):,} had no time limit"))
            return log
        case "csv":
            return read_csv(stream, name=name, lenient=lenient)
        case "parquet":
            return read_parquet(stream, name=name)
        case "batsim":
            return parse_batsim(_unpacked(stream, name), name=name, lenient=lenient)
    return read_swf(stream, name=name, lenient=lenient)


def _unpacked(stream: BinaryIO, name: str) -> bytes:
    data = stream.read(MOST_JSON_BYTES + 1)
    if data.startswith(_GZIP):
        try:
            data = gzip.GzipFile(fileobj=BytesIO(data)).read(MOST_JSON_BYTES + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise LogError(name, f"the gzip file is damaged ({error}); fetch or copy it again") from None
    if len(data) > MOST_JSON_BYTES:
        raise LogError(name, f"is longer than {MOST_JSON_BYTES >> 20} MiB of JSON; write long logs as SWF or CSV")
    return data


def format_log(log: Log, into: Format, *, packed: bool = False) -> tuple[bytes, Mapping[str, int]]:
    """Return a log in a format, and the number of jobs that this format cannot represent, by reason.

    Parameters
    ----------
    packed
        As gzip, with the same bytes every time.
    """
    left_out: Mapping[str, int] = {}
    match into:
        case "sacct":
            data, left_out = format_sacct(log)
        case "batsim":
            data, left_out = format_batsim(log)
        case "csv":
            data = format_csv(log)
        case "parquet":
            data = format_parquet(log)
        case "swf":
            data = format_swf(log)
    return gzip.compress(data, mtime=0) if packed else data, left_out
