"""Report of the study of one moldable job: every figure of the paper's section 5.2 next to ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from experiments.framework.claims import summary_section, verdict
from experiments.framework.columns import Shown, table_of
from experiments.framework.items import Compared, Pair, items_section
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.sites import SITES
from experiments.framework.verdicts import BY_INTERVALS
from experiments.moldable.benchmarks import GROUPS
from experiments.moldable.improvement import classes
from experiments.moldable.losses import WORLDS
from experiments.moldable.months import (
    FULL_RUNS,
    FULL_SEEDS,
    MONTH,
    OUTCOME,
    SEED,
    SUBSTITUTE,
    Outcomes,
    Results,
    outcome_rows,
)
from experiments.moldable.pictures import draw_improvements
from experiments.moldable.simulated import EACH_MONTH, simulated_section
from experiments.moldable.substitution import OPPONENTS
from experiments.moldable.terms import BASE
from experiments.power.claims import FIGURES, claims, gain, lower_with_gas, survivors
from experiments.power.pictures import draw_regret
from experiments.published import PAPER_EXTREMES, PAPER_LOSES, Turnaround, one_apples
from gas.intervals import Interval, by_months, jackknife_by_months, ratio_by_months, share_by_months, sums_by_month
from gas.printable import many
from gas.report.blocks import Cell, Column, Picture, Report, Section, Table, Text, fewer, heads, not_the_full

__all__ = ["TABLES", "banner", "power_report"]

_PAPER = (
    "W. Cirne and F. Berman, Application Scheduling over Supercomputers: A Proposal, technical report, UC San Diego, "
    "1999, section 5.2"
)
_STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "mean": lambda times: float(times.mean()),
    "standard deviation": lambda times: float(times.std(ddof=1)) if len(times) > 1 else 0.0,
    "median": lambda times: float(np.median(times)),
    "minimum": lambda times: float(times.min()),
    "maximum": lambda times: float(times.max()),
}


_CAUSE = (
    "set-up and benchmark times, which the paper leaves open (tested: gas experiment setups). Version of the log: not "
    "tested"
)
_CAUSE_OF_EXTREMES = "extremes of single runs, which have no interval; the heights of the bars are not printed"


def banner(study: Results) -> str:
    """Return what a restricted study leaves out; empty for the full one."""
    options = study.options
    seeds, runs = fewer(options.seeds, FULL_SEEDS, "seed"), fewer(options.runs, FULL_RUNS, "run", " per month")
    terms = (
        f"settings differ from the paper's: {options.terms.name.removeprefix('as chosen: ')}"
        if options.terms != BASE
        else ""
    )
    others = "" if options.others else "other settings were not run"
    return not_the_full([*study.missing, *study.left_out, seeds, runs, terms, others])


def power_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    sections = [
        summary_section(claims(study), caption=BY_INTERVALS),
        method_section("experiments.power", "What cannot match"),
        simulated_section(study.logs, EACH_MONTH[study.options.terms.begin]),
        _turnaround(study),
        _improvement(study),
        _losing(study),
        _regret(study),
        _users(study),
        _other_terms(study),
        _months(study),
        items_section("supercomputers", "power", _compared(study)),
        origin_section(study.logs, origin),
    ]
    return Report("One moldable job: what its user gains with Gas", _lead(study), tuple(sections), banner(study))


def _lead(study: Results) -> str:
    every = study.outcomes()
    loses = share_by_months(every.loses, every.months).text(1)
    times = ratio_by_months(*sums_by_month(every.months, every.static, every.gas))
    traces = [site.trace for site, _ in study.logs]
    whole = len(traces) == len(SITES)
    printed = [table for table in one_apples() if table.of in (traces if not whole else [""])]
    paper = "; ".join(
        f"{table.of + ' ' if table.of else ''}{table.gas['mean']:,.0f} and {table.static['mean']:,.0f} s, "
        f"{table.static['mean'] / table.gas['mean']:.1f} times"
        for table in printed
    )
    return (
        f"{len(every):,} runs ({many(len(study.seeds), 'seed')}) on {', '.join(traces)}: the mean turn-around time is "
        f"{by_months(every.gas, every.months)} s with Gas's requests and {by_months(every.static, every.months)} s "
        f"with static requests, {times.text(1)} times as long (median over runs: {np.median(every.factor):.1f} times; "
        f"paper: {paper}). The static request ended sooner in {loses}% of the runs (paper, all logs: {PAPER_LOSES}%). "
        f"Static requests: {OPPONENTS[study.options.terms.opponent]}. The paper is: {_PAPER}."
    )


def _compared(study: Results) -> dict[str, Compared]:
    """Return the printed figures of Tables 5.1 to 5.7 and of Fig. 5.2, and ours.

    Signs are those of the differences between Gas and static requests, in mean and standard deviation.
    """
    found = {}
    for table in one_apples():
        part = _part(study, table)
        pairs = [Pair(printed, value(part.gas) if len(part) else None) for printed, value in _printed(table.gas)]
        for (printed, value), statistic in zip(_printed(table.static), _STATISTICS, strict=True):
            ours = value(part.static) if len(part) else None
            is_judged = len(part) > 1 and statistic in ("mean", "standard deviation")
            pairs.append(Pair(printed, ours, lower_with_gas(part, value) if is_judged else None))
        found[f"Table {table.number}"] = Compared(tuple(pairs), _CAUSE)
    factors = study.outcomes().factor
    largest = [float(factors.max()), float(1 / factors.min())] if len(factors) else [None, None]
    extremes = tuple(Pair(printed, mine) for printed, mine in zip(PAPER_EXTREMES, largest, strict=True))
    judged = tuple(claim for claim in claims(study) if claim.where == FIGURES)
    found[FIGURES] = Compared(extremes, _CAUSE_OF_EXTREMES, judged)
    return found


def _printed(figures: Mapping[str, float]) -> list[tuple[float, Callable[[np.ndarray], float]]]:
    """Return each printed statistic, with the function that computes ours."""
    return [(figures[statistic], value) for statistic, value in _STATISTICS.items()]


def _part(study: Results, table: Turnaround) -> Outcomes:
    return study.outcomes(group=table.of) if table.of in GROUPS else study.outcomes(trace=table.of)


def _over_months(statistic: str, times: np.ndarray, found: Outcomes) -> Interval:
    value = _STATISTICS[statistic]
    if statistic in ("minimum", "maximum"):  # over the available months only
        return Interval(value(times), None)
    if statistic == "mean":
        return by_months(times, found.months)
    return jackknife_by_months(lambda kept: value(times[kept]), found.months)


def _turnaround(study: Results) -> Section:
    rows: list[tuple[Cell | str, ...]] = []
    for table in one_apples():
        found = _part(study, table)
        if not len(found):
            continue
        for statistic in _STATISTICS:
            gas, static = (_over_months(statistic, times, found) for times in (found.gas, found.static))
            first = statistic == "mean"
            rows.append(
                (
                    f"{table.number} {table.of or 'all'}" if first else "",
                    f"{len(found):,}" if first else "",
                    statistic,
                    f"{table.gas[statistic]:,.0f}",
                    str(gas),
                    f"{table.static[statistic]:,.0f}",
                    str(static),
                )
            )
    columns = (
        Column("table", left=True),
        Column("runs"),
        Column("turn-around time (s)", left=True),
        *heads("paper", "here", group="Gas"),
        *heads("paper", "here", group="static"),
    )
    runs = ", ".join(f"{site.paper_runs:,} {site.trace}" for site in SITES)
    caption = f"± is half of a 90% interval over months. The paper has 4,579 runs ({runs}, computed from its tables)."
    return Section("Tables 5.1 to 5.7: turn-around time", (Table(columns, tuple(rows), caption),))


def _parts(study: Results) -> dict[str, Outcomes]:
    found = {"all": study.outcomes()}
    found |= {site.trace: study.outcomes(trace=site.trace) for site, _ in study.logs}
    found |= {group: study.outcomes(group=group) for group in GROUPS}
    return {name: outcomes for name, outcomes in found.items() if len(outcomes)}


def _improvement(study: Results) -> Section:
    parts = _parts(study)
    rows = []
    for name, found in parts.items():
        low, middle, high = np.quantile(found.factor, [0.1, 0.5, 0.9])
        best, worst = found.factor.max(), 1 / found.factor.min()
        rows.append(
            (
                name,
                ratio_by_months(*sums_by_month(found.months, found.static, found.gas)).text(1),
                f"{np.exp(np.log(found.factor).mean()):,.2f}",
                *(f"{x:,.2f}" for x in (low, middle, high)),
                f"{best:,.0f}",
                f"{worst:,.1f}",
            )
        )
    columns = (
        Column("", left=True),
        Column("ratio of means"),
        Column("geometric mean", "over runs"),
        *heads("10%", "median", "90%", group="over runs"),
        *heads("largest gain", "largest loss"),
    )
    caption = (
        "Turn-around time with the static request divided by that with Gas's request; for the largest loss, the "
        "inverse. Over all runs, the paper's largest gain is {:,.0f}, and its largest loss {:.1f}."
    ).format(*PAPER_EXTREMES)
    picture = Picture(
        "power-improvement",
        draw_improvements({name: classes(found.gas, found.static) for name, found in parts.items()}),
        "Improvement factors (Fig. 5.2 to 5.8 of the paper): how many times shorter the turn-around time is with Gas "
        "(blue) or with the static request (orange, on the left); grey: equal.",
    )
    return Section("Improvement factors", (picture, Table(columns, tuple(rows), caption)))


def _losing(study: Results) -> Section:
    rows = []
    for name, found in _parts(study).items():
        lost = found.loses
        count = int(lost.sum())
        share = f"{100 * lost.mean():.1f}%"
        if not count:
            rows.append((name, share, *([""] * (len(WORLDS) + 3))))
            continue
        why = [row["still_loses"] for row in found.rows if row["gas"] > row["static"]]
        of_worlds = [f"{100 * sum(world in one for one in why) / count:.0f}%" for world in WORLDS]
        none = f"{100 * sum(not one for one in why) / count:.0f}%"
        late = (found.gas - found.static)[lost]
        rows.append((name, share, f"{count:,}", f"{np.median(late):,.0f}", *of_worlds, none))
    columns = (
        Column("", left=True),
        *heads("runs lost", "number", "later by, median (s)"),
        *(Column(f"{text}", "still lost if") for text in WORLDS.values()),
        Column("lost only if combined"),
    )
    text = (
        "Gas plans as if each job used all of its walltime and no job were submitted later. If this were true, "
        "Gas could not lose. Each lost run was simulated again with only some of the events that Gas could not know. "
        "If Gas still loses, those events alone suffice; a run may be lost for several reasons."
    )
    return Section("Why Gas loses", (Text(text), Table(columns, tuple(rows))))


def _regret(study: Results) -> Section:
    parts = _parts(study)
    rows = []
    for name, found in parts.items():
        paid = found.regret > 0
        small, large = paid & (found.gas_size < found.best_size), paid & (found.gas_size > found.best_size)
        whole = max(int(found.regret.sum()), 1)
        late = found.regret[paid]
        rows.append(
            (
                name,
                f"{100 * paid.mean():.1f}%",
                f"{found.regret.mean():,.0f}",
                f"{np.median(late):,.0f}" if len(late) else "",
                f"{np.quantile(late, 0.9):,.0f}" if len(late) else "",
                *(f"{100 * part.mean():.1f}%" for part in (small, large)),
                *(f"{100 * found.regret[part].sum() / whole:.0f}%" for part in (small, large)),
            )
        )
    columns = (
        Column("", left=True),
        *heads("runs with regret", "mean regret, all runs (s)"),
        *heads("median", "90%", group="runs with regret (s)"),
        *heads("too few processors", "too many", group="runs that chose"),
        *heads("too few processors", "too many", group="share of all regret, from runs that chose"),
    )
    sites = {name: parts[name] for site, _ in study.logs if (name := site.trace) in parts}
    picture = Picture("power-regret", draw_regret(sites), "Cumulative share of the runs by their regret, for each log.")
    text = (
        "Beyond the paper: every size that the benchmark accepts was simulated to its end, so the best choice is "
        "known. Regret is how much later the job ended with Gas's choice. Among equally good choices, the one with "
        "the fewest processors counts as the best."
    )
    return Section("Regret: the best choice in hindsight", (Text(text), picture, Table(columns, tuple(rows))))


def _users(study: Results) -> Section:
    rows = []
    for site, _ in study.logs:
        found = study.outcomes(trace=site.trace)
        if not len(found):
            continue
        if (found.user < 0).all():
            continue  # the log has no users
        _, user, counts = np.unique(found.user, return_inverse=True, return_counts=True)
        means = [np.bincount(user, weights=times) / counts for times in (found.gas, found.static)]
        ratios = 1e6 * (found.load_ratio - 1)
        rows.append(
            (
                site.trace,
                f"{len(counts):,}",
                f"{100 * counts.max() / len(found):.1f}%",
                *(f"{times.mean():,.0f}" for times in (found.gas, found.static)),
                *(f"{times.mean():,.0f}" for times in means),
                f"{np.abs(ratios).max():,.1f}",
            )
        )
    columns = (
        Column("", left=True),
        *heads("users", "jobs of the busiest user"),
        *heads("Gas", "static", group="mean, over jobs (s)"),
        *heads("Gas", "static", group="mean, over users (s)"),
        Column("largest change of a month's load by one job (millionths)"),
    )
    text = (
        "Users submit jobs in bursts, and all jobs of a burst wait about as long. If means over users differ much from "
        "means over jobs, a few bursts dominate the means. A benchmark replaces the job whose processor time is "
        "nearest to its own, so the load hardly changes."
    )
    return Section("Bursts of single users, and load", (Text(text), Table(columns, tuple(rows))))


def _other_terms(study: Results) -> Section:
    rows = [
        (terms.name, every, found)
        for terms, found in [(study.options.terms, claims(study)[:3]), *survivors(study)]
        if len(every := study.outcomes(terms, seed=study.seeds[0]))
    ]
    table = table_of(
        rows,
        (
            Shown("setting", lambda row: row[0], left=True),
            Shown("Gas", lambda row: f"{row[1].gas.mean():,.0f}", "mean (s)"),
            Shown("static", lambda row: f"{row[1].static.mean():,.0f}", "mean (s)"),
            Shown("ratio of means", lambda row: f"{gain(row[1]):.1f}", "improvement"),
            Shown("median over runs", lambda row: f"{np.median(row[1].factor):.2f}", "improvement"),
            Shown("Gas loses", lambda row: f"{100 * row[1].loses.mean():.1f}%"),
            Shown("mean regret (s)", lambda row: f"{row[1].regret.mean():,.0f}"),
            Shown("mean", lambda row: verdict(row[2][0]), "lower with Gas"),
            Shown("standard deviation", lambda row: verdict(row[2][1]), "lower with Gas"),
            Shown("unrestricted gain more", lambda row: verdict(row[2][2])),
        ),
    )
    text = (
        "One change at a time, one seed each. If a data set has no times of a benchmark, the constraint of that "
        "benchmark is left out."
    )
    return Section("Other settings", (Text(text), table))


def _months(study: Results) -> Section:
    rows = [
        (site.trace, month, found)
        for site, _ in study.logs
        for month in site.months
        if len(found := study.outcomes(trace=site.trace, month=month))
    ]
    table = table_of(
        rows,
        (
            Shown("log", lambda row: row[0], left=True),
            Shown("month", lambda row: row[1], left=True),
            Shown("runs", lambda row: f"{len(row[2]):,}"),
            Shown("Gas", lambda row: f"{row[2].gas.mean():,.0f}", "mean (s)"),
            Shown("static", lambda row: f"{row[2].static.mean():,.0f}", "mean (s)"),
            Shown("improvement", lambda row: f"{gain(row[2]):.1f}"),
            Shown("Gas loses", lambda row: f"{100 * row[2].loses.mean():.1f}%"),
        ),
    )
    return Section("Months", (table,))


TABLES = {
    "power-outcomes": Records[Results](
        "a row for each replaced job",
        lambda study: outcome_rows(study.runs, study.results),
        {
            "run": (*MONTH, Field("terms", "terms of the replacement", value="of.terms.name"), SEED),
            "substitute": SUBSTITUTE,
            "outcome": OUTCOME,
        },
    )
}
"""By the names of their files."""
