"""Reading a log that the user named, and telling what it has to tell."""

from __future__ import annotations

from gas.cli.tables import note
from gas.errors import BadInput
from workloads import Log, read_swf

__all__ = ["read_log"]


def read_log(path: str, *, lenient: bool = False) -> Log:
    """Return the log in a file; its warnings, and the acknowledgement that its archive asks for, go to stderr.

    Parameters
    ----------
    lenient
        Leave malformed lines out, counted by reason, instead of refusing the log.
    """
    try:
        log = read_swf(path, lenient=lenient)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    for warning in log.warnings:
        note(f"gas: {warning}")
    for reason, count in log.skipped.items():
        note(f"gas: {count:,} malformed lines left out: {reason}")
    for line in log.acknowledgements:
        note(f"log: {line}")
    return log
