"""The header comments of a log: kept line by line as written, and read as keys and values.

A header line is ``; Key: value``. Lines without a key that follow one, indented or not, continue its value until an
empty comment; several keys (Acknowledge, Note, Queue) may repeat. Lines change only on request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from typing import NamedTuple
from zoneinfo import ZoneInfo

__all__ = ["Epoch", "Header", "Removed"]

# fmt: off
_KNOWN = [
    "Version", "Computer", "Installation", "Acknowledge", "Information", "Conversion", "Copyright",
    "MaxJobs", "MaxRecords", "Preemption", "UnixStartTime", "TimeZone", "TimeZoneString", "StartTime", "EndTime",
    "MaxNodes", "MaxProcs", "MaxRuntime", "MaxMemory", "AllowOveruse",
    "MaxQueues", "Queues", "Queue", "MaxPartitions", "Partitions", "Partition", "Note",
]
# fmt: on
_CANONICAL = {key.lower(): key for key in _KNOWN}
_KEY_LINE = re.compile(r"\s*;(?P<indent>\s*)(?P<key>[A-Za-z][A-Za-z0-9_-]*):(?P<gap>\s*)(?P<value>.*)")
_WHOLE = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?!\d|[.,]\d)", re.ASCII)
_NUMBERED = re.compile(r"(\d{1,15})\s+(\S.*)", re.ASCII)
_CLEANED = "THIS IS A CLEANED VERSION OF THE LOG"
_REMOVED = re.compile(r"(?P<filter>(?:user=(?P<user>\d{1,9})\b)?.*\S) \((?P<jobs>\d{1,12}) jobs? removed\)", re.ASCII)
_DATE = re.compile(r"([A-Z][a-z]{2}) +(\d{1,2}) +(\d\d):(\d\d):(\d\d) +(?:\S+ +)?(\d{4})\b")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


class Removed(NamedTuple):
    """Jobs that the archive removed from a cleaned log, by one filter: most are the burst of one user (a flurry)."""

    filter: str
    """As written: "user=135 and (job>=47421 and job<=50307)"."""
    jobs: int
    user: int | None
    """The user of all of them, None if the filter names none."""


class _Entry(NamedTuple):
    key: str
    value: str
    start: int  # its lines are lines[start:stop]
    stop: int


@dataclass(frozen=True)
class Epoch:
    """The date and time of second 0 of a log."""

    start: int
    """Seconds since 1970-01-01 00:00 UTC."""
    zone: tzinfo
    """The zone of the machine, for dividing the log into days and months."""
    assumed: tuple[str, ...] = ()
    """Values that the header lacks and that were assumed; empty if it is complete."""


@dataclass(frozen=True)
class Header:
    """The comment lines of a log.

    Each keyword has a property of its own, so that its type and its unit are known.

    Parameters
    ----------
    lines
        The lines as written, without line ends; each begins with ``;``, possibly after blanks.
    """

    lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for line in self.lines:
            if not line.lstrip().startswith(";"):
                raise ValueError(f"header line {line!r} must begin with ';'")
            if "\n" in line or "\r" in line:
                raise ValueError(f"header line {line!r} has a line break; write it as several lines")

    @classmethod
    def of(cls, entries: Iterable[tuple[str, object]]) -> Header:
        """Return the header with these keys and values, in this order."""
        return cls(tuple(line for key, value in entries for line in _written(key, value)))

    @cached_property
    def _entries(self) -> tuple[_Entry, ...]:
        found: list[_Entry] = []
        open_entry = False
        for number, line in enumerate(self.lines):
            key, value = _key_and_value(line)
            if key:
                found.append(_Entry(key, value, number, number + 1))
                open_entry = True
            elif not value:
                open_entry = False
            elif open_entry:
                last = found[-1]
                joined = f"{last.value}\n{value}" if last.value else value
                found[-1] = _Entry(last.key, joined, last.start, number + 1)
        return tuple(found)

    def all(self, key: str) -> tuple[str, ...]:
        """Return every value of a key, continuation lines joined by line breaks; known keys in any case."""
        wanted = _CANONICAL.get(key.lower(), key)
        return tuple(entry.value for entry in self._entries if entry.key == wanted)

    def text(self, key: str) -> str | None:
        """Return the first value of a key that is not empty."""
        return next((value for value in self.all(key) if value), None)

    def integer(self, key: str) -> int | None:
        """Return the whole number at the beginning of a key's value; the rest ("338 (batch only)") is a remark."""
        match = _WHOLE.match(self.text(key) or "")
        return int(match.group().replace(",", "")) if match else None

    def with_value(self, key: str, value: object) -> Header:
        """Return a header in which the key has one value: in place of the first one, or at the end."""
        wanted = _CANONICAL.get(key.lower(), key)
        old = [entry for entry in self._entries if entry.key == wanted]
        gone = {number for entry in old for number in range(entry.start, entry.stop)}
        at = old[0].start if old else len(self.lines)
        new = _written(wanted, value)
        before = tuple(line for number, line in enumerate(self.lines[:at]) if number not in gone)
        after = tuple(line for number, line in enumerate(self.lines) if number >= at and number not in gone)
        return Header(before + new + after)

    def with_note(self, text: str) -> Header:
        """Return the header with one more Note at its end."""
        return Header(self.lines + _written("Note", text))

    @property
    def version(self) -> str | None:
        """The version of the format, for example "2.2"."""
        return self.text("Version")

    @property
    def computer(self) -> str | None:
        """Brand and model of the machine."""
        return self.text("Computer")

    @property
    def installation(self) -> str | None:
        """The site of the machine."""
        return self.text("Installation")

    @property
    def acknowledgements(self) -> tuple[str, ...]:
        """Acknowledgements for the log, one item per Acknowledge."""
        return tuple(value for value in self.all("Acknowledge") if value)

    @property
    def notes(self) -> tuple[str, ...]:
        """The Note texts in order."""
        return tuple(value for value in self.all("Note") if value)

    @property
    def removed(self) -> tuple[Removed, ...]:
        """The jobs that the archive removed when it cleaned the log, by the filters in its note; else empty."""
        lines = (line for note in self.notes if note.startswith(_CLEANED) for line in note.splitlines())
        found = (match for line in lines if (match := _REMOVED.fullmatch(line.strip())))
        return tuple(Removed(one["filter"], int(one["jobs"]), int(one["user"] or 0) or None) for one in found)

    @property
    def max_jobs(self) -> int | None:
        """The number of jobs; in cleaned logs usually the number before cleaning."""
        return self.integer("MaxJobs")

    @property
    def max_records(self) -> int | None:
        """The number of lines; can exceed `max_jobs` if partial executions were logged."""
        return self.integer("MaxRecords")

    @property
    def max_nodes(self) -> int | None:
        """The number of nodes."""
        return self.integer("MaxNodes")

    @property
    def max_procs(self) -> int | None:
        """The number of processors."""
        return self.integer("MaxProcs")

    @property
    def max_runtime(self) -> int | None:
        """The longest run time that the machine allowed, in seconds."""
        return self.integer("MaxRuntime")

    @property
    def max_memory(self) -> int | None:
        """The most memory that a job could have, in kilobytes."""
        return self.integer("MaxMemory")

    @property
    def allow_overuse(self) -> bool | None:
        """Whether a job may use more than it requested; None if the header does not say."""
        return {"yes": True, "true": True, "no": False, "false": False}.get((self.text("AllowOveruse") or "").lower())

    @property
    def preemption(self) -> str | None:
        """Whether and how jobs were preempted: "No", "Yes", "Double", "TS"."""
        return self.text("Preemption")

    @property
    def queues(self) -> dict[int, str]:
        """The names of the queues by their number in field 15."""
        return self._numbered("Queue")

    @property
    def partitions(self) -> dict[int, str]:
        """The names of the partitions by their number in field 16."""
        return self._numbered("Partition")

    def _numbered(self, key: str) -> dict[int, str]:
        named = (_NUMBERED.fullmatch(value) for value in self.all(key))
        return {int(match[1]): match[2] for match in named if match}

    @property
    def unix_start_time(self) -> int | None:
        """Second 0 of the log, in seconds since 1970-01-01 00:00 UTC."""
        return self.integer("UnixStartTime")

    @property
    def time_zone(self) -> int | None:
        """The deprecated TimeZone, seconds east of Greenwich; it ignores summer time and is wrong in some logs."""
        return self.integer("TimeZone")

    @property
    def time_zone_string(self) -> str | None:
        """The zone's name in the tz database, for example "Europe/Stockholm"."""
        return self.text("TimeZoneString")

    @property
    def start_text(self) -> str | None:
        """StartTime as written, like the output of ``date``."""
        return self.text("StartTime")

    @cached_property
    def epoch(self) -> Epoch:
        """The date and time of second 0 of the log, and the assumptions on which it is based."""
        zone, assumed = self._zone()
        if self.unix_start_time is not None and self.unix_start_time >= 0:
            return Epoch(self.unix_start_time, zone, assumed)
        written = _instant(self.start_text or "", zone)
        if written is not None:
            return Epoch(
                written, zone, (f"the header has no UnixStartTime: second 0 is StartTime, {self.start_text}", *assumed)
            )
        return Epoch(0, zone, ("the header has no UnixStartTime: second 0 is taken as 1970-01-01 00:00 UTC", *assumed))

    def _zone(self) -> tuple[tzinfo, tuple[str, ...]]:
        name = self.time_zone_string
        if name is not None:
            try:
                return ZoneInfo(name), ()
            except (KeyError, ValueError, OSError):  # unknown, not a relative path, or a folder of zones
                why = f'TimeZoneString "{name}" is not in the time zone database of this system'
        else:
            why = "the header has no TimeZoneString"
        offset = self.time_zone
        if offset is not None and abs(offset) < 86400:
            east = timezone(timedelta(seconds=offset))
            return east, (f"{why}: TimeZone is used, {east} all year round",)
        return UTC, (f"{why}: days and months are in UTC",)


def _key_and_value(line: str) -> tuple[str, str]:
    """Return the key that a line opens ("" if none) and its text."""
    match = _KEY_LINE.fullmatch(line)
    if match:
        key, value = match["key"], match["value"].strip()
        if key.lower() in _CANONICAL:
            return _CANONICAL[key.lower()], value
        # An indented line continues the text, and so does "http://...".
        if len(match["indent"]) <= 1 and (match["gap"] or not value):
            return key, value
    return "", line.lstrip().removeprefix(";").strip()


def _written(key: str, value: object) -> tuple[str, ...]:
    first, *more = str(value).splitlines() or [""]
    return (f"; {key}: {first}".rstrip(), *(f";   {line}".rstrip() for line in more))


def _instant(date: str, zone: tzinfo) -> int | None:
    """Return the epoch second of a date like "Wed Jun 26 17:06:00 EDT 1996", ignoring the letters of its zone."""
    match = _DATE.search(date)
    if match is None or match[1] not in _MONTHS:
        return None
    day, hour, minute, second, year = (int(part) for part in match.groups()[1:])
    try:
        local = datetime(year, _MONTHS.index(match[1]) + 1, day, hour, minute, second, tzinfo=zone)
    except ValueError:
        return None
    return int(local.timestamp())
