"""The report of the paper's walk against the exact planner: how often the walk loses, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.columns import Shown, table_of
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.report import Report, Section, Table, Text, fewer, not_the_full
from experiments.moldable.benchmarks import GROUPS
from experiments.moldable.months import FULL_RUNS, MONTH, SUBSTITUTE, Results, outcome_rows
from experiments.moldable.simulated import simulated_section

__all__ = ["TABLES", "walk_report"]

_ABOUT = (
    "For each frame of the availability list the paper's walk finds the last moment until which the frame's processors "
    "stay free, and looks for sizes whose run ends by then. It therefore misses smaller requests that would run beyond "
    "that moment on processors that stay free. The exact planner computes the earliest start of every allowed size. "
    "Both read the same lists at the same moments."
)
_PROMISED = (
    "Finishes promised by the availability list: every job runs for its whole walltime, and no other job arrives. By "
    "them the exact planner is never later."
)
_REAL = (
    "Finishes in the simulation, in which both choices were followed to their ends. As jobs end early, a choice with a "
    "later promise may finish first."
)


def walk_report(study: Results, origin: Origin) -> Report:
    """Return the report; the same study of the same origin gives the same bytes."""
    every = study.rows()
    other = [one for one in every if one["walk_size"] != one["exact_size"]]
    worse = [one for one in other if one["walk"] is None or one["walk"] > one["exact"]]
    later = [one for one in every if _promised_later(one)]
    whole = max(len(every), 1)
    lead = (
        f"In {len(every):,} moments of {', '.join(site.trace for site, _ in study.logs)} the walk chose another "
        f"request than the exact planner in {len(other):,} ({100 * len(other) / whole:.1f}%), which finished later in "
        f"{len(worse):,} of them. Its promised finish was later in {len(later):,} ({100 * len(later) / whole:.1f}%): "
        "often the walk finds the same size but not its earliest start, at which the scheduler starts it anyway. The "
        "paper is: W. Cirne and F. Berman, Application Scheduling over Supercomputers: A Proposal, technical report, "
        "UC San Diego, 1999, Fig. 4.3."
    )
    sections = (
        Section("What is compared", (Text(_ABOUT),)),
        simulated_section(study.logs, "Each month is a simulation of its own."),
        Section("Promised", (Text(_PROMISED), _table(study, "promised"))),
        Section("Real", (Text(_REAL), _table(study, "real"))),
        origin_section(study.logs, origin),
    )
    less = fewer(study.options.runs, FULL_RUNS, "moment", " a month")
    return Report("The paper's walk against the exact planner", lead, sections, not_the_full([less]))


def _promised_later(row: Mapping[str, Any]) -> bool:
    return row["walk_promised"] is None or row["walk_promised"] > row["exact_promised"]


class _Moments:
    """Seconds of both at some moments, promised or real, where the walk found anything."""

    def __init__(self, name: str, found: Sequence[Mapping[str, Any]], suffix: str) -> None:
        both = [(row[f"exact{suffix}"], row[f"walk{suffix}"]) for row in found if row["walk"] is not None]
        self.name, self.count, self.nothing = name, len(found), len(found) - len(both)
        self.other = sum(row["walk_size"] != row["exact_size"] for row in found)
        self.exact, self.walked = np.array(both, np.int64).reshape(-1, 2).T
        self.later = (self.walked - self.exact)[self.walked > self.exact]
        self.sooner = int((self.walked < self.exact).sum())

    def share(self, part: int) -> str:
        return f"{100 * part / self.count:.1f}%"

    def later_by(self, share: float) -> str:
        return f"{np.quantile(self.later, share):,.0f}" if len(self.later) else ""


def _mean(times: NDArray[np.int64]) -> str:
    return f"{times.mean():,.0f}" if len(times) else ""


_COLUMNS: Sequence[Shown[_Moments]] = (
    Shown("", lambda row: row.name, left=True),
    Shown("moments", lambda row: f"{row.count:,}"),
    Shown("found nothing", lambda row: f"{row.nothing:,}", "the walk"),
    Shown("chose another size", lambda row: row.share(row.other), "the walk"),
    Shown("is later", lambda row: row.share(len(row.later)), "the walk"),
    Shown("is sooner", lambda row: row.share(row.sooner), "the walk"),
    Shown("median (s)", lambda row: row.later_by(0.5), "where it is later, by"),
    Shown("90% (s)", lambda row: row.later_by(0.9), "where it is later, by"),
    Shown("most (s)", lambda row: row.later_by(1), "where it is later, by"),
    Shown("exact", lambda row: _mean(row.exact), "mean (s)"),
    Shown("walk", lambda row: _mean(row.walked), "mean (s)"),
)


def _table(study: Results, what: str) -> Table:
    parts = {"all": study.rows()}
    parts |= {site.trace: study.rows(trace=site.trace) for site, _ in study.logs}
    parts |= {group: study.rows(group=group) for group in GROUPS}
    suffix = "_promised" if what == "promised" else ""
    return table_of((_Moments(name, found, suffix) for name, found in parts.items() if found), _COLUMNS)


TABLES = {
    "walk-outcomes": Records[Results](
        "a row for each moment at which both planned",
        lambda study: outcome_rows(study.runs, study.results),
        {
            "moment": (*MONTH, *SUBSTITUTE),
            "exact planner": (
                Field("exact_size", "of its request", "processors"),
                Field("exact_promised", "from the moment to the end by the availability list", "s"),
                Field("exact", "from the moment to the real end", "s"),
            ),
            "the paper's walk; empty where it found nothing": (
                Field("walk_size", "of its request", "processors"),
                Field("walk_promised", "from the moment to the end by the availability list", "s"),
                Field("walk", "from the moment to the real end", "s"),
            ),
        },
    )
}
"""By the names of their files."""
