"""Options that select jobs of a log and scale its load; the same in all commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gas.errors import BadInput
from workloads.sacct_header import Unit

if TYPE_CHECKING:
    from workloads import Log, RigidJobs

__all__ = ["First", "From", "Month", "ScaleLoad", "Scaled", "Strict", "Units", "Until"]
__all__ += ["check_load", "scaled", "selected"]


def _months(given: list[str] | None) -> list[str] | None:
    """Return the named months, each once; refuse invalid ones before any log is read."""
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
        help="Only jobs submitted in this month or these months.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="DATE", callback=_instant_of("--from"), help="Only jobs submitted at this time or later."
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="DATE", callback=_instant_of("--until"), help="Only jobs submitted before this time."
    ),
]
First = Annotated[
    int | None, typer.Option("--first", min=1, metavar="N", help="Only the first N of the selected jobs.")
]
Units = Annotated[
    Unit, typer.Option("--unit", help="What counts as a processor in sacct output: a CPU or a whole node.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse a log with malformed lines (default: skip and count them).")
]
ScaleLoad = Annotated[
    float | None,
    typer.Option(
        "--scale-load",
        metavar="L",
        help="Scale the interarrival times so that the offered load is L; 0.9 is 90% of the machine.",
    ),
]

_LAST_SECOND = 2**53
"""The largest number in a log (`workloads.log`)."""

_MOST_LOAD = 10.0
"""The largest --scale-load; larger values are most likely meant as percentages."""


def selected(log: Log, months: Sequence[str] | None, since: str | None, until: str | None, first: int | None) -> Log:
    """Return the part of a log selected by the options."""
    from workloads.selection import between, first_jobs, in_months

    if months:
        log = in_months(log, months)
    if since is not None or until is not None:
        log = between(log, since, until)
    return log if first is None else first_jobs(log, first)


class Scaled(NamedTuple):
    """Jobs with interarrival times scaled by --scale-load."""

    jobs: RigidJobs
    before: float
    """The offered load before scaling."""
    factor: float
    """The factor on interarrival times."""


def check_load(load: float | None, option: str = "--scale-load") -> None:
    """Refuse an offered load that is not a positive number, or so large that it means per cent.

    Raises
    ------
    BadInput
        It is not a number above 0, or above 10.
    """
    if load is not None and not (math.isfinite(load) and load > 0):
        raise BadInput(f"{option} {load:g}: must be a number above 0, for example 0.8")
    if load is not None and load > _MOST_LOAD:
        instead = f"; for {load:g}% write {load / 100:g}" if load <= 100 * _MOST_LOAD else ""
        raise BadInput(
            f"{option} {load:g}: must be at most {_MOST_LOAD:g}; 1 is as much work as the machine can do{instead}"
        )


def scaled(jobs: RigidJobs, load: float) -> Scaled:
    """Return the jobs with interarrival times scaled by one factor to this offered load.

    Raises
    ------
    BadInput
        No factor gives this load, or the log would last less than a second or longer than a log can hold.
    """
    from workloads import offered_load, scale_to_load

    check_load(load)
    before = offered_load(jobs)
    if before:
        span = int(jobs.submit[-1] - jobs.submit[0])
        lasts = before * span / load  # divide last: for a tiny load, the factor alone would be infinite
        for wrong, why in (
            (lasts < 1, "all jobs would arrive in one second"),
            (jobs.submit[0] + lasts > _LAST_SECOND, "the arrivals would span more than 2**53 seconds"),
        ):
            if wrong:
                raise BadInput(
                    f"--scale-load {load:g}: {why} (the offered load is {before:.3g} now); give a load closer to that"
                )
    try:
        return Scaled(scale_to_load(jobs, load), before, before / load)
    except ValueError as error:
        raise BadInput(f"--scale-load {load:g}: {error}") from None
