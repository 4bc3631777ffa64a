"""The part of the report that compares methods, and the requirements on Gas in that comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from experiments.framework.claims import Claim, decided_once
from experiments.framework.logs import Found
from experiments.framework.records import Field, Records
from experiments.framework.verdicts import Part, above, between, decided_claim, scaled
from experiments.prediction.bakeoff import COVERED, NAMES, SCORES, Score, Waits, judging_from, split
from experiments.prediction.results import Results
from experiments.prediction.waits import RECORDED, TRUTHS
from gas.prediction.scores import WAITS
from gas.report.blocks import Bullets, Cell, Column, Section, Table, Text, heads
from gas.times import duration_text

__all__ = ["WAIT_TABLE", "bakeoff_claims", "bakeoff_lead", "bakeoff_sections"]

_HOLDS: Final = (85.0, 95.0)
_LONG: Final = 3_600
_NEAR: Final = 60.0
"""The required percentage of waits above ten minutes that are predicted within a factor of two."""

_HALF: Final = 0.5
"""The largest median error of Gas as a share of that of gradient boosting."""

_PUBLISHED: Final = (
    "Brown et al. (2022, arXiv:2204.13543), other machines under Slurm: within a minute 65% of the jobs of ARCHER2 and "
    "76% of those of Cirrus, within ten minutes 75% and 90%.",
    "Mila's cluster: within a factor of two 38 to 42%; NREL's Eagle: median error 1.5 hours. Both as usually quoted; "
    "the original sources were not checked.",
    "Each figure is for other jobs on another machine. It shows what is usual, not which method is better.",
)


@decided_once
def bakeoff_claims(study: Results) -> list[Claim]:
    """Return the statements on predicted waits: coverage, other methods, and, on recorded waits, errors."""
    found: list[Claim] = []
    for log, truth in study.bakeoffs:
        waits = study.compared(log, truth)
        if len(waits):
            where = f"{log.source.trace}, {TRUTHS[truth]}"
            found += [_holds(where, waits, 0), _holds(where, waits, _LONG), _first(where, waits)]
            if truth == RECORDED:
                found += [_near(where, waits), *_half(where, waits)]
    return found


def _holds(where: str, waits: Waits, above_seconds: int) -> Claim:
    part = waits.where(waits.wait > above_seconds) if above_seconds else waits
    low, high = _HOLDS
    of = f" of jobs that waited for more than {duration_text(above_seconds)}" if above_seconds else ""
    text = f"{where}: {low:.0f} to {high:.0f}% of the 90% intervals{of} contain the wait"
    if not len(part):
        return Claim(text, None, "no such job")
    return decided_claim(text, {f"of {len(part):,}": _part(COVERED, part)}, between(low, high))


def _first(where: str, waits: Waits) -> Claim:
    """Compare Gas with every other method by every score; Gas is not best if a difference is not resolved."""
    parts = {}
    for score in SCORES.values():
        for other in waits.methods if score.more is not None else ():
            if other != "gas" and np.isfinite(score.apart(waits, "gas", other).mean):
                part = _part(score, waits, other)
                parts[f"{score.title} against {NAMES[other]}"] = part if score.more else scaled(part, -1)
    return decided_claim(f"{where}: Gas is better than every other method on every score", parts, above(0), unit="")


def _near(where: str, waits: Waits) -> Claim:
    text = f"{where}: at least {_NEAR:.0f}% of the waits above ten minutes are predicted within a factor of two"
    if not np.isfinite(SCORES["factor"].of(waits, "gas").mean):
        return Claim(text, None, "no such job")
    return decided_claim(text, {"Gas": _part(SCORES["factor"], waits)}, between(_NEAR, float("inf")))


def _half(where: str, waits: Waits) -> list[Claim]:
    if "boosting" not in waits.methods:
        return []
    ours, other = (SCORES["median"].of(waits, name).mean for name in ("gas", "boosting"))
    text = f"{where}: the median error of Gas is at most half of that of gradient boosting"
    parts = {"Gas − half of boosting": _part(SCORES["median"], waits, "boosting", _HALF)}
    claim = decided_claim(text, parts, between(float("-inf"), 0), unit=" min")
    return [replace(claim, here=f"{ours:.1f} min against {other:.1f} min: {claim.here}")]


def _part(score: Score, waits: Waits, other: str = "", share: float = 1.0) -> Part:
    """Return as a part a score of Gas, or its difference from a share of another method's score."""
    if other:
        return lambda level: score.apart(waits, "gas", other, share, level=level)
    return lambda level: score.of(waits, "gas", level=level)


def bakeoff_lead(study: Results) -> list[str]:
    """Return the first sentences of the report: errors of Gas on recorded waits."""
    found = [(log, study.compared(log, truth)) for log, truth in study.bakeoffs if truth == RECORDED]
    words = []
    for log, waits in found:
        if len(waits):
            median, ten, factor = (SCORES[name].of(waits, "gas").mean for name in ("median", "ten", "factor"))
            near = f"{factor:.0f}% within a factor of two, " if np.isfinite(factor) else ""
            words.append(
                f"{log.source.trace}: median error {median:,.1f} min; {ten:.0f}% within ten minutes, {near}"
                f"{COVERED.of(waits, 'gas').mean:.0f}% in 90% intervals."
            )
    said = "Gas's predictions of recorded waits in the test months (not used for tuning)."
    return [f"{said} {' '.join(words)}"] if words else []


def bakeoff_sections(study: Results) -> list[Section]:
    """Return the sections; empty if nothing was compared."""
    if not study.bakeoffs:
        return []
    sections = [_how(study)]
    for log, truth in study.bakeoffs:
        for tuning in (False, True):
            waits = study.compared(log, truth, tuning=tuning)
            if len(waits):
                sections.append(_scores(log, truth, waits, tuning=tuning))
    return [*sections, _classes(study), Section("Published figures of others", (Bullets(_PUBLISHED),))]


def _how(study: Results) -> Section:
    months = [
        f"{log.source.trace}: months from {first} are for testing, those before were used for tuning."
        if (first := judging_from(log))
        else f"{log.source.trace}: all months are for testing; nothing was tuned on it."
        for log in dict.fromkeys(log for log, _ in study.bakeoffs)
    ]
    held = ", ".join(split()["held_out"])
    text = (
        f"All methods predict the waits of the same jobs, up to {study.options.waits:,} of each log, evenly spaced. A "
        "method learns only from earlier submissions, and from waits that had ended. Gas is the prediction of `gas "
        "backtest`: the queue simulated forward, combined with waits learned from similar states of the queue. "
        "Boosting and the network get the same state of the queue, but no simulated starts. QBETS bounds quantiles and "
        "forgets its history after a change; it needs 59 waits of a class before it predicts. A promise, and the "
        "simulation alone, give a single time without an interval."
    )
    rule = f"The split into tuning and test months was fixed on {split()['date']}. Logs never used for tuning: {held}."
    return Section("Comparison of methods that predict waits", (Text(text), Bullets((rule, *months))))


def _scores(log: Found, truth: str, waits: Waits, *, tuning: bool) -> Section:
    rows = []
    firsts = {name: waits.first(score) for name, score in SCORES.items() if score.more is not None}
    for method in waits.methods:
        cells = [_cell(score, waits, method, first=firsts.get(name) == method) for name, score in SCORES.items()]
        said = int(np.isfinite(waits.predicted(method)[1]).sum())
        rows.append((NAMES[method], f"{said:,}", *cells))
    columns = (Column("", left=True), Column("jobs"), *heads(*(score.title for score in SCORES.values())))
    which = "tuning months" if tuning else "test months"
    caption = (
        "± is half the width of a 90% interval over months; for a median, over the medians of the months. Factor 2: "
        "only jobs that waited for more than ten minutes."
    )
    return Section(f"{log.source.trace}: {TRUTHS[truth]}, {which}", (Table(columns, tuple(rows), caption),))


def _cell(score: Score, waits: Waits, method: str, *, first: bool) -> Cell | str:
    found = score.of(waits, method)
    if not np.isfinite(found.mean):
        return ""
    return Cell(f"{found.text(1)} (first)", "good") if first else found.text(1)


def _classes(study: Results) -> Section:
    rows = []
    for log, truth in study.bakeoffs:
        waits = study.compared(log, truth)
        for first, end in WAITS if len(waits) else ():
            part = waits.where((waits.wait >= first) & (waits.wait < (np.inf if end is None else end)))
            if len(part):
                words = f"{duration_text(first)} or more" if end is None else f"under {duration_text(end)}"
                figures = [SCORES[name].of(part, "gas").text(1) for name in ("covered", "median", "width")]
                rows.append((f"{log.source.trace}, {truth}", words, f"{len(part):,}", *figures))
    columns = (*heads("log", "wait", left=True), Column("jobs"), *heads("in 90% intervals (%)", "median error (min)"))
    table = Table((*columns, Column("median width (min)")), tuple(rows), "Test months; Gas's predictions.")
    return Section("Gas by how long jobs waited", (table,))


def _rows(study: Results) -> list[dict[str, Any]]:
    return [
        {
            "log": log.source.trace, "truth": truth, "month": month, "judges": not tuning, "wait": int(wait),
            **{f"{name}_{end}": _known(said[k][i]) for name, said in all_said.items() for k, end in enumerate(_ENDS)},
        }
        for log, truth in study.bakeoffs
        for tuning in (True, False)
        for waits in [study.compared(log, truth, tuning=tuning)]
        for all_said in [{method: waits.predicted(method) for method in waits.methods}]
        for i, (month, wait) in enumerate(zip(waits.months, waits.wait, strict=True))
    ]  # fmt: skip


_ENDS: Final = ("low", "median", "high")


def _known(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


WAIT_TABLE: Final = Records[Results](
    "a row for each wait that the methods predicted",
    _rows,
    {
        "job": (
            Field("log", "the papers' name of the log"),
            Field("truth", "which starts are predicted: recorded ones, or those of a policy"),
            Field("month", "of its submission"),
            Field("judges", "whether the month is for judging (not used for tuning)"),
            Field("wait", "actual wait", "s"),
        ),
        "predicted wait": (
            Field("{method}_low", "start of the 90% interval of {method}", "s"),
            Field("{method}_median", "median of {method}", "s"),
            Field("{method}_high", "end of the 90% interval of {method}", "s"),
        ),
    },
)
