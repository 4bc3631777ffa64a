"""The schedulers asked at the same time: those that answer are planned with, on each account and QOS that it offers.

A list that is not of the present is left out (`gas.endpoints.freshness`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from gas.endpoints import Answer, Endpoint, FileEndpoint, JobEndpoint, ask
from gas.endpoints.asking import ask_again
from gas.endpoints.freshness import MOST_APART_LIVE, without_stale
from gas.errors import GasError, Unreachable
from gas.node_availability import Availability
from gas.planner import Limits
from speedup_models import FieldError

__all__ = ["Choosing", "Scheduler", "called", "find_by_key", "gather", "lists_of", "seconds_since"]

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
