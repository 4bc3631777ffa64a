"""The answers of an S³ about jobs and its machine; every value is checked.

Later readers (tables, plans, sums of instants) need not check again. Unknown keys are accepted: a newer service has
more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from documents.fields import quoted, shown
from gas.errors import Unreachable
from gas.times import LATEST

__all__ = ["job_of", "jobs_of", "machine_of", "next_page_of", "standing_of"]

MOST_CHARACTERS = 131_072
"""Longest text in characters: the longest word of a command that the service accepts."""


def job_of(document: Any, name: str) -> dict[str, Any]:
    """Return a job.

    Parameters
    ----------
    name
        The scheduler's name for the user, for messages.

    Raises
    ------
    Unreachable
        The document is invalid.
    """
    job = _vetted(document, _JOB, ("id", "state", "processors", "walltime", "promise"), f"{name}: returned a job that")
    return {**_UNKNOWN, **job}


def jobs_of(document: Any, name: str, *, partial: bool = False) -> list[dict[str, Any]]:
    """Return the jobs of a list; errors as for `job_of`. With `partial`, jobs have only the requested fields."""
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        raise Unreachable(f"{name}: returned a list of jobs that cannot be understood; is it an S³ service?")
    unknown, wanted = ({}, ("id",)) if partial else (_UNKNOWN, ("id", "state", "processors"))
    return [{**unknown, **_vetted(job, _JOB, wanted, f"{name}: returned a job that")} for job in jobs]


def next_page_of(document: Any, after: int, name: str) -> int | None:
    """Return where the next page begins; None after the last page, or if the service has no pages."""
    following = document.get("next") if isinstance(document, dict) else None
    if following is None:
        return None
    if type(following) is not int or following <= after:
        raise Unreachable(f"{name}: returned a page of jobs whose next page begins at {shown(following)}")
    return following


def machine_of(document: Any, name: str) -> dict[str, Any]:
    """Return the state of a machine, and the caller's user; errors as for `job_of`."""
    wanted = ("scheduler", "processors", "accepting", "in_use", "queued", "running", "reserved", "user", "role")
    machine = _vetted(document, _MACHINE, wanted, f"{name}: returned a machine that")
    machine.setdefault("access", None)
    for broken in machine.get("broken") or ():
        _vetted(broken, _BROKEN, tuple(_BROKEN), f"{name}: returned a broken promise that")
    for each in machine.get("classes") or ():
        _vetted(each, _CLASS, tuple(_CLASS), f"{name}: returned a class that")
    _vetted(machine.get("limits") or {}, _LIMITS, (), f"{name}: returned limits that")
    return machine


def standing_of(document: Any, name: str) -> dict[str, Any]:
    """Return the state of a machine as far as an event contains it; errors as for `job_of`."""
    return _vetted(document, _MACHINE, (), f"{name}: returned a machine that")


def _vetted(
    document: Any, kinds: Mapping[str, Callable[[Any], bool]], wanted: Iterable[str], what: str
) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise Unreachable(f"{what} cannot be understood: {shown(document)} is not an object; is it an S³ service?")
    for key in wanted:
        if key not in document:
            raise Unreachable(f"{what} cannot be understood: it has no {key}; is it an S³ service?")
    for key, is_right in kinds.items():
        value = document.get(key)
        if not is_right(value) and (value is not None or (key in document and key in _NEVER_NULL)):
            found = quoted(value[:60]) if isinstance(value, str) else shown(value)
            raise Unreachable(f"{what} cannot be understood: its {key} is {found}; is it an S³ service?")
    return document


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LATEST


def _status(value: Any) -> bool:
    return type(value) is int and abs(value) <= LATEST


def _number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= LATEST


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MOST_CHARACTERS


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _coverage(value: Any) -> bool:
    return isinstance(value, dict) and _text(value.get("in_words"))


def _kinds(**keys: Callable[[Any], bool]) -> dict[str, Callable[[Any], bool]]:
    return keys


_INSTANTS = (
    "submitted", "reshaped", "not_before", "promise", "first_promise", "broken_promise", "start", "due", "finished",
    "expected", "offer", "answer_by", "offers_from", "predicted_start", "predicted_low", "predicted_high",
)  # fmt: skip
_JOB = {
    **_kinds(id=_count, kind=_text, user=_text, mine=_truth, name=_text, state=_text, processors=_count),
    **_kinds(walltime=_count, actuator=_text, command=_list, run_time=_count, exit_status=_status, signal=_text),
    **_kinds(message=_text, predicted_coverage=_coverage, priority=_status, notice=_count),
    "class": _text,
    **dict.fromkeys(_INSTANTS, _count),
    **dict.fromkeys((f"{name}_iso" for name in _INSTANTS), _text),
}
_NEVER_NULL = frozenset(
    {"id", "state", "scheduler", "processors", "accepting", "in_use", "queued", "running", "reserved", "promised"}
)
_UNKNOWN = dict.fromkeys(key for key in _JOB if not key.startswith(("predicted", "expected", "mine", "user", "kind")))
_MACHINE = {
    **_kinds(scheduler=_text, processors=_count, accepting=_truth, now=_count, in_use=_count, queued=_count),
    **_kinds(running=_count, reserved=_count, promises_broken=_count, user=_text, role=_text, access=_truth),
    **_kinds(limits=_object, predicted_coverage=_coverage, broken=_list, now_iso=_text, version=_text),
    **_kinds(classes=_list, identity=_text),
}
_CLASS = _kinds(name=_text, priority=_status, default=_truth, permitted=_truth)
_BROKEN = _kinds(id=_count, user=_text, promised=_count, start=_count)
_LIMITS = _kinds(max_queued=_count, max_processor_seconds=_number, max_request_bytes=_count, max_rate=_number)
