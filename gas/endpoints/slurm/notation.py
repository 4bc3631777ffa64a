"""Slurm's notations: node lists, tasks of arrays, durations, instants and states of nodes.

Node lists are not parsed by python-hostlist, which is licensed under the GPL, limited to 100,000 names, and names
neither list nor position in its errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache

from documents.fields import quoted
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Node, Tasks

__all__ = [
    "LATEST", "LONGEST", "NodeStates", "credible", "duration", "instant", "node_names", "node_states", "tasks", "words",
]  # fmt: skip

LATEST = 221_845_392_000
"""First epoch second of the year 9000; later times are set to it, so that sums are still valid dates."""

LONGEST = 100 * 366 * 24 * 3600
"""Durations above a hundred years count as no limit."""

MOST_NAMES = 1_000_000
"""A list with more names is assumed to be damaged."""

NOTHING = frozenset({"", "(null)", "N/A", "n/a", "NONE", "None", "none", "Unknown", "UNLIMITED", "INFINITE", "NOT_SET"})
"""Printed forms of a missing value."""

_PART = re.compile(r"([^\[\],\s]*)(?:\[([^\[\]\s]*)\])?")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_TASKS = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10})(?::([0-9]{1,10}))?)?")
_DURATION = re.compile(r"(?:([0-9]+)-)?([0-9]+)(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?")
_MARKS = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "%": "POWERING_DOWN", "!": "POWER_DOWN",
    "$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED",
}  # fmt: skip

AGAINST = frozenset(
    {"DOWN", "ERROR", "UNKNOWN", "FUTURE", "DYNAMIC_FUTURE", "INVALID", "INVALID_REG", "INVAL", "DRAIN", "DRAINED"}
    | {"DRAINING", "FAIL", "FAILING", "FAILG", "NOT_RESPONDING", "NO_RESPOND", "POWERING_DOWN", "POWER_DOWN"}
    | {"POWER_DRAIN", "REBOOT_ISSUED", "BLOCKED"}
)
"""States in which no job starts on a node; one that is only powered down is powered up for a job."""

BOOTING = frozenset({"REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT", "POWERING_UP", "BOOT"})
"""States of a node that is booting, or about to."""


MOST_OF_A_NODE = 0xFFFF
"""Largest number of CPUs, sockets, cores or threads of a node, which Slurm counts in 16 bits."""


def credible(node: Node, where: str) -> Node:
    """Return a node if its numbers are possible in Slurm; those of a damaged answer could exhaust memory.

    Raises
    ------
    Unreachable
        A number is too large; the message says `where` it was read.
    """
    parts = {"CPUs": node.cpus, "sockets": node.sockets, "cores per socket": node.cores, "threads": node.threads}
    for name, count in parts.items():
        if count is not None and count > MOST_OF_A_NODE:
            raise Unreachable(f"{where}: {count:,} {name} are not credible; Slurm counts up to {MOST_OF_A_NODE:,}")
    return node


def words(text: str) -> tuple[str, ...]:
    """Return the words of a comma-separated list; empty for a missing value."""
    return () if text.strip() in NOTHING else tuple(word for word in text.strip().split(",") if word)


@lru_cache(4096)  # a long queue repeats the same node lists
def node_names(text: str) -> tuple[str, ...]:
    """Return the names in a node list, such as ``gpu7,n[001-004,010],r[0-1]c[1-2]-ib``.

    Raises
    ------
    BadInput
        It is not a node list.
    """
    text = text.strip()
    if text in NOTHING:
        return ()
    names: list[str] = []
    for part in _parts(text):
        found = [""]
        for prefix, inside in _pieces(part, text):
            found = [start + prefix + number for start in found for number in inside]
            if len(found) + len(names) > MOST_NAMES:
                raise BadInput(f"the node list {quoted(text)} has more than {MOST_NAMES:,} names")
        names += found
    return tuple(dict.fromkeys(names))


def _parts(text: str) -> Iterator[str]:
    """Split at commas outside of brackets."""
    depth = start = 0
    for at, c in enumerate(text):
        depth += (c == "[") - (c == "]")
        if depth not in (0, 1):
            raise BadInput(f"the node list {quoted(text)} has an extra bracket after {at} characters")
        if c == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if depth:
        raise BadInput(f"the node list {quoted(text)} ends inside a bracket")
    yield text[start:]


def _pieces(part: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each prefix in a part with the numbers in the brackets after it."""
    at = 0
    if not part:
        raise BadInput(f"the node list {quoted(text)} has an empty name")
    while at < len(part):
        piece = _PART.match(part, at)
        if piece is None or piece.end() == at:
            raise BadInput(f"the node list {quoted(text)} has {quoted(part[at])} in a name")
        at = piece.end()
        if piece[2] is None:
            yield piece[1], [""]
            continue
        numbers: list[str] = []
        for one in piece[2].split(","):
            bounds = _RANGE.fullmatch(one)
            if bounds is None:
                raise BadInput(f"the node list {quoted(text)} has {quoted(one)} in brackets, which is not a range")
            first, last = int(bounds[1]), int(bounds[2] or bounds[1])
            if not 0 <= last - first < MOST_NAMES:
                raise BadInput(f"the node list {quoted(text)} has the range {quoted(one)}")
            numbers += (str(k).zfill(len(bounds[1])) for k in range(first, last + 1))
        yield piece[1], numbers


def tasks(text: str) -> Tasks | None:
    """Return the tasks in ``1-5,7%2`` or ``[3-10:2]``; None if there is no array.

    Raises
    ------
    BadInput
        It is not a list of tasks, or is truncated.
    """
    text = text.strip()
    if text in NOTHING:
        return None
    if text.endswith("..."):
        raise BadInput(f"the list of tasks {quoted(text)} is cut off; set SLURM_BITSTR_LEN=0 in the environment")
    inside, mark, most = text.partition("%")
    inside = inside.removeprefix("[")
    ranges = []
    for one in (inside if mark else inside.removesuffix("]")).split(","):
        bounds = _TASKS.fullmatch(one)
        if bounds is None:
            raise BadInput(f"the list of tasks {quoted(text)} has {quoted(one)}, which is not a range")
        first, last, step = int(bounds[1]), int(bounds[2] or bounds[1]), int(bounds[3] or 1)
        if last < first or step < 1:
            raise BadInput(f"the list of tasks {quoted(text)} has the range {quoted(one)}")
        ranges.append(range(first, last + 1, step))
    most = most.removesuffix("]")
    if mark and re.fullmatch(r"[0-9]{1,10}", most) is None:
        raise BadInput(f"the list of tasks {quoted(text)} has {quoted(most)} after %, which is not a number")
    return Tasks(tuple(ranges), int(most) or None if mark else None)


@lru_cache(4096)  # most jobs request one of a few times
def duration(text: str) -> int | None:
    """Return the seconds in ``1-00:30:00``, ``30:00`` or ``2-12`` (days-hours); None for no limit, or above `LONGEST`.

    Raises
    ------
    BadInput
        It is not a duration.
    """
    text = text.strip()
    if text in NOTHING or text in ("Partition_Limit", "INVALID"):  # squeue prints INVALID for more than a year
        return None
    found = _DURATION.fullmatch(text)
    if found is None or (found[1] is None and found[3] is None):
        raise BadInput(f"{quoted(text)} is not a duration; Slurm writes days-hours:minutes:seconds")
    if any(len(number) > 18 for number in found.groups(default="")):  # int() refuses thousands of digits
        return None
    numbers = [int(number) for number in found.groups()[1:] if number is not None]
    if found[1] is None:
        hours, minutes, seconds = [0] * (3 - len(numbers)) + numbers
    else:
        hours, minutes, seconds = numbers + [0] * (3 - len(numbers))
    all_of_it = ((int(found[1] or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    return None if all_of_it > LONGEST else all_of_it


def instant(text: str, zone: tzinfo | None = None) -> int | None:
    """Return the epoch second of a time, at most `LATEST`; None if unknown.

    With ``SLURM_TIME_FORMAT=%s`` in their environment, scontrol and squeue print epoch seconds; else local time without
    a time zone (``2026-11-21T00:17:44``), which `zone` supplies. An ambiguous time, at the end of summer time, means
    the first of the two.

    Raises
    ------
    BadInput
        It is not a time, or the time zone is unknown.
    """
    text = text.strip()
    if text in NOTHING or text == "0":
        return None
    if text.isdecimal() and text.isascii():
        return LATEST if len(text) > 18 else min(int(text), LATEST)
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{quoted(text)} is not a time") from None
    if local.tzinfo is None and zone is None:
        raise BadInput(
            f"{quoted(text)} has no time zone; set SLURM_TIME_FORMAT=%s in the environment, or give the zone"
        )
    return min(int((local if local.tzinfo else local.replace(tzinfo=zone)).timestamp()), LATEST)


@dataclass(frozen=True)
class NodeStates:
    """The meaning of a node's states.

    Attributes
    ----------
    why_not
        The states that keep jobs from starting on it.
    reserved, completing, rebooting, powered_down
        It is in an active reservation; a job is completing on it; it is booting, or about to; it boots for a job.
    """

    why_not: tuple[str, ...]
    reserved: bool
    completing: bool
    rebooting: bool
    powered_down: bool


@lru_cache(1024)
def node_states(*states: str) -> NodeStates:
    """Return the meaning of a node's states as printed: ``IDLE+DRAIN``, ``MIXED*``, or single words, in any case."""
    found: set[str] = set()
    for text in states:
        for word in text.upper().split("+"):
            state = word.rstrip("".join(_MARKS))
            found |= {state, *(_MARKS[mark] for mark in word[len(state) :])}
    return NodeStates(
        tuple(sorted(found & AGAINST)),
        bool(found & {"RESERVED", "MAINTENANCE", "MAINT"}),
        "COMPLETING" in found,
        bool(found & BOOTING),
        "POWERED_DOWN" in found,
    )
