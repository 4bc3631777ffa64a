"""Answers of OAR in JSON: of oarnodes and oarstat, and of the REST API; one reader for all formats.

A job has three formats with different names for the same values: in ``oarstat -J -f`` (``Job_Id``, ``startTime``), in
its Gantt chart (``job_id``, ``start_time``, with the resources of waiting jobs too), and in the REST API (``id``,
``start_time``, resources as objects). Numbers are numbers or text, depending on the database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from documents.fields import quoted
from gas.endpoints.oar.machine import WAITING, Event, Job, Resource, Usage, Wanted
from gas.errors import Unreachable
from gas.json_text import parsed as parsed_json

__all__ = [
    "errors_of",
    "jobs_of",
    "joined",
    "page_of",
    "parsed",
    "records_of",
    "resources_of",
    "submitted_as",
    "usage_in",
    "usage_of",
]

FOR_EVER = 2147483646
"""Values of ``available_upto`` from this one on mean no end."""

NOT_YOURS = "not the right user"
KILLED_ALREADY = "already killed"
"""Texts in oardel's error messages."""

LONGEST_USER = 10
"""Characters of a user's name in ``oarstat --accounting``."""

_FLEETING = frozenset(
    {"api_timestamp", "id", "jobs", "last_job_date", "links", "next_state", "resource_id", "state", "state_num"}
)
"""Keys that change daily, or belong to the answer and not to the resource."""

_SHAPE = re.compile(r'-l "(?P<groups>.*?),walltime=(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)"')
_LEVEL = re.compile(r"/(\w+)=(\w+)")
_EXITED = re.compile(r"^Oar\w+ command exited with status \d+: *")
_USUAL = re.compile(r"\[ADMISSION RULE\]|Oarsub failed, please verify")
_GRAVE = re.compile(r"ADMISSION RULE.*(error|not allowed|denied|cannot|must)", re.IGNORECASE)
_USED = re.compile(r"(?P<user>\S+) +[\d-]+ [\d:]+ +[\d-]+ [\d:]+ +(?P<asked>\d+) +(?P<used>\d+)")
_MADE = re.compile(r"(?:^|\s)OAR_JOB_ID\s*=\s*(\d+)\s*$", re.MULTILINE)


def parsed(answer: str, source: str) -> Any:
    """Return an answer's content, None if it is empty, as oarstat's is without jobs.

    Raises
    ------
    Unreachable
        It is not JSON, or it is truncated.
    """
    text = answer.strip()
    if not text:
        return None
    try:
        return parsed_json(text)
    except ValueError as error:
        at = getattr(error, "pos", 0)
        unclosed = isinstance(error, json.JSONDecodeError) and error.msg.startswith("Unterminated")
        if text[0] in "{[" and (at >= len(text) - 1 or unclosed):
            raise Unreachable(f"{source}: the answer is cut off after {quoted(text[-40:])}") from None
        raise Unreachable(f"{source}: returned {quoted(text[:200])}, which is not JSON") from None


def records_of(content: Any, source: str) -> list[Mapping[str, Any]]:
    """Return the objects of an answer: a list, an object with ``items``, or an object with objects by number."""
    if content is None:
        return []
    found: Any = content.get("items", content) if isinstance(content, Mapping) else content
    if isinstance(found, Mapping):
        found = list(found.values())
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise Unreachable(f"{source}: returned {quoted(str(content)[:200])}; is it OAR?")
    return found


def page_of(content: Any, source: str) -> tuple[list[Mapping[str, Any]], int, int | None]:
    """Return the objects of one page of the REST API, their number on all pages, and the time of the query."""
    if not isinstance(content, Mapping) or not isinstance(content.get("items"), list):
        raise Unreachable(f"{source}: returned no list of items; is it the REST API of OAR?")
    page = _Record(source, content)
    records = records_of(content, source)
    return records, page.whole("total", len(records)) or 0, page.whole("api_timestamp", None)


def resources_of(records: Iterable[Mapping[str, Any]], source: str) -> tuple[Resource, ...]:
    """Return resources by number, from oarnodes, a Gantt chart or the REST API."""
    found = (_resource(_Record(source, record)) for record in records)
    return tuple(sorted(found, key=lambda one: one.id))


def jobs_of(records: Iterable[Mapping[str, Any]], source: str) -> tuple[Job, ...]:
    """Return jobs by number, from oarstat, a Gantt chart or the REST API."""
    return tuple(sorted((_job(_Record(source, record)) for record in records), key=lambda one: one.id))


def joined(charted: Iterable[Job], listed: Iterable[Job]) -> tuple[Job, ...]:
    """Return jobs from the chart, which has resources, and from oarstat's list, which has the rest."""
    found = {job.id: job for job in charted}
    for job in listed:
        there = found.get(job.id)
        if there is None:
            found[job.id] = job
        elif there.state == job.state:
            start, expected = there.start or job.start, there.expected or job.expected
            found[job.id] = replace(
                job, resources=there.resources, start=start, expected=expected, walltime=there.walltime or job.walltime,
                types=there.types or job.types,
            )  # fmt: skip
    return tuple(found[id] for id in sorted(found))


def submitted_as(output: str) -> int | None:
    """Return the number of the job in oarsub's output; None if there is none, or an invalid one (-1)."""
    found = [int(number) for number in _MADE.findall(output)]
    return found[-1] if found and found[-1] > 0 else None


def errors_of(output: str) -> str:
    """Return the errors in the output of OAR's commands in one line, without routine messages; it may be empty."""
    text = output.partition("\nCmd:")[0]  # the REST API adds the command
    lines = [line.strip() for line in text.splitlines()]
    lines = [_EXITED.sub("", line) for line in lines if line and not line.startswith(("OAR_JOB_ID=", "####"))]
    relevant = [line for line in lines if not _USUAL.search(line) or _GRAVE.search(line)]
    return "; ".join(dict.fromkeys(relevant or lines))[:500]


def usage_in(table: str, source: str) -> Usage:
    """Return the usage and requests of users, from the table of ``oarstat --accounting``.

    It truncates names of users to ten characters. Equal truncated names are merged; the total of all users is right in
    any case.
    """
    users: dict[str, tuple[int, int]] = {}
    for line in table.splitlines():
        match = _USED.fullmatch(line.rstrip())
        if match is None:
            if not line.strip() or "----" in line or "First window" in line:
                continue
            raise Unreachable(f"{source}: returned {quoted(line[:80])}, which is not a line of OAR's accounting")
        used, asked = users.get(match["user"], (0, 0))
        users[match["user"]] = used + int(match["used"]), asked + int(match["asked"])
    return Usage(users, LONGEST_USER)


def usage_of(records: Iterable[Mapping[str, Any]], source: str) -> Usage:
    """Return the usage and requests of users, from the REST API: by project, over all queues."""
    users: dict[str, tuple[int, int]] = {}
    for one in records:
        consumed = one.get("consumptions")
        if not isinstance(consumed, Mapping):
            raise Unreachable(f"{source}: returned a project without its usage; is it the REST API of OAR?")
        for place, kind in enumerate(("USED", "ASKED")):
            seconds = consumed.get(kind) or {}
            if not isinstance(seconds, Mapping):
                raise Unreachable(f"{source}, {kind}: {quoted(str(seconds)[:80])} is not the usage of a user")
            record = _Record(f"{source}, {kind}", seconds)
            for user in seconds:
                both = list(users.get(user, (0, 0)))
                both[place] += record.whole(user, 0) or 0
                users[user] = both[0], both[1]
    return Usage(users)


class _Record:
    """One object of an answer; errors in its values name the place. None means that a value is missing."""

    def __init__(self, source: str, values: Mapping[str, Any]) -> None:
        self.values = values
        number = next((values[key] for key in ("resource_id", "Job_Id", "job_id", "id") if _scalar(values, key)), None)
        self.where = source if number is None else f"{source}, {number}"

    def value(self, *keys: str) -> Any:
        """Return the value of the first of these keys that is present."""
        return next((self.values[key] for key in keys if self.values.get(key) is not None), None)

    def text(self, *keys: str) -> str:
        """Return a text, empty if there is none."""
        value = self.value(*keys)
        if value is None:
            return ""
        if not isinstance(value, str | int):
            raise self.wrong(keys[0], value, "a text")
        return str(value)

    def whole(self, key: str, default: int | None, *others: str) -> int | None:
        """Return an integer, which may be written as text."""
        value = self.value(key, *others)
        if value is None or value == "":
            return default
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**60:
            return value
        raise self.wrong(key, value, "a whole number")

    def number(self, key: str, *others: str) -> int:
        """Return a required integer."""
        found = self.whole(key, None, *others)
        if found is None:
            raise Unreachable(f"{self.where} has no {key}; is it OAR that answered?")
        return found

    def instant(self, key: str, *others: str) -> int | None:
        """Return a time; OAR writes 0 for none."""
        return self.whole(key, None, *others) or None

    def list(self, *keys: str) -> list[Any]:
        """Return a list, empty if there is none."""
        value = self.value(*keys)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(keys[0], value, "a list")
        return value

    def wrong(self, key: str, value: object, wanted: str) -> Unreachable:
        """Return the error to raise for a value."""
        return Unreachable(f"{self.where}, {key}: {quoted(str(value)[:80])} is not {wanted}")


def _scalar(values: Mapping[str, Any], key: str) -> bool:
    return isinstance(values.get(key), int | str)


def _resource(record: _Record) -> Resource:
    until = record.whole("available_upto", None)
    state = record.text("state")
    if not state:
        raise Unreachable(f"{record.where} has no state; is it OAR that answered?")
    return Resource(
        id=record.number("resource_id", "id"),
        host=record.text("network_address"),
        state=state,
        kind=record.text("type") or "default",
        draining=record.text("drain") == "YES",
        desktop=record.text("desktop_computing") == "YES",
        until=None if until is None or until >= FOR_EVER else until,
        never_halted=until is not None and until > FOR_EVER,
        properties={
            key: str(value)
            for key, value in sorted(record.values.items())
            if key not in _FLEETING and isinstance(value, str | int)
        },
    )


def _job(record: _Record) -> Job:
    state = record.text("state")
    if not state:
        raise Unreachable(f"{record.where} has no state; is it OAR that answered?")
    start, expected = record.instant("startTime", "start_time"), record.instant("scheduledStart", "scheduled_start")
    if state in WAITING and start is not None:  # of a Gantt chart, which has planned starts under the same key
        start, expected = None, expected or start
    return Job(
        id=record.number("Job_Id", "job_id", "id"),
        name=record.text("name", "job_name"),
        user=record.text("owner", "job_user", "user"),
        state=state,
        queue=record.text("queue", "queue_name"),
        types=tuple(sorted({str(one) for one in record.list("types")})),
        walltime=record.whole("walltime", None),
        start=start,
        expected=expected,
        stop=record.instant("stopTime", "stop_time"),
        submitted=record.instant("submissionTime", "submission_time"),
        resources=_numbers(record),
        wanted=_wanted(record.text("wanted_resources")),
        message=record.text("message"),
        project=record.text("project"),
        reserved=record.text("reservation") not in ("", "None"),
        exit_code=record.whole("exit_code", None),
        events=tuple(_event(_Record(record.where, one)) for one in record.list("events") if isinstance(one, Mapping)),
        command=record.text("command"),
        directory=record.text("launchingDirectory", "launching_directory"),
        stdout=record.text("stdout_file"),
        stderr=record.text("stderr_file"),
    )


def _numbers(record: _Record) -> tuple[int, ...]:
    """Return a job's resources: numbers, or the objects of the REST API."""
    listed = record.list("resource_id", "assigned_resources", "resources")
    if not listed and isinstance(record.value("reserved_resources"), Mapping):
        listed = list(record.value("reserved_resources"))
    found = {one if type(one) is int else _number(record.where, one) for one in listed}
    return tuple(sorted(found))


def _number(where: str, resource: object) -> int:
    wrapped = resource if isinstance(resource, Mapping) else {"id": resource}
    return _Record(where, wrapped).number("id", "resource_id")


def _event(record: _Record) -> Event:
    return Event(record.text("type"), record.whole("date", 0) or 0)


def _wanted(text: str) -> tuple[Wanted, ...]:
    """Return the shapes of ``-l "{type = 'default'}/resource_id=32,walltime=0:5:0"``, of the first group of each."""
    shapes = []
    for found in _SHAPE.finditer(text):
        group = re.sub(r"\{.*?\}", "", found["groups"]).split("+")[0]
        levels = tuple((name, int(count) if count.isdecimal() else None) for name, count in _LEVEL.findall(group))
        walltime = int(found["hours"]) * 3600 + int(found["minutes"]) * 60 + int(found["seconds"])
        shapes.append(Wanted(levels, walltime))
    return tuple(shapes)
