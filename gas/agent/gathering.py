"""The schedulers asked, with the accounts and QOS that they offer, and lists of other times left out.

A list shows what was free when it was made. One in a file may be of yesterday, or of another clock's tomorrow: it is
planned with if it is of the present hour. One that a live scheduler answers is to be of the present minute. S³ makes
its list when it is asked, by a clock of its own, which may run ahead by design (``gas serve --clock-speed``): there the
answer's age counts, which HTTP gives (`gas.endpoints.s3`), and not the instant that the list is of.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from documents.fields import FieldError
from gas.availability import Availability
from gas.endpoints import Answer, Endpoint, FileEndpoint, JobEndpoint, ask
from gas.endpoints.asking import ask_again
from gas.errors import BadInput, GasError, Unreachable
from gas.planner import Limits
from gas.times import duration_text, iso_time

__all__ = [
    "MOST_APART_IN_A_FILE",
    "MOST_APART_LIVE",
    "Choosing",
    "Scheduler",
    "called",
    "find_by_key",
    "gather",
    "lists_of",
    "seconds_since",
    "why_old",
    "without_stale",
]

MOST_APART_IN_A_FILE = 3600
MOST_APART_LIVE = 60
"""Seconds between the instant of a list and the present."""

Scheduler = Endpoint | tuple[str, Exception]
"""An endpoint, or the name of one that could not be set up, and why."""


@runtime_checkable
class Choosing(Protocol):
    """A scheduler that takes jobs on several accounts, or with several qualities of service."""

    def choices(self) -> Sequence[Endpoint]:
        """Return it with each of those that jobs do not get anyway; after it has answered."""


def gather(schedulers: Sequence[Scheduler], *, choices: bool = True, stale_ok: bool = False) -> list[Answer]:
    """Return what each scheduler answers, in the given order, then the answers for its other accounts and QOS.

    Parameters
    ----------
    choices
        Whether those other accounts and QOS are asked for.
    stale_ok
        Whether lists of any time are meant.
    """
    usable = iter(ask([e for e in schedulers if not isinstance(e, tuple)]))
    answers = [Answer(_Broken(e[0]), None, e[1], 0.0) if isinstance(e, tuple) else next(usable) for e in schedulers]
    answers += _with_choices(answers) if choices else []
    if seconds_since(answers) > MOST_APART_LIVE:  # another one was waited for
        answers = ask_again(answers)
    return without_stale(answers, time.time(), time.monotonic(), stale_ok=stale_ok)


def _with_choices(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers of other accounts and QOS with which the schedulers that have answered take jobs."""
    others = [
        one
        for answer in answers
        if answer.availability is not None and isinstance(answer.endpoint, Choosing)
        for one in answer.endpoint.choices()
    ]
    return [one for one in ask(others) if one.error is None] if others else []


def seconds_since(answers: Sequence[Answer]) -> float:
    """Return how long ago the first of the live schedulers answered; 0 if none did."""
    live = [a.at for a in answers if a.availability is not None and not isinstance(a.endpoint, FileEndpoint)]
    return time.monotonic() - min(live) if live else 0.0


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
        _of_the_present(answer, round(present - (clock - answer.at)), max(live, default=None), stale_ok=stale_ok)
        for answer in answers
    ]


def _of_the_present(answer: Answer, answered: int, of_live: int | None, *, stale_ok: bool) -> Answer:
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


def lists_of(answers: Sequence[Answer]) -> list[Availability]:
    """Return what those have free that have answered, or raise `Unreachable`."""
    found = [a.availability for a in answers if a.availability is not None]
    if not found:
        raise Unreachable("no scheduler answered")
    return found


def called(endpoint: Endpoint) -> str:
    """Return the name by which the user knows a scheduler: with one of its choices fixed, it has another."""
    name: str = getattr(endpoint, "configured_as", endpoint.name)
    return name


def find_by_key(schedulers: Sequence[Scheduler], key: str) -> tuple[JobEndpoint, dict[str, Any]] | None:
    """Return the scheduler that has a job with this key, and the job; None if there is none.

    Raises
    ------
    Unreachable
        No scheduler that answers has the job, and at least one does not answer.
    """
    silent: list[str] = []
    for endpoint in schedulers:
        try:
            if isinstance(endpoint, tuple):
                raise endpoint[1]
            if isinstance(endpoint, JobEndpoint) and (job := endpoint.job_by_key(key)) is not None:
                return endpoint, job
        except (GasError, FieldError) as error:
            silent.append(str(error))
    if silent:
        raise Unreachable(f"it is not known whether there is a job with the key {key}: {'; '.join(silent)}")
    return None


@dataclass(frozen=True)
class _Broken:
    """Stands for an endpoint that could not be set up."""

    name: str
    address: str = ""

    @property
    def limits(self) -> Limits:  # protocols are checked by having a look
        return Limits()

    def availability(self) -> Any:
        raise NotImplementedError
