"""Time and memory of a study, and how they grow with the length of the log and the number of runs.

They depend on the machine and are never the same twice, so they have a file of their own next to the report. Figures
are those of the process that computed a result; the ledger keeps them with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.framework.columns import Shown, table_of
from gas.report.blocks import Report, Section, Table, Text

__all__ = ["Entry", "cost_report", "growth"]

_ABOUT = (
    "Time is the wall-clock time of a computation. Peak is the largest memory that its process had used by its end, "
    "including compilation. Times vary by tens of per cent on a shared machine, and parallel processes slow each "
    "other down."
)
_REPEATED = (
    " If all computations of a study have the same number of moldable jobs, some are repeated with half and a quarter "
    "of them, for this table only."
)
_ENOUGH = 2.0
"""Sizes that differ by less than this factor do not show growth."""
_FEWEST_TIMES = 6
"""Nor do fewer times, of which the first also compiles."""
_EXPLAINED = 0.5
"""Nor do times if the sizes explain less than this share of their variance."""


@dataclass(frozen=True)
class Entry:
    """One computation of a study."""

    log: str
    jobs: int
    """Length of the log, or of its part."""
    moldable: int
    """Moldable jobs in it, together or one at a time."""
    seconds: float
    peak_bytes: int


def growth(entries: Sequence[Entry]) -> tuple[float | None, float | None]:
    """Return the exponents with which the time grows with the numbers of jobs and of moldable jobs.

    From a least squares fit to the logarithms; None if the sizes hardly differ, or explain little of the times.
    """
    sizes = np.array([(max(one.jobs, 1), max(one.moldable, 1)) for one in entries], np.float64).reshape(-1, 2)
    if len(entries) < _FEWEST_TIMES:
        return None, None
    vary = [bool(column.max() > _ENOUGH * column.min()) for column in sizes.T]
    columns = [np.log(column) for column, varies in zip(sizes.T, vary, strict=True) if varies]
    if not columns:
        return None, None
    times = np.log([max(one.seconds, 1e-4) for one in entries])
    matrix = np.column_stack([*columns, np.ones(len(entries))])
    fit, _, rank, _ = np.linalg.lstsq(matrix, times, rcond=None)
    left, all_of_it = float(np.sum((times - matrix @ fit) ** 2)), float(np.sum((times - times.mean()) ** 2))
    if rank < matrix.shape[1] or left > (1 - _EXPLAINED) * all_of_it:
        return None, None
    powers = iter(fit[:-1].tolist())
    jobs, moldable = (next(powers) if varies else None for varies in vary)
    return jobs, moldable


def cost_report(study: str, entries: Sequence[Entry]) -> Report:
    """Return the report on a study, by its command."""
    total = sum(one.seconds for one in entries)
    facts = [f"{len(entries):,} computations took {total:,.1f} s in total."]
    if entries:
        peak = max(one.peak_bytes for one in entries)
        facts.append(f"The largest process used {peak / 2**20:,.0f} MiB.")
    moldable = any(one.moldable for one in entries)
    about = Text(f"{_ABOUT}{_REPEATED if moldable else ''}")
    sections = (
        Section("By log", (_by_log(entries, moldable=moldable),)),
        Section("Growth", (about, _by_size(entries, moldable=moldable))),
    )
    return Report(f"Cost of {study}", " ".join(facts), sections)


def _by_log(entries: Sequence[Entry], *, moldable: bool) -> Table:
    groups: dict[str, list[Entry]] = {}
    for one in entries:
        groups.setdefault(one.log, []).append(one)
    return table_of(
        groups.values(),
        (
            Shown("log", lambda alike: alike[0].log, left=True),
            Shown("computations", lambda alike: f"{len(alike):,}"),
            Shown("all", lambda alike: f"{sum(_seconds(alike)):,.1f}", "seconds"),
            Shown("median", lambda alike: f"{np.median(_seconds(alike)):,.2f}", "seconds"),
            Shown("longest", lambda alike: f"{max(_seconds(alike)):,.2f}", "seconds"),
            Shown("peak (MiB)", _peak),
            Shown("jobs", lambda alike: _power(growth(alike)[0]), _POWER),
            *([Shown("moldable jobs", _power_of_moldable, _POWER)] if moldable else []),
        ),
        "Exponents come from a least-squares fit of log time to at least six computations. A fit that explains less "
        "than half of the variance is left out.",
    )


_POWER = "exponent of growth in the number of"


def _power_of_moldable(alike: Sequence[Entry]) -> str:
    return _power(growth(alike)[1])


def _power(power: float | None) -> str:
    return "" if power is None else f"{power:.2f}"


def _seconds(entries: Sequence[Entry]) -> list[float]:
    return [one.seconds for one in entries]


def _peak(entries: Sequence[Entry]) -> str:
    return f"{max(one.peak_bytes for one in entries) / 2**20:,.0f}"


def _moldable(alike: Sequence[Entry]) -> str:
    return f"{alike[0].moldable:,}"


def _by_size(entries: Sequence[Entry], *, moldable: bool) -> Table:
    """Return the time by the size of the computation, from small to large."""
    groups: dict[tuple[str, int, int], list[Entry]] = {}
    for one in entries:
        groups.setdefault((one.log, one.jobs, one.moldable), []).append(one)
    return table_of(
        (groups[size] for size in sorted(groups)),
        (
            Shown("log", lambda alike: alike[0].log, left=True),
            Shown("jobs", lambda alike: f"{alike[0].jobs:,}"),
            *([Shown("moldable", _moldable)] if moldable else []),
            Shown("computations", lambda alike: f"{len(alike):,}"),
            Shown("median seconds", lambda alike: f"{np.median(_seconds(alike)):,.3f}"),
            Shown(
                "microseconds per job", lambda alike: f"{1e6 * np.median(_seconds(alike)) / max(alike[0].jobs, 1):,.1f}"
            ),
            Shown("peak (MiB)", _peak),
        ),
    )
