"""Reading the logs that a command names; warnings and acknowledgements go to standard error."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gas.cli.options import LARGEST_MACHINE
from gas.cli.tables import many, note, remark
from gas.errors import BadInput
from gas.reading import all_of_pipe
from workloads import Log, LogError, machine_size
from workloads.formats import format_of, parse_log, read_log_file
from workloads.load import most_in_use

if TYPE_CHECKING:
    from gas.prediction.history import History
    from workloads import RigidJobs
    from workloads.sacct_header import Unit

__all__ = [
    "GIVEN",
    "check_readable",
    "courtesy",
    "machine_of",
    "piped",
    "read_history",
    "read_log",
    "read_log_and_digest",
    "runnable",
    "without_estimates",
]

GIVEN = "give the number of processors of the machine with --processors"
"""The hint if the header does not state the size of the machine."""


_HEAD = 1 << 18
"""Bytes that are searched for the first line that is not a comment."""

_NUMBER = re.compile(r"[+-]?[0-9.]+")


def check_readable(paths: Sequence[str]) -> None:
    """Refuse files that do not exist or cannot be read, all in one error; ``-`` is standard input.

    Raises
    ------
    BadInput
        Some files cannot be used; the message names each.
    """
    if "" in paths:
        raise BadInput("the name of a log is empty; name a file, a folder or - for standard input")
    problems = [
        f"{path}: cannot be read: {why}{_archived(path)}"
        for path in paths
        if path != "-" and (why := _unreadable(Path(path)))
    ]
    if problems:
        raise BadInput("; ".join(problems))


def _unreadable(path: Path) -> str | None:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # opening a pipe would disturb its writer
            return None if os.access(path, os.R_OK) else "Permission denied"
        if path.is_dir():
            return "it is a folder; name the logs in it"
        with path.open("rb"):
            return None
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)


def _archived(path: str) -> str:
    """Return how to download a log of the archive, if this is its name and not a file."""
    from workloads.archive import find

    if Path(path).exists():
        return ""
    try:
        name = find(Path(path).name.removesuffix(".gz").removesuffix(".swf")).name
    except LogError:
        return ""
    return f"; the Parallel Workloads Archive has a log of this name; download it with: gas traces get {name}"


def read_log(
    path: str,
    *,
    strict: bool = False,
    data: bytes | None = None,
    or_else: str = "",
    thanked: set[str] | None = None,
    unit: Unit = "cpus",
) -> Log:
    """Return the log in a file of any format (`workloads.formats`); warnings and acknowledgements go to stderr.

    Parameters
    ----------
    strict
        Refuse the log if a line is malformed; otherwise such lines are left out and counted by reason.
    data
        The contents of the pipe that the path names; see `piped`.
    or_else
        Another format that the command accepts, as in "output of sacct --parsable2": named in the error about a file
        that is not a log.
    thanked
        Acknowledgements that the command has already printed; each is printed once for all logs of a command.
    unit
        The unit of processors, if sacct printed several.
    """
    if data is None:
        data = piped(path)
    if data is not None:
        name = "standard input" if path == "-" else Path(path).name
        piece = data
        log = _read(path, lambda: parse_log(piece, name=name, lenient=not strict, unit=unit), or_else, data)
    else:
        log = _read(path, lambda: read_log_file(path, lenient=not strict, unit=unit), or_else)
    for warning in log.warnings:
        note(f"gas: {warning}")
    unsaid = {
        reason: count
        for reason, count in log.skipped.items()
        if not any(f"left out: {reason}" in warning for warning in log.warnings)
    }
    if unsaid:
        note(f"gas: malformed lines by reason: {', '.join(f'{reason} ({count})' for reason, count in unsaid.items())}")
    thanks = courtesy(log.acknowledgements)
    if thanks and thanks not in (thanked or ()):
        name = log.name.removesuffix(".gz")
        made = thanks.startswith(_GENERATED)
        note(f"{name}: {thanks}" if made else f"log: {name.removesuffix('.swf')}, {thanks}")
    if thanked is not None:
        thanked.add(thanks)
    return log


def read_history(path: str) -> History:
    """Return the history in a file: a log, or output of sacct."""
    from gas.prediction.history import History
    from workloads.sacct import parse_sacct, read_sacct
    from workloads.sacct_header import is_sacct, why_no_sacct

    check_readable([path])
    if Path(path).is_dir() and path != "-":
        raise BadInput(f"{path}: is a directory; give a log, or a file of what sacct printed")
    data = piped(path)
    source = path if data is None else data
    name = "standard input" if path == "-" else Path(path).name
    if is_sacct(source):
        found = read_sacct(path, lenient=True) if data is None else parse_sacct(data, name=name, lenient=True)
        for line in found.remarks:
            remark(line)
        return History.of_accounting(found)
    if why := why_no_sacct(source):
        raise BadInput(f"{name}: {why}")
    return History.of_log(read_log(path, data=data, or_else="output of sacct --parsable2"), name=name)


def courtesy(acknowledgements: Iterable[str]) -> str:
    """Return the acknowledgement of a log as a phrase; empty if its header has none."""
    texts = [" ".join(text.split()) for text in acknowledgements]
    models = [found[1] for text in texts if (found := _OF_A_MODEL.fullmatch(text))]
    thanks = "; ".join(text for text in texts if not _OF_A_MODEL.fullmatch(text))
    phrases = [f"{_GENERATED}{'; '.join(models)}"] * bool(models)
    return ", ".join([*phrases, *[f"by courtesy of {thanks}"] * bool(thanks)])


_GENERATED = "generated with the model of "

_OF_A_MODEL = re.compile(r"(.+), for (?:the form of )?the model")
"""An acknowledgement of the authors of a workload model, as gas workload writes it."""


def read_log_and_digest(
    path: str, *, strict: bool = False, thanked: set[str] | None = None, unit: Unit = "cpus"
) -> tuple[Log, str]:
    """Return the log in a file, see `read_log`, and the SHA-256 of its bytes, after decompression if it is gzip."""
    if (data := piped(path)) is not None:
        return read_log(path, strict=strict, data=data, thanked=thanked, unit=unit), _digest(BytesIO(data))
    log = read_log(path, strict=strict, thanked=thanked, unit=unit)
    with Path(path).open("rb") as file:
        return log, _digest(file)


def piped(path: str) -> bytes | None:
    """Return the contents of standard input (``-``) or a pipe, which can be read only once; None for a file."""
    if path != "-" and (not Path(path).exists() or Path(path).is_file() or Path(path).is_dir()):
        return None
    try:
        if path == "-":
            return all_of_pipe(sys.stdin.buffer, "standard input")
        with Path(path).open("rb") as pipe:
            return all_of_pipe(pipe, path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None


def _digest(stream: BinaryIO) -> str:
    begin = stream.read(2)
    stream.seek(0)
    found = hashlib.sha256()
    with gzip.GzipFile(fileobj=stream) if begin == b"\x1f\x8b" else stream as plain:
        while block := plain.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def _read(path: str, read: Callable[[], Log], or_else: str, data: bytes | None = None) -> Log:
    try:
        return read()
    except LogError as error:
        other = _what_else(path, or_else, data)
        if other:
            raise BadInput(f"{error}; {other}") from None
        raise
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}{_archived(path)}") from None


def _what_else(path: str, or_else: str, data: bytes | None) -> str:
    """Return what a file seems to be if its first line is not a job; empty if it is one, or was read from a pipe.

    A malformed job still has numbers in most of its fields. For other formats and binary files, the error is enough.
    """
    if data is None and (path == "-" or not Path(path).is_file()):
        return ""
    with (
        Path(path).open("rb") if data is None else BytesIO(data) as file,
        contextlib.suppress(OSError, EOFError, zlib.error),
    ):
        begin = file.read(2)
        file.seek(0)
        plain = gzip.GzipFile(fileobj=file) if begin == b"\x1f\x8b" else file
        lines = plain.read(_HEAD).decode("latin-1").removeprefix(codecs.BOM_UTF8.decode("latin-1")).splitlines()
        first = next((line for line in lines if line.strip() and line.lstrip()[0] != ";"), "")
        if format_of(first.encode()) != "swf" or not first.replace("\t", " ").isprintable():
            return ""
        numbers = sum(bool(_NUMBER.fullmatch(word)) for word in first.split())
        if first and 2 * numbers < len(first.split()):
            if or_else:
                return (
                    "this is neither a log (Standard Workload Format, 18 numbers per line) "
                    f"nor {or_else}; is it the right file?"
                )
            return (
                "a log is a file in the Standard Workload Format, 18 numbers per line, or one that gas convert reads "
                "(sacct --parsable2, CSV, Parquet, Batsim); is this the right file?"
            )
    return ""


def runnable(log: Log, machine: int) -> tuple[RigidJobs, list[str]]:
    """Return the jobs of a log that a machine can run, and in words the number of omitted jobs with the reasons.

    Raises
    ------
    BadInput
        The machine can run no job.
    """
    from workloads import rigid_jobs

    jobs = rigid_jobs(log, machine)
    left_out = [
        f"{log.name}: {count:,} of {many(len(log), 'job')} left out: {reason}" for reason, count in jobs.skipped.items()
    ]
    if len(jobs) == 0:
        for words in left_out:
            note(f"gas: {words}")
        which = "its one job cannot" if len(log) == 1 else f"none of its {len(log):,} jobs can"
        raise BadInput(f"{log.name}: {which} run on {many(jobs.machine, 'processor')}")
    return jobs, left_out


def without_estimates(log: Log, jobs: RigidJobs) -> tuple[int, str]:
    """Return the number of jobs without an estimate, also in words; the words are empty if all have one."""
    count = int((~(log.requested_time[jobs.row] > 0)).sum())
    has, its = ("has", "its run time is") if count == 1 else ("have", "their run times are")
    words = f"{log.name}: {count:,} of {many(len(jobs), 'job')} {has} no estimate; {its} used instead"
    return count, words if count else ""


def machine_of(log: Log, processors: int | None, way_out: str = GIVEN) -> int:
    """Return the size of the machine: as given by --processors, else as the header says.

    Parameters
    ----------
    way_out
        The hint if it does not.

    Raises
    ------
    BadInput
        The header has no usable number of processors.
    """
    said = [(key, text) for key in ("MaxProcs", "MaxNodes") if (text := log.header.text(key)) is not None]
    try:
        size = machine_size(log, processors)
    except LogError:
        what = "its header has neither MaxProcs nor MaxNodes"
        if said:
            what = f"its header has {_quoted(said)}, which is not a number of processors"
        used = most_in_use(log)
        hint = f"; at most {used:,} were in use at once" if used else ""
        raise BadInput(f"{log.name}: {what}; {way_out}{hint}") from None
    if size > LARGEST_MACHINE:
        raise BadInput(f"{log.name}: its header has {_quoted(said)}, above the limit of {LARGEST_MACHINE:,}; {way_out}")
    if processors is None and said[0][0] == "MaxProcs" and size != log.header.max_procs:
        note(f"gas: {log.name}: {_quoted(said[:1])} is not a number of processors; MaxNodes is used, {size:,}")
    return size


def _quoted(said: Sequence[tuple[str, str]]) -> str:
    shortened = [(key, " ".join(text.split())) for key, text in said]
    return " and ".join(f'{key} "{text if len(text) <= 40 else text[:37] + "..."}"' for key, text in shortened)
