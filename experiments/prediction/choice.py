"""The part of the report on predictions about choosing by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.moldable.benchmarks import GROUPS
from experiments.moldable.substitution import OPPONENTS
from experiments.prediction.pictures import WAYS, draw_choices, draw_watching
from experiments.prediction.results import Choices, Results
from experiments.prediction.run import MOST_SIZES
from experiments.published import PAPER_LOSES
from gas.intervals import interval, signed
from gas.report.blocks import Block, Column, Picture, Section, Table, Text, heads

__all__ = ["choice_sections"]

_PAIRED = "± is half the width of a 90% Student interval of paired differences, with months as batches."


_EXTREME = 3
"""Runs of a log that are left out to see if they dominate the result: those with the largest regret in any mode."""


def _of_both(group: str) -> tuple[Column, ...]:
    return heads("Gas", "Gas with predictions", group=group)


_MEANS = heads("static", "Gas", "Gas with predictions", "best in hindsight", group="mean turn-around time (s)")


def choice_sections(study: Results) -> list[Section]:
    """Return the sections; empty if there were no choices."""
    sections = (_turnaround, _losing, _others, _watching, _months)
    return [section(study) for section in sections] if len(study.outcomes()) else []


def _parts(study: Results) -> dict[str, Choices]:
    parts = {"all": study.outcomes()}
    parts |= {trace: study.outcomes(trace) for trace in study.traces}
    parts |= {group: study.outcomes(group=group) for group in GROUPS}
    parts["held-out months"] = study.outcomes(held_out=True)
    return {name: found for name, found in parts.items() if len(found)}


def _turnaround(study: Results) -> Section:
    parts = _parts(study)
    rows = []
    for name, found in parts.items():
        regret = max(float(found.regret.mean()), 1e-9)
        rows.append(
            (
                name,
                f"{len(found):,}",
                *(f"{one.mean():,.0f}" for one in (found.static, found.gas, found.predicting, found.best)),
                signed(found.mean(found.later)),
                f"{100 * found.later.mean() / max(found.gas.mean(), 1):+.1f}%",
                f"{-100 * found.later.mean() / regret:.0f}%" if found.regret.any() else "",
            )
        )
    columns = (
        Column("", left=True),
        Column("runs"),
        *_MEANS,
        *heads("seconds", "% of Gas's mean", group="change by predictions"),
        Column("share of Gas's regret removed"),
    )
    opponent = OPPONENTS[study.choices[0].of.terms.opponent]
    text = (
        "The runs of `gas experiment power` on the paper's terms: benchmarks replace jobs of a month, one at a "
        f"time; static requests are {opponent}. Gas takes the request with the earliest promised end. Gas with "
        f"predictions takes the request with the earliest expected end, over {study.options.choice_samples} samples "
        f"and up to {MOST_SIZES} sizes that a benchmark accepts. It knows what the log recorded before the month, and "
        "the simulation of the month so far. Every size was simulated to its end, so the best choice in hindsight is "
        "known; regret is how much later a request ended."
    )
    logs = {name: found for name, found in parts.items() if name in ("all", *study.traces)}
    picture = Picture(
        "prediction-turnaround", draw_choices(logs), "Mean turn-around time with each of the four choices (log scale)."
    )
    blocks: list[Block] = [Text(text), picture, Table(columns, tuple(rows), _PAIRED)]
    if len(study.seeds) > 1:
        of_seeds = [study.outcomes(seed=seed) for seed in study.seeds]
        later = signed(interval([float(found.later.mean()) for found in of_seeds]))
        more = signed(interval([float(found.loses_more.mean()) for found in of_seeds]), 1)
        words = (
            f"With {len(of_seeds)} seeds as batches: {later} s, and {more} points in the share of runs that lose to "
            "static."
        )
        blocks.append(Text(words))
    return Section("Choosing by predictions: turn-around time", tuple(blocks))


def _losing(study: Results) -> Section:
    rows = []
    for name, found in _parts(study).items():
        plain, predicting = found.loses, found.predicting_loses
        late = [(at - found.static)[lost] for at, lost in ((found.gas, plain), (found.predicting, predicting))]
        rows.append(
            (
                name,
                *(f"{100 * lost.mean():.1f}%" for lost in (plain, predicting)),
                signed(found.mean(found.loses_more), 1),
                *(f"{int(lost.sum()):,}" for lost in (plain & predicting, plain & ~predicting, predicting & ~plain)),
                *(f"{np.median(one):,.0f}" if len(one) else "" for one in late),
                *(f"{one.sum() / len(found):,.0f}" for one in late),
            )
        )
    columns = (
        Column("", left=True),
        *_of_both("loses to static"),
        Column("change by predictions (points)", "loses to static"),
        *heads("with both", "only Gas", "only with predictions", group="runs that lose"),
        *_of_both("median loss (s)"),
        *_of_both("mean loss over all runs (s)"),
    )
    return Section("Losing to static", (Table(columns, tuple(rows), f"The paper: {PAPER_LOSES}%. {_PAIRED}"),))


def _others(study: Results) -> Section:
    rows = []
    for name, found in _parts(study).items():
        other = found.predicting_size != found.gas_size
        fewer = other & (found.predicting_size < found.gas_size)
        sooner, later = (other & part for part in (found.later < 0, found.later > 0))
        rows.append(
            (
                name,
                *(f"{100 * part.mean():.1f}%" for part in (other, fewer, other & ~fewer)),
                *(_share(part, other) for part in (sooner, other & ~sooner & ~later, later)),
                *_sizes(-found.later[sooner]),
                *_sizes(found.later[later]),
            )
        )
    columns = (
        Column("", left=True),
        *heads("another size", "fewer processors", "more processors", group="of all runs"),
        *heads("sooner", "at the same time", "later", group="of these, end"),
        *heads("mean", "median", group="sooner by (s)"),
        *heads("mean", "median", group="later by (s)"),
    )
    return Section("Runs in which predictions change the size", (Table(columns, tuple(rows)),))


def _watching(study: Results) -> Section:
    logs = {name: found for name, found in _parts(study).items() if name in ("all", *study.traces)}
    rows = []
    for name, found in logs.items():
        regrets = {way: getattr(found, way) - found.best for way in WAYS}
        usual = np.ones(len(found), np.bool_)
        usual[np.argsort(np.maximum.reduce(list(regrets.values())), kind="stable")[-_EXTREME:]] = False
        best = np.maximum(found.best, 1)
        for way, words in WAYS.items():
            ends = getattr(found, way)
            late = np.maximum(ends - found.static, 0)
            rows.append(
                (
                    name,
                    words,
                    f"{ends.mean():,.0f}",
                    f"{regrets[way].mean():,.0f}",
                    f"{100 * found.left(ends):.0f}%",
                    f"{100 * found.left(ends, usual):.0f}%" if usual.any() else "",
                    f"{100 * (np.exp(np.log(np.maximum(ends, 1) / best).mean()) - 1):.1f}%",
                    f"{100 * (ends > found.static).mean():.1f}%",
                    f"{late.mean():,.0f}",
                    f"{100 * (found.changes > 0).mean():.1f}%" if way == "watched" else "",
                )
            )
    columns = (
        *heads("log", "request", left=True),
        *heads("mean turn-around time (s)", "mean regret (s)"),
        *heads("all runs", f"without the {_EXTREME} most extreme", group="% of the regret of promises"),
        Column("longer than the best (geometric mean)"),
        *heads("runs", "mean loss over all runs (s)", group="loses to static"),
        Column("jobs reshaped"),
    )
    text = (
        "Gas plans a watched job again every ten minutes (less often after longer waits), in its place in the queue, "
        "as `gas watch` does. It requests another size if the job then finishes sooner by at least a minute and by 5% "
        "of the time to its finish. The best in hindsight is the best size that is kept until the start, so a reshaped "
        "job can finish even sooner."
    )
    drawn = draw_watching(logs)
    picture = Picture("prediction-watching", drawn, "Regret of each way to choose, in % of the regret of promises.")
    return Section("Watching the job while it waits", (Text(text), picture, Table(columns, tuple(rows))))


def _share(part: Any, whole: Any) -> str:
    return f"{100 * part.sum() / whole.sum():.0f}%" if whole.any() else ""


def _sizes(seconds: Any) -> tuple[str, str]:
    return (f"{seconds.mean():,.0f}", f"{np.median(seconds):,.0f}") if len(seconds) else ("", "")


def _months(study: Results) -> Section:
    rows = []
    for trace, month in dict.fromkeys((choice.of.site.trace, choice.of.month) for choice in study.choices):
        found = study.outcomes(trace, month=month)
        if len(found):
            rows.append(
                (
                    trace,
                    month,
                    "held out" if (trace, month) in study.held_out else "",
                    f"{len(found):,}",
                    *(f"{one.mean():,.0f}" for one in (found.static, found.gas, found.predicting, found.best)),
                    *(f"{100 * lost.mean():.1f}%" for lost in (found.loses, found.predicting_loses)),
                )
            )
    columns = (*heads("log", "month", "", left=True), Column("runs"), *_MEANS, *_of_both("loses to static"))
    return Section("The choice by month", (Table(columns, tuple(rows)),))
