"""Date axes: round instants in a log's own time zone, with labels.

calendar_ticks   positions of the ticks, in seconds of the log, and their labels
date_axis        draws these ticks on a panel
window_text      a span of time in words
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from workloads import Epoch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Tick", "calendar_ticks", "date_axis", "dated", "window_text"]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_SECONDS = [s * unit for unit in (1, _MINUTE) for s in (1, 2, 5, 10, 15, 30)] + [h * _HOUR for h in (1, 2, 3, 6, 12)]
_DAYS = [1, 2, 7, 14]
_MONTHS = [1, 2, 3, 6]
_MONTH = 30.44 * _DAY
_EARLIEST, _LATEST = -(10**10), 2 * 10**11  # years 1653 to 8307: far from the limits of dates
_NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


class Tick(NamedTuple):
    """A tick on an axis of dates."""

    second: int
    """Second of the log."""
    label: str
    """The label, possibly of two lines; the second contains the changed part: the date, or the year."""


def dated(epoch: Epoch) -> bool:
    """Return whether the date of second 0 of a log is known; otherwise an axis counts days from 0.

    1970-01-01 00:00 UTC counts as unknown: generated logs, and logs without a date, begin there.
    """
    return epoch.start != 0


def calendar_ticks(first: int, last: int, epoch: Epoch, most: int = 12) -> list[Tick]:
    """Return about `most` round local instants from `first` to `last` (seconds of the log), or fewer."""
    length = max(last - first, 1)
    on_calendar = _on_calendar(first, last, epoch)
    step = next((s for s in (*_SECONDS, *(d * _DAY for d in _DAYS)) if length <= most * s), 0)
    if not on_calendar:
        return _plain_ticks(first, last, step or _round_days(length / most))
    if step and step < _DAY:
        return _clock_ticks(first, last, step, epoch)
    if step:
        return _day_ticks(first, last, step // _DAY, epoch)
    for months in _MONTHS:
        if length <= most * months * _MONTH:
            return _month_ticks(first, last, months, epoch)
    years = _round_days(length / most / 12 / _MONTH * _DAY) // _DAY
    return _month_ticks(first, last, 12 * years, epoch)


def date_axis(ax: Axes, first: int, last: int, epoch: Epoch, *, labels: bool = True) -> None:
    """Make a panel's x axis a date axis, from `first` to `last` in seconds of the log."""
    ticks = calendar_ticks(first, last, epoch)
    ax.set_xlim(first, max(last, first + 1))
    ax.set_xticks([tick.second for tick in ticks], [tick.label for tick in ticks] if labels else [""] * len(ticks))
    for text in ax.get_xticklabels():
        text.set_linespacing(1.3)


def window_text(first: int, last: int, epoch: Epoch) -> str:
    """Return ``4 Nov 1996 08:00 to 11 Nov 1996 08:00 (Europe/Stockholm)``; ``day 3 08:00 to day 10 00:00``."""
    if not _on_calendar(first, last, epoch):
        begin, end = (f"day {s // _DAY} {s % _DAY // _HOUR:02}:{s % _HOUR // _MINUTE:02}" for s in (first, last))
        return f"{begin} to {end}"
    begin, end = (f"{_date(local)} {local.year} {local:%H:%M}" for local in (_local(s, epoch) for s in (first, last)))
    return f"{begin} to {end} ({epoch.zone})"


def _on_calendar(first: int, last: int, epoch: Epoch) -> bool:
    return dated(epoch) and epoch.start + first >= _EARLIEST and epoch.start + last <= _LATEST


def _date(day: date) -> str:
    return f"{day.day} {_NAMES[day.month - 1]}"


def _round_days(seconds: float) -> int:
    """Return 1, 2 or 5 times a power of ten days, at least the given number of seconds."""
    return next(d for k in range(20) for n in (1, 2, 5) if seconds <= (d := n * int(10**k) * _DAY))


def _plain_ticks(first: int, last: int, step: int) -> list[Tick]:
    """Return ticks that count days and hours from second 0."""
    found: list[Tick] = []
    before = None
    for at in range(-(-first // step) * step, last + 1, step):
        day, rest = divmod(at, _DAY)
        if step >= _DAY:
            found.append(Tick(at, f"day {day}"))
            continue
        text = f"{rest // _HOUR:02}:{rest % _HOUR // _MINUTE:02}" + (f":{rest % _MINUTE:02}" if step < _MINUTE else "")
        found.append(Tick(at, text if day == before else f"{text}\nday {day}"))
        before = day
    return found


def _clock_ticks(first: int, last: int, step: int, epoch: Epoch) -> list[Tick]:
    found: list[Tick] = []
    before = None
    begin, end = _local(first, epoch), _local(last, epoch)
    set_back = max((begin.utcoffset() or timedelta()) - (end.utcoffset() or timedelta()), timedelta())
    for day in _days(first, last, epoch):
        low = _of_day(begin) // step * step if day == begin.date() else 0
        high = _of_day(end) + int(set_back.total_seconds()) if day == end.date() else _DAY
        for second in range(low, min(high + 1, _DAY), step):
            local = datetime(day.year, day.month, day.day) + timedelta(seconds=second)
            at = _second(local, epoch)
            # When clocks are set forward, some times of the day do not occur.
            if at is not None and first <= at <= last:
                text = f"{local:%H:%M}" if step >= _MINUTE else f"{local:%H:%M:%S}"
                found.append(Tick(at, text if day == before else f"{text}\n{_date(day)} {day.year}"))
                before = day
    return found


def _day_ticks(first: int, last: int, step: int, epoch: Epoch) -> list[Tick]:
    found: list[Tick] = []
    year = None
    for day in _days(first, last, epoch):
        if (day.toordinal() - 1) % step:  # ordinal 1 is a Monday
            continue
        at = _second(datetime(day.year, day.month, day.day), epoch)
        if at is not None and first <= at <= last:
            found.append(Tick(at, _date(day) if day.year == year else f"{_date(day)}\n{day.year}"))
            year = day.year
    return found


def _month_ticks(first: int, last: int, step: int, epoch: Epoch) -> list[Tick]:
    found: list[Tick] = []
    begin, end = _local(first, epoch), _local(last, epoch)
    year = None
    for number in range(begin.year * 12 + begin.month - 1, end.year * 12 + end.month):
        if number % step:
            continue
        at = _second(datetime(number // 12, number % 12 + 1, 1), epoch)
        if at is not None and first <= at <= last:
            name = _NAMES[number % 12]
            if step >= 12:
                found.append(Tick(at, str(number // 12)))
            else:
                found.append(Tick(at, name if number // 12 == year else f"{name}\n{number // 12}"))
            year = number // 12
    return found


def _days(first: int, last: int, epoch: Epoch) -> Iterator[date]:
    day, end = _local(first, epoch).date(), _local(last, epoch).date()
    while day <= end:
        yield day
        day += timedelta(days=1)


def _local(second: int, epoch: Epoch) -> datetime:
    return datetime.fromtimestamp(epoch.start + second, epoch.zone)


def _of_day(local: datetime) -> int:
    return local.hour * _HOUR + local.minute * _MINUTE + local.second


def _second(local: datetime, epoch: Epoch) -> int | None:
    """Return the first second of the log at which the local clock shows this time; None if it never does."""
    zone: tzinfo = epoch.zone
    instant = local.replace(tzinfo=zone).timestamp()
    shown = datetime.fromtimestamp(instant, zone).replace(tzinfo=None)
    return int(instant) - epoch.start if shown == local else None
