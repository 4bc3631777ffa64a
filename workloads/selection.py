"""Parts of a log: months, a time range, the first jobs.

Each function returns a log with the old header, corrected MaxJobs and MaxRecords, and a Note on the selection; second 0
does not change. Months and dates are those of the log's own time zone, including summer time. A selection without jobs
is an error that says what is available.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads.header import Epoch
from workloads.log import PARTIAL, Log, LogError

__all__ = [
    "between",
    "checked_instant",
    "checked_month",
    "first_jobs",
    "in_months",
    "month_before",
    "months_of",
    "noted",
    "part_in_words",
    "parts_of",
]

_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_SELECTED = "Selected jobs: "
_SCALED = "Load scaled from "  # as `gas simulate` notes it


def months_of(times: ArrayLike, epoch: Epoch, *, name: str = "log") -> tuple[list[str], NDArray[np.int64]]:
    """Return the months that contain instants of a log, as "1996-10", and for each instant the index of its month.

    Parameters
    ----------
    times
        Seconds since second 0 of the log, in any order.
    epoch
        Calendar time of that second: ``log.epoch``. A month begins at its first midnight there.

    Returns
    -------
    labels
        The months that have an instant, in order.
    index
        ``labels[index[i]]`` is the month of ``times[i]``.

    Raises
    ------
    LogError
        An instant is outside of the years 2 to 9998.
    """
    seconds = np.floor(np.asarray(times)).astype(np.int64)
    if seconds.size == 0:
        return [], np.zeros(0, dtype=np.int64)
    first = _months_since_year_0(int(seconds.min()), epoch, name)
    last = _months_since_year_0(int(seconds.max()), epoch, name)
    starts = [_month_start(month, epoch) for month in range(first, last + 2)]
    month = np.searchsorted(np.array(starts), seconds, side="right") - 1
    there = np.flatnonzero(np.bincount(month, minlength=last - first + 1))
    labels = [f"{(first + m) // 12:04d}-{(first + m) % 12 + 1:02d}" for m in there.tolist()]
    return labels, np.searchsorted(there, month).astype(np.int64)


def in_months(log: Log, months: str | Sequence[str]) -> Log:
    """Return the jobs submitted in some months.

    Parameters
    ----------
    months
        One month as "1996-10", or several.
    """
    wanted = [months] if isinstance(months, str) else list(months)
    for month in wanted:
        try:
            checked_month(month)
        except ValueError as error:
            raise LogError(log.name, f'"{month}" {error}') from None
    labels, index = months_of(log.submit, log.epoch, name=log.name)
    for month in wanted:
        if month not in labels:
            raise LogError(log.name, f"no job was submitted in {month}; its months are {_span(labels)}")
    chosen = np.isin(index, [labels.index(month) for month in wanted])
    return _part(log, chosen, f"submitted in {', '.join(sorted(set(wanted)))}")


def month_before(month: str) -> str:
    """Return the previous month, as "1996-10"."""
    year, number = divmod(12 * int(month[:4]) + int(month[5:]) - 2, 12)
    return f"{year}-{number + 1:02}"


def between(log: Log, since: str | date | None = None, until: str | date | None = None) -> Log:
    """Return the jobs submitted at or after one instant and before another.

    Parameters
    ----------
    since, until
        A date ("1996-10-01" is its first second) or an instant ("1996-10-01T12:00"), by default in the zone of the log;
        None for the first and the last job.
    """
    begin, end = _instant(log, since), _instant(log, until)
    if begin is not None and end is not None and begin >= end:
        raise LogError(log.name, f"from {since} until {until} is an empty span; the second time must be later")
    chosen = np.ones(len(log), dtype=bool)
    if begin is not None:
        chosen &= log.submit >= begin
    if end is not None:
        chosen &= log.submit < end
    said = [f"from {since}"] if since is not None else []
    said += [f"until {until}"] if until is not None else []
    if not chosen.any():
        times = (int(log.submit.min()), int(log.submit.max())) if len(log) else (0, 0)
        dates = " to ".join(_local(log, seconds).isoformat() for seconds in times)
        raise LogError(log.name, f"no job was submitted {' '.join(said)}; its jobs were, from {dates}")
    return _part(log, chosen, f"submitted {' '.join(said)}")


def first_jobs(log: Log, count: int) -> Log:
    """Return the first `count` jobs, or all if there are fewer."""
    if count < 1:
        raise LogError(log.name, f"first {count}: must be 1 or more")
    return _part(log, np.arange(min(count, len(log))), f"the first {count}")


def noted(log: Log, note: str) -> Log:
    """Return the log with its present MaxJobs and MaxRecords, and one more Note in its header."""
    part = np.isin(log.status, PARTIAL)
    jobs = len(np.union1d(log.job, [])) if part.any() else len(log)
    header = log.header.with_value("MaxJobs", jobs).with_value("MaxRecords", len(log))
    return log.with_header(header.with_note(note))


def checked_month(text: str) -> str:
    """Return a month like "1996-10".

    Raises
    ------
    ValueError
        It is not a month; the message continues the text.
    """
    if not _MONTH.fullmatch(text):
        raise ValueError("is not a month; write one like 1996-10")
    return text


def checked_instant(text: str) -> datetime:
    """Return a date ("1996-10-01": its first second) or an instant, with its zone if it has one.

    Raises
    ------
    ValueError
        It is neither; the message continues the text.
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        month = f"{text}-01 or {text}-01T12:00" if _MONTH.fullmatch(text) else "1996-10-01 or 1996-10-01T12:00"
        raise ValueError(f"is not a date; write one like {month}") from None


def parts_of(log: Log) -> tuple[str, ...]:
    """Return, from Notes of its header, which part of the original log this is, and how its load was scaled."""
    found = (" ".join(note.split()) for note in log.header.notes)
    return tuple(note.removeprefix(_SELECTED) for note in found if note.startswith((_SELECTED, _SCALED)))


def part_in_words(part: str) -> str:
    """Return one of the `parts_of` a log as a phrase: "only jobs submitted in 1996-10", "only the first 50 jobs"."""
    if part.startswith(_SCALED):
        return part
    words, first = re.subn(r"^the first ([0-9]+)", r"the first \1 jobs", part)
    return f"only {words}" if first else f"only jobs {part}"


def _part(log: Log, rows: NDArray[Any], what: str) -> Log:
    part = log.select(rows)
    return noted(part, f"{_SELECTED}{what} ({len(part):,} of {len(log):,})")


def _span(labels: list[str]) -> str:
    if len(labels) <= 12:
        return ", ".join(labels) or "none"
    return f"{labels[0]} to {labels[-1]}"


def _local(log: Log, seconds: int) -> datetime:
    """Return an instant of a log on the calendar of its machine."""
    try:
        return datetime.fromtimestamp(log.start_time + seconds, log.zone)
    except (OverflowError, ValueError, OSError):
        raise LogError(log.name, f"second {seconds} is outside of the calendar") from None


def _months_since_year_0(seconds: int, epoch: Epoch, name: str) -> int:
    try:
        local = datetime.fromtimestamp(epoch.start + seconds, epoch.zone)
    except (OverflowError, ValueError, OSError):
        local = datetime.min
    if not 2 <= local.year <= 9998:
        way_out = (
            "correct that job or UnixStartTime in the header, or leave the job out (gas convert with --from DATE or "
            "--until DATE)"
        )
        raise LogError(name, f"second {seconds} is outside of the calendar, so it has no month; {way_out}")
    return 12 * local.year + local.month - 1


def _month_start(months_since_year_0: int, epoch: Epoch) -> int:
    year, month = divmod(months_since_year_0, 12)
    return int(datetime(year, month + 1, 1, tzinfo=epoch.zone).timestamp()) - epoch.start


def _instant(log: Log, given: str | date | None) -> int | None:
    """Return an instant in seconds of the log."""
    if given is None:
        return None
    moment: date | None = given if isinstance(given, date) else None
    if isinstance(given, str):
        try:
            moment = checked_instant(given)
        except ValueError as error:
            raise LogError(log.name, f'"{given}" {error}') from None
    if not isinstance(moment, datetime):
        assert moment is not None
        moment = datetime.combine(moment, time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=log.zone)
    try:
        return int(np.ceil(moment.timestamp())) - log.start_time
    except (OverflowError, ValueError):
        raise LogError(log.name, f'"{given}" is outside of the calendar') from None
