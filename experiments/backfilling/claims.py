"""Statements of the paper on EASY and conservative backfilling, with their verdicts.

All verdicts are by intervals: over months of a log, over days of a month in Table 1, and over batches of jobs in the
models. Overall means are compared month by month with the means of Table 1, which they summarize. The paper compares
the runs of a model each at its own end (3.1). Runs that stop after different numbers of batches are then means over
different jobs, so our verdicts are over the batches that both schemes completed, pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.backfilling.distances import apart, nearer
from experiments.backfilling.own import own_claims
from experiments.backfilling.results import BASE, DOUBLED, Results
from experiments.backfilling.run_times import SIZES
from experiments.framework.claims import Claim, decided_once
from experiments.framework.ledger import Result
from experiments.framework.verdicts import (
    Part,
    Test,
    above,
    below,
    between,
    decided_claim,
    minus,
    of_sums,
    outside,
    scaled,
)
from experiments.published import MEASURES, POLICIES, SCHEMES, Measure, overall

__all__ = ["ALIKE", "CLOSE", "HIGH_LOAD", "SAME_SHARE", "SIZE", "UNTESTED", "WITHIN", "alike", "as_much_backfilled"]
__all__ += ["claims", "more_backfilled", "percent"]

HIGH_LOAD = 0.75
"""Loads from this value are called high."""

ALIKE = 10.0
"""Per cent within which both schemes are called practically identical; the paper's own intervals are 6 to 9% wide."""

CLOSE = 10.0
"""Percentage points; distributions that are no further apart are called very close."""

SAME_SHARE = 2.0
"""Percentage points within which both schemes backfill the same share of jobs."""

WITHIN = 5.0
"""Per cent within which overall means match."""

SIZE = 5.0
"""Percentage points within which a difference is as large as the paper's."""


@decided_once
def claims(study: Results) -> list[Claim]:
    """Return the paper's statements with their verdicts."""
    return [
        *_overall_means(study),
        _doubling(study),
        *_table1(study),
        *_of_models(study),
        *_of_backfilling(study),
        *_of_run_times(study),
        *_of_modified(study),
        *own_claims(study),
    ]


def _overall_means(study: Results) -> list[Claim]:
    found = []
    for row in sorted(overall(), key=lambda row: MEASURES.index(row.measure)):
        ours = study.overall(row.trace, row.measure, row.policy)
        mean, unit = (f"{row.mean:,.0f}", " s") if row.measure == "response" else (f"{row.mean:,.1f}", "")
        text = (
            f"mean {_NAMES[row.measure]} of {row.trace} under {SCHEMES[row.policy]} is {mean}{unit} within {WITHIN:g}%"
        )
        off = study.off(row.trace, row.measure, row.policy)
        parts = {} if off is None else {"off in the months of Table 1": off}
        whole = "" if ours is None else f"{ours:,.{0 if unit else 1}f}{unit}, off {(ours / row.mean - 1) * 100:+.1f}%"
        claim = _judged("Table 4", text, parts, between(-WITHIN, WITHIN), whole or _NO_LOG)
        found.append(replace(claim, here=f"{whole}; {claim.here}") if parts and whole else claim)
    return found


def _doubling(study: Results) -> Claim:
    text = "doubling users' estimates moves each mean in the paper's direction (change in that direction)"
    parts: dict[str, Part] = {}
    for row in overall():
        sums = [study.sums(row.trace, row.policy, row.measure, variant) for variant in (DOUBLED, BASE)]
        if sums[0] is not None and sums[1] is not None:
            change = scaled(of_sums(sums[0], sums[1]), 100, -100)
            name = f"{_NAMES[row.measure]} of {row.trace} under {SCHEMES[row.policy]}"
            parts[name] = scaled(change, 1 if row.percent > 0 else -1)
    return _judged("Table 4", text, parts, above(0), _NO_LOG, of=len(overall()))


def _table1(study: Results) -> list[Claim]:
    cells = [cell for cell in study.cells if cell.trace in ("KTH", "CTC")]
    signs: dict[str, Part] = {}
    sizes: dict[str, Part] = {}
    for cell in cells:
        if cell.part is not None and cell.paper.sign:
            name = f"{cell.trace} {cell.month} {_NAMES[cell.measure]}"
            signs[name] = scaled(cell.part, cell.paper.sign)
            sizes[name] = scaled(cell.part, 1, -cell.paper.percent)
    what = f"KTH and CTC, {len(cells)} cells: each difference"
    found = (
        (f"{what} has the paper's sign (difference in its direction)", signs, above(0), "%"),
        (f"{what} is within {SIZE:g} points of the paper's", sizes, between(-SIZE, SIZE), " points"),
    )
    return [_judged("Table 1", *one[:3], _NO_LOG, of=len(cells), unit=one[3]) for one in found]


def _of_models(study: Results) -> list[Claim]:
    f, j = study.points("F"), study.points("J")
    high = _high(j)
    return [
        _compared(
            f"model F: both schemes are practically identical (mean response within {ALIKE:g}%)",
            f,
            "response",
            between(-ALIKE, ALIKE),
            _why_f(alike(study)),
        ),
        _compared("model J: under high loads EASY has the lower mean response", high, "response", above(0)),
        _compared(
            "model J: under high loads EASY has the slightly higher bounded slowdown (size not tested)",
            high,
            "slowdown",
            below(0),
        ),
    ]


def _why_f(found: Sequence[str]) -> str:
    why = "not established; most constants of Feitelson's model are unknown, so model F only resembles it"
    return f"{why}; with {' or '.join(f'“{name}”' for name in found)} it holds at the loads tried" if found else why


def _of_backfilling(study: Results) -> list[Claim]:
    sums = {policy: study.sums("SDSC", policy, "backfilled") for policy in POLICIES}
    jobs, easy, conservative = study.sums("SDSC", "easy", "jobs"), sums["easy"], sums["conservative"]
    parts: dict[str, Part] = {}
    if jobs is not None and easy is not None and conservative is not None:
        parts["conservative − EASY"] = scaled(of_sums(conservative - easy, jobs), 100)
    return [
        _gaps(
            f"model F: both schemes backfill the same share of jobs (within {SAME_SHARE:g} points)",
            study.points("F"),
            between(-SAME_SHARE, SAME_SHARE),
            _why_f(as_much_backfilled(study)),
        ),
        _gaps("model J: EASY backfills slightly more (size not tested)", study.points("J"), above(0)),
        _judged("Fig. 5", "SDSC: conservative backfills more", parts, above(0), _NO_LOG, unit=" points"),
    ]


def _of_run_times(study: Results) -> list[Claim]:
    results: dict[str, Result] = {run.workload: result for run, result in study.run_times.items()}
    found = []
    for reference, name in (("CTC", "the CTC log"), ("J", "model J")):
        near: dict[str, Part] = {}
        close: dict[str, Part] = {}
        for size in SIZES if {"F", "Fsl", reference} <= results.keys() else ():
            near[size] = nearer(results["Fsl"], results["F"], results[reference], size)
            close[size] = apart(results["Fsl"], results[reference], size)
        found += [
            _judged(
                "Fig. 6",
                f"in each class of sizes, run times of model Fsl are nearer to those of {name} than run times of model "
                "F (difference of the largest distances between distributions)",
                near,
                above(0),
                _NO_LOG,
                unit=" points",
            ),
            _judged(
                "Fig. 6",
                f"in each class of sizes, run times of model Fsl are very close to those of {name} (largest distance "
                f"between distributions at most {CLOSE:g} points, our threshold)",
                close,
                below(CLOSE),
                _NO_LOG,
                unit=" points",
            ),
        ]
    return found


def _of_modified(study: Results) -> list[Claim]:
    high = {model: _high(study.points(model)) for model in ("Fs", "Fl", "Fsl", "J")}
    gaps = {model: _gaps_in_percent(points, "response") for model, points in high.items()}
    longer = {load: minus(part, gaps["Fl"][load]) for load, part in gaps["Fsl"].items() if load in gaps["Fl"]}
    less = {load: minus(part, gaps["Fsl"][load]) for load, part in gaps["J"].items() if load in gaps["Fsl"]}
    nothing = "not run at such loads"
    return [
        _compared(
            "model Fl (longer jobs): under high loads EASY has the slightly lower mean response (size not tested)",
            high["Fl"],
            "response",
            above(0),
            where="Fig. 7",
        ),
        _judged(
            "Fig. 7",
            "model Fsl (also more small jobs): under high loads the difference of mean responses is larger than in Fl "
            "(difference in points)",
            longer,
            above(0),
            nothing,
            unit=" points",
        ),
        _compared(
            "model Fs (more small jobs): under high loads the bounded slowdowns of both schemes differ by more than "
            f"{ALIKE:g}%",
            high["Fs"],
            "slowdown",
            outside(-ALIKE, ALIKE),
            where="Fig. 7",
        ),
        _judged(
            "Fig. 7",
            "model J: under high loads the difference of mean responses is even larger than in Fsl (difference in "
            "points)",
            less,
            above(0),
            nothing,
            unit=" points",
        ),
    ]


def alike(study: Results) -> list[str]:
    """Return the changes of model F with which both schemes' mean responses are practically identical at all loads."""
    return _changes(study, lambda point: abs(percent(point, "response")) <= ALIKE)


def as_much_backfilled(study: Results) -> list[str]:
    """Return the changes of model F with which both schemes backfill the same share of jobs at all loads."""
    return _changes(study, lambda point: abs(more_backfilled(point)) <= SAME_SHARE)


def _changes(study: Results, good: Callable[[Result], bool]) -> list[str]:
    return [name for name, points in study.changes().items() if all(good(point) for _, point in points)]


def percent(point: Mapping[str, Any], measure: Measure, *, shared: bool = False) -> float:
    """Return the difference of conservative from EASY in per cent, at the runs' own ends or over shared batches."""
    easy, conservative = ((point[p]["together"] if shared else point[p])[measure] for p in POLICIES)
    return float((conservative / easy - 1) * 100)


def more_backfilled(point: Mapping[str, Any], *, shared: bool = False) -> float:
    """Return the share backfilled, EASY minus conservative, in percentage points; `shared` as in `percent`."""
    easy, conservative = ((point[p]["together"] if shared else point[p])["backfilled"] for p in POLICIES)
    return float((easy - conservative) * 100)


Points = Sequence[tuple[float, Result]]


def _means(point: Mapping[str, Any], name: str) -> list[Any]:
    """Return the values of both schemes, EASY first, in each batch that both completed."""
    return [np.array(point[policy]["together"]["means"][name]) for policy in POLICIES]


def _high(points: Points) -> Points:
    return [(load, point) for load, point in points if load >= HIGH_LOAD]


def _gaps_in_percent(points: Points, measure: Measure) -> dict[str, Part]:
    """Return the difference of conservative from EASY at each load, in per cent."""
    found: dict[str, Part] = {}
    for load, point in points:
        easy, conservative = _means(point, measure)
        found[f"load {load:g}"] = scaled(of_sums(conservative, easy), 100, -100)
    return found


def _compared(
    text: str, points: Points, measure: Measure, test: Test, why: str = "", *, where: str = "Fig. 4"
) -> Claim:
    """Return a claim about the difference of conservative from EASY at each load, in per cent."""
    parts = _gaps_in_percent(points, measure)
    own = _own_ends((load, percent(point, measure)) for load, point in points)
    return _judged(where, text, parts, test, "not run at such loads", why, own=f"{own}%")


def _gaps(text: str, points: Points, test: Test, why: str = "") -> Claim:
    """Return a claim about the difference of shares backfilled, EASY minus conservative, at each load."""
    parts = {}
    for load, point in points:
        easy, conservative = _means(point, "backfilled")
        parts[f"load {load:g}"] = scaled(of_sums(easy - conservative, np.ones(len(easy))), 100)
    own = _own_ends((load, more_backfilled(point)) for load, point in points)
    return _judged("Fig. 5", text, parts, test, "the model was not run", why, own=f"{own} points", unit=" points")


def _own_ends(values: Iterable[tuple[float, float]]) -> str:
    return ", ".join(f"{value:+.1f}" for _, value in values)


def _judged(
    where: str,
    text: str,
    parts: Mapping[str, Part],
    test: Test,
    nothing: str,
    why: str = "",
    *,
    of: int = 0,
    own: str = "",
    unit: str = "%",
) -> Claim:
    """Return a statement with its verdict and its place in the paper; `own` has the values at each run's own end."""
    claim = decided_claim(text, parts, test, unit=unit)
    if not parts:
        return _claim(where, text, nothing, None, why)
    here = f"{claim.here}; each run to its own end: {own}" if own else claim.here
    if claim.holds and len(parts) < of:  # parts without data might be otherwise
        return replace(claim, where=where, why=why, here=f"{here}; {of - len(parts)} not available", holds=None)
    return replace(claim, where=where, why=why, here=here)


def _claim(where: str, text: str, here: str, holds: bool | None, why: str = "") -> Claim:
    """Return a statement with its place in the paper first."""
    return Claim(text, holds, here, where, why, untested=UNTESTED)


_NO_LOG = "log not found"
UNTESTED = "not tested"
"""The verdict without data."""

_NAMES: dict[Measure, str] = {"response": "response", "slowdown": "bounded slowdown"}
