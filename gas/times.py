"""Instants and durations as people write and read them: integer seconds inside, text at the edges."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from gas.errors import BadInput

__all__ = [
    "LATEST",
    "LONGEST",
    "clock_text",
    "duration_text",
    "iso_time",
    "parse_duration",
    "parse_instant",
    "parse_past_instant",
    "relative_text",
]

LATEST = 2**53 - 1
"""The latest instant (epoch seconds): every JSON reader keeps whole numbers up to here exactly."""

LONGEST = 2**32
"""The longest walltime in seconds (136 years): instants plus walltimes stay far from overflow."""

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_WITH_UNITS = re.compile(r"(?:\d+(?:min|[wdhms]))+", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)", re.ASCII)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS = "|".join(["today", "tomorrow", *(f"{day[:3]}(?:{day[3:]})?" for day in _WEEKDAYS)])
_TIME_OF_DAY = re.compile(rf"(?:({_DAYS})\s+)?([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII | re.IGNORECASE)


def parse_duration(text: str, what: str = "walltime", *, minimum: int = 1) -> int:
    """Return the seconds of ``HH:MM:SS``, ``D-HH:MM:SS``, ``1d12h30m``, ``30min`` or ``90s``.

    ``a:b`` is refused: half of the schedulers read it as hours and minutes, the other half as minutes and seconds.
    """
    given = text.strip()
    if len(given) > 40:
        raise BadInput(f"{what} {given[:37]!r}...: too long for a duration; write 12h30m or 12:30:00")
    if _WITH_UNITS.fullmatch(given):
        seconds = sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+)(min|[wdhms])", given))
    elif match := _CLOCK.fullmatch(given):
        days, hours, minutes, rest = (int(part or 0) for part in match.groups())
        seconds = days * 86400 + hours * 3600 + minutes * 60 + rest
    elif two := re.fullmatch(r"(\d+):([0-5]?\d)", given, re.ASCII):
        a, b = two.groups()
        raise BadInput(f"{what} {given}: could mean {a}h{b}m or {a}m{b}s; write one of these two")
    elif re.fullmatch(r"\d+", given, re.ASCII):
        raise BadInput(f"{what} {given}: without a unit; write {given}s, {given}m or {given}h")
    else:
        raise BadInput(f"{what} {given!r}: not a duration; write 12h30m, 90s, 12:30:00 or 1-12:30:00")
    if seconds < minimum:
        raise BadInput(f"{what} {given}: must be at least {minimum} s")
    if seconds > LONGEST:
        raise BadInput(f"{what} {given}: is above {LONGEST} s (136 years), the maximum")
    return seconds


_DATES = "2026-11-21T08:00 or @1731000000 (epoch seconds)"
_FUTURE = f"+2h or 30min (from now), 18:30, tomorrow 9:00, Monday 9:00, {_DATES}"
_PAST = f"2h or 30min (ago), 18:30, Monday 9:00, {_DATES}"


def parse_instant(text: str, now: int, what: str = "instant") -> int:
    """Return the epoch seconds of an instant as people write it; the service's page reads the same forms.

    ``+2h`` and ``30min`` count from `now`; ``18:30`` is the next time at which a clock shows this, ``Monday 9:00`` (or
    ``mon``) the next one on that day; ``today 18:30`` and ``tomorrow 9:00`` are on those days; ``2026-11-21T08:00`` is
    a date and time, ``@1731000000`` epoch seconds. All are in local time unless they name a zone.
    """
    return _instant(text.strip(), now, what, _FUTURE)


def _instant(given: str, now: int, what: str, forms: str) -> int:
    if given.startswith("+"):
        return now + parse_duration(given[1:], what, minimum=0)
    if len(given) <= 40 and _WITH_UNITS.fullmatch(given):
        return now + parse_duration(given, what, minimum=0)
    if match := re.fullmatch(r"@(\d{1,16})", given, re.ASCII):
        seconds = int(match[1])
    elif match := _TIME_OF_DAY.fullmatch(given):
        hour, minute, second = (int(part or 0) for part in match.groups()[1:])
        seconds = _by_the_clock(now, (match[1] or "").lower(), hour, minute, second)
    else:
        try:
            moment = datetime.fromisoformat(re.sub(r"(?<=[T ])(?=\d:)", "0", given))  # accept 8:00 like 08:00
            seconds = int(moment.timestamp())
        except (ValueError, OverflowError):
            raise BadInput(f"{what} {given[:40]!r}: not a time; write {forms}") from None
    if not 0 <= seconds <= LATEST:
        raise BadInput(f"{what} {given[:40]!r}: is outside 0 to {LATEST} epoch seconds")
    return seconds


def clock_text(text: str, now: int) -> str:
    """Return which instant a local clock time means, with its offset and in UTC; empty for other forms of instants."""
    given = text.strip()
    if _TIME_OF_DAY.fullmatch(given) is None:
        try:
            if datetime.fromisoformat(re.sub(r"(?<=[T ])(?=\d:)", "0", given)).tzinfo is not None:
                return ""
        except ValueError:
            return ""
    at = parse_instant(given, now)
    local = datetime.fromtimestamp(at)
    with suppress(ValueError):  # a time zone a day or more from UTC, as a mistyped TZ makes
        local = local.astimezone()
    return f"{local.isoformat()} by the local clock, {iso_time(at)} in UTC"


def has_passed_today(text: str, now: int) -> bool:
    """Return whether a time of day means tomorrow, because today it has passed."""
    found = _TIME_OF_DAY.fullmatch(text.strip())
    if found is None or found[1]:
        return False
    return datetime.fromtimestamp(parse_instant(text, now)).date() > datetime.fromtimestamp(now).date()


def parse_past_instant(text: str, now: int, what: str = "instant") -> int:
    """Return the epoch seconds of a past instant: ``2h`` is two hours ago, ``18:30`` the last time it was 18:30.

    Dates and epoch seconds are as `parse_instant` reads them.
    """
    given = text.strip()
    if len(given) <= 40 and _WITH_UNITS.fullmatch(given):
        return max(0, now - parse_duration(given, what, minimum=0))
    match = _TIME_OF_DAY.fullmatch(given)
    if match and _weekday(match[1]) is not None:
        ago = parse_instant(given, max(0, now - 7 * 86400), what)
        return ago if ago <= now else parse_instant(given, max(0, now - 8 * 86400), what)
    if match and not match[1]:
        back = 86400 if parse_instant(given, max(0, now - 86400), what) <= now else 90000  # a day may have 25 hours
        return parse_instant(given, max(0, now - back), what)
    seconds = _instant(given, now, what, _PAST)
    if seconds > now:
        raise BadInput(f"{what} {given[:40]}: is {iso_time(seconds)}, which is in the future; write 2h (ago) or 18:30")
    return seconds


def _by_the_clock(now: int, day: str, hour: int, minute: int, second: int) -> int:
    """Return when a local clock shows a time: on the given day, or else next.

    When clocks are set back, a time occurs twice on that day; the next occurrence is returned. When clocks are set
    forward, some times do not occur; on a given day, the result is what the clock would have shown.
    """
    try:
        today = datetime.fromtimestamp(now).replace(hour=hour, minute=minute, second=second, microsecond=0)
        if (weekday := _weekday(day)) is not None:
            ahead = [
                (today + timedelta(days=(weekday - today.weekday()) % 7 + more)).replace(fold=0) for more in (0, 7)
            ]
            return min(at for moment in ahead if (at := int(moment.timestamp())) >= now)
        if day:
            return int((today + timedelta(days=day == "tomorrow")).replace(fold=0).timestamp())
        shown = [
            int(moment.timestamp())
            for days in range(3)
            for fold in (0, 1)
            if _exists(moment := (today + timedelta(days=days)).replace(fold=fold))
        ]
        return min(seconds for seconds in shown if seconds >= now)
    except (ValueError, OverflowError, OSError):
        return LATEST + 1  # the year is out of range


def _weekday(day: str | None) -> int | None:
    """Return the number of a day of the week, counted from Monday; None for other words."""
    return next((number for number, name in enumerate(_WEEKDAYS) if day and name[:3] == day[:3].lower()), None)


def _exists(moment: datetime) -> bool:
    """Return whether the local clock ever shows this time."""
    return datetime.fromtimestamp(moment.timestamp()) == moment.replace(fold=0)


@lru_cache(maxsize=2**16)  # a service writes the instants of a long queue again and again
def iso_time(seconds: int) -> str:
    """Return an instant in ISO 8601, UTC; the epoch seconds themselves after the year 9999."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"@{seconds}"


def duration_text(seconds: int, *, exact: bool = False) -> str:
    """Return a duration in its two largest units: ``36s``, ``5m30s``, ``2h05m``, ``3d04h``.

    With `exact`, smaller units follow unless they are 0, to distinguish durations that differ by a second.
    """
    if seconds < 0:
        return "-" + duration_text(-seconds, exact=exact)
    rest = seconds % (3600 if seconds >= 86400 else 60) if exact and seconds >= 3600 else 0
    if rest:
        minutes = f"{rest // 60:02}m" if seconds >= 86400 else ""
        return f"{duration_text(seconds - rest)}{minutes}{rest % 60:02}s"
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02}s"
    if seconds < 86400:
        return f"{seconds // 3600}h{seconds % 3600 // 60:02}m"
    return f"{seconds // 86400}d{seconds % 86400 // 3600:02}h"


def relative_text(instant: int, now: int) -> str:
    """Return an instant as seen from now: ``now``, ``in 2h05m``, ``5m00s ago``."""
    if instant == now:
        return "now"
    return f"in {duration_text(instant - now)}" if instant > now else f"{duration_text(now - instant)} ago"
