"""Our figures next to those of Table 1, cell by cell: whether the difference has the same sign, and if not, why.

A *cell* is a measure of a month of a trace: the change in per cent from EASY to conservative backfilling. Causes are
sought only in data: the jobs and the load of the month, the difference relative to the scatter from day to day, and
whether its sign survives another order of events or another rule for overruns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from experiments.framework.verdicts import LEVEL, Part, of_error, sign
from experiments.published import MEASURES, POLICIES, SCHEMES, Difference, Measure, Month

__all__ = [
    "FIGURES_APART",
    "NOISE",
    "UNEXPLAINED",
    "Cell",
    "Counts",
    "cells_of",
    "count",
    "difference",
    "distance",
]
__all__ += ["reasons"]

JOBS_APART = 0.02
"""Relative difference in numbers of jobs above which the log is not the same."""

LOAD_APART = 0.01
"""Difference in the loads of a month above which the workload is not the same."""

NOISE = 1.0
"""Per cent below which a difference does not tell which scheme is better."""

FIGURES_APART = 5.0
"""Difference from the published figures in per cent above which a reason is needed."""

UNEXPLAINED = "not explained"


@dataclass(frozen=True)
class Cell:
    """A measure of one month, here and in the paper."""

    trace: str
    month: str
    measure: Measure
    paper: Difference
    paper_jobs: int
    paper_load: float
    ours: Difference | None
    """None if there is no log, or the available log has no job of the month."""
    jobs: int = 0
    load: float = 0.0
    error: float | None = None
    """The standard error of our difference in per cent, from the scatter between days of submission, if known."""
    scatter: Mapping[str, float] = field(default_factory=dict)
    """Half of the 90% interval of our figure under each policy, in its unit."""
    days: int = 0
    """Number of days with submissions."""
    variants: Mapping[str, Difference] = field(default_factory=dict)
    """Our figures for the same cell under other rules, by the difference."""

    @property
    def agrees(self) -> bool | None:
        """Whether the difference has the paper's sign; None if there is no difference, or ours is not resolved."""
        ours = 0 if self.part is None else sign(self.part)
        return ours == self.paper.sign if ours else None

    @property
    def part(self) -> Part | None:
        """Our difference as a part of statements, with intervals over days."""
        if self.ours is None or self.error is None:
            return None
        return of_error(self.ours.percent, self.error, self.days)

    @property
    def half_width(self) -> float | None:
        """Half of the 90% interval of our difference in per cent."""
        found = self.part(LEVEL) if self.part else None
        return found.half_width if found else None

    @property
    def apart(self) -> float | None:
        """The larger deviation, in per cent, of our two figures from the published ones."""
        if self.ours is None:
            return None
        pairs = ((self.ours.easy, self.paper.easy), (self.ours.conservative, self.paper.conservative))
        return max(abs(here / there - 1) * 100 for here, there in pairs)


@dataclass(frozen=True)
class Counts:
    """How many of the cells with resolved sign agree."""

    agree: int
    cells: int

    @property
    def share(self) -> float:
        """Share of the cells that agree; 0 if there are none."""
        return self.agree / self.cells if self.cells else 0.0


def difference(month: Mapping[str, Any], measure: Measure) -> Difference | None:
    """Return the difference of a measure in a month of a run; None if no job ran."""
    easy, conservative = (month[policy][measure] for policy in ("easy", "conservative"))
    if easy is None or conservative is None or easy == 0:
        return None
    return Difference(easy, conservative, (conservative / easy - 1) * 100)


def cells_of(row: Month, base: Mapping[str, Any] | None, variants: Mapping[str, Mapping[str, Any]]) -> list[Cell]:
    """Return the cells of a row of Table 1.

    Parameters
    ----------
    base
        The month in our run that follows the paper (see `experiments.backfilling.run.log_run`); None if there is none.
    variants
        The same month in runs under other rules, by the difference.
    """
    return [_cell(row, measure, base, variants) for measure in MEASURES]


def _cell(
    row: Month, measure: Measure, base: Mapping[str, Any] | None, variants: Mapping[str, Mapping[str, Any]]
) -> Cell:
    paper = row.cells[measure]
    ours = None if base is None else difference(base, measure)
    if base is None or ours is None:
        return Cell(row.trace, row.month, measure, paper, row.jobs, row.load, None)
    others = {name: difference(month, measure) for name, month in variants.items()}
    error = {what: errors[measure] for what, errors in base.get("error", {}).items()}
    days = base.get("days", 0)
    scatter = {policy: of_error(0.0, error[policy], days)(LEVEL) for policy in POLICIES if policy in error}
    return Cell(
        row.trace,
        row.month,
        measure,
        paper,
        row.jobs,
        row.load,
        ours,
        jobs=base["jobs"],
        load=base["load"],
        error=error["difference"] / ours.easy * 100 if error else None,
        scatter={policy: found.half_width for policy, found in scatter.items() if found and found.half_width},
        days=days,
        variants={name: other for name, other in others.items() if other is not None},
    )


def reasons(cell: Cell) -> list[str]:
    """Return why a cell differs from the paper, in short; empty if sign and figures agree."""
    if cell.ours is None:
        return ["no available log has this month"]
    if cell.agrees is not False and (cell.apart or 0) <= FIGURES_APART:
        return []
    found = []
    if abs(cell.jobs - cell.paper_jobs) > JOBS_APART * cell.paper_jobs:
        found.append(f"another version of the log, {cell.jobs / cell.paper_jobs - 1:+.0%} jobs")
    if abs(cell.load - cell.paper_load) > LOAD_APART:
        found.append(f"another load, {cell.load - cell.paper_load:+.3f}")
    if cell.agrees is False:
        found += _why_the_sign(cell, cell.ours.percent) or ([] if found else [f"{UNEXPLAINED}: the sign"])
    if (cell.apart or 0) > FIGURES_APART:
        found += _why_the_figures(cell, cell.ours)
    return found or [f"{UNEXPLAINED}: jobs and load are the paper's, figures up to {cell.apart:.0f}% apart"]


def _why_the_figures(cell: Cell, ours: Difference) -> list[str]:
    """Return reasons for deviating figures: other rules that reproduce them, or the scatter between days."""
    shown = ",.0f" if cell.measure == "response" else ",.1f"
    by_rules, by_days = [], []
    for policy in POLICIES:
        here, paper = getattr(ours, policy), getattr(cell.paper, policy)
        if abs(here / paper - 1) * 100 <= FIGURES_APART:
            continue
        tried = {name: getattr(other, policy) for name, other in cell.variants.items()}
        if met := [name for name, one in tried.items() if abs(one / paper - 1) * 100 <= FIGURES_APART]:
            nearest = min(met, key=lambda name: abs(tried[name] - paper))
            by_rules.append(f"{SCHEMES[policy]} {tried[nearest]:{shown}} with {nearest}")
        elif abs(here - paper) <= cell.scatter.get(policy, 0.0):
            by_days.append(f"{SCHEMES[policy]} {here:{shown}} ± {cell.scatter[policy]:{shown}}")
    found = [f"met under other rules: {', '.join(by_rules)}"] if by_rules else []
    return found + ([f"within the scatter between days: {', '.join(by_days)}"] if by_days else [])


def _why_the_sign(cell: Cell, ours: float) -> list[str]:
    found = []
    small = [name for name, percent in (("here", ours), ("in the paper", cell.paper.percent)) if abs(percent) <= NOISE]
    if small:
        found.append(f"a difference within {NOISE:g}% {' and '.join(small)}")
    turned = [f"{name} ({other.percent:+.1f}%)" for name, other in cell.variants.items() if other.percent * ours <= 0]
    if turned:
        found.append(f"the sign turns with {', '.join(turned)}")
    return found


def distance(cells: Iterable[Cell]) -> float | None:
    """Return the median deviation of our figures from the published ones in per cent; None without figures."""
    found = []
    for cell in cells:
        if cell.ours is not None:
            found.append(abs(cell.ours.easy / cell.paper.easy - 1) * 100)
            found.append(abs(cell.ours.conservative / cell.paper.conservative - 1) * 100)
    return median(found) if found else None


def count(cells: Iterable[Cell], traces: Sequence[str] = ()) -> Counts:
    """Return how many of the cells with resolved sign agree, for all traces or for some."""
    known = [cell.agrees for cell in cells if cell.agrees is not None and (not traces or cell.trace in traces)]
    return Counts(sum(known), len(known))
