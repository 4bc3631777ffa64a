"""Sections of the report of many moldable jobs beyond the paper: rigid jobs, drawn speed-ups, other settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from experiments.bushel.claims import share_lost
from experiments.bushel.pictures import Lines, Points, draw_lines
from experiments.bushel.results import (
    DRAWN,
    FASTER,
    FASTER_PERCENTS,
    KINDS,
    MIXES,
    OPPONENTS,
    OTHER_DRAWN_PERCENTS,
    OTHER_PERCENTS,
    Drawn,
    Kind,
    Results,
)
from experiments.framework.items import MET, Pair
from experiments.framework.ledger import Result
from experiments.moldable.benchmarks import Mix
from experiments.moldable.substitution import Opponent
from experiments.published import bushel
from gas.intervals import FEWEST, Interval
from gas.report.blocks import Cell, Column, Picture, Section, Table, Text, heads

__all__ = [
    "FASTER_TITLE",
    "drawn_section",
    "faster_section",
    "means_caption",
    "met_means",
    "others_section",
    "points",
    "shades",
    "terms_section",
    "text_of",
]
__all__ += ["text_of_figure", "users_section"]

_OTHERS = (
    "Mean turn-around time of the rigid jobs: in the original log, with benchmarks whose requests are static, and with "
    "benchmarks whose requests Gas chooses. Unlike most users, benchmarks request no more time than they need; they "
    "also differ in size and run time from the jobs that they replace. This alone affects the rigid jobs."
)
_DRAWN = (
    "Each job that the paper's procedure replaces makes the workload less realistic; its authors later modelled "
    "moldable jobs. Here the jobs of the log themselves get a speed-up (Downey's model) and alternatives to their own "
    "request, drawn as in Cirne and Berman's later model. Static requests are the jobs' own, so the load is that of "
    "the log, and all jobs can use Gas. The speed-ups are a model, and Gas knows them exactly. By this model, the size "
    "that a user chose is rarely the best one. Unlike at a real centre, walltimes have no limit, so jobs may run long "
    "on few processors."
)

FASTER_TITLE: Final = "Faster benchmarks"

_USUAL: Mapping[Mix, Kind] = {mix: KINDS[mix, "own"] for mix in MIXES}

_FEW_MONTHS = f"With fewer than {FEWEST} months, there are no intervals."


def text_of(value: Interval | None, digits: int = 0) -> str:
    """Return a mean with `digits` decimal places; empty for None."""
    return "" if value is None else value.text(digits)


def text_of_figure(value: float | None, digits: int = 0) -> str:
    """Return a figure without an interval with `digits` decimal places; empty for None."""
    return "" if value is None else f"{value:,.{digits}f}"


def means_caption(study: Results) -> str:
    """Return the sentence on intervals under a table of means."""
    return "± is half of a 90% interval over months." if _with_intervals(study) else _FEW_MONTHS


def shades(study: Results) -> str:
    """Return the sentence on intervals in the caption of a picture of means."""
    return "Shaded: 90% intervals over months." if _with_intervals(study) else _FEW_MONTHS


def _with_intervals(study: Results) -> bool:
    return any(len(result.get("months", ())) >= FEWEST for result in study.results)


def points(study: Results, trace: str, kind: Kind, group: str, world: str) -> Points:
    """Return the mean turn-around time of a group of jobs over the share of moldable jobs (`Results.mean`)."""
    found = [(percent, study.mean(trace, kind, percent, group, world)) for percent in study.percents(trace, kind)]
    return [(percent, mean) for percent, mean in found if mean is not None]


def others_section(study: Results, opponent: Opponent) -> Section:
    """Return the section on the effect on rigid jobs."""
    rows = []
    panels: dict[str, Lines] = {}
    for site, _ in study.logs:
        trace = site.trace
        kind = KINDS["thirds", opponent]
        panels[trace] = {
            "static requests": ("static", points(study, trace, kind, "others", "static")),
            "Gas's requests": ("gas", points(study, trace, kind, "others", "gas")),
            "original log": ("neither", points(study, trace, kind, "others", "before")),
        }
        for mix in MIXES:
            kind = KINDS[mix, opponent]
            percents = study.percents(trace, kind)
            rows += [
                (
                    f"{trace}, {mix}" if percent == percents[0] else "",
                    f"{percent}%",
                    *_worlds(study, trace, kind, percent),
                )
                for percent in percents
            ]
    columns = [Column("log and benchmarks", left=True), Column("replaced")]
    for group in ("mean turn-around (s)", "mean wait (s)", "utilization (%)"):
        columns += heads("original", "static", "Gas", group=group)
    picture = Picture(
        f"bushel-others-{opponent}",
        draw_lines(panels, "mean turn-around time of rigid jobs (h)"),
        "Mean turn-around time of rigid jobs over the share of moldable jobs (a third of the benchmarks for each "
        f"constraint). {shades(study)}",
    )
    table = Table(tuple(columns), tuple(rows), means_caption(study))
    title = f"Effect on rigid jobs; static: {OPPONENTS[opponent]}"
    return Section(title, (Text(_OTHERS), picture, table))


def _worlds(study: Results, trace: str, kind: Kind, percent: int) -> list[str]:
    worlds = ("before", "static", "gas")
    waits = (study.figure(trace, kind, percent, "others_wait", world) for world in worlds)
    used = (study.figure(trace, kind, percent, "utilization", world) for world in worlds)
    return [
        *(text_of(study.mean(trace, kind, percent, "others", world)) for world in worlds),
        *(text_of_figure(wait) for wait in waits),
        *(text_of_figure(None if share is None else 100 * share, 1) for share in used),
    ]


def drawn_section(study: Results) -> Section:
    """Return the section on logs whose own jobs, up to all of them, are moldable."""
    rows = []
    panels: dict[str, Lines] = {}
    kind = DRAWN[0]
    for site, _ in study.logs:
        trace = site.trace
        panels[trace] = {
            "moldable: own requests": ("static", points(study, trace, kind, "moldable", "static")),
            "moldable: Gas's requests": ("gas", points(study, trace, kind, "moldable", "gas")),
            "rigid, without Gas": ("other static", points(study, trace, kind, "others", "static")),
            "rigid, with Gas": ("other gas", points(study, trace, kind, "others", "gas")),
        }
        for percent in study.percents(trace, kind):
            first = percent == study.percents(trace, kind)[0]
            rows.append((trace if first else "", f"{percent}%", *_drawn_row(study, trace, kind, percent)))
    columns = (
        Column("log", left=True),
        Column("moldable"),
        *heads("Gas", "own request", "own / Gas", group="moldable jobs, mean turn-around (s)"),
        Column("Gas loses"),
        *heads("Gas", "own request", group="rigid jobs (s)"),
        *heads("Gas", "own request", group="all jobs (s)"),
        *heads("processor time: Gas's requests / own", "requests to choose from"),
    )
    picture = Picture(
        "bushel-drawn",
        draw_lines(panels, "mean turn-around time (h)"),
        f"Mean turn-around times over the share of jobs that are moldable and use Gas. {shades(study)}",
    )
    table = Table(columns, tuple(rows), means_caption(study))
    return Section("Every job moldable, without changing the load", (Text(_DRAWN), picture, table))


def _drawn_row(study: Results, trace: str, kind: Kind, percent: int) -> list[str]:
    def mean(group: str, world: str) -> Interval | None:
        return study.mean(trace, kind, percent, group, world)

    results = study.at(trace, kind, percent)
    work = [result["gas_work"] / max(result["static_work"], 1) for result in results]
    gain, choices = study.gain(trace, kind, percent), study.figure(trace, kind, percent, "choices")
    return [
        text_of(mean("moldable", "gas")),
        text_of(mean("moldable", "static")),
        "" if gain is None else gain.text(2),
        f"{share_lost(results):.1f}%",
        *(text_of(mean("others", world)) for world in ("gas", "static")),
        *(text_of(mean("all", world)) for world in ("gas", "static")),
        f"{np.mean(work):.3f}",
        text_of_figure(choices, 1),
    ]


def terms_section(study: Results) -> Section:
    """Return the section on means in other settings than the paper's."""
    rows: list[tuple[Cell | str, ...]] = []
    for kind in study.kinds:
        shown_above = [*KINDS.values(), *FASTER.values()]
        if kind in shown_above and kind not in [KINDS["thirds", opponent] for opponent in OPPONENTS]:
            continue
        for percent in OTHER_DRAWN_PERCENTS if isinstance(kind, Drawn) else OTHER_PERCENTS:
            if not any(study.at(site.trace, kind, percent) for site, _ in study.logs):
                continue
            row: list[Cell | str] = [kind.name, f"{percent}%"]
            for site, _ in study.logs:
                first = study.at(site.trace, kind, percent)[:1]
                row += _first_seed(first[0]) if first else ["", "", "", ""]
            rows.append(tuple(row))
    columns = [Column("setting", left=True), Column("moldable")]
    for site, _ in study.logs:
        columns += [
            Column(what, site.trace) for what in ("Gas (s)", "static (s)", "static / Gas", "rigid: static / Gas")
        ]
    text = (
        "One change at a time, first seed only. Mean turn-around times of the moldable jobs with Gas's and with static "
        "requests, their ratio, and the same ratio of the rigid jobs."
    )
    return Section("Other settings", (Text(text), Table(tuple(columns), tuple(rows))))


def _first_seed(result: Result) -> list[Cell | str]:
    gas, static = result["gas"]["mean"], result["static"]["mean"]
    others = result["others"]
    times = f"{others['static'] / max(others['gas'], 1):.2f}" if others["gas"] is not None else ""
    gain = f"{static / max(gas, 1):.2f}"
    return [f"{gas:,.0f}", f"{static:,.0f}", gain if static > gas else Cell(gain, "bad"), times]


def met_means(study: Results, trace: str, kinds: Mapping[Mix, Kind]) -> tuple[int, int]:
    """Return how many printed means at `FASTER_PERCENTS` are met within `MET` per cent, and how many are compared."""
    pairs = [
        Pair(printed, study.figure(trace, kinds[one.mix], one.percent, who, "mean"))
        for one in bushel()
        if one.trace == trace and one.percent in FASTER_PERCENTS
        for who, printed in (("gas", one.gas), ("static", one.static))
    ]
    return sum(pair.is_within(MET) for pair in pairs), sum(pair.ours is not None for pair in pairs)


def faster_section(study: Results) -> Section:
    """Return the section on faster benchmarks: how many printed means are met with them and without."""
    rows = [
        (site.trace, *(_of(met_means(study, site.trace, kinds)) for kinds in (_USUAL, FASTER)))
        for site, _ in study.logs
    ]
    columns = (Column("log", left=True), Column("usual benchmarks"), Column("faster benchmarks"))
    text = (
        f"Means of Tables 5.9 to 5.11 and 5.15 to 5.17 within {MET:.0f}% of the printed ones, with "
        f"{', '.join(map(str, FASTER_PERCENTS[:-1]))} and {FASTER_PERCENTS[-1]}% of the jobs replaced. Faster "
        "benchmarks: times for at most 128 processors, multiplied by 0.6, as fitted to Tables 5.2 to 5.7 (gas "
        "experiment setups); first seed only. Static requests have the size of the replaced job."
    )
    return Section(FASTER_TITLE, (Text(text), Table(columns, tuple(rows))))


def _of(met: tuple[int, int]) -> str:
    return f"{met[0]} of {met[1]}" if met[1] else "not run"


def users_section(study: Results) -> Section:
    """Return the section that shows whether bursts of single users dominate the means."""
    rows = []
    kind = KINDS["thirds", "uniform"]
    for site, _ in study.logs:
        for percent in OTHER_PERCENTS:
            jobs = [study.figure(site.trace, kind, percent, who, "mean") for who in ("gas", "static")]
            users = [study.figure(site.trace, kind, percent, "by_user", who) for who in ("gas", "static")]
            if all(one is not None for one in (*jobs, *users)):
                rows.append((site.trace, f"{percent}%", *(text_of_figure(one) for one in (*jobs, *users))))
    columns = (
        Column("log", left=True),
        Column("replaced"),
        *heads("Gas", "static", group="mean, over jobs (s)"),
        *heads("Gas", "static", group="mean, over users (s)"),
    )
    text = (
        "Users of the replaced jobs. If a few bursts dominated, means over jobs and over users would differ strongly."
    )
    return Section("Bursts of single users", (Text(text), Table(columns, tuple(rows))))
