"""How old an availability list may be to be planned with.

A list shows what was free when it was made. One in a file may be of yesterday, or of another clock's tomorrow: it is
planned with if it is of the present hour. One that a live scheduler answers is to be of the present minute. S³ makes
its list when it is asked, by a clock of its own, which may run ahead by design (``gas serve --clock-speed``): there the
answer's age counts, which HTTP gives (`gas.endpoints.s3`), and not the instant that the list is of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gas.endpoints.asking import Answer
from gas.endpoints.endpoint import JobEndpoint
from gas.errors import BadInput, Unreachable
from gas.times import duration_text, iso_time

__all__ = ["MOST_APART_IN_A_FILE", "MOST_APART_LIVE", "why_old", "without_stale"]

MOST_APART_IN_A_FILE = 3600
MOST_APART_LIVE = 60
"""Seconds between the instant of a list and the present."""


def without_stale(answers: Sequence[Answer], present: float, clock: float, *, stale_ok: bool = False) -> list[Answer]:
    """Return the answers, with an error in place of each list that is not of the present.

    Beside live schedulers the present is theirs, whatever `stale_ok` says: with a list of last week, processors would
    be taken for free that are not, and with one of next week the live ones would be planned for then.

    Parameters
    ----------
    present
        Epoch second of this machine's clock.
    clock
        The same instant by `time.monotonic`.
    stale_ok
        Whether lists of any time are meant.
    """
    live = [a.availability.now for a in answers if a.availability is not None and isinstance(a.endpoint, JobEndpoint)]
    return [
        _checked(answer, round(present - (clock - answer.at)), max(live, default=None), stale_ok=stale_ok)
        for answer in answers
    ]


def _checked(answer: Answer, answered: int, of_live: int | None, *, stale_ok: bool) -> Answer:
    """Check one list, which arrived at the epoch second `answered`."""
    if answer.availability is None or getattr(answer.endpoint, "keeps_own_clock", False):
        return answer
    now = answer.availability.now
    what = f"{answer.name}: as of {iso_time(now)}, "
    if isinstance(answer.endpoint, JobEndpoint):
        old = why_old(answer.name, now, answered, answer.seconds)
        if stale_ok or old is None:
            return answer
        return replace(answer, availability=None, error=Unreachable(old))
    if of_live is not None:
        if abs(now - of_live) <= MOST_APART_IN_A_FILE:
            return answer
        problem = f"{what}{_apart(now, of_live)} the live schedulers; left out"
    else:
        if stale_ok or abs(now - answered) <= MOST_APART_IN_A_FILE:
            return answer
        problem = (
            f"{what}{_apart(now, answered)} this machine's clock; what is free changes, so a list is planned with for "
            f"{duration_text(MOST_APART_IN_A_FILE)}: fetch a new one (gas availability --json), or add --stale-ok"
        )
    return replace(answer, availability=None, error=BadInput(problem))


def why_old(name: str, now: int, answered: int, seconds: float = 0.0) -> str | None:
    """Return why the list of a live scheduler is not of the present, and what helps; None if it is.

    Parameters
    ----------
    now
        Of the list.
    answered
        The epoch second at which it arrived.
    seconds
        For how long it had been asked for.
    """
    nearest = min(max(now, answered - math.ceil(seconds)), answered)
    if abs(now - nearest) <= MOST_APART_LIVE:
        return None
    return (
        f"{name}: as of {iso_time(now)}, {_apart(now, nearest)} this machine's clock, so its plans are old or the "
        "clocks differ; to plan with them all the same, add --stale-ok"
    )


def _apart(now: int, present: int) -> str:
    return f"{duration_text(abs(now - present))} {'ahead of' if now > present else 'behind'}"
