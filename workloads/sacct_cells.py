"""Cells in the output of Slurm's accounting: durations, time limits, counts of trackable resources."""

from __future__ import annotations

import re

from workloads.cells import Malformed
from workloads.log import LARGEST

__all__ = ["WHOLE", "bad_cell", "count_of", "limit_of", "seconds_of", "whole_of"]

WHOLE = re.compile(r"\d{1,15}", re.ASCII)

_NO_LIMIT = frozenset({"", "unlimited", "partition_limit"})
_DURATION = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2})(?:\.\d*)?", re.ASCII)


def bad_cell(reason: str, found: str) -> Malformed:
    """Return the error of a cell."""
    return Malformed(reason, f"{reason}: {found}")


def limit_of(text: str, *, raw: bool) -> int | None:
    """Return a time limit in seconds, from one in minutes if `raw`; None if there is none.

    A job has no limit of its own if neither its user nor its partition set one. Once it has started, Slurm prints the
    maximum of the partition as its limit, so only jobs that never started have ``Partition_Limit``.
    """
    if text.lower() in _NO_LIMIT:
        return None
    seconds = 60 * whole_of(text, "Timelimit") if raw else seconds_of(text, "Timelimit")
    if not 1 <= seconds <= LARGEST:
        raise bad_cell("Timelimit is not a time", repr(text[:40]))
    return seconds


def count_of(text: str, resource: str) -> int:
    """Return a number, which may be one of several: ``billing=4,cpu=4,mem=8G,node=1``."""
    if "=" in text:
        text = dict(each.partition("=")[::2] for each in text.split(",")).get(resource, "")
    return whole_of(text, "the number of processors") if text else 0


def whole_of(text: str, what: str) -> int:
    """Return a whole number."""
    text = text.removesuffix(".0")  # from a table program, for a column with gaps
    if not WHOLE.fullmatch(text):
        raise bad_cell(f"{what} is not a whole number", repr(text[:40]))
    return int(text)


def seconds_of(text: str, what: str) -> int:
    """Return a duration."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise bad_cell(f"{what} is not a duration", repr(text[:40]))
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = ((24 * days + hours) * 60 + minutes) * 60 + seconds
    if total > LARGEST:
        raise bad_cell(f"{what} is not a duration", repr(text[:40]))
    return total
