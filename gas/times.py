"""Instants and durations as people write and read them: integer seconds inside, text at the edges."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from gas.errors import BadInput

__all__ = [
    "LATEST",
    "LONGEST",
    "duration_text",
    "iso_time",
    "parse_duration",
    "parse_instant",
    "relative_text",
]

LATEST = 2**53 - 1
"""The last instant there is (epoch seconds): whole numbers up to here survive every JSON reader."""

LONGEST = 2**32
"""The longest walltime in seconds (136 years): with it, instants plus walltimes stay far from overflow."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_WITH_UNITS = re.compile(r"(?:\d+[wdhms])+", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)", re.ASCII)


def parse_duration(text: str, what: str = "walltime", *, minimum: int = 1) -> int:
    """Return the seconds of ``HH:MM:SS``, ``D-HH:MM:SS``, ``1d12h30m`` or ``90s``.

    ``a:b`` is refused: half of the schedulers read it as hours and minutes, the other half as minutes and seconds.
    """
    given = text.strip()
    if len(given) > 40:
        raise BadInput(f"{what} {given[:37]!r}...: too long for a duration; write 12h30m or 12:30:00")
    if _WITH_UNITS.fullmatch(given):
        seconds = sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+)([wdhms])", given))
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
        raise BadInput(f"{what} {given}: is above {LONGEST} s (136 years), the longest that is possible")
    return seconds


def parse_instant(text: str, now: int, what: str = "instant") -> int:
    """Return the epoch seconds of ``2026-11-21T08:00``, ``+2h`` or ``@1731000000``.

    A date and time is local unless it names a zone.
    """
    given = text.strip()
    if given.startswith("+"):
        return now + parse_duration(given[1:], what, minimum=0)
    if match := re.fullmatch(r"@(\d{1,16})", given, re.ASCII):
        seconds = int(match[1])
    else:
        try:
            moment = datetime.fromisoformat(given)
            seconds = int(moment.timestamp())
        except (ValueError, OverflowError):
            raise BadInput(
                f"{what} {given[:40]!r}: not an instant; write 2026-11-21T08:00, +2h (from now) or @1731000000 "
                "(epoch seconds)"
            ) from None
    if not 0 <= seconds <= LATEST:
        raise BadInput(f"{what} {given[:40]!r}: is outside 0 to {LATEST} epoch seconds")
    return seconds


@lru_cache(maxsize=2**16)  # a service writes the instants of a long queue again and again
def iso_time(seconds: int) -> str:
    """Return an instant in ISO 8601, UTC; the epoch seconds themselves after the year 9999."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"@{seconds}"


def duration_text(seconds: int) -> str:
    """Return a duration in its two largest units: ``36s``, ``5m30s``, ``2h05m``, ``3d04h``."""
    if seconds < 0:
        return "-" + duration_text(-seconds)
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
