"""Reading a log that the user named, and telling what it has to tell."""

from __future__ import annotations

from gas.cli.tables import note
from gas.errors import BadInput
from workloads import Log, read_swf

__all__ = ["read_log"]


def read_log(path: str) -> Log:
    """Return the log in a file; its warnings, and the acknowledgement that its archive asks for, go to stderr."""
    try:
        log = read_swf(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    for warning in log.warnings:
        note(f"gas: {warning}")
    for line in log.acknowledgements:
        note(f"log: {line}")
    return log
