"""Logs in files that a user names, in any format that Gas reads."""

from __future__ import annotations

from pathlib import Path

from experiments.framework.logs import Found, Source
from gas.cli.logs import check_readable, machine_of, read_log_and_digest
from gas.errors import BadInput
from workloads.sacct_header import Unit

__all__ = ["log_of_file"]


def log_of_file(path: Path, *, unit: Unit = "cpus", processors: int | None = None, strict: bool = False) -> Found:
    """Return the log in a file of any format that Gas reads, on the machine of its header; what it lacks is said.

    Parameters
    ----------
    unit
        What processors are, where sacct printed both.
    processors
        Of the machine, where that is not as the header says.
    strict
        Refuse a log with malformed lines.

    Raises
    ------
    BadInput
        It cannot be read, or does not say how many processors the machine has.
    """
    check_readable([str(path)])
    if not path.is_file():
        raise BadInput(f"{path}: is not a regular file; a study reads its log again and again, so write it to one")
    log, sha256 = read_log_and_digest(str(path), unit=unit, strict=strict, thanked={""})
    stem = Path(path.name.removesuffix(".gz")).stem
    source = Source(stem, stem, machine_of(log, processors), "users", len(log))
    return Found(source, stem, path, sha256, log.header, own=True)
