"""Logs in files that a user names, in any format that Gas reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from experiments.framework.logs import SOURCES, Found, Source, of_the_archive
from gas.cli.logs import GIVEN, check_readable, machine_of, read_log_and_digest, runnable, without_estimates
from gas.cli.tables import note
from gas.errors import BadInput
from gas.printable import many
from workloads import Log
from workloads.sacct_header import Unit

__all__ = ["log_of_file", "studied_log"]

_CONVERTED = "write a log with it for the study: gas convert LOG NEW.swf --processors N"
"""The advice if the header does not give the size of the machine, since studies have no option for it."""


def log_of_file(path: Path, *, unit: Unit = "cpus", processors: int | None = None) -> Found:
    """Return the log in a file of any format that Gas reads, on the machine of its header; report missing data.

    Parameters
    ----------
    unit
        The unit of processors, if sacct printed both.
    processors
        Processors of the machine, if the header is wrong or lacks them.

    Raises
    ------
    BadInput
        The file cannot be read, or does not give the number of processors.
    """
    found, _ = _read(path, unit=unit, processors=processors)
    return found


def studied_log(path: Path, taken: Collection[str] = ()) -> tuple[Found, list[str]]:
    """Return the log in a file for a study, and in words which lines and jobs were left out or changed.

    Malformed lines are left out as by other commands, but a log of the archive has none: there they are errors.

    Parameters
    ----------
    taken
        Names of other logs. The log gets another name, also than those of the papers' logs, whose machines are known.

    Raises
    ------
    BadInput
        The file cannot be read; its header names no machine, or one that can run no job.
    """
    found, log = _read(path, strict=of_the_archive(path), way_out=_CONVERTED)
    jobs, remarks = runnable(log, found.source.processors)
    _, words = without_estimates(log, jobs)
    remarks += [words] if words else []
    for words in remarks:
        note(f"gas: {words}")
    if log.skipped:  # reported when the log was read; the report says it too
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in log.skipped.items())
        lines = many(sum(log.skipped.values()), "malformed line")
        remarks.insert(0, f"{path.name}: {lines} left out: {reasons}")
    trace = _name_of(path, {*taken, *(source.trace for source in SOURCES)})
    return replace(found, source=replace(found.source, trace=trace)), remarks


def _name_of(path: Path, taken: Collection[str]) -> str:
    """Return a name for a file that is not yet taken."""
    stem = Path(path.name.removesuffix(".gz")).stem
    names = chain((stem, path.name, f"{stem} ({path.resolve().parent.name})"), (f"{stem} ({n})" for n in count(2)))
    return next(name for name in names if name not in taken)


def _read(
    path: Path,
    *,
    unit: Unit = "cpus",
    processors: int | None = None,
    strict: bool = False,
    way_out: str = GIVEN,
) -> tuple[Found, Log]:
    check_readable([str(path)])
    if not path.is_file():
        raise BadInput(f"{path}: is not a regular file; a study reads its log again and again, so write it to one")
    log, sha256 = read_log_and_digest(str(path), unit=unit, strict=strict, thanked={""})
    stem = Path(path.name.removesuffix(".gz")).stem
    source = Source(stem, stem, machine_of(log, processors, way_out), "users", len(log))
    return Found(source, stem, path, sha256, log.header, own=True), log
