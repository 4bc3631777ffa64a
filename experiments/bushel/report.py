"""Report of the study of many moldable jobs: every figure of the paper's section 5.3 next to ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.bushel.beyond import (
    FASTER_TITLE,
    drawn_section,
    faster_section,
    means_caption,
    met_means,
    others_section,
    points,
    shades,
    terms_section,
    text_of,
    text_of_figure,
    users_section,
)
from experiments.bushel.claims import (
    FIGURES,
    ITEMS,
    Likeness,
    beyond,
    claims,
    gas_is_sooner,
    likeness,
    share_lost,
)
from experiments.bushel.pictures import Lines, Role, draw_lines
from experiments.bushel.results import FASTER, FULL_SEEDS, KINDS, OPPONENTS, PERCENTS, Kind, Results
from experiments.framework.claims import summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.items import MET, Compared, Pair, items_section
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.verdicts import BY_INTERVALS
from experiments.moldable.benchmarks import Mix
from experiments.moldable.pictures import draw_improvements
from experiments.moldable.simulated import simulated_section
from experiments.moldable.substitution import Opponent
from experiments.published import Share, bushel, bushel_details, load_ratios
from gas.report.blocks import Cell, Column, Picture, Report, Section, Table, Text, fewer, not_the_full

__all__ = ["banner", "bushel_report"]

_TABLES: Mapping[str, tuple[Mix, ...]] = {
    "Tables 5.9 to 5.11: mean turn-around times": ("thirds",),
    "Tables 5.15 to 5.17: unrestricted and restricted benchmarks": ("unrestricted", "restricted"),
}


_UNIFORM = "Too few jobs have a size that the benchmarks accept: compared with uniform static requests"
_LACKING = "Figures are missing where too few jobs have a size that the benchmarks accept, or a log was not simulated"
_CAUSES = {
    "Table 5.8": "two of its three columns are those of Tables 5.16 and 5.17 (tested: all ten rows are equal)",
    FIGURES: "no figures printed",
}


def banner(study: Results) -> str:
    """Return what a restricted study leaves out; empty for the full one."""
    less = [*study.missing, fewer(study.options.seeds, FULL_SEEDS, "seed")]
    less += [] if study.options.others else ["other settings were not run"]
    for site, log in study.logs:
        months = {run.months for run in study.runs if run.log == log}
        absent = len(site.months) - max(len(these) for these in months)
        if absent and not log.own:
            less.append(f"{log.name} lacks {absent} of the paper's {len(site.months)} months")
    return not_the_full(less)


def bushel_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    holds = [
        summary_section(claims(study, opponent), f"Verdicts against static requests: {words}", caption=BY_INTERVALS)
        for opponent, words in OPPONENTS.items()
    ]
    tables = [_means(study, title, mixes, opponent) for title, mixes in _TABLES.items() for opponent in OPPONENTS]
    sections = (
        *holds,
        summary_section(beyond(study), "Beyond the paper", "statement", BY_INTERVALS),
        method_section("experiments.bushel", "What cannot match"),
        simulated_section(study.logs, "All months of a log are one simulation. The machine is empty at the beginning."),
        _likeness(study),
        _load(study),
        *tables[:2],
        _details(study),
        *tables[2:],
        *(others_section(study, opponent) for opponent in OPPONENTS),
        drawn_section(study),
        faster_section(study),
        terms_section(study),
        users_section(study),
        items_section("supercomputers", "bushel", _compared(study)),
        origin_section(study.logs, origin),
    )
    return Report("Many moldable jobs: the Bushel of AppLeS", _lead(study), sections, banner(study))


def _lead(study: Results) -> str:
    words = []
    for site, _ in study.logs:
        kind = KINDS["thirds", "own"]
        percents = study.percents(site.trace, kind)
        gains = [study.gain(site.trace, kind, percent) for percent in (percents[0], percents[-1])] if percents else []
        if gains:
            first, last = ("-" if gain is None else gain.text(1) for gain in gains)
            words.append(f"{site.trace} {first} times with {percents[0]}% and {last} times with {percents[-1]}%")
    every = beyond(study)[-1].here
    if not words:
        words = ["no scenario could be run"]
    return (
        "Benchmarks replace a share of the jobs; the static request has the size of the replaced job. Mean turn-around "
        f"time with static requests over that with Gas, by the share replaced: {'; '.join(words)} "
        f"({len(study.results):,} runs; ± is half of a 90% interval over months). Change of the mean turn-around time "
        f"if every job of a log has a speed-up of its own and uses Gas: {every}. The paper is: W. Cirne and F. Berman, "
        "Application Scheduling over Supercomputers: A Proposal, technical report, UC San Diego, 1999, section 5.3."
    )


def _compared(study: Results) -> dict[str, Compared]:
    """Return the printed figures of Tables 5.8 to 5.17 and ours, with static requests of the replaced job's size.

    Signs are those of the differences between the means with Gas and with static requests.
    """
    pairs: dict[str, list[Pair]] = {}
    for (trace, percent), printed in load_ratios().items():
        asked = study.figure(trace, KINDS["thirds", "own"], percent, "requested_load_ratio")
        pairs.setdefault("Table 5.8", []).append(Pair(printed, asked))
    for one in bushel():
        kind, of_table = KINDS[one.mix, "own"], pairs.setdefault(f"Table {one.table}", [])
        gas, static = (study.figure(one.trace, kind, one.percent, who, "mean") for who in ("gas", "static"))
        of_table.append(Pair(one.gas, gas))
        of_table.append(Pair(one.static, static, gas_is_sooner(study, one.trace, kind, one.percent)))
        if one.load_ratio is not None:
            asked = study.figure(one.trace, kind, one.percent, "requested_load_ratio")
            of_table.append(Pair(one.load_ratio, asked))
    uniform = set()
    for table, percent in bushel_details():
        kind = KINDS["thirds", "own"]
        if not study.at(table.of, kind, percent):
            kind = KINDS["thirds", "uniform"]
            uniform.add(f"Table {table.number}")
        for who, figures in (("gas", table.gas), ("static", table.static)):
            for statistic, printed in figures.items():
                here = study.figure(table.of, kind, percent, who, statistic)
                is_judged = (who, statistic) == ("static", "mean")
                agrees = gas_is_sooner(study, table.of, kind, percent) if is_judged else None
                pairs.setdefault(f"Table {table.number}", []).append(Pair(printed, here, agrees))
    judged, cause = claims(study, "own"), _cause(study)

    def compared(name: str) -> Compared:
        of_item = tuple(claim for claim in judged if name in ITEMS.get(claim.where, (claim.where,)))
        of_table = pairs.get(name, ())
        causes = [_CAUSES.get(name, cause)]
        causes += [_UNIFORM] if name in uniform else []
        causes += [_LACKING] if any(one.ours is None for one in of_table) else []
        return Compared(tuple(of_table), ". ".join(causes), of_item)

    questions = {"Section 6.1: Bushel of AppLeS": Compared((), claims=tuple(beyond(study)))}
    return {**{name: compared(name) for name in (*pairs, FIGURES)}, **questions}


def _cause(study: Results) -> str:
    """Return the cause of differences between the printed means and ours, and how it was tested."""
    met = np.sum([met_means(study, site.trace, FASTER) for site, _ in study.logs], axis=0)
    tested = f", {met[0]} of {met[1]} means are within {MET:.0f}% of the printed ones" if met[1] else " not run"
    return (
        "static request (section The paper's static request) and benchmark times (section "
        f"{FASTER_TITLE}): with faster benchmarks{tested}. Version of the log: not tested"
    )


def _likeness(study: Results) -> Section:
    columns: Sequence[Shown[Likeness]] = (
        Shown("static request", lambda one: OPPONENTS[one.opponent], left=True),
        Shown("log and benchmarks", lambda one: one.of, left=True),
        Shown("scenarios", lambda one: f"{one.scenarios}"),
        Shown("Gas", lambda one: f"{one.gas:.2f}", "ours over the paper's, geometric mean"),
        Shown("static", lambda one: f"{one.static:.2f}", "ours over the paper's, geometric mean"),
        Shown("static, worst scenario (factor)", lambda one: f"{one.furthest_static:.1f}"),
    )
    text = (
        "Means of Tables 5.9 to 5.11 and 5.15 to 5.17. For one moldable job (Tables 5.1 to 5.7), the paper's static "
        "means are near ours with the uniform static request. If the other static request is nearer here, the paper "
        "must have changed it between the two sections: SDSC's static mean falls from 39,722 s for one job to 16,829 s "
        "with 5% of the jobs replaced; replacing one job in twenty does not have such a large effect on the others."
    )
    return Section("The paper's static request", (Text(text), table_of(likeness(study), columns)))


def _load(study: Results) -> Section:
    rows = []
    for percent in PERCENTS:
        row = [f"{percent}%"]
        for site, _ in study.logs:
            printed = load_ratios().get((site.trace, percent))
            row.append(f"{printed:.4f}" if printed else "")
            for opponent in OPPONENTS:
                asked = study.figure(site.trace, KINDS["thirds", opponent], percent, "requested_load_ratio")
                row.append(text_of_figure(asked, 4))
            row.append(text_of_figure(study.figure(site.trace, KINDS["thirds", "uniform"], percent, "load_ratio"), 4))
        rows.append(tuple(row))
    columns = [Column("replaced", left=True)]
    for site, _ in study.logs:
        columns += [Column(what, site.trace) for what in ("paper", "own", "uniform", "uniform, time used")]
    caption = (
        "Requested processor time with the benchmarks / without them, by static request: the size of the replaced job "
        "(own), or uniform over accepted sizes. Last column of each log: the same for the processor time used."
    )
    return Section("Table 5.8: load ratios", (Table(tuple(columns), tuple(rows), caption),))


def _means(study: Results, title: str, mixes: Sequence[Mix], opponent: Opponent) -> Section:
    traces = {site.trace for site, _ in study.logs}
    rows = []
    for one in bushel():
        if one.trace in traces and one.mix in mixes:
            name = f"{one.table} {one.trace}" + (f", {one.mix}" if len(mixes) > 1 else "")
            figures = _means_row(study, one, KINDS[one.mix, opponent])
            rows.append((name if one.percent == PERCENTS[0] else "", f"{one.percent}%", *figures))
    columns = [Column("table", left=True), Column("replaced")]
    for who in ("Gas (s)", "static (s)", "static / Gas"):
        columns += [Column("paper", who), Column("here", who)]
    columns.append(Column("Gas loses"))
    ratios = len(mixes) > 1
    if ratios:
        columns += [Column("paper", "load ratio"), Column("here", "load ratio")]
    table = Table(tuple(columns), tuple(row if ratios else row[:-2] for row in rows), means_caption(study))
    roles: tuple[tuple[Role, Role], ...] = (("static", "gas"), ("other static", "other gas"))
    panels: dict[str, Lines] = {
        site.trace: {
            f"{mix}, {name}" if ratios else name: (
                role,
                points(study, site.trace, KINDS[mix, opponent], "moldable", who),
            )
            for mix, pair in zip(mixes, roles, strict=False)
            for who, name, role in zip(("static", "gas"), ("static", "Gas"), pair, strict=True)
        }
        for site, _ in study.logs
    }
    picture = Picture(
        f"bushel-{'-'.join(mixes)}-{opponent}",
        draw_lines(panels, "mean turn-around time (h)"),
        "Mean turn-around time of moldable jobs over the share of jobs replaced. " + shades(study),
    )
    return Section(f"{title}; static: {OPPONENTS[opponent]}", (picture, table))


def _means_row(study: Results, one: Share, kind: Kind) -> list[str]:
    gas, static = (study.mean(one.trace, kind, one.percent, "moldable", who) for who in ("gas", "static"))
    gain = study.gain(one.trace, kind, one.percent)
    ratio = study.figure(one.trace, kind, one.percent, "requested_load_ratio")
    results = study.at(one.trace, kind, one.percent)
    return [
        f"{one.gas:,.0f}",
        text_of(gas),
        f"{one.static:,.0f}",
        text_of(static),
        f"{one.static / one.gas:.2f}",
        "" if gain is None else gain.text(2),
        f"{share_lost(results):.1f}%" if results else "",
        f"{one.load_ratio:.4f}" if one.load_ratio else "",
        text_of_figure(ratio, 4),
    ]


def _details(study: Results) -> Section:
    rows: list[tuple[Cell | str, ...]] = []
    counts = {}
    traces = {site.trace for site, _ in study.logs}
    for table, percent in bushel_details():
        if table.of not in traces:
            continue
        for opponent in OPPONENTS:
            results = study.at(table.of, KINDS["thirds", opponent], percent)
            if results:
                every = np.sum([result["classes"] for result in results], axis=0)
                counts[f"{table.of}, {percent}%, {opponent}"] = every
        for statistic in table.gas:
            ours = [
                _detail(study, table.of, KINDS["thirds", opponent], percent, who, statistic)
                for who in ("gas", "static")
                for opponent in OPPONENTS
            ]
            name = f"{table.number} {table.of}, {percent}%" if statistic == "mean" else ""
            printed = f"{table.gas[statistic]:,.0f}", f"{table.static[statistic]:,.0f}"
            rows.append((name, statistic, printed[0], *ours[:2], printed[1], *ours[2:]))
    columns = [Column("table", left=True), Column("turn-around time (s)", left=True)]
    for who in ("Gas", "static"):
        columns += [Column("paper", who), *(Column(opponent, who) for opponent in OPPONENTS)]
    title = "Tables 5.12 to 5.14: a closer look"
    if not counts:
        return Section(title, (Text("None of these scenarios was run."),))
    picture = Picture(
        "bushel-improvement",
        draw_improvements(counts),
        "Improvement factors (Fig. 5.9 to 5.11 of the paper): how many times shorter turn-around times are with Gas "
        "(blue) or with static requests (orange, on the left); grey: equal. All moldable jobs differ between the two "
        "simulations, so a single job may gain by chance.",
    )
    caption = (
        f"Static requests: {'; '.join(f'{name}: {words}' for name, words in OPPONENTS.items())}. {means_caption(study)}"
    )
    return Section(title, (picture, Table(tuple(columns), tuple(rows), caption)))


def _detail(study: Results, trace: str, kind: Kind, percent: int, who: str, statistic: str) -> str:
    if statistic == "mean":
        return text_of(study.mean(trace, kind, percent, "moldable", who))
    return text_of_figure(study.figure(trace, kind, percent, who, statistic))


def _rows(study: Results) -> list[dict[str, object]]:
    return [
        {"log": run.site.trace, "moldable_by": run.kind.name, "percent": run.percent, "seed": run.seed} | _flat(result)
        for run, result in study.pairs
    ]


def _months(study: Results) -> list[dict[str, object]]:
    return [
        {"log": run.site.trace, "moldable_by": run.kind.name, "percent": run.percent, "seed": run.seed, "month": month}
        | {name: sums[place] for name, sums in result["by_month"].items()}
        for run, result in study.pairs
        for place, month in enumerate(result.get("months", ()))
    ]


def _flat(result: dict[str, object]) -> dict[str, object]:
    """Return a result with one name per figure, without classes of improvement factors (they are in the report)."""
    flat: dict[str, object] = {}
    for name, value in result.items():
        if name == "by_month":  # has a table of its own
            continue
        if isinstance(value, dict):
            flat |= {f"{name}_{inner.replace(' ', '_')}": figure for inner, figure in value.items()}
        elif not isinstance(value, list):
            flat[name] = value
    return flat


_RUN = (
    Field("log", "log (the paper's name)"),
    Field("moldable_by", "kind of moldable jobs and of static requests"),
    Field("percent", "share of the jobs that are moldable", "%"),
    Field("seed", "random seed"),
)

TABLES = {
    "bushel-results": Records[Results](
        "a row for each log, kind of moldable jobs, share of moldable jobs, and seed",
        _rows,
        {
            "run": _RUN,
            "log": (
                Field("jobs", "jobs of all months"),
                Field("moldable", "jobs that are moldable"),
                Field("choices", "mean number of sizes that a job can choose from"),
                Field("load_ratio", "processor time with static requests / that of the original log"),
                Field("requested_load_ratio", "the same ratio for requested processor time"),
            ),
            "moldable jobs": (
                Field("{request}_work", "processor time, {request} requests", "processor-seconds"),
                Field("by_user_{request}", "mean over users of their mean turn-around times, {request} requests", "s"),
                Field("loses", "jobs that end later with Gas than with their static request"),
                *(
                    Field(
                        f"{{request}}_{of}",
                        f"{of.replace('_', ' ')} of their turn-around times, {{request}} requests",
                        "s",
                    )
                    for of in ("mean", "standard_deviation", "median", "minimum", "maximum")
                ),
            ),
            "all jobs: in the original log, with static requests, and with Gas": (
                Field("others_wait_{world}", "mean wait of rigid jobs, {world}", "s"),
                Field("others_{world}", "mean turn-around time of rigid jobs, {world}", "s"),
                Field("all_{world}", "mean turn-around time of all jobs, {world}", "s"),
                Field("utilization_{world}", "utilization of the machine, {world}"),
            ),
        },
    ),
    "bushel-months": Records[Results](
        "a row for each month of each log, kind of moldable jobs, share of moldable jobs, and seed",
        _months,
        {
            "run": _RUN,
            "jobs submitted in the month": (
                Field("month", "month of submission"),
                Field("moldable", "jobs that are moldable"),
                Field("others", "rigid jobs"),
                Field("loses", "of them, those that end later with Gas than with their static request"),
                Field("moldable_{request}", "sum of their turn-around times, {request} requests", "s"),
                Field("others_{world}", "sum of the turn-around times of rigid jobs, {world}", "s"),
                Field("requested_{world}", "processor time that all jobs request, {world}", "processor-seconds"),
            ),
        },
    ),
}
"""By the names of their files."""
