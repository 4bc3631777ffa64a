"""Published figures, to compare studies with, as data files.

    mualem-feitelson-table1.csv   A. W. Mu'alem and D. G. Feitelson, "Utilization, predictability, workloads, and user
                                  runtime estimates in scheduling the IBM SP2 with backfilling", IEEE Transactions on
                                  Parallel and Distributed Systems 12(6), 2001, Table 1: EASY against conservative
                                  backfilling by month; the columns `seq` and `inferred_year` are not the paper's
    mualem-feitelson-table2.csv   the same paper, Table 2: requested and used time
    mualem-feitelson-table3.csv   the same paper, Table 3: means under estimates drawn from [r, f r], over ten seeds
    mualem-feitelson-table4.csv   the same paper, Table 4: users' estimates as they are, and doubled
    cirne-berman-table5-N.csv     W. Cirne and F. Berman, "Application Scheduling over Supercomputers: A Proposal",
                                  technical report, UC San Diego, 1999, Tables 5.1 to 5.17: turn-around times of Gas and
                                  of static requests, with one moldable job in the system and with many
    tang-table2.csv               W. Tang, N. Desai, D. Buettner and Z. Lan, "Job scheduling with adjusted runtime
                                  estimates on production supercomputers", Journal of Parallel and Distributed Computing
                                  73(7), 2013, Table 2: how much the share of the request that jobs use varies
    tang-text.csv                 figures in its text, as shares; a range, or the same value twice
    tang-gains.csv                improvements of means by walltime adjustment, in per cent; sections 6.2.1 and 6.2.2

Seconds, and percentages as printed. A bounded slowdown (`bsld`) is the paper's own, not clamped to 1.

Each table has a dataclass, whose attributes explain its columns, and a function that reads it. They are alike in
shape, but no two tables print the same columns.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

__all__ = ["MEANS", "MEASURES", "POLICIES", "SCHEMES", "TITLES", "TRACES", "Measure", "Overall", "overall"]
__all__ += ["Difference", "Month", "Turnaround"]
__all__ += ["FACTORS", "HISTORY", "Count", "Share", "UnderEstimates", "bushel", "bushel_details", "load_ratios"]
__all__ += ["PAPER_EXTREMES", "PAPER_LOSES", "one_apples", "table1", "table2", "table3"]
__all__ += ["Gain", "Item", "Printed", "Spread", "items", "walltime_gains", "walltime_spread", "walltime_text"]

Measure = Literal["response", "slowdown"]
"""Mean response time in seconds, and mean unclamped bounded slowdown."""

MEASURES: tuple[Measure, ...] = get_args(Measure)

MEANS: dict[Measure, str] = {"response": "mean response", "slowdown": "bounded slowdown"}
"""Measures in words."""

TITLES: dict[Measure, str] = {**MEANS, "response": "mean response (s)"}
"""Measures in words, with units."""

SCHEMES = {"easy": "EASY", "conservative": "conservative"}
"""Policies as spelled in the papers."""

POLICIES = tuple(SCHEMES)

TRACES = ("CTC", "KTH", "SDSC", "Par", "CM5")
"""Traces in the order of Table 1."""

FACTORS = (1, 2, 4, 11, 31, 101, 301)
"""Factors f of Table 3: estimates are uniform between the run time and f times the run time."""

PAPER_EXTREMES = (43794.0, 17.6)
"""The Gas paper's largest improvement factors over all runs: by Gas, and by a static request."""

PAPER_LOSES = 4.6
"""Per cent of the Gas paper's runs in which "Gas does worse than static"."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_COLUMNS: dict[Measure, tuple[str, str, str]] = {
    "response": ("easy_resp_s", "cons_resp_s", "resp_diff_pct"),
    "slowdown": ("easy_bsld", "cons_bsld", "bsld_diff_pct"),
}
_MEASURE_NAMES: dict[str, Measure] = {"resp_s": "response", "bsld": "slowdown"}


@dataclass(frozen=True)
class Difference:
    """A cell of Table 1: the change from EASY to conservative."""

    easy: float
    conservative: float
    percent: float
    """As printed, from figures before rounding."""

    @property
    def sign(self) -> int:
        """-1 if conservative is better (lower), 1 if EASY is, 0 if the paper shows no difference."""
        # If both figures were rounded to the same value, the printed percentage still differs, and vice versa.
        difference = self.conservative - self.easy or self.percent
        return (difference > 0) - (difference < 0)


@dataclass(frozen=True)
class Month:
    """A row of Table 1."""

    trace: str
    month: str
    """As ``1996-10``; the year follows from the order of the rows and the period of the log."""
    load: float
    jobs: int
    cells: dict[Measure, Difference]


@dataclass(frozen=True)
class Overall:
    """A mean over all jobs of a log (Table 4)."""

    trace: str
    measure: Measure
    policy: str
    mean: float
    """With the users' estimates ("orig")."""
    doubled: float
    """With twice the users' estimates ("x2")."""
    percent: float
    """Change by doubling, as printed."""


@cache
def table1() -> tuple[Month, ...]:
    """Return the rows of Table 1 in the paper's order."""
    return tuple(
        Month(
            trace=row["trace"],
            month=f"{row['inferred_year']}-{_MONTHS.index(row['month']) + 1:02}",
            load=float(row["load"]),
            jobs=int(row["jobs"]),
            cells={
                measure: Difference(float(row[easy]), float(row[conservative]), float(row[percent]))
                for measure, (easy, conservative, percent) in _COLUMNS.items()
            },
        )
        for row in _rows("mualem-feitelson-table1.csv")
    )


@cache
def overall() -> tuple[Overall, ...]:
    """Return the means of Table 4."""
    return tuple(
        Overall(
            row["trace"],
            _MEASURE_NAMES[row["metric"]],
            policy,
            *(float(row[f"{column}_{what}"]) for what in ("orig", "x2", "diff_pct")),
        )
        for row in _rows("mualem-feitelson-table4.csv")
        for policy, column in (("easy", "easy"), ("conservative", "cons"))
    )


@dataclass(frozen=True)
class Count:
    """A number of jobs of a trace (Table 2)."""

    trace: str
    parameter: str
    jobs: int
    percent: float | None
    """As printed; None for all jobs."""
    of: str
    """The parameter, or "total", whose jobs are 100%."""


@cache
def table2() -> tuple[Count, ...]:
    """Return the numbers of Table 2, parameter by parameter."""
    return tuple(
        Count(
            trace.upper(),
            row["parameter"],
            int(row[f"{trace}_n"]),
            float(row[f"{trace}_pct"]) if row[f"{trace}_pct"] else None,
            row["pct_of"],
        )
        for row in _rows("mualem-feitelson-table2.csv")
        for trace in ("ctc", "kth", "sdsc")
        if row[f"{trace}_n"]
    )


@dataclass(frozen=True)
class UnderEstimates:
    """A mean over all jobs of a log under some estimates (Table 3)."""

    trace: str
    measure: Measure
    policy: str
    factor: int | None
    """One of `FACTORS`; None under the users' own estimates ("original")."""
    mean: float


@cache
def table3() -> tuple[UnderEstimates, ...]:
    """Return the means of Table 3."""
    return tuple(
        UnderEstimates(
            row["trace"],
            _MEASURE_NAMES[row["metric"]],
            row["scheduler"],
            None if row["estimate"] == "original" else int(row["estimate"].removeprefix("f=")),
            float(row["value"]),
        )
        for row in _rows("mualem-feitelson-table3.csv")
    )


HISTORY = {"not killed": 62630, "with data": 45159, "underestimated": 12001, "underestimated with data": 6240}
"""Jobs of CTC in section 4.4: estimates are the mean of earlier runs plus one and a half of their deviations."""


@dataclass(frozen=True)
class Turnaround:
    """A table of turn-around times with one moldable job in the system; seconds, by statistic."""

    number: str
    of: str
    """A trace, a class of constraints, or "" for all."""
    gas: dict[str, float]
    static: dict[str, float]


@cache
def one_apples() -> tuple[Turnaround, ...]:
    """Return Tables 5.1 to 5.7 of the Gas paper; statistics are "mean", "standard deviation", "median", ...."""
    of = ("", "SDSC", "CTC", "KTH", "power-of-two", "perfect-square", "any")
    return tuple(_turnaround(number, what) for number, what in enumerate(of, 1))


def _turnaround(number: int, of: str) -> Turnaround:
    rows = _rows(f"cirne-berman-table5-{number}.csv")
    gas, static = ({row["statistic"]: float(row[f"{who}_s"]) for row in rows} for who in ("gas", "static"))
    return Turnaround(f"5.{number}", of, gas, static)


@dataclass(frozen=True)
class Share:
    """The printed results for a share of the jobs replaced by benchmarks; mean turn-around times in seconds."""

    table: str
    trace: str
    mix: Literal["thirds", "unrestricted", "restricted"]
    """As in `experiments.moldable.benchmarks.MIXES`."""
    percent: int
    gas: float
    static: float
    load_ratio: float | None
    """None in Tables 5.9 to 5.11; their ratios are in Table 5.8."""


@cache
def bushel() -> tuple[Share, ...]:
    """Return Tables 5.9 to 5.11 and 5.15 to 5.17 of the Gas paper: 30 and 60 scenarios."""
    found = []
    mixes: tuple[tuple[Literal["unrestricted", "restricted"], str], ...]
    mixes = (("unrestricted", "unres"), ("restricted", "res"))
    for number, trace in enumerate(("SDSC", "CTC", "KTH")):
        for row in _rows(f"cirne-berman-table5-{9 + number}.csv"):
            means = float(row["gas_mean_s"]), float(row["static_mean_s"])
            found.append(Share(f"5.{9 + number}", trace, "thirds", int(row["replacement"]), *means, None))
    for number, trace in enumerate(("SDSC", "CTC", "KTH")):
        for mix, prefix in mixes:
            for row in _rows(f"cirne-berman-table5-{15 + number}.csv"):
                figures = [float(row[f"{prefix}_{what}"]) for what in ("gas_s", "static_s", "load_ratio")]
                found.append(Share(f"5.{15 + number}", trace, mix, int(row["replacement"]), *figures))
    return tuple(found)


@cache
def load_ratios() -> dict[tuple[str, int], float]:
    """Return Table 5.8 of the Gas paper: requested processor time after replacing a percentage of jobs / before."""
    rows = _rows("cirne-berman-table5-8.csv")
    return {(t, int(row["replacement"])): float(row[t.lower()]) for t in ("SDSC", "CTC", "KTH") for row in rows}


@cache
def bushel_details() -> tuple[tuple[Turnaround, int], ...]:
    """Return Tables 5.12 to 5.14 of the Gas paper, each with the percentage of replaced jobs."""
    percents = (("SDSC", 20), ("CTC", 20), ("KTH", 50))
    return tuple((_turnaround(number, trace), percent) for number, (trace, percent) in enumerate(percents, 12))


@dataclass(frozen=True)
class Spread:
    """A row of Table 2 of the paper on walltime adjustment."""

    key: str
    """The common properties of similar jobs, see `workloads.adjustment.Key`."""
    groups: int
    """Number of groups with at least ten jobs."""
    deviation: float
    """Mean over groups of the standard deviation of run time / request."""


@cache
def walltime_spread() -> tuple[Spread, ...]:
    """Return the rows of Table 2 of the paper on walltime adjustment."""
    return tuple(Spread(row["key"], int(row["groups"]), float(row["mean_std_R"])) for row in _rows("tang-table2.csv"))


@dataclass(frozen=True)
class Printed:
    """A figure in a paper's text."""

    low: float
    high: float
    words: str
    """As printed."""
    where: str
    """Section of the paper."""


@cache
def walltime_text() -> dict[str, Printed]:
    """Return the figures in the text of the paper on walltime adjustment, by name."""
    return {
        row["name"]: Printed(float(row["low"]), float(row["high"]), row["printed"], row["where"])
        for row in _rows("tang-text.csv")
    }


@dataclass(frozen=True)
class Gain:
    """Improvement of a mean by walltime adjustment, averaged over months."""

    queue: str
    adjustment: str
    percentile: int
    measure: str
    """ "wait", "slowdown" or "weighted", the weighted wait."""
    percent: float
    """Positive if better than without adjustment."""
    words: str
    """As printed."""


@cache
def walltime_gains() -> tuple[Gain, ...]:
    """Return the improvements in the text of the paper on walltime adjustment."""
    return tuple(
        Gain(
            row["queue"],
            row["adjustment"],
            int(row["percentile"]),
            row["measure"],
            float(row["percent"]),
            row["printed"],
        )
        for row in _rows("tang-gains.csv")
    )


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, or several similar ones."""

    paper: str
    """"backfilling", "supercomputers" or "walltime"."""
    name: str
    shows: str
    study: str
    """The study that reproduces it; empty if none."""
    section: str
    """Beginning of the title of its section."""
    absent: str
    """Why no study reproduces it."""


@cache
def items() -> tuple[Item, ...]:
    """Return all tables and figures of the three papers, in their order."""
    return tuple(Item(*row.values()) for row in _rows("items.csv"))


def _rows(name: str) -> list[dict[str, str]]:
    text = files(__name__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
