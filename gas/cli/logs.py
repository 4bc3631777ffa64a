"""Reading a log that the user named, and telling what it has to tell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gas.cli.tables import many, note
from gas.errors import BadInput
from workloads import Log, LogError, machine_size, read_swf

__all__ = ["LARGEST_MACHINE", "check_readable", "machine_of", "read_log"]

LARGEST_MACHINE = 2**31 - 1
"""Processors; more are a mistake of whoever wrote the header."""


def check_readable(paths: Sequence[str]) -> None:
    """Refuse files that are not there or cannot be read, all of them at once; ``-`` is standard input.

    Raises
    ------
    BadInput
        Names each.
    """
    problems = [f"{path}: cannot be read: {why}" for path in paths if path != "-" and (why := _unreadable(Path(path)))]
    if problems:
        raise BadInput("; ".join(problems))


def _unreadable(path: Path) -> str | None:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # to open a pipe would disturb who writes to it
            return None if os.access(path, os.R_OK) else "Permission denied"
        with path.open("rb"):
            return None
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)


def read_log(path: str, *, lenient: bool | None = None) -> Log:
    """Return the log in a file; its warnings, and the acknowledgement that its archive asks for, go to stderr.

    Parameters
    ----------
    lenient
        Leave malformed lines out, counted by reason, instead of refusing the log. None: the command has no option for
        it, so an error does not name it.
    """
    try:
        log = read_swf(path, lenient=bool(lenient))
    except LogError as error:
        if lenient is None or error.line is None:
            raise
        raise BadInput(f"{error}; --lenient leaves such lines out and counts them") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    for warning in log.warnings:
        note(f"gas: {warning}")
    for reason, count in log.skipped.items():
        note(f"gas: {many(count, 'malformed line')} left out: {reason}")
    for line in log.acknowledgements:
        note(f"log: {line}")
    return log


def machine_of(log: Log, processors: int | None) -> int:
    """Return the size of the machine: as given by --processors, else as the header says.

    Raises
    ------
    BadInput
        The header says nothing that could be one.
    """
    said = [(key, text) for key in ("MaxProcs", "MaxNodes") if (text := log.header.text(key)) is not None]
    try:
        size = machine_size(log, processors)
    except LogError:
        what = "its header has neither MaxProcs nor MaxNodes"
        if said:
            what = f"its header has {_quoted(said)}, which names no number of processors"
        raise BadInput(
            f"{log.name}: {what}; name the machine's number of processors yourself, with --processors"
        ) from None
    if size > LARGEST_MACHINE:
        raise BadInput(
            f"{log.name}: its header has {_quoted(said)}, more than a machine can have here ({LARGEST_MACHINE:,}); "
            "name its number of processors with --processors"
        )
    if processors is None and said[0][0] == "MaxProcs" and size != log.header.max_procs:
        note(f"gas: {log.name}: {_quoted(said[:1])} is no number of processors; MaxNodes is used, {size:,}")
    return size


def _quoted(said: Sequence[tuple[str, str]]) -> str:
    shortened = [(key, " ".join(text.split())) for key, text in said]
    return " and ".join(f'{key} "{text if len(text) <= 40 else text[:37] + "..."}"' for key, text in shortened)
