"""The report of the paper's walk against the exact planner: how often the walk loses, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.framework.claims import Claim, decided_once, summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.items import Compared, items_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.verdicts import BY_INTERVALS, Part, above, decided_claim, of_points, of_sums, scaled
from experiments.moldable.benchmarks import GROUPS
from experiments.moldable.months import FULL_RUNS, MONTH, SUBSTITUTE, Results, outcome_rows
from experiments.moldable.simulated import EACH_MONTH, simulated_section
from gas.intervals import sums_by_month
from gas.report.blocks import Report, Section, Table, Text, fewer, not_the_full

__all__ = ["TABLES", "claims", "walk_report"]

_Row: TypeAlias = Mapping[str, Any]
"""The result at one submission time."""

_ABOUT = (
    "The paper's walk takes the frames of the availability list in turn. For each frame it finds the last moment "
    "until which all its free processors stay free, and considers the allowed sizes that end by then. Some of these "
    "processors stay free for longer: a smaller request could run on them past that moment, but the walk misses it. "
    "The exact planner computes the earliest start of every allowed size. Both read the same list at the same moment."
)
_PROMISED = (
    "Promised finishes, from the availability list: every job uses its whole walltime, and no further job arrives. By "
    "this measure the exact planner never finishes later."
)
_REAL = (
    "Actual finishes, from a simulation of each of the two requests. Jobs end before their walltimes, so a request "
    "with a later promised finish may finish first."
)


def walk_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    every = study.rows()
    other = [one for one in every if one["walk_size"] != one["exact_size"]]
    worse = [one for one in other if one["walk"] is None or one["walk"] > one["exact"]]
    later = [one for one in every if _promised_later(one)]
    whole = max(len(every), 1)
    lead = (
        f"The paper's walk and the exact planner both planned {len(every):,} submissions on "
        f"{', '.join(site.trace for site, _ in study.logs)}. The walk chose another size than the exact planner, or "
        f"none, for {len(other):,} of them ({100 * len(other) / whole:.1f}%){_worse(len(other), len(worse))}. Its "
        f"promised finish was later for {len(later):,} ({100 * len(later) / whole:.1f}%): often the walk finds the "
        "same size but not its earliest start; the scheduler then starts the job earlier than the walk promised. The "
        "paper is W. Cirne and F. Berman, Application Scheduling over Supercomputers: A Proposal, technical report, UC "
        "San Diego, 1999; the walk is its Fig. 4.3."
    )
    sections = (
        Section("What is compared", (Text(_ABOUT),)),
        summary_section(claims(study), caption=BY_INTERVALS),
        simulated_section(study.logs, EACH_MONTH[study.options.terms.begin]),
        Section("Promised finishes", (Text(_PROMISED), _table(study, "promised"))),
        Section("Simulated finishes", (Text(_REAL), _table(study, "real"))),
        Section("Other readings", (Text(_READINGS), _readings(study))),
        items_section("supercomputers", "walk", {"Fig. 4.3": _fig_4_3(study)}, every=False),
        origin_section(study.logs, origin),
    )
    less = fewer(study.options.runs, FULL_RUNS, "submission", " per month")
    return Report("The paper's walk against the exact planner", lead, sections, not_the_full([less]))


def _fig_4_3(study: Results) -> Compared:
    cause = "no figures printed; every reading of the text was run (Other readings)"
    return Compared((), cause, tuple(claims(study)))


def _worse(other: int, worse: int) -> str:
    return f", and finished later for {worse:,} of these" if other else ""


def _promised_later(row: _Row) -> bool:
    return row["walk_promised"] is None or row["walk_promised"] > row["exact_promised"]


class _Moments:
    """Turn-around times of both planners, promised or simulated, where the walk found a request."""

    def __init__(self, name: str, found: Sequence[_Row], suffix: str, walk: str = "walk") -> None:
        both = [(row[f"exact{suffix}"], row[f"{walk}{suffix}"]) for row in found if row[walk] is not None]
        self.name, self.count, self.nothing = name, len(found), len(found) - len(both)
        self.other = sum(row[f"{walk}_size"] != row["exact_size"] for row in found)
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
    Shown("submissions", lambda row: f"{row.count:,}"),
    Shown("finds no request", lambda row: f"{row.nothing:,}", "the walk"),
    Shown("chooses another size", lambda row: row.share(row.other), "the walk"),
    Shown("finishes later", lambda row: row.share(len(row.later)), "the walk"),
    Shown("finishes sooner", lambda row: row.share(row.sooner), "the walk"),
    Shown("median", lambda row: row.later_by(0.5), "if later, by (s)"),
    Shown("90th percentile", lambda row: row.later_by(0.9), "if later, by (s)"),
    Shown("maximum", lambda row: row.later_by(1), "if later, by (s)"),
    Shown("exact", lambda row: _mean(row.exact), "mean turn-around time (s)"),
    Shown("walk", lambda row: _mean(row.walked), "mean turn-around time (s)"),
)


def _table(study: Results, what: str) -> Table:
    parts = {"all": study.rows()}
    parts |= {site.trace: study.rows(trace=site.trace) for site, _ in study.logs}
    parts |= {group: study.rows(group=group) for group in GROUPS}
    suffix = "_promised" if what == "promised" else ""
    return table_of((_Moments(name, found, suffix) for name, found in parts.items() if found), _COLUMNS)


_READINGS = (
    "In the paper, a frame with n free processors has a candidate “if the application can run on n processors in time "
    "(d − s)”. Above, the walk tries every allowed size up to n. It may also try only the largest of them, or only n "
    "itself. The paper's example (Fig. 4.4 to 4.7) has a candidate with 30 processors in a frame of 40, which excludes "
    "the last reading; the others give all of its candidates. Promised finishes; submissions without a request do not "
    "count in the means."
)
_NAMES: Mapping[str, str] = {
    "walk": "every allowed size up to n",
    "largest": "the largest allowed size up to n",
    "equal": "n alone",
}


def _readings(study: Results) -> Table:
    rows = (
        _Moments(f"{words}: {site.trace}", study.rows(trace=site.trace), "_promised", name)
        for name, words in _NAMES.items()
        for site, _ in study.logs
    )
    return table_of((row for row in rows if row.count), _COLUMNS)


@decided_once
def claims(study: Results) -> list[Claim]:
    """Return the claims; submissions for which the walk found no request count only in the first one."""
    every = study.rows()
    later = sum(row["walk_promised"] is None or row["walk_promised"] > row["exact_promised"] for row in every)
    sooner = sum(row["walk_promised"] is not None and row["walk_promised"] < row["exact_promised"] for row in every)
    return [
        Claim(
            "By the availability list the walk never finishes sooner than the exact planner",
            not sooner if every else None,
            f"of {len(every):,} submissions, {later:,} later and {sooner:,} sooner",
        ),
        decided_claim(
            "In the simulation the mean turn-around time is longer with the walk",
            _of_logs(study, _longer),
            above(0),
            digits=2,
        ),
        decided_claim(
            "In the simulation the walk finishes later more often than sooner",
            _of_logs(study, _more_often),
            above(0),
            digits=2,
            unit=" points",
        ),
    ]


def _of_logs(study: Results, part: Callable[[list[_Row], list[str]], Part]) -> dict[str, Part]:
    """Return a part of each log, over its submissions for which the walk found a request, and their months."""
    found = {}
    for site, _ in study.logs:
        both = [
            (row, run.month)
            for run, result in study.pairs
            if run.site == site and run.terms == study.options.terms
            for row in result["outcomes"]
            if row["walk"] is not None
        ]
        found[site.trace] = part([row for row, _ in both], [month for _, month in both])
    return found


def _longer(rows: list[_Row], months: list[str]) -> Part:
    """Return by how many per cent the mean turn-around time is longer with the walk."""
    walk, exact = (np.array([row[name] for row in rows], np.float64) for name in ("walk", "exact"))
    return scaled(of_sums(*sums_by_month(months, walk - exact, exact)), 100)


def _more_often(rows: list[_Row], months: list[str]) -> Part:
    """Return the share of submissions that finish later with the walk minus that of sooner ones, in points."""
    later = np.array([row["walk"] - row["exact"] for row in rows])
    return of_points(later > 0, later < 0, months)


TABLES = {
    "walk-outcomes": Records[Results](
        "a row for each submission that both planned",
        lambda study: outcome_rows(study.runs, study.results),
        {
            "submission": (*MONTH, *SUBSTITUTE),
            "exact planner": (
                Field("exact_size", "size that the exact planner requests", "processors"),
                Field("exact_promised", "promised turn-around time, exact planner", "s"),
                Field("exact", "simulated turn-around time, exact planner", "s"),
            ),
            "the paper's walk; empty if it found no request": (
                Field("walk_size", "size that the walk requests", "processors"),
                Field("walk_promised", "promised turn-around time, walk", "s"),
                Field("walk", "simulated turn-around time, walk", "s"),
            ),
            "other readings of the walk; empty if it found no request": tuple(
                Field(name + suffix, f"{what}, walk that tries {words}", unit)
                for name, words in (("largest", "the largest size"), ("equal", "all free processors alone"))
                for suffix, what, unit in (
                    ("_size", "requested size", "processors"),
                    ("_promised", "promised turn-around time", "s"),
                    ("", "simulated turn-around time", "s"),
                )
            ),
        },
    )
}
"""By the names of their files."""
