"""Options that choose which jobs of a log take part, and how densely they arrive; alike in all commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gas.errors import BadInput

if TYPE_CHECKING:
    from workloads import Log, RigidJobs

__all__ = ["First", "From", "Lenient", "Month", "ScaleLoad", "Scaled", "Until", "check_load", "scaled", "selected"]


def _months(given: list[str] | None) -> list[str] | None:
    """Return the months that were named, each once; refuse what is none before any log is read."""
    from workloads.selection import checked_month

    if not given:
        return given
    found = dict.fromkeys(word.strip() for text in given for word in text.split(",") if word.strip())
    for month in found or given:
        _refuse_unless(checked_month, "--month", month)
    return list(found)


def _instant_of(option: str) -> Callable[[str | None], str | None]:
    def checked(given: str | None) -> str | None:
        from workloads.selection import checked_instant

        if given is not None:
            _refuse_unless(checked_instant, option, given)
        return given

    return checked


def _refuse_unless(checked: Callable[[str], object], option: str, given: str) -> None:
    try:
        checked(given)
    except ValueError as error:
        raise BadInput(f"{option} {given}: {error}") from None


Month = Annotated[
    list[str] | None,
    typer.Option(
        "--month",
        metavar="YYYY-MM[,...]",
        callback=_months,
        help="Only jobs submitted in this month; several add up.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="DATE", callback=_instant_of("--from"), help="Only jobs submitted at or after this."
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="DATE", callback=_instant_of("--until"), help="Only jobs submitted before this."),
]
First = Annotated[int | None, typer.Option("--first", min=1, metavar="N", help="Only the first N of these.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Leave malformed lines out and count them.")]
ScaleLoad = Annotated[
    float | None,
    typer.Option("--scale-load", metavar="L", help="Let jobs arrive faster or slower, so that they offer load L."),
]

_LAST_SECOND = 2**53
"""The largest number that a log can hold (`workloads.log`)."""


def selected(log: Log, months: Sequence[str] | None, since: str | None, until: str | None, first: int | None) -> Log:
    """Return the part of a log that the options name."""
    from workloads.selection import between, first_jobs, in_months

    if months:
        log = in_months(log, months)
    if since is not None or until is not None:
        log = between(log, since, until)
    return log if first is None else first_jobs(log, first)


class Scaled(NamedTuple):
    """Jobs as --scale-load lets them arrive."""

    jobs: RigidJobs
    before: float
    """The load that they offered."""
    factor: float
    """By which interarrival times were multiplied."""


def check_load(load: float | None) -> None:
    """Refuse a --scale-load that no log can have.

    Raises
    ------
    BadInput
        It is not a number above 0.
    """
    if load is not None and not (math.isfinite(load) and load > 0):
        raise BadInput(f"--scale-load {load:g}: must be a number above 0, for example 0.8")


def scaled(jobs: RigidJobs, load: float) -> Scaled:
    """Return the jobs arriving faster or slower by one factor, so that they offer this load.

    Raises
    ------
    BadInput
        No factor gives it, or only one with which the log would last no second, or longer than can be counted.
    """
    from workloads import offered_load, scale_to_load

    check_load(load)
    before = offered_load(jobs)
    if before:
        span = int(jobs.submit[-1] - jobs.submit[0])
        lasts = before * span / load  # divided last: for a tiny load the factor alone would be infinite
        for wrong, why in (
            (lasts < 1, "all jobs would arrive in one second"),
            (jobs.submit[0] + lasts > _LAST_SECOND, "the jobs would arrive over more than 2**53 seconds"),
        ):
            if wrong:
                raise BadInput(
                    f"--scale-load {load:g}: {why} (they offer {before:.3g} now); name a load nearer to that"
                )
    try:
        return Scaled(scale_to_load(jobs, load), before, before / load)
    except ValueError as error:
        raise BadInput(f"--scale-load {load:g}: {error}") from None
