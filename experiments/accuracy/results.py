"""Results with wrong models: turn-around times compared with the users' own requests, by log, plan and error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.accuracy.beliefs import ERRORS, PLANS, Plan, Variant, Way
from experiments.framework.study import Computed
from experiments.framework.verdicts import Part, left_out, of_points, of_shares, of_sums, scaled, sign
from experiments.moldable import months
from experiments.moldable.months import MonthRun, Options
from experiments.moldable.terms import BASE, TERMS, Terms
from gas.intervals import sums_by_month

__all__ = ["ALL_TERMS", "MEASURES", "OWN", "Came", "Measure", "Results", "break_even", "fewer_lose", "gain", "killed"]
__all__ += ["longer", "loses", "saved", "summarised"]

OWN: Final = next(terms for terms in TERMS if terms.opponent == "own")
"""Users' sizes are those of the replaced jobs."""

ALL_TERMS: Final = (BASE, OWN)

Measure: TypeAlias = Literal["mean", "geometric mean", "median"]

MEASURES: Final[Mapping[Measure, Callable[[NDArray[Any], NDArray[Any]], float]]] = {
    "mean": lambda one, static: float(one.sum() / static.sum()),
    "geometric mean": lambda one, static: float(np.exp(np.log(one / static).mean())),
    "median": lambda one, static: float(np.median(one / static)),
}
"""Ratios of turn-around times to those of the users' own requests: of the means, and job by job."""


@dataclass(frozen=True, eq=False)
class Came:
    """The outcomes of all jobs of a log: a value per job, or a row with a column for each of `PLANS`.

    Attributes
    ----------
    static
        Turn-around time of the user's own request, in seconds.
    size, turnaround, killed
        Processors, turn-around time in seconds, and number of kills.
    months
        Month of each job.
    """

    static: NDArray[np.int64]
    size: NDArray[np.int64]
    turnaround: NDArray[np.int64]
    killed: NDArray[np.int64]
    months: tuple[str, ...]

    def sums(self, *columns: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the sums of columns over each month."""
        return sums_by_month(self.months, *columns)

    def share(self, those: NDArray[np.bool_]) -> Part:
        """Return a share of the jobs, in per cent."""
        return of_shares(*self.sums(those, np.ones(len(those))))


class Results(months.Results):
    """All runs and their results."""

    @cached_property
    def traces(self) -> list[str]:
        """The logs that take part, as the paper calls them."""
        return [site.trace for site, _ in self.logs]

    @cached_property
    def came(self) -> dict[tuple[Terms, str], Came]:
        """Outcomes by terms and log, if there are any."""
        rows: dict[tuple[Terms, str], list[tuple[MonthRun, Mapping[str, Any]]]] = {}
        for run, result in self.pairs:
            for row in result["outcomes"]:
                rows.setdefault((run.terms, run.site.trace), []).append((run, row))
        return {key: _came(of_log) for key, of_log in rows.items()}

    def of_logs(self, terms: Terms, part: Callable[[Came], Part]) -> dict[str, Part]:
        """Return a part of each log."""
        return {trace: part(self.came[terms, trace]) for trace in self.traces if (terms, trace) in self.came}


def _came(rows: list[tuple[MonthRun, Mapping[str, Any]]]) -> Came:
    static = np.maximum(np.array([row["static"] for _, row in rows], np.int64), 1)
    plans = np.array([row["plans"] for _, row in rows], np.int64).reshape(len(rows), len(PLANS), -1)
    size, _, turnaround, killed = np.moveaxis(plans, 2, 0)
    return Came(static, size, np.maximum(turnaround, 1), killed, tuple(run.month for run, _ in rows))


def summarised(computed: Computed[Options, MonthRun]) -> Results:
    """Return the results."""
    found = months.summarised(computed)
    return Results(**{field.name: getattr(found, field.name) for field in fields(found)})


def gain(came: Came, plan: Plan, measure: Measure) -> Part:
    """Return by how many per cent the turn-around time is shorter than with the users' own requests."""
    one = came.turnaround[:, PLANS.index(plan)]
    if measure == "mean":
        return scaled(of_sums(*came.sums(one, came.static)), -100, 100)
    of, value = np.array(came.months), MEASURES[measure]
    every = list(dict.fromkeys(came.months))
    without = [value(one[of != month], came.static[of != month]) for month in every] if len(every) > 1 else []
    return scaled(left_out(value(one, came.static), without), -100, 100)


def longer(came: Came, plan: Plan) -> Part:
    """Return by how many per cent the mean turn-around time is longer than with an exact model."""
    one, exact = (came.turnaround[:, PLANS.index(which)] for which in (plan, Plan(plan.variant, 0, plan.way)))
    return scaled(of_sums(*came.sums(one, exact)), 100, -100)


def loses(came: Came, plan: Plan) -> Part:
    """Return the share of the jobs that end later than with the user's own request, in per cent."""
    return came.share(came.turnaround[:, PLANS.index(plan)] > came.static)


def killed(came: Came, plan: Plan) -> Part:
    """Return the share of the jobs that are killed at least once, in per cent."""
    return came.share(came.killed[:, PLANS.index(plan)] > 0)


def saved(came: Came, variant: Variant, error: int) -> Part:
    """Return the saving of being cautious over Gas, in per cent of the mean with the users' own requests."""
    gas, cautious = _both(came, variant, error)
    return scaled(of_sums(*came.sums(gas - cautious, came.static)), 100)


def fewer_lose(came: Came, variant: Variant, error: int) -> Part:
    """Return the share of jobs that lose with Gas minus that with cautious planning, in percentage points."""
    gas, cautious = (one > came.static for one in _both(came, variant, error))
    return of_points(gas & ~cautious, cautious & ~gas, came.months)


def _both(came: Came, variant: Variant, error: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    gas, cautious = (came.turnaround[:, PLANS.index(Plan(variant, error, way))] for way in ("gas", "cautious"))
    return gas, cautious


def break_even(came: Came, variant: Variant, way: Way, measure: Measure) -> int | None:
    """Return the largest error up to which all errors have a resolved gain; None if there is none."""
    greatest = None
    for error in ERRORS:
        if sign(gain(came, Plan(variant, error, way), measure)) <= 0:
            break
        greatest = error
    return greatest
